"""The layout of a file: the position of each unit, and the positions where it may be cut.

    "PAR1" | chunk | chunk | ... | page indexes | filters | ... | footer | length | "PAR1"

A *unit* is a run of bytes that readers find by one position and a length: a column chunk, a part
of the page index, a filter. Units may be moved, but never cut. Bytes between units have no owner
that is known here (padding, copies of metadata, old footers); they stay behind the unit that they
follow.

Sizes in real files lie, so a cut is made only where a unit is known to start, and only if no other
unit claims the bytes on both sides of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.errors import MalformedFile, UnsupportedFile
from parquet_bloomwriter.filters.stored import StoredFilter, stored_filters
from parquet_bloomwriter.kernels.layout import ABSENT
from parquet_bloomwriter.metadata.fields import ChunkField, FileField, RowGroupField
from parquet_bloomwriter.metadata.footer import distinct_rows
from parquet_bloomwriter.metadata.page_index import OffsetIndex, parse_offset_index
from parquet_bloomwriter.metadata.patch import longer_than_needed
from parquet_bloomwriter.rewrite.extents import OVERLAPS, Extents, Units, extents_of, have_pages

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from parquet_bloomwriter.filters.stored import ReadAt
    from parquet_bloomwriter.metadata import Footer
    from parquet_bloomwriter.source.base import Range

_MAGIC_BYTES = 4
_INDEXES = (
    (ChunkField.OFFSET_INDEX_OFFSET, ChunkField.OFFSET_INDEX_LENGTH),
    (ChunkField.COLUMN_INDEX_OFFSET, ChunkField.COLUMN_INDEX_LENGTH),
)
PAGE_HEADER_BYTES = 8
"""Least bytes of a page header."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Layout:
    """The units of one file."""

    footer: Footer
    existing: tuple[StoredFilter, ...]
    fixed: Units
    """Column chunks and page indexes, whose positions do not depend on filters."""

    units: Units
    """Column chunks, page indexes and filters together."""

    extents: Extents
    """Bytes that belong to each filter."""

    read_at: ReadAt
    read_ranges: Callable[[Sequence[Range]], list[bytes]] | None = None
    """Reads many ranges of a file on a store at once; None where they can be read one by one."""

    @cached_property
    def offset_indexes(self) -> tuple[OffsetIndex, ...]:
        """Every distinct OffsetIndex, by position.

        Raises:
            MalformedFile: If one is not well-formed.
        """
        offsets = self.footer.chunks.value(ChunkField.OFFSET_INDEX_OFFSET)
        lengths = self.footer.chunks.value(ChunkField.OFFSET_INDEX_LENGTH)
        used = (offsets > 0) & (lengths > 0)
        places = set(zip(offsets[used].tolist(), lengths[used].tolist(), strict=True))
        return tuple(
            parse_offset_index(self.read_at(start, start + length), start=start)
            for start, length in sorted(places)
        )

    def why_not_move(self) -> str | None:
        """Return why nothing in this file may be moved, or None."""
        footer = self.footer
        if (
            footer.file.has(FileField.UNKNOWN).any()
            or footer.row_groups.has(RowGroupField.UNKNOWN).any()
            or footer.chunks.has(ChunkField.UNKNOWN).any()
            or footer.chunks.has(ChunkField.UNKNOWN_META).any()
        ):
            return "the footer has fields that this version does not know"
        if longer_than_needed(footer):
            return "the footer writes offsets in an unusual way that could not be restored"
        try:
            indexes = self.offset_indexes
        except MalformedFile as error:
            return error.problem
        if not self._are_alone(indexes):
            return "a page index and something else overlap"
        return _why_not_rewrite(indexes)

    def cuts_are_safe(self, positions: Sequence[int]) -> bool:
        """Return whether no unit has bytes on both sides of any of these positions."""
        cuts = np.asarray(positions, np.int64)
        return not self.units.count(cuts, cuts).any()

    def pages_are_whole(self, positions: Sequence[int]) -> bool:
        """Return whether no cut lies in the first header bytes of a page of an OffsetIndex."""
        cuts = np.asarray(positions, np.int64)
        none = np.zeros(0, np.int64)
        pages = np.sort(np.concatenate([none, *(index.offsets for index in self.offset_indexes)]))
        first = np.searchsorted(pages, cuts - PAGE_HEADER_BYTES, side="right")
        return bool((first == np.searchsorted(pages, cuts, side="left")).all())

    def next_start(self, position: int) -> int:
        """Return the first certain start of a unit after `position`, or else the footer's start."""
        starts = np.concatenate((self.fixed.starts, self.extents.certain_spans[:, 0]))
        return int(starts[starts > position].min(initial=self.footer.start))

    @cached_property
    def filters_at_end(self) -> int:
        """Start of the run of certain filters just before the footer; else the footer's start.

        If some of these filters leave the file, or more filters follow, nothing else moves.
        """
        start = self.footer.start
        for first, stop in reversed(self.extents.certain_spans.tolist()):
            if stop == start:
                start = first
        return start

    def _are_alone(self, indexes: Sequence[OffsetIndex]) -> bool:
        """Return whether each byte of an OffsetIndex belongs to no other page index, chunk or page.

        Filters do not count: those that claim some of the bytes go if anything moves.
        """
        spans = np.array([(index.start, index.stop) for index in indexes], np.int64).reshape(-1, 2)
        is_claimed = (self.fixed.count(*spans.T) > 1) | have_pages(self.footer, spans)
        return not is_claimed.any()


