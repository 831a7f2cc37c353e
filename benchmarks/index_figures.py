"""Figures of the dataset index; see `index_tasks`, `index_lookup` and `slices` in `benchmarks`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from benchmarks import index_lookup, slices
from benchmarks.measure import Figure, at_most, read_timings, run

if TYPE_CHECKING:
    from collections.abc import Iterator

_NUM_FILES = 100_000
"""Of the index that is asked."""


def build(repeats: int) -> Iterator[Figure]:
    """Making an index."""
    what = "An index of 64 files by {}: against {}"
    reading = "{} which only read the column by pyarrow"
    spark, threads = (
        read_timings(_output("spark", repeats)),
        read_timings(_output("threads", repeats)),
    )
    tasks = what.format("Spark", reading.format("tasks (`mapInArrow`)"))
    yield at_most(tasks, spark["values"], base=spark["read"], limit=1.5)
    scan = what.format("Spark", "Spark's own scan of the column, handed to `mapInArrow`")
    yield at_most(scan, spark["values"], base=spark["scan"], limit=1.5)
    ratio = threads["values"].best / threads["read"].best
    yield Figure(
        what=what.format("threads", reading.format("threads")),
        figure=f"{ratio:.2f}x: {threads['values']} against {threads['read']}",
    )
    for words, timings in (("Spark", spark), ("threads", threads)):
        whence = f"An index by {words} from embedded filters, against an index from values"
        yield at_most(whence, timings["embedded"], base=timings["values"], limit=1 / 2)


def _output(name: str, repeats: int) -> str:
    return run((sys.executable, "-m", "benchmarks.index_tasks", name, str(repeats))).output


def lookup(_repeats: int) -> Iterator[Figure]:
    """Asking an index of very many files."""
    yield from index_lookup.figures(_NUM_FILES)
    yield from slices.figures(_NUM_FILES)
