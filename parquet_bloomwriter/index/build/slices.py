"""Write the slices of a column: `_slices-<uuid>.bfslice`, see `format.slice_file`.

The filters of a group are transposed in tiles: some of the filters, some of the blocks of each.
Memory is bounded by one tile of `_TILE_BYTES`, some megabytes of its slices, and the facts about
the filters in the parts, some 500 bytes for each filter.

    the group fits into one tile      read and written in one go
    up to 65,536 filters              all filters, some blocks of each: every slice is written
                                      whole, one behind the other
    more filters                      as many filters as fit, at least 65,536 (the last tile: what
                                      is left): 8 KiB of every slice, or more, are written

So pieces of filters of at least 4 KiB, or whole smaller filters, are read one after the other. Disk
space for the file is reserved before it is written.
"""

# ruff: noqa: PTH118, PTH120  paths are strings, as in the entries
from __future__ import annotations

import errno
import hashlib
import itertools
import os
import secrets
import uuid
import zlib
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from parquet_bloomwriter.errors import IndexProblem
from parquet_bloomwriter.index.entry import IndexFile, SliceFile
from parquet_bloomwriter.index.format import slice_file as layout
from parquet_bloomwriter.index.format.bit_matrix import transpose
from parquet_bloomwriter.index.format.part_reader import check_part, read_part
from parquet_bloomwriter.index.format.part_writer import WHOLE_FILE, column_folder
from parquet_bloomwriter.index.format.slice_file import Directory, Group, Section, SourcePart
from parquet_bloomwriter.index.layout import relative_to_folder, relative_to_index
from parquet_bloomwriter.index.query.column_filters import gather_filters
from parquet_bloomwriter.index.storage.base import (
    open_file,
    state_of,
    storage_of,
)
from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK
from parquet_bloomwriter.sbbf.header import encode_header, usual_header_length

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from parquet_bloomwriter.index.format.manifest import FileTable
    from parquet_bloomwriter.index.query.column_filters import ColumnFilters
    from parquet_bloomwriter.index.storage.base import IndexSource

_TILE_BYTES = 256 << 20
_TILE_FILTERS = 1 << 16
"""Number of filters in a tile, unless the group has fewer: 8 KiB of each slice."""

_TURNED_BYTES = 16 << 20
"""Size of the slices that are in memory at the same time, bytes."""

_SLAB_BYTES = 4 << 20
"""Approximate number of bytes that are read at once."""

_ALIGNED = 64
"""The number of filters in a tile is a multiple of this number."""

_BITS = 8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SlicePlan:
    """The groups of filters of one column that get slices."""

    filters: ColumnFilters
    files: FileTable
    """The data files, in the order of their ids."""

    row_groups: NDArray[np.int32]
    """Row group of each filter, shape (filters,)."""

    groups: tuple[GroupPlan, ...]
    has_slices: NDArray[np.bool_]
    """Whether all filters of a data file are in groups, shape (files,)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupPlan:
    """One group of filters of the same type and size."""

    column_type: str
    num_blocks: int
    rows: NDArray[np.int64]
    """Ordinals of the group's filters, ascending."""


def plan_slices(folder: str, parts: Sequence[IndexFile], files: FileTable) -> SlicePlan | None:
    """Find the groups of a column that are large enough for slices.

    Args:
        folder: The index's folder, absolute.
        parts: Parts of the column.
        files: The data files that the version knows.

    Returns:
        The plan; None if no group is large enough.

    Raises:
        BloomwriterError: If a part is not as it was written.
        OSError: If a part cannot be read.
    """
    found = [read_part(os.path.join(folder, part.path), part) for part in parts]
    if sum(len(part.file_ids) for part in found) < layout.MIN_FILTERS:
        return None
    files = files.by_id()
    filters = gather_filters(found, files)
    known = [np.isin(part.file_ids, files.ids) for part in found]
    row_groups = [part.row_groups[rows] for part, rows in zip(found, known, strict=True)]
    return _plan(filters, files, np.concatenate([np.zeros(0, np.int32), *row_groups]))


