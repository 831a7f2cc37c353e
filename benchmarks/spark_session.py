"""One Spark of two cores for a task, which is a process of its own.

Settings are Spark's own, but for those that keep it to this machine and to a folder that goes away,
and for its memory: 200 partitions of a shuffle, adaptive execution, tables up to 10 MB broadcast.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from parquet_bloomwriter import index
from parquet_bloomwriter.spark import rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import SparkSession

NAME = "benchmark"
"""Of every index."""

_MEMORY = "3g"
_PROJECT = Path(__file__).parent.parent
_HOME = "_bloom_index"


@contextmanager
def local_spark() -> Iterator[SparkSession]:
    """Start Spark, and stop it in the end."""
    from pyspark.sql import SparkSession

    os.environ.update(
        PYSPARK_PYTHON=sys.executable, PYTHONPATH=str(_PROJECT), SPARK_LOCAL_IP="127.0.0.1"
    )
    with tempfile.TemporaryDirectory(prefix="spark-", ignore_cleanup_errors=True) as folder:
        builder = SparkSession.builder.appName("benchmarks")
        for name, value in _settings(folder).items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
        # Of pandas only its presence is asked for.
        warnings.filterwarnings("ignore", message=".*pandas", category=FutureWarning)
        try:
            yield spark
        finally:
            spark.stop()


def _settings(folder: str) -> dict[str, str]:
    return {
        "spark.master": "local[2]",
        "spark.driver.memory": _MEMORY,
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.local.dir": folder,
        "spark.log.level": "ERROR",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


def index_anew(table: Path, columns: Sequence[str], **options: object) -> None:
    """Make an index of a table in place of any that it has."""
    remove_index(table)
    index.create(table, columns, name=NAME, **options)  # type: ignore[arg-type]


def remove_index(table: Path) -> None:
    """Remove the indexes of a table."""
    shutil.rmtree(table / _HOME, ignore_errors=True)


def switch(spark: SparkSession, *, on: bool) -> None:
    """Let queries use indexes, or not."""
    if on and not rules.enable(spark):
        raise RuntimeError("the rules cannot be added to Spark")
    if not on:
        rules.disable(spark)


def seconds(function: Callable[[], object]) -> float:
    """Time one call."""
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def print_result(result: object) -> None:
    """Hand a task's result to whoever has started it."""
    print(json.dumps(result))
