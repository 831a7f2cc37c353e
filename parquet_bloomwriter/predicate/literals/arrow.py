"""The place of a literal among the values of an Arrow type.

A literal need not be a value of the column's type: 300 is no int8, 5.5 no integer, 1.205 no
decimal(9, 2). Comparisons with it are decided by the *floor*, the largest value of the type that is
not above the literal:

    x = 5.5    no value          x < 5.5, x <= 5.5    x <= 5
    x != 5.5   every value       x > 5.5, x >= 5.5    x > 5

Decimals and integers become the nearest value of a floating column's type, as in SQL; floats stay
exact. SQL compares decimals with floats as DOUBLE: 0.70 equals 7e-1, which is a little less, and
several decimals of many digits may equal one DOUBLE. So a float is equal to all decimals that are
rounded to it. (pyarrow does not round: its cast makes 0.7000000000000001 of 0.70.)
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID

import numpy as np

from parquet_bloomwriter.predicate.arrow_columns import is_binary, is_text, is_uuid
from parquet_bloomwriter.predicate.expression import UUID_TEXT, Instant, TimeOfDay, Value
from parquet_bloomwriter.predicate.iso_8601 import (
    NANOSECONDS,
    NANOSECONDS_PER_DAY,
    instant_of,
    nanoseconds_of_time,
    parse_date,
    parse_time,
    parse_timestamp,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,6})?\s*", re.ASCII)
_HUGE = 400
"""Exponent: no Arrow type has values beyond this power of ten, or below its inverse but zero."""

Finder: TypeAlias = Callable[[Value, Any], "ArrowFloor"]
_FLOATS: Mapping[int, type[np.floating[Any]]] = {16: np.float16, 32: np.float32, 64: np.float64}
"""NumPy's type of floating-point numbers by their bits."""

_DAYS_OF_DATE64 = 2**63 // (NANOSECONDS_PER_DAY // NANOSECONDS["ms"])


class Incomparable(Exception):
    """The error for a literal that cannot be compared with the type; the message is the remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrowFloor:
    """The floor of a literal: the greatest value of an Arrow type that is not above it."""

    floor: Any
    """The greatest value not above the literal, as `pa.scalar` takes it; None if all are above."""

    is_exact: bool
    """Whether the floor equals the literal."""

    first: Any = None
    """The least value that equals the literal, if it is less than the floor; else None."""

    is_nan: bool = False
    """Whether the literal is NaN and the type has no NaN: it differs from all values."""


def compared_as(type_: pa.DataType) -> pa.DataType:
    """Return the type in which pyarrow can compare a column; usually the column's own."""
    import pyarrow as pa

    types = pa.types
    if isinstance(type_, pa.BaseExtensionType):
        return compared_as(type_.storage_type)
    if types.is_dictionary(type_):
        inner = compared_as(type_.value_type)
        return type_ if inner == type_.value_type else inner
    if types.is_float16(type_):
        return pa.float32()
    if types.is_decimal32(type_) or types.is_decimal64(type_):
        return pa.decimal128(type_.precision, type_.scale)
    if types.is_string_view(type_):
        return pa.large_string()
    return pa.large_binary() if types.is_binary_view(type_) else type_


def floor_finder(type_: pa.DataType) -> Finder:
    """Return the function that finds the floor of a literal among the values of a type.

    The function takes the literal and the type. It raises `Incomparable` if SQL does not compare
    the two, or not without a time zone.
    """
    import pyarrow as pa

    types = pa.types
    if isinstance(type_, pa.BaseExtensionType):
        return _uuid if is_uuid(type_) else _inside(type_.storage_type)
    if types.is_dictionary(type_):
        return _inside(type_.value_type)
    finders: tuple[tuple[Callable[[pa.DataType], bool], Finder], ...] = (
        (types.is_integer, _integer),
        (types.is_floating, _floating),
        (types.is_decimal, _decimal),
        (types.is_timestamp, _timestamp),
        (types.is_date, _date),
        (types.is_time, _time),
        (is_text, _string),
        (is_binary, _binary),
        (types.is_boolean, _boolean),
    )
    return next((find for matches, find in finders if matches(type_)), _nothing)


def rounded(value: Value, type_: pa.DataType) -> Value:
    """Round a float to the type of a narrower floating column; return other literals unchanged.

    pyarrow rounds the values of `is_in`, and no other literals.
    """
    import pyarrow as pa

    if pa.types.is_dictionary(type_):
        type_ = type_.value_type
    if not isinstance(value, float) or not pa.types.is_floating(type_):
        return value
    with np.errstate(over="ignore"):
        number = float(_FLOATS[type_.bit_width](value))
    return value if math.isinf(number) else number


