"""Every writer, type and engine: what was written, and what each engine makes of it.

Spark works in this process, everything else in a second one: two processors have work then.
"""

from __future__ import annotations

import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from tests.readers.engines.face import brief
from tests.support.spark_session import local_session
from tests.torture.types import writers
from tests.torture.types.cases import CASES
from tests.torture.types.engines import SPARK_SETTINGS, effort_of, light_pairs, spark_pair
from tests.torture.types.judging import Judgement, judge
from tests.torture.types.ours import Own, judge_ours
from tests.torture.types.samples import sample_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tests.torture.types.asking import Pair
    from tests.torture.types.samples import Sample
    from tests.torture.types.writers import Writer

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


def run(plan: Plan, say: Callable[[str], None]) -> Matrix:
    """Try the matrix; Spark here, the others in another process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as others:
        light = others.submit(light_part, plan)
        matrix = spark_part(plan, say)
        say(f"Spark is done: {len(matrix.judged)} judgements; waiting for the others")
        matrix.add(light.result())
    return matrix


def light_part(plan: Plan) -> Matrix:
    """All writers and engines but Spark."""
    names = [name for name in plan.writers if name in LIGHT_WRITERS]
    pairs = _chosen(light_pairs(), plan)
    return _part([LIGHT_WRITERS[name]() for name in names], pairs, plan, own=True)


def spark_part(plan: Plan, say: Callable[[str], None]) -> Matrix:
    """What Spark makes of all files, and what all engines make of Spark's."""
    with local_session(SPARK_SETTINGS) as session:
        pairs = _chosen([spark_pair(session)], plan)
        names = [name for name in plan.writers if name in LIGHT_WRITERS]
        matrix = Matrix(written=[], judged=[], own=[])
        for name in names if pairs else ():
            found = _part([LIGHT_WRITERS[name]()], pairs, _of_spark(plan, name), own=False)
            matrix.judged += found.judged
            say(f"Spark has read what {name} wrote")
        if writers.Spark.name in plan.writers:
            every = [*_chosen(light_pairs(), plan), *pairs]
            matrix.add(_part([writers.Spark(session)], every, plan, own=True))
    return matrix


def _of_spark(plan: Plan, writer: str) -> Plan:
    """Spark takes long: of other writers than pyarrow a smaller plan takes every third type."""
    if writer == writers.PyArrow.name:
        return plan
    step = 1 if plan.share >= 1 else _SPARK_STEP
    first = WRITERS.index(writer) % step
    return replace(plan, cases=plan.cases[first::step], layouts=False, lies=False)


def _chosen(pairs: list[Pair], plan: Plan) -> list[Pair]:
    return [pair for pair in pairs if not plan.engines or pair.name in plan.engines]


def _part(some: Iterable[Writer], pairs: list[Pair], plan: Plan, *, own: bool) -> Matrix:
    matrix = Matrix(written=[], judged=[], own=[])
    for writer in some:
        for name in plan.cases:
            with tempfile.TemporaryDirectory(prefix="types-") as folder:
                for sample in _samples(writer, name, Path(folder), plan, matrix):
                    matrix.judged += [judge_one(sample, pair, plan) for pair in pairs]
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
