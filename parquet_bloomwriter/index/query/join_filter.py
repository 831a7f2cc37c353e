"""The Bloom filter against which a join tests the keys of its other side: all values of a column.

It is the global filter, if that covers the files that are read. Files that were appended since are
added by their own filters. For a few files, the union of their own filters often has a lower FPP
than the global filter. The exact FPP decides, and the work on the choice is bounded. A filter that
lets more than half of all absent values pass is not used.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING, Literal

import numpy as np

from parquet_bloomwriter.index.format.columns import leaf_of
from parquet_bloomwriter.index.format.filter_file import read_global
from parquet_bloomwriter.index.query.probe import read_filters
from parquet_bloomwriter.index.report import Code, Reason
from parquet_bloomwriter.sbbf import Sbbf, expected_fpp
from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK
from parquet_bloomwriter.sbbf.sizing import MAX_BYTES, MIN_BYTES
from parquet_bloomwriter.sbbf.union import united

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from parquet_bloomwriter.index.entry import Entry, GlobalFilter, IndexedColumn
    from parquet_bloomwriter.index.format.manifest import FileTable
    from parquet_bloomwriter.index.query.column_filters import ColumnFilters
    from parquet_bloomwriter.metadata import Leaf

Origin = Literal["global", "global and files", "files"]

MAX_RATE = 0.5
"""Maximum FPP of a useful filter."""

_MAX_FILES = 64
"""Maximum number of files for which their own filters are tried besides the global filter."""

_MAX_FILTERS = 4096
_MAX_FILTER_BYTES = 64 * 1024 * 1024
"""Maximum size of the files' own filters that are read for one join, bytes."""

_MAX_KEPT_BYTES = 256 * 1024 * 1024
"""Maximum size of all filters for joins that a snapshot keeps, except the newest, bytes."""

_UNKNOWN_NDV = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinFilter:
    """A Bloom filter of join keys."""

    data: bytes
    """Header and bitset of the filter."""

    fpp: float
    """Exact FPP of this filter."""

    ndv: int
    """Estimated number of distinct values, too high rather than too low."""

    leaf: Leaf
    """The leaf column in one of the files; it has the same type in all of them."""

    origin: Origin
    """The filters that this filter was made from."""


