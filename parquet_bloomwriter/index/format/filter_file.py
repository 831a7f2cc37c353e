"""The file with the filter of all values of a column: header and bitset, and nothing else."""

# ruff: noqa: PTH118  paths are strings, as in the entries
from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.errors import IndexProblem, MalformedFilter
from parquet_bloomwriter.sbbf import Sbbf, block_index, check_block
from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK
from parquet_bloomwriter.sbbf.header import decode_header
from parquet_bloomwriter.source.local import open_local

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_bloomwriter.index.log.entry import IndexFile
    from parquet_bloomwriter.source import Source

_HEADER_BYTES = 64
"""At least as many as a header has."""

_MAX_HASHES = 4096
"""More are not worth looking up one by one."""


def might_hold(folder: str, file: IndexFile, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Say of each hash whether the filter might contain it; at most one block is read for each.

    Raises:
        IndexProblem: If the file is not as it was written.
        OSError: If the file cannot be read.
    """
    with open_local(os.path.join(folder, file.path)) as source:
        start, num_blocks = _check(source, file)
        if len(hashes) > _MAX_HASHES:
            return np.ones(len(hashes), np.bool_)
        places = (start + BYTES_PER_BLOCK * block_index(h, num_blocks) for h in hashes.tolist())
        blocks = (source.read_at(place, place + BYTES_PER_BLOCK) for place in places)
        found = map(check_block, blocks, hashes.tolist())
        return np.fromiter(found, np.bool_, len(hashes))


def read_global(folder: str, file: IndexFile) -> Sbbf:
    """Read the whole filter.

    Raises:
        IndexProblem: If the file is not as it was written.
        OSError: If the file cannot be read.
    """
    path = os.path.join(folder, file.path)
    with open_local(path) as source:
        _check(source, file)
        filter_ = Sbbf.from_bytes(source.read_at(0, source.size))
    if not filter_.blocks.any():
        raise IndexProblem("the global filter is empty", path=path)
    return filter_


def _check(source: Source, file: IndexFile) -> tuple[int, int]:
    """Return the position of the bitset, bytes, and the number of its blocks.

    Raises:
        IndexProblem: If the file is not as it was written.
    """
    if source.size != file.size:
        problem = f"it has {source.size} bytes, and {file.size} were written"
        raise IndexProblem(problem, path=source.name)
    try:
        header = decode_header(source.read_at(0, min(_HEADER_BYTES, source.size)))
    except MalformedFilter as error:
        raise IndexProblem(error.problem, path=source.name) from error
    is_whole = header.length + header.num_bytes == source.size
    if not is_whole or header.unsupported is not None or header.compression is None:
        raise IndexProblem("it does not hold one Bloom filter", path=source.name)
    return header.length, header.num_bytes // BYTES_PER_BLOCK
