"""Running a query, and what of its outcome must not depend on the rules."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tests.spark.metrics import Metrics, metrics_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.spark.generated.queries import Query


_CONDITION = re.compile(r"(?<!olumn: )\[([A-Z][A-Z0-9_.]+)\]")  # Spark 3.5 names columns like this
_CAUSE = re.compile(r"^Caused by: .*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a query."""

    rows: Counter[tuple[object, ...]] | None
    """How often each row was given out; None after an error."""

    error: str
    """Its class; empty if there was none."""

    text: str = ""
    """What it said."""

    metrics: Metrics | None = None

    def is_same(self, other: Outcome) -> bool:
        """Whether the answers are the same, or the errors."""
        return (self.rows, self.error) == (other.rows, other.error)


def run(spark: SparkSession, query: Query) -> Outcome:
    """Run a query as it stands."""
    for name, value in query.settings.items():
        spark.conf.set(name, value)
    try:
        for statement in query.before:
            spark.sql(statement)
        return answer(spark, query.sql)
    except Exception as error:  # noqa: BLE001  errors are outcomes
        return _failed(error)
    finally:
        for statement in query.after:
            forgive(spark, statement)


def answer(spark: SparkSession, sql: str) -> Outcome:
    """Run one statement."""
    try:
        frame = spark.sql(sql)
        table = arrow_of(frame)
        metrics = metrics_of(frame)
    except Exception as error:  # noqa: BLE001  errors are outcomes
        return _failed(error)
    columns = [column.to_pylist() for column in table.columns]
    rows = Counter(tuple(map(canonical, row)) for row in zip(*columns, strict=True))
    return Outcome(rows=rows, error="", metrics=metrics)


def arrow_of(frame: Any) -> pa.Table:  # noqa: ANN401  a DataFrame of any line of Spark
    """Run a query; Spark before 4.0 has no public way to Arrow."""
    if hasattr(frame, "toArrow"):
        return frame.toArrow()
    batches = frame._collect_as_arrow()  # noqa: SLF001
    return pa.Table.from_batches(batches) if batches else pa.table({})


def forgive(spark: SparkSession, statement: str) -> None:
    """Run a statement that has nothing to do if the one before it failed."""
    try:
        spark.sql(statement)
    except Exception as error:
        if "NOT_FOUND" not in str(error):
            raise


def canonical(value: Any) -> object:  # noqa: ANN401  any value of Spark
    """Return something equal for equal values: NaN is NaN, and zero has no sign."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    if isinstance(value, dict):
        return tuple((name, canonical(one)) for name, one in value.items())
    if isinstance(value, list):
        return tuple(map(canonical, value))
    return value


def _failed(error: Exception) -> Outcome:
    text = str(error)
    found = _CONDITION.search(text)
    causes = "\n".join(_CAUSE.findall(text))
    name = found.group(1) if found else type(error).__name__
    return Outcome(rows=None, error=name, text=f"{text[:1000]}\n{causes}")
