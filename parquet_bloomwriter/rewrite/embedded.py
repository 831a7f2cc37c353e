"""Find indexes that other programs have embedded into a file, and that must not move.

A reader finds such an index by a position that the key-value metadata has, as text:

    "PAR1" | chunk | ... | index | page indexes | footer: {"distinct_index_offset": "8123"}

Nothing in the format says that the number is a position, so it cannot follow when bytes move. Two
signs tell of an index, and filters then go to the end, where they move nothing:

- *Bytes without an owner*, which no column chunk, page index or filter claims. Not counted are
  zeros (padding) and copies of the metadata of column chunks, which Arrow C++ before 16, parquet-rs
  before 54, Impala and others write behind each chunk: a chunk's `file_offset` leads there.
- *A number in the key-value metadata* that leads behind the first moved byte: as a whole value, or
  within a text if it has four digits or more and a unit or a page begins there. A count may look
  like a position. Then the filters go to the end without need, which costs only their place.

Of the 1,212 files of the test corpus that can be read, 170 have bytes that no unit claims. Of 13 of
them these bytes are neither zeros nor such copies: old footers, damage, and pages that the sizes in
the footer leave out. One more has a count that looks like a position.

Source of the layout: "Embedding User-Defined Indexes in Apache Parquet Files", Apache DataFusion.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import starmap
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.compact.scan import StructKind, StructSchema, scan
from parquet_bloomwriter.errors import MalformedFile
from parquet_bloomwriter.kernels.layout import BINARY, I32, I64, LIST, STOP, STRUCT
from parquet_bloomwriter.metadata.fields import PAGE_OFFSETS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from parquet_bloomwriter.metadata import Footer
    from parquet_bloomwriter.rewrite.old_layout import Layout

_VALUE = 1
_KEY_VALUES = StructSchema.of(
    {
        "FileMetaData": StructKind(
            slots={4: (_VALUE + 1, LIST), 5: (_VALUE + 2, LIST)},
            children={4: "RowGroup", 5: "KeyValue"},
        ),
        "KeyValue": StructKind(slots={2: (_VALUE, BINARY)}),
        "RowGroup": StructKind(slots={1: (_VALUE + 1, LIST)}, children={1: "ColumnChunk"}),
        "ColumnChunk": StructKind(slots={3: (_VALUE + 1, STRUCT)}, children={3: "ColumnMetaData"}),
        "ColumnMetaData": StructKind(slots={8: (_VALUE + 1, LIST)}, children={8: "KeyValue"}),
    }
)
"""Schema of the values of the key-value metadata of a file and of its column chunks."""

_FILE_OFFSET, _META_DATA, _TYPE, _CODEC, _NUM_VALUES, _DATA_PAGE_OFFSET = range(1, 7)
_COPY = StructSchema.of(
    {
        "ColumnChunk or ColumnMetaData": StructKind(
            slots={
                1: (_TYPE, I32),
                2: (_FILE_OFFSET, I64),
                3: (_META_DATA, STRUCT),
                4: (_CODEC, I32),
                5: (_NUM_VALUES, I64),
                9: (_DATA_PAGE_OFFSET, I64),
            }
        )
    }
)
_COPIES = ({_FILE_OFFSET, _META_DATA}, {_TYPE, _CODEC, _NUM_VALUES, _DATA_PAGE_OFFSET})
"""Required fields of the two structs that writers copy behind a column chunk."""

_NUMBER = re.compile(rb"(?<![\w.+/-])\d{1,19}(?![\w.+/=-])")
_FEWEST_DIGITS = 4
"""Fewest digits of a number within a text that may be a position: hours and codes have fewer."""

_HEXADECIMAL = re.compile(rb"(?<![\w.+/-])(?:0[xX])?([0-9a-fA-F]{4,16})(?![\w.+/=-])")

_MAGIC_BYTES = 4
_PIECE = 1024 * 1024
"""Bytes that are checked for zeros at once."""


def why_not_shift(layout: Layout, first: int) -> str | None:
    """Return why the bytes from a position on should not be moved, or None.

    Args:
        layout: The file.
        first: Absolute position of the first byte that would move.
    """
    gaps = [(start, stop) for start, stop in _gaps(layout) if stop > first]
    for (start, stop), head in zip(gaps, _heads(layout, gaps), strict=True):
        if not _is_known(layout, start, stop, head):
            return (
                f"the {stop - start} bytes at byte {start} belong to no part of the file that this "
                "version knows, and may be an index that is found by its position"
            )
    footer = layout.footer
    pages = footer.chunks.values[..., PAGE_OFFSETS].ravel().tolist()
    edges = {*layout.units.starts.tolist(), *pages}
    for value in _values(footer):
        for match in _NUMBER.finditer(value):
            number = int(match[0])
            is_whole = match[0] == value.strip()
            is_edge = len(match[0]) >= _FEWEST_DIGITS and number in edges
            if first <= number <= footer.start and (is_whole or is_edge):
                return f"the key-value metadata has {number}, which may be a position in the file"
    return None


def leads_to_index(layout: Layout, first: int) -> bool:
    """Return whether the key-value metadata points to bytes without an owner behind a position.

    The numbers may be decimal or hexadecimal.

    `why_not_shift` asks for less. Where filters were put before an index in spite of a warning, the
    numbers lead elsewhere now, and taking these filters out again makes the numbers right.
    """
    gaps = [(start, stop) for start, stop in _gaps(layout) if start >= first]
    if not gaps:
        return False
    values = list(_values(layout.footer))
    numbers = [int(match[0]) for value in values for match in _NUMBER.finditer(value)]
    numbers += [int(match[1], 16) for value in values for match in _HEXADECIMAL.finditer(value)]
    numbers.sort()
    gaps = [
        (start, stop)
        for start, stop in gaps
        if bisect_left(numbers, start) < bisect_left(numbers, stop)
    ]
    return any(
        not _is_known(layout, start, stop, head)
        for (start, stop), head in zip(gaps, _heads(layout, gaps), strict=True)
    )


def _gaps(layout: Layout) -> list[tuple[int, int]]:
    """Return the ranges [start, stop) before the footer that belong to no unit, in order."""
    starts = np.append(layout.units.starts, layout.footer.start)
    stops = np.concatenate(([_MAGIC_BYTES], layout.units.stops))
    are_gaps = stops < starts
    return list(zip(stops[are_gaps].tolist(), starts[are_gaps].tolist(), strict=True))


def _heads(layout: Layout, gaps: Sequence[tuple[int, int]]) -> Iterable[bytes]:
    """Return the first bytes of ranges, as many as a copy of metadata can have.

    The footer has what is copied. From a store, the heads of all ranges are read at once.
    """
    heads = [(start, min(stop, start + len(layout.footer.data))) for start, stop in gaps]
    if layout.read_ranges is not None:
        return layout.read_ranges(heads)
    return starmap(layout.read_at, heads)


def _is_known(layout: Layout, start: int, stop: int, data: bytes) -> bool:
    """Return whether a range, whose first bytes are given, has only zeros and metadata copies."""
    head = start + len(data)
    while data := data.lstrip(b"\0"):
        try:
            table = scan(data, _COPY)
        except MalformedFile:
            return False
        found = set(np.flatnonzero(table.spans[0, :, STOP] >= 0).tolist())
        if not any(required <= found for required in _COPIES):
            return False
        data = data[table.stop :]
    pieces = (layout.read_at(at, min(at + _PIECE, stop)) for at in range(head, stop, _PIECE))
    return not any(piece.strip(b"\0") for piece in pieces)


def _values(footer: Footer) -> Iterator[bytes]:
    """Yield the values of the key-value metadata of the file and of its column chunks."""
    table = scan(footer.data, _KEY_VALUES)
    rows = table.kinds == _KEY_VALUES.names.index("KeyValue")
    stops = table.spans[rows, _VALUE, STOP]
    lengths = table.values[rows, _VALUE]
    for stop, length in zip(stops.tolist(), lengths.tolist(), strict=True):
        if stop >= 0:
            yield footer.data[stop - length : stop]
