"""Real faults and concurrency: full disks, odd paths, owners, meddlers, writers, readers."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from campaigns.harness import Campaign, Result, attempt, spread
from campaigns.races.catalogue import groups, hands
from campaigns.races.readers import REPLACEMENTS, SETS, watch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from campaigns.races.catalogue import Group
    from campaigns.races.files import Tries

_READERS = "readers"


class Races(Campaign):
    """All groups of the catalogue, and then all readers: readers/SET/REPLACEMENTS."""

    part = "races"
    title = "Real faults, and others at work"
    text = """
The command is run on real file systems, next to other processes.

**Full disks.** The disk is a tmpfs of 20 sizes, from no free page to all pages that are needed. The
result must be the new version, or the old bytes and an error that names the full disk; nothing else
may be left behind. The same is tried for a checksum file (`--regenerate-crc`), a backup, and an
output on another disk. If the home of an index is full, the last stable version stays in force. If
there is no space even for the log entry at the end of the action, `bloomify index cancel` ends the
action.

**Changed meanwhile.** The command is stopped before one of its system calls, at a hundred places in
turn. Another process truncates, overwrites, replaces, removes or renames the file. Then the command
goes on. Afterwards the change by the other process must still be there, and the command must say
that it gave way, unless it had not begun or had finished. There is no gap between the last look at
the old file and the replacement, because `renameat2` exchanges the two names: then the replaced
file is looked at once more, and gets its name back if it has changed. The only change that can be
lost ("lost") is a write of the same size in these microseconds after which the time of the file was
set back. If the *folder* is renamed, the temporary file moves with the folder, and the next run in
the folder removes it.

**Writers.** Several commands work on one file at once. Each command finishes or gives way. The file
must be the same as if the commands that finished had run one after the other.

**Readers** count, add up and look up rows in a loop, in processes of their own, while the file is
replaced 200 times. In turn, filters are put before column chunks, behind row groups and at the end,
and are taken out. A reader that opens the path once reads a single version, and never notices a
replacement. Some engines open the path several times for one query, first for the footer, then for
the data. These engines may combine the footer of one version with the bytes of another version.
This can happen whenever a file is replaced, by any program, even atomically. The query fails on
pages that make no sense, and succeeds when it is repeated. Spark and DataFusion ask for the size of
the file first, and open the file later, so they may look for the footer in the wrong place.

**Spark can lose rows.** A DataFrame keeps the sizes that its files had when it was made. If a file
is replaced by a larger file, by any program, no task reads the row groups whose middle lies beyond
the old size, and there is no error. Make DataFrames anew after their files were rewritten.

There are three ways to avoid this. Write to another place (`-o`), and then let readers change over.
Choose a time when nobody reads. Or, for a file that has no filters yet, use `--placement end`: then
no data move, so the old footer and the old size fit the new file. The last lines of the table show
this, and so does a test with a DataFrame that was made before.

Readers of this package open a single file once. In a folder, they notice which files were replaced,
and read these files without using what was known about the old files.
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

    def _near(self, name: str) -> list[str]:
        near = (g for g in self.groups if name.startswith(g.key) or g.key.startswith(name))
        return [one for group in near for one in self.names(group)]
