"""The file with the filter of all values of a column: header and bitset, and nothing else."""

# ruff: noqa: PTH118  paths are strings, as in the entries
from __future__ import annotations

import os
import uuid
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.errors import IndexProblem, MalformedFilter
from parquet_bloomwriter.index.format.part_writer import column_folder
from parquet_bloomwriter.index.log.entry import IndexFile
from parquet_bloomwriter.index.storage.base import (
    open_file,
    prefetch,
    relative_to_index,
    storage_of,
)
from parquet_bloomwriter.replace.copying import write_all
from parquet_bloomwriter.sbbf import Sbbf, block_index, check_block
from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK
from parquet_bloomwriter.sbbf.header import decode_header, encode_header, usual_header_length

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_bloomwriter.index.storage.base import IndexSource
    from parquet_bloomwriter.sbbf.header import FilterHeader
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
    with open_file(os.path.join(folder, file.path), file.size) as source:
        if len(hashes) <= _MAX_HASHES and source.fd < 0:
            _prefetch(source, hashes)
        header = _check(source, file)
        if len(hashes) > _MAX_HASHES:
            return np.ones(len(hashes), np.bool_)
        start, num_blocks = header.length, header.num_bytes // BYTES_PER_BLOCK
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
    with open_file(os.path.join(folder, file.path), file.size, whole=True) as source:
        _check(source, file)
        filter_ = Sbbf.from_bytes(source.read_at(0, source.size))
        if not filter_.blocks.any():
            raise broken(source, "the global filter is empty")
    return filter_


def write_filter(version_folder: str, column: str, bits: Sbbf, *, is_kept: bool) -> IndexFile:
    """Write a filter to a file of a new name.

    Args:
        version_folder: `v__=N`, absolute.
        column: The indexed column's name.
        bits: The filter.
        is_kept: Whether the version keeps the file. If so, it is brought to the disk; else it is a
            partial filter, which is removed before the version is committed.

    Raises:
        OSError: If the file cannot be written.
    """
    folder = column_folder(version_folder, column)
    kind = "global" if is_kept else "partial"
    path = os.path.join(folder, f"{kind}-{uuid.uuid4()}.bloom")
    header = encode_header(bits.num_bytes)
    with storage_of(path).new_file(path) as new:
        write_all(new.fd, header)
        write_all(new.fd, bits.blocks.data.cast("B"))
        size = new.finish(is_kept=is_kept)
    return IndexFile(path=relative_to_index(version_folder, path), size=size)


def header_of(source: Source) -> FilterHeader:
    """Read the header of a file, and check that the file holds one filter and nothing else.

    Raises:
        IndexProblem: If it does not.
        OSError: If the file cannot be read.
    """
    try:
        header = decode_header(source.read_at(0, min(_HEADER_BYTES, source.size)))
    except MalformedFilter as error:
        raise broken(source, error.problem) from error
    is_ours = header.unsupported is None and header.compression is not None
    if not is_ours or header.filter_length != source.size:
        raise broken(source, "it does not hold one Bloom filter")
    return header


def broken(source: Source, problem: str) -> IndexProblem:
    """Return the error for a file that is not as it was written."""
    return IndexProblem(problem, path=source.name, remedy="Refresh the index in full.")


def _prefetch(source: IndexSource, hashes: NDArray[np.uint64]) -> None:
    """Fetch the header of a filter on a store, and the blocks of hashes, at the same time.

    It has the usual header, or else its blocks are fetched again.
    """
    (start,) = usual_header_length(np.array([source.size])).tolist()
    num_blocks = (source.size - start) // BYTES_PER_BLOCK
    places = [start + BYTES_PER_BLOCK * block_index(h, num_blocks) for h in hashes.tolist()]
    ranges = [(0, min(_HEADER_BYTES, source.size))]
    prefetch(source, [*ranges, *((place, place + BYTES_PER_BLOCK) for place in places)])


def _check(source: Source, file: IndexFile) -> FilterHeader:
    """Read the header of a file, and check that it is the file that an entry names."""
    if source.size != file.size:
        raise broken(source, f"it has {source.size} bytes, and {file.size} were written")
    return header_of(source)
