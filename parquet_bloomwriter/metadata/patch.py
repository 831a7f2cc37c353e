"""Edits to a footer: offsets that moved, and the two Bloom filter fields of a column chunk.

An `Edit` puts `data` in the place of the bytes [start, stop). With start == stop it inserts, with
no data it drops. Edits are in order and do not overlap; the bytes between them are copied:

    source   |  copy  |start..stop|   copy   |
    result   |  copy  |   data    |   copy   |

A position moves with the byte it points at: by the growth of every edit that stops at or before it
(`Shift`). No position may point into a replaced range; callers make sure of that.

Only the bytes of the patched fields change. Thrift writes a field's id as the difference to the id
of the field before, so an edit that adds or removes ColumnMetaData fields 14 (bloom_filter_offset)
and 15 (bloom_filter_length) also rewrites the header byte of the field behind them:

    ... 0x16 total | 0x5c field 12 -> 17 ...        delta 5 from field 12
    ... 0x16 total | 0x26 14 | 0x15 15 | 0x2c 17 ...

Adding the fields and removing them again restores the same bytes: both edits write the shortest
form, and leave a long-form header (which holds the id itself) alone.

Source: Apache Thrift, "Thrift Compact protocol encoding"; parquet.thrift.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.compact.varint import encode_zigzag, zigzag_widths
from parquet_bloomwriter.errors import MalformedFile, UnsupportedFile
from parquet_bloomwriter.kernels.layout import HEADER, I32, I64, START, STOP
from parquet_bloomwriter.metadata.fields import (
    BLOOM_FILTER_LENGTH_ID,
    BLOOM_FILTER_OFFSET_ID,
    ChunkField,
    RowGroupField,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parquet_bloomwriter.metadata.footer import Footer, Structs

    Move = Callable[[NDArray[np.int64]], NDArray[np.int64]]
    """Function that returns the new positions of old ones."""


CHUNK_OFFSETS = (
    ChunkField.FILE_OFFSET,
    ChunkField.OFFSET_INDEX_OFFSET,
    ChunkField.COLUMN_INDEX_OFFSET,
    ChunkField.DATA_PAGE_OFFSET,
    ChunkField.INDEX_PAGE_OFFSET,
    ChunkField.DICTIONARY_PAGE_OFFSET,
    ChunkField.BLOOM_FILTER_OFFSET,
)
"""Fields of a column chunk that hold absolute positions."""

_MAX_DELTA = 15
_LONG_IDS = encode_zigzag(BLOOM_FILTER_OFFSET_ID) + encode_zigzag(BLOOM_FILTER_LENGTH_ID)


@dataclass(frozen=True, slots=True)
class Edit:
    """An edit that replaces the bytes [start, stop) by `data`."""

    start: int
    stop: int
    data: bytes

    @property
    def growth(self) -> int:
        """Bytes by which the edit makes the result longer."""
        return len(self.data) - (self.stop - self.start)


def apply_edits(source: bytes, edits: Sequence[Edit]) -> bytes:
    """Return `source` with the edits applied.

    Raises:
        ValueError: If edits overlap or are out of order or out of range.
    """
    parts: list[bytes] = []
    position = 0
    for edit in edits:
        if not position <= edit.start <= edit.stop <= len(source):
            raise ValueError(f"edit of bytes {edit.start}-{edit.stop} after byte {position}")
        parts += (source[position : edit.start], edit.data)
        position = edit.stop
    return b"".join([*parts, source[position:]])


@dataclass(frozen=True, slots=True, eq=False)
class Shift:
    """The new positions of bytes behind ranges that grow or shrink."""

    stops: NDArray[np.int64]
    """Ends of the edited ranges, ascending, shape (n,)."""

    totals: NDArray[np.int64]
    """Growth of the first k edits, k = 0..n, bytes, shape (n + 1,)."""

    @staticmethod
    def of(stops: Sequence[int], growths: Sequence[int]) -> Shift:
        """Make a shift from the ends and growths of edits in order."""
        if any(a > b for a, b in pairwise(stops)):
            raise ValueError("edits are out of order")
        totals = np.concatenate(([0], np.cumsum(np.asarray(growths, np.int64))))
        return Shift(np.asarray(stops, np.int64), totals.astype(np.int64))

    def __call__(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the new positions; positions of zero and below are sentinels and stay.

        Raises:
            MalformedFile: If a new position would not fit 64 bits.
        """
        moved = positions + self.totals[np.searchsorted(self.stops, positions, side="right")]
        if ((positions > 0) & (moved < 0)).any():
            raise MalformedFile(f"the offset {int(positions.max())} is beyond any file")
        return np.where(positions > 0, moved, positions)


def offset_fields(footer: Footer) -> Iterator[tuple[Structs, int]]:
    """Yield every field of the footer that holds absolute positions."""
    yield footer.row_groups, RowGroupField.FILE_OFFSET
    for field in CHUNK_OFFSETS:
        yield footer.chunks, field


