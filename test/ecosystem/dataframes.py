"""Reads every view of a schema with each library, as the login of the PG… variables, and tries to write.

Writes one JSON document to stdout: by library and view the rows, the exact sums of numeric columns, and whether instants have a zone.
"""
import json
import sys
from decimal import Decimal

import pandas
import polars
import sqlalchemy

schema = sys.argv[1]
engine = sqlalchemy.create_engine("postgresql+psycopg://")


def summary(rows, names):
    columns = dict(zip(names, zip(*rows))) if rows else {}
    values = {name: [value for value in column if value is not None] for name, column in columns.items()}
    instants = [value for column in values.values() for value in column if hasattr(value, "utcoffset")]
    return {
        "rows": len(rows),
        "sums": {
            name: str(sum(column))
            for name, column in values.items()
            if column and all(isinstance(value, Decimal) for value in column)
        },
        "offsets": sorted({str(value.utcoffset()) for value in instants}),
        "odd": sorted({type(value).__name__ for column in values.values() for value in column if not is_whole(value)} - plain),
    }


def is_whole(value):
    """pandas reads integers beside nulls as floats."""
    return isinstance(value, float) and value.is_integer()


plain = {"int", "bool", "str", "Decimal", "date", "datetime", "Timestamp"}


def with_sqlalchemy(query, connection, _):
    result = connection.execute(sqlalchemy.text(query))
    return summary([tuple(row) for row in result], list(result.keys()))


def with_pandas(query, connection, _):
    # Without coerce_float=False a numeric becomes a float; with a dtype_backend it becomes text, exact.
    frame = pandas.read_sql(sqlalchemy.text(query), connection, coerce_float=False)
    plain_values = frame.astype(object).where(frame.notna(), None)
    return summary(list(plain_values.itertuples(index=False, name=None)), list(frame.columns))


def with_polars(query, connection, _):
    frame = polars.read_database(query, connection, infer_schema_length=None)
    return summary(frame.rows(), frame.columns)


def with_adbc(query, _, table):
    # ADBC gives a numeric as text, exact.
    scales = {column.name: column.type.scale for column in table.columns if isinstance(column.type, sqlalchemy.Numeric)}
    frame = polars.read_database_uri(query, "postgresql://", engine="adbc")
    frame = frame.with_columns(polars.col(name).ext.storage().cast(polars.Decimal(38, scale)) for name, scale in scales.items())
    return summary(frame.rows(), frame.columns)


def refusal(connection):
    try:
        connection.execute(sqlalchemy.text("create table mine (a int)"))
    except sqlalchemy.exc.DBAPIError as error:
        return error.orig.sqlstate
    return None


def main():
    metadata = sqlalchemy.MetaData()
    metadata.reflect(engine, schema=schema, views=True)
    libraries = {"SQLAlchemy": with_sqlalchemy, "pandas": with_pandas, "Polars": with_polars, "Polars with ADBC": with_adbc}
    with engine.connect() as connection:
        found = {
            library: {table.name: read(f'select * from {schema}."{table.name}"', connection, table) for table in metadata.sorted_tables}
            for library, read in libraries.items()
        }
        connection.rollback()
        print(json.dumps({"found": found, "write": refusal(connection)}))


main()
