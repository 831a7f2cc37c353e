"""Literals compared with columns of numbers.

Readers agree on integers and decimals as long as nothing becomes a floating-point number on the
way. DuckDB, Spark, DataFusion and pyarrow differ in what follows, so nothing depends on it here:

- Integers and fractions are compared as DOUBLE: beyond 2**53 neighbours are equal.
- Decimals and floating-point numbers are compared as DOUBLE, and DataFusion reads `1.5` as DOUBLE.
  DOUBLE keeps 15 decimal digits; neighbours of more digits may be equal.
- Spark makes room for large decimals by cutting digits behind the point, of the literal too.
- FLOAT is compared with numbers as FLOAT or as DOUBLE: the literal is rounded, or it is not.
- DuckDB divides to turn a decimal into a floating-point number, which is exact for few digits only.
- Each reader takes other texts for numbers where text is compared with a number.
"""

from __future__ import annotations

import math
import re
import struct
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from parquet_bloomwriter.metadata.logical_types import Kind
from parquet_bloomwriter.predicate.literals.range import LiteralRange, UnknownRange, fraction

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from parquet_bloomwriter.metadata.logical_types import ColumnType
    from parquet_bloomwriter.predicate.expression import Value

EXACT_IN_DOUBLE = 1 << 53
"""Greatest integer up to which all integers are exact as DOUBLE."""

_EXACT_IN_FLOAT = 1 << 24
_WIDE_BITS = 64
_DOUBLE_DIGITS = 15
_MAX_PRECISION = 38
"""The greatest precision of decimals in every reader."""

_ROUNDING = 1 << 12
"""A number greater than half the distance between neighbouring DOUBLEs at 2**64."""

_MAX_EXPONENT = 400
"""Exponent of ten beyond which no column holds decimals, which would be slow to spell out."""

_EXACT_POWERS = {64: (EXACT_IN_DOUBLE, 22), 32: (_EXACT_IN_FLOAT, 10)}
"""Greatest exact integer, and greatest exponent of an exact power of ten, by bits of floating-point
numbers: the quotient of exact numbers is rounded once, so all readers get the same."""

_WHOLE = re.compile(r"-?\d{1,40}", re.ASCII)
_DECIMAL_TEXT = re.compile(r"-?\d{1,40}(\.\d{1,40})?", re.ASCII)

_BOOLEAN = UnknownRange("readers differ in whether booleans compare with numbers")
_TEXT = UnknownRange(
    "the column holds numbers, and readers differ in which texts they take for numbers: write a "
    "number without quotes, as in 42"
)
_TEXT_ORDER = "readers differ in whether they compare text with numbers as text"
_OTHER = UnknownRange("the column holds numbers, and the literal is none: write one, as in 42")
_NAN = UnknownRange("readers differ in what compares with NaN")
_INFINITE = UnknownRange("the literal is infinite or far beyond what a column of numbers holds")
_ROUNDED = UnknownRange("some readers round the literal, or the column, to floating-point numbers")
_DIGITS = UnknownRange(
    "some readers take literals of more than 15 digits for floating-point numbers"
)


def limits_of_integer(column: ColumnType) -> tuple[int, int]:
    """Return the least and the greatest value of an integer column."""
    half = 1 << (column.bits - 1)
    return (-half, half - 1) if column.is_signed else (0, 2 * half - 1)


def place_integer(column: ColumnType, value: Value) -> LiteralRange | UnknownRange:  # noqa: PLR0911  by type
    """Return the place of a literal among integers."""
    if type(value) is int:
        is_near = column.bits == _WIDE_BITS and _is_just_outside(column, value)
        return _ROUNDED if is_near else LiteralRange.at(value)
    if isinstance(value, bool):
        return _BOOLEAN
    if isinstance(value, str):
        return _as_text(LiteralRange.at(int(value))) if _WHOLE.fullmatch(value) else _TEXT
    if not isinstance(value, float | Decimal):
        return _OTHER
    problem = _no_fraction(value)
    if problem is not None:
        return problem
    if column.bits == _WIDE_BITS and not -EXACT_IN_DOUBLE < value < EXACT_IN_DOUBLE:
        return _ROUNDED
    is_whole = value == value.to_integral_value() if isinstance(value, Decimal) else True
    if not is_whole and float(value).is_integer():
        return _DIGITS  # 1.0000000000000001, which DataFusion reads as DOUBLE
    return fraction(*value.as_integer_ratio(), f"{value} is no integer")


