"""Look up hashes in many filters of one column: which filters might contain any of the hashes?

Hashes that the filter of all values excludes are not looked up in the filters that it covers. For a
few hashes, one block of each filter is read for each of them. For many hashes, filters are read
whole, neighbours together. No answer comes from bits that differ from their checksums
(`format.checked_bits`).

Parts of older versions of this package have no checksums. The blocks of their filters are looked at
by a kernel, and the header of each filter is checked when the filter is first read, so that an
answer never comes from bytes that are no filter.

Parts are opened for each call and closed at its end: no more than `_MAX_OPEN` are open at once, and
a part that is gone or was changed is noticed.
"""

# ruff: noqa: PTH118  paths are strings, as in the entries
from __future__ import annotations

import itertools
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter import kernels
from parquet_bloomwriter.errors import IndexProblem
from parquet_bloomwriter.index.format.checked_bits import (
    look_up,
    ranges_of,
    slabs,
    whole_filters,
)
from parquet_bloomwriter.index.format.filter_file import might_hold
from parquet_bloomwriter.index.format.part_reader import read_part
from parquet_bloomwriter.index.query.column_filters import gather_filters
from parquet_bloomwriter.index.storage.base import open_file, prefetch, state_of, storage_of
from parquet_bloomwriter.kernels.layout import MIGHT_BE_IN, ODD, PIECE_BYTES, TASK_WORDS
from parquet_bloomwriter.parallel import default_jobs
from parquet_bloomwriter.probing.batch_reader import BatchReader
from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK, mask
from parquet_bloomwriter.sbbf.header import usual_header_at, usual_header_length

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    from parquet_bloomwriter.index.entry import IndexedColumn, IndexFile
    from parquet_bloomwriter.index.format.manifest import FileTable
    from parquet_bloomwriter.index.query.column_filters import ColumnFilters
    from parquet_bloomwriter.index.storage.base import IndexSource

    _LookUp: TypeAlias = Callable[
        [ColumnFilters, NDArray[np.int64], NDArray[np.uint64], dict[int, IndexSource]],
        NDArray[np.bool_],
    ]

_FEW_FILES = 1000
"""Number of a table's files up to which parts on a disk are read in the time that threads take to
start."""

_FEW_FILTERS = 16
"""Number of filters up to which reading them costs no more than asking the global filter first."""

_MAX_OPEN = 128
_REMOTE_THREADS = 16
_AT_ONCE = 7
"""Number of hashes up to which a lookup on a store does not ask first whether the filter of all
values excludes them."""

_MANY = 8
"""Number of hashes from which reading whole filters may be faster."""

_WORTH_BYTES = 4096
"""Number of bytes that are read in the time that one more request takes."""

_CHUNK_GROUPS = 1 << 9
"""Number of groups, of 16 filters each, that a thread looks up at once."""

_SLAB_BYTES = 4 << 20
"""Approximate number of bytes that are read at once."""

_FEW_SLABS = 4
"""Number of runs of filters on a disk up to which reading takes no longer than starting threads."""

_GAP_BYTES = 64 * 1024
"""Largest gap between two filters that are read together, bytes."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Covering:
    """The filter of all values of a column, and the filters of files that it covers."""

    folder: str
    """Absolute path of the index's folder."""

    file: IndexFile
    is_covered: NDArray[np.bool_]
    """Whether this filter has all values of each filter of the column, shape (n,)."""


