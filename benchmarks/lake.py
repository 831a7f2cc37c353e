"""One id of a lake of 200 files: `python -m benchmarks.lake [REPEATS]`.

The lake has 200 files of 50,000 rows, one row group each, with ids in no order, so that minimum and
maximum exclude nothing, and with filters of the ids, which DuckDB uses, too. Each way is asked for
an id of its own turn, and finds one row. All ways take turns in this process, in two states:

- *first*: nothing is kept from an earlier query. DuckDB has a new connection, which was made before
  the clock ran, and this library has emptied its caches;
- *again*: DuckDB keeps its connection, with `parquet_metadata_cache`, and this library its footers
  and its open index.

The least time of each way counts; processor time is that of all threads. As commands, imports are
most of the time of each: these processes are measured as well.
"""

from __future__ import annotations

import shutil
import sys
import time
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.measure import BLOOMIFY, DATA, Figure, Timing, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import duckdb

_FILES, _ROWS = 200, 50_000
_FOLDER = DATA / "lake-200"


def ensure() -> Path:
    """Write the lake and its index, unless they are there."""
    if _FOLDER.exists():
        return _FOLDER
    import pyarrow as pa
    import pyarrow.parquet as pq

    from parquet_bloomwriter import bloomify, index

    partial = _FOLDER.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    rng = np.random.default_rng(42)
    ids = rng.permutation(_FILES * _ROWS)
    for n in range(_FILES):
        own = ids[n * _ROWS : (n + 1) * _ROWS]
        rows = {"id": own, "email": [f"user{i}@mail.example" for i in own.tolist()]}
        path = partial / f"part-{n:05}.parquet"
        pq.write_table(pa.table(rows), path)
        bloomify(path, ["id"])
    partial.rename(_FOLDER)
    index.create(_FOLDER, ["id"], name="ids")
    return _FOLDER


def ways(folder: Path) -> dict[str, Callable[[int], int]]:
    """Return the functions that are compared; each returns the number of rows of an id."""
    from parquet_bloomwriter import index, read_table
    from parquet_bloomwriter.verbs.read import open_rows

    def by_index(number: int) -> int:
        asked = f"id = {number}"

        def named(_: object, __: object) -> tuple[str, ...]:
            return index.lookup(folder, asked).paths

        rows = open_rows(str(folder), filters=asked, ask_index=named)
        return sum(batch.num_rows for batch in rows.batches(batch_size=8192))

    return {
        "read_table": lambda number: read_table(folder, filters=f"id = {number}").num_rows,
        "with an index": by_index,
    }


def measure(repeats: int) -> dict[str, Timing]:
    """Ask all ways in turn, in both states, and return seconds, and processor time as `... CPU`."""
    import duckdb

    from parquet_bloomwriter.caches import clear_cache

    folder = ensure()
    ours = ways(folder)
    kept = duckdb.connect()
    kept.execute("SET parquet_metadata_cache = true")
    found: dict[str, list[float]] = {}

    def by_duckdb(connection: duckdb.DuckDBPyConnection) -> Callable[[int], int]:
        query = f"FROM '{folder}/*.parquet' WHERE id = "
        return lambda number: len(connection.sql(f"{query}{number}").fetchall())

    def note(name: str, function: Callable[[int], int], number: int) -> None:
        began, cpu = time.perf_counter(), time.process_time()
        if function(number) != 1:
            raise RuntimeError(f"{name}: not one row")
        found.setdefault(name, []).append(time.perf_counter() - began)
        found.setdefault(f"{name} CPU", []).append(time.process_time() - cpu)

    for turn in range(repeats + 1):
        first, second = 4711 + 1000 * turn, 4712 + 1000 * turn
        if not turn:  # which imports, and fills the caches of the disk
            by_duckdb(kept)(first)
            for function in ours.values():
                function(first)
            continue
        with duckdb.connect() as connection:
            connection.sql("SELECT 1").fetchall()
            note("DuckDB first", by_duckdb(connection), first)
        note("DuckDB again", by_duckdb(kept), second)
        for name, function in ours.items():
            clear_cache()
            note(f"{name} first", function, first)
            note(f"{name} again", function, second)
    return {name: Timing(seconds=tuple(seconds)) for name, seconds in found.items()}


def figures(repeats: int) -> Iterator[Figure]:
    """Yield the figures of the report."""
    timings = measure(repeats)
    for way, least in (("read_table", 3), ("with an index", 10)):
        for state in ("first", "again"):
            ours, other = timings[f"{way} {state}"], timings[f"DuckDB {state}"]
            cpu = timings[f"DuckDB {state} CPU"].best / timings[f"{way} {state} CPU"].best
            ratio = other.best / ours.best
            yield Figure(
                what=f"One id of 200 files, {way}, {state}, against DuckDB's query",
                figure=f"{ours} / {other}, 1 : {ratio:.1f}; processor time 1 : {cpu:.1f}",
                target=f"1 : {least}" if state == "first" else "",
                met=ratio >= least if state == "first" else None,
            )
    folder = str(ensure())
    query = f"import duckdb; print(duckdb.sql(\"FROM '{folder}/*.parquet' WHERE id = 4711\"))"
    commands = ((BLOOMIFY, "get", folder, "--where", "id = 4711"), (sys.executable, "-c", query))
    runs = [[run(one) for one in commands] for _ in range(repeats)]
    own, other = (
        Timing(seconds=tuple(of_command.seconds for of_command in column))
        for column in zip(*runs, strict=True)
    )
    yield Figure(
        what="The same as a process: `bloomify get`, with an index, and Python with DuckDB",
        figure=f"{own} / {other}",
    )


def main(repeats: int = 15) -> None:
    """Measure all ways, and print them."""
    for figure in figures(repeats):
        print(f"{figure.what}: {figure.figure}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