def write_slices(version_folder: str, column: str, plan: SlicePlan, *, stop: int) -> SliceFile:
    """Write the slices of a column.

    Args:
        version_folder: `v__=N`, absolute.
        column: The indexed column's name.
        plan: What to write.
        stop: All files that the version knows have ids below this.

    Raises:
        IndexProblem: If a filter has another header than it should.
        BloomwriterError, OSError: If a part cannot be read, or the slices not be written; nothing
            is left of them.
    """
    folder = column_folder(version_folder, column)
    path = os.path.join(folder, f"_slices-{uuid.uuid4()}.bfslice")
    with _OpenParts(plan.filters) as parts, storage_of(path).new_file(path) as new:
        base = os.path.dirname(version_folder)
        size, digest = _Writer(new.fd, plan, parts, base, stop).write()
        new.finish()
    file = IndexFile(path=relative_to_index(version_folder, path), size=size)
    return SliceFile(file=file, digest=digest)


def _plan(
    filters: ColumnFilters, files: FileTable, row_groups: NDArray[np.int32]
) -> SlicePlan | None:
    """Put filters into groups, by type and size; files with a filter in no group are left out.

    Filters without values have size 0. To leave a file out makes groups smaller, perhaps too small.

    Raises:
        IndexProblem: If a filter has values, but no block.
    """
    headers = usual_header_length(filters.num_bytes)
    sizes = np.where(filters.has_values, (filters.num_bytes - headers) // BYTES_PER_BLOCK, 0)
    if (sizes[filters.has_values] < 1).any():
        raise filters.malformed(int(np.argmax(filters.has_values & (sizes < 1))))
    kinds, kind_of = np.unique(
        np.stack([filters.type_of.astype(np.int64), sizes]), axis=1, return_inverse=True
    )
    kind_of = kind_of.reshape(-1)
    has_slices, is_used = filters.count > 0, np.ones(kinds.shape[1], np.bool_)
    while True:
        counts = np.bincount(kind_of[has_slices[filters.owners]], minlength=len(is_used))
        is_small = is_used & (kinds[1] > 0) & (counts < layout.MIN_FILTERS)
        if not is_small.any():
            break
        is_used &= ~is_small
        has_slices[filters.owners[~is_used[kind_of]]] = False
    if not (is_used & (kinds[1] > 0)).any():
        return None
    may = has_slices[filters.owners]
    groups = tuple(
        GroupPlan(
            column_type=filters.types[int(kinds[0, kind])],
            num_blocks=int(kinds[1, kind]),
            rows=np.flatnonzero(may & (kind_of == kind)),
        )
        for kind in np.flatnonzero(is_used & (counts > 0)).tolist()
    )
    return SlicePlan(
        filters=filters,
        files=files,
        row_groups=row_groups,
        groups=groups,
        has_slices=has_slices,
    )


class _Writer:
    """Writes one file of slices."""

    def __init__(self, fd: int, plan: SlicePlan, parts: _OpenParts, base: str, stop: int) -> None:
        self._fd = fd
        self._plan = plan
        self._parts_read = parts
        self._base = base
        self._stop = stop
        self._id = secrets.token_bytes(layout.ID_BYTES)
        self._at = layout.HEADER_BYTES

    def write(self) -> tuple[int, str]:
        """Write the whole file, and return its size in bytes and the directory's digest."""
        plan = self._plan
        starts, num_pages = self._places()
        _take_room(self._fd, self._at)
        self._write_at(0, (layout.MAGIC + self._id).ljust(layout.HEADER_BYTES, b"\0"))
        owners = [plan.filters.owners[group.rows].astype(np.int32) for group in plan.groups]
        row_groups = [_row_groups(plan.row_groups[group.rows]) for group in plan.groups]
        groups = []
        for number, group in enumerate(plan.groups):
            one = Group(
                column_type=group.column_type,
                num_blocks=group.num_blocks,
                num_filters=len(group.rows),
                start=starts[number],
                first_page=num_pages[number],
                owners=self._array(owners[number], "<i4"),
                row_groups=self._optional(row_groups[number]),
            )
            if group.num_blocks:
                _GroupWriter(self._fd, one, group.rows, self._parts_read, self._id).write()
            groups.append(one)
        directory = Directory(
            id=self._id,
            stop=self._stop,
            units=layout.units_digest(self._stop, plan.files.ids, owners, row_groups),
            num_files=len(plan.files.ids),
            parts=self._parts(),
            groups=tuple(groups),
            file_ids=self._array(plan.files.ids, "<i8"),
            without_slices=self._array(np.flatnonzero(~plan.has_slices), "<i4"),
            records=self._records(),
        )
        data = directory.to_json()
        self._append(data + len(data).to_bytes(8, "little") + layout.MAGIC)
        return self._at, hashlib.sha256(data).hexdigest()

    def _places(self) -> tuple[list[int], list[int]]:
        """Return the position of each group's matrix, and the number of its first page."""
        starts, firsts, num_pages = [], [], 0
        for group in self._plan.groups:
            starts.append(self._at)
            firsts.append(num_pages)
            width = layout.row_bytes(len(group.rows))
            per_page = layout.rows_per_page(width)
            pages = group.num_blocks * layout.ROWS_PER_BLOCK // per_page
            num_pages += pages
            self._at += pages * (per_page * width + layout.CHECK_BYTES)
        return starts, firsts

    def _parts(self) -> tuple[SourcePart, ...]:
        filters = self._plan.filters
        others = filters.part_of[~self._plan.has_slices[filters.owners]]
        num_others = np.bincount(others, minlength=len(filters.paths))
        return tuple(
            SourcePart(
                path=relative_to_folder(self._base, path),
                size=size,
                has_others=count > 0,
            )
            for path, size, count in zip(
                filters.paths, filters.sizes.tolist(), num_others.tolist(), strict=True
            )
        )

    def _records(self) -> Section:
        """Write the records of all data files, and return the section with their positions."""
        files, places = self._plan.files, []
        for number, first in enumerate(range(0, len(files.ids), layout.RECORD_FILES)):
            which = slice(first, first + layout.RECORD_FILES)
            places.append(self._at)
            seed = layout.record_seed(self._id, number)
            names, sizes = files.paths[which].to_pylist(), files.sizes[which]
            self._append(layout.record_of(names, sizes, files.modified_ms[which], seed))
        places.append(self._at)
        return self._array(np.array(places), "<i8")

    def _array(self, values: NDArray[np.integer], dtype: str) -> Section:
        data = values.astype(dtype).tobytes()
        start = self._at
        self._append(data)
        return Section(start=start, length=len(data), crc=zlib.crc32(data))

    def _optional(self, values: NDArray[np.int32] | None) -> Section | None:
        return None if values is None else self._array(values, "<i4")

    def _append(self, data: bytes) -> None:
        self._write_at(self._at, data)
        self._at += len(data)

    def _write_at(self, start: int, data: bytes) -> None:
        _pwrite(self._fd, data, start)


class _OpenParts:
    """The parts that filters are read from: of those on a disk, one is open at a time.

    Those on a store are fetched whole, once, and stay on this machine until all is done. All bytes
    of a part are compared with their checksum when it is opened first.
    """

    def __init__(self, filters: ColumnFilters) -> None:
        self.filters = filters
        self._stack = ExitStack()
        self._open: dict[int, IndexSource] = {}
        self._are_checked: set[int] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def source(self, part: int) -> IndexSource:
        """Return a part, opened.

        Raises:
            IndexProblem: If the part is not as it was written, or was changed after it was first
                opened.
            OSError: If the part cannot be opened.
        """
        found = self._open.get(part)
        if found is not None:
            return found
        filters = self.filters
        path = filters.paths[part]
        if not storage_of(path).is_remote:
            self._stack.close()
            self._open.clear()
        source = self._stack.enter_context(open_file(path, int(filters.sizes[part]), whole=True))
        if state_of(source) != filters.states[part]:
            problem = "a part of the index was changed after it was opened"
            raise IndexProblem(problem, path=path)
        if part not in self._are_checked:
            check_part(source, filters.crcs[part])
            self._are_checked.add(part)
        self._open[part] = source
        return source


class _GroupWriter:
    """Writes the bit matrix of one group of filters."""

    def __init__(
        self,
        fd: int,
        group: Group,
        rows: NDArray[np.int64],
        parts: _OpenParts,
        file_id: bytes,
    ) -> None:
        self._fd = fd
        self._group = group
        self._rows = rows
        self._parts = parts
        self._filters = parts.filters
        self._id = file_id
        self._header = encode_header(group.num_blocks * BYTES_PER_BLOCK)

    def write(self) -> None:
        num_filters, num_blocks = len(self._rows), self._group.num_blocks
        per_tile = max(_TILE_FILTERS, _TILE_BYTES // (num_blocks * BYTES_PER_BLOCK))
        per_tile = min(_aligned(num_filters), per_tile // _ALIGNED * _ALIGNED)
        if self._group.rows_per_page > 1:  # pages are written whole
            per_tile = _aligned(num_filters)
        blocks = max(1, min(num_blocks, _TILE_BYTES // (per_tile * BYTES_PER_BLOCK)))
        for first in range(0, num_blocks, blocks):
            stop = min(first + blocks, num_blocks)
            checks: list[int] = []
            for start in range(0, num_filters, per_tile):
                some = self._rows[start : start + per_tile]
                tile = np.zeros((_aligned(len(some)), (stop - first) * BYTES_PER_BLOCK), np.uint8)
                self._fill(tile, some, first)
                self._write_tile(tile, first, start, checks)

    def _fill(self, tile: NDArray[np.uint8], rows: NDArray[np.int64], first: int) -> None:
        """Read blocks of filters from parts into a tile, from block `first` of each filter on."""
        filters = self._filters
        start, width = first * BYTES_PER_BLOCK, tile.shape[1]
        is_whole = width == self._group.num_blocks * BYTES_PER_BLOCK
        limit = _SLAB_BYTES if is_whole else 0
        for run in _runs(filters, rows, limit):
            source = self._parts.source(int(filters.part_of[rows[run.start]]))
            tile[run] = self._read(source, rows[run], start, width)

    def _read(
        self, source: IndexSource, rows: NDArray[np.int64], start: int, width: int
    ) -> NDArray[np.uint8]:
        """Read pieces of the bitsets of filters that lie at equal distances in one part."""
        filters, header = self._filters, self._header
        begin, end = int(filters.starts[rows[0]]), int(filters.starts[rows[-1]])
        if start:  # the header was checked with the first blocks
            begin += len(header) + start
            return np.frombuffer(source.read_at(begin, begin + width), np.uint8).reshape(1, width)
        length = len(header) + width
        data = np.frombuffer(source.read_at(begin, end + length), np.uint8)
        distance = (end - begin) // max(1, len(rows) - 1)
        whole = np.lib.stride_tricks.as_strided(data, (len(rows), length), (distance, 1))
        same = (whole[:, : len(header)] == np.frombuffer(header, np.uint8)).all(axis=1)
        if not same.all():
            raise filters.malformed(int(rows[np.argmin(same)]))
        return whole[:, len(header) :]

    def _write_tile(
        self, tile: NDArray[np.uint8], first: int, start: int, checks: list[int]
    ) -> None:
        """Write the slices of a tile.

        Args:
            tile: Shape (filters, bytes).
            first: Number of its first block.
            start: Ordinal in the group of its first filter.
            checks: The CRC-32 of each page of these blocks so far; changed.
        """
        group = self._group
        width = len(tile) // _BITS
        is_first, is_last = start == 0, start + len(tile) >= group.num_filters
        step = max(BYTES_PER_BLOCK, _TURNED_BYTES // (width * _BITS) // BYTES_PER_BLOCK * 32)
        per_page = group.rows_per_page
        for left in range(0, tile.shape[1], step):
            some = np.ascontiguousarray(tile[:, left : left + step])
            slices = np.empty((some.shape[1] * _BITS, width), np.uint8)
            transpose(some, slices)
            pieces = slices.reshape(-1, per_page * width)
            row = first * layout.ROWS_PER_BLOCK + left * _BITS
            page = row // per_page
            if is_first:
                numbers = range(group.first_page + page, group.first_page + page + len(pieces))
                checks += [layout.page_seed(self._id, number) for number in numbers]
            done = left * _BITS // per_page
            for number, piece in enumerate(pieces):
                checks[done + number] = zlib.crc32(piece.data, checks[done + number])
            some_checks = checks[done : done + len(pieces)] if is_last else None
            self._write_pieces(pieces, page, start // _BITS, some_checks)

    def _write_pieces(
        self, pieces: NDArray[np.uint8], page: int, offset: int, checks: list[int] | None
    ) -> None:
        """Write one piece of each of some pages; after a page's last piece, its checksum."""
        stride = self._group.page_bytes
        begin = self._group.start + page * stride + offset
        if checks is not None:
            ends = np.array(checks, "<u8").view(np.uint8).reshape(-1, layout.CHECK_BYTES)
            pieces = np.concatenate([pieces, ends], axis=1)
        if pieces.shape[1] == stride:
            _pwrite(self._fd, pieces.data.cast("B"), begin)
            return
        for number, piece in enumerate(pieces):
            _pwrite(self._fd, piece.data, begin + number * stride)


def _runs(filters: ColumnFilters, rows: NDArray[np.int64], limit: int) -> Iterator[slice]:
    """Cut rows into runs of filters at equal distances in one part, of `limit` bytes or one row."""
    if not len(rows):
        return
    starts, lengths = filters.starts[rows], filters.num_bytes[rows]
    gaps = np.diff(starts)
    is_close = (gaps >= lengths[:-1]) & (gaps <= 2 * lengths[:-1])
    is_close &= np.diff(filters.part_of[rows]) == 0
    is_close[1:] &= (gaps[1:] == gaps[:-1]) | ~is_close[:-1]
    bounds = [0, *(np.flatnonzero(~is_close) + 1).tolist(), len(rows)]
    step = max(1, limit // (2 * int(lengths[0])))
    for first, last in itertools.pairwise(bounds):
        for start in range(first, last, step):
            yield slice(start, min(start + step, last))


def _row_groups(row_groups: NDArray[np.int32]) -> NDArray[np.int32] | None:
    return None if (row_groups == WHOLE_FILE).all() else row_groups


def _aligned(num_filters: int) -> int:
    return -(-num_filters // _ALIGNED) * _ALIGNED


def _take_room(fd: int, num_bytes: int) -> None:
    """Reserve disk space for a whole file, in one piece if possible.

    Raises:
        OSError: If there is not so much room.
    """
    if not hasattr(os, "posix_fallocate"):
        return
    try:
        os.posix_fallocate(fd, 0, num_bytes)
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
            raise


def _pwrite(fd: int, data: bytes | memoryview, start: int) -> None:
    """Write all bytes at a position.

    Raises:
        OSError: If the disk is full, or writing fails.
    """
    view = memoryview(data)
    while view:
        if hasattr(os, "pwrite"):
            written = os.pwrite(fd, view, start)
        else:
            os.lseek(fd, start, os.SEEK_SET)
            written = os.write(fd, view)
        view, start = view[written:], start + written
