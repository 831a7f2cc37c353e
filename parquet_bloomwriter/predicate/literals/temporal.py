"""Literals against columns of dates, times and timestamps.

A literal with a zone is a point in time, one without is what some clock shows; a column is of one
sort or the other (`isAdjustedToUTC`). To compare the two, readers take the session's zone, UTC or
none at all, so nothing is concluded.

Between columns and literals of different precision, readers cut: DataFusion the literal to the
column's unit, DuckDB and Spark text that is compared with a date to its day, towards the past or
towards 1970. INT96 has nanoseconds, of which DuckDB and Spark see microseconds only; so DuckDB does
with times of UTC.

INT96 is deprecated, and used for points in time only: nanoseconds of the day, 8 bytes, and the
Julian day, 4 bytes, both little-endian (parquet.thrift, Type).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, time
from typing import TYPE_CHECKING

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
from parquet_bloomwriter.predicate.literals.range import Spot, Unclear

if TYPE_CHECKING:
    from parquet_bloomwriter.metadata.logical_types import ColumnType
    from parquet_bloomwriter.predicate.expression import Value

_SEEN_NANOSECONDS = 1000
"""What readers take for one and the same, from a multiple of it on, where they see no more than
microseconds."""

_JULIAN_EPOCH = 2_440_588
"""Julian day of 1970-01-01."""

_MAX_JULIAN_DAY = (1 << 31) - 1

_NO_ZONE = Unclear("the literal has no time zone, and the column's values are points in time")
_ZONE = Unclear("the literal has a time zone, and the column's values have none")
_NOT_ISO = Unclear("readers differ in which other texts they take for dates and times")
_OTHER = Unclear("the column holds dates or times, and the literal is none")
_FAR = Unclear("the literal is beyond what the column can hold, and readers differ in what follows")
_SESSION = "some readers compare times of UTC by the session's time zone"


def place_date(_column: ColumnType, value: Value) -> Spot | Unclear:
    """Place a literal among days since 1970-01-01."""
    if isinstance(value, str):
        value = parse_date(value) or value
    if isinstance(value, date) and not isinstance(value, datetime):
        return Spot.at(value.toordinal() - EPOCH)
    instant = _instant(value)
    if isinstance(instant, Unclear):
        return instant
    if instant.is_zoned:
        return _ZONE
    return _fitting(_cut(instant.nanoseconds, NANOSECONDS_PER_DAY), 32)


def place_timestamp(column: ColumnType, value: Value) -> Spot | Unclear:
    """Place a literal among units since 1970-01-01 00:00:00."""
    instant = _instant(value)
    if isinstance(instant, Unclear):
        return instant
    if instant.is_zoned != column.is_adjusted:
        return _ZONE if instant.is_zoned else _NO_ZONE
    return _fitting(_cut(instant.nanoseconds, column.unit), 64)


def place_time(column: ColumnType, value: Value) -> Spot | Unclear:
    """Place a literal among units since midnight."""
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
    spot = _same_microsecond(nanoseconds) if is_finer else _cut(nanoseconds, column.unit)
    return replace(spot, is_exact=False, order_problem=_SESSION)


def place_int96(_column: ColumnType, value: Value) -> Spot | Unclear:
    """Place a literal among nanoseconds since 1970-01-01 00:00:00 UTC."""
    instant = _instant(value)
    if isinstance(instant, Unclear):
        return instant
    if not instant.is_zoned:
        return _NO_ZONE
    day = instant.nanoseconds // NANOSECONDS_PER_DAY + _JULIAN_EPOCH
    return _same_microsecond(instant.nanoseconds) if 0 <= day <= _MAX_JULIAN_DAY else _FAR


def int96_bytes(nanoseconds: int) -> bytes:
    """The 12 bytes of a point in time, in nanoseconds since 1970-01-01 00:00:00 UTC."""
    days, rest = divmod(nanoseconds, NANOSECONDS_PER_DAY)
    return rest.to_bytes(8, "little") + (days + _JULIAN_EPOCH).to_bytes(4, "little")


def _instant(value: Value) -> Instant | Unclear:
    if isinstance(value, str):
        parsed = parse_timestamp(value)
        return _NOT_ISO if parsed is None else instant_of(parsed)
    return instant_of(value) if isinstance(value, date | Instant) else _OTHER


def _same_microsecond(nanoseconds: int) -> Spot:
    """At any of the nanoseconds that some readers do not tell apart."""
    first = nanoseconds - nanoseconds % _SEEN_NANOSECONDS
    return Spot.among(range(first, first + _SEEN_NANOSECONDS))


def _fitting(spot: Spot, bits: int) -> Spot | Unclear:
    """The same if integers of this width have room for it; the outermost are infinite to DuckDB."""
    limit = 1 << (bits - 1)
    return spot if -limit < spot.at_least and spot.at_most < limit - 1 else _FAR


def _cut(nanoseconds: int, unit: int) -> Spot:
    """At a number of units, or at one of the two next to a fraction of one."""
    whole, rest = divmod(nanoseconds, unit)
    return Spot.among((whole, whole + 1)) if rest else Spot.at(whole)
