"""Run shares of kinds of tries in expendable processes, and count what they came to."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.support.workers import Crash, work
from tests.torture.hostile.filters_kinds import count
from tests.torture.hostile.filters_worker import WRONG

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.support.workers import Task

_TRIES_PER_TASK = 500
_MODULE = "tests.torture.hostile.filters_worker"


@dataclass(slots=True, kw_only=True)
class Tally:
    """What the tries of a kind came to."""

    outcomes: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    @property
    def tried(self) -> int:
        """All tries."""
        return self.outcomes.total()

    @property
    def survived(self) -> int:
        """Tries that ended as they should."""
        return self.tried - self.outcomes[WRONG]


def tasks_of(kind: str, tries: int, seed: int) -> list[Task]:
    """Spread so many tries evenly over the cases of a kind; the seed shifts them."""
    whole = count(kind)
    step = max(1, whole // min(tries, whole))
    span = _TRIES_PER_TASK * step
    first = seed % step
    return [
        {"path": f"{kind}:{start}-{min(start + span, whole)}:{step}"}
        for start in range(first, whole, span)
    ]


def tally(
    tasks: Sequence[Task], processes: int, say: Callable[[str], object] = str
) -> dict[str, Tally]:
    """Work on tasks, and count by kind."""
    tallies: dict[str, Tally] = {}

    def run(mine: Sequence[Task]) -> None:
        for answer in work(_MODULE, mine):
            path = answer.path if isinstance(answer, Crash) else answer["path"]
            kind = path.partition(":")[0]
            one = tallies.setdefault(kind, Tally())
            if isinstance(answer, Crash):
                one.outcomes[WRONG] += 1
                one.problems.append(f"{path}: {' '.join(answer.how.split())}")
            else:
                one.outcomes.update(answer["outcomes"])
                one.problems += answer["problems"]
            say(f"{path}: {len(one.problems)} wrong")

    with ThreadPoolExecutor(processes) as pool:
        for _ in pool.map(run, [tasks[i::processes] for i in range(processes)]):
            pass
    return tallies
