"""Point queries of Polars, by its own scans and by `scan_polars`.

The same 5 M rows are in one file of 50 row groups, in 200 files, and in a Delta table of 200 files,
with filters of 1 %. Ids and e-mail addresses come in no order, so that minimum and maximum exclude
nothing. All is timed within one process, from the making of the LazyFrame to the rows; files are in
the disk cache.

`python -m benchmarks.polars_scans FOLDER REPEATS` prints one JSON object: lists of seconds.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measure import DATA, Figure, at_least, at_most, read_timings, run, timed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import polars as pl

ROWS = 5_000_000
_ROW_GROUPS, _FILES = 50, 200
_PRESENT = ROWS // 2
"""The row whose id is asked for."""


def _ids() -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Even numbers."""
    return np.random.default_rng(1).integers(0, 2**61, ROWS) * 2


def _write(folder: Path) -> None:
    """Write the rows three times over."""
    from deltalake import write_deltalake

    from parquet_bloomwriter import bloomify, bloomify_table, for_each_file

    ids = _ids()
    table = pa.table(
        {
            "id": ids,
            "email": [f"{one:x}@mail.example" for one in ids],
            "score": np.random.default_rng(2).random(ROWS),
            "quantity": ids % 1000,
        }
    )
    columns = ["id", "email"]
    one = folder / "one.parquet"
    pq.write_table(table, one, row_group_size=ROWS // _ROW_GROUPS)
    bloomify(one, columns)
    many = folder / "many"
    many.mkdir()
    rows = ROWS // _FILES
    for number in range(_FILES):
        pq.write_table(table.slice(number * rows, rows), many / f"part-{number:05}.parquet")
        write_deltalake(folder / "delta", table.slice(number * rows, rows), mode="append")
    for outcome in for_each_file(
        [many], lambda path, output, _: bloomify(path, columns, output=output, jobs=1)
    ):
        if outcome.error is not None:
            raise outcome.error
    bloomify_table(folder / "delta", columns)


def _measure(folder: str, repeats: str) -> None:
    """Print the seconds of each query."""
    import polars as pl

    from parquet_bloomwriter import scan_polars

    present = int(_ids()[_PRESENT])
    col = pl.col
    places: dict[str, tuple[str, Callable[[str], pl.LazyFrame]]] = {
        "one": (f"{folder}/one.parquet", pl.scan_parquet),
        "many": (f"{folder}/many", pl.scan_parquet),
        "delta": (f"{folder}/delta", pl.scan_delta),
    }
    conditions = {
        "present": col("id") == present,
        "absent": col("id") == present + 1,
        "text": col("email") == f"{present:x}@mail.example",
        "useless": col("quantity") == 500,
    }

    def seconds(scan: Callable[[str], pl.LazyFrame], path: str, condition: pl.Expr) -> float:
        began = time.perf_counter()
        scan(path).filter(condition).collect()
        return time.perf_counter() - began

    cases: dict[str, Callable[[], float]] = {}
    for place, (path, theirs) in places.items():
        for name, condition in conditions.items():
            for reader, scan in (("ours", scan_polars), ("theirs", theirs)):
                cases[f"{place}_{name}_{reader}"] = lambda s=scan, p=path, c=condition: seconds(  # type: ignore[misc]
                    s, p, c
                )
    found = timed(cases, int(repeats))
    print(json.dumps({name: timing.seconds for name, timing in found.items()}))


_PLACES = {
    "one": ("one file of 50 row groups", "scan_parquet"),
    "many": ("200 files", "scan_parquet"),
    "delta": ("a Delta table of 200 files", "scan_delta"),
}
_QUERIES = {
    "present": "one id that is there",
    "absent": "one id that is absent",
    "text": "one e-mail",
}


def figures(repeats: int) -> Iterator[Figure]:
    """Compare `scan_polars` with Polars' own scans."""
    DATA.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=DATA) as name:
        folder = Path(name)
        _write(folder)
        command = (sys.executable, "-m", "benchmarks.polars_scans", os.fspath(folder))
        timings = read_timings(run((*command, str(max(repeats, 10)))).output)
    for place, (where, scan) in _PLACES.items():
        for query, words in _QUERIES.items():
            yield at_least(
                f"`scan_polars`, {where}, against Polars' `{scan}`: {words}",
                timings[f"{place}_{query}_ours"],
                base=timings[f"{place}_{query}_theirs"],
                limit=2,
            )
        yield at_most(
            f"`scan_polars`, {where}, against Polars' `{scan}`: a filter that excludes nothing",
            timings[f"{place}_useless_ours"],
            base=timings[f"{place}_useless_theirs"],
            limit=8,
        )


if __name__ == "__main__":
    _measure(*sys.argv[1:])
