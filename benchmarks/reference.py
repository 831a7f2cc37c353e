"""The reference files: 10 M rows x 13 columns, zstd, reproducible, made once.

`reference.parquet` has ten row groups of 1 M rows, as writers make them; `single.parquet` holds
the same rows in one row group, the hardest case for memory.

Every value is a function of its row number, so that values which are certainly absent are simply
those of row numbers past the end. Ids and e-mail addresses are unique and unsorted:
multiplication by an odd number permutes the residues of a power of two.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.measure import DATA, REFERENCE, SINGLE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

ROWS = 10_000_000
CHUNK_ROWS = 1_000_000
"""Rows generated at a time, and rows per row group of the reference file."""

ID_MULTIPLIER, ID_BITS = 0x9E3779B97F4A7C15, 40
MAIL_MULTIPLIER, MAIL_BITS = 0x85EBCA6B, 27
_FIRST_NAMES = ("ada", "anna", "ben", "carla", "eva", "felix", "jan", "lena", "maria", "tom")
_DOMAINS = ("gmx.net", "mail.com", "post.org", "web.de")
_COUNTRIES = ("AT", "BR", "CH", "DE", "ES", "FR", "GB", "IN", "IT", "JP", "NL", "PL", "US")
_STATUSES = ("new", "paid", "packed", "shipped", "returned")
_EPOCH_US = 1_700_000_000_000_000


def _permuted(rows: NDArray[np.uint64], *, multiplier: int, bits: int) -> NDArray[np.int64]:
    mask = np.uint64((1 << bits) - 1)
    return ((rows * np.uint64(multiplier)) & mask).astype(np.int64)


def ids(rows: NDArray[np.uint64]) -> pa.Array:
    """Return the id of each row number, int64, unique for row numbers below 2**40."""
    return pa.array(_permuted(rows, multiplier=ID_MULTIPLIER, bits=ID_BITS))


def emails(rows: NDArray[np.uint64]) -> pa.Array:
    """Return the e-mail address of each row number, 20 to 24 bytes, unique below row 2**27."""
    number = 100_000_000 + _permuted(rows, multiplier=MAIL_MULTIPLIER, bits=MAIL_BITS)
    names = _taken(_FIRST_NAMES, number % len(_FIRST_NAMES))
    domains = _taken(_DOMAINS, number // 16 % len(_DOMAINS))
    local = pc.binary_join_element_wise(names, pc.cast(pa.array(number), pa.string()), ".")
    return pc.binary_join_element_wise(local, domains, "@")


def uuids(rows: NDArray[np.uint64]) -> pa.Array:
    """Return 16 unpredictable bytes for each row number, fixed_size_binary(16)."""
    halves = np.empty((len(rows), 2), dtype=np.uint64)
    halves[:, 0] = _mixed(rows * np.uint64(2))
    halves[:, 1] = _mixed(rows * np.uint64(2) + np.uint64(1))
    return pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(16), len(rows), [None, pa.py_buffer(halves)]
    )


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble 64-bit words (the finalizer of SplitMix64)."""
    z = (values + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _taken(words: tuple[str, ...], index: NDArray[np.int64]) -> pa.Array:
    return pa.array(words).take(pa.array(index))


def table(start: int, stop: int) -> pa.Table:
    """Return the rows `start` to `stop` (exclusive) of the reference data, 13 columns."""
    rows = np.arange(start, stop, dtype=np.uint64)
    rng = np.random.default_rng(start)
    count = len(rows)
    created = _EPOCH_US + rows.astype(np.int64) * 1_000_000 + rng.integers(0, 1_000_000, count)
    updated = created // 1000 + rng.integers(0, 86_400_000, count)
    return pa.table(
        {
            "id": ids(rows),
            "email": emails(rows),
            "account_id": pa.array(rng.integers(0, 500_000, count)),
            "device": uuids(rows),
            "created_at": pa.array(created).cast(pa.timestamp("us", tz="UTC")),
            "updated_at": pa.array(updated).cast(pa.timestamp("ms", tz="UTC")),
            "amount": pa.array(np.round(rng.gamma(2.0, 40.0, count), 2)),
            "score": pa.array(rng.standard_normal(count, dtype=np.float32)),
            "latitude": pa.array(rng.uniform(-90.0, 90.0, count)),
            "longitude": pa.array(rng.uniform(-180.0, 180.0, count)),
            "country": _taken(_COUNTRIES, rng.integers(0, len(_COUNTRIES), count)),
            "status": _taken(_STATUSES, rng.integers(0, len(_STATUSES), count)),
            "quantity": pa.array(rng.integers(1, 100, count, dtype=np.int32)),
        }
    )


def _chunks(rows: int) -> Iterator[pa.Table]:
    for start in range(0, rows, CHUNK_ROWS):
        yield table(start, min(start + CHUNK_ROWS, rows))


def write_reference(path: Path, *, rows: int = ROWS) -> None:
    """Write the rows to `path`, one row group per chunk; memory is bounded by one chunk."""
    with pq.ParquetWriter(path, table(0, 1).schema, compression="zstd") as writer:
        for chunk in _chunks(rows):
            writer.write_table(chunk, row_group_size=CHUNK_ROWS)


def write_single(path: Path, *, rows: int = ROWS) -> None:
    """Write the rows to `path` as one row group.

    pyarrow wants all rows of a row group at once: this takes about 2 GB of memory, the only
    place of the benchmarks that does.
    """
    pq.write_table(pa.concat_tables(_chunks(rows)), path, row_group_size=rows, compression="zstd")


def ensure() -> None:
    """Make the two reference files, unless they are there."""
    DATA.mkdir(exist_ok=True)
    for path, write in ((REFERENCE, write_reference), (SINGLE, write_single)):
        if path.exists():
            continue
        print(f"writing {path.name} ({ROWS:,} rows), once", file=sys.stderr)
        partial = path.with_suffix(".partial")
        write(partial)
        partial.replace(path)


def main() -> None:
    """Make the reference files; `--force` makes them anew."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--force", action="store_true", help="make them even if they are there")
    if parser.parse_args().force:
        for path in (REFERENCE, SINGLE):
            path.unlink(missing_ok=True)
    ensure()


if __name__ == "__main__":
    main()
