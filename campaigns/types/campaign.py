"""The long run: every writer, type and engine; and docs/compatibility.md, written by it.

A case is ENGINES/WRITER/TYPE. Spark is in a process of its own ("spark"), with all files that it
reads and those that it writes; everything else is in another ("light").

A share of at least a tenth takes all types, with fewer values, and writes the page, whether or not
it writes its section of docs/reliability.md.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from campaigns.harness import Campaign, Result
from campaigns.types.cases import CASES
from campaigns.types.engines import ENGINES, SPARK_SETTINGS
from campaigns.types.matrix import LIGHT, SPARK, Matrix, Plan, part_of, sides
from campaigns.types.page import page_of
from tests.support.spark_session import local_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql import SparkSession

    from campaigns.harness import Section, Tallies, Tally

PAGE = Path(__file__).resolve().parents[2] / "docs" / "compatibility.md"
_ALL_TYPES: Final = 0.1
"""The least share that takes all types."""

_OWN: Final = "this package"


class Types(Campaign):
    """A share of the matrix: fewer values, and below a tenth fewer types."""

    part = "types"
    title = "Types, writers and engines"
    workers = 2
    is_expendable = True
    text = """
Every writer writes every type that it has. Every engine counts the rows with a value, in the file
as written and in the file with filters, with its push-down on and off: up to 50 values that are
there, and up to 1,000 that are absent, but lie between minimum and maximum. A try survives if
filters change nothing; [compatibility.md](compatibility.md) lists where an engine is wrong without
filters. The last line is this package, against the rows written.
"""
    _session: SparkSession | None = None

    def cases(self) -> Iterable[str]:
        """Return what both processes try, of the planned types."""
        for side in (SPARK, LIGHT):
            for writer, cases in sides(side, self._matrix()).items():
                yield from (f"{side}/{writer}/{case}" for case in cases)

    def attempt(self, name: str, show: Callable[[str], None]) -> Iterable[Result]:
        """Have one file written, and see what each engine makes of it."""
        side, writer, case = name.split("/")
        if side == SPARK and self._session is None:
            self._session = self.stack.enter_context(local_session(SPARK_SETTINGS))
        plan = self._matrix()
        found = part_of(writer, case, plan, show, self._session if side == SPARK else None)
        yield from results_of(found, name)

    def shards(self, names: list[str], workers: int) -> list[list[str]]:
        """Give Spark a process, and all others another."""
        del workers
        return [[name for name in names if name.startswith(side)] for side in (SPARK, LIGHT)]

    def section(self, tallies: Tallies) -> Section:
        """Count by engine; and write the page, if all types were tried."""
        if self._step == 1:
            found = Matrix.of(extra for tally in tallies.values() for extra in tally.extras)
            PAGE.write_text(page_of(found, PAGE.read_text(encoding="utf-8")), encoding="utf-8")
        lines = (*ENGINES, _OWN, *(line for line in tallies if line in (SPARK, LIGHT)))
        return self.counted({line: (line, _remark(tallies[line])) for line in lines}, tallies)

    @property
    def _step(self) -> int:
        share = self.plan.share
        return 1 if share >= _ALL_TYPES else len(CASES) // self.plan.some(len(CASES))

    def _matrix(self) -> Plan:
        cases = tuple(CASES)[self.plan.seed % self._step :: self._step]
        return Plan(cases=cases, share=min(1.0, self.plan.share))


def results_of(found: Matrix, name: str) -> Iterator[Result]:
    """Yield a result for each engine and sample: what filters changed, and what we get wrong."""
    for one in found.written:
        yield Result(name=name, line=_OWN, tried=0, extra={"written": asdict(one)})
    for judged in found.judged:
        yield Result(
            name=name,
            line=judged.engine,
            tried=judged.tried,
            wrong=len(judged.changes),
            problems=tuple(f"{judged.sample}: {change}" for change in judged.changes[:1]),
            seen={"files": 1, judged.verdict: 1},
            extra={"judged": asdict(judged)},
        )
    for own in found.own:
        yield Result(
            name=name,
            line=_OWN,
            tried=own.tried,
            wrong=len(own.problems),
            problems=tuple(f"{own.sample}: {problem}" for problem in own.problems[:1]),
            seen={"files": 1, "ruled out": own.ruled_out, "absent": own.num_absent},
        )


def _remark(tally: Tally) -> str:
    seen = tally.seen
    if tally.line == _OWN:
        ruled_out = f"{seen['ruled out']:,} of {seen['absent']:,} absent values ruled out"
        return f"{seen['files']} files; {ruled_out}"
    verdicts = (f"{seen[verdict]} {verdict}" for verdict in ("right", "wrong", "unread", "unasked"))
    return f"{seen['files']} files: {', '.join(verdicts)}"
