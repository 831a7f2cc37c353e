"""Settings of a Spark session, `spark.bloomwriter.*`, and what they are by default."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PREFIX = "spark.bloomwriter."

INDEX_PATH: Final = f"{_PREFIX}index.path"
"""Folder of indexes, instead of `_bloom_index` in each table; "" for the latter."""

HYBRID_ENABLED: Final = f"{_PREFIX}hybridScan.enabled"
"""Whether indexes are used for tables whose files have changed since."""

MAX_APPENDED: Final = f"{_PREFIX}hybridScan.maxAppendedRatio"
"""Largest share of bytes in files that an index does not know, for it to be used for joins."""

MAX_APPENDED_BYTES: Final = f"{_PREFIX}hybridScan.maxAppendedBytes"
"""Bytes of files that an index does not know, up to which the driver reads them for a join."""

MAX_DELETED: Final = f"{_PREFIX}hybridScan.maxDeletedRatio"
"""Largest share of bytes in files that an index knows and the table has no more, likewise."""

MIN_JOIN_BYTES: Final = f"{_PREFIX}join.minBytes"
"""Sides of joins that Spark takes to be smaller are not filtered."""

DEFAULTS: Final = {
    INDEX_PATH: "",
    HYBRID_ENABLED: "true",
    MAX_APPENDED: "0.3",
    MAX_APPENDED_BYTES: str(256 * 1024 * 1024),
    MAX_DELETED: "0.2",
    MIN_JOIN_BYTES: str(10 * 1024 * 1024),
}


def setting_of(spark: SparkSession, name: str) -> str:
    """The value of a setting, as text."""
    value = spark.conf.get(name, DEFAULTS[name])
    return DEFAULTS[name] if value is None else value
