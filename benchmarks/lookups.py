"""Files for point lookups, made once: many of them, with filters as full as those of real tables.

A row group has few rows, so that the files stay small beside their filters; each filter holds its
ids and as many random hashes besides as bring it to 1 % false positives or less. Ids are even and
spread over the whole range in every row group, so that minimum and maximum exclude nothing and odd
ids are in no file.
"""

from __future__ import annotations

import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measure import DATA, FILTERED, REFERENCE
from benchmarks.reference import ROWS, ids
from parquet_bloomwriter import Sbbf, bloomify
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK
from parquet_bloomwriter.source import open_for_reading, read_footer

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

ROW_GROUPS = 10
_ROWS = 1000
_SMALLEST, _GREATEST = 0, 2**62
_BITS_PER_HASH = 12
"""Leaves the rate a little below 1 %."""

ABSENT_ID = 2**61 + 1

ABSENT_FROM_REFERENCE: int = ids(np.array([ROWS + 1], np.uint64))[0].as_py()
"""Inside minimum and maximum of every row group."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Lookups:
    """One set of files."""

    num_files: int
    filter_bytes: int
    """Of each bitset."""

    @property
    def folder(self) -> Path:
        """Where they are."""
        return DATA / f"lookups-{self.num_files}-{self.filter_bytes}"


LARGE = Lookups(num_files=200, filter_bytes=1 << 20)
FEW = Lookups(num_files=200, filter_bytes=1 << 14)
MANY = Lookups(num_files=2000, filter_bytes=1 << 14)


def ensure() -> None:
    """Make the files, unless they are there, and the reference file with filters."""
    for lookups in (LARGE, FEW, MANY):
        if not lookups.folder.exists():
            print(f"writing {lookups.folder.name}, once", file=sys.stderr)
            _write(lookups)
    if not FILTERED.exists():
        bloomify(REFERENCE, ["id", "email"], output=FILTERED)


def _write(lookups: Lookups) -> None:
    partial_folder = lookups.folder.with_suffix(".partial")
    shutil.rmtree(partial_folder, ignore_errors=True)
    partial_folder.mkdir(parents=True)
    num_blocks = lookups.filter_bytes // BYTES_PER_BLOCK
    count = 8 * lookups.filter_bytes // _BITS_PER_HASH
    crowd = Sbbf.empty(num_blocks)
    crowd.insert_hashes(np.random.default_rng(0).integers(0, 2**64, count, dtype=np.uint64))
    paths = [partial_folder / f"part-{i:05d}.parquet" for i in range(lookups.num_files)]
    with ThreadPoolExecutor() as pool:
        write = partial(_write_one, filter_bytes=lookups.filter_bytes, crowd=crowd.blocks)
        for _ in pool.map(write, paths):
            pass
    partial_folder.rename(lookups.folder)


def _write_one(path: Path, *, filter_bytes: int, crowd: NDArray[np.uint32]) -> None:
    rng = np.random.default_rng(int(path.stem.removeprefix("part-")))
    count = ROW_GROUPS * _ROWS
    ids = 2 * rng.integers(_SMALLEST, _GREATEST // 2, count)
    ids[::_ROWS], ids[1::_ROWS] = _SMALLEST, _GREATEST
    table = pa.table({"id": ids, "value": rng.random(count)})
    pq.write_table(table, path, row_group_size=_ROWS, use_dictionary=False)
    # So low a rate that nothing smaller will do: the filters get the size that is allowed.
    bloomify(path, ["id"], fpp=1e-30, max_bytes=filter_bytes, jobs=1)
    _crowd(path, filter_bytes, np.roll(crowd, int(rng.integers(len(crowd))), axis=0))


def _crowd(path: Path, filter_bytes: int, crowd: NDArray[np.uint32]) -> None:
    """Add bits to every filter of a file."""
    with open_for_reading(path) as source:
        chunks = read_footer(source).chunks.values[:, 0]
    stops = chunks[:, ChunkField.BLOOM_FILTER_OFFSET] + chunks[:, ChunkField.BLOOM_FILTER_LENGTH]
    with path.open("r+b") as file:
        for stop in stops.tolist():
            file.seek(stop - filter_bytes)
            words = np.frombuffer(file.read(filter_bytes), "<u4").reshape(-1, 8)
            file.seek(stop - filter_bytes)
            file.write((words | crowd).tobytes())


if __name__ == "__main__":
    ensure()
