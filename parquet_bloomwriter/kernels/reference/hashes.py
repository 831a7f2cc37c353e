"""XXH64 with seed 0; the head of `c/xxh64.c` has its theory.

pyarrow checks arrays and gathers their values. Those of one length become a matrix of bytes, a
value in each row, which is hashed column by column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.kernels.reference.buffers import array, number

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from parquet_bloomwriter.kernels.reference.buffers import Buffer, Int, Part

_P1, _P2, _P3 = map(np.uint64, (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9))
_P4, _P5 = map(np.uint64, (0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5))
_LANES = tuple(np.uint64(n % 2**64) for n in (int(_P1) + int(_P2), int(_P2), 0, -int(_P1)))
"""Initial values of the four accumulators of stripes of 32 bytes."""

_MAX_SLOTS = (2**63 - 1) // 64


def xxh64(data: Buffer) -> int:
    """Return XXH64 with seed 0 of some bytes, an unsigned 64-bit integer."""
    return int(_of_rows(array(data, "data").reshape(1, -1))[0])


def xxh64_fixed(  # noqa: PLR0913, PLR0917  an array is several buffers
    values: Part, width: Int, first: Int, count: Int, valid: Part, hashes: Buffer
) -> int:
    """Hash the valid slots of an array of values of one width.

    Args:
        values: Values of `width` bytes, one behind the other; None if the width is 0.
        width: Bytes.
        first: The first slot, counted from the start of the buffers: the offset of a slice.
        count: Slots.
        valid: Bitmap of the slots that are not null, lowest bit first; None if all are.
        hashes: To be written: a word of 8 bytes for each valid slot. It has room for `count`.

    Returns:
        How many hashes were written.
    """
    import pyarrow as pa

    kind = pa.binary(number(width, "width", 0, 2**31 - 1))
    return _hash_array(kind, first, count, (valid, values), hashes)


def xxh64_variable(  # noqa: PLR0913, PLR0917  as above
    values: Part,
    offsets: Part,
    offset_width: Int,
    first: Int,
    count: Int,
    valid: Part,
    hashes: Buffer,
) -> int:
    """Hash the valid slots of an array of byte strings.

    Args:
        values: The strings, one behind the other.
        offsets: Of the strings in `values`, ascending, one more than there are slots.
        offset_width: Bytes of an offset, 4 or 8.
        first: As for `xxh64_fixed`, as are the following.
        count: Slots.
        valid: Bitmap.
        hashes: To be written.

    Returns:
        How many hashes were written.
    """
    import pyarrow as pa

    kinds = {4: pa.binary(), 8: pa.large_binary()}
    if offset_width not in kinds:
        raise ValueError("offsets have 4 or 8 bytes")
    return _hash_array(kinds[offset_width], first, count, (valid, offsets, values), hashes)


def xxh64_views(  # noqa: PLR0913, PLR0917  as above
    views: Part, buffers: tuple[Part, ...], first: Int, count: Int, valid: Part, hashes: Buffer
) -> int:
    """Hash the valid slots of an array of string or binary views.

    Args:
        views: Of 16 bytes each.
        buffers: What the views of long strings point into.
        first: As for `xxh64_fixed`, as are the following.
        count: Slots.
        valid: Bitmap.
        hashes: To be written.

    Returns:
        How many hashes were written.
    """
    import pyarrow as pa

    if not isinstance(buffers, tuple):
        raise TypeError("buffers must be a tuple")
    return _hash_array(pa.binary_view(), first, count, (valid, views, *buffers), hashes)


def _hash_array(
    kind: pa.DataType, first: Int, count: Int, buffers: tuple[Part, ...], hashes: Buffer
) -> int:
    """Hash the valid slots of an array; return how many hashes were written."""
    import pyarrow as pa

    first, count = number(first, "first", 0, _MAX_SLOTS), number(count, "count", 0, _MAX_SLOTS)
    out = array(hashes, "hashes", np.uint64, writable=True)
    if count > len(out):
        raise ValueError("there is no room for the hashes")
    valid, *others = buffers
    bitmap = None if valid is None else pa.py_buffer(valid)
    parts = [bitmap, *(pa.py_buffer(b"" if part is None else part) for part in others)]
    try:
        values = pa.Array.from_buffers(kind, count, parts, offset=first)
        values.validate(full=True)
    except pa.ArrowException as error:
        raise ValueError(f"the array is not sound: {error}") from error
    values = values.cast(pa.large_binary()).drop_null()
    _, offsets, content = values.buffers()
    content = np.frombuffer(content or b"", np.uint8)
    starts = np.frombuffer(offsets, np.int64, len(values) + 1, 8 * values.offset)
    lengths = np.diff(starts)
    for length in np.unique(lengths).tolist():
        same = np.flatnonzero(lengths == length)
        out[same] = _of_rows(content[starts[same][:, None] + np.arange(length)])
    return len(values)


def _of_rows(rows: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Hash n values of one length, shape (n, bytes)."""
    count, length = rows.shape
    stripes, words, halves = length & -32, length & -8, length & -4
    h = np.full(count, _P5)
    if stripes:
        lanes = [np.full(count, start) for start in _LANES]
        for i, word in enumerate(_columns(rows[:, :stripes], 8)):
            lanes[i % 4] = _round(lanes[i % 4], word)
        h = sum(map(_rotl, lanes, (1, 7, 12, 18)), np.zeros(count, np.uint64))
        for lane in lanes:
            h = (h ^ _round(0, lane)) * _P1 + _P4
    h += np.uint64(length)
    for word in _columns(rows[:, stripes:words], 8):
        h = _rotl(h ^ _round(0, word), 27) * _P1 + _P4
    for half in _columns(rows[:, words:halves], 4):
        h = _rotl(h ^ half * _P1, 23) * _P2 + _P3
    for byte in _columns(rows[:, halves:], 1):
        h = _rotl(h ^ byte * _P5, 11) * _P1
    h = (h ^ h >> np.uint64(33)) * _P2
    h = (h ^ h >> np.uint64(29)) * _P3
    return h ^ h >> np.uint64(32)


def _columns(rows: NDArray[np.uint8], size: int) -> NDArray[np.uint64]:
    """Return the words of `size` bytes of each row, shape (words, n)."""
    return np.ascontiguousarray(rows).view(f"<u{size}").T.astype(np.uint64)


def _rotl(words: NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
    return (words << np.uint64(bits)) | (words >> np.uint64(64 - bits))


def _round(lane: NDArray[np.uint64] | int, words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return _rotl(lane + words * _P2, 31) * _P1
