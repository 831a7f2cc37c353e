"""Spark, all conditions in one job: starting one takes longer than reading our files."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tests.readers.engines.face import is_binary, is_text, quoted, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.readers.engines.face import Answer


class Spark:
    """Spark, all conditions in one job: starting one takes longer than reading our files."""

    name = "spark"
    _types = {  # noqa: RUF012
        pa.int16(): "SMALLINT", pa.int32(): "INT", pa.int64(): "BIGINT",
        pa.uint16(): "INT", pa.uint32(): "BIGINT", pa.uint64(): "DECIMAL(20, 0)",
        pa.float32(): "FLOAT", pa.float64(): "DOUBLE", pa.date32(): "DATE",
        pa.timestamp("ms"): "TIMESTAMP_NTZ", pa.timestamp("us"): "TIMESTAMP_NTZ",
        pa.timestamp("us", "UTC"): "TIMESTAMP",
    }  # fmt: skip

    def __init__(self, session: SparkSession) -> None:
        self.session = session

    def literal(self, kind: pa.DataType, value: Any) -> str | None:  # noqa: ANN401
        """Spell `value` as a literal of the type `kind`; None if there is none."""
        if is_text(kind):
            return quoted(value)
        if is_binary(kind) or pa.types.is_fixed_size_binary(kind):
            return f"X'{value.hex()}'"
        if pa.types.is_decimal(kind):
            return f"CAST('{value}' AS DECIMAL({kind.precision}, {kind.scale}))"
        known = self._types.get(kind)
        return None if known is None else f"CAST('{text_of(value)}' AS {known})"

    def counts(self, path: Path, conditions: Sequence[str]) -> list[Answer]:
        """Count the rows that meet each condition."""
        self.session.read.parquet(str(path)).createOrReplaceTempView("t")
        parts = [
            f"SELECT {i} AS i, count(*) AS n FROM t WHERE {condition}"  # noqa: S608
            for i, condition in enumerate(conditions)
        ]
        found = {row.i: row.n for row in self.session.sql(" UNION ALL ".join(parts)).collect()}
        return [found[i] for i in range(len(conditions))]

    def rows(self, path: Path) -> str:
        """Return everything in the file, as text."""
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        try:
            return str(self.session.read.parquet(str(path)).collect())
        except (PySparkException, Py4JJavaError) as error:
            return type(error).__name__

    def scanned(self, path: Path, condition: str) -> int:
        """Rows that the scan handed to the filter above it."""
        frame = self.session.read.parquet(str(path)).where(condition)
        frame.collect()
        plan = frame._jdf.queryExecution().executedPlan()  # noqa: SLF001
        for node in _nodes(plan):
            if node.nodeName().startswith("Scan parquet"):
                return int(node.metrics().apply("numOutputRows").value())
        raise LookupError(plan.toString())


def _nodes(plan: Any) -> Iterator[Any]:  # noqa: ANN401  a JVM object
    yield plan
    with contextlib.suppress(Exception):  # only adaptive plans have one inside
        yield from _nodes(plan.executedPlan())
    children = plan.children()
    for i in range(children.size()):
        yield from _nodes(children.apply(i))
