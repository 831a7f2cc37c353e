"""Convert Catalyst's conditions into the predicate trees that indexes take.

    {"and": [...]}   {"or": [...]}   {"in": ["s", "x"], "type": "long", "values": ["1", "2"]}
    {"in": ["m"], "part": "key", "type": "string", "values": ["aw=="]}

Values are texts of Catalyst's own representation: days, microseconds, Base64 of bytes. See
`Conditions.java`, which writes them.

Files of old versions of Spark hold days and times of the Julian calendar. Readers convert those
that differ in the Gregorian calendar: days before 1582-10-15 and, because of zones, times before
1900. How a file stores such a value is not known, so no file is excluded by it.
"""

from __future__ import annotations

import base64
import math
from datetime import date, timedelta
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.predicate.expression import (
    And,
    Expression,
    Holds,
    Instant,
    IsIn,
    Opaque,
    Or,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from parquet_bloomwriter.metadata.elements import Part
    from parquet_bloomwriter.predicate.expression import Value

FIRST_DAY = -141_427
"""1582-10-15, days since 1970-01-01: from here on the calendars agree."""

FIRST_MICROSECOND = -2_208_988_800_000_000
"""1900-01-01, microseconds since 1970-01-01 00:00:00."""

_LAST_DAY = (date.max - date(1970, 1, 1)).days
_ANY = Opaque("any")


class _Unknown(ValueError):
    """Raised for a value by which no file may be excluded."""


def expression_of(
    condition: Mapping[str, Any], name_of: Callable[[list[str], str, Part | None], str | None]
) -> Expression:
    """Return the tree for a condition.

    Args:
        condition: JSON, as at the head of this module.
        name_of: Returns the index's column for a path, Catalyst's type, and what is meant of an
            array or map; None if the index has no such column, or does not store its values as
            that type.
    """
    if "and" in condition:
        return And(tuple(expression_of(part, name_of) for part in condition["and"]))
    if "or" in condition:
        return Or(tuple(expression_of(part, name_of) for part in condition["or"]))
    part = condition.get("part")
    name = name_of(condition["in"], condition["type"], part)
    if name is None:
        return _ANY
    try:
        values = tuple(_value(text, condition["type"]) for text in condition["values"])
    except _Unknown:
        return _ANY
    if part is not None:
        return Or(tuple(Holds(name, part, value, "array_contains") for value in values))
    return IsIn(name, values)


def _value(text: str, type_: str) -> Value:
    read = _READERS.get(type_.partition("(")[0])
    if read is None:
        raise _Unknown(type_)
    return read(text)


def _number(text: str) -> float:
    value = float(text)
    if math.isnan(value):
        raise _Unknown("NaN equals itself in Spark, and has many forms")
    return value


def _text(text: str) -> str:
    try:
        return base64.b64decode(text).decode()
    except UnicodeDecodeError as error:
        raise _Unknown("not UTF-8") from error


def _day(text: str) -> date:
    days = int(text)
    if not FIRST_DAY <= days <= _LAST_DAY:
        raise _Unknown("of another calendar, or beyond Python's")
    return date(1970, 1, 1) + timedelta(days=days)


def _instant(text: str, *, is_zoned: bool) -> Instant:
    microseconds = int(text)
    if microseconds < FIRST_MICROSECOND:
        raise _Unknown("of another calendar")
    return Instant(microseconds * 1000, is_zoned=is_zoned)


_READERS: dict[str, Callable[[str], Value]] = {
    **dict.fromkeys(("byte", "short", "integer", "long"), int),
    "float": _number,
    "double": _number,
    "decimal": Decimal,
    "string": _text,
    "binary": base64.b64decode,
    "date": _day,
    "timestamp": partial(_instant, is_zoned=True),
    "timestamp_ntz": partial(_instant, is_zoned=False),
}
