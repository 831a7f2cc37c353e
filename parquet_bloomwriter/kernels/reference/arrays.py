"""Hashes of the valid slots of Arrow arrays of each shape.

Values of one length are hashed together, as the rows of a matrix of bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, SupportsIndex, TypeAlias

import numpy as np

from parquet_bloomwriter.kernels.reference.buffers import number, taken, taken_or_empty

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from parquet_bloomwriter.kernels.reference.buffers import Buffer

RowHash: TypeAlias = "Callable[[NDArray[np.uint8]], NDArray[np.uint64]]"
"""Takes n values of one length, shape (n, bytes), and returns their hashes, shape (n,)."""

_MAX_SLOTS = (2**63 - 1) // 64
_MAX_WIDTH = 2**31 - 1
_INLINE_BYTES, _VIEW_BYTES = 12, 16
_RUN_BYTES = 1 << 22
"""Bytes that are brought into a matrix at once, about."""


@dataclass(frozen=True, slots=True, eq=False)
class Slots:
    """The arguments that all arrays have, checked."""

    first: int
    count: int
    valid: NDArray[np.bool_] | None
    """Shape (count,); None if all slots are valid."""

    hashes: NDArray[np.uint64]
    """To be written, shape (count or more,)."""

    @classmethod
    def of(
        cls, first: SupportsIndex, count: SupportsIndex, valid: Buffer | None, hashes: Buffer
    ) -> Slots:
        """Check the arguments."""
        first = number(first, "first", 0, _MAX_SLOTS)
        count = number(count, "count", 0, _MAX_SLOTS)
        bitmap = taken_or_empty(valid, "valid")
        out = taken(hashes, "hashes", 8, writable=True).view("<u8")
        if valid is not None and (first + count + 7) // 8 > len(bitmap):
            raise ValueError("the bitmap of valid slots is too short")
        if count > len(out):
            raise ValueError("there is no room for the hashes")
        if valid is None:
            return cls(first, count, None, out)
        bits = np.unpackbits(bitmap[first // 8 : (first + count + 7) // 8], bitorder="little")
        return cls(first, count, bits[first % 8 :][:count] != 0, out)

    def write(self, hashes: NDArray[np.uint64]) -> int:
        """Write the hashes of all slots that are valid; return how many these are."""
        kept = hashes if self.valid is None else hashes[self.valid]
        self.hashes[: len(kept)] = kept
        return len(kept)


def hash_fixed(values: Buffer | None, width: SupportsIndex, slots: Slots, of_rows: RowHash) -> int:
    """Hash values of one width; see `xxh64_fixed`."""
    content = taken_or_empty(values, "values")
    width = number(width, "width", 0, _MAX_WIDTH)
    if width and slots.first + slots.count > len(content) // width:
        raise ValueError("the values are too short")
    rows = content[slots.first * width : (slots.first + slots.count) * width]
    run = max(1, _RUN_BYTES // max(width, 1))
    rows = rows.reshape(slots.count, width)
    parts = [of_rows(rows[i : i + run]) for i in range(0, slots.count, run)]
    return slots.write(np.concatenate([np.empty(0, np.uint64), *parts]))


def hash_variable(
    values: Buffer | None,
    offsets: Buffer | None,
    offset_width: SupportsIndex,
    slots: Slots,
    of_rows: RowHash,
) -> int:
    """Hash byte strings; see `xxh64_variable`."""
    content, raw = taken_or_empty(values, "values"), taken_or_empty(offsets, "offsets")
    width = number(offset_width, "offset_width", 4, 8)
    if width not in {4, 8}:
        raise ValueError("offsets have 4 or 8 bytes")
    if not slots.count:
        return 0
    stop = slots.first + slots.count + 1
    if stop > len(raw) // width:
        raise ValueError("the offsets are too short")
    places = raw[slots.first * width : stop * width].view(f"<u{width}").astype(np.uint64)
    is_outside = (places[1:] < places[:-1]) | (places[1:] > len(content))
    is_outside[0] |= places[0] > len(content)
    if is_outside.any():
        raise ValueError(f"value {int(is_outside.argmax())} is not within its buffer")
    starts = places[:-1].astype(np.int64)
    lengths = places[1:].astype(np.int64) - starts
    hashes = np.empty(slots.count, np.uint64)
    for length in np.unique(lengths).tolist():
        mine = np.flatnonzero(lengths == length)
        run = max(1, _RUN_BYTES // max(length, 1))
        for i in range(0, len(mine), run):
            some = mine[i : i + run]
            hashes[some] = of_rows(content[starts[some, None] + np.arange(length)])
    return slots.write(hashes)


def hash_views(
    views: Buffer | None, buffers: tuple[Buffer | None, ...], slots: Slots, of_rows: RowHash
) -> int:
    """Hash strings behind views; see `xxh64_views`."""
    raw = taken_or_empty(views, "views")
    if not isinstance(buffers, tuple):
        raise TypeError("buffers must be a tuple")
    contents = [taken_or_empty(one, "buffers") for one in buffers]
    if slots.first + slots.count > len(raw) // _VIEW_BYTES:
        raise ValueError("the views are too short")
    words = raw[slots.first * _VIEW_BYTES :][: slots.count * _VIEW_BYTES].view("<u4").reshape(-1, 4)
    valid = np.ones(slots.count, np.bool_) if slots.valid is None else slots.valid
    hashes = np.empty(slots.count, np.uint64)
    for i in np.flatnonzero(valid).tolist():
        length, _, number_, start = words[i].tolist()
        value = words[i, 1:].tobytes()[:length]
        if length > _INLINE_BYTES:
            stop = start + length
            is_inside = length <= _MAX_WIDTH and number_ < len(contents)
            if not is_inside or stop > len(contents[number_]):
                raise ValueError(f"value {i} is not within its buffer")
            value = contents[number_][start:stop].tobytes()
        hashes[i] = of_rows(np.frombuffer(value, np.uint8).reshape(1, length))[0]
    return slots.write(hashes)
