"""Every writer, type and engine: what was written, and what each engine makes of it."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from campaigns.harness import ignore
from campaigns.types import writers
from campaigns.types.cases import CASES
from campaigns.types.engines import effort_of, light_pairs, spark_pair
from campaigns.types.judging import Judgement, judge
from campaigns.types.ours import Own, judge_ours
from campaigns.types.samples import sample_of
from tests.readers.engines.face import brief

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql import SparkSession

    from campaigns.types.asking import Pair
    from campaigns.types.samples import Sample
    from campaigns.types.writers import Writer

LIGHT_WRITERS = {
    kind.name: kind
    for kind in (
        writers.PyArrow,
        writers.DuckDB,
        writers.DataFusion,
        writers.ClickHouse,
        writers.Polars,
        writers.FastParquet,
    )
}
WRITERS = (*LIGHT_WRITERS, writers.Spark.name)

SPARK: Final = "spark"
LIGHT: Final = "light"
"""Processes: that of Spark, and that of all others."""

_OTHER_LAYOUTS = tuple(layout for layout in writers.PyArrow.layouts if layout != "plain")
_OWN = (50, 50)
_SPARK_STEP = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What came of asking a writer for a type."""

    writer: str
    case: str
    stored: str = ""
    """Physical and logical type; empty if there is no file."""

    no_filter: str = ""
    """Why there is no filter."""

    problem: str = ""
    """Why there is no file."""


@dataclass(kw_only=True)
class Matrix:
    """All of it."""

    written: list[Written]
    judged: list[Judgement]
    own: list[Own]

    @classmethod
    def of(cls, parts: Iterable[dict[str, Any]]) -> Matrix:
        """Put together what was told of single files: `written` or `judged`."""
        matrix = cls(written=[], judged=[], own=[])
        for part in parts:
            matrix.written += [Written(**part["written"])] if "written" in part else []
            matrix.judged += [Judgement(**part["judged"])] if "judged" in part else []
        return matrix

    def add(self, other: Matrix) -> None:
        """Take in another part."""
        self.written += other.written
        self.judged += other.judged
        self.own += other.own


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Which part of the matrix, and how hard to ask."""

    writers: tuple[str, ...] = WRITERS
    cases: tuple[str, ...] = tuple(CASES)
    engines: tuple[str, ...] = ()
    """Names; none for all."""

    layouts: bool = True
    """Whether to try special values and pyarrow's other layouts, too."""

    share: float = 1.0
    """Of the values asked for."""

    lies: bool = True
    """Whether to find out who uses filters."""


def sides(side: str, plan: Plan) -> dict[str, tuple[str, ...]]:
    """Return by writer the types that are tried on one side.

    Args:
        side: `SPARK` for what Spark makes of all files, and all engines of Spark's; `LIGHT` for all
            other writers and engines.
        plan: Which part of the matrix.
    """
    light = [name for name in plan.writers if name in LIGHT_WRITERS]
    if side == LIGHT:
        return dict.fromkeys(light, plan.cases)
    of_spark = {name: _of_spark(plan, name).cases for name in light}
    return of_spark | {name: plan.cases for name in plan.writers if name == writers.Spark.name}


def part_of(
    writer: str,
    case: str,
    plan: Plan,
    show: Callable[[str], None] = ignore,
    session: SparkSession | None = None,
) -> Matrix:
    """Try one type by one writer.

    Args:
        writer: Its name.
        case: The type.
        plan: How hard to ask.
        show: Takes what each engine makes of each sample.
        session: Of Spark, if Spark is to read or to write; else all others read.
    """
    if session is None:
        return _part(LIGHT_WRITERS[writer](), case, light_pairs(), plan, show, own=True)
    spark = [spark_pair(session)]
    if writer == writers.Spark.name:
        every = [*light_pairs(), *spark]
        return _part(writers.Spark(session), case, every, plan, show, own=True)
    found = _part(LIGHT_WRITERS[writer](), case, spark, _of_spark(plan, writer), show, own=False)
    return Matrix(written=[], judged=found.judged, own=[])


def light_part(plan: Plan) -> Matrix:
    """Try all writers and engines but Spark."""
    matrix = Matrix(written=[], judged=[], own=[])
    for writer, cases in sides(LIGHT, plan).items():
        for case in cases:
            matrix.add(part_of(writer, case, plan))
    return matrix


def _of_spark(plan: Plan, writer: str) -> Plan:
    """Spark takes long: of other writers than pyarrow a smaller plan takes every third type."""
    if writer == writers.PyArrow.name:
        return plan
    step = 1 if plan.share >= 1 else _SPARK_STEP
    first = WRITERS.index(writer) % step
    return replace(plan, cases=plan.cases[first::step], layouts=False, lies=False)


def _part(  # noqa: PLR0913  what is varied
    writer: Writer,
    case: str,
    pairs: list[Pair],
    plan: Plan,
    show: Callable[[str], None],
    *,
    own: bool,
) -> Matrix:
    matrix = Matrix(written=[], judged=[], own=[])
    chosen = [pair for pair in pairs if not plan.engines or pair.name in plan.engines]
    with tempfile.TemporaryDirectory(prefix="types-") as folder:
        for sample in _samples(writer, case, Path(folder), plan, matrix):
            show(f"{sample.name}: {sample.stored}; {sample.no_filter or 'has filters'}")
            for pair in chosen:
                found = judge_one(sample, pair, plan)
                matrix.judged.append(found)
                show(f"{sample.name}, {pair.name}: {found.verdict} {found.remark}")
            if own:
                present, absent = (max(2, round(n * plan.share)) for n in _OWN)
                matrix.own.append(judge_ours(sample, present, absent))
    return matrix


def judge_one(sample: Sample, pair: Pair, plan: Plan) -> Judgement:
    """What one engine makes of one sample."""
    effort = effort_of(pair.name, sample.writer, sample.layout).scaled(plan.share)
    lies = plan.lies and sample.layout == "plain"
    return judge(sample, pair, effort, lies=lies)


def _samples(
    writer: Writer, name: str, folder: Path, plan: Plan, matrix: Matrix
) -> Iterator[Sample]:
    """The plain file, that with special values, and of pyarrow one more layout."""
    case = CASES[name]
    try:
        sample = sample_of(writer, case, folder)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        matrix.written.append(Written(writer=writer.name, case=name, problem=brief(error)))
        return
    matrix.written.append(
        Written(writer=writer.name, case=name, stored=sample.stored, no_filter=sample.no_filter)
    )
    yield sample
    if not plan.layouts or writer.name == writers.Spark.name:
        return
    if case.special and not (writer.name == "chdb" and case.far):  # it refuses far dates
        yield sample_of(writer, case, folder, "edges")
    if writer.name == "pyarrow":
        position = list(CASES).index(name)
        yield sample_of(writer, case, folder, _OTHER_LAYOUTS[position % len(_OTHER_LAYOUTS)])