class JoinFilters:
    """The filters for joins of one snapshot, made on demand and cached. Safe in threads."""

    def __init__(self, entry: Entry, folder: str, files: FileTable) -> None:
        self._entry = entry
        self._folder = folder
        self._files = files
        self._kept: OrderedDict[tuple[str, bytes], JoinFilter | Reason] = OrderedDict()
        self._lock = Lock()

    @property
    def num_bytes_held(self) -> int:
        """Size in memory, bytes."""
        with self._lock:
            return self._num_bytes()

    def get(
        self,
        column: IndexedColumn,
        filters: ColumnFilters,
        present: NDArray[np.bool_],
        extra: Sequence[Sbbf],
    ) -> JoinFilter | Reason:
        """Return a filter for a join, or why there is no useful one; see `Snapshot.join_filter`.

        Raises:
            BloomwriterError, OSError: If the index cannot be read.
        """
        if extra:
            return self._make(column, filters, present, extra)
        key = (column.name, sha256(np.packbits(present).tobytes()).digest())
        with self._lock:
            found = self._kept.get(key)
        if found is None:
            found = self._make(column, filters, present, ())
            with self._lock:
                self._kept[key] = found
                while len(self._kept) > 1 and self._num_bytes() > _MAX_KEPT_BYTES:
                    self._kept.popitem(last=False)
        return found

    def _num_bytes(self) -> int:
        return sum(map(_size_of, self._kept.values()))

    def _make(
        self,
        column: IndexedColumn,
        filters: ColumnFilters,
        present: NDArray[np.bool_],
        extra: Sequence[Sbbf],
    ) -> JoinFilter | Reason:
        leaf = _common_leaf(column, filters, present)
        if isinstance(leaf, Reason):
            return leaf
        rows = np.flatnonzero(present[filters.owners] & filters.has_values)
        whole = column.global_filter
        stop = -1 if whole is None else whole.stop
        is_stale = self._files.ids[filters.owners[rows]] >= stop
        sources = _Sources(filters=filters, leaf=leaf, folder=self._folder, extra=tuple(extra))
        made = None
        if whole is not None and not is_stale.all():
            made = sources.of_global(whole, rows[is_stale], rows)
        few = np.count_nonzero(present) <= _MAX_FILES
        if made is None or (few and len(rows)):
            made = sources.of_files(rows, better_than=1.0 if made is None else made.fpp) or made
        if made is None or made.fpp > MAX_RATE:
            return _too_full(column, made, num_stale=int(is_stale.sum()))
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sources:
    """The filters of one column from which a filter for a join can be made."""

    filters: ColumnFilters
    leaf: Leaf
    folder: str
    extra: tuple[Sbbf, ...]

    def of_global(
        self, whole: GlobalFilter, stale: NDArray[np.int64], rows: NDArray[np.int64]
    ) -> JoinFilter | None:
        """Make a filter from the global filter and the filters of files that it does not cover."""
        ndv = min(whole.ndv, _ndv(self.filters, np.setdiff1d(rows, stale)))
        ndv += _ndv(self.filters, stale) + sum(map(_ndv_of, self.extra))
        if not len(stale) and not self.extra:
            found = read_global(self.folder, whole.file)
            return self._result(found.to_bytes(), whole.fpp, ndv, "global")
        if not self._are_few(stale):
            return None
        blocks = read_global(self.folder, whole.file).blocks
        return self._united(stale, [blocks], MAX_RATE, ndv)

    def of_files(self, rows: NDArray[np.int64], *, better_than: float) -> JoinFilter | None:
        """Make a filter from the files' own filters; None if its FPP is not below `better_than`."""
        ndv = _ndv(self.filters, rows) + sum(map(_ndv_of, self.extra))
        if not self._are_few(rows) or not self._may_reach(rows, better_than):
            return None
        return self._united(rows, [], better_than, ndv)

    def _are_few(self, rows: NDArray[np.int64]) -> bool:
        size = int(self.filters.num_bytes[rows].sum())
        return len(rows) <= _MAX_FILTERS and size <= _MAX_FILTER_BYTES

    def _may_reach(self, rows: NDArray[np.int64], limit: float) -> bool:
        """Return whether the union could have an FPP below `limit`, judged by the largest filter.

        Files may have all of their values in common: the greatest number of values counts.
        """
        ndv = max((*self.filters.ndv[rows].tolist(), 0))
        return expected_fpp(ndv, self._num_blocks(rows, [])) < limit

    def _num_blocks(self, rows: NDArray[np.int64], first: Sequence[NDArray[np.uint32]]) -> int:
        largest = [len(one) for one in first] + [one.num_blocks for one in self.extra]
        largest += (self.filters.num_bytes[rows] // BYTES_PER_BLOCK).tolist()
        most = max((*largest, MIN_BYTES["pow2"] // BYTES_PER_BLOCK))
        return min(most, MAX_BYTES // BYTES_PER_BLOCK)

    def _united(
        self,
        rows: NDArray[np.int64],
        first: Sequence[NDArray[np.uint32]],
        limit: float,
        ndv: int,
    ) -> JoinFilter | None:
        """Make the union of files' own filters and others; None if its FPP is not below `limit`."""

        def all_blocks() -> Iterator[NDArray[np.uint32]]:
            yield from first
            yield from (one.blocks for one in self.extra)
            yield from (blocks for _, blocks in read_filters(self.filters, rows))

        blocks = united(all_blocks(), self._num_blocks(rows, first), limit=limit)
        if blocks is None:
            return None
        union = Sbbf(blocks)
        rate = union.exact_fpp()
        origin: Origin = "global and files" if first else "files"
        return self._result(union.to_bytes(), rate, ndv, origin) if rate < limit else None

    def _result(self, data: bytes, fpp: float, ndv: int, origin: Origin) -> JoinFilter:
        return JoinFilter(data=data, fpp=fpp, ndv=ndv, leaf=self.leaf, origin=origin)


def _size_of(kept: JoinFilter | Reason) -> int:
    return len(kept.data) if isinstance(kept, JoinFilter) else 0


def _common_leaf(
    column: IndexedColumn, filters: ColumnFilters, present: NDArray[np.bool_]
) -> Leaf | Reason:
    """Return the leaf column, if all files have one type; or why the join gets no filter."""
    num_unknown = np.count_nonzero(filters.count[present] == 0)
    if num_unknown or not present.any():
        text = f"{num_unknown} files have no filter of the column {column.name}"
        text = text if num_unknown else "no file of the index is read"
        return Reason(code=Code.NO_GLOBAL_FILTER, text=text)
    rows = present[filters.owners]
    counted = rows & filters.has_values
    types = np.unique(filters.type_of[counted if counted.any() else rows]).tolist()
    leaves = [leaf_of(filters.types[one]) for one in types]
    if len({_type_of(leaf) for leaf in leaves}) > 1:
        text = f"the column {column.name} has several types in the files of the index"
        return Reason(code=Code.KEY_TYPE_MISMATCH, text=text)
    return leaves[0]


def _type_of(leaf: Leaf) -> Leaf:
    """Return a leaf reduced to its type: without its name, and whether values may be null."""
    return replace(leaf, ordinal=0, path=(), repetitions=())


def _too_full(column: IndexedColumn, made: JoinFilter | None, *, num_stale: int) -> Reason:
    why = column.no_global or "the files have too many values for their own filters together"
    if num_stale and column.global_filter is not None:
        why = f"{num_stale} filters are of files that were added since the global one was made"
    elif made is not None:
        why = f"{made.fpp:.0%} of all other values would pass it"
    text = f"there is no useful filter of all values of {column.name}: {why}; refresh the index"
    return Reason(code=Code.NO_GLOBAL_FILTER, text=text)


def _ndv(filters: ColumnFilters, rows: NDArray[np.int64]) -> int:
    """Return an upper bound for the number of distinct values in some filters."""
    counts = filters.ndv[rows]
    return int(counts.sum()) if (counts >= 0).all() else _UNKNOWN_NDV


def _ndv_of(filter_: Sbbf) -> int:
    return int(min(filter_.estimated_ndv(), _UNKNOWN_NDV))