class ColumnProbe:
    """Looks hashes up in the filters of one column. Safe in threads.

    Attributes:
        filters: The n filters.
    """

    def __init__(
        self,
        filters: ColumnFilters,
        covering: Covering | None = None,
        *,
        few: int | None = None,
    ) -> None:
        """Keep the filters, whose headers have not been checked yet.

        Args:
            filters: The n filters.
            covering: The filter of all values, which is looked in first.
            few: Number of filters up to which it is not; by default, as many as are read as fast.
        """
        self.filters = filters
        self._covering = covering
        self._few = _FEW_FILTERS if few is None else few
        # Shape (n,): whether a header was found good. A thread that does not yet see that another
        # thread has set an element checks the header again.
        self._is_checked = np.zeros(len(filters.starts), np.bool_)

    @property
    def num_bytes_held(self) -> int:
        """Size in memory, bytes."""
        covered = 0 if self._covering is None else self._covering.is_covered.nbytes
        return self.filters.num_bytes_held + self._is_checked.nbytes + covered

    def might_contain(
        self, rows: NDArray[np.int64], hashes: NDArray[np.uint64]
    ) -> NDArray[np.bool_]:
        """Return for each filter whether it might contain any of the hashes.

        Args:
            rows: The filters to look in, ascending, shape (k,).
            hashes: Shape (h,), each once.

        Returns:
            Shape (k,).

        Raises:
            IndexProblem: If a filter has another header than it should, or lies outside its part.
            BloomwriterError, OSError: If a part cannot be read.
        """
        covering = self._covering
        if covering is None or len(rows) <= self._few:
            return self._might_contain(rows, hashes)
        if storage_of(covering.folder).is_remote and len(hashes) <= _AT_ONCE:
            return self._with_covering(covering, rows, hashes)
        held = might_hold(covering.folder, covering.file, hashes)
        if held.all():
            return self._might_contain(rows, hashes)
        is_covered = covering.is_covered[rows]
        found = np.empty(len(rows), np.bool_)
        found[is_covered] = self._might_contain(rows[is_covered], hashes[held])
        found[~is_covered] = self._might_contain(rows[~is_covered], hashes)
        return found

    def _with_covering(
        self, covering: Covering, rows: NDArray[np.int64], hashes: NDArray[np.uint64]
    ) -> NDArray[np.bool_]:
        """Ask the filter of all values and the other filters on a store at the same time."""
        found = np.zeros(len(rows), np.bool_)
        with ThreadPoolExecutor(1 + len(hashes)) as pool:
            held = pool.submit(might_hold, covering.folder, covering.file, hashes)
            each = pool.map(
                lambda number: self._might_contain(rows, hashes[number : number + 1]),
                range(len(hashes)),
            )
            for number, one in enumerate(each):
                found |= one if held.result()[number] else one & ~covering.is_covered[rows]
        return found

    def _might_contain(
        self, rows: NDArray[np.int64], hashes: NDArray[np.uint64]
    ) -> NDArray[np.bool_]:
        """Look up hashes in the filters alone, without the filter of all values."""
        filters = self.filters
        found = np.zeros(len(rows), np.bool_)
        places = np.flatnonzero(filters.has_values[rows]) if len(hashes) else rows[:0]
        is_checked = filters.member_of[rows[places]] >= 0
        ways: list[tuple[_LookUp, _LookUp, NDArray[np.int64]]]
        if is_checked.all():
            ways = [(_checked_blocks, _checked_whole, places)]
        else:
            ways = [
                (_checked_blocks, _checked_whole, places[is_checked]),
                (self._blocks, self._whole, places[~is_checked]),
            ]
        for by_blocks, as_a_whole, some in ways:
            parted = [(by_blocks, some)]
            if len(hashes) >= _MANY:
                is_small = filters.num_bytes[rows[some]] <= len(hashes) * _WORTH_BYTES
                parted = [(by_blocks, some[~is_small]), (as_a_whole, some[is_small])]
            for look_up_in, part in parted:
                for wave in _waves(filters, rows, part):
                    with ExitStack() as stack:
                        sources = _open_parts(stack, filters, rows[wave])
                        found[wave] = look_up_in(filters, rows[wave], hashes, sources)
        return found

    # Filters without checksums, of older versions of this package.

    def _blocks(
        self,
        filters: ColumnFilters,
        rows: NDArray[np.int64],
        hashes: NDArray[np.uint64],
        sources: dict[int, IndexSource],
    ) -> NDArray[np.bool_]:
        """Look up hashes by reading one block of each filter for each hash."""
        reader = _reader_of(filters, sources)
        if not reader.are_local:
            starts, blocks = filters.starts[rows], [_blocks_of(filters, rows, h) for h in hashes]
            begins = np.concatenate([starts, *blocks])
            parts = np.tile(filters.part_of[rows].astype(np.int64), 1 + len(hashes))
            ends = np.minimum(begins + PIECE_BYTES, filters.sizes[parts])
            ranges = np.unique(np.stack([parts, begins, ends], axis=1), axis=0)
            _prefetch(sources, ranges[:, 0], ranges[:, 1:])
        found = np.zeros(len(rows), np.bool_)
        for h in hashes:
            pending = np.flatnonzero(~found)
            found[pending] = self._look_up(rows[pending], h, reader)
        return found

    def _look_up(
        self, rows: NDArray[np.int64], h: np.uint64, reader: BatchReader
    ) -> NDArray[np.bool_]:
        """Look up a hash with the kernel; in filters that the kernel cannot read, without it."""
        filters = self.filters
        starts, lengths = filters.starts[rows], filters.num_bytes[rows]
        parts = filters.part_of[rows].astype(np.int64)
        headers = usual_header_length(lengths)
        tasks = np.empty((len(rows), TASK_WORDS), np.int64)
        tasks[:, 1], tasks[:, 2], tasks[:, 3] = starts, lengths, filters.sizes[parts]
        tasks[:, 4] = h.view(np.int64)
        tasks[:, 5] = starts + headers
        tasks[:, 6] = (lengths - headers) * self._is_checked[rows]  # 0: read the header first
        if not reader.probe(parts, tasks):
            return _without_kernel(filters, rows, h, reader)
        might: NDArray[np.bool_] = tasks[:, 7] & ODD == MIGHT_BE_IN
        odd = tasks[:, 7] & ODD == ODD
        if odd.any():
            # A read of a file's own source is completed if it was interrupted, or says what failed.
            might[odd] = _without_kernel(filters, rows[odd], h, reader)
        self._is_checked[rows] = True
        return might

    @staticmethod
    def _whole(
        filters: ColumnFilters,
        rows: NDArray[np.int64],
        hashes: NDArray[np.uint64],
        sources: dict[int, IndexSource],
    ) -> NDArray[np.bool_]:
        """Look up hashes by reading whole filters, neighbours together."""

        def look_up_in(slab: NDArray[np.int64]) -> list[bool]:
            bits = _bits_of_slab(filters, slab, sources[int(filters.part_of[slab[0]])])
            return [kernels.check(one, hashes, None) > 0 for one in bits]

        with ThreadPoolExecutor(jobs_in(filters.paths[0])) as pool:
            found = pool.map(look_up_in, _slabs(filters, rows))
            return np.array(list(itertools.chain.from_iterable(found)), np.bool_)


