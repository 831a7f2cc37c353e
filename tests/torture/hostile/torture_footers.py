"""A million mutated footers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.torture.hostile.campaign import campaign
from tests.torture.section import Count, of_counts

if TYPE_CHECKING:
    from tests.torture.hostile.campaign import Tally
    from tests.torture.section import Section, Torture

FOOTERS = 1_000_000
PROCESSES = 2
_SHOWN_PROBLEMS = 200

TEXT = """
Each try takes one of the sample files in `fixtures/` and changes its footer. Half are scrambled:
bits, runs, insertions, deletions, parts of other footers, with a footer length that fits or not.
Half stay Thrift, or nearly: numbers that lie (offsets moved by one, to the limits of 32 and 64
bits, to another chunk's place; counts, sizes, types), fields that are missing, doubled, retyped,
out of order or unknown, lists that claim other sizes, elements that are repeated or swapped,
thousands of levels of nesting, names that are no text, marks of encryption, filters that lead
elsewhere. In one of ten, bytes of page headers, page indexes or filters are scrambled, too.

`inspect`, `strip`, `bloomify` (placements, sizes and options in turn, one in fifty in place on
disk) and one of `probe`, `verify`, `repair` and `advise` must each succeed or raise a
`BloomwriterError` whose message is one printable line; within 5 s of processor time and 64 MiB of
memory beyond the file's size. What was rewritten must hold every byte that the plan keeps and give,
stripped, what the old file gives stripped (where bytes of replaced filters had to stay, the footer
is compared instead); for one in four, Thrift's own classes must find the same footer but for
filters and moved positions. For one in twenty, pyarrow and DuckDB must read the same as before, and
every value that pyarrow reads must be in its filter by an independent check. `read_table` with a
condition is tried on one in twenty-five. Where a reader crashes or hangs on the mutated file by
itself, nothing can be said.
"""


def torture(options: Torture) -> Section:
    """Try mutants from the seed on."""
    count = options.some(FOOTERS)
    numbers = range(options.seed, options.seed + count)
    tally = campaign(numbers, options.scratch, processes=PROCESSES, say=options.say)
    return of_counts(
        "Mutated footers", TEXT, _counts(tally), tuple(tally.problems[:_SHOWN_PROBLEMS])
    )


def _counts(tally: Tally) -> tuple[Count, ...]:
    names = {
        "verbs": "mutated footers",
        "pyarrow": "rewritten, read with pyarrow",
        "duckdb": "rewritten, read with DuckDB",
        "read_table": "mutated, read with `read_table`",
    }
    remarks = {
        reader: f"{tally.gave_up[reader]:,} crash or hang the reader alone" for reader in names
    }
    remarks["verbs"] = f"{tally.rewritten:,} rewritten, the others refused"
    return tuple(
        Count(
            what=what,
            tried=tally.tried[reader],
            survived=tally.tried[reader] - tally.wrong[reader],
            remark=remarks[reader],
        )
        for reader, what in names.items()
    )
