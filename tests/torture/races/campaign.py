"""Real faults and concurrency: full disks, odd paths, owners, meddlers, writers, readers."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from tests.torture.harness import Campaign, Result, attempt, spread
from tests.torture.races.catalogue import groups, hands
from tests.torture.races.readers import REPLACEMENTS, SETS, watch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tests.torture.races.catalogue import Group
    from tests.torture.races.files import Tries

_READERS = "readers"


class Races(Campaign):
    """All groups of the catalogue, and then all readers: readers/SET/REPLACEMENTS."""

    part = "races"
    title = "Real faults, and others at work"
    text = """
The command is run on real file systems, next to other processes.

**Full disks.** A tmpfs of 20 sizes, from no page more than there is to all that are needed: the
old bytes and an error that names the full disk, or the new version; nothing is left behind. The
same for a checksum file (`--regenerate-crc`), a backup, and an output on another disk. If the home
of an index is full, the last stable version stays in force; if not even the end of the action could
be written down, it is ended by `bloomify index cancel`.

**Changed meanwhile.** The command is stopped before one of its system calls, a hundred places
in turn; somebody truncates, overwrites, replaces, removes or renames the file; and it goes on. What
was done is still there afterwards, and the command says that it gave way, unless it had not begun
or was finished. That there is no gap between its last look at the old file and the replacement is
due to `renameat2`, which exchanges two names: what was replaced is looked at once more, and gets
its name back if it is not what it was. "Lost" is only a write of the same size in just these
microseconds, after which the file's time was set back. If the *folder* is renamed, the temporary
file goes along with it, and the next run there removes it.

**Writers.** Commands on one file at once: each finishes or gives way, and the file is what those
that finished make of it one after the other.

**Readers** count, add up and look up rows in a loop, in processes of their own, while the file is
replaced 200 times; filters are put before column chunks, behind row groups, at the end, and taken
out. Whoever opens the path once reads one version and never notices. Engines that open it several
times for one query (first for the footer, then for the data) may hold the footer of one version
against the bytes of another. That is so whenever a file is replaced, by whatever program, and
however atomically; the query fails on pages that make no sense, and succeeds when it is repeated.
Engines that ask for the file's size first, and open it later, look for the footer in the wrong
place: Spark and DataFusion.

**Spark can lose rows.** A DataFrame keeps the sizes that its files had when it was made. If a file
is replaced by a larger one, in whatever way, row groups whose middle lies beyond the old size are
read by nobody, and no error tells. Make DataFrames anew after their files were rewritten.

What helps: write elsewhere (`-o`) and let readers change over; choose a quiet time; or, for a file
that has no filters yet, `--placement end`: then no data move, and the old footer and the old size
fit the new file. The last lines show it, and a test with a DataFrame made before.

Our own readers open a single file once; of a folder they notice which files were replaced, and
read these without what they had found out about them.
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