def _is_just_outside(column: ColumnType, value: int) -> bool:
    low, high = limits_of_integer(column)
    return low - _ROUNDING <= value < low or high < value <= high + _ROUNDING


def _as_text(found: LiteralRange) -> LiteralRange:
    """Return the range of a literal that is text, which some readers compare as text."""
    return replace(found, order_problem=_TEXT_ORDER)


def _no_fraction(value: float | Decimal) -> UnknownRange | None:
    """Return why a number is not a ratio of integers of a sensible size, or None."""
    if _is_nan(value):
        return _NAN
    if math.isinf(value):
        return _INFINITE
    if isinstance(value, Decimal) and value and abs(value.adjusted()) > _MAX_EXPONENT:
        return _INFINITE
    return None


def _is_nan(value: float | Decimal) -> bool:
    return value.is_nan() if isinstance(value, Decimal) else math.isnan(value)


def limits_of_decimal(column: ColumnType, num_bytes: int | None) -> tuple[int, int]:
    """Return the least and the greatest unscaled value, by the precision and the stored bytes."""
    high: int = 10**column.precision - 1
    if num_bytes is not None:
        high = min(high, (1 << (8 * num_bytes - 1)) - 1)
    return -high, high


def place_decimal(column: ColumnType, value: Value) -> LiteralRange | UnknownRange:  # noqa: PLR0911  by type
    """Return the place of a literal among unscaled decimals."""
    if isinstance(value, bool):
        return _BOOLEAN
    if isinstance(value, str):
        return _place_decimal_text(column, value)
    if not isinstance(value, int | float | Decimal):
        return _OTHER
    problem = None if isinstance(value, int) else _no_fraction(value)
    if problem is not None:
        return problem
    numerator, denominator = value.as_integer_ratio()
    numerator *= 10**column.scale
    if abs(numerator) == denominator * 10**column.precision:
        return _ROUNDED  # Spark may round the column's greatest value up to it.
    if isinstance(value, float):
        return _place_float_among_decimals(column, numerator, denominator)
    if isinstance(value, Decimal):
        return _place_decimal(column, value, numerator, denominator)
    return LiteralRange.at(numerator)


