"""The filters of several files as one, with or without the global filter; the work is bounded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from parquet_bloomwriter.index.format.filter_file import read_global
from parquet_bloomwriter.index.query.probe import read_filters
from parquet_bloomwriter.sbbf import Sbbf, expected_fpp
from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK
from parquet_bloomwriter.sbbf.sizing import MAX_BYTES, MIN_BYTES
from parquet_bloomwriter.sbbf.union import united

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from parquet_bloomwriter.index.log.entry import GlobalFilter
    from parquet_bloomwriter.index.query.column_filters import ColumnFilters
    from parquet_bloomwriter.metadata import Leaf

Origin = Literal["global", "global and files", "files"]

MAX_RATE = 0.5
"""A filter with a higher rate is of no use."""

_MAX_FILTERS = 4096
_MAX_FILTER_BYTES = 64 * 1024 * 1024
"""Of files' own filters, read for one join."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinFilter:
    """A filter of join keys."""

    data: bytes
    """Header and bitset."""

    fpp: float
    """Exact rate of this very filter."""

    ndv: int
    """Distinct values, estimated, rather too many than too few."""

    leaf: Leaf
    """The type that the column has in all of the files, as one of them has it."""

    origin: Origin
    """Which filters it was made of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinTask:
    """Filters of one column in some files."""

    filters: ColumnFilters
    leaf: Leaf
    folder: str
    extra: tuple[Sbbf, ...]

    def of_global(
        self, whole: GlobalFilter, stale: NDArray[np.int64], rows: NDArray[np.int64]
    ) -> JoinFilter | None:
        """The global filter, with the filters of files that it does not cover."""
        ndv = min(whole.ndv, _ndv(self.filters, np.setdiff1d(rows, stale)))
        ndv += _ndv(self.filters, stale) + sum(map(_ndv_of, self.extra))
        if not len(stale) and not self.extra:
            found = read_global(self.folder, whole.file)
            return self._joined(found.to_bytes(), whole.fpp, ndv, "global")
        if not self._is_little(stale):
            return None
        blocks = read_global(self.folder, whole.file).blocks
        return self._united(stale, [blocks], MAX_RATE, ndv)

    def of_files(self, rows: NDArray[np.int64], *, better_than: float) -> JoinFilter | None:
        """The files' own filters, if that gives a better rate."""
        ndv = _ndv(self.filters, rows) + sum(map(_ndv_of, self.extra))
        if not self._is_little(rows) or not self._may_do(rows, better_than):
            return None
        return self._united(rows, [], better_than, ndv)

    def _is_little(self, rows: NDArray[np.int64]) -> bool:
        size = int(self.filters.num_bytes[rows].sum())
        return len(rows) <= _MAX_FILTERS and size <= _MAX_FILTER_BYTES

    def _may_do(self, rows: NDArray[np.int64], limit: float) -> bool:
        """Whether so many values may leave the largest of the filters with a rate that low.

        Files may have all of their values in common: the greatest number counts.
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
        """The union of files' own filters and others; None if its rate is not below a limit."""

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
        return self._joined(union.to_bytes(), rate, ndv, origin) if rate < limit else None

    def _joined(
        self,
        data: bytes,
        fpp: float,
        ndv: int,
        origin: Origin,
    ) -> JoinFilter:
        return JoinFilter(data=data, fpp=fpp, ndv=ndv, leaf=self.leaf, origin=origin)


def _ndv(filters: ColumnFilters, rows: NDArray[np.int64]) -> int:
    """Distinct values in some filters, at most; a great number if unknown."""
    counts = filters.ndv[rows]
    return int(counts.sum()) if (counts >= 0).all() else 1 << 62


def _ndv_of(filter_: Sbbf) -> int:
    estimate = filter_.estimated_ndv()
    return int(min(estimate, 1 << 62))
