"""Reads Delta tables with one engine: python read.py <engine> <lake> <jars>; requests are lines of JSON on the standard input.

A request has a table, a version (or null) and a filter (or null). All are opened first; after the line "go" their rows are
read, and a line of JSON says of each column how many values it has, their sum, the least and the greatest.
"""

import datetime
import decimal
import glob
import json
import sys

engine, lake, jars = sys.argv[1:4]


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
    """Through delta-rs: DuckDB's own extension comes from its server alone."""
    import duckdb
    from deltalake import DeltaTable

    dataset = DeltaTable(path, version=version).to_pyarrow_dataset()
    where = f"where {filters[0]} {filters[1]} ?" if filters else ""

    def read():
        connection = duckdb.connect()
        connection.register("delta", dataset)
        return connection.execute(f"select * from delta {where}", filters and [filters[2]]).to_arrow_table()

    return read


spark = None


def open_spark(path, version, filters):
    global spark
    if spark is None:
        import pyspark

        spark = (
            pyspark.sql.SparkSession.builder.master("local[2]")
            .config("spark.jars", ",".join(glob.glob(f"{jars}/*.jar")))
            .config("spark.sql.session.timeZone", "UTC")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.databricks.delta.snapshotPartitions", "1")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
            .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
            .getOrCreate()
        )
        spark.sparkContext.setLogLevel("ERROR")
    reader = spark.read.format("delta")
    rows = (reader if version is None else reader.option("versionAsOf", version)).load(path)
    if filters:
        column, operator, value = filters
        rows = rows.where(rows[column] == value if operator == "==" else rows[column] > value)
    return lambda: rows.toArrow()


def number(value):
    """An instant as microseconds, a date as days, a flag as 0 or 1."""
    if isinstance(value, datetime.datetime):
        gap = value.astimezone(datetime.timezone.utc) - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
        return gap // datetime.timedelta(microseconds=1)
    if isinstance(value, datetime.date):
        return (value - datetime.date(1970, 1, 1)).days
    return int(value) if isinstance(value, bool) else value


def plain(value):
    if isinstance(value, (int, decimal.Decimal)):
        text = format(decimal.Decimal(value), "f")
        return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"
    return value


def summary(column):
    values = [value for value in column.to_pylist() if value is not None]
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
open_table = {"deltalake": open_deltalake, "polars": open_polars, "duckdb": open_duckdb, "spark": open_spark}[engine]
opened = []
for line in sys.stdin:
    if line.strip() == "go":
        break
    request = json.loads(line)
    opened.append(open_table(f"{lake}/{request['table']}", request["version"], filter_of(request)))
    print("opened", flush=True)
for rows in opened:
    table = rows()
    names = [name for name in table.column_names if name != "lake_month"]
    print(json.dumps({"rows": table.num_rows, "columns": {name: summary(table[name]) for name in names}}), flush=True)