def _place_decimal(
    column: ColumnType, value: Decimal, numerator: int, denominator: int
) -> LiteralRange | UnknownRange:
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)  # noqa: S101  it is a letter for NaN and infinity only
    if exponent < 0 and not _is_read_alike(value, len(digits), abs(numerator) // denominator):
        return _DIGITS
    found = fraction(numerator, denominator, f"the column has {column.scale} decimal places")
    if not found.keys and column.precision - column.scale - exponent > _MAX_PRECISION:
        return LiteralRange.among((found.before, found.after))
    return found


def _is_read_alike(value: Decimal, num_digits: int, unscaled: int) -> bool:
    """Return whether no reader takes a literal with a point for a neighbouring value.

    DataFusion reads a DOUBLE and makes it a decimal of 15 places; by that, what has 15 digits in
    the column's unit is either itself or nothing. What has more must come out exactly.
    """
    if num_digits > _DOUBLE_DIGITS or abs(value) >= 10**_DOUBLE_DIGITS:
        return False
    places = 10**_DOUBLE_DIGITS
    seen = Fraction(round(float(value) * float(places)), places)
    return unscaled < places or seen == Fraction(value)


def _place_float_among_decimals(
    column: ColumnType, numerator: int, denominator: int
) -> LiteralRange | UnknownRange:
    """Return the place of a whole number; that of a fraction, near several decimals, is unknown."""
    key, rest = divmod(numerator, denominator)
    if rest or key % 10**column.scale or column.precision > _DOUBLE_DIGITS:
        return _ROUNDED
    return LiteralRange.among((key,)) if abs(key) < 10**_DOUBLE_DIGITS else _ROUNDED


def _place_decimal_text(column: ColumnType, text: str) -> LiteralRange | UnknownRange:
    if column.precision > _DOUBLE_DIGITS or not _DECIMAL_TEXT.fullmatch(text):
        return _TEXT
    found = place_decimal(column, Decimal(text))
    if isinstance(found, UnknownRange):
        return found
    return _as_text(found) if found.keys else _TEXT  # Some readers round it.


def place_floating(column: ColumnType, value: Value) -> LiteralRange | UnknownRange:  # noqa: PLR0911  by type
    """Return the place of a literal among floating-point numbers."""
    if isinstance(value, bool):
        return _BOOLEAN
    if isinstance(value, str):
        return _TEXT
    if not isinstance(value, int | float | Decimal):
        return _OTHER
    if isinstance(value, int):
        return _place_double(column, float(value)) if abs(value) < EXACT_IN_DOUBLE else _ROUNDED
    if _is_nan(value):
        return _NAN
    if isinstance(value, float):
        return _place_double(column, value)
    return _place_decimal_among_floating(column, value)


def _place_double(column: ColumnType, value: float) -> LiteralRange:
    """Return the place of a DOUBLE: its value, or the values that readers round it to."""
    keys = sorted(set(_rounded(column.bits, value)))
    if keys == [value]:
        return LiteralRange.inside(value)
    return LiteralRange.among(keys, min(value, keys[0]), max(value, keys[-1]))


def _rounded(bits: int, value: float) -> tuple[float, ...]:
    """Return the values that readers may make of a DOUBLE in a column of this width, in bits."""
    if bits == _WIDE_BITS:
        return (value,)
    as_float = _through("<f", value)
    if bits == 32:  # noqa: PLR2004  bits
        return (as_float,)
    return (_through("<e", value), _through("<e", as_float))


def _through(layout: str, value: float) -> float:
    """Return a number rounded to a narrower type; numbers that are too large become infinite."""
    try:
        (rounded,) = struct.unpack(layout, struct.pack(layout, value))
    except OverflowError:
        return math.copysign(math.inf, value)
    return float(rounded)


def _place_decimal_among_floating(
    column: ColumnType, value: Decimal
) -> LiteralRange | UnknownRange:
    if not value.is_finite():
        return _INFINITE
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)  # noqa: S101  it is a letter for NaN and infinity only
    unscaled = int("".join(map(str, digits)))
    if not -_EXACT_POWERS[64][1] <= exponent <= 0 or unscaled >= EXACT_IN_DOUBLE:
        return _ROUNDED
    found = _place_double(column, float(value))
    integers, powers = _EXACT_POWERS[max(32, column.bits)]
    if unscaled < integers and -exponent <= powers:
        return found
    return _with_neighbours(column, found)


def _with_neighbours(column: ColumnType, found: LiteralRange) -> LiteralRange:
    """Return a range with two neighbouring FLOATs added on each side of every key."""
    near = [_neighbour(_through("<f", float(key)), steps) for key in found.keys for steps in _STEPS]
    keys = sorted({one for key in near for one in _rounded(column.bits, key)})
    return LiteralRange.among(
        keys, min(found.at_least, near[0], keys[0]), max(found.at_most, *near, *keys)
    )


_STEPS = (-2, -1, 0, 1, 2)


def _neighbour(value: float, steps: int) -> float:
    """Return the FLOAT that is `steps` away from a FLOAT."""
    import numpy as np

    towards = np.float32(math.copysign(math.inf, steps))
    near = np.float32(value)
    with np.errstate(all="ignore"):
        for _ in range(abs(steps)):
            near = np.nextafter(near, towards)
    return float(near)


PLACES: Mapping[Kind, Callable[[ColumnType, Value], LiteralRange | UnknownRange]] = {
    Kind.INTEGER: place_integer,
    Kind.DECIMAL: place_decimal,
    Kind.FLOATING: place_floating,
}