def offset_edits(footer: Footer, move: Move, *, except_bloom: NDArray[np.bool_]) -> Iterator[Edit]:
    """Yield edits that rewrite every absolute position that `move` changes.

    Args:
        footer: The footer as it is.
        move: Old positions to new ones.
        except_bloom: Chunks whose Bloom filter offset is left to `bloom_edit`, shape (r, c).
    """
    for structs, field in offset_fields(footer):
        old = structs.value(field)
        new = move(old)
        changed = (new != old) & structs.has(field)
        if field == ChunkField.BLOOM_FILTER_OFFSET and structs is footer.chunks:
            changed &= ~except_bloom
        for (_, start, stop), position in zip(
            structs.spans[..., field, :][changed].tolist(), new[changed].tolist(), strict=True
        ):
            yield Edit(start, stop, encode_zigzag(position))


def index_length_edits(footer: Footer, lengths: Mapping[int, int]) -> Iterator[Edit]:
    """Yield edits that set the lengths of OffsetIndexes.

    Args:
        footer: The footer as it is.
        lengths: Old absolute position -> new length, bytes.
    """
    starts = footer.chunks.value(ChunkField.OFFSET_INDEX_OFFSET)
    old = footer.chunks.value(ChunkField.OFFSET_INDEX_LENGTH)
    for index in np.argwhere((starts > 0) & (old > 0)).tolist():
        place = tuple(index)
        length = lengths.get(int(starts[place]))
        if length is not None and length != old[place]:
            _, start, stop = footer.chunks.spans[place][ChunkField.OFFSET_INDEX_LENGTH].tolist()
            yield Edit(start, stop, encode_zigzag(length))


def bloom_edit(footer: Footer, row_group: int, column: int, place: tuple[int, int] | None) -> Edit:
    """Return an edit that sets a column chunk's filter offset and length, or removes both.

    Args:
        footer: The footer as it is.
        row_group: 0-based ordinal.
        column: 0-based leaf ordinal.
        place: Absolute offset and length of header and bitset, bytes; None removes the fields.

    Raises:
        UnsupportedFile: If fields are not in the order of their ids, or have a wrong type.
    """
    spans = footer.chunks.spans[row_group, column]
    start = stop = int(spans[ChunkField.BLOOM_MARK, HEADER])
    before = int(footer.chunks.values[row_group, column, ChunkField.BLOOM_MARK])
    last = before
    for field, field_id in (
        (ChunkField.BLOOM_FILTER_OFFSET, BLOOM_FILTER_OFFSET_ID),
        (ChunkField.BLOOM_FILTER_LENGTH, BLOOM_FILTER_LENGTH_ID),
    ):
        if spans[field, START] >= 0:
            if spans[field, HEADER] != stop:
                raise _out_of_order(footer, row_group, column, int(spans[field, HEADER]))
            stop, last = int(spans[field, STOP]), field_id
    new = b""
    new_last = before
    if place is not None:
        offset, length = place
        new += _header(before, BLOOM_FILTER_OFFSET_ID, I64) + encode_zigzag(offset)
        new += _header(BLOOM_FILTER_OFFSET_ID, BLOOM_FILTER_LENGTH_ID, I32) + encode_zigzag(length)
        new_last = BLOOM_FILTER_LENGTH_ID
    following = footer.data[stop]
    if 0 < following <= _MAX_DELTA and footer.data[stop + 1] in _LONG_IDS:
        raise _out_of_order(footer, row_group, column, stop)
    if following > _MAX_DELTA:  # A short-form header; 0 closes the struct.
        next_id = last + (following >> 4)
        if next_id <= BLOOM_FILTER_LENGTH_ID:
            raise _out_of_order(footer, row_group, column, stop)
        new += _header(new_last, next_id, following & 15)
        stop += 1
    return Edit(start, stop, new)


def longer_than_needed(footer: Footer) -> bool:
    """Return whether a number that may change is written in more bytes than necessary.

    Changing such a varint back and forth would not restore it. Offsets of filters do not count:
    they come and go with the filters.
    """
    fields = [*offset_fields(footer), (footer.chunks, ChunkField.OFFSET_INDEX_LENGTH)]
    for structs, field in fields:
        if structs is footer.chunks and field == ChunkField.BLOOM_FILTER_OFFSET:
            continue
        values = structs.value(field)
        used = values > 0
        spans = structs.spans[..., field, :][used]
        if np.any(spans[..., STOP] - spans[..., START] != zigzag_widths(values[used])):
            return True
    return False


def _out_of_order(footer: Footer, row_group: int, column: int, position: int) -> UnsupportedFile:
    return UnsupportedFile(
        "the metadata's fields are not in the order of their ids, or of the wrong type",
        row_group=row_group,
        column=footer.leaves[column].name,
        byte=footer.start + position,
    )


def _header(before: int, field_id: int, wire: int) -> bytes:
    delta = field_id - before
    if 0 < delta <= _MAX_DELTA:
        return bytes((delta << 4 | wire,))
    return bytes((wire,)) + encode_zigzag(field_id)
