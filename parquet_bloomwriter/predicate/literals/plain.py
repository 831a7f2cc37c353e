"""Literals of Python, NumPy, pandas and Arrow -> plain values.

Values stay exactly what they are: nothing is rounded, and what a Python type cannot hold becomes
an `Instant` or a `TimeOfDay`. Two outcomes are no values: a null is None, and kinds that are not
known here (durations, structs, lists) are an `UnknownKind`, on which nothing may be concluded.
"""

from __future__ import annotations

import sys
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

import numpy as np

from parquet_bloomwriter.predicate.expression import Instant, TimeOfDay, UnknownKind, Value
from parquet_bloomwriter.predicate.iso_8601 import (
    EPOCH,
    NANOSECONDS,
    NANOSECONDS_PER_DAY,
    instant_of,
    nanoseconds_of_time,
    time_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

_KINDS = (
    *(bool, int, float, str, bytes, Decimal, date, datetime, time, UUID),
    *(Instant, TimeOfDay),
)
_EXACT = frozenset(_KINDS)
_DATES = range(1, date.max.toordinal() + 1)


def plain_value(given: object) -> Value | None:
    """Return the plain value of a literal, None for a null.

    Raises:
        UnknownKind: If there is none.
    """
    if type(given) in _EXACT:
        return cast("Value", given)
    if given is None or _is_missing(given):
        return None
    if _is_arrow_scalar(given):
        import pyarrow as pa

        return plain_values(pa.repeat(given, 1))[0]
    if isinstance(given, np.generic):
        return _of_numpy(given)
    return _of_subclass(given)


def plain_values(array: pa.Array) -> list[Value | None]:
    """Return the plain values of an Arrow array, None for nulls.

    Raises:
        UnknownKind: If there are none for its type.
    """
    import pyarrow as pa

    types = pa.types
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if types.is_dictionary(array.type):
        return plain_values(array.dictionary_decode())
    if types.is_date(array.type):
        unit = NANOSECONDS_PER_DAY if types.is_date32(array.type) else NANOSECONDS["ms"]
        return _of_integers(array, lambda number: _date_of(number * unit))
    if types.is_timestamp(array.type):
        unit, is_zoned = NANOSECONDS[array.type.unit], array.type.tz is not None
        return _of_integers(array, lambda number: Instant(number * unit, is_zoned))
    if types.is_time(array.type):
        unit = NANOSECONDS[array.type.unit]
        return _of_integers(array, lambda number: time_of(number * unit))
    if _is_plain(array.type):
        return cast("list[Value | None]", array.to_pylist())
    raise UnknownKind(str(array.type))


def _is_plain(type_: pa.DataType) -> bool:
    """Whether `to_pylist` gives plain values, exactly."""
    import pyarrow as pa

    types = pa.types
    checks = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)
    strings = (types.is_string, types.is_large_string, types.is_string_view)
    binaries = (types.is_binary, types.is_large_binary, types.is_binary_view)
    others = (types.is_fixed_size_binary, types.is_null)
    is_uuid = getattr(type_, "extension_name", "") == "arrow.uuid"
    return is_uuid or any(check(type_) for check in (*checks, *strings, *binaries, *others))


def _of_integers(array: pa.Array, make: Callable[[int], Value]) -> list[Value | None]:
    """Make values of the integers that an array stores."""
    import pyarrow as pa

    stored = array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())  # noqa: PLR2004
    return [None if number is None else make(number) for number in stored.to_pylist()]


def _date_of(nanoseconds: int) -> Value:
    days, rest = divmod(nanoseconds, NANOSECONDS_PER_DAY)
    if rest or EPOCH + days not in _DATES:
        return Instant(nanoseconds, is_zoned=False)
    return date.fromordinal(EPOCH + days)


def _is_missing(given: object) -> bool:
    """Whether it is one of the nulls of pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and (given is pandas.NA or given is pandas.NaT)


def _is_arrow_scalar(given: object) -> bool:
    arrow = sys.modules.get("pyarrow")
    return arrow is not None and isinstance(given, arrow.Scalar)


def _of_numpy(given: np.generic) -> Value | None:
    if isinstance(given, np.datetime64):
        return _of_datetime64(given)
    if isinstance(given, np.timedelta64):  # which NumPy counts among the integers
        raise UnknownKind(type(given).__name__)
    if isinstance(given, np.bool_ | np.integer | np.str_ | np.bytes_):
        return cast("Value", given.item())
    if isinstance(given, np.floating):
        number = float(given)
        if number == given or np.isnan(given):  # a longdouble may hold more
            return number
    raise UnknownKind(type(given).__name__)


def _of_datetime64(given: np.datetime64) -> Value | None:
    import pyarrow as pa

    if np.isnat(given):
        return None
    if np.datetime_data(given.dtype)[0] in {"h", "m"}:  # units that Arrow has not, but for seconds
        seconds = given.astype("datetime64[s]")
        given = seconds if seconds == given else given
    try:
        return plain_values(pa.array(np.array([given])))[0]
    except (pa.ArrowException, ValueError) as error:  # units that Arrow has not, such as months
        raise UnknownKind(str(given.dtype)) from error


def _of_subclass(given: Any) -> Value:  # noqa: ANN401, PLR0911  anything at all, by kind
    """Strip subclasses, such as members of enumerations and timestamps of pandas."""
    if isinstance(given, datetime):
        return instant_of(given)
    if isinstance(given, date):
        return date(given.year, given.month, given.day)
    if isinstance(given, time):
        return time_of(nanoseconds_of_time(given)) if given.tzinfo is None else given
    if isinstance(given, str):
        return str.__str__(given)
    if isinstance(given, bytes | bytearray | memoryview):
        return bytes(given)
    for kind in (int, float, Decimal):
        if isinstance(given, kind):
            return kind(given)
    if isinstance(given, UUID):
        return UUID(int=given.int)
    raise UnknownKind(type(given).__name__)
