"""Literals of any type -> keys of one column, and keys -> the PLAIN bytes that filters know.

What a literal means depends on the column's type: `numbers`, `moments` and `texts` say how. The
rule for all of them: a row for which any common reader finds the comparison true must not be lost.
Where readers differ in more than a few keys, or where it is not known what they do, nothing is
said.

Source: Parquet specification, "Plain: (PLAIN = 0)".

How the values of a column compare, by its type.

Source: parquet.thrift, ColumnOrder: signed, unsigned, unsigned byte by byte, or undefined.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from parquet_bloomwriter.metadata import PhysicalType
from parquet_bloomwriter.metadata.logical_types import Kind, type_of
from parquet_bloomwriter.predicate.bound import Order
from parquet_bloomwriter.predicate.literals.binary import (
    place_boolean,
    place_bytes,
    place_text,
    place_uuid,
)
from parquet_bloomwriter.predicate.literals.numbers import (
    limits_of_decimal,
    limits_of_integer,
    place_decimal,
    place_floating,
    place_integer,
)
from parquet_bloomwriter.predicate.literals.range import Spot, Unclear
from parquet_bloomwriter.predicate.literals.temporal import (
    int96_bytes,
    place_date,
    place_int96,
    place_time,
    place_timestamp,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from parquet_bloomwriter.metadata import Leaf
    from parquet_bloomwriter.metadata.logical_types import ColumnType
    from parquet_bloomwriter.predicate.expression import Value

_ORDERS: Final = {
    Kind.FLOATING: Order.FLOATING,
    Kind.BOOLEAN: Order.BOOLEAN,
    Kind.TEXT: Order.BYTES,
    Kind.BINARY: Order.BYTES,
    Kind.UUID: Order.BYTES,
    Kind.DATE: Order.SIGNED,
    Kind.TIME: Order.SIGNED,
    Kind.TIMESTAMP: Order.SIGNED,
}
_INTEGERS = (PhysicalType.INT32, PhysicalType.INT64)


def order_of(leaf: Leaf) -> Order | None:
    """How the column's values compare; None if no order is defined, or none that is known here."""
    column = type_of(leaf)
    if column.kind is Kind.INTEGER:
        return Order.SIGNED if column.is_signed else Order.UNSIGNED
    if column.kind is Kind.DECIMAL:
        return Order.SIGNED if leaf.physical_type in _INTEGERS else Order.BIG_ENDIAN
    return _ORDERS.get(column.kind)


Plains = tuple[tuple[bytes, ...], ...]

_MANY = 64
"""Integers from which NumPy is quicker."""

