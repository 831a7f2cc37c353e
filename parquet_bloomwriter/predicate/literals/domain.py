"""The domain of a column: literals -> keys, and keys -> the PLAIN bytes that filters hash.

What a literal means depends on the column's type; `numbers`, `temporal` and `binary` say how, and
are imported when a column of their types is met. The rule for all of them: a row for which any
common reader finds the comparison true must not be lost. Where readers differ in more than a few
keys, or where it is not known what they do, the outcome is an `UnknownRange`.

Sources: Parquet specification, "Plain: (PLAIN = 0)"; parquet.thrift, ColumnOrder: values compare as
signed, as unsigned, byte by byte as unsigned, or in no defined order.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from parquet_bloomwriter.metadata import PhysicalType
from parquet_bloomwriter.metadata.logical_types import Kind, type_of
from parquet_bloomwriter.predicate.bound import Order
from parquet_bloomwriter.predicate.literals.numbers import EXACT_IN_DOUBLE
from parquet_bloomwriter.predicate.literals.range import LiteralRange, LiteralSet, UnknownRange

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from parquet_bloomwriter.metadata import Leaf
    from parquet_bloomwriter.metadata.logical_types import ColumnType
    from parquet_bloomwriter.predicate.expression import Value

    Place = Callable[[Value], LiteralRange | UnknownRange]
    from collections.abc import Iterable

    from parquet_bloomwriter.predicate.expression import Value

Plains = tuple[tuple[bytes, ...], ...]
"""For each of some keys, the PLAIN bytes of all stored values that are equal to it."""

_NUMBERS = (Kind.INTEGER, Kind.DECIMAL, Kind.FLOATING)
_TEMPORAL = (Kind.DATE, Kind.TIME, Kind.TIMESTAMP, Kind.INT96)
_BYTES = (Kind.TEXT, Kind.BINARY, Kind.UUID)
_ORDERS: Final = {
    Kind.FLOATING: Order.FLOATING,
    Kind.BOOLEAN: Order.BOOLEAN,
    **dict.fromkeys(_BYTES, Order.BYTES),
    **dict.fromkeys((Kind.DATE, Kind.TIME, Kind.TIMESTAMP), Order.SIGNED),
}
"""Order by kind; that of INTEGER and DECIMAL depends on more, INT96 has no defined order."""

_WIDTHS = {PhysicalType.INT32: 4, PhysicalType.INT64: 8}
"""Bytes of integers by physical type."""

_FORMATS: Final = {16: "<e", 32: "<f", 64: "<d"}
"""Format of `struct` for floating-point numbers, by their bits."""

_MANY = 64
"""Number of integers from which NumPy encodes more quickly than Python."""

_NO_EQUALITY = UnknownRange("no equality is known for the column's type")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Domain:
    """The keys of one column, and the function that places literals among them."""

    leaf: Leaf
    column: ColumnType
    order: Order | None
    """Order of keys in statistics; None if it is not defined."""

    limits: tuple[int, int] | None
    """Least and greatest key; None if the type does not limit keys."""

    place_unlimited: Place
    """Function that returns the place of a literal, without regard to the limits."""

    encode: Callable[[Sequence[Any]], Plains] | None
    """Function that returns the PLAIN bytes of keys; None if equal values may differ in bytes."""

    def place(self, value: Value) -> LiteralRange | UnknownRange:
        """Return the place of a literal among the keys.

        Text is not exact among other values: some readers compare it, above all in `NOT IN`, with
        what the column's values look like, and then `042` is not 42.
        """
        found = self.place_unlimited(value)
        if isinstance(found, UnknownRange):
            return found
        if isinstance(value, str) and self.column.kind is not Kind.TEXT:
            found = replace(found, is_exact=False)
        if self.limits is None or not found.keys:
            return found
        low, high = self.limits
        if low <= found.keys[0] and found.keys[-1] <= high:
            return found
        kept = tuple(key for key in found.keys if low <= key <= high)
        return replace(found, keys=kept, reason="" if kept else self.range_problem)

    @property
    def range_problem(self) -> str:
        """Why a literal beyond the limits is not a key."""
        if self.column.kind is Kind.DECIMAL:
            return f"the column has {self.column.precision} digits"
        low, high = self.limits or ("any", "any")
        return f"the column holds {low} to {high}"


def domain_of(leaf: Leaf) -> Domain:
    """Return the domain of a column."""
    column = type_of(leaf)
    return Domain(
        leaf=leaf,
        column=column,
        order=_order(leaf, column),
        limits=_limits(leaf, column),
        place_unlimited=_placing(leaf, column),
        encode=_encoder(leaf, column),
    )


def order_of(leaf: Leaf) -> Order | None:
    """Return the order of the column's values; None if none is defined or known."""
    return _order(leaf, type_of(leaf))


def _order(leaf: Leaf, column: ColumnType) -> Order | None:
    if column.kind is Kind.INTEGER:
        return Order.SIGNED if column.is_signed else Order.UNSIGNED
    if column.kind is Kind.DECIMAL:
        return Order.SIGNED if leaf.physical_type in _WIDTHS else Order.BIG_ENDIAN
    return _ORDERS.get(column.kind)


def _placing(leaf: Leaf, column: ColumnType) -> Place:
    """Return the function that places literals among the values of a type."""
    if column.kind is Kind.UNDEFINED:
        return _place_nowhere
    if column.kind in _NUMBERS:
        from parquet_bloomwriter.predicate.literals.numbers import PLACES
    elif column.kind in _TEMPORAL:
        from parquet_bloomwriter.predicate.literals.temporal import PLACES
    elif column.kind is Kind.BINARY:
        from parquet_bloomwriter.predicate.literals.binary import place_bytes

        return partial(place_bytes, leaf.name, _fixed_length(leaf))
    else:
        from parquet_bloomwriter.predicate.literals.binary import PLACES
    return partial(PLACES[column.kind], column)


