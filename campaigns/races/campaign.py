"""Real faults and concurrency: full disks, odd paths, owners, meddlers, writers, readers."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from campaigns.harness import Campaign, Result, Tally, attempt, spread
from campaigns.races.catalogue import groups, hands
from campaigns.races.readers import OURS, REPLACEMENTS, SETS, watch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from campaigns.harness import Section, Tallies
    from campaigns.races.catalogue import Group
    from campaigns.races.files import Tries

_READERS = "readers"
_MEDDLING = "changed meanwhile"
_OUR_READERS = frozenset(name for names in OURS for name in names)


class Races(Campaign):
    """All groups of the catalogue, and then all readers: readers/SET/REPLACEMENTS."""

    part = "races"
    title = "Real faults, and others at work"
    text = """
**Full disks** have 20 sizes, from no free page to all that are needed. The result must be the new
version, or the old bytes and an error that names the full disk. An index stays at its last stable
version; if there is no space even for the log entry at the end of an action, `bloomify index
cancel` ends the action.

**Changed meanwhile.** The command is stopped before a system call, while another process truncates,
overwrites, replaces, removes or renames the file. The change must still be there afterwards. Only
one change can be lost ("lost"): a write of the same size, in the microseconds of the exchange,
after which the time of the file was set back.

**Readers** look up rows in a loop while the file is replaced 200 times. Engines that open the path
several times for one query may combine the footer of one version with the bytes of another,
whenever any program replaces a file. The query fails, and succeeds when it is repeated. Spark and
DataFusion ask for the size of the file first, so they may look for the footer in the wrong place.
Readers of this package open a single file once; in a folder, they notice replaced files and read
them anew.

**Spark can lose rows.** A DataFrame keeps the sizes that its files had when it was made. If any
program replaces a file by a larger file, no task reads the row groups whose middle lies beyond the
old size, and there is no error. Make DataFrames anew after their files were rewritten; or write to
another place (`-o`); or choose a time when nobody reads; or, for a file that has no filters yet,
use `--placement end`: the old footer and the old size fit the new file, as the last lines of the
table show.
"""

    def open(self) -> None:
        """Begin the processes that run commands."""
        self._hands = self.stack.enter_context(hands())
        self.groups = groups(self._hands)
        self._tries: dict[str, Tries] = {}

    def cases(self) -> Iterable[str]:
        """Take a share of each group; readers see a share of the replacements."""
        for group in self.groups:
            names = self.names(group)
            yield from spread(names, self.plan.some(len(names)))
        for name in SETS:
            yield f"{_READERS}/{name}/{self.plan.some(REPLACEMENTS)}"

    def names(self, group: Group) -> list[str]:
        """Return the names of a group's tries."""
        if group.what not in self._tries:
            self._tries[group.what] = group.tries()
        return list(self._tries[group.what])

    def attempt(self, name: str, show: Callable[[str], None]) -> Iterable[Result]:
        """Try one, or all whose names begin so: `meddling/truncate`."""
        folder = self.plan.scratch / name.replace("/", "-")
        if name.startswith(f"{_READERS}/"):
            _, which, number = name.split("/")
            yield from watch(name, self._hands.warm, folder, SETS[which], int(number))
            return
        chosen = [one for one in self._near(name) if one == name or one.startswith(f"{name}/")]
        if name not in chosen:
            for one in chosen:
                yield from attempt(self, one, show)
            return
        folder.mkdir(parents=True)
        try:
            done = self._tries[self.line(name)][name](folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        yield Result(name=name, seen={done: 1})

    def line(self, name: str) -> str:
        """Return what a group's line says."""
        lines = (group.what for group in self.groups if name in self._tries.get(group.what, ()))
        return next(lines, name)

    def section(self, tallies: Tallies) -> Section:
        """Count all changes by another process in one row, and the readers of this package."""
        merged: Tallies = {}
        for line, one in tallies.items():
            head, _, name = line.partition(": ")
            ours = f"{head}: this package" if name in _OUR_READERS else line
            what = head if head == _MEDDLING else ours
            whole = merged.setdefault(what, Tally(line=what))
            whole.tried += one.tried
            whole.wrong += one.wrong
            whole.seen.update(one.seen)
            whole.problems += one.problems
        return super().section(merged)

    def _near(self, name: str) -> list[str]:
        near = (g for g in self.groups if name.startswith(g.key) or g.key.startswith(name))
        return [one for group in near for one in self.names(group)]
