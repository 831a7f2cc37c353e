"""What is timed within one process: looking up, and reading what survives.

`python -m benchmarks.lookup_tasks NAME ...` prints one JSON object: lists of seconds, or figures.
"""

from __future__ import annotations

import json
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.lookups import ABSENT_ID
from benchmarks.measure import Timing, timed
from benchmarks.reference import ROWS, ids
from parquet_bloomwriter import BloomFile, probe, read_table
from parquet_bloomwriter.probing.footer_cache import CACHE

if TYPE_CHECKING:
    from collections.abc import Callable

_VALUES = 100_000
_CALLS = 50
"""Calls of something short that are timed together."""


def _seconds(call: Callable[[], object]) -> Callable[[], float]:
    def timed_call() -> float:
        began = time.perf_counter()
        call()
        return time.perf_counter() - began

    return timed_call


def _each(
    call: Callable[[], object], *, before: Callable[[], object] = lambda: None
) -> Callable[[], float]:
    """Seconds of one of `_CALLS` calls; what comes before each is not counted."""
    one = _seconds(call)

    def mean() -> float:
        seconds = 0.0
        for _ in range(_CALLS):
            before()
            seconds += one()
        return seconds / _CALLS

    return mean


def _print(timings: dict[str, Timing]) -> None:
    print(json.dumps({name: timing.seconds for name, timing in timings.items()}))


def lookup(folder: str, repeats: str) -> None:
    """One absent id in all files of a folder: we, DuckDB, DataFusion."""
    import datafusion
    import duckdb

    files = f"{folder}/*.parquet"
    where = f"id = {ABSENT_ID}"
    connection = duckdb.connect()

    def ask(sql: str) -> Callable[[], object]:
        return lambda: connection.execute(sql).fetchall()

    def ask_datafusion() -> None:
        context = (
            datafusion.SessionContext()
        )  # A new one keeps no footers, as we do the first time.
        context.register_parquet("lookups", folder)
        context.sql(f"SELECT count(*) FROM lookups WHERE {where}").collect()

    look = _seconds(lambda: probe(folder, where))

    def first() -> float:
        CACHE.clear()
        return look()

    _print(
        timed(
            {
                "first": first,
                "second": look,
                "duckdb_probe": _seconds(
                    ask(f"SELECT * FROM parquet_bloom_probe('{files}', 'id', {ABSENT_ID})")
                ),
                "duckdb_query": _seconds(ask(f"SELECT count(*) FROM '{files}' WHERE {where}")),
                "datafusion": _seconds(ask_datafusion),
            },
            int(repeats),
        )
    )


def growth(few: str, many: str, repeats: str) -> None:
    """The same lookup over few and over many files."""

    def first(folder: str) -> Callable[[], object]:
        def look() -> None:
            CACHE.clear()
            probe(folder, f"id = {ABSENT_ID}")

        return look

    _print(timed({name: _seconds(first(name)) for name in (few, many)}, int(repeats)))


def traffic(folder: str) -> None:
    """Print the bytes read besides footers, and the number of filters looked into."""
    CACHE.clear()
    report = probe(folder, f"id = {ABSENT_ID}")
    footers = 0
    for path in Path(folder).glob("*.parquet"):
        with path.open("rb") as file:
            file.seek(-8, 2)
            footers += 8 + int.from_bytes(file.read(4), "little")
    print(json.dumps({"bytes": report.bytes_read - footers, "filters": report.num_filters}))


def one_value(path: str, value: str, repeats: str) -> None:
    """One value in one file, footers not kept and kept, against pyarrow reading the footer."""
    where = [("id", "=", int(value))]
    cases = {
        "first": _each(lambda: probe(path, where), before=CACHE.clear),
        "second": _each(lambda: probe(path, where)),
        "metadata": _each(lambda: pq.read_metadata(path)),
    }
    _print(timed(cases, int(repeats)))


def many_values(path: str, repeats: str) -> None:
    """100,000 values in one filter, against `is_in` on the decoded column; seconds per value."""
    with pq.ParquetFile(path) as file:
        column = file.read_row_group(0, columns=["id"])["id"]
    values = pa.array(np.arange(_VALUES) * 7 + 1)
    with BloomFile(path) as bloom:
        look_up = _seconds(lambda: bloom.might_contain("id", values, row_group=0))
        is_in = _seconds(lambda: pc.is_in(column, value_set=values))
        cases = {
            "might_contain": lambda: look_up() / len(values),
            "is_in": lambda: is_in() / len(column),
        }
        _print(timed(cases, int(repeats)))


def reading(path: str, repeats: str) -> None:
    """Rows of one id, of no id, and of all ids, against pyarrow with the same filters."""
    present = ids(np.array([ROWS // 2 + 12345], np.uint64))[0].as_py()
    absent = ids(np.array([ROWS + 1], np.uint64))[0].as_py()
    cases = {}
    for name, filters in (
        ("present", [("id", "=", present)]),
        ("absent", [("id", "=", absent)]),
        ("useless", [("quantity", "=", 50)]),
    ):
        for reader, read in (("ours", read_table), ("pyarrow", pq.read_table)):
            cases[f"{name}_{reader}"] = _seconds(partial(read, path, filters=filters))
    _print(timed(cases, int(repeats)))


TASKS: dict[str, Callable[..., None]] = {
    task.__name__: task for task in (lookup, growth, traffic, one_value, many_values, reading)
}

if __name__ == "__main__":
    TASKS[sys.argv[1]](*sys.argv[2:])
