"""Reads Delta tables with one engine: python read.py <engine> <lake> <jars of Spark or port of Trino>; requests are lines of JSON on the standard input.

A request has a table, a version (or null) and a filter (or null). All are opened first; after the line "go" their rows are
read, and a line of JSON says of each column how many values it has, their sum, the least and the greatest.
"""

import datetime
import decimal
import json
import sys

import sessions
from sessions import number, plain

engine, lake, option = sys.argv[1:4]


def open_deltalake(path, version, filters):
    from deltalake import DeltaTable

    table = DeltaTable(path, version=version)
    return lambda: table.to_pyarrow_table(filters=filters and [tuple(filters)])


def open_polars(path, version, filters):
    import polars as pl

    rows = pl.scan_delta(path, version=version)
    if filters:
        column, operator, value = filters
        rows = rows.filter(pl.col(column) == value if operator == "==" else pl.col(column) > value)
    return lambda: rows.collect().to_arrow()


def open_duckdb(path, version, filters):
    """Through delta-rs."""
    import duckdb
    from deltalake import DeltaTable

    dataset = DeltaTable(path, version=version).to_pyarrow_dataset()
    where = f"where {filters[0]} {filters[1]} ?" if filters else ""

    def read():
        connection = duckdb.connect()
        connection.register("delta", dataset)
        return connection.execute(f"select * from delta {where}", filters and [filters[2]]).to_arrow_table()

    return read


def open_duckdb_delta(path, version, filters):
    at = "" if version is None else f", version => {version}"
    where = f"where {filters[0]} {filters[1]} ?" if filters else ""
    query = f"select * from delta_scan('file://{path}'{at}) {where}"
    return lambda: sessions.duckdb_delta().execute(query, filters and [filters[2]]).to_arrow_table()


def open_spark(path, version, filters):
    reader = sessions.spark(option).read.format("delta")
    rows = (reader if version is None else reader.option("versionAsOf", version)).load(path)
    if filters:
        column, operator, value = filters
        rows = rows.where(rows[column] == value if operator == "==" else rows[column] > value)
    return lambda: rows.toArrow()


def trino_literal(value):
    if isinstance(value, decimal.Decimal):
        return f"decimal '{value}'"
    rounded = value + datetime.timedelta(microseconds=500)
    return f"timestamp '{rounded:%Y-%m-%d %H:%M:%S}.{rounded.microsecond // 1000:03} UTC'"


def open_trino(path, version, filters):
    server = sessions.trino(option)
    folder, table = path.rsplit("/", 1)
    server.register(folder, table)
    query = f"select * from {table}" + ("" if version is None else f" for version as of {version}")
    if filters:
        column, operator, value = filters
        query += f" where {column} {'=' if operator == '==' else operator} {trino_literal(value)}"
    return lambda: server.read(query)


def columns_of(found):
    """Values by column, of an Arrow table or of names and rows."""
    if isinstance(found, tuple):
        names, rows = found
        return len(rows), {name: [row[at] for row in rows] for at, name in enumerate(names)}
    return found.num_rows, {name: found[name].to_pylist() for name in found.column_names}


def summary(column):
    values = [value for value in column if value is not None]
    if not values:
        return [0, None, None, None]
    if isinstance(values[0], str):
        encoded = [value.encode() for value in values]
        return [len(values), plain(sum(map(len, encoded))), min(encoded).decode(), max(encoded).decode()]
    numbers = [number(value) for value in values]
    total = None if isinstance(numbers[0], float) else plain(sum(numbers))
    return [len(values), total, plain(min(numbers)), plain(max(numbers))]


def filter_of(request):
    if request["filter"] is None:
        return None
    column, operator, value, kind = request["filter"]
    if kind == "timestamp":
        return [column, operator, datetime.datetime.fromisoformat(value)]
    return [column, operator, decimal.Decimal(value) if kind == "decimal" else value]


decimal.getcontext().prec = 60
open_table = {
    "deltalake": open_deltalake,
    "polars": open_polars,
    "duckdb": open_duckdb,
    "duckdb-delta": open_duckdb_delta,
    "spark": open_spark,
    "trino": open_trino,
}[engine]
opened = []
for line in sys.stdin:
    if line.strip() == "go":
        break
    request = json.loads(line)
    opened.append(open_table(f"{lake}/{request['table']}", request["version"], filter_of(request)))
    print("opened", flush=True)
for rows in opened:
    count, columns = columns_of(rows())
    summaries = {name: summary(values) for name, values in columns.items() if name != "lake_month"}
    print(json.dumps({"rows": count, "columns": summaries}), flush=True)
