"""The PLAIN bytes of values as pyarrow reads them logically, worked out type by type."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pyarrow as pa

from parquet_bloomwriter.metadata import PhysicalType

if TYPE_CHECKING:
    from parquet_bloomwriter.metadata import Leaf

JULIAN_DAY_OF_1970 = 2_440_588
_DAY = 86_400 * 10**9


def stored(array: pa.Array, leaf: Leaf) -> list[bytes]:
    """PLAIN bytes of the values that are not null."""
    array = array.drop_null()
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    match leaf.physical_type:
        case PhysicalType.INT32:
            return [struct.pack("<I", n & 0xFFFFFFFF) for n in _integers(array, 32)]
        case PhysicalType.INT64:
            return [struct.pack("<Q", n & (2**64 - 1)) for n in _integers(array, 64)]
        case PhysicalType.FLOAT | PhysicalType.DOUBLE:
            return physical(array)  # Python's floats do not keep every bit of a NaN.
        case PhysicalType.INT96:
            return [_int96(n) for n in array.cast(pa.timestamp("ns")).cast(pa.int64()).to_pylist()]
        case PhysicalType.BYTE_ARRAY:
            return _bytes(array)
    return _fixed(array, leaf.type_length or 0)


def _integers(array: pa.Array, bits: int) -> list[int]:
    if pa.types.is_decimal(array.type):
        return [int(x.scaleb(array.type.scale)) for x in array.to_pylist()]
    if pa.types.is_date(array.type) or pa.types.is_time32(array.type):
        return list(array.cast(pa.int32()).to_pylist())
    if pa.types.is_temporal(array.type):
        return list(array.cast(pa.int64()).to_pylist())
    assert array.type.bit_width <= bits
    return list(array.to_pylist())


def _bytes(array: pa.Array) -> list[bytes]:
    values = array.to_pylist()
    return [value.encode() if isinstance(value, str) else value for value in values]


def _fixed(array: pa.Array, width: int) -> list[bytes]:
    if pa.types.is_decimal(array.type):
        unscaled = (int(x.scaleb(array.type.scale)) for x in array.to_pylist())
        return [n.to_bytes(width, "big", signed=True) for n in unscaled]
    if pa.types.is_float16(array.type):
        return physical(array)
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    return list(array.to_pylist())


def _int96(nanoseconds: int) -> bytes:
    days, rest = divmod(nanoseconds, _DAY)
    return struct.pack("<QI", rest, days + JULIAN_DAY_OF_1970)


def physical(array: pa.Array) -> list[bytes]:
    """The same bytes from an array of a physical type, straight from its memory."""
    array = array.drop_null()
    if pa.types.is_binary(array.type) or pa.types.is_large_binary(array.type):
        return list(array.to_pylist())
    width = array.type.bit_width // 8
    data = array.buffers()[1].to_pybytes()[array.offset * width :][: len(array) * width]
    return [data[i : i + width] for i in range(0, len(data), width)]
