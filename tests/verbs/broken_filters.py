"""Files whose filters are replaced by others, or damaged, byte by byte."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloomwriter.metadata.patch import apply_edits, bloom_edit
from tests.support import compact
from tests.verbs.files import footer_of

if TYPE_CHECKING:
    from parquet_bloomwriter.rewrite.plan import Chunk


def with_filter(data: bytes, chunk: Chunk, filter_: bytes, *, length: int | None = None) -> bytes:
    """The same file with another filter for a column chunk, right before the footer.

    `length` is what the footer says; its real length by default.
    """
    footer = footer_of(data)
    place = (footer.start, len(filter_) if length is None else length)
    edited = apply_edits(footer.data, [bloom_edit(footer, *chunk, place)])
    tail = len(edited).to_bytes(4, "little") + b"PAR1"
    return data[: footer.start] + filter_ + edited + tail


def with_bytes(data: bytes, start: int, new: bytes) -> bytes:
    """The same file with other bytes at a position."""
    return data[:start] + new + data[start + len(new) :]


def bitset_span(data: bytes, chunk: Chunk) -> tuple[int, int]:
    """Absolute positions of a bitset, by Thrift's own reading of footer and header."""
    offset, _ = compact.filters_of(compact.footer_of(data))[chunk]
    header, header_length = compact.decode(data[offset : offset + 64])
    return offset + header_length, offset + header_length + header[1]


def with_zeros(data: bytes, chunk: Chunk) -> bytes:
    """The same file with all bits of a filter cleared."""
    start, stop = bitset_span(data, chunk)
    return with_bytes(data, start, bytes(stop - start))


def without_bit(data: bytes, chunk: Chunk, which: int) -> bytes:
    """The same file with one of the bits cleared that are set in a filter; `which` counts them."""
    start, stop = bitset_span(data, chunk)
    bits = int.from_bytes(data[start:stop], "little")
    places = [place for place in range(8 * (stop - start)) if bits >> place & 1]
    place = places[which % len(places)]
    at = start + place // 8
    return with_bytes(data, at, bytes([data[at] & ~(1 << place % 8)]))
