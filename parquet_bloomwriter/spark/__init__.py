"""Bloom filters and their indexes in Spark: jobs, and optimizer rules that read less.

    from parquet_bloomwriter.spark import BFIndexConfig, Hyperspace, bloomify_table

    bloomify_table(spark, "events/", ["id"]).show()

    hs = Hyperspace(spark)
    hs.create_index(spark.read.parquet("events/"), BFIndexConfig("ids", ["id"]))
    hs.enable()

Only this package imports pyspark, and only when the package is used. The format of an index and
lookups in it are in `parquet_bloomwriter.index`, which knows nothing of Spark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloomwriter.lazy_names import importer

if TYPE_CHECKING:
    from parquet_bloomwriter.spark.engine import SparkEngine
    from parquet_bloomwriter.spark.hyperspace import BFIndexConfig, Hyperspace
    from parquet_bloomwriter.spark.progress import JobLine
    from parquet_bloomwriter.spark.table.bloomify_table import bloomify_table

__all__ = ["BFIndexConfig", "Hyperspace", "JobLine", "SparkEngine", "bloomify_table"]

__getattr__ = importer(
    __name__,
    {
        "BFIndexConfig": "hyperspace",
        "Hyperspace": "hyperspace",
        "JobLine": "progress",
        "SparkEngine": "engine",
        "bloomify_table": "table.bloomify_table",
    },
)


def __dir__() -> list[str]:
    return sorted(__all__)
