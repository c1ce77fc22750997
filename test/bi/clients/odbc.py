"""What an ODBC tool does with the marts: reads the catalogue, prepares every view, reads rows, and tries to write.

Reads {"connection", "schema", "question", "write"} from stdin, writes one JSON document to stdout.
"""
import json
import sys

import pyodbc


def main():
    asked = json.load(sys.stdin)
    connection = pyodbc.connect(asked["connection"], autocommit=True)
    cursor = connection.cursor()
    schema = asked["schema"]
    views = sorted(row.table_name for row in cursor.tables(schema=schema, tableType="VIEW"))
    print(json.dumps({
        "views": {view: describe(cursor, schema, view) for view in views},
        "answer": [str(value) for value in cursor.execute(asked["question"]).fetchone()],
        "write": refusal(cursor, asked["write"]),
    }))


def describe(cursor, schema, view):
    columns = [
        {"name": row.column_name, "type": row.type_name, "size": row.column_size, "digits": row.decimal_digits}
        for row in cursor.columns(table=view, schema=schema)
    ]
    keys = len(cursor.primaryKeys(view, schema=schema).fetchall())
    cursor.execute(f'select * from "{schema}"."{view}" where 1 = 0')
    prepared = [column[0] for column in cursor.description]
    first = cursor.execute(f'select * from "{schema}"."{view}"').fetchmany(1)
    return {"columns": columns, "keys": keys, "prepared": prepared, "rows": len(first)}


def refusal(cursor, statements):
    refused = []
    for statement in statements:
        try:
            cursor.execute(statement)
            refused.append(None)
        except pyodbc.Error as error:
            refused.append(error.args[0])
    return refused


main()
