"""A try has a name by which it can be seen again: `python -m tests.torture.races.again NAME`.

Names are paths: the kind of fault, what it is done to, and the number of the step or the seed.
"""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.torture.section import Count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

AGAIN = "python -m tests.torture.races.again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """One thing that is done, and what must come of it."""

    name: str
    """Which one; the same in every run."""

    attempt: Callable[[Path], str]
    """Given an empty folder of its own; returns one word on what happened.

    Raises AssertionError if that must not be.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What came of several tries."""

    counts: Counter[str]
    """How often each thing happened."""

    problems: tuple[str, ...]
    """One line for each try that went wrong."""

    @property
    def tried(self) -> int:
        """All tries."""
        return self.counts.total() + len(self.problems)

    def count(self, what: str, remark: str = "") -> Count:
        """A line of the table: what happened, and how often."""
        seen = ", ".join(f"{number:,} {word}" for word, number in sorted(self.counts.items()))
        survived = self.counts.total()
        remarks = "; ".join(filter(None, (seen, remark)))
        return Count(what=what, tried=self.tried, survived=survived, remark=remarks)


def attempt_all(tries: Iterable[Try], scratch: Path) -> Found:
    """Do one after the other, each in a folder that is removed afterwards."""
    counts: Counter[str] = Counter()
    problems = []
    for one in tries:
        folder = scratch / one.name.replace("/", "-")
        folder.mkdir(parents=True)
        try:
            counts[one.attempt(folder)] += 1
        except Exception as error:  # noqa: BLE001  whatever it is, the others are tried, too
            problem = " ".join(f"{type(error).__name__}: {error}".split())
            problems.append(f"{problem[:600]}; again: {AGAIN} {one.name}")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return Found(counts=counts, problems=tuple(problems))


def spread(tries: list[Try], number: int) -> list[Try]:
    """Some of the tries, at equal distances, the first and the last among them."""
    if number >= len(tries):
        return tries
    last = len(tries) - 1
    places = {round(place * last / max(number - 1, 1)) for place in range(number)}
    return [tries[place] for place in sorted(places)]
