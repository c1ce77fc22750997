"""Reports from the tables of a lake, by the SQL of sql/bi/lake: python reports.py <engine> <lake> <jars of Spark or port of Trino>.

A line of JSON for each: its name, its columns, and its rows with numbers as text."""

import json
import os
import sys
from pathlib import Path

import sessions

engine, lake, option = sys.argv[1:4]
folder = Path(__file__).parents[2] / "sql/bi/lake"
tables = sorted(name for name in os.listdir(lake) if not name.startswith("_"))


def read_with_duckdb(setup):
    session = sessions.duckdb_delta()
    session.execute("set timezone = 'UTC'")
    for table in tables:
        session.execute(f"create view {table} as from delta_scan('file://{lake}/{table}')")
    session.execute(setup)

    def read(query):
        found = session.execute(query).to_arrow_table()
        return found.column_names, list(zip(*(column.to_pylist() for column in found.columns)))

    return read


def read_with_spark(setup):
    session = sessions.spark(option)
    for table in tables:
        session.read.format("delta").load(f"{lake}/{table}").createOrReplaceTempView(table)
    for statement in "\n".join(line for line in setup.splitlines() if not line.startswith("--")).split(";"):
        if statement.strip():
            session.sql(statement)

    def read(query):
        rows = session.sql(query)
        return rows.columns, [tuple(row) for row in rows.collect()]

    return read


def read_with_trino(setup):
    server = sessions.trino(option)
    for table in tables:
        server.register(lake, table)
    return lambda query: server.read(setup + query)


def text(value):
    return value if isinstance(value, bool) else sessions.plain(sessions.number(value))


readers = {"duckdb-delta": ("duckdb", read_with_duckdb), "spark": ("spark", read_with_spark), "trino": ("trino", read_with_trino)}
dialect, reader = readers[engine]
read = reader((folder / f"{dialect}.sql").read_text())
for file in sorted(folder.glob("rpt_*.sql")):
    columns, rows = read(file.read_text())
    print(json.dumps({"name": file.stem, "columns": columns, "rows": [[text(value) for value in row] for row in rows]}), flush=True)
