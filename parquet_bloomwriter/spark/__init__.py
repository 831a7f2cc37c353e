"""Bloom filters and their indexes in Spark: jobs, and rules that read less.

    from parquet_bloomwriter.spark import BFIndexConfig, Hyperspace, bloomify_table

    bloomify_table(spark, "events/", ["id"]).show()

    hs = Hyperspace(spark)
    hs.create_index(spark.read.parquet("events/"), BFIndexConfig("ids", ["id"]))
    hs.enable()

This package alone imports pyspark, and only when it is used. What an index is, and what it says of
a file, is the business of `parquet_bloomwriter.index`, which knows no Spark.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parquet_bloomwriter.spark.config import BFIndexConfig
    from parquet_bloomwriter.spark.engine import SparkEngine
    from parquet_bloomwriter.spark.hyperspace import Hyperspace
    from parquet_bloomwriter.spark.progress import JobLine
    from parquet_bloomwriter.spark.table.bloomify_table import bloomify_table

__all__ = ["BFIndexConfig", "Hyperspace", "JobLine", "SparkEngine", "bloomify_table"]

_HOMES = {
    "BFIndexConfig": "config",
    "Hyperspace": "hyperspace",
    "JobLine": "progress",
    "SparkEngine": "engine",
    "bloomify_table": "table.bloomify_table",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
