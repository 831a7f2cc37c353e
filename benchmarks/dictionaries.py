"""Filters from dictionary pages: `python -m benchmarks.dictionaries REPEATS` prints the timings.

The file has 10 M rows in ten row groups, snappy, as pyarrow writes it: an INT64 of 5,000 values and
a text of 2,000, unsorted, both dictionary-encoded throughout. All runs are within one process, ours
in turn, with two threads but for the index; then pyarrow's, which make dense arrays of both columns
and keep nothing. What was read is counted by Linux.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import DATA, Figure, at_most, read_timings, run, timed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SOURCE = DATA / "dictionaries.parquet"
COLUMNS = ("key", "label")
ROWS, ROW_GROUP_ROWS, NUM_KEYS, NUM_LABELS = 10_000_000, 1_000_000, 5_000, 2_000
THREADS = 2


def figures(repeats: int) -> Iterator[Figure]:
    """Compare with decoding both columns, and count the bytes."""
    found = run((sys.executable, "-m", "benchmarks.dictionaries", str(repeats))).output
    timings, traffic = found.splitlines()
    times, counts = read_timings(timings), json.loads(traffic)
    build, decode = times["build"], times["decode"]
    yield at_most(
        "Against pyarrow decoding the two columns: building both filters, nothing written",
        build,
        base=decode,
        limit=0.1,
    )
    yield at_most(
        "Against pyarrow decoding the two columns: building both filters for an index, one thread",
        times["index"],
        base=decode,
        limit=0.1,
    )
    yield at_most(
        "Against pyarrow decoding the two columns: `advise`",
        times["advise"],
        base=decode,
        limit=0.1,
    )
    yield at_most("`advise`, against building both filters", times["advise"], base=build, limit=0.3)
    ratio = counts["read"] / counts["needed"]
    yield Figure(
        what="Bytes read to build both filters, against dictionary pages and page headers",
        figure=f"{ratio:.2f}x: {counts['read']:,} against {counts['needed']:,}",
        target="at most 1.2x",
        met=ratio <= 1.2,
    )


def make() -> None:
    """Write the file, unless it is there."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    if SOURCE.exists():
        return
    rng = np.random.default_rng(1)
    keys = rng.integers(0, 2**60, NUM_KEYS)
    labels = pa.array([f"customer-{i:06}" for i in range(NUM_LABELS)])
    table = pa.table(
        {
            "key": keys[rng.integers(0, NUM_KEYS, ROWS)],
            "label": labels.take(pa.array(rng.integers(0, NUM_LABELS, ROWS))),
        }
    )
    SOURCE.parent.mkdir(exist_ok=True)
    temporary = SOURCE.with_suffix(".part")
    pq.write_table(table, temporary, row_group_size=ROW_GROUP_ROWS)
    temporary.rename(SOURCE)


def _decode() -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pa.set_cpu_count(THREADS)
    with pq.ParquetFile(SOURCE) as file:
        for ordinal in range(file.num_row_groups):
            file.read_row_group(ordinal, columns=list(COLUMNS))


def _build() -> None:
    import parquet_bloomwriter

    parquet_bloomwriter.bloomify(str(SOURCE), COLUMNS, dry_run=True, jobs=THREADS)


def _advise() -> None:
    import parquet_bloomwriter

    parquet_bloomwriter.advise(str(SOURCE), COLUMNS, jobs=THREADS)


def _index() -> None:
    from parquet_bloomwriter.index.build.group import filter_of_file

    for column in COLUMNS:
        found = filter_of_file(str(SOURCE), column, fpp=0.01, max_bytes=1 << 20)
        if isinstance(found, str):
            raise TypeError(found)


def _bytes_needed() -> int:
    """Count the bytes of page headers and dictionary pages."""
    from parquet_bloomwriter.kernels.layout import PAGE_COMPRESSED, PAGE_HEADER_BYTES
    from parquet_bloomwriter.source import read_footer
    from parquet_bloomwriter.source.local import open_local
    from parquet_bloomwriter.values.pages import extent_of, walk

    needed = 0
    with open_local(str(SOURCE)) as source:
        footer = read_footer(source)
        for row_group in range(footer.num_row_groups):
            for leaf in footer.leaves:
                extent = extent_of(footer, row_group, leaf.ordinal)
                if extent is not None:
                    pages = walk(source, extent).table
                    needed += int(pages[:, PAGE_HEADER_BYTES].sum() + pages[0, PAGE_COMPRESSED])
    return needed


def _bytes_read() -> int:
    """Return what this process has read so far: `rchar`, which counts calls, not the disk."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["rchar"])


def _seconds(work: Callable[[], None]) -> Callable[[], float]:
    def measured() -> float:
        began = time.perf_counter()
        work()
        return time.perf_counter() - began

    return measured


def main(repeats: str) -> None:
    """Time everything in turn; print the seconds, and in a second line the bytes."""
    make()
    works = {"build": _build, "advise": _advise, "index": _index}
    timings = timed({name: _seconds(work) for name, work in works.items()}, int(repeats))
    timings |= timed({"decode": _seconds(_decode)}, int(repeats))  # It leaves the caches cold.
    print(json.dumps({name: timing.seconds for name, timing in timings.items()}))
    before = _bytes_read()
    _build()
    print(json.dumps({"read": _bytes_read() - before, "needed": _bytes_needed()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
