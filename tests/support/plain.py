"""Arrow values of a Parquet column back to the PLAIN bytes they were stored as.

This is the opposite way to the package under test, which has pyarrow read physical values: here
pyarrow reads logical values, and they are encoded by parquet.thrift's and LogicalTypes.md's rules.
Where Arrow's value does not tell the stored one (decimals as BYTE_ARRAY), the answer is None.
INT96 beyond the range of nanoseconds wraps around in Arrow; callers must know it out of the way.
"""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow.parquet as pq

_JULIAN_EPOCH = 2_440_588
_NANOS_PER_DAY = 86_400_000_000_000
_NANOS = {"seconds": 10**9, "milliseconds": 10**6, "microseconds": 10**3, "nanoseconds": 1}
_ARROW_NANOS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def leaf_arrays(array: pa.Array) -> Iterator[pa.Array]:
    """Yield the leaves of a column in Parquet's order, without nulls."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_struct(array.type):
        for child in array.flatten():
            yield from leaf_arrays(child)
    elif pa.types.is_map(array.type):
        entry = pa.struct([("key", array.type.key_type), ("value", array.type.item_type)])
        yield from leaf_arrays(array.cast(pa.list_(entry)))
    elif isinstance(array, pa.ListArray | pa.LargeListArray | pa.FixedSizeListArray):
        yield from leaf_arrays(array.flatten())
    else:
        yield array.drop_null()


def plain_values(array: pa.Array, column: pq.ColumnSchema) -> list[bytes] | None:
    """PLAIN bytes of values without nulls; None if they cannot be told.

    Args:
        array: A leaf's values as pyarrow reads them.
        column: The leaf in the file's schema.
    """
    physical = column.physical_type
    if physical in ("INT32", "INT64"):
        width = 4 if physical == "INT32" else 8
        numbers = _integers(array, column)
        return None if numbers is None else [_wrapped(n, width) for n in numbers]
    if physical in ("FLOAT", "DOUBLE"):
        code, dtype = ("<f", pa.float32()) if physical == "FLOAT" else ("<d", pa.float64())
        if array.type != dtype:
            return None
        return _words(array, struct.calcsize(code))
    if physical == "INT96":
        return _int96(array)
    if physical in ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"):
        return _bytes(array, column)
    return None


def _wrapped(number: int, width: int) -> bytes:
    return (number % (1 << 8 * width)).to_bytes(width, "little")


def _words(array: pa.Array, width: int) -> list[bytes]:
    """Fixed-width values as they lie in memory: NaNs keep their bits."""
    data = array.buffers()[1]
    raw = bytes(memoryview(data)[array.offset * width : (array.offset + len(array)) * width])
    return [raw[i : i + width] for i in range(0, len(raw), width)]


def _integers(array: pa.Array, column: pq.ColumnSchema) -> list[int] | None:
    kind = array.type
    if pa.types.is_decimal(kind):
        return None if kind.scale != column.scale else [_unscaled(v) for v in _decimals(array)]
    factor, divisor = 1, 1
    if pa.types.is_time(kind) or pa.types.is_timestamp(kind):
        unit = json.loads(column.logical_type.to_json()).get("timeUnit")
        factor, divisor = _ARROW_NANOS[kind.unit], _NANOS.get(unit, 0)
    elif not (pa.types.is_integer(kind) or pa.types.is_date32(kind) or pa.types.is_duration(kind)):
        return None
    if not divisor:
        return None
    whole = array if pa.types.is_integer(kind) else array.cast(f"int{kind.bit_width}")
    return [number * factor // divisor for number in whole.to_pylist()]


def _decimals(array: pa.Array) -> list[bytes]:
    return _words(array, array.type.byte_width)


def _unscaled(word: bytes) -> int:
    return int.from_bytes(word, "little", signed=True)


def _int96(array: pa.Array) -> list[bytes] | None:
    if not pa.types.is_timestamp(array.type) or array.type.unit != "ns":
        return None
    split = (divmod(n, _NANOS_PER_DAY) for n in array.cast(pa.int64()).to_pylist())
    return [struct.pack("<qI", nanos, days + _JULIAN_EPOCH) for days, nanos in split]


def _bytes(array: pa.Array, column: pq.ColumnSchema) -> list[bytes] | None:
    kind = array.type
    if pa.types.is_decimal(kind):
        if column.physical_type != "FIXED_LEN_BYTE_ARRAY" or kind.scale != column.scale:
            return None
        return [_unscaled(v).to_bytes(column.length, "big", signed=True) for v in _decimals(array)]
    if pa.types.is_float16(kind):
        return _words(array, 2)
    if kind in (pa.string(), pa.string_view()):
        array = array.cast(pa.large_string())
    if array.type in (pa.large_string(), pa.binary(), pa.binary_view()):
        array = array.cast(pa.large_binary())
    known = array.type == pa.large_binary() or pa.types.is_fixed_size_binary(array.type)
    return list(array.to_pylist()) if known else None
