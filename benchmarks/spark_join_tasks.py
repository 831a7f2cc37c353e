"""Joins and other shapes of queries on Spark: `python -m benchmarks.spark_join_tasks NAME REPEATS`.

Each query runs with the rules off and on in turn, from its text to the rows in Python, and both
must give the same rows. Views are made before, so that files have been listed. Sort-merge join is
forced where a shape says so.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from benchmarks import spark_data
from benchmarks.measure import timed
from benchmarks.spark_session import index_anew, local_spark, print_result, seconds, switch
from benchmarks.spark_shapes import SHAPES, Shape
from tests.spark.metrics import metrics_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, Row, SparkSession

_BROADCAST = "spark.sql.autoBroadcastJoinThreshold"
_JOIN = (
    "SELECT count(*), sum(f.value), max(f.text), sum(k.weight) "
    "FROM facts f JOIN {keys} k ON f.key = k.key"
)


class Query:
    """One query with the rules on or off."""

    def __init__(self, spark: SparkSession, shape: Shape, *, on: bool) -> None:
        self._spark, self._shape, self._on = spark, shape, on
        self.rows: Sequence[Row] = ()
        self.df: DataFrame | None = None

    def __call__(self) -> float:
        """Run it, and return the seconds it took."""
        self._spark.conf.set(_BROADCAST, "-1" if self._shape.is_sorted else "10MB")
        switch(self._spark, on=self._on)
        return seconds(self._run)

    def _run(self) -> None:
        self.df = self._spark.sql(self._shape.sql)
        self.rows = self.df.collect()


def join(repeats: str) -> None:
    """20 M rows with 500 K keys and with 8 M."""
    index_anew(spark_data.KEYS_FEW, ["key"])
    index_anew(spark_data.KEYS_MANY, ["key"])
    with local_spark() as spark:
        _views(spark)
        shapes = {
            name: Shape(what="", sql=_JOIN.format(keys=f"keys_{name}"), is_sorted=True)
            for name in ("few", "many")
        }
        result: dict[str, object] = {}
        for name, shape in shapes.items():
            pair = _pair(spark, shape)
            timings = _alternated(pair, int(repeats))
            result |= {f"{name}_{case}": seconds for case, seconds in timings.items()}
            result |= {f"{name}_{case}_bytes": _shuffled(query) for case, query in pair.items()}
        print_result(result)


def shapes(repeats: str) -> None:
    """Ten shapes that rules cannot help much, or not at all.

    There is no index of `stars.many`, or the star join would shuffle fewer keys.
    """
    index_anew(spark_data.KEYS_FEW, ["key"])
    index_anew(spark_data.KEYS_MANY, ["key"])
    for table in (spark_data.STARS, spark_data.SMALL):
        index_anew(table, ["key", "few", "kind"])
    with local_spark() as spark:
        _views(spark)
        result = {}
        for name, shape in SHAPES.items():
            times = int(repeats) * (3 if shape.is_short else 1)
            result[name] = _alternated(_pair(spark, shape), times)
        print_result(result)


def _views(spark: SparkSession) -> None:
    for folder in (
        spark_data.FACTS,
        spark_data.KEYS_FEW,
        spark_data.KEYS_MANY,
        spark_data.STARS,
        spark_data.SMALL,
    ):
        spark.read.parquet(str(folder)).createOrReplaceTempView(folder.name)


def _pair(spark: SparkSession, shape: Shape) -> dict[str, Query]:
    return {name: Query(spark, shape, on=name == "on") for name in ("off", "on")}


def _alternated(pair: dict[str, Query], repeats: int) -> dict[str, tuple[float, ...]]:
    timings = timed(pair, repeats)
    if _rounded(pair["off"].rows) != _rounded(pair["on"].rows):
        raise RuntimeError(f"{pair['on'].rows} with the rules, {pair['off'].rows} without")
    return {name: timing.seconds for name, timing in timings.items()}


def _rounded(rows: Sequence[Row]) -> list[list[object]]:
    """Sums of doubles depend on their order."""
    return [
        [float(f"{value:.9g}") if isinstance(value, float) else value for value in row]
        for row in rows
    ]


def _shuffled(query: Query) -> int:
    if query.df is None:
        raise RuntimeError("it was never run")
    return metrics_of(query.df).shuffle_bytes


TASKS: dict[str, Callable[[str], None]] = {task.__name__: task for task in (join, shapes)}

if __name__ == "__main__":
    TASKS[sys.argv[1]](*sys.argv[2:])
