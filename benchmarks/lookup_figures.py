"""Figures of looking up and of reading what survives; see `benchmarks.lookup_tasks`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from benchmarks.lookups import ABSENT_FROM_REFERENCE, ABSENT_ID, FEW, LARGE, MANY
from benchmarks.measure import (
    BLOOMIFY,
    FILTERED,
    Figure,
    alternate,
    at_least,
    at_most,
    below,
    lookup_task,
    read_timings,
    run,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


def lookup(repeats: int) -> Iterator[Figure]:
    """One absent value in many files."""
    folder = str(LARGE.folder)
    timings = read_timings(run(lookup_task("lookup", folder, str(repeats))).output)
    what = "`probe` for an absent id, inside all minima and maxima, 200 files x 10 filters of 1 MiB"
    for base, words, limit in (
        ("duckdb_probe", "DuckDB's `parquet_bloom_probe`", 8),
        ("duckdb_query", "DuckDB's query", 8),
        ("datafusion", "DataFusion's query", 100),
    ):
        yield at_least(
            f"{what}: against {words}", timings["first"], base=timings[base], limit=limit
        )
    yield at_most(
        "The same lookup again, with footers kept, against the first time",
        timings["second"],
        base=timings["first"],
        limit=1 / 3,
    )
    read = json.loads(run(lookup_task("traffic", folder)).output)
    each = read["bytes"] / read["filters"]
    yield below("Bytes read besides footers, per filter", each, limit=128, unit="bytes")
    few, many = str(FEW.folder), str(MANY.folder)
    timings = read_timings(run(lookup_task("growth", few, many, str(repeats))).output)
    yield at_most(
        "`probe` in 2,000 files against 200 files (filters of 16 KiB)",
        timings[many],
        base=timings[few],
        limit=11,
    )


def single(repeats: int) -> Iterator[Figure]:
    """One file."""
    path = str(FILTERED)
    timings = read_timings(
        run(lookup_task("one_value", path, str(ABSENT_FROM_REFERENCE), str(repeats))).output
    )
    what = "`probe` for one value, against `pq.read_metadata` of the file: the reference file"
    yield at_most(what, timings["first"], base=timings["metadata"], limit=2)
    yield at_most(f"{what}, footer kept", timings["second"], base=timings["metadata"], limit=2)
    small = str(next(LARGE.folder.iterdir()))
    timings = read_timings(
        run(lookup_task("one_value", small, str(ABSENT_ID), str(repeats))).output
    )
    what = "`probe` for one value, against `pq.read_metadata` of the file: a file of two columns"
    yield at_most(what, timings["first"], base=timings["metadata"], limit=2)
    yield at_most(f"{what}, footer kept", timings["second"], base=timings["metadata"], limit=2)
    timings = read_timings(run(lookup_task("many_values", path, str(repeats))).output)
    yield at_most(
        "100,000 values in one filter, against `is_in` on the decoded column (per value)",
        timings["might_contain"],
        base=timings["is_in"],
        limit=1,
    )
    command = (BLOOMIFY, "probe", path, "--where", "id = 1")
    seconds = alternate({"probe": command}, repeats=max(repeats, 5), codes=(0, 1))["probe"].best
    yield below("`bloomify probe` on the reference file", seconds, limit=0.5, unit="s")


def reading(repeats: int) -> Iterator[Figure]:
    """Reading what survives."""
    # Decoding scatters by a tenth; two equal things take a dozen runs to look equal.
    repeats = max(repeats, 12)
    timings = read_timings(run(lookup_task("reading", str(FILTERED), str(repeats))).output)
    what = "`read_table` of the reference file, against `pq.read_table` with the same filters: {}"
    for name, words in (("present", "one id that is there"), ("absent", "one id that is absent")):
        yield at_least(
            what.format(words),
            timings[f"{name}_ours"],
            base=timings[f"{name}_pyarrow"],
            limit=5,
        )
    yield at_most(
        what.format("a filter that excludes nothing"),
        timings["useless_ours"],
        base=timings["useless_pyarrow"],
        limit=1.05,
    )
