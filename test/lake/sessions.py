"""Sessions of the engines, and how values are written."""

import datetime
import decimal
import functools
import glob


@functools.cache
def spark(jars):
    import pyspark

    session = (
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
    session.sparkContext.setLogLevel("ERROR")
    return session


@functools.cache
def duckdb_delta():
    """DuckDB with its own extension, from a package."""
    import duckdb
    import duckdb_extension_delta

    session = duckdb.connect()
    (extension,) = glob.glob(f"{duckdb_extension_delta.__path__[0]}/extensions/*/delta.duckdb_extension")
    session.load_extension(extension)
    return session


@functools.cache
def trino(port):
    from trino.dbapi import connect

    session = {"catalog": "lake", "schema": "default", "timezone": "UTC"}
    return Trino(connect("127.0.0.1", int(port), user="test", **session).cursor())


class Trino:
    def __init__(self, cursor):
        self.cursor = cursor
        self.read("create schema if not exists lake.default")
        self.tables = {name for (name,) in self.read("show tables")[1]}

    def register(self, lake, table):
        if table not in self.tables:
            self.read(f"call lake.system.register_table('default', '{table}', 'local://{lake}/{table}')")
            self.tables.add(table)

    def read(self, query):
        """Names of the columns, and rows."""
        rows = self.cursor.execute(query).fetchall()
        return [column[0] for column in self.cursor.description or []], rows


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
