"""Look hashes up in many filters of one column: which filters might contain any of them?

Hashes that the filter of all values excludes are not looked up in the filters that it covers. For a
few hashes, one block of each filter is read for each of them. For many hashes, filters are read
whole, neighbours together. No answer comes from bits that differ from their checksums
(`format.checked_bits`).

Parts of older versions of this package have no checksums. The blocks of their filters are looked at
by a kernel, and the header of each filter is checked when the filter is first read, so that an
answer never comes from bytes that are no filter.

Parts are opened for each
call and closed at its end: no more than `_MAX_OPEN` are open at once, and a part that is gone or
was changed is noticed.
"""

from __future__ import annotations

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
from parquet_bloomwriter.index.storage.base import is_on_store, open_file, prefetch, state_of
from parquet_bloomwriter.kernels.layout import MIGHT_BE_IN, ODD, PIECE_BYTES, TASK_WORDS
from parquet_bloomwriter.parallel import default_jobs
from parquet_bloomwriter.probing.batch_reader import BatchReader
from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK, mask
from parquet_bloomwriter.sbbf.header import usual_header_at, usual_header_length

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from parquet_bloomwriter.index.entry import IndexFile
    from parquet_bloomwriter.index.format.block_checks import CheckedGroups
    from parquet_bloomwriter.index.query.column_filters import ColumnFilters
    from parquet_bloomwriter.index.storage.base import IndexSource

_FEW_FILTERS = 16
"""Up to so many filters it costs no more to look in them than in the global filter first."""

_MAX_OPEN = 128
_REMOTE_THREADS = 16
_AT_ONCE = 7
"""Hashes up to which a store is not asked first whether the filter of all values excludes them."""

_MANY = 8
"""Hashes from which reading whole filters may pay."""

_WORTH_BYTES = 4096
"""Bytes read in the time of one more request."""

_CHUNK_GROUPS = 1 << 9
"""Groups of filters that a thread looks up at once, of 16 filters each."""

_CHUNK = 1 << 13
"""Filters that a thread looks up at once: what is noted of them stays in the processor's cache."""

_SLAB_BYTES = 4 << 20
"""Read at once, about."""

_FEW_SLABS = 4
"""Runs of filters on a disk that take no longer than it takes to start threads."""

