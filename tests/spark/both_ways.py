"""One query with the rules off and on, for tests that write their queries down."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from parquet_bloomwriter.spark import rules
from tests.spark.conftest import FEW_TASKS, INTERPRETED
from tests.spark.generated.comparing import canonical
from tests.spark.metrics import Metrics, metrics_of
from tests.support.spark_session import local_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

EAGER = {
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    **INTERPRETED,
    **FEW_TASKS,
    "spark.bloomwriter.join.minBytes": "0",
}
"""Settings with which sides of joins are filtered however small they are, and little is planned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BothWays:
    """What a query did, and gave out both ways."""

    off: Metrics
    on: Metrics
    rows: Counter[tuple[object, ...]]

    @property
    def files(self) -> tuple[int, int]:
        """Files read, with the rules off and on."""
        return self.off.num_files, self.on.num_files

    @property
    def values(self) -> list[object]:
        """The first column, sorted by its text."""
        return sorted((row[0] for row in self.rows.elements()), key=str)


@contextmanager
def eager_session() -> Iterator[SparkSession]:
    """Yield a session of its own, in which the rules are ready to be switched on."""
    with local_session(EAGER) as session:
        rules.enable(session)
        assert rules.is_enabled(session)
        rules.disable(session)
        yield session


def both_ways(spark: SparkSession, make: str | Callable[[SparkSession], DataFrame]) -> BothWays:
    """Run a query, SQL or a function that makes a DataFrame anew, and compare the answers."""
    off, metrics_off = _run(spark, make)
    rules.enable(spark)
    try:
        on, metrics_on = _run(spark, make)
    finally:
        rules.disable(spark)
    assert on == off
    return BothWays(off=metrics_off, on=metrics_on, rows=on)


def all_both_ways(
    spark: SparkSession, makes: Sequence[Callable[[SparkSession], DataFrame]]
) -> BothWays:
    """Run many queries as one, for that takes little longer than each of them."""

    def united(session: SparkSession) -> DataFrame:
        frames = [make(session) for make in makes]
        labelled = [
            frame.toDF(*(f"c{j}" for j in range(len(frame.columns)))).selectExpr(f"{i} AS i", "*")
            for i, frame in enumerate(frames)
        ]
        return reduce(DataFrame.unionAll, labelled)

    from pyspark.sql import DataFrame

    return both_ways(spark, united)


@contextmanager
def set_for_now(spark: SparkSession, settings: dict[str, str]) -> Iterator[None]:
    """Change settings for a while."""
    old = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, before in old.items():
            spark.conf.unset(name)
            if before is not None and EAGER.get(name) == before:
                spark.conf.set(name, before)


def _run(
    spark: SparkSession, make: str | Callable[[SparkSession], DataFrame]
) -> tuple[Counter[tuple[object, ...]], Metrics]:
    frame = spark.sql(make) if isinstance(make, str) else make(spark)
    rows = Counter(tuple(canonical(value) for value in row) for row in frame.collect())
    return rows, metrics_of(frame)