def open_probe(
    folder: str,
    column: IndexedColumn,
    parts: Sequence[IndexFile],
    files: FileTable,
    *,
    few: int | None = None,
) -> ColumnProbe:
    """Return the probe of a column, with the positions and sizes of the filters in its parts.

    Args:
        folder: The index's folder, absolute.
        column: The column.
        parts: Parts of the column.
        files: The data files whose filters are needed.
        few: As for `ColumnProbe`.

    Raises:
        BloomwriterError, OSError: If a part cannot be read.
    """
    paths = [os.path.join(folder, part.path) for part in parts]
    if not storage_of(folder).is_remote and len(files.ids) <= _FEW_FILES:
        read = list(map(read_part, paths, parts))
    else:
        with ThreadPoolExecutor(jobs_in(folder)) as pool:
            read = list(pool.map(read_part, paths, parts))
    filters, whole, covering = gather_filters(read, files), column.global_filter, None
    if whole is not None:
        is_covered = files.ids[filters.owners] < whole.stop
        covering = Covering(folder=folder, file=whole.file, is_covered=is_covered)
    return ColumnProbe(filters, covering, few=few)


def read_filters(
    filters: ColumnFilters, rows: NDArray[np.int64]
) -> Iterator[tuple[int, NDArray[np.uint32]]]:
    """Yield each row and the blocks of its filter, shape (z, 8), read-only; in any order.

    Raises:
        IndexProblem: If a filter is not as it was written, or lies outside its part.
        BloomwriterError, OSError: If a part cannot be read.
    """
    for wave in _waves(filters, rows, np.arange(len(rows))):
        with ExitStack() as stack:
            sources = _open_parts(stack, filters, rows[wave])
            groups, members = filters.groups, filters.member_of[rows[wave]]
            row_of = dict(zip(members.tolist(), rows[wave].tolist(), strict=True))
            for slab in slabs(groups, groups.holding(members[members >= 0])):
                found, bits = whole_filters(groups, slab, sources[int(groups.part_of[slab[0]])])
                for member, one in zip(found.tolist(), bits, strict=True):
                    if member in row_of:
                        yield row_of[member], one.view("<u4").reshape(-1, 8)
            for some in _slabs(filters, rows[wave][members < 0]):
                bits_of = _bits_of_slab(filters, some, sources[int(filters.part_of[some[0]])])
                for row, one_bits in zip(some.tolist(), bits_of, strict=True):
                    yield row, np.frombuffer(one_bits, "<u4").reshape(-1, 8)


