"""Zigzag varints, as Thrift compact protocol writes integers: `n -> 2n`, 7 bits a byte, low first.

Source: Apache Thrift, "Thrift Compact protocol encoding".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LOW_BITS, _MORE = 0x7F, 0x80
_WIDTH_LIMITS = np.array([1 << (7 * k - 1) for k in range(1, 10)], np.int64)
"""Smallest non-negative number that no longer fits into k bytes, k = 1..9."""


def encode_zigzag(number: int) -> bytes:
    """Encode a signed 64-bit integer, 1 to 10 bytes."""
    rest = (number << 1) ^ (number >> 63)
    out = bytearray()
    while rest > _LOW_BITS:
        out.append(rest & _LOW_BITS | _MORE)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def zigzag_widths(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the length of each number, an integer of zero or above, as a zigzag varint, bytes."""
    return np.searchsorted(_WIDTH_LIMITS, numbers, side="right") + 1
