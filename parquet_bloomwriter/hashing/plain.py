"""The PLAIN encoding of one stored value: the bytes that are hashed.

`Sbbf.insert` and `Sbbf.check` encode values here that the caller has converted to the physical
type. The literals of predicates are converted and encoded elsewhere, because a literal may equal
several stored values: see `parquet_bloomwriter.predicate.literals`.

Parquet specification, "Plain: (PLAIN = 0)": fixed-width numbers are little-endian; INT96
is twelve bytes as they are stored. A BYTE_ARRAY is hashed without its 4-byte length
("Bloom Filter", section "Technical Approach"), a FIXED_LEN_BYTE_ARRAY has none.
"""

from __future__ import annotations

import math
import struct

from parquet_bloomwriter.errors import InvalidArgument

_INTEGER_BITS = {"INT32": 32, "INT64": 64}
_FLOAT_FORMAT = {"FLOAT": "<f", "DOUBLE": "<d"}
_INT96_BYTES = 12

_TYPES = ("INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
"""Physical types that have Bloom filters."""


def plain_bytes(
    value: float | str | bytes,
    physical_type: str,
    *,
    type_length: int | None = None,
) -> bytes:
    """Encode one value as a column of the physical type stores it.

    Integers may be given signed or unsigned, as long as they fit the width. A FLOAT is
    rounded to the nearest float32. Text is encoded as UTF-8.

    Args:
        value: The value, already converted from the logical to the physical type.
        physical_type: Its name in the Parquet specification, such as "INT32".
        type_length: Bytes of a FIXED_LEN_BYTE_ARRAY; checked if given.

    Raises:
        InvalidArgument: If the value cannot be stored in such a column, or the type
            carries no Bloom filter (BOOLEAN).
    """
    if isinstance(value, bool):
        raise InvalidArgument("BOOLEAN columns carry no Bloom filter, and no other stores booleans")
    if physical_type in _INTEGER_BITS and isinstance(value, int):
        return _integer(value, _INTEGER_BITS[physical_type])
    if physical_type in _FLOAT_FORMAT and isinstance(value, int | float):
        return _float(value, _FLOAT_FORMAT[physical_type])
    if physical_type == "BYTE_ARRAY" and isinstance(value, str | bytes):
        return _text(value)
    if physical_type == "FIXED_LEN_BYTE_ARRAY" and isinstance(value, str | bytes):
        return _sized(_text(value), type_length)
    if physical_type == "INT96" and isinstance(value, bytes):
        return _sized(value, _INT96_BYTES)
    if physical_type not in _TYPES:
        raise InvalidArgument(
            f"there is no physical type {physical_type!r} that has Bloom filters",
            remedy=f"Name one of {', '.join(_TYPES)}.",
        )
    raise InvalidArgument(f"{value!r} is not a value of a column of type {physical_type}")


def equal_plains(plain: bytes, physical_type: str) -> tuple[bytes, ...]:
    """Return the PLAIN bytes that a filter must contain for readers to find one stored value.

    `x = 0.0` finds -0.0 too, though their bytes differ, and readers may look up any NaN as the
    canonical one. So a zero comes with the other zero, and a NaN with the canonical NaN.

    Args:
        plain: The stored value.
        physical_type: Its name in the Parquet specification; of types other than "FLOAT" and
            "DOUBLE" the value is returned alone.
    """
    layout = _FLOAT_FORMAT.get(physical_type)
    if layout is None:
        return (plain,)
    (value,) = struct.unpack(layout, plain)
    if value == 0:
        return struct.pack(layout, 0.0), struct.pack(layout, -0.0)
    if math.isnan(value):
        return plain, struct.pack(layout, math.nan)
    return (plain,)


def _integer(value: int, bits: int) -> bytes:
    if not -(1 << (bits - 1)) <= value < 1 << bits:
        raise InvalidArgument(f"{value} does not fit {bits} bits")
    return (value % (1 << bits)).to_bytes(bits // 8, "little")


def _float(value: float, layout: str) -> bytes:
    try:
        return struct.pack(layout, value)
    except (OverflowError, struct.error) as error:
        raise InvalidArgument(f"{value} does not fit a floating-point column") from error


def _text(value: str | bytes) -> bytes:
    try:
        return value.encode() if isinstance(value, str) else value
    except UnicodeEncodeError as error:
        raise InvalidArgument(f"{value!r} is not valid Unicode") from error


def _sized(value: bytes, length: int | None) -> bytes:
    if length is not None and len(value) != length:
        raise InvalidArgument(f"the value has {len(value)} bytes, the column {length}")
    return value