def _checked_blocks(
    filters: ColumnFilters,
    rows: NDArray[np.int64],
    hashes: NDArray[np.uint64],
    sources: dict[int, IndexSource],
) -> NDArray[np.bool_]:
    """Look up hashes by reading one block of each filter for each hash, checked by checksums."""
    groups, members = filters.groups, filters.member_of[rows]
    which = groups.holding(members)
    reader = _reader_of(filters, sources)
    if not reader.are_local:
        found_ranges = [ranges_of(groups, which, hashes[i : i + 1]) for i in range(len(hashes))]
        parts, ranges = map(np.concatenate, zip(*found_ranges, strict=True))
        _prefetch(sources, parts, ranges)
    found, might = np.zeros(len(rows), np.bool_), np.empty(len(groups.starts), np.bool_)

    def look_up_in(some: NDArray[np.int64]) -> None:
        look_up(groups, some, h, groups.first[some], might, reader)

    for number in range(len(hashes)):
        h = hashes[number : number + 1]
        pending = np.flatnonzero(~found)
        if not len(pending):
            break
        if number and len(pending) < len(rows):
            which = groups.holding(members[pending])
        if len(which) <= _CHUNK_GROUPS:
            look_up_in(which)
        else:
            chunks = range(0, len(which), _CHUNK_GROUPS)
            with ThreadPoolExecutor(default_jobs()) as pool:
                list(pool.map(look_up_in, (which[one : one + _CHUNK_GROUPS] for one in chunks)))
        found[pending] = might[members[pending]]
    return found


def _checked_whole(
    filters: ColumnFilters,
    rows: NDArray[np.int64],
    hashes: NDArray[np.uint64],
    sources: dict[int, IndexSource],
) -> NDArray[np.bool_]:
    """Look up hashes by reading whole filters, checked by their checksums."""
    groups, members = filters.groups, filters.member_of[rows]
    might = np.zeros(len(groups.starts), np.bool_)

    def ask(slab: NDArray[np.int64]) -> None:
        found, bits = whole_filters(groups, slab, sources[int(groups.part_of[slab[0]])])
        might[found] = [kernels.check(one, hashes, None) > 0 for one in bits]

    some = slabs(groups, groups.holding(members))
    if len(some) <= _FEW_SLABS and not storage_of(filters.paths[0]).is_remote:
        for slab in some:
            ask(slab)
    else:
        with ThreadPoolExecutor(jobs_in(filters.paths[0])) as pool:
            list(pool.map(ask, some))
    return might[members]


def _waves(
    filters: ColumnFilters, rows: NDArray[np.int64], places: NDArray[np.int64]
) -> Iterator[NDArray[np.int64]]:
    """Cut positions into runs, each with filters of at most `_MAX_OPEN` parts."""
    if len(places) and len(filters.paths) <= _MAX_OPEN:
        yield places
        return
    while len(places):
        parts = filters.part_of[rows[places]]
        stop = int(np.searchsorted(np.cumsum(np.diff(parts, prepend=parts[0]) != 0), _MAX_OPEN))
        yield places[:stop]
        places = places[stop:]


def _open_parts(
    stack: ExitStack, filters: ColumnFilters, rows: NDArray[np.int64]
) -> dict[int, IndexSource]:
    """Open the parts of some filters, and check that they are unchanged."""
    parts = filters.part_of[rows[:1]] if len(filters.paths) == 1 else filters.part_of[rows]
    sources: dict[int, IndexSource] = {}
    for part in parts[np.diff(parts, prepend=-1) != 0].tolist():
        opened = open_file(filters.paths[part], int(filters.sizes[part]))
        source = stack.enter_context(opened)
        if state_of(source) != filters.states[part]:
            raise IndexProblem(
                "a part of the index was changed after it was opened", path=filters.paths[part]
            )
        sources[part] = source
    return sources


