"""A folder whose files have their filters: `python -m benchmarks.nightly [FILES] [REPEATS]`.

The folder has 10,000 files of 50 rows, with filters of both columns. All ways go over all files in
turn, in this process and one thread: `pq.read_metadata`, which reads the footers alone; the verb;
and the command without output. The least CPU and the least time of each way count, and the reading
of the footers is the base of the ratios.
"""

from __future__ import annotations

import gc
import shutil
import sys
import time
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.measure import DATA

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_ROWS = 50
_COLUMNS = ["id", "email"]


def ensure(num_files: int) -> Path:
    """Write the folder and its filters, unless they are there."""
    folder = DATA / f"nightly-{num_files}"
    if folder.exists():
        return folder
    import pyarrow as pa
    import pyarrow.parquet as pq

    from parquet_bloomwriter import bloomify

    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    rng = np.random.default_rng(1)
    for n in range(num_files):
        ids = rng.integers(0, 10**9, _ROWS)
        table = pa.table({"id": ids, "email": [f"u{i}@m.example" for i in ids.tolist()]})
        path = partial / f"{n:05}.parquet"
        pq.write_table(table, path)
        bloomify(path, _COLUMNS)
    partial.rename(folder)
    return folder


def ways(folder: Path) -> dict[str, Callable[[], object]]:
    """Return the functions that are compared; none changes a file."""
    import pyarrow.parquet as pq

    from bloomify.main import cli
    from parquet_bloomwriter import bloomify, for_each_file

    paths = sorted(map(str, folder.iterdir()))

    def by_metadata() -> None:
        for path in paths:
            pq.read_metadata(path)

    def by_verb() -> None:
        for outcome in for_each_file(folder, lambda path: bloomify(path, _COLUMNS), jobs=1):
            if outcome.report is None or outcome.report.written:
                raise RuntimeError(f"{outcome}: a file was not left as it is")

    words = [str(folder), "--columns", ",".join(_COLUMNS), "--jobs", "1", "--quiet"]
    return {
        "pq.read_metadata": by_metadata,
        "for_each_file": by_verb,
        "the command": lambda: cli.main(words, prog_name="bloomify", standalone_mode=False),
    }


def main(num_files: int = 10_000, repeats: int = 3) -> None:
    """Measure all ways, and print them."""
    gc.set_threshold(100_000, 20, 100)  # as the command does
    functions = ways(ensure(num_files))
    least = {name: (float("inf"), float("inf")) for name in functions}
    for _ in range(repeats):
        for name, function in functions.items():
            began, cpu = time.perf_counter(), time.process_time()
            function()
            wall, cpu = time.perf_counter() - began, time.process_time() - cpu
            least[name] = (min(least[name][0], wall), min(least[name][1], cpu))
    base_wall, base_cpu = least["pq.read_metadata"]
    for name, (wall, cpu) in least.items():
        print(
            f"{name}: {cpu / base_cpu:.1f}x the CPU ({1e6 * cpu / num_files:.0f} us a file), "
            f"{wall / base_wall:.1f}x the time ({1e6 * wall / num_files:.0f} us a file)"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
