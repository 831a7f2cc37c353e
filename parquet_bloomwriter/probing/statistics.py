"""Minimum, maximum and null count of column chunks, decoded as far as they can be trusted.

`evaluation` compares them with the keys of a predicate. The rules, and what writers made of them:

- `min_value` and `max_value` follow the column's order only if the file has `column_orders` and the
  column's is TypeDefinedOrder. Without that, only those of signed and floating-point numbers are
  used: all writers have compared these in the same way.
- `min` and `max` are deprecated: writers compared them as signed. They are used for signed and
  floating-point numbers only.
- INT96, INTERVAL and unknown types have no order (`predicate.literals.domain`).
- Bounds of bytes may be truncated: a maximum is then a prefix, incremented; some writers forget to
  increment. So a value that begins with the maximum is not taken to be beyond it.
- A minimum or maximum that is NaN tells nothing. Bounds say nothing about NaN among the values.
- Early versions of parquet-rs compared unsigned numbers and decimals as signed.
- A missing `null_count` does not mean 0. Nor does 0 from parquet-cpp (pyarrow) in a column below an
  optional or repeated field: of a dictionary array, it counts the array's own nulls, but not those
  of the fields above.
- Of dictionary arrays of text and bytes (R's factors, pandas' categories), pyarrow before 6 wrote a
  `null_count` of 0, and pyarrow 6 to 10 wrote the bounds and the nulls of the first batch of a row
  group only. Nothing in the footer tells such a column from others, so the bounds of BYTE_ARRAY
  columns from these versions are not used, nor is their 0.

Source: parquet.thrift, Statistics and ColumnOrder; github.com/apache/arrow, issue 15042 and
pull request 10729.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from parquet_bloomwriter.caches import register
from parquet_bloomwriter.compact.scan import StructKind, StructSchema, scan
from parquet_bloomwriter.errors import MalformedFile
from parquet_bloomwriter.kernels.layout import STRUCT
from parquet_bloomwriter.metadata import PhysicalType, Repetition
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.predicate.bound import Order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_bloomwriter.metadata import Leaf

BOUND_FIELDS = (
    ChunkField.MIN_VALUE,
    ChunkField.MAX_VALUE,
    ChunkField.DEPRECATED_MIN,
    ChunkField.DEPRECATED_MAX,
)
"""Fields of a column chunk whose bytes `decode_bounds` reads, in this order."""

_ALWAYS_CLEAR = (Order.SIGNED, Order.FLOATING, Order.BOOLEAN)
"""Orders that all writers have followed."""

_DTYPES = {
    (PhysicalType.INT32, Order.SIGNED): "<i4",
    (PhysicalType.INT64, Order.SIGNED): "<i8",
    (PhysicalType.INT32, Order.UNSIGNED): "<u4",
    (PhysicalType.INT64, Order.UNSIGNED): "<u8",
    (PhysicalType.FLOAT, Order.FLOATING): "<f4",
    (PhysicalType.DOUBLE, Order.FLOATING): "<f8",
    (PhysicalType.FIXED_LEN_BYTE_ARRAY, Order.FLOATING): "<f2",
    (PhysicalType.BOOLEAN, Order.BOOLEAN): "u1",
}
_KEY_DTYPES = {"i": np.int64, "u": np.uint64, "f": np.float64}

_PARQUET_CPP = re.compile(rb"parquet-cpp(?:-arrow version (\d+)\.)?")
_FIRST_BATCH_ONLY = range(6, 11)

_EARLY_PARQUET_RS = re.compile(rb"parquet-rs version (\d+)\.")
_FIRST_GOOD_PARQUET_RS = 20

_COLUMN_ORDERS = StructSchema.of(
    {
        "Orders": StructKind(slots={}, children={1: "ColumnOrder"}, ignored=(1,)),
        "ColumnOrder": StructKind(slots={1: (1, STRUCT)}, unknown_slot=2),
    }
)


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """Least and greatest value of n column chunks, shape (n,) each.

    Keys are those of `predicate.bound`: int64, uint64 or float64, or objects for bytes and for
    decimals stored in bytes.
    """

    low: NDArray[Any]
    high: NDArray[Any]
    known: NDArray[np.bool_]
    """Whether `low` and `high` of each chunk are valid, shape (n,)."""

    @classmethod
    def unknown(cls, count: int) -> Bounds:
        """Return the bounds of `count` chunks without known bounds."""
        nothing = np.zeros(count, np.int64)
        return cls(nothing, nothing, np.zeros(count, np.bool_))


def decode_bounds(  # noqa: PLR0913  all that decides how bytes are read
    leaf: Leaf,
    order: Order | None,
    data: bytes,
    stops: NDArray[np.int64],
    lengths: NDArray[np.int64],
    *,
    created_by: bytes,
    has_type_order: bool,
) -> Bounds:
    """Decode the bounds of n column chunks of one leaf.

    Args:
        leaf: The column.
        order: How its values compare.
        data: Footers of the same writer, one after the other.
        stops: Positions in `data` past the bytes of each of `BOUND_FIELDS`, shape (n, 4).
        lengths: Number of those bytes, `ABSENT` where a field is not set, shape (n, 4).
        created_by: The writer.
        has_type_order: Whether `column_orders` gives the column TypeDefinedOrder.
    """
    if order is None:
        return Bounds.unknown(len(stops))
    is_clear = order in _ALWAYS_CLEAR
    if not is_clear and (not has_type_order or _compares_wrongly(created_by)):
        return Bounds.unknown(len(stops))
    if _is_text(leaf) and _parquet_cpp_version(created_by) in _FIRST_BATCH_ONLY:
        return Bounds.unknown(len(stops))
    if is_clear:
        has_new = (lengths[:, 0] >= 0) & (lengths[:, 1] >= 0)
        if not has_new.all():
            stops = np.where(has_new[:, None], stops[:, :2], stops[:, 2:])
            lengths = np.where(has_new[:, None], lengths[:, :2], lengths[:, 2:])
    layout = _DTYPES.get((leaf.physical_type, order))
    if layout is not None:
        return _numbers(np.dtype(layout), data, stops[:, :2], lengths[:, :2])
    return _objects(leaf, order, data, stops[:, :2], lengths[:, :2])


@lru_cache(maxsize=64)
def type_ordered(column_orders: bytes) -> tuple[bool, ...]:
    """Return for each leaf whether its order is TypeDefinedOrder; empty without `column_orders`.

    Args:
        column_orders: Field 7 of FileMetaData, a list as Thrift compact bytes; b"" if absent.
    """
    if not column_orders:
        return ()
    try:
        table = scan(b"\x19" + column_orders + b"\x00", _COLUMN_ORDERS)
    except MalformedFile:  # The scan of the footer saw a list, but perhaps not of unions.
        return ()
    return tuple((table.spans[table.kinds == 2, 1, 0] >= 0).tolist())  # noqa: PLR2004  ColumnOrder


register(type_ordered.cache_clear)


def null_counts(values: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return `null_count` of n chunks, -1 where it is absent or impossible."""
    return np.where((counts >= 0) & (counts <= values), counts, -1)


