"""Point queries on Spark, and their planning: `python -m benchmarks.spark_tasks NAME REPEATS`.

DataFrames are made before anything is timed, so that files have been listed and the schema is
known; what is timed is a filter on such a DataFrame, from its analysis to the rows in Python. No
value is asked for twice. Every answer is checked.
"""

# ruff: noqa: SLF001  PySpark's way to the JVM
from __future__ import annotations

import sys
from functools import partial
from itertools import count, repeat
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from benchmarks import spark_data
from benchmarks.measure import timed
from benchmarks.spark_session import index_anew, local_spark, print_result, seconds, switch
from parquet_bloomwriter.spark import Hyperspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

_STEP = 137
"""From the file of one present id to that of the next."""

_WARM_UP = 10
"""Point queries that are not counted, of each kind: the JVM compiles what it has run often."""

_PLANNED = 20
"""Planning takes milliseconds, and varies."""

_ASKED = 10
"""So do queries that read one file."""


def point(repeats: str) -> None:
    """Absent and present ids, without and with filters and index.

    "alone" is a query of the one file that holds the id, without rules: what Spark takes if it is
    known beforehand where the id is. "low" is a query with an index of a low FPP, which leaves few
    files that do not hold the id.
    """
    index_anew(spark_data.MANY, ["id"])
    index_anew(spark_data.MANY_LINKED, ["id"], fpp=spark_data.LOW_FPP)
    with local_spark() as spark:
        spread = spark.read.parquet(str(spark_data.MANY))
        filtered = spark.read.parquet(str(spark_data.MANY_FILTERED))
        linked = spark.read.parquet(str(spark_data.MANY_LINKED))
        where = partial(_where, Hyperspace(spark))
        alone = (
            (spark.read.schema(spread.schema).parquet(str(spark_data.MANY / name)), value)
            for name, value in _stored()
        )
        cases = {"present_alone": _query(spark, _filter, alone, rows=1, on=False)}
        for kind, ids in (("absent", _absent()), ("present", _present())):
            rows = 1 if kind == "present" else 0
            for name, df, ask, on in (
                ("nothing", spread, _filter, False),
                ("embedded", filtered, _filter, False),
                ("index", spread, _filter, True),
                ("low", linked, _filter, True),
                ("where", spread, where, False),
            ):
                questions = zip(repeat(df), ids)
                cases[f"{kind}_{name}"] = _query(spark, ask, questions, rows=rows, on=on)
        for case in cases.values():
            for _ in range(_WARM_UP):
                case()
        times = max(int(repeats), _ASKED)
        print_result({name: timing.seconds for name, timing in timed(cases, times).items()})


def _query(
    spark: SparkSession,
    ask: Callable[[DataFrame, int], DataFrame],
    questions: Iterator[tuple[DataFrame, int]],
    *,
    rows: int,
    on: bool,
) -> Callable[[], float]:
    def case() -> float:
        switch(spark, on=on)
        df, value = next(questions)
        found: list[object] = []
        taken = seconds(lambda: found.extend(ask(df, value).collect()))
        if len(found) != rows:
            raise RuntimeError(f"{len(found)} rows have the id {value}, not {rows}")
        return taken

    return case


def _filter(df: DataFrame, value: int) -> DataFrame:
    return df.filter(f"id = {value}")


def _where(hyperspace: Hyperspace, df: DataFrame, value: int) -> DataFrame:
    return df.transform(hyperspace.where(f"id = {value}"))


def _absent() -> Iterator[int]:
    """Ids in no file."""
    return count((1 << 62) + 1, 2 * _STEP)


def _present() -> Iterator[int]:
    """Ids in one file each, always in another."""
    return (value for _, value in _stored())


def _stored() -> Iterator[tuple[str, int]]:
    """Names of files, each with an id in it and in no other."""
    for number in count(0, _STEP):
        name = f"part-{number % spark_data.NUM_MANY:05d}.parquet"
        ids = pq.read_table(spark_data.MANY / name, columns=["id"])["id"]
        yield name, ids[number % len(ids)].as_py()


def planning(repeats: str) -> None:
    """The optimizer alone, and all of planning, over many indexed files."""
    index_anew(spark_data.LINKS, ["id"])
    with local_spark() as spark:
        df = spark.read.parquet(str(spark_data.LINKS))
        cases = {}
        for kind, values in (("absent", _absent()), ("present", _linked())):
            for name, on in (("off", False), ("on", True)):
                cases[f"{kind}_optimizer_{name}"] = _planned(df, values, _optimized, on=on)
                cases[f"{kind}_planning_{name}"] = _planned(df, values, _executable, on=on)
        times = max(int(repeats), _PLANNED)
        print_result({name: timing.seconds for name, timing in timed(cases, times).items()})


def _planned(
    df: DataFrame, ids: Iterator[int], plan: Callable[[DataFrame], object], *, on: bool
) -> Callable[[], float]:
    def case() -> float:
        switch(df.sparkSession, on=on)
        query = _filter(df, next(ids))
        return seconds(lambda: plan(query))

    return case


def _optimized(df: DataFrame) -> object:
    analyzed = df._jdf.queryExecution().analyzed()
    return df.sparkSession._jsparkSession.sessionState().optimizer().execute(analyzed)


def _executable(df: DataFrame) -> object:
    """Optimize, and list the files of the scan."""
    return df._jdf.queryExecution().executedPlan()


def _linked() -> Iterator[int]:
    """Ids in one of a hundred files."""
    files: Sequence[str] = [f"part-{number:05d}.parquet" for number in range(100)]
    for number in count():
        ids = pq.read_table(spark_data.LINKS / files[number % 100], columns=["id"])["id"]
        yield ids[number % len(ids)].as_py()


TASKS: dict[str, Callable[[str], None]] = {task.__name__: task for task in (point, planning)}

if __name__ == "__main__":
    TASKS[sys.argv[1]](*sys.argv[2:])