def _inside(type_: pa.DataType) -> Finder:
    find = floor_finder(type_)
    return lambda value, _: find(value, type_)


def _nothing(_value: Value, _type: pa.DataType) -> ArrowFloor:
    raise Incomparable("Ask for nulls only, or give a pyarrow expression.")


def _integer(value: Value, type_: pa.DataType) -> ArrowFloor:
    if isinstance(value, float) and math.isnan(value):
        return ArrowFloor(floor=None, is_exact=False, is_nan=True)
    bits = type_.bit_width
    is_signed = str(type_).startswith("int")
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
    return _among_integers(_number(value), low, high)


def _decimal(value: Value, type_: pa.DataType) -> ArrowFloor:
    high = 10**type_.precision - 1
    if isinstance(value, float) and math.isnan(value):
        return ArrowFloor(floor=None, is_exact=False, is_nan=True)
    if isinstance(value, float) and math.isfinite(value):
        first, last = _rounded_to(value, Fraction(10) ** type_.scale)
        found = _among_integers(last, -high, high)
        if found.floor is None or found.floor < first:
            found = replace(found, is_exact=False)
        else:
            found = replace(found, is_exact=True, first=max(first, -high))
    else:
        found = _among_integers(_number(value) * Fraction(10) ** type_.scale, -high, high)
    if found.floor is None:
        return found
    scale = type_.scale
    least = None if found.first in (None, found.floor) else _scaled(found.first, scale)
    return replace(found, floor=_scaled(found.floor, scale), first=least)


def _rounded_to(number: float, unit: Fraction) -> tuple[int, int]:
    """Return the first and the last of the integers k for which k / unit is rounded to a DOUBLE.

    If there is none, the last is the greatest k for which k / unit is rounded to less.
    """
    below, above = (math.nextafter(number, end) for end in (-math.inf, math.inf))
    exact = Fraction(number)
    half_below = exact - (exact - Fraction(below if math.isfinite(below) else number)) / 2
    half_above = exact + (Fraction(above if math.isfinite(above) else number) - exact) / 2
    first, last = math.ceil(half_below * unit), math.floor(half_above * unit)
    # Halfway between two DOUBLEs, the even one is taken.
    first += float(first / unit) < number
    last -= float(last / unit) > number
    return first, last


def _scaled(unscaled: int, scale: int) -> Decimal:
    """Return an exact decimal, whatever the context's precision is."""
    digits = tuple(int(digit) for digit in str(abs(unscaled)))
    return Decimal((int(unscaled < 0), digits, -scale))


def _floating(value: Value, type_: pa.DataType) -> ArrowFloor:
    narrow = _FLOATS[type_.bit_width]
    if isinstance(value, float):
        return _among_floats(value, narrow)
    number = _number(value)
    limit = float(np.finfo(narrow).max)
    if not -limit <= number <= limit:
        return ArrowFloor(floor=limit if number > 0 else -math.inf, is_exact=False)
    return ArrowFloor(floor=float(narrow(number)), is_exact=True)


def _among_floats(value: float, narrow: type[np.floating[Any]]) -> ArrowFloor:
    with np.errstate(over="ignore"):
        nearest = narrow(value)
        if float(nearest) > value:
            nearest = np.nextafter(nearest, narrow(-np.inf))
    is_exact = math.isnan(value) or float(nearest) == value
    return ArrowFloor(floor=float(nearest), is_exact=is_exact)


def _timestamp(value: Value, type_: pa.DataType) -> ArrowFloor:
    instant = _instant(value)
    if not instant.is_zoned and type_.tz is not None:
        raise Incomparable("Give the time zone: TIMESTAMPTZ '2024-01-31 10:00:00+00:00'.")
    if instant.is_zoned and type_.tz is None:
        raise Incomparable("Give the timestamp without a time zone: the column has none.")
    number = Fraction(instant.nanoseconds, NANOSECONDS[type_.unit])
    return _among_integers(number, -(2**63), 2**63 - 1)


