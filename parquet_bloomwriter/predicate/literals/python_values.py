"""Convert literals of Python, NumPy, pandas and Arrow to plain values (`expression.Value`).

Values stay exactly the same: nothing is rounded, and values that Python's types cannot hold become
an `Instant` or a `TimeOfDay`. A null becomes None. For kinds that are not known here (durations,
structs, lists) `UnknownKind` is raised, and nothing may be concluded from them.
"""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

import numpy as np

from parquet_bloomwriter.arguments import is_of_library
from parquet_bloomwriter.predicate.arrow_columns import is_binary, is_text, is_uuid
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
        UnknownKind: If no plain value equals the literal.
    """
    if type(given) in _EXACT:
        return cast("Value", given)
    if given is None or _is_missing(given):
        return None
    if is_of_library(given, "pyarrow", "Scalar"):
        import pyarrow as pa

        return plain_values(pa.repeat(given, 1))[0]
    if isinstance(given, np.generic):
        return _of_numpy(given)
    return _of_subclass(given)


def plain_values(array: pa.Array) -> list[Value | None]:
    """Return the plain values of an Arrow array, None for nulls.

    Raises:
        UnknownKind: If no plain values equal those of its type.
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
    """Return whether `to_pylist` gives plain values, exactly."""
    import pyarrow as pa

    types = pa.types
    numbers = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)
    is_string = is_text(type_) or is_binary(type_) or is_uuid(type_)
    return is_string or any(check(type_) for check in (*numbers, types.is_null))


def _of_integers(array: pa.Array, make: Callable[[int], Value]) -> list[Value | None]:
    """Return values made from the integers that an array stores."""
    import pyarrow as pa

    stored = array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())  # noqa: PLR2004
    return [None if number is None else make(number) for number in stored.to_pylist()]


def _date_of(nanoseconds: int) -> Value:
    days, rest = divmod(nanoseconds, NANOSECONDS_PER_DAY)
    if rest or EPOCH + days not in _DATES:
        return Instant(nanoseconds, is_zoned=False)
    return date.fromordinal(EPOCH + days)


def _is_missing(given: object) -> bool:
    """Return whether a literal is one of pandas' nulls."""
    return any(is_of_library(given, "pandas", name) for name in ("NAType", "NaTType"))


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
    if np.datetime_data(given.dtype)[0] in {"h", "m"}:  # which Arrow does not have; seconds it has
        seconds = given.astype("datetime64[s]")
        given = seconds if seconds == given else given
    try:
        return plain_values(pa.array(np.array([given])))[0]
    except (
        pa.ArrowException,
        ValueError,
    ) as error:  # units that Arrow does not have, such as months
        raise UnknownKind(str(given.dtype)) from error


def _of_subclass(given: Any) -> Value:  # noqa: ANN401, PLR0911  anything at all, by kind
    """Return the value of a subclass, such as a member of an enumeration, as its base class."""
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
