"""The file with the filter of all values of a column.

    _global-<uuid>.bloom    | header | bitset | checksums |     see `block_checks`
    partial-<uuid>.bloom    | header | bitset |                 of some files, until it is joined

The header is the usual one, so the size of the bitset follows from the size of the file, and a
lookup does not read the header. The log's entry has the CRC-32 of the whole file: of a small file
on a store, header and bitset are fetched, and the checksums computed from them must agree with the
CRC-32. Files of older versions of this package have neither checksums nor CRC-32; in these, a
lookup reads the header.
"""

# ruff: noqa: PTH118  paths are strings, as in the entries
from __future__ import annotations

import os
import uuid
import zlib
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parquet_bloomwriter.caches import register
from parquet_bloomwriter.errors import IndexProblem, MalformedFilter
from parquet_bloomwriter.index.entry import IndexFile, Tail, damaged
from parquet_bloomwriter.index.format.block_checks import (
    CheckedGroups,
    bundles_of,
    checks_of_bundle,
    seed_of,
)
from parquet_bloomwriter.index.format.checked_bits import look_up, ranges_of
from parquet_bloomwriter.index.format.parquet_io import WrongBytes, check_whole
from parquet_bloomwriter.index.format.part_writer import column_folder
from parquet_bloomwriter.index.layout import relative_to_index
from parquet_bloomwriter.index.storage.base import (
    open_file,
    prefetch,
    storage_of,
)
from parquet_bloomwriter.kernels.layout import CHECK_BYTES
from parquet_bloomwriter.probing.batch_reader import BatchReader
from parquet_bloomwriter.replace.copying import write_all
from parquet_bloomwriter.sbbf import Sbbf, block_index, check_block
from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK
from parquet_bloomwriter.sbbf.header import decode_header, encode_header, usual_header_length

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from parquet_bloomwriter.index.storage.base import IndexSource
    from parquet_bloomwriter.sbbf.header import FilterHeader
    from parquet_bloomwriter.source import Source

_HEADER_BYTES = 64
"""Upper bound for the size of a filter's header, bytes."""

_MAX_HASHES = 4096
"""Maximum number of hashes that are looked up one by one; for more, that is not worth it."""


