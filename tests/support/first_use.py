"""Threads of a fresh process that use the library for the first time, all at once.

    python -m tests.support.first_use SEED FOLDER USE...

The folder is one of `tests.failure.races.test_first_use`. Prints what the threads raised, as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from threading import Barrier, Thread
from typing import TYPE_CHECKING, Any

from tests.support import slow_imports

if TYPE_CHECKING:
    from collections.abc import Callable

CONDITION = "id = 3 and t in ('x3', 'x4')"


def bloomify(file: str) -> None:
    from parquet_bloomwriter import bloomify

    bloomify(file, ["id"], dry_run=True)


def strip(file: str) -> None:
    from parquet_bloomwriter import strip

    strip(file, dry_run=True)


def inspect(file: str) -> None:
    from parquet_bloomwriter import inspect

    inspect(file)


def inspect_elsewhere(file: str) -> None:
    import contextlib

    from parquet_bloomwriter import inspect

    with contextlib.suppress(FileNotFoundError):
        inspect(f"memory://{file}")


def verify(file: str) -> None:
    from parquet_bloomwriter import verify

    assert verify(file).passed


def advise(file: str) -> None:
    from parquet_bloomwriter import advise

    advise(file)


def bloom_file(file: str) -> None:
    from parquet_bloomwriter import BloomFile

    with BloomFile(file) as opened:
        opened.might_contain("id", 3)


def probe(file: str) -> None:
    from parquet_bloomwriter import probe

    probe(file, CONDITION)


def read_table(file: str) -> None:
    from parquet_bloomwriter import read_table

    assert read_table(file, filters=CONDITION).num_rows == 1


def read_list(file: str) -> None:
    from parquet_bloomwriter import read_table

    assert read_table(file, filters=[("id", "=", 3)]).num_rows == 1


def dataset(file: str) -> None:
    from parquet_bloomwriter import dataset

    assert dataset(file, filters="id in (3, 4)").count_rows() > 0


def iter_batches(file: str) -> None:
    from parquet_bloomwriter import iter_batches

    assert sum(one.num_rows for one in iter_batches(file, filters=CONDITION)) == 1


def scan_polars(file: str) -> None:
    import polars as pl

    from parquet_bloomwriter import scan_polars

    assert scan_polars(file).filter(pl.col("id") == 3).collect().height == 1


def find_files(file: str) -> None:
    from parquet_bloomwriter import find_files

    assert find_files([str(Path(file).parent)])


def for_each_file(file: str) -> None:
    from parquet_bloomwriter import for_each_file, inspect

    for outcome in for_each_file(Path(file).parent, inspect, jobs=2):
        if outcome.error is not None:
            raise outcome.error


def index(file: str) -> None:
    from parquet_bloomwriter import index

    index.create(Path(file).parent, ["t"], name="first")
    assert index.lookup(Path(file).parent, "t = 'x3'").paths


USES: dict[str, Callable[[str], Any]] = {
    use.__name__: use
    for use in (
        *(bloomify, strip, inspect, inspect_elsewhere, verify, advise, bloom_file, probe),
        *(read_table, read_list, dataset, iter_batches, scan_polars, find_files, for_each_file),
        index,
    )
}


def main(seed: str, file: str, *names: str) -> None:
    """Start a thread for each use, and print what they raised."""
    slow_imports.install(int(seed))
    barrier, raised = Barrier(len(names)), {}

    def use(name: str) -> None:
        barrier.wait()
        try:
            USES[name](file)
        except BaseException as error:  # noqa: BLE001  whatever it is
            raised[name] = f"{type(error).__name__}: {error}"

    threads = [Thread(target=use, args=(name,)) for name in names]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    print(json.dumps(raised))  # noqa: T201  the answer


if __name__ == "__main__":
    main(*sys.argv[1:])
