"""Damage every filter in every way, cut every file to every length, lie to every read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.torture.hostile.filters_kinds import TEXTS, count
from tests.torture.hostile.filters_running import tally, tasks_of
from tests.torture.section import Count, of_counts

if TYPE_CHECKING:
    from tests.torture.hostile.filters_running import Tally
    from tests.torture.section import Section, Torture

_PROCESSES = 2

_TEXT = """
All cases of every kind are tried, each with one of the verbs `probe`, `inspect`, `verify`,
`bloomify`, `strip`, `repair` and `read_table`, in memory and on disk, within 5 s of processor time
and 64 MiB of memory. A try survives if the verb is right or refuses with an error of the package,
of one line, and leaves the file as it was. A probe, above all, never rules out a row group for a
value that it holds. What is rewritten is read again by pyarrow, and must be the same table; filters
that are kept or built must hold every value read.

*Nobody can tell* counts filters in which nothing contradicts anything, though their bits are not
those of the values: a size that header and footer agree on (or by which the filter ends where
something else begins, if its writer left `bloom_filter_length` out), and bits that were moved or
lost. A reader loses rows by these. `verify` finds them, and `bloomify` builds them anew; all bits
of some filters are flipped one by one to show it.

Not shown: damage to single bits of pages, and interfaces that return more bytes than asked for to
pyarrow, which crashes on them.
"""


def torture(options: Torture) -> Section:
    """Try a share of all cases."""
    tasks = [
        task for kind in TEXTS for task in tasks_of(kind, options.some(count(kind)), options.seed)
    ]
    tallies = tally(tasks, _PROCESSES, options.say)
    return of_counts(
        "Truncated files and damaged filters",
        _TEXT,
        tuple(_count(kind, tallies[kind]) for kind in TEXTS),
        tuple(problem for one in tallies.values() for problem in one.problems),
    )


def _count(kind: str, found: Tally) -> Count:
    remark = ", ".join(f"{number:,} {outcome}" for outcome, number in found.outcomes.most_common())
    return Count(what=TEXTS[kind], tried=found.tried, survived=found.survived, remark=remark)
