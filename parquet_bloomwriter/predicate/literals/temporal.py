"""Dates, times and timestamps: when a literal equals a stored value, by the rules of all readers.

A literal with a time zone is a point in time; a literal without is what some clock shows. Columns
hold one or the other (`isAdjustedToUTC`). To compare the two, readers take the session's zone, UTC
or no zone at all, so nothing is concluded. Nor is it of `TIMESTAMP '...+02:00'`: DuckDB ignores the
offset, and takes the clock for the session's; others honour it. All honour that of TIMESTAMPTZ, and
of text without a type.

Where columns and literals differ in precision, readers cut: DataFusion cuts the literal to the
column's unit; DuckDB cuts `TIMESTAMP '...'` and `TIME '...'` to microseconds, also where the column
has nanoseconds; DuckDB and Spark cut text that is compared with a date to its day, towards the past
or towards 1970. INT96 has nanoseconds, of which DuckDB and Spark see only microseconds; DuckDB does
the same with times of UTC.

INT96 is deprecated, and used for points in time only: nanoseconds of the day, 8 bytes, and the
Julian day, 4 bytes, both little-endian (parquet.thrift, Type).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, time
from typing import TYPE_CHECKING

from parquet_bloomwriter.metadata.logical_types import Kind
from parquet_bloomwriter.predicate.expression import Instant, TimeOfDay
from parquet_bloomwriter.predicate.iso_8601 import (
    EPOCH,
    NANOSECONDS_PER_DAY,
    instant_of,
    nanoseconds_of_time,
    parse_date,
    parse_time,
    parse_timestamp,
)
from parquet_bloomwriter.predicate.literals.range import LiteralRange, UnknownRange

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from parquet_bloomwriter.metadata.logical_types import ColumnType
    from parquet_bloomwriter.predicate.expression import Value

_SEEN_NANOSECONDS = 1000
"""Nanoseconds from a multiple on that readers which see only microseconds take for equal."""

_JULIAN_EPOCH = 2_440_588
"""Julian day of 1970-01-01."""

_MAX_JULIAN_DAY = (1 << 31) - 1

_SPELLINGS = "'2026-01-31', '2026-01-31 12:30:00' or '12:30:00'"
_NO_ZONE = UnknownRange(
    "the literal has no time zone, and the column's values are points in time: write it with a "
    "zone, as in '2026-01-31 12:30:00Z'"
)
_ZONE = UnknownRange(
    "the literal has a time zone, and the column's values have none: write it without one, as in "
    "'2026-01-31 12:30:00'"
)
_NOT_ISO = UnknownRange(
    "the column holds dates or times, and readers differ in which other texts they take for such: "
    f"write {_SPELLINGS}"
)
_OTHER = UnknownRange(
    f"the column holds dates or times, and the literal is none: write {_SPELLINGS}"
)
_FAR = UnknownRange(
    "the literal is beyond what the column can hold, and readers differ in what follows"
)
_NO_OFFSET = UnknownRange(
    "some readers ignore the offset of a TIMESTAMP: write TIMESTAMPTZ '2026-01-31 12:30:00Z'"
)
_SESSION = "some readers compare times of UTC by the session's time zone"


def place_date(_column: ColumnType, value: Value) -> LiteralRange | UnknownRange:
    """Return the place of a literal among days since 1970-01-01."""
    if isinstance(value, str):
        value = parse_date(value) or value
    if isinstance(value, date) and not isinstance(value, datetime):
        return LiteralRange.at(value.toordinal() - EPOCH)
    instant = _instant(value)
    if isinstance(instant, UnknownRange):
        return instant
    if instant.is_zoned:
        return _ZONE
    return _fitting(_cut(instant.nanoseconds, NANOSECONDS_PER_DAY), 32)


def place_timestamp(column: ColumnType, value: Value) -> LiteralRange | UnknownRange:
    """Return the place of a literal among units since 1970-01-01 00:00:00."""
    instant = _instant(value)
    if isinstance(instant, UnknownRange):
        return instant
    if instant.is_zoned != column.is_adjusted:
        return _ZONE if instant.is_zoned else _NO_ZONE
    if instant.may_lose_zone:
        return _NO_OFFSET
    return _fitting(_cut(instant.nanoseconds, column.unit), 64)


def place_time(column: ColumnType, value: Value) -> LiteralRange | UnknownRange:
    """Return the place of a literal among units since midnight."""
    clock = parse_time(value) if isinstance(value, str) else value
    if isinstance(clock, time):
        if clock.tzinfo is not None:
            return _ZONE
        nanoseconds = nanoseconds_of_time(clock)
    elif isinstance(clock, TimeOfDay):
        nanoseconds = clock.nanoseconds
    else:
        return _NOT_ISO if isinstance(value, str) else _OTHER
    if not 0 <= nanoseconds <= NANOSECONDS_PER_DAY:
        return _FAR
    if not column.is_adjusted:
        return _cut(nanoseconds, column.unit)
    is_finer = column.unit < _SEEN_NANOSECONDS
    found = _same_microsecond(nanoseconds) if is_finer else _cut(nanoseconds, column.unit)
    return replace(found, is_exact=False, order_problem=_SESSION)


def place_int96(_column: ColumnType, value: Value) -> LiteralRange | UnknownRange:
    """Return the place of a literal among nanoseconds since 1970-01-01 00:00:00 UTC."""
    instant = _instant(value)
    if isinstance(instant, UnknownRange):
        return instant
    if not instant.is_zoned or instant.may_lose_zone:
        return _NO_OFFSET if instant.may_lose_zone else _NO_ZONE
    day = instant.nanoseconds // NANOSECONDS_PER_DAY + _JULIAN_EPOCH
    return _same_microsecond(instant.nanoseconds) if 0 <= day <= _MAX_JULIAN_DAY else _FAR


def int96_bytes(nanoseconds: int) -> bytes:
    """Encode nanoseconds since 1970-01-01 00:00:00 UTC as the 12 bytes of INT96."""
    days, rest = divmod(nanoseconds, NANOSECONDS_PER_DAY)
    return rest.to_bytes(8, "little") + (days + _JULIAN_EPOCH).to_bytes(4, "little")


def _instant(value: Value) -> Instant | UnknownRange:
    if isinstance(value, str):
        parsed = parse_timestamp(value)
        return _NOT_ISO if parsed is None else instant_of(parsed)
    return instant_of(value) if isinstance(value, date | Instant) else _OTHER


def _same_microsecond(nanoseconds: int) -> LiteralRange:
    """Return the range of all nanoseconds that some readers do not tell apart."""
    first = nanoseconds - nanoseconds % _SEEN_NANOSECONDS
    return LiteralRange.among(range(first, first + _SEEN_NANOSECONDS))


def _fitting(found: LiteralRange, bits: int) -> LiteralRange | UnknownRange:
    """Return a range if it fits integers of `bits`; DuckDB takes the outermost for infinite."""
    limit = 1 << (bits - 1)
    return found if -limit < found.at_least and found.at_most < limit - 1 else _FAR


def _cut(nanoseconds: int, unit: int) -> LiteralRange:
    """Return the range of whole units; for a fraction, with both neighbours.

    Nanoseconds may be read unchanged, or cut or rounded to microseconds.
    """
    whole, rest = divmod(nanoseconds, unit)
    if rest:
        return LiteralRange.among((whole, whole + 1))
    beyond = nanoseconds % _SEEN_NANOSECONDS
    if not beyond:
        return LiteralRange.at(whole)
    first = nanoseconds - beyond
    return LiteralRange.among((first, nanoseconds, first + _SEEN_NANOSECONDS))


PLACES: Mapping[Kind, Callable[[ColumnType, Value], LiteralRange | UnknownRange]] = {
    Kind.DATE: place_date,
    Kind.TIME: place_time,
    Kind.TIMESTAMP: place_timestamp,
    Kind.INT96: place_int96,
}