def may_count_too_few_nulls(leaf: Leaf, created_by: bytes) -> bool:
    """Return whether a writer may have left nulls out of `null_count`, of dictionary arrays."""
    version = _parquet_cpp_version(created_by)
    if version is None:
        return False
    is_below = any(repetition is not Repetition.REQUIRED for repetition in leaf.repetitions[:-1])
    return is_below or (_is_text(leaf) and version < _FIRST_BATCH_ONLY.stop)


def _is_text(leaf: Leaf) -> bool:
    """Return whether parquet-cpp writes dictionary arrays of a column without decoding them."""
    return leaf.physical_type == PhysicalType.BYTE_ARRAY


def _parquet_cpp_version(created_by: bytes) -> int | None:
    """Return the version of Arrow, 0 for parquet-cpp before it was a part of Arrow."""
    found = _PARQUET_CPP.match(created_by)
    return int(found[1] or 0) if found else None


def _compares_wrongly(created_by: bytes) -> bool:
    found = _EARLY_PARQUET_RS.match(created_by)
    return found is not None and int(found[1]) < _FIRST_GOOD_PARQUET_RS


def _numbers(
    dtype: np.dtype[Any], data: bytes, stops: NDArray[np.int64], lengths: NDArray[np.int64]
) -> Bounds:
    width = dtype.itemsize
    known: NDArray[np.bool_] = np.logical_and.reduce(lengths == width, axis=1)
    starts = stops - width
    starts[~known] = 0
    places = starts[..., None] + np.arange(width)
    stored = np.frombuffer(data, np.uint8)[places].view(dtype)[..., 0]
    keys = _widened(stored)
    low, high = keys[:, 0], keys[:, 1]
    return Bounds(low, high, known & (low <= high))  # False if either is NaN.


def _widened(stored: NDArray[Any]) -> NDArray[Any]:
    """Return stored numbers in the dtype of keys."""
    if stored.dtype.kind != "f":
        return stored.astype(_KEY_DTYPES[stored.dtype.kind])
    with np.errstate(invalid="ignore"):  # Signalling NaNs are nothing special here.
        return stored.astype(np.float64)


def _objects(
    leaf: Leaf, order: Order, data: bytes, stops: NDArray[np.int64], lengths: NDArray[np.int64]
) -> Bounds:
    low = np.full(len(stops), None, object)
    high = low.copy()
    is_whole = lengths >= 0
    if order is Order.BIG_ENDIAN:
        is_fixed = leaf.physical_type == PhysicalType.FIXED_LEN_BYTE_ARRAY
        is_whole = lengths == (leaf.type_length or 0) if is_fixed else lengths > 0
    known: NDArray[np.bool_] = np.all(is_whole, axis=1)
    for row in np.flatnonzero(known).tolist():
        pair = [
            data[stop - length : stop]
            for stop, length in zip(stops[row].tolist(), lengths[row].tolist(), strict=True)
        ]
        if order is Order.BIG_ENDIAN:
            low[row], high[row] = (int.from_bytes(one, signed=True) for one in pair)
        else:
            low[row], high[row] = pair
        known[row] = low[row] <= high[row]
    return Bounds(low, high, known)
