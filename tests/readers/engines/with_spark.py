"""Spark, all conditions in one job: starting one takes longer than reading our files."""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from tests.readers.engines.face import (
    UNION,
    Spelling,
    brief,
    in_batches,
    is_binary,
    is_text,
    quoted,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from tests.readers.engines.face import Answer


_SWITCHES = ("parquet.filter.bloom.enabled", "spark.sql.parquet.filterPushdown")
_AT_ONCE = 100


class Spark(Spelling):
    """Spark, all conditions in one job: starting one takes longer than reading our files."""

    name = "spark"
    problem = ""
    _types = {  # noqa: RUF012
        pa.bool_(): "BOOLEAN", pa.int8(): "TINYINT", pa.uint8(): "SMALLINT",
        pa.int16(): "SMALLINT", pa.int32(): "INT", pa.int64(): "BIGINT",
        pa.uint16(): "INT", pa.uint32(): "BIGINT", pa.uint64(): "DECIMAL(20, 0)",
        pa.float32(): "FLOAT", pa.float64(): "DOUBLE", pa.date32(): "DATE",
        pa.timestamp("ms"): "TIMESTAMP_NTZ", pa.timestamp("us"): "TIMESTAMP_NTZ",
        pa.timestamp("ms", "UTC"): "TIMESTAMP", pa.timestamp("us", "UTC"): "TIMESTAMP",
        pa.timestamp("ns"): "TIMESTAMP", pa.timestamp("ns", "UTC"): "TIMESTAMP",
        pa.time32("ms"): "TIME(6)", pa.time64("us"): "TIME(6)", pa.time64("ns"): "TIME(6)",
        pa.float16(): "FLOAT",
    }  # fmt: skip
    _access = {  # noqa: RUF012
        "flat": "`{0}` = {1}",
        "struct": "`{0}`.`x` = {1}",
        "list": "array_contains(`{0}`, {1})",
        "map": "array_contains(map_keys(`{0}`), {1})",
    }

    _schemas: ClassVar[dict[tuple[str, int], StructType]] = {}

    def __init__(self, session: SparkSession, *, pushdown: bool = True) -> None:
        self.session = session
        self._pushdown = pushdown

    def literal(self, kind: pa.DataType, value: Any) -> str | None:  # noqa: ANN401
        """Spell `value` as a literal of the type `kind`; None if there is none."""
        if is_text(kind):
            return quoted(value)
        if kind == pa.uuid():
            return f"X'{value.hex}'"
        if is_binary(kind) or pa.types.is_fixed_size_binary(kind):
            return f"X'{value.hex()}'"
        if pa.types.is_decimal(kind):
            return f"CAST('{value}' AS DECIMAL({kind.precision}, {kind.scale}))"
        known = self._types.get(kind)
        return None if known is None else f"CAST('{text_of(value)}' AS {known})"

    def counts(self, path: Path, conditions: Sequence[str]) -> list[Answer]:
        """Count the rows that meet each condition."""
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        for name in _SWITCHES:
            self.session.conf.set(name, str(self._pushdown).lower())
        try:
            self._open(path).createOrReplaceTempView("t")
            return in_batches(self._counts, conditions, _AT_ONCE)
        except (PySparkException, Py4JJavaError) as error:
            self.problem = brief(error)
            return [type(error).__name__] * len(conditions)

    def _open(self, path: Path) -> DataFrame:
        """Read a file; its schema, which takes a job to infer, only once."""
        known = (str(path), path.stat().st_mtime_ns)
        if known not in self._schemas:
            self._schemas[known] = self.session.read.parquet(str(path)).schema
        return self.session.read.schema(self._schemas[known]).parquet(str(path))

    def _counts(self, conditions: Sequence[str]) -> list[Answer]:
        """Give a row for each that meets a condition: counting in each scan takes twice as long."""
        parts = [
            f"SELECT {i} AS i FROM t WHERE {condition}"  # noqa: S608
            for i, condition in enumerate(conditions)
        ]
        found = Counter(row.i for row in self.session.sql(UNION.join(parts)).collect())
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
