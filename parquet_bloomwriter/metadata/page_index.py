"""The positions inside an OffsetIndex, the part of the page index that refers to pages.

    struct OffsetIndex { 1: list<PageLocation>, 2: optional list<i64> }
    struct PageLocation { 1: i64 offset, 2: i32 compressed_page_size, 3: i64 first_row_index }

When pages move, only the varints of `offset` are rewritten; the rest stays byte for byte. An
offset of -1 (some writers' mark of an empty page) stays, too. A ColumnIndex holds no positions.

Source: the Parquet format's PageIndex.md; parquet.thrift.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloomwriter.compact.scan import scan
from parquet_bloomwriter.compact.varint import encode_zigzag, zigzag_widths
from parquet_bloomwriter.errors import MalformedFile
from parquet_bloomwriter.kernels.layout import START
from parquet_bloomwriter.metadata.fields import OFFSET_INDEX, PageLocationField
from parquet_bloomwriter.metadata.patch import Edit, apply_edits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from parquet_bloomwriter.metadata.patch import Move


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OffsetIndex:
    """An OffsetIndex of a file."""

    start: int
    """Absolute position in the file, bytes."""

    data: bytes
    """Bytes of the OffsetIndex, Thrift compact."""

    offsets: NDArray[np.int64]
    """Absolute position of each of the n pages, shape (n,)."""

    spans: NDArray[np.int32]
    """Start and stop in `data` of the bytes of each offset, shape (n, 2)."""

    is_movable: bool
    """Whether all its offsets are known, and can be rewritten and restored."""

    @property
    def stop(self) -> int:
        """Absolute position past the last byte."""
        return self.start + len(self.data)

    def length_after(self, move: Move) -> int:
        """Return the length in bytes after its pages have moved."""
        before, after = self._real(), move(self._real())
        return len(self.data) + int((zigzag_widths(after) - zigzag_widths(before)).sum())

    def moved(self, move: Move) -> bytes:
        """Return the bytes after its pages have moved."""
        new = move(self.offsets)
        changed = new != self.offsets
        edits = [
            Edit(start, stop, encode_zigzag(position))
            for (start, stop), position in zip(
                self.spans[changed].tolist(), new[changed].tolist(), strict=True
            )
        ]
        return apply_edits(self.data, edits)

    def _real(self) -> NDArray[np.int64]:
        return self.offsets[self.offsets > 0]


def parse_offset_index(data: bytes, *, start: int) -> OffsetIndex:
    """View the OffsetIndex `data`, which begins at byte `start` of its file.

    Raises:
        MalformedFile: If the bytes are not exactly one OffsetIndex.
    """
    table = scan(data, OFFSET_INDEX, origin=start)
    if table.stop != len(data):
        raise MalformedFile("the OffsetIndex does not fill its length", byte=start)
    pages = table.kinds == OFFSET_INDEX.names.index("PageLocation")
    offsets = table.values[pages, PageLocationField.OFFSET]
    spans = table.spans[pages][:, PageLocationField.OFFSET, START:]
    real = offsets > 0
    shortest = spans[real, 1] - spans[real, 0] == zigzag_widths(offsets[real])
    unknown = table.spans[:, PageLocationField.UNKNOWN, 0] >= 0
    return OffsetIndex(
        start=start,
        data=data,
        offsets=offsets,
        spans=spans,
        is_movable=bool(shortest.all() and not unknown.any()),
    )
