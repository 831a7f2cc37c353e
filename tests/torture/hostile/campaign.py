"""Try a range of mutants, and have other readers look at a share of what was rewritten."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.workers import Crash, work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.support.workers import Task

NUMBERS_PER_PROCESS = 10_000
READ_EVERY = 25
"""Of the mutants of each kind, one in so many is read with `read_table`."""

_END = 250
"""Characters shown of each end of an error."""

_SEEN_AGAIN = 'python -m tests.torture.hostile.%s <<< \'{"path": "%s"}\''


@dataclass(kw_only=True)
class Tally:
    """What came out."""

    outcomes: Counter[str] = field(default_factory=Counter)
    """By verb and outcome: "bloomify ok"."""

    tried: Counter[str] = field(default_factory=Counter)
    """By what was done: "verbs", "pyarrow", "duckdb", "read_table"."""

    wrong: Counter[str] = field(default_factory=Counter)
    """Of those."""

    gave_up: Counter[str] = field(default_factory=Counter)
    """Of those, where the reader crashed or hung by itself."""

    rewritten: int = 0
    problems: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Take another's counts."""
        for mine, theirs in zip(self._counters(), other._counters(), strict=True):
            mine.update(theirs)
        self.rewritten += other.rewritten
        self.problems += other.problems

    def _counters(self) -> tuple[Counter[str], ...]:
        return self.outcomes, self.tried, self.wrong, self.gave_up


def campaign(
    numbers: range,
    folder: Path,
    *,
    processes: int = 1,
    say: Callable[[str], None] = lambda _: None,
) -> Tally:
    """Try all of them, some thousands in a process, so many processes at once."""
    total = Tally()
    parts = [
        numbers[first : first + NUMBERS_PER_PROCESS]
        for first in range(0, len(numbers), NUMBERS_PER_PROCESS)
    ]
    with ThreadPoolExecutor(processes) as pool:
        for tally in pool.map(_part, parts, repeat(folder)):
            total.add(tally)
            for problem in tally.problems:
                say(problem)
            say(f"{total.tried['verbs']:,} footers, {len(total.problems)} problems")
    return total


def _part(numbers: range, folder: Path) -> Tally:
    tally = Tally()
    scratch = Path(tempfile.mkdtemp(dir=folder))
    tasks = [{"path": str(number)} for number in numbers]
    kept: list[Task] = []
    for answer in work("tests.torture.hostile.trying", tasks, str(scratch)):
        _note("verbs", answer, tally)
        if not isinstance(answer, Crash):
            tally.outcomes.update(f"{verb} {how}" for verb, how in answer["outcomes"].items())
            tally.rewritten += answer["rewritten"]
            kept += [answer] if "new" in answer else []
    for reader, answers in _second_opinions(kept, numbers):
        for answer in answers:
            _note(reader, answer, tally)
    shutil.rmtree(scratch)
    return tally


def _second_opinions(
    kept: Sequence[Task], numbers: range
) -> Iterator[tuple[str, Iterator[Task | Crash]]]:
    module = "tests.torture.hostile.second_readers"
    for reader in ("pyarrow", "duckdb"):
        yield reader, work(module, kept, reader)
    some = [{"path": str(n)} for n in numbers if n // 2 % READ_EVERY == 0]
    yield "read_table", work(module, some, "read_table")


def _note(reader: str, answer: Task | Crash, tally: Tally) -> None:
    """Count an answer; what a reader does without our help is no problem of ours."""
    tally.tried[reader] += 1
    if not isinstance(answer, Crash):
        found = answer.get("problems", [])
        path = answer["path"]
    elif reader != "verbs" and not answer.passed:
        tally.gave_up[reader] += 1
        return
    else:
        found, path = [_brief(answer.how)], answer.path
    tally.wrong[reader] += int(bool(found))
    module = "second_readers read_table" if reader == "read_table" else "trying ."
    again = _SEEN_AGAIN % (module, path)
    tally.problems += [f"{reader}: {one} ({again})" for one in found]


def _brief(how: str) -> str:
    """How a process ended: its status, and the two ends of what it wrote."""
    line = " | ".join(how.split("\n"))
    return line if len(line) < 2 * _END else f"{line[:_END]} ... {line[-_END:]}"
