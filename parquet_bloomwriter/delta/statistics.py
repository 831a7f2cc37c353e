"""Statistics of files as JSON, rebuilt for checkpoints that have them as columns only.

As the protocol spells them: bounds under the physical names of columns, dates as 2024-01-31,
timestamps as 2024-01-31T12:30:00.000Z, and those without a zone without the Z; decimals as numbers
with all their digits. What JSON cannot hold faithfully is left out, which any reader understands as
not known: bounds that are no finite numbers, binary ones, and times before year 1 or after 9999.

Source: Delta protocol, "Per-file Statistics".
"""

from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY = date(1970, 1, 1)
_MICROSECONDS = 1_000_000
_PER_MILLI = 1000
_US = {"s": 1_000_000, "ms": 1000, "us": 1}


def stats_of(parsed: pa.StructArray) -> list[str | None]:
    """Return the statistics of files as JSON; None for files without statistics.

    Args:
        parsed: The column `stats_parsed` of some files, n rows.
    """
    return _texts(parsed)


def _texts(values: pa.Array) -> list[str | None]:
    """Return values as JSON texts; None for values that are null or cannot be written."""
    kind = values.type
    if pa.types.is_struct(kind):
        return _objects(values)
    spell = _spelling(kind)
    if spell is None:
        return [None] * len(values)
    if pa.types.is_date32(kind) or pa.types.is_timestamp(kind):
        values = values.cast(pa.int32() if pa.types.is_date32(kind) else pa.int64())
    return [None if one is None else spell(one) for one in values.to_pylist()]


def _objects(values: pa.StructArray) -> list[str | None]:
    names = [json.dumps(one.name, ensure_ascii=False) for one in values.type]
    columns = [_texts(column) for column in values.flatten()]
    rows = zip(*columns, strict=True) if columns else ((),) * len(values)
    return [
        "{"
        + ",".join(f"{name}:{one}" for name, one in zip(names, row, strict=True) if one is not None)
        + "}"
        if is_valid
        else None
        for is_valid, row in zip(values.is_valid().to_pylist(), rows, strict=True)
    ]


def _spelling(kind: pa.DataType) -> Callable[[Any], str | None] | None:
    """Return the function that writes values of a type as JSON; None if there is none."""
    found: Callable[[Any], str | None] | None = None
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_boolean(kind):
        found = _plain
    elif pa.types.is_integer(kind):
        found = str
    elif pa.types.is_floating(kind):
        found = _number
    elif pa.types.is_decimal(kind):
        found = "{:f}".format
    elif pa.types.is_date32(kind):
        found = _date
    elif pa.types.is_timestamp(kind) and kind.unit in _US:
        found = _timestamp(_US[kind.unit], "" if kind.tz is None else "Z")
    return found


def _plain(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _number(value: float) -> str | None:
    return repr(value) if math.isfinite(value) else None


def _date(days: int) -> str | None:
    try:
        return f'"{(_FIRST_DAY + timedelta(days=days)).isoformat()}"'
    except OverflowError:
        return None


def _timestamp(unit_us: int, zone: str) -> Callable[[int], str | None]:
    def spell(value: int) -> str | None:
        seconds, micros = divmod(value * unit_us, _MICROSECONDS)
        try:
            moment = _EPOCH + timedelta(seconds=seconds)
        except OverflowError:
            return None
        whole = moment.replace(tzinfo=None).isoformat(timespec="seconds")
        exact = micros % _PER_MILLI
        fraction = f"{micros:06}" if exact else f"{micros // _PER_MILLI:03}"
        return f'"{whole}.{fraction}{zone}"'

    return spell