def _place_nowhere(_value: Value) -> UnknownRange:
    return _NO_EQUALITY


def _fixed_length(leaf: Leaf) -> int | None:
    fixed = leaf.physical_type == PhysicalType.FIXED_LEN_BYTE_ARRAY
    return leaf.type_length if fixed else None


def _limits(leaf: Leaf, column: ColumnType) -> tuple[int, int] | None:
    if column.kind is Kind.BOOLEAN:
        return 0, 1
    if column.kind not in {Kind.INTEGER, Kind.DECIMAL}:
        return None
    from parquet_bloomwriter.predicate.literals.numbers import limits_of_decimal, limits_of_integer

    if column.kind is Kind.INTEGER:
        return limits_of_integer(column)
    return limits_of_decimal(column, _WIDTHS.get(leaf.physical_type) or _fixed_length(leaf))


def _encoder(leaf: Leaf, column: ColumnType) -> Callable[[Sequence[Any]], Plains] | None:
    """Return the function that encodes keys as PLAIN; None where bytes of equal values differ."""
    if column.kind is Kind.FLOATING:
        return partial(_encode_floating, _FORMATS[column.bits])
    if column.kind is Kind.INT96:
        return _encode_int96
    if leaf.physical_type in _WIDTHS:
        return partial(_encode_integers, _WIDTHS[leaf.physical_type])
    if column.kind is Kind.DECIMAL:
        length = _fixed_length(leaf)
        return None if length is None else partial(_encode_big_endian, length)
    return _encode_bytes if column.kind in _BYTES else None


def _encode_integers(width: int, keys: Sequence[int]) -> Plains:
    """Encode as two's complement, little-endian; keys may be signed or unsigned."""
    if len(keys) < _MANY:
        mask = (1 << 8 * width) - 1
        return tuple([((key & mask).to_bytes(width, "little"),) for key in keys])
    import numpy as np

    words = np.array(keys, np.uint64 if keys[0] >= 0 else np.int64)
    return tuple(struct.iter_unpack(f"{width}s", words.astype(f"<u{width}").tobytes()))


def _encode_big_endian(length: int, keys: Sequence[int]) -> Plains:
    return tuple([(key.to_bytes(length, "big", signed=True),) for key in keys])


def _encode_floating(layout: str, keys: Sequence[float]) -> Plains:
    """Encode as little-endian IEEE 754; zero may be stored with either sign."""
    zeros = struct.pack(layout, 0.0), struct.pack(layout, -0.0)
    return tuple([(struct.pack(layout, key),) if key else zeros for key in keys])


def _encode_int96(keys: Sequence[int]) -> Plains:
    from parquet_bloomwriter.predicate.literals.temporal import int96_bytes

    return tuple([(int96_bytes(key),) for key in keys])


def _encode_bytes(keys: Sequence[bytes]) -> Plains:
    return tuple(zip(keys))


_MAX_KEYS = 1_000_000
"""Most keys that are looked up, where a literal may stand for several keys."""

_MIXED = UnknownRange("some readers compare all of such a mixed list as floating-point numbers")
_TOO_MANY = UnknownRange("the list stands for too many values to look up")


def place_all(domain: Domain, values: tuple[Value, ...]) -> LiteralSet | UnknownRange:
    """Return the keys of the literals in a list; unknown if one of them is unknown."""
    kinds = set(map(type, values))
    if domain.column.kind is Kind.INTEGER and kinds == {int}:
        return _place_integers(domain, values)
    if kinds == {str} and domain.column.kind is Kind.TEXT:
        literals = _place_texts(values)
        if literals is not None:
            return literals
    if not kinds.isdisjoint((float, Decimal)) and any(map(_is_large_integer, values)):
        return _MIXED
    return _place_each(domain, values)


def _place_integers(domain: Domain, values: Iterable[Any]) -> LiteralSet | UnknownRange:
    keys = sorted(set(values))
    low, high = domain.limits or (keys[0], keys[-1])
    if low <= keys[0] and keys[-1] <= high:
        return LiteralSet(tuple(keys), is_exact=True)
    outside = _place_each(domain, [key for key in keys if not low <= key <= high])
    if isinstance(outside, UnknownRange):
        return outside
    kept = tuple(key for key in keys if low <= key <= high)
    return LiteralSet(kept, is_exact=True, reason=outside.reason)


def _place_texts(values: Iterable[Any]) -> LiteralSet | None:
    """Return texts as keys; None if one of them is not valid Unicode."""
    try:
        return LiteralSet(tuple(sorted({value.encode() for value in values})), is_exact=True)
    except UnicodeEncodeError:
        return None


def _is_large_integer(value: Value) -> bool:
    return type(value) is int and abs(value) >= EXACT_IN_DOUBLE


def _place_each(domain: Domain, values: Iterable[Value]) -> LiteralSet | UnknownRange:
    keys: set[Any] = set()
    is_exact, reason = True, ""
    for value in values:
        found = domain.place(value)
        if isinstance(found, UnknownRange):
            return found
        keys.update(found.keys)
        if len(keys) > _MAX_KEYS and not found.is_exact:
            return _TOO_MANY
        is_exact &= found.is_exact
        reason = reason or found.reason
    return LiteralSet(tuple(sorted(keys)), is_exact, reason)
