"""Readers that use Bloom filters, behind one face."""

from tests.readers.engines.face import Answer, Engine, equals
from tests.readers.engines.with_clickhouse import ClickHouse
from tests.readers.engines.with_datafusion import DataFusion
from tests.readers.engines.with_duckdb import DuckDB
from tests.readers.engines.with_spark import Spark

__all__ = ["Answer", "ClickHouse", "DataFusion", "DuckDB", "Engine", "Spark", "equals"]
