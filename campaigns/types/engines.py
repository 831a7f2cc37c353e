"""The engines of the matrix, with push-down and without, and how much each is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from campaigns.types.asking import Effort, Pair
from tests.readers.engines import (
    ClickHouse,
    DataFusion,
    DuckDB,
    FastParquet,
    Polars,
    PyArrow,
    Spark,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENGINES = ("duckdb", "datafusion", "chdb", "spark", "pyarrow", "polars", "fastparquet")

SPARK_SETTINGS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.shuffle.partitions": "1",
}
"""Compiling queries takes longer than our files take to be read."""

_FULL = Effort(before=(50, 50), after=(50, 1000), off=(50, 50))
_NO_FILTERS = Effort(before=(50, 50), after=(50, 50), off=(20, 20))
_COSTLY = Effort(before=(10, 50), after=(50, 1000), off=(2, 50))
_FEW = Effort(before=(50, 20), after=(50, 50), off=(10, 10))
_COSTLY_FEW = Effort(before=(3, 0), after=(10, 50), off=(0, 0))

_WITHOUT_FILTERS = {"pyarrow", "polars", "fastparquet"}


def effort_of(engine: str, writer: str, layout: str) -> Effort:
    """How much an engine is asked: most where it uses filters, about plain files of pyarrow.

    A question to Spark costs thirty times as much as one to DuckDB.
    """
    is_main = (writer, layout) == ("pyarrow", "plain")
    if engine == "spark":
        return _COSTLY if is_main else _COSTLY_FEW
    if engine in _WITHOUT_FILTERS:
        return _NO_FILTERS if is_main else _FEW
    return _FULL if is_main else _FEW


def light_pairs() -> list[Pair]:
    """All engines but Spark."""
    kinds = (DuckDB, DataFusion, ClickHouse, PyArrow, Polars, FastParquet)
    return [Pair(on=kind(), off=kind(pushdown=False)) for kind in kinds]


def spark_pair(session: SparkSession) -> Pair:
    """Spark, on a session."""
    return Pair(on=Spark(session), off=Spark(session, pushdown=False), alternatives=50)
