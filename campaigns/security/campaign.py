"""Hostile text through every command, and indexes changed at random: many of them.

text/N     random text N, in a table and in command lines (`random_text`)
fields/N   another value in one field of an index's log (`mutations`)
bytes/N    one file of an index changed at random (`mutations`)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from campaigns.harness import Campaign, Result
from campaigns.security.mutations import change_bytes, change_field, make_table, num_fields
from campaigns.security.random_text import attempt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from campaigns.harness import Section, Tallies

TEXTS: Final = 2_000
"""Seeds of random text."""

BYTES: Final = 6_000
"""Mutations of the files of an index."""

_LOST: Final = "excluded wrongly"
_LINES: Final = {
    "text": "random text",
    "fields": "fields of logs",
    "bytes": "files of indexes",
}


class Security(Campaign):
    """Tables from strangers."""

    part = "security"
    title = "Files from strangers"
    text = """
**Text.** Names, values and command lines have dangerous text in them (escape sequences,
bidirectional marks, line ends, stray bytes). No command may print any of it raw, and nothing may be
reported as a bug.

**Indexes.** One file of an index, or one field of its log, is changed at random. Each lookup and
action must end in time, with an answer or an error of this package, and no file that holds the
value may be excluded while a size disagrees with the log. The remark counts files that were
excluded wrongly because nothing checks the bits within files of the right size.
"""
    _made: Path | None = None

    @property
    def original(self) -> Path:
        """A table with an index, made once."""
        if self._made is None:
            self._made = self.plan.scratch / "original"
            make_table(self._made)
        return self._made

    def cases(self) -> Iterable[str]:
        """Return a share of each kind."""
        plan, whole = self.plan, num_fields(self.original)
        some = plan.some(whole)
        yield from (f"text/{plan.seed + number}" for number in range(plan.some(TEXTS)))
        yield from (f"fields/{number * whole // some}" for number in range(some))
        yield from (f"bytes/{plan.seed + number}" for number in range(plan.some(BYTES)))

    def attempt(self, name: str, show: Callable[[str], None]) -> Iterable[Result]:
        """Try one."""
        kind, number = name.split("/")
        if kind == "text":
            yield Result(name=name, problems=tuple(attempt(int(number), self.plan.scratch)))
            return
        change = {"bytes": change_bytes, "fields": change_field}[kind]
        found = change(self.original, self.plan.scratch, int(number))
        show(found.what)
        problems = (found.problem,) if found.problem else ()
        yield Result(name=name, seen={_LOST: int(found.is_lost)}, problems=problems)

    def section(self, tallies: Tallies) -> Section:
        """Say how often a file was excluded wrongly."""
        lines = {}
        for kind, tally in tallies.items():
            lost = tally.seen[_LOST]
            remark = f"in {lost:,}, a file was {_LOST}, because nothing checks the changed bits"
            lines[kind] = (_LINES[kind], remark if lost else "")
        return self.counted(lines, tallies)
