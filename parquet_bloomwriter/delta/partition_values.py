"""Values of partition columns: texts in the log, parsed by the types of the table's schema.

    string          as it is               timestamp       1970-01-01T00:00:00.123456Z
    numbers         in decimals            timestamp_ntz   1970-01-01 00:00:00.123456
    date            1970-01-01             boolean         true, false

Null and empty text are null. A `timestamp` without a zone is in the time zone of its writer, which
is not recorded; bytes were written as text, which may have changed them. Such values are not
returned.

Source: Delta protocol, "Partition Value Serialization".
"""

from __future__ import annotations

import math
import re
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import TypeAlias

from parquet_bloomwriter.errors import TableProblem, UnsupportedTable

PartitionValue: TypeAlias = "str | int | float | Decimal | bool | date | datetime | None"

_INTEGERS = ("byte", "short", "integer", "long")
_WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_INTEGER = re.compile(r"[+-]?\d{1,20}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)
_DAY = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})", re.ASCII)
_MOMENT = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})[ T](\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{1,9}))?"
    r"(Z|[+-]\d\d:?\d\d)?",
    re.ASCII,
)


def partition_value(text: str | None, type_: object, column: str) -> PartitionValue:
    """Parse the text of a partition value.

    Args:
        text: As the log has it; None for null.
        type_: The column's type, as the schema has it.
        column: Name of the column, for messages.

    Returns:
        None for null; a `datetime` of UTC for `timestamp`, and without a zone for `timestamp_ntz`.

    Raises:
        TableProblem: If the text is no value of the type.
        UnsupportedTable: If the text does not tell the value.
    """
    if text is None or text == "":
        return None
    try:
        return _value(text, type_, column)
    except ValueError as error:
        if isinstance(error, TableProblem):
            raise
        raise TableProblem(
            f'the partition column "{column}" has the value {text!r}, which is no {type_}'
        ) from error


def _value(text: str, type_: object, column: str) -> PartitionValue:  # noqa: PLR0911  a type each
    if type_ == "string":
        return text
    if type_ in _INTEGERS:
        return int(_matching(_INTEGER, text)[0])
    if type_ in {"float", "double"}:
        return _WORDS[text] if text in _WORDS else float(_matching(_NUMBER, text)[0])
    if isinstance(type_, str) and type_.startswith("decimal"):
        return Decimal(_matching(_NUMBER, text)[0])
    if type_ == "boolean" and text.lower() in {"true", "false"}:
        return text.lower() == "true"
    if type_ == "date":
        return date(*map(int, _matching(_DAY, text).groups()))
    if type_ in {"timestamp", "timestamp_ntz"}:
        return _moment(text, column, is_zoned=type_ == "timestamp")
    if type_ == "boolean":
        raise ValueError(text)
    raise UnsupportedTable(
        f'the values of the partition column "{column}" are not known: the log has text for values '
        f"of type {type_}",
        remedy="Name the other columns.",
    )


def _matching(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    found = pattern.fullmatch(text)
    if found is None:
        raise ValueError(text)
    return found


def _moment(text: str, column: str, *, is_zoned: bool) -> datetime:
    *parts, fraction, zone = _matching(_MOMENT, text).groups()
    digits = (fraction or "").ljust(9, "0")
    if digits[6:] != "000" or (zone is not None and not is_zoned):
        raise ValueError(text)
    year, month, day, hour, minute, second = map(int, parts)
    found = datetime(year, month, day, hour, minute, second, int(digits[:6]))  # noqa: DTZ001
    if not is_zoned:
        return found
    if zone is None:
        raise UnsupportedTable(
            f'the values of the partition column "{column}" are not known: the log has {text!r}, '
            "in the time zone that the writer had",
            remedy="Name the other columns.",
        )
    offset = "+00:00" if zone == "Z" else zone
    return datetime.fromisoformat(f"{found.isoformat()}{offset}").astimezone(timezone.utc)  # noqa: UP017
