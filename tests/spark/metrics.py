"""What Spark measured while it ran a query: files and rows read, bytes shuffled, probes.

The plan that has been run is walked through adaptive execution, stages, reused exchanges, caches
and subqueries. Ask after the query has been run by this very DataFrame: `df.collect()`.
"""

# ruff: noqa: ANN401, SLF001  Spark's plans are objects of the JVM, without types or a public way to them
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame

_SCAN = "FileSourceScanExec"
_PROBE = "Bloom filter of "
"""How a probe describes itself; lines of Spark differ in how they show that it is called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """One scan of files."""

    location: str
    """The relation's FileIndex, as it describes itself."""

    num_files: int
    """Files read, after all pruning."""

    num_rows: int
    """Rows that the reader returned, before any filter of the plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """What a query did."""

    scans: tuple[Scan, ...]
    """In the order of the plan; a scan that is reused counts once for each use."""

    shuffle_bytes: int
    """Bytes written by all shuffles."""

    shuffle_rows: int
    operators: tuple[str, ...]
    """Names of all operators, without their suffix "Exec"."""

    num_probes: int
    """Filters in which a key of a join is looked up."""

    @property
    def num_files(self) -> int:
        """Files read by all scans."""
        return sum(scan.num_files for scan in self.scans)

    @property
    def num_rows(self) -> int:
        """Rows read by all scans."""
        return sum(scan.num_rows for scan in self.scans)


def metrics_of(df: DataFrame) -> Metrics:
    """Return what was measured when this DataFrame was last run."""
    execution: Any = df._jdf.queryExecution()
    nodes = list(_walk(execution.executedPlan(), set()))
    shuffles = [node for name, node in nodes if name == "ShuffleExchangeExec"]
    return Metrics(
        scans=tuple(_scan(node) for name, node in nodes if name == _SCAN),
        shuffle_bytes=sum(_metric(node, "shuffleBytesWritten") for node in shuffles),
        shuffle_rows=sum(_metric(node, "shuffleRecordsWritten") for node in shuffles),
        operators=tuple(name.removesuffix("Exec") for name, _ in nodes),
        num_probes=sum(
            node.condition().toString().count(_PROBE)
            for name, node in nodes
            if name == "FilterExec"
        ),
    )


def num_files(df: DataFrame) -> int:
    """Return how many files the DataFrame read when it was last run."""
    return metrics_of(df).num_files


def _scan(node: Any) -> Scan:
    return Scan(
        location=node.relation().location().toString(),
        num_files=_metric(node, "numFiles"),
        num_rows=_metric(node, "numOutputRows"),
    )


def _metric(node: Any, name: str) -> int:
    found = node.metrics().get(name)
    return int(found.get().value()) if found.isDefined() else 0


def _walk(node: Any, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """Name and node of every operator. Each shuffle once, however often it is reused."""
    name = node.getClass().getSimpleName()
    if name == "ShuffleExchangeExec":
        if node.id() in seen:
            return
        seen.add(node.id())
    yield name, node
    for child in _children(name, node):
        yield from _walk(child, seen)


def _children(name: str, node: Any) -> list[Any]:
    if name == "AdaptiveSparkPlanExec":
        return [node.executedPlan()]
    if name.endswith("QueryStageExec"):
        return [node.plan()]
    if name == "ReusedExchangeExec":
        return [node.child()]
    if name == "InMemoryTableScanExec":
        return [node.relation().cachedPlan(), *_listed(node.subqueries())]
    return _listed(node.children()) + _listed(node.subqueries())


def _listed(seq: Any) -> list[Any]:
    return [seq.apply(i) for i in range(seq.length())]