_GAP_BYTES = 64 * 1024
"""Largest gap between two filters that are read together."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Covering:
    """The filter of all values of a column, and the filters of files that it covers."""

    folder: str
    """Of the index, absolute."""

    file: IndexFile
    is_covered: NDArray[np.bool_]
    """Whether all values of each filter of the column are in this filter, shape (n,)."""


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
        """Take the filters, none of whose headers has been checked.

        Args:
            filters: The n filters.
            covering: The filter of all values, which is looked in first.
            few: Filters up to which it is not; by default, as many as are looked in as fast.
        """
        self.filters = filters
        self._covering = covering
        self._few = _FEW_FILTERS if few is None else few
        # Shape (n,). An element becomes True, once, when a header was found good; threads that
        # do not see that yet check the header again.
        self._is_checked = np.zeros(len(filters.starts), np.bool_)

    @property
    def num_bytes_held(self) -> int:
        """Memory, bytes."""
        covered = 0 if self._covering is None else self._covering.is_covered.nbytes
        return self.filters.num_bytes_held + self._is_checked.nbytes + covered

    def might_contain(
        self, rows: NDArray[np.int64], hashes: NDArray[np.uint64]
    ) -> NDArray[np.bool_]:
        """Say of each filter whether it might contain any of the hashes.

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
        if is_on_store(covering.folder) and len(hashes) <= _AT_ONCE:
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
        """Look hashes up in the filters alone, without the filter of all values."""
        filters = self.filters
        found = np.zeros(len(rows), np.bool_)
        places = np.flatnonzero(filters.has_values[rows]) if len(hashes) else rows[:0]
        is_checked = filters.member_of[rows[places]] >= 0
        if is_checked.all():
            found[places] = self._with_checks(rows[places], hashes)
            return found
        checked, places = places[is_checked], places[~is_checked]
        found[checked] = self._with_checks(rows[checked], hashes)
        whole = np.zeros(len(places), np.bool_)
        if len(hashes) >= _MANY:
            whole = filters.num_bytes[rows[places]] <= len(hashes) * _WORTH_BYTES
        for few in _waves(filters, rows, places[~whole]):
            found[few] = self._read_blocks(rows[few], hashes)
        for many in _waves(filters, rows, places[whole]):
            found[many] = self._read_whole(rows[many], hashes)
        return found

    def _with_checks(
        self, rows: NDArray[np.int64], hashes: NDArray[np.uint64]
    ) -> NDArray[np.bool_]:
        """Look hashes up in filters that have checksums, and values."""
        filters = self.filters
        found = np.zeros(len(rows), np.bool_)
        ways = [(_checked_blocks, np.arange(len(rows)))]
        if len(hashes) >= _MANY:
            whole = filters.num_bytes[rows] <= len(hashes) * _WORTH_BYTES
            ways = [
                (_checked_blocks, np.flatnonzero(~whole)),
                (_checked_whole, np.flatnonzero(whole)),
            ]
        for ask, places in ways:
            for wave in _waves(filters, rows, places):
                with ExitStack() as stack:
                    sources = _open_parts(stack, filters, rows[wave])
                    found[wave] = ask(filters, rows[wave], hashes, sources)
        return found

    def _read_blocks(
        self, rows: NDArray[np.int64], hashes: NDArray[np.uint64]
    ) -> NDArray[np.bool_]:
        """Look hashes up by reading one block of each filter for each hash.

        Every filter has values, and the parts are at most `_MAX_OPEN`.
        """
        filters = self.filters
        with ExitStack() as stack:
            sources = _open_parts(stack, filters, rows)
            is_remote = any(source.fd < 0 for source in sources.values())
            if is_remote:
                _prefetch(filters, rows, hashes, sources)
            if is_remote or not kernels.HAS_PREAD:
                return _look_up_without_kernel(filters, rows, hashes, sources)
            descriptors = np.full(len(filters.paths), -1, np.int64)
            descriptors[list(sources)] = [source.fd for source in sources.values()]

            def look_up(chunk: NDArray[np.int64]) -> NDArray[np.bool_]:
                return self._look_up(chunk, hashes, descriptors, sources)

            if len(rows) <= _CHUNK:
                return look_up(rows)
            chunks = [rows[start : start + _CHUNK] for start in range(0, len(rows), _CHUNK)]
            with ThreadPoolExecutor(default_jobs()) as pool:
                return np.concatenate(list(pool.map(look_up, chunks)))

    def _look_up(
        self,
        rows: NDArray[np.int64],
        hashes: NDArray[np.uint64],
        descriptors: NDArray[np.int64],
        sources: dict[int, IndexSource],
    ) -> NDArray[np.bool_]:
        """Look all hashes up in some filters; `descriptors` has one for each part, -1 for none."""
        found = self._look_up_one(rows, hashes[0], descriptors, sources)
        for h in hashes[1:]:
            pending = np.flatnonzero(~found)
            found[pending] = self._look_up_one(rows[pending], h, descriptors, sources)
        return found

    def _look_up_one(
        self,
        rows: NDArray[np.int64],
        h: np.uint64,
        descriptors: NDArray[np.int64],
        sources: dict[int, IndexSource],
    ) -> NDArray[np.bool_]:
        filters = self.filters
        starts, lengths, parts = (
            filters.starts[rows],
            filters.num_bytes[rows],
            filters.part_of[rows],
        )
        headers = usual_header_length(lengths)
        tasks = np.empty((len(rows), TASK_WORDS), np.int64)
        tasks[:, 0], tasks[:, 1], tasks[:, 2] = descriptors[parts], starts, lengths
        tasks[:, 3] = filters.sizes[parts]
        tasks[:, 4] = h.view(np.int64)
        tasks[:, 5] = starts + headers
        tasks[:, 6] = (lengths - headers) * self._is_checked[rows]  # 0: read the header first
        num_odd = kernels.probe_usual(tasks)
        might: NDArray[np.bool_] = tasks[:, 7] & 3 == MIGHT_BE_IN
        if num_odd:
            # A read of a file's own source is completed if it was interrupted, or says what failed.
            odd = tasks[:, 7] & 3 == ODD
            might[odd] = _look_up_without_kernel(filters, rows[odd], np.array([h]), sources)
        self._is_checked[rows] = True
        return might

    def _read_whole(self, rows: NDArray[np.int64], hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Look hashes up by reading filters whole, neighbours together.

        Every filter has values, and the parts are at most `_MAX_OPEN`.
        """
        filters = self.filters
        with ExitStack() as stack:
            sources = _open_parts(stack, filters, rows)

            def look_up(slab: NDArray[np.int64]) -> list[bool]:
                return _look_up_slab(filters, slab, hashes, sources[int(filters.part_of[slab[0]])])

            with ThreadPoolExecutor(jobs_in(filters.paths[0])) as pool:
                found = [one for slab in pool.map(look_up, _slabs(filters, rows)) for one in slab]
        self._is_checked[rows] = True
        return np.array(found, np.bool_)


def read_filters(
    filters: ColumnFilters, rows: NDArray[np.int64]
) -> Iterator[tuple[int, NDArray[np.uint32]]]:
    """Yield each row with the blocks of its filter, shape (z, 8), read-only; in any order.

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
            for row in rows[wave][members < 0].tolist():
                start, length = int(filters.starts[row]), int(filters.num_bytes[row])
                data = sources[int(filters.part_of[row])].read_at(start, start + length)
                header = usual_header_at(data, 0, length)
                if not header:
                    raise _malformed(filters, row)
                yield row, np.frombuffer(data, "<u4", offset=header).reshape(-1, 8)


def _checked_blocks(
    filters: ColumnFilters,
    rows: NDArray[np.int64],
    hashes: NDArray[np.uint64],
    sources: dict[int, IndexSource],
) -> NDArray[np.bool_]:
    """Look hashes up by reading one block of each filter for each hash."""
    groups, members = filters.groups, filters.member_of[rows]
    which = groups.holding(members)
    unused = next(iter(sources.values()))
    reader = BatchReader([sources.get(part, unused) for part in range(len(filters.paths))])
    if any(source.fd < 0 for source in sources.values()):
        _prefetch_checked(groups, which, hashes, sources)
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


def _prefetch_checked(
    groups: CheckedGroups,
    which: NDArray[np.int64],
    hashes: NDArray[np.uint64],
    sources: dict[int, IndexSource],
) -> None:
    """Fetch the blocks of all hashes and their checksums from a store, at the same time."""
    found = [ranges_of(groups, which, hashes[i : i + 1]) for i in range(len(hashes))]
    parts = np.concatenate([one for one, _ in found])
    ranges = np.concatenate([one for _, one in found])

    def fetch(part: int) -> None:
        if sources[part].fd < 0:
            prefetch(sources[part], map(tuple, ranges[parts == part].tolist()))

    with ThreadPoolExecutor(_REMOTE_THREADS) as pool:
        for _ in pool.map(fetch, sources):
            pass


def _checked_whole(
    filters: ColumnFilters,
    rows: NDArray[np.int64],
    hashes: NDArray[np.uint64],
    sources: dict[int, IndexSource],
) -> NDArray[np.bool_]:
    """Look hashes up by reading filters whole."""
    groups, members = filters.groups, filters.member_of[rows]
    might = np.zeros(len(groups.starts), np.bool_)

    def ask(slab: NDArray[np.int64]) -> None:
        found, bits = whole_filters(groups, slab, sources[int(groups.part_of[slab[0]])])
        might[found] = [kernels.check(one, hashes, None) > 0 for one in bits]

    some = slabs(groups, groups.holding(members))
    if len(some) <= _FEW_SLABS and not is_on_store(filters.paths[0]):
        for slab in some:
            ask(slab)
    else:
        with ThreadPoolExecutor(jobs_in(filters.paths[0])) as pool:
            list(pool.map(ask, some))
    return might[members]


def _waves(
    filters: ColumnFilters, rows: NDArray[np.int64], places: NDArray[np.int64]
) -> Iterator[NDArray[np.int64]]:
    """Cut places into runs of at most `_MAX_OPEN` parts."""
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


def _prefetch(
    filters: ColumnFilters,
    rows: NDArray[np.int64],
    hashes: NDArray[np.uint64],
    sources: dict[int, IndexSource],
) -> None:
    """Fetch the header of each filter and the blocks of all hashes from a store, at the same time.

    Filters have the usual header, or else the lookup fails.
    """
    starts, lengths = filters.starts[rows], filters.num_bytes[rows]
    headers = usual_header_length(lengths)
    num_blocks = ((lengths - headers) // BYTES_PER_BLOCK).astype(np.uint64)
    places = [starts]
    for h in hashes:
        block = ((h >> np.uint64(32)) * num_blocks) >> np.uint64(32)
        places.append(starts + headers + BYTES_PER_BLOCK * block.astype(np.int64))
    parts = filters.part_of[rows]

    def fetch(part: int) -> None:
        source, mine = sources[part], parts == part
        if source.fd < 0:
            begins = np.unique(np.concatenate([one[mine] for one in places])).tolist()
            ends = (min(one + PIECE_BYTES, source.size) for one in begins)
            prefetch(source, zip(begins, ends, strict=True))

    with ThreadPoolExecutor(_REMOTE_THREADS) as pool:
        for _ in pool.map(fetch, sources):
            pass


def jobs_in(path: str) -> int:
    """Return how many threads are worth it where an index is: a store makes them wait."""
    return _REMOTE_THREADS if is_on_store(path) else default_jobs()


def _malformed(filters: ColumnFilters, row: int) -> IndexProblem:
    return IndexProblem(
        "the Bloom filter has a malformed header",
        path=filters.paths[int(filters.part_of[row])],
        byte=int(filters.starts[row]),
        remedy="Refresh the index in full.",
    )


def _look_up_without_kernel(
    filters: ColumnFilters,
    rows: NDArray[np.int64],
    hashes: NDArray[np.uint64],
    sources: dict[int, IndexSource],
) -> NDArray[np.bool_]:
    """Look hashes up in filters, on systems without `pread`, or where the kernel could not."""
    ordinals = np.zeros(len(filters.paths), np.int64)
    ordinals[list(sources)] = np.arange(len(sources))
    reader, part_of = BatchReader(list(sources.values())), ordinals[filters.part_of[rows]]
    starts, lengths = filters.starts[rows], filters.num_bytes[rows]
    heads = reader.read(part_of, starts, PIECE_BYTES)
    _raise_first(reader)
    for place, head in enumerate(heads):
        if not usual_header_at(head.tobytes(), 0, int(lengths[place])):
            raise _malformed(filters, int(rows[place]))
    headers = usual_header_length(lengths)
    num_blocks = ((lengths - headers) // BYTES_PER_BLOCK).astype(np.uint64)
    found = np.zeros(len(rows), np.bool_)
    for h in hashes:
        block = ((h >> np.uint64(32)) * num_blocks) >> np.uint64(32)
        places = starts + headers + BYTES_PER_BLOCK * block.astype(np.int64)
        words = reader.read(part_of, places, BYTES_PER_BLOCK).view("<u4")
        _raise_first(reader)
        bits = np.array(mask(int(h)), np.uint32)
        found |= ((words & bits) == bits).all(axis=1)
    return found


def _raise_first(reader: BatchReader) -> None:
    for error in reader.failures.values():
        raise error


def _look_up_slab(
    filters: ColumnFilters, slab: NDArray[np.int64], hashes: NDArray[np.uint64], source: IndexSource
) -> list[bool]:
    """Look hashes up in neighbouring filters of one part, read together."""
    lengths = filters.num_bytes[slab].tolist()
    begin = int(filters.starts[slab[0]])
    offsets = (filters.starts[slab] - begin).tolist()
    data = source.read_at(begin, begin + offsets[-1] + lengths[-1])
    view, found = memoryview(data), []
    for place, (offset, length) in enumerate(zip(offsets, lengths, strict=True)):
        header = usual_header_at(data, offset, length)
        if not header:
            raise _malformed(filters, int(slab[place]))
        found.append(kernels.check(view[offset + header : offset + length], hashes, None) > 0)
    return found


def _slabs(filters: ColumnFilters, rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Cut rows into runs of filters that lie close together in one part."""
    starts, parts = filters.starts[rows], filters.part_of[rows]
    stops = starts + filters.num_bytes[rows]
    is_first = np.diff(parts, prepend=-1) != 0
    is_first[1:] |= (starts[1:] < stops[:-1]) | (starts[1:] - stops[:-1] > _GAP_BYTES)
    is_first |= np.diff(starts // _SLAB_BYTES, prepend=-1) != 0
    return np.split(rows, np.flatnonzero(is_first)[1:])
