"""One id of a lake of 200 files: `python -m benchmarks.lake [REPEATS]`.

The lake has 200 files of 50,000 rows, with ids in no order and filters of them. All ways are asked
in turn, in this process, each for ids of its own turn: DuckDB's query, `read_table`, and what
`bloomify get` does where there is an index. The least time of each way counts, and DuckDB is the
base of the ratios.
"""

from __future__ import annotations

import shutil
import sys
import time
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.measure import DATA

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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
    import duckdb

    from parquet_bloomwriter import index, read_table
    from parquet_bloomwriter.verbs.read import open_rows

    def by_duckdb(number: int) -> int:
        return len(
            duckdb.connect().sql(f"FROM '{folder}/*.parquet' WHERE id = {number}").fetchall()
        )

    def by_index(number: int) -> int:
        asked = f"id = {number}"

        def named(_: object, __: object) -> tuple[str, ...]:
            return index.lookup(folder, asked).paths

        rows = open_rows(str(folder), filters=asked, ask_index=named)
        return sum(batch.num_rows for batch in rows.batches(batch_size=8192))

    return {
        "DuckDB": by_duckdb,
        "read_table": lambda number: read_table(folder, filters=f"id = {number}").num_rows,
        "with an index": by_index,
    }


def main(repeats: int = 7) -> None:
    """Measure all ways, and print them."""
    functions = ways(ensure())
    least = dict.fromkeys(functions, float("inf"))
    for turn in range(repeats):
        for name, function in functions.items():
            began = time.perf_counter()
            if function(4711 + 1000 * turn) != 1:
                raise RuntimeError(f"{name}: not one row")
            least[name] = min(least[name], time.perf_counter() - began)
    for name, seconds in least.items():
        print(f"{name}: {1000 * seconds:.1f} ms, 1 : {least['DuckDB'] / seconds:.1f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