def _why_not_rewrite(indexes: Sequence[OffsetIndex]) -> str | None:
    """Return why the positions in page indexes cannot be rewritten when pages move, or None."""
    if not all(index.is_movable for index in indexes):
        return "a page index has fields that this version does not know"
    if any((index.offsets > index.start).any() for index in indexes):
        # Its length would depend on itself, with more than one solution.
        return "a page index lies before the pages that it refers to"
    return None


def layout_of(
    footer: Footer,
    read_at: ReadAt,
    *,
    read_ranges: Callable[[Sequence[Range]], list[bytes]] | None = None,
) -> Layout:
    """Return the layout of a file; refuse files that must not be rewritten.

    Args:
        footer: The file's footer.
        read_at: Returns the file's bytes [start, stop).
        read_ranges: Returns the bytes of many ranges, for files on stores.

    Raises:
        UnsupportedFile: If column chunks are encrypted or lie in other files.
        MalformedFile: If a column chunk or an index lies outside the file's data.
    """
    _refuse_foreign(footer)
    indexes = _index_spans(footer)
    spans = np.concatenate([_chunk_spans(footer), *indexes])
    fixed = Units.of(spans)
    existing = stored_filters(footer, read_at)
    extents = extents_of(footer, existing, fixed=fixed, offset_indexes=Units.of(indexes[0]))
    return Layout(
        footer=footer,
        existing=tuple(
            replace(f, defect=OVERLAPS) if overlaps and f.problem is None else f
            for f, overlaps in zip(existing, extents.overlaps.tolist(), strict=True)
        ),
        fixed=fixed,
        units=Units.of(np.concatenate([spans, extents.spans])),
        extents=extents,
        read_at=read_at,
        read_ranges=read_ranges,
    )


def _refuse_foreign(footer: Footer) -> None:
    chunks = footer.chunks
    if chunks.has(ChunkField.FILE_PATH).any():
        raise UnsupportedFile(
            "this is a summary file: its column chunks lie in other files",
            remedy="Name the data files instead.",
        )
    refuse_encrypted(footer)
    missing = np.argwhere(~chunks.has(ChunkField.META_DATA))
    if len(missing):
        row_group, column = missing[0].tolist()
        raise MalformedFile(
            "the column chunk has no metadata",
            row_group=row_group,
            column=footer.leaves[column].name,
        )


def refuse_encrypted(footer: Footer) -> None:
    """Refuse encrypted files in which the filters of some column would need the file's keys.

    Raises:
        UnsupportedFile: If the footer is signed, or columns are encrypted.
    """
    remedy = "Filters for encrypted files can only be written by their writer, who has the keys."
    if footer.is_signed:
        raise UnsupportedFile(
            "columns are encrypted and the footer is signed: with other filters the signature "
            "would be wrong, and readers that check it would refuse the file",
            remedy=remedy,
        )
    if footer.encrypted.any():
        raise UnsupportedFile("columns are encrypted", remedy=remedy)


def _chunk_spans(footer: Footer) -> NDArray[np.int64]:
    starts = footer.chunk_starts()
    sizes = footer.chunks.value(ChunkField.TOTAL_COMPRESSED_SIZE)
    has_bytes = sizes > 0
    has_values = footer.chunks.value(ChunkField.NUM_VALUES) > 0
    wrong = has_bytes & (starts > 0) & ((starts < _MAGIC_BYTES) | (sizes > footer.start - starts))
    wrong |= has_values & ((starts <= 0) | (starts >= footer.start) | (sizes < 0))
    if wrong.any():
        row_group, column = np.argwhere(wrong)[0].tolist()
        start, size = int(starts[row_group, column]), int(sizes[row_group, column])
        raise MalformedFile(
            f"the column chunk's {size} bytes lie outside the file's data",
            row_group=row_group,
            column=footer.leaves[column].name,
            byte=start,
        )
    used = has_bytes & (starts > 0)
    return np.stack((starts[used], (starts + sizes)[used]), axis=1)


def _index_spans(footer: Footer) -> list[NDArray[np.int64]]:
    spans = []
    for offset_field, length_field in _INDEXES:
        offsets = footer.chunks.value(offset_field)
        lengths = footer.chunks.value(length_field)
        used = (offsets > 0) & (lengths != ABSENT) & (lengths != 0)
        wrong = used & ((lengths < 0) | (lengths > footer.start - offsets))
        if wrong.any():
            row_group, column = np.argwhere(wrong)[0].tolist()
            raise MalformedFile(
                "the page index lies outside the file's data",
                row_group=row_group,
                column=footer.leaves[column].name,
                byte=int(offsets[row_group, column]),
            )
        pairs = np.stack((offsets[used], (offsets + lengths)[used]), axis=1)
        spans.append(distinct_rows(pairs))
    return spans
