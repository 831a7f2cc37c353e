"""MurmurHash3 as the drafts of the specification take it, by the package `mmh3`.

The drafts take the first 8 of the 16 bytes of MurmurHash3_x64_128, as a little-endian integer. The
32 bits of its upper half are returned in reverse order, as `sbbf.murmur` needs them.

`mmh3` hashes one value at a call, and holds the interpreter lock. A million values of up to 200
bytes take about half a second, some fifty times as long as XXH64, which has a kernel. Only filters
of the drafts need it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

_SWAPS = ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF), (16, 0x0000FFFF))
"""Steps that reverse 32 bits: the distance of two bits, and a mask of the lower bits."""


def murmur3_of_one(plain: bytes, seed: int) -> int:
    """Return the hash of one value's PLAIN bytes.

    Args:
        plain: The bytes.
        seed: 0 to 2**32 - 1.
    """
    return int(_hashes([plain], seed)[0])


def murmur3_of_array(array: pa.Array, seed: int) -> NDArray[np.uint64]:
    """Return the hashes of the non-null values of an array, in order.

    Args:
        array: As `hash_array` takes it, but no dictionary.
        seed: 0 to 2**32 - 1.

    Returns:
        Shape (number of non-null values,), uint64.
    """
    valid = array.drop_null() if array.null_count else array
    return _hashes(_values(valid) if len(valid) else (), seed)


def _values(array: pa.Array) -> Iterator[bytes]:
    """Yield the stored bytes of each value of an array that has values and no nulls."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_primitive(array.type):
        kind = pa.binary(array.type.byte_width)
        buffers = [None, array.buffers()[1]]
        array = pa.Array.from_buffers(kind, len(array), buffers, offset=array.offset)
    array = array.cast(pa.large_binary())
    _, offsets, values = array.buffers()
    bounds = np.frombuffer(offsets, np.int64)[array.offset :][: len(array) + 1]
    start, stop = bounds[[0, -1]].tolist()
    stored = b"" if values is None else values.slice(start, stop - start).to_pybytes()
    return (stored[one:other] for one, other in pairwise((bounds - start).tolist()))


def _hashes(values: Iterable[bytes], seed: int) -> NDArray[np.uint64]:
    from mmh3 import mmh3_x64_128_digest

    digests = b"".join([mmh3_x64_128_digest(value, seed) for value in values])
    hashes = np.frombuffer(digests, "<u8")[::2].astype(np.uint64)
    return _reverse_upper(hashes)


def _reverse_upper(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Reverse the order of the bits 32 to 63 of each hash."""
    upper = hashes >> np.uint64(32)
    for distance, mask in _SWAPS:
        bits, low = np.uint64(distance), np.uint64(mask)
        upper = (upper & low) << bits | upper >> bits & low
    return upper << np.uint64(32) | hashes & np.uint64(0xFFFFFFFF)
