"""Large files of every kind, at a quarter, a half and all of the size: what do they take?

A case is a kind of file, with all its verbs: KIND, or KIND/SHARE for another share of its size than
the planned one.
"""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

from campaigns.harness import Campaign, Result
from campaigns.sizes.cases import CASES
from campaigns.sizes.measure import Cost, Failed, Measurer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from campaigns.harness import Section, Tallies
    from campaigns.sizes.cases import Case

_SHARES: Final = (0.25, 0.5, 1.0)
_TRIES: Final = 2
"""Of which the cheaper counts: threads that wait for each other take more on a busy machine."""

_MOST_GROWTH: Final = 2.6
"""Of CPU time or memory, when the size doubles."""

_FEW_SECONDS: Final = 0.5
_FEW_MIB: Final = 100.0
"""Below, growth is noise, and is not told."""


class Sizes(Campaign):
    """One verb on one file after the other."""

    part = "sizes"
    title = "Large files"
    text = """
A cell has seconds of CPU time of all threads, and the most MiB of memory beyond the interpreter and
the libraries. Each verb runs at a quarter, a half and all of the size; more than 2.6 times as much
for twice the size counts as wrong. While a filter is built, it takes the memory of its largest
size, to whatever size it is folded afterwards.
"""

    def open(self) -> None:
        """Begin the process that measures."""
        self._measurer = self.stack.enter_context(Measurer())

    def cases(self) -> Iterable[str]:
        """Return all kinds of files; a share is of their size."""
        return CASES

    def attempt(self, name: str, show: Callable[[str], None]) -> Iterable[Result]:
        """Measure all verbs on one kind of file; a result for each."""
        kind, _, given = name.partition("/")
        case, share = CASES[kind], float(given or self.plan.share)
        found = [self._costs(case, one * share) for one in _SHARES]
        for verb in case.verbs:
            what = f"{case.largest * share:,.0f} {case.unit}"
            cells, problem = _judged([costs[verb] for costs in found])
            show(f"{what}, {verb}: {cells}")
            yield Result(
                name=f"{kind}/{share:g}",
                line=f"{kind}/{verb}",
                tried=len(_SHARES),
                problems=(f"{what}, {verb}: {problem}",) if problem else (),
                extra=(what, verb, ", ".join(filter(None, cells[:2]))),
            )

    def section(self, tallies: Tallies) -> Section:
        """Show what each verb took, in a row for each kind of file."""
        found: dict[str, dict[str, str]] = {}
        for what, verb, cell in (extra for one in tallies.values() for extra in one.extras):
            found.setdefault(what, {})[verb] = cell
        verbs = tuple(dict.fromkeys(verb for cells in found.values() for verb in cells))
        rows = ((what, *(cells.get(verb, "") for verb in verbs)) for what, cells in found.items())
        return self.table(("what", *verbs), rows, tallies)

    def _costs(self, case: Case, share: float) -> dict[str, Cost | Failed]:
        """Return what each verb takes at a share of the largest size."""
        size = case.largest * share
        costs: dict[str, Cost | Failed] = {}
        if case.unit != "GiB":
            size = max(1.0, float(round(size)))
        with tempfile.TemporaryDirectory(prefix="sizes-") as folder:
            for verb in ("make", *case.verbs):
                try:
                    tries = [
                        self._measurer.measure(case.name, verb, size, Path(folder))
                        for _ in range(_TRIES)
                    ]
                    costs[verb] = min(tries, key=lambda cost: cost.cpu)
                except Failed as error:
                    costs[verb] = error
        return costs


def _judged(costs: Sequence[Cost | Failed]) -> tuple[tuple[str, ...], str]:
    """Return the cells of the table, and what is wrong."""
    known = [cost for cost in costs if isinstance(cost, Cost)]
    for cost in costs:
        if isinstance(cost, Failed):
            return ("", "", "", ""), str(cost)
    largest = known[-1]
    cpu = _growth([cost.cpu for cost in known], _FEW_SECONDS)
    memory = _growth([cost.grown for cost in known], _FEW_MIB)
    growths = ("-" if x is None else f"{x:.1f}" for x in (cpu, memory))
    is_wrong = max(cpu or 0, memory or 0) > _MOST_GROWTH
    problem = f"takes {cpu} times CPU time, {memory} times memory for twice as much"
    return (
        (f"{largest.cpu:.2f}", f"{largest.grown:,.0f}", *growths),
        problem if is_wrong else "",
    )


def _growth(numbers: list[float], few: float) -> float | None:
    """The larger of the growths at both doublings that start from no small number."""
    pairs = [(before, after) for before, after in pairwise(numbers) if before > few]
    return max((after / before for before, after in pairs), default=None)