def _date(value: Value, type_: pa.DataType) -> ArrowFloor:
    day = parse_date(value) if isinstance(value, str) else value
    if day is None:
        raise Incomparable("Write dates as DATE '2024-01-31'.")
    instant = _instant(day)
    if instant.is_zoned:
        raise Incomparable("Give a date, or a timestamp without a time zone.")
    number = Fraction(instant.nanoseconds, NANOSECONDS_PER_DAY)
    if type_.bit_width == 32:  # noqa: PLR2004  date32
        return _among_integers(number, -(2**31), 2**31 - 1)
    found = _among_integers(number, -_DAYS_OF_DATE64, _DAYS_OF_DATE64 - 1)
    days = NANOSECONDS_PER_DAY // NANOSECONDS["ms"]
    return ArrowFloor(
        floor=None if found.floor is None else found.floor * days, is_exact=found.is_exact
    )


def _time(value: Value, type_: pa.DataType) -> ArrowFloor:
    clock = parse_time(value) if isinstance(value, str) else value
    if isinstance(clock, TimeOfDay):
        nanoseconds = clock.nanoseconds
    elif isinstance(clock, time) and clock.tzinfo is None:
        nanoseconds = nanoseconds_of_time(clock)
    else:
        raise Incomparable("Write times as TIME '10:00:00', without a time zone.")
    # Some writers store durations as times, so that there are values outside a day.
    limit = 1 << type_.bit_width - 1
    return _among_integers(Fraction(nanoseconds, NANOSECONDS[type_.unit]), -limit, limit - 1)


def _string(value: Value, _: pa.DataType) -> ArrowFloor:
    if not isinstance(value, str):
        raise Incomparable("Give text: in SQL in single quotes, in Python as a str.")
    _utf8(value)
    return ArrowFloor(floor=value, is_exact=True)


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise Incomparable("Give valid Unicode: a surrogate stands for no character.") from None


def _binary(value: Value, type_: pa.DataType) -> ArrowFloor:
    import pyarrow as pa

    if isinstance(value, str) and "\\" not in value:
        value = _utf8(value)
    if isinstance(value, UUID):
        value = value.bytes
    if not isinstance(value, bytes):
        raise Incomparable("Write bytes as X'00AB'.")
    if not pa.types.is_fixed_size_binary(type_):
        return ArrowFloor(floor=value, is_exact=True)
    return _fixed(value, type_.byte_width)


def _fixed(value: bytes, width: int) -> ArrowFloor:
    """Return the floor of bytes of any length among bytes of one length."""
    if len(value) >= width:
        return ArrowFloor(floor=value[:width], is_exact=len(value) == width)
    below = int.from_bytes(value.ljust(width, b"\0")) - 1
    return ArrowFloor(floor=None if below < 0 else below.to_bytes(width), is_exact=False)


def _uuid(value: Value, _: pa.DataType) -> ArrowFloor:
    if isinstance(value, str) and UUID_TEXT.fullmatch(value):
        value = UUID(value)
    if isinstance(value, UUID):
        return ArrowFloor(floor=value.bytes, is_exact=True)
    if isinstance(value, bytes):
        return _fixed(value, 16)
    raise Incomparable("Write UUIDs as UUID '01234567-89ab-cdef-0123-456789abcdef'.")


def _boolean(value: Value, _: pa.DataType) -> ArrowFloor:
    if not isinstance(value, bool):
        raise Incomparable("Compare it with TRUE or FALSE.")
    return ArrowFloor(floor=value, is_exact=True)


def _number(value: Value) -> int | Fraction:
    """Return a number exactly; numbers beyond all types are limited to `_HUGE`."""
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = Decimal(value.strip())
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal) or value != value:  # noqa: PLR0124
        raise Incomparable("Compare it with a number.")
    if isinstance(value, float) and math.isinf(value):
        value = Decimal(value)
    if not isinstance(value, Decimal):
        return value if isinstance(value, int) else Fraction(value)
    sign = -1 if value.is_signed() else 1
    if value.is_infinite() or value.adjusted() > _HUGE:
        return Fraction(sign * 10**_HUGE)
    if value and value.adjusted() < -_HUGE:
        return Fraction(sign, 10**_HUGE)
    return Fraction(value)


def _among_integers(number: int | Fraction, low: int, high: int) -> ArrowFloor:
    if number < low:
        return ArrowFloor(floor=None, is_exact=False)
    floor = min(math.floor(number), high)
    return ArrowFloor(floor=floor, is_exact=floor == number)


def _instant(value: Value) -> Instant:
    given = parse_timestamp(value) if isinstance(value, str) else value
    if not isinstance(given, date | datetime | Instant):
        raise Incomparable("Write timestamps as TIMESTAMP '2024-01-31 10:00:00'.")
    return instant_of(given)
