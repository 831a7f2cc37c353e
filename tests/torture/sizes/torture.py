"""Large files of every kind, at a quarter, a half and all of the size: what do they take?"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from tests.torture.section import Section
from tests.torture.sizes.cases import CASES
from tests.torture.sizes.measure import Cost, Failed, Measurer

if TYPE_CHECKING:
    from tests.torture.section import Torture
    from tests.torture.sizes.cases import Case

_SHARES = (0.25, 0.5, 1.0)
_TRIES = 2
"""Of which the cheaper counts: threads that wait for each other take more on a busy machine."""

_MOST_GROWTH = 2.6
"""Of CPU time or memory, when the size doubles."""

_FEW_SECONDS, _FEW_MIB = 0.5, 100.0
"""Below, growth is noise, and is not told."""

_HEADER = ("what", "verb", "CPU s", "memory MiB", "CPU x", "memory x")

_TEXT = """
Files that are large in one respect: beyond 2, 4 and 16 GiB, by holes; with many columns or row
groups; with a footer of 50 MB; with a filter of 128 MiB; with 50 million rows in one row group.
Each verb runs in a process of its own, at a quarter, a half and all of the size, and what comes
of it is checked: that every filter is there, that none lacks a value, that a value is found, that
`strip` gives back a file of the old size. Holes stay holes: the largest file, of 17 GiB, takes a
few MiB of the disk.

Seconds are CPU time, user and system, of all threads: what other work the machine has does not
show in it. Seconds and memory are those of the largest size; memory is the most that the process
had, but for the interpreter and the libraries. "x" is how much more a file takes that is twice as
large, the larger of both doublings: 2 is linear, more than 2.6 counts as wrong, and "-" is too
little to tell. A filter takes the room of the largest one while it is built, whatever it is
folded to.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """One verb on one kind of file."""

    cells: tuple[str, ...]
    problem: str = ""


def torture(torture: Torture) -> Section:
    """Measure them all."""
    rows: list[_Row] = []
    with Measurer() as measurer:
        for case in CASES.values():
            found = [_costs(measurer, case, share * torture.share) for share in _SHARES]
            for verb in case.verbs:
                rows.append(_row(case, verb, torture.share, [costs[verb] for costs in found]))
                torture.say(f"{' | '.join(rows[-1].cells)} {rows[-1].problem}")
    problems = tuple(row.problem for row in rows if row.problem)
    return Section(
        title="Large files",
        text=_TEXT,
        header=_HEADER,
        rows=tuple(row.cells for row in rows),
        tried=len(rows) * len(_SHARES),
        survived=len(rows) * len(_SHARES) - len(problems),
        problems=problems,
    )


def _costs(measurer: Measurer, case: Case, share: float) -> dict[str, Cost | Failed]:
    """What each verb takes at a share of the largest size."""
    size = case.largest * share
    costs: dict[str, Cost | Failed] = {}
    if case.unit != "GiB":
        size = max(1.0, float(round(size)))
    with tempfile.TemporaryDirectory(prefix="sizes-") as folder:
        for verb in ("make", *case.verbs):
            try:
                tries = [
                    measurer.measure(case.name, verb, size, Path(folder)) for _ in range(_TRIES)
                ]
                costs[verb] = min(tries, key=lambda cost: cost.cpu)
            except Failed as error:
                costs[verb] = error
    return costs


def _row(case: Case, verb: str, share: float, costs: list[Cost | Failed]) -> _Row:
    what = f"{case.largest * share:,.0f} {case.unit}"
    for cost in costs:
        if isinstance(cost, Failed):
            return _Row(cells=(what, verb, "", "", "", ""), problem=str(cost))
    known = [cost for cost in costs if isinstance(cost, Cost)]
    largest = known[-1]
    cpu = _growth([cost.cpu for cost in known], _FEW_SECONDS)
    memory = _growth([cost.grown for cost in known], _FEW_MIB)
    cells = (what, verb, f"{largest.cpu:.2f}", f"{largest.grown:,.0f}")
    is_wrong = max(cpu or 0, memory or 0) > _MOST_GROWTH
    problem = f"{what}, {verb}: takes {cpu} times CPU time, {memory} times memory for twice as much"
    return _Row(
        cells=(*cells, *("-" if x is None else f"{x:.1f}" for x in (cpu, memory))),
        problem=problem if is_wrong else "",
    )


def _growth(numbers: list[float], few: float) -> float | None:
    """The larger of the growths at both doublings that start from no small number."""
    pairs = [(before, after) for before, after in pairwise(numbers) if before > few]
    return max((after / before for before, after in pairs), default=None)
