"""Types of columns, the values that they get, and how files store them.

Values of a type come from one small pool, edges among them, so that joins and filters hit and miss.
A storage is a type of Arrow that a file may have for a column, narrower than the column's own: the
values that do not fit are left out of such files.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyarrow import DataType

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  a moment without zone


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A type of column."""

    name: str
    sql: str
    """Spark's name of the type."""

    pool: tuple[Any, ...]
    """Values, as Arrow and `text` take them."""

    storages: tuple[DataType, ...]
    """Types of Arrow that Spark reads as this one, the usual one first."""

    text: Callable[[Any], str]
    """A value as a literal of SQL, of this very type."""

    family: str
    """Kinds of one family are compared with each other."""

    @property
    def usual(self) -> tuple[Any, ...]:
        """Values that most files have and most queries ask for."""
        return self.pool[2:6] or self.pool

    def fitting(self, storage: DataType) -> tuple[Any, ...]:
        """The values of the pool that a storage takes without loss."""
        return tuple(value for value in self.pool if _fits(value, storage))


def _fits(value: Any, storage: DataType) -> bool:  # noqa: ANN401  any value of a pool
    if isinstance(value, float) and not pa.types.is_floating(storage):
        is_whole = math.isfinite(value) and value.is_integer()
        return is_whole and math.copysign(1, value) > 0
    try:
        stored = pa.array([value], storage)[0].as_py()
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return False
    if isinstance(value, datetime):
        return bool(stored == value or (isinstance(stored, date) and value.time() == EPOCH.time()))
    return bool(stored == value or value != value)  # noqa: PLR0124  NaN


def _double(value: float) -> str:
    if math.isnan(value) or math.isinf(value):
        return f"double('{value}')"
    return f"{value!r}D"


def _float(value: float) -> str:
    return f"float('{value!r}')"


def _string(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _moment(days: int, seconds: int = 0, micros: int = 0) -> datetime:
    return EPOCH + timedelta(days=days, seconds=seconds, microseconds=micros)


_SHARED = (-2, -1, 0, 1, 2, 3, 5, 7, 11, 13, 42, 100)
_FLOATS = (0.0, -0.0, math.nan, math.inf, -math.inf, 1.0, 2.0, 7.0, 42.0, 1.5, -2.25, 100.0)
_TEXTS = ("", "a", "A", "b", "ab", "ä", "\U0001f600", "1", "2", "7", "z" * 40, "a ", "it's")
_DAYS = (
    date(1, 1, 1),
    date(1582, 10, 4),
    date(1582, 10, 15),
    date(1900, 1, 1),
    *(date(1970, 1, day) for day in (1, 2, 3)),
    date(2024, 2, 29),
    date(9999, 12, 31),
)
_MOMENTS = (
    *(datetime(day.year, day.month, day.day) for day in _DAYS),  # noqa: DTZ001  as above
    *(_moment(day, 3600) for day in (-200_000, -40_000, -1, 0, 19_000)),
    *(_moment(day, 1, 500_000) for day in (-1, 0, 19_000)),
    *(_moment(day, 86_399, 999_999) for day in (-30_000, 0)),
)


def _decimals(*texts: str) -> tuple[Decimal, ...]:
    return tuple(map(Decimal, texts))


_SMALL = ("0", "1", "-1", "1.5", "2.25", "7", "42", "-2.25")

KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            name="byte",
            sql="tinyint",
            pool=(*_SHARED, -128, 127),
            storages=(pa.int8(),),
            text=lambda value: f"tinyint({value})",
            family="number",
        ),
        Kind(
            name="short",
            sql="smallint",
            pool=(*_SHARED, -(2**15), 2**15 - 1),
            storages=(pa.int16(), pa.int8(), pa.uint8()),
            text=lambda value: f"smallint({value})",
            family="number",
        ),
        Kind(
            name="int",
            sql="int",
            pool=(*_SHARED, -(2**31), 2**31 - 1),
            storages=(pa.int32(), pa.int16(), pa.uint16(), pa.int8()),
            text=lambda value: f"int({value})",
            family="number",
        ),
        Kind(
            name="long",
            sql="bigint",
            pool=(*_SHARED, 2**31, -(2**63), 2**63 - 1),
            storages=(pa.int64(), pa.int32(), pa.uint32(), pa.int16()),
            text=lambda value: f"bigint('{value}')",
            family="number",
        ),
        Kind(
            name="float",
            sql="float",
            pool=_FLOATS,
            storages=(pa.float32(),),
            text=_float,
            family="number",
        ),
        Kind(
            name="double",
            sql="double",
            pool=(*_FLOATS, 0.1),
            storages=(pa.float64(), pa.float32(), pa.int32()),
            text=_double,
            family="number",
        ),
        Kind(
            name="dec5",
            sql="decimal(5,2)",
            pool=_decimals(*_SMALL, "999.99", "-999.99"),
            storages=(pa.decimal128(5, 2), pa.decimal128(4, 2)),
            text=lambda value: f"cast('{value}' as decimal(5,2))",
            family="number",
        ),
        Kind(
            name="dec15",
            sql="decimal(15,3)",
            pool=_decimals(*_SMALL, "999999999999.999", "-5.125"),
            storages=(pa.decimal128(15, 3), pa.decimal128(9, 3), pa.decimal128(12, 3)),
            text=lambda value: f"cast('{value}' as decimal(15,3))",
            family="number",
        ),
        Kind(
            name="dec30",
            sql="decimal(30,4)",
            pool=_decimals(*_SMALL, "99999999999999999999999999.9999", "-123456789012345678.5"),
            storages=(pa.decimal128(30, 4), pa.decimal128(20, 4), pa.decimal128(15, 4)),
            text=lambda value: f"cast('{value}' as decimal(30,4))",
            family="number",
        ),
        Kind(
            name="text",
            sql="string",
            pool=_TEXTS,
            storages=(pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())),
            text=_string,
            family="text",
        ),
        Kind(
            name="bytes",
            sql="binary",
            pool=(*(text.encode() for text in _TEXTS), b"\x00", b"\xff\xfe"),
            storages=(pa.binary(), pa.large_binary()),
            text=lambda value: f"X'{value.hex()}'",
            family="bytes",
        ),
        Kind(
            name="day",
            sql="date",
            pool=_DAYS,
            storages=(pa.date32(),),
            text=lambda value: f"date'{value.isoformat()}'",
            family="time",
        ),
        Kind(
            name="ltz",
            sql="timestamp",
            pool=tuple(moment.replace(tzinfo=UTC) for moment in _MOMENTS),
            storages=(pa.timestamp("us", "UTC"), pa.timestamp("ms", "UTC")),
            text=lambda value: f"timestamp_ltz'{value.isoformat()}'",
            family="time",
        ),
        Kind(
            name="ntz",
            sql="timestamp_ntz",
            pool=_MOMENTS,
            storages=(pa.timestamp("us"), pa.timestamp("ms"), pa.date32()),
            text=lambda value: f"timestamp_ntz'{value.isoformat()}'",
            family="time",
        ),
        Kind(
            name="flag",
            sql="boolean",
            pool=(True, False),
            storages=(pa.bool_(),),
            text=lambda value: str(value).lower(),
            family="flag",
        ),
    )
}
"""All kinds, by name."""
