"""The bytes that belong to each stored Bloom filter, and whether they may leave the file.

The bytes of a filter may leave the file only if its extent is *certain*:

1. It has a header, whatever algorithm that names, whose length agrees with the footer's if the
   footer gives one.
2. No column chunk, page, page index or other such filter claims any of its bytes.
3. Something that is certain begins at its end: a column chunk, a page index, the footer, what a
   `file_offset` leads to (Impala puts copies of the metadata there), or a filter that is certain.

What is certain must not depend on other filters that may come and go. Otherwise taking out filters
one by one would leave other bytes behind than taking them out at once. Therefore a filter that is
not certain confirms nothing, and filters that would make a difference are *intruders*, which go
together with the first filter that comes or goes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.filters.stored import SHARED
from parquet_bloomwriter.metadata.fields import PAGE_OFFSETS, ChunkField, RowGroupField

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_bloomwriter.filters.stored import StoredFilter
    from parquet_bloomwriter.metadata import Footer

OVERLAPS = "its bytes are also those of another filter or of the page index"

_STARTS = [
    ChunkField.FILE_OFFSET,
    ChunkField.OFFSET_INDEX_OFFSET,
    ChunkField.COLUMN_INDEX_OFFSET,
]
"""Fields of a column chunk that hold the start of some structure."""


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """The byte ranges of n units, none of them empty."""

    starts: NDArray[np.int64]
    """First byte of each unit, ascending, shape (n,)."""

    stops: NDArray[np.int64]
    """Position past the last byte of each unit, ascending, shape (n,)."""

    @staticmethod
    def of(spans: NDArray[np.int64]) -> Units:
        """Return the units of ranges [start, stop) in any order, shape (m, 2), but empty ones."""
        spans = spans[spans[:, 0] < spans[:, 1]]
        return Units(np.sort(spans[:, 0]), np.sort(spans[:, 1]))

    def count(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of units that have bytes in each range [start, stop).

        Where `start` equals `stop`, count the units with bytes on both sides of that position.
        """
        return np.searchsorted(self.starts, stops) - np.searchsorted(self.stops, starts, "right")


@dataclass(frozen=True, slots=True, eq=False)
class Extents:
    """The extents of n filters, in the order of `Layout.existing`."""

    spans: NDArray[np.int64]
    """The bytes [start, stop) that each filter claims, shape (n, 2): by its header, or else by the
    footer if it claims no bytes of other units that way; empty if neither is known."""

    certain: NDArray[np.bool_]
    """Whether the bytes of each filter may leave the file, shape (n,)."""

    overlaps: NDArray[np.bool_]
    """Whether each filter shares bytes with an OffsetIndex, or with another filter that meets rule
    1, and rule 2 apart from filters; shape (n,)."""

    intruders: NDArray[np.bool_]
    """Whether each filter must go when others come or go, shape (n,): filters that overlap, share
    an offset, or reach beyond the end of the data."""

    @property
    def certain_spans(self) -> NDArray[np.int64]:
        """Ranges of the certain filters, in the order of the file, shape (m, 2)."""
        spans = self.spans[self.certain]
        return spans[np.argsort(spans[:, 0])]


def extents_of(
    footer: Footer,
    existing: Sequence[StoredFilter],
    *,
    fixed: Units,
    offset_indexes: Units,
) -> Extents:
    """Return the bytes that belong to each filter.

    Args:
        footer: The file's footer.
        existing: The filters.
        fixed: Column chunks and page indexes.
        offset_indexes: The OffsetIndexes among those.
    """
    spans = np.array([_span(f, footer.start) for f in existing], np.int64).reshape(-1, 2)
    has_header = np.array([f.length is not None for f in existing], np.bool_)
    is_given = np.array([f.footer_length in (None, f.length) for f in existing], np.bool_)
    is_claimed = fixed.count(*spans.T) > 0
    spans[is_claimed & ~has_header, 1] = spans[is_claimed & ~has_header, 0]
    is_sound = has_header & is_given & ~is_claimed & ~have_pages(footer, spans)
    overlaps = Units.of(spans[is_sound]).count(*spans.T) > is_sound  # A filter overlaps itself.
    overlaps |= offset_indexes.count(*spans.T) > 0
    overlaps &= spans[:, 0] < spans[:, 1]
    strays = np.array([f.is_too_long or f.problem == SHARED for f in existing], np.bool_)
    return Extents(
        spans=spans,
        certain=_are_certain(footer, spans, is_sound & ~overlaps),
        overlaps=overlaps,
        intruders=overlaps | strays,
    )


def covered(spans: NDArray[np.int64]) -> int:
    """Return the number of bytes that at least one of the ranges has, shape (m, 2)."""
    starts, stops = spans[np.argsort(spans[:, 0])].T
    reached = np.maximum.accumulate(np.concatenate(([0], stops)))[:-1]
    return int(np.maximum(stops - np.maximum(starts, reached), 0).sum())


def _span(filter_: StoredFilter, limit: int) -> tuple[int, int]:
    length = max(filter_.length or filter_.footer_length or 0, 0)
    is_inside = 0 < filter_.offset <= limit - length
    return filter_.offset, filter_.offset + (length if is_inside else 0)


def have_pages(footer: Footer, spans: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return for each range, shape (m, 2), whether the footer says that a page begins in it.

    A column chunk has up to three such offsets.
    """
    has_pages = footer.chunks.value(ChunkField.TOTAL_COMPRESSED_SIZE) > 0
    pages = np.sort(footer.chunks.values[has_pages][:, PAGE_OFFSETS].ravel())
    found: NDArray[np.int64] = np.searchsorted(pages, spans)
    return found[:, 0] < found[:, 1]


def _are_certain(
    footer: Footer, spans: NDArray[np.int64], candidates: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return for each candidate whether something certain begins where the filter ends."""
    certain = np.zeros(len(spans), np.bool_)
    if not candidates.any():
        return certain
    begins = np.concatenate(
        [
            [footer.start],
            footer.chunk_starts().ravel(),
            footer.chunks.values[..., _STARTS].ravel(),
            footer.row_groups.value(RowGroupField.FILE_OFFSET),
        ]
    )
    is_followed = np.isin(spans[:, 1], begins)
    starts = set()
    for index in np.argsort(-spans[:, 0]).tolist():
        start, stop = spans[index].tolist()
        if candidates[index] and (is_followed[index] or stop in starts):
            certain[index] = True
            starts.add(start)
    return certain