_BYTES = {PhysicalType.INT32: 4, PhysicalType.INT64: 8}
_FORMATS: Final = {16: "<e", 32: "<f", 64: "<d"}
_NO_EQUALITY = Unclear("no equality is known for the column's type")
_PLACES: Final[dict[Kind, Callable[[ColumnType, Value], Spot | Unclear]]] = {
    Kind.INTEGER: place_integer,
    Kind.DECIMAL: place_decimal,
    Kind.FLOATING: place_floating,
    Kind.BOOLEAN: place_boolean,
    Kind.TEXT: place_text,
    Kind.UUID: place_uuid,
    Kind.DATE: place_date,
    Kind.TIME: place_time,
    Kind.TIMESTAMP: place_timestamp,
    Kind.INT96: place_int96,
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Domain:
    """The keys of one column, and where literals fall among them."""

    leaf: Leaf
    order: Order | None
    place: Callable[[Value], Spot | Unclear]
    """Where a literal falls, the limits aside."""

    encode: Callable[[Sequence[Any]], Plains] | None
    """PLAIN bytes of all stored values that are equal to each of some keys; None if untold."""

    limits: tuple[int, int] | None
    """The least and the greatest key, where the type says so."""

    column: ColumnType

    def spot(self, value: Value) -> Spot | Unclear:
        """Where a literal falls.

        Text is not exact among other values: some readers compare it, above all in `NOT IN`, with
        what the column's values look like, and then `042` is not 42.
        """
        spot = self.place(value)
        if isinstance(spot, Spot) and isinstance(value, str) and self.column.kind is not Kind.TEXT:
            spot = replace(spot, is_exact=False)
        if self.limits is None or isinstance(spot, Unclear) or not spot.keys:
            return spot
        low, high = self.limits
        if low <= spot.keys[0] and spot.keys[-1] <= high:
            return spot
        kept = tuple(key for key in spot.keys if low <= key <= high)
        return replace(spot, keys=kept, reason="" if kept else self.range_problem)

    @property
    def range_problem(self) -> str:
        """Why a literal beyond the limits is no key."""
        if self.column.kind is Kind.DECIMAL:
            return f"the column has {self.column.precision} digits"
        low, high = self.limits or ("any", "any")
        return f"the column holds {low} to {high}"


def domain_of(leaf: Leaf) -> Domain:
    """The keys of a column."""
    column = type_of(leaf)
    if column.kind is Kind.BINARY:
        place: Callable[[Value], Spot | Unclear] = partial(_place_bytes, _length_of(leaf))
    elif column.kind is Kind.UNDEFINED:
        place = _place_nowhere
    else:
        place = partial(_PLACES[column.kind], column)
    return Domain(
        leaf=leaf,
        order=order_of(leaf),
        place=place,
        encode=_encoder(leaf, column),
        limits=_limits(leaf, column),
        column=column,
    )


def _place_bytes(length: int | None, value: Value) -> Spot | Unclear:
    return place_bytes(value, length)


def _place_nowhere(_value: Value) -> Unclear:
    return _NO_EQUALITY


def _length_of(leaf: Leaf) -> int | None:
    fixed = leaf.physical_type == PhysicalType.FIXED_LEN_BYTE_ARRAY
    return leaf.type_length if fixed else None


def _limits(leaf: Leaf, column: ColumnType) -> tuple[int, int] | None:
    if column.kind is Kind.INTEGER:
        return limits_of_integer(column)
    if column.kind is Kind.DECIMAL:
        return limits_of_decimal(column, _BYTES.get(leaf.physical_type) or _length_of(leaf))
    return (0, 1) if column.kind is Kind.BOOLEAN else None


# PLAIN bytes.


def _encoder(leaf: Leaf, column: ColumnType) -> Callable[[Sequence[Any]], Plains] | None:
    if column.kind is Kind.FLOATING:
        return partial(_encode_floating, _FORMATS[column.bits])
    if column.kind is Kind.INT96:
        return _encode_int96
    if leaf.physical_type in _BYTES:
        return partial(_encode_integers, _BYTES[leaf.physical_type])
    if column.kind is Kind.DECIMAL:
        length = _length_of(leaf)
        return None if length is None else partial(_encode_big_endian, length)
    bytes_as_they_are = column.kind in (Kind.TEXT, Kind.BINARY, Kind.UUID)
    return _encode_bytes if bytes_as_they_are else None


def _encode_integers(width: int, keys: Sequence[int]) -> Plains:
    """Two's complement, little-endian; keys may be signed or unsigned."""
    if len(keys) < _MANY:
        mask = (1 << 8 * width) - 1
        return tuple([((key & mask).to_bytes(width, "little"),) for key in keys])
    import numpy as np

    words = np.array(keys, np.uint64 if keys[0] >= 0 else np.int64)
    return _pieces(words.astype(f"<u{width}").tobytes(), width)


def _pieces(data: bytes, width: int) -> Plains:
    return tuple(struct.iter_unpack(f"{width}s", data))


def _encode_big_endian(length: int, keys: Sequence[int]) -> Plains:
    return tuple([(key.to_bytes(length, "big", signed=True),) for key in keys])


def _encode_floating(layout: str, keys: Sequence[float]) -> Plains:
    """Little-endian IEEE 754; zero is stored with either sign."""
    return tuple(
        [
            (struct.pack(layout, key),)
            if key
            else (struct.pack(layout, 0.0), struct.pack(layout, -0.0))
            for key in keys
        ]
    )


def _encode_int96(keys: Sequence[int]) -> Plains:
    return tuple([(int96_bytes(key),) for key in keys])


def _encode_bytes(keys: Sequence[bytes]) -> Plains:
    return tuple(zip(keys))