def _reader_of(filters: ColumnFilters, sources: dict[int, IndexSource]) -> BatchReader:
    """Return a reader of the open parts, which are named by their ordinals."""
    unused = next(iter(sources.values()))
    return BatchReader([sources.get(part, unused) for part in range(len(filters.paths))])


def _prefetch(
    sources: dict[int, IndexSource], parts: NDArray[np.int64], ranges: NDArray[np.int64]
) -> None:
    """Fetch ranges from a store, at the same time.

    Args:
        sources: The parts, by their ordinals.
        parts: Ordinal of the part of each range, shape (n,).
        ranges: Positions in the parts [start, stop), shape (n, 2).
    """

    def fetch(part: int) -> None:
        if sources[part].fd < 0:
            prefetch(sources[part], map(tuple, ranges[parts == part].tolist()))

    with ThreadPoolExecutor(_REMOTE_THREADS) as pool:
        for _ in pool.map(fetch, sources):
            pass


def jobs_in(path: str) -> int:
    """Return the number of threads for the files of an index: on a store, threads mostly wait."""
    return _REMOTE_THREADS if storage_of(path).is_remote else default_jobs()


def _blocks_of(filters: ColumnFilters, rows: NDArray[np.int64], h: np.uint64) -> NDArray[np.int64]:
    """Return the position of a hash's block in each filter, if that has the usual header."""
    starts, lengths = filters.starts[rows], filters.num_bytes[rows]
    headers = usual_header_length(lengths)
    num_blocks = ((lengths - headers) // BYTES_PER_BLOCK).astype(np.uint64)
    block = ((h >> np.uint64(32)) * num_blocks) >> np.uint64(32)
    found: NDArray[np.int64] = starts + headers + BYTES_PER_BLOCK * block.astype(np.int64)
    return found


def _without_kernel(
    filters: ColumnFilters, rows: NDArray[np.int64], h: np.uint64, reader: BatchReader
) -> NDArray[np.bool_]:
    """Look up a hash without the kernel: on stores, without `pread`, or after a failed attempt."""
    parts = filters.part_of[rows].astype(np.int64)
    lengths = filters.num_bytes[rows].tolist()
    heads = reader.read(parts, filters.starts[rows], PIECE_BYTES)
    reader.raise_first_failure()
    for row, head, length in zip(rows.tolist(), heads, lengths, strict=True):
        if not usual_header_at(head.tobytes(), 0, length):
            raise filters.malformed(row)
    words = reader.read(parts, _blocks_of(filters, rows, h), BYTES_PER_BLOCK).view("<u4")
    reader.raise_first_failure()
    bits = np.array(mask(int(h)), np.uint32)
    found: NDArray[np.bool_] = ((words & bits) == bits).all(axis=1)
    return found


def _bits_of_slab(
    filters: ColumnFilters, slab: NDArray[np.int64], source: IndexSource
) -> list[memoryview]:
    """Read neighbouring filters of one part together, and return the bitset of each filter."""
    lengths = filters.num_bytes[slab].tolist()
    begin = int(filters.starts[slab[0]])
    offsets = (filters.starts[slab] - begin).tolist()
    data = source.read_at(begin, begin + offsets[-1] + lengths[-1])
    view, found = memoryview(data), []
    for row, offset, length in zip(slab.tolist(), offsets, lengths, strict=True):
        header = usual_header_at(data, offset, length)
        if not header:
            raise filters.malformed(row)
        found.append(view[offset + header : offset + length])
    return found


def _slabs(filters: ColumnFilters, rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Cut rows into runs of filters that lie close together in one part."""
    starts, parts = filters.starts[rows], filters.part_of[rows]
    stops = starts + filters.num_bytes[rows]
    is_first = np.diff(parts, prepend=-1) != 0
    is_first[1:] |= (starts[1:] < stops[:-1]) | (starts[1:] - stops[:-1] > _GAP_BYTES)
    is_first |= np.diff(starts // _SLAB_BYTES, prepend=-1) != 0
    return np.split(rows, np.flatnonzero(is_first)[1:]) if len(rows) else []