def might_hold(folder: str, file: IndexFile, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return for each hash whether the filter might contain it; only a few blocks are read.

    Raises:
        IndexProblem: If the file is not as it was written.
        OSError: If the file cannot be read.
    """
    layout = _layout_of(file)
    tail = layout and layout.tail
    with open_file(os.path.join(folder, file.path), file.size, tail=tail) as source:
        if file.crc is None:
            return _might_hold_unchecked(source, file, hashes)
        if source.size != file.size:
            raise _of_other_size(source, file)
        if layout is None:
            raise damaged(source.name, "it does not hold one Bloom filter and its checksums")
        groups = layout.groups
        if len(hashes) > _MAX_HASHES:
            return np.ones(len(hashes), np.bool_)
        which = np.zeros(len(hashes), np.int64)
        if source.fd < 0:
            _, ranges = ranges_of(groups, which, hashes)
            prefetch(source, map(tuple, ranges.tolist()))
        found = np.empty(len(hashes), np.bool_)
        look_up(groups, which, hashes, np.arange(len(hashes)), found, BatchReader([source]))
        return found


class _Layout(NamedTuple):
    groups: CheckedGroups
    """The filter as a group that its checksums cover."""

    tail: Tail
    """The checksums at the end of the file."""


@lru_cache(maxsize=256)
def _layout_of(file: IndexFile) -> _Layout | None:
    """Return the layout of a file by its size; None: no filter with checksums has this size."""
    if file.crc is None:
        return None
    # The number of blocks is a power of two.
    num_blocks = 1 << max(0, (file.size // (BYTES_PER_BLOCK + CHECK_BYTES)).bit_length() - 1)
    header = encode_header(num_blocks * BYTES_PER_BLOCK)
    (bundle,) = bundles_of(np.array([len(header) + num_blocks * BYTES_PER_BLOCK]))
    checks = len(header) + num_blocks * BYTES_PER_BLOCK
    if checks + CHECK_BYTES * bundle.num_checks != file.size:
        return None
    starts = np.array([len(header)])
    seed = seed_of(file.path)

    def checks_of_filter(data: bytes) -> bytes:
        return checks_of_bundle(bundle, [np.frombuffer(data, np.uint8)[len(header) :]], seed)

    return _Layout(
        CheckedGroups.of(bundle, starts=starts, checks=checks, seed=seed, row_group=0),
        Tail(checks, checks_of_filter, file.crc),
    )


register(_layout_of.cache_clear)


def _might_hold_unchecked(
    source: IndexSource, file: IndexFile, hashes: NDArray[np.uint64]
) -> NDArray[np.bool_]:
    """Look up hashes in a filter's file of an older version, which has no checksums."""
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
    with open_filter(folder, file) as (source, header):
        filter_ = Sbbf.from_bytes(source.read_at(0, header.filter_length))
        if not filter_.blocks.any():
            raise damaged(source.name, "the global filter is empty")
    return filter_


@contextmanager
def open_filter(folder: str, file: IndexFile) -> Iterator[tuple[IndexSource, FilterHeader]]:
    """Open a file to read the whole filter, after all its bytes were checked.

    Raises:
        IndexProblem: If the file is not as it was written.
        OSError: If the file cannot be read.
    """
    path, layout = os.path.join(folder, file.path), _layout_of(file)
    with open_file(path, file.size, whole=True, tail=layout and layout.tail) as source:
        header = _check(source, file)
        try:
            check_whole(source, file.crc)
        except WrongBytes as error:
            raise damaged(source.name, str(error)) from error
        yield source, header


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
    kind = "_global" if is_kept else "partial"
    path = os.path.join(folder, f"{kind}-{uuid.uuid4()}.bloom")
    header, blocks = encode_header(bits.num_bytes), bits.blocks.data.cast("B")
    pieces: list[bytes | memoryview] = [header, blocks]
    crc = 0
    if is_kept:
        (bundle,) = bundles_of(np.array([len(header) + len(blocks)]))
        pieces.append(checks_of_bundle(bundle, [np.frombuffer(blocks, np.uint8)], seed_of(path)))
    with storage_of(path).new_file(path) as new:
        for piece in pieces:
            write_all(new.fd, piece)
            crc = zlib.crc32(piece, crc)
        size = new.finish(is_kept=is_kept)
    return IndexFile(path=relative_to_index(version_folder, path), size=size, crc=crc)


def _prefetch(source: IndexSource, hashes: NDArray[np.uint64]) -> None:
    """Fetch the header of a filter on a store and the blocks of the hashes, at the same time.

    It has the usual header, or else its blocks are fetched again.
    """
    (start,) = usual_header_length(np.array([source.size])).tolist()
    num_blocks = (source.size - start) // BYTES_PER_BLOCK
    places = [start + BYTES_PER_BLOCK * block_index(h, num_blocks) for h in hashes.tolist()]
    ranges = [(0, min(_HEADER_BYTES, source.size))]
    prefetch(source, [*ranges, *((place, place + BYTES_PER_BLOCK) for place in places)])


def _check(source: Source, file: IndexFile) -> FilterHeader:
    """Read the header of a file, and check that it is the file that an entry names.

    Raises:
        IndexProblem: If it is not.
        OSError: If the file cannot be read.
    """
    if source.size != file.size:
        raise _of_other_size(source, file)
    try:
        header = decode_header(source.read_at(0, min(_HEADER_BYTES, source.size)))
    except MalformedFilter as error:
        raise damaged(source.name, error.problem) from error
    is_ours = header.unsupported is None and header.compression is not None
    num_more = source.size - header.filter_length  # checksums, whose number `crc` vouches for
    if not is_ours or num_more < 0 or (num_more and file.crc is None):
        raise damaged(source.name, "it does not hold one Bloom filter")
    return header


def _of_other_size(source: Source, file: IndexFile) -> IndexProblem:
    return damaged(source.name, f"it has {source.size} bytes, and {file.size} were written")
