"""Readers, behind one face."""

from tests.readers.engines.face import Answer, Condition, Engine, Shape, equals
from tests.readers.engines.with_clickhouse import ClickHouse
from tests.readers.engines.with_datafusion import DataFusion
from tests.readers.engines.with_duckdb import DuckDB
from tests.readers.engines.with_fastparquet import FastParquet
from tests.readers.engines.with_polars import Polars
from tests.readers.engines.with_pyarrow import PyArrow
from tests.readers.engines.with_spark import Spark

__all__ = [
    "Answer",
    "ClickHouse",
    "Condition",
    "DataFusion",
    "DuckDB",
    "Engine",
    "FastParquet",
    "Polars",
    "PyArrow",
    "Shape",
    "Spark",
    "equals",
]
