"""Real faults and concurrency: full disks, odd paths, owners, meddlers, writers, readers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.torture.races.catalogue import groups, hands
from tests.torture.races.readers import REPLACEMENTS, watch
from tests.torture.races.tries import attempt_all, spread
from tests.torture.section import Section, of_counts

if TYPE_CHECKING:
    from tests.torture.section import Count, Torture

TEXT = """
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


def torture(plan: Torture) -> Section:
    """Try all groups, then let all readers read."""
    counts: list[Count] = []
    problems: list[str] = []
    with hands() as given:
        for group in groups(given):
            tries = group.tries()
            found = attempt_all(spread(tries, plan.some(len(tries))), plan.scratch)
            counts.append(found.count(group.what))
            problems += found.problems
            plan.say(f"{group.what}: {found.tried} tried, {len(found.problems)} wrong")
        watched = watch(given.warm, plan.scratch / "readers", plan.some(REPLACEMENTS))
    return of_counts(
        "Real faults, and others at work",
        TEXT,
        (*counts, *watched.counts),
        (*problems, *watched.problems),
    )
