"""Settings of Spark that change how a query is planned and run, but not its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

_SQL = "spark.sql."
_CHOICES = {
    "adaptive.enabled": ("true", "false", "false"),
    "autoBroadcastJoinThreshold": ("-1", "-1", "-1", "10MB", "20KB"),
    "parquet.enableVectorizedReader": (*["true"] * 9, "false"),
    "parquet.filterPushdown": (*["true"] * 7, "false"),
    "join.preferSortMergeJoin": ("true", "true", "false"),
    "caseSensitive": (*["false"] * 9, "true"),
    "codegen.wholeStage": (*["false"] * 5, "true"),
    "codegen.factoryMode": (*["NO_CODEGEN"] * 5, "FALLBACK"),
    "optimizer.dynamicPartitionPruning.enabled": ("true", "true", "false"),
    "optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold": ("10GB", "0B"),
    "constraintPropagation.enabled": (*["true"] * 4, "false"),
    "cbo.enabled": ("false", "false", "true"),
    "ansi.enabled": ("true", "false"),
    "files.minPartitionNum": ("1", "1", "2"),
    "shuffle.partitions": ("1", "1", "1", "3"),
    "files.maxPartitionBytes": (*["128MB"] * 9, "2KB"),
}


def random_settings(rng: random.Random) -> dict[str, str]:
    """Return settings for one query, all of them each time."""
    return {_SQL + name: rng.choice(values) for name, values in _CHOICES.items()}
