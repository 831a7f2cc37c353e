"""The long run: every writer, type and engine; and docs/compatibility.md, written by it.

A share of at least a tenth takes all types, with fewer values, and writes the page, whether or not
it writes its section of docs/reliability.md.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from tests.torture.section import Count, Section, Torture, of_counts
from tests.torture.types import matrix
from tests.torture.types.cases import CASES
from tests.torture.types.engines import ENGINES
from tests.torture.types.known import KNOWN
from tests.torture.types.page import page_of

if TYPE_CHECKING:
    from tests.torture.types.matrix import Matrix

PAGE = Path(__file__).resolve().parents[3] / "docs" / "compatibility.md"

_ALL_TYPES = 0.1
"""The least share that takes all types."""

_AGAIN = "python -m tests.torture.types.again"
_TEXT = """
Every writer writes every type that it has: three row groups, one of nulls only, values in no order.
Every engine counts the rows with a value, of the file as written and with filters, with its
push-down on and off. A try is one value asked once. It survives if filters change nothing.

In a whole run, of plain files of pyarrow 50 values are asked for that are there, and of the file
with filters 1,000 that are not, but lie between minimum and maximum (of engines that use no filters
50). Of other writers' files, of special values and of other layouts it is up to 50 and 50. Spark is
asked less of these, and for absent values in OR-lists of fifty. What an engine gets wrong without
filters is its own limit, and stands in [compatibility.md](compatibility.md). The last line is this
package: `probe`, `read_table` and `BloomFile` against the rows written.
"""


def torture(options: Torture) -> Section:
    """Try a share of the matrix: fewer values, and below a tenth fewer types."""
    cases = tuple(CASES)
    step = 1 if options.share >= _ALL_TYPES else len(cases) // options.some(len(cases))
    plan = matrix.Plan(cases=cases[options.seed % step :: step], share=min(1.0, options.share))
    found = matrix.run(plan, options.say)
    if step == 1:
        PAGE.write_text(page_of(found), encoding="utf-8")
    counts = [_count(name, found) for name in ENGINES]
    return of_counts("Types, writers and engines", _TEXT, (*counts, _own(found)), problems(found))


def problems(found: Matrix) -> tuple[str, ...]:
    """What filters changed, but for what is known of engines; and what this package gets wrong."""
    changed = [
        f"{one.engine}: {one.changes[0]}; again: {_AGAIN} '{one.name}'"
        for one in found.judged
        if one.changes and (one.engine, one.case) not in KNOWN
    ]
    own = [f"{p}; again: {_AGAIN} '{one.sample}'" for one in found.own for p in one.problems[:1]]
    return (*changed, *own)


def _count(engine: str, found: Matrix) -> Count:
    judged = [one for one in found.judged if one.engine == engine]
    tried = sum(one.tried for one in judged)
    lost = sum(len(one.changes) for one in judged)
    verdicts = Counter(one.verdict for one in judged)
    remark = ", ".join(f"{verdicts[v]} {v}" for v in ("right", "wrong", "unread", "unasked"))
    files = f"{len(judged)} files: {remark}"
    return Count(what=engine, tried=tried, survived=tried - lost, remark=files)


def _own(found: Matrix) -> Count:
    tried = sum(one.tried for one in found.own)
    ruled_out = sum(one.ruled_out for one in found.own)
    absent = sum(one.num_absent for one in found.own)
    return Count(
        what="this package",
        tried=tried,
        survived=tried - sum(len(one.problems) for one in found.own),
        remark=f"{len(found.own)} files; {ruled_out:,} of {absent:,} absent values ruled out",
    )
