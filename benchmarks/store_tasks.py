"""What is done beside an object store, each in a process of its own.

Run as `python -m benchmarks.store_tasks NAME ARGUMENT...`.

The large file has at least 500 MB in row groups of 1 M rows, zstd, and nine columns. Of the two
that get filters, `id` holds 64 random bits, and `account` 50,000 values, dictionary-encoded
throughout. Files of the table that is asked have ten row groups of 20,000 rows with filters on
`id`, and one more column of 16 random bytes to keep these apart.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measure import BLOOMIFY
from benchmarks.reference import CHUNK_ROWS, table, uuids
from parquet_bloomwriter import bloomify

if TYPE_CHECKING:
    from collections.abc import Callable

_LARGE_BYTES = 500_000_000
_NUM_ACCOUNTS = 50_000
_KEPT = ("email", "device", "created_at", "amount", "latitude", "longitude", "country")


def large(path: str) -> None:
    """Write the large file."""
    row = 0
    with Path(path).open("wb") as file, pq.ParquetWriter(file, _rows(0, 1).schema, **_AS) as writer:
        while file.tell() < _LARGE_BYTES:
            writer.write_table(_rows(row, row + CHUNK_ROWS), row_group_size=CHUNK_ROWS)
            row += CHUNK_ROWS


_AS = {"compression": "zstd"}


def _rows(start: int, stop: int) -> pa.Table:
    rng = np.random.default_rng(start)
    random = pa.array(rng.integers(0, _NUM_ACCOUNTS, stop - start))
    return (
        table(start, stop)
        .select(_KEPT)
        .add_column(0, "id", _random_ids(rng, stop - start))
        .append_column("account", random)
    )


def _random_ids(rng: np.random.Generator, count: int) -> pa.Array:
    return pa.array(rng.integers(-(1 << 63), 1 << 63, count, dtype=np.int64))


def small(path: str) -> None:
    """Write a file of 1 MB: two columns in one row group."""
    _write_ids(path, num_row_groups=1, rows=40_000)


def asked(path: str) -> None:
    """Write a file of the table that is asked, with its filters."""
    _write_ids(path, num_row_groups=10, rows=20_000)
    bloomify(path, ["id"])


def _write_ids(path: str, *, num_row_groups: int, rows: int) -> None:
    count = num_row_groups * rows
    columns = {
        "id": _random_ids(np.random.default_rng(0), count),
        "device": uuids(np.arange(count, dtype=np.uint64)),
    }
    plain = {"use_dictionary": False, "compression": "none"}
    pq.write_table(pa.table(columns), path, row_group_size=rows, **plain)


def round_trip(bucket: str, key: str, columns: str) -> None:
    """Do what one does today: download, run, upload."""
    client = boto3.client("s3")
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        path = str(Path(folder, "file.parquet"))
        client.download_file(bucket, key, path)
        command = (BLOOMIFY, path, "--columns", columns, "--placement", "end", "--quiet")
        subprocess.run(command, check=True)
        client.upload_file(path, bucket, key)


TASKS: dict[str, Callable[..., None]] = {
    task.__name__: task for task in (large, small, asked, round_trip)
}

if __name__ == "__main__":
    TASKS[sys.argv[1]](*sys.argv[2:])
