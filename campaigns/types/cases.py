"""The types of the matrix: what a column of each holds, made from numbers.

Values made from even numbers are there, values made from odd ones are not, and lie between minimum
and maximum of every row group; so only a Bloom filter rules them out.
"""

from __future__ import annotations

import datetime as dt
import json
import uuid
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import pandas as pd
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.readers.engines import Shape

Value: TypeAlias = Any
"""What Python has for a value of a column."""

NUMBERS = 8192
"""Numbers that values are made from, as far as the type has as many values."""

_DAY = dt.date(1970, 1, 1)
_CLOCK = dt.datetime(2001, 1, 1)  # noqa: DTZ001  the columns have no zone
_UTC = dt.datetime(2001, 1, 1, tzinfo=dt.UTC)
_HALF = NUMBERS // 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One type."""

    name: str

    kind: pa.DataType
    """What literals are of."""

    make: Callable[[int], Value]
    """The value made from a number."""

    size: int = NUMBERS
    """Numbers with values of their own, from 0."""

    shape: Shape = "flat"
    """What the values lie in."""

    stored: pa.DataType | None = None
    """The Arrow type that is written, if it is not `kind`."""

    far: tuple[int, ...] = ()
    """Stored integers beyond what Python has values for."""

    special: tuple[Value, ...] = ()
    """Values at the edges of the type."""

    @property
    def arrow(self) -> pa.DataType:
        """The type of one value, as it is written."""
        return self.stored or self.kind


def _time(n: int) -> dt.time:
    return (_CLOCK + dt.timedelta(microseconds=10_000_000 * n + n)).time()


def _time_ms(n: int) -> dt.time:
    return (_CLOCK + dt.timedelta(milliseconds=10_000 * n + n % 1000)).time()


def _after(n: int) -> dt.timedelta:
    return dt.timedelta(hours=n, milliseconds=n)


def _micros(n: int) -> dt.timedelta:
    return dt.timedelta(hours=n, microseconds=n)


def _nanos(n: int) -> pd.Timestamp:
    return pd.Timestamp(_CLOCK) + pd.Timedelta(hours=n, nanoseconds=n)


def _cents(n: int) -> Decimal:
    return Decimal(n - _HALF).scaleb(-2)


def _integer(bits: int, *, is_signed: bool) -> Case:
    """Values all over the type; of the small types every number or every third."""
    size = min(NUMBERS, 1 << bits) if bits == 8 else NUMBERS - 2
    step = 1 << max(0, bits - 19)
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
    sign = "signed" if is_signed else "unsigned"
    return Case(
        name=f"INT({bits}, {sign})",
        kind=pa.type_for_alias(f"{'' if is_signed else 'u'}int{bits}"),
        make=partial(_spread, low, step, 3 if bits > 8 else 1),
        size=size,
        special=(low, high, high // 2, high // 2 + 1),
    )


def _spread(low: int, step: int, jitter: int, n: int) -> int:
    return low + n * step + n % jitter


def _edges(*, smallest: float, largest: float) -> tuple[float, ...]:
    infinite = float("inf")
    return (0.0, -0.0, float("nan"), infinite, -infinite, smallest, largest)


_INTEGERS = [
    _integer(bits, is_signed=is_signed) for bits in (8, 16, 32, 64) for is_signed in (True, False)
]

_FLOATS = [
    Case(
        name="FLOAT16",
        kind=pa.float16(),
        make=lambda n: float(n - 1024),
        size=2048,
        special=_edges(smallest=2.0**-24, largest=65504.0),
    ),
    Case(
        name="FLOAT",
        kind=pa.float32(),
        make=lambda n: n / 8 - 100,
        special=_edges(smallest=2.0**-149, largest=2.0**127),
    ),
    Case(
        name="DOUBLE",
        kind=pa.float64(),
        make=lambda n: n / 7 - 100,
        special=_edges(smallest=5e-324, largest=1.7976931348623157e308),
    ),
]

_TEXTS = ("", " ", "Łódź", "'", "\U0001f600", "e\u0301", "x" * 300, "x" * 299 + "y")
_BYTES = (b"", b"\x00", b"\xff", b"\x00" * 70, b"\xff" * 70)
_TEXT = [
    Case(
        name="STRING",
        kind=pa.string(),
        make=lambda n: f"{n:05d} Łódź",
        special=_TEXTS,
    ),
    Case(
        name="ENUM",
        kind=pa.string(),
        make=lambda n: f"kind {n:03d}",
        size=200,
        stored=pa.dictionary(pa.int16(), pa.string()),
    ),
    Case(
        name="JSON",
        kind=pa.string(),
        make=lambda n: json.dumps({"n": n}),
        stored=pa.json_(pa.string()),
    ),
    Case(
        name="BYTE_ARRAY",
        kind=pa.binary(),
        make=lambda n: n.to_bytes(2, "big") + b"\x00\xff",
        special=_BYTES,
    ),
    Case(
        name="FIXED_LEN_BYTE_ARRAY(5)",
        kind=pa.binary(5),
        make=lambda n: n.to_bytes(2, "big") + b"\x00\xff\x80",
        special=(b"\x00" * 5, b"\xff" * 5),
    ),
    Case(
        name="UUID",
        kind=pa.uuid(),
        make=lambda n: uuid.UUID(int=n << 112 | 77),
        special=(uuid.UUID(int=0), uuid.UUID(int=2**128 - 1), uuid.UUID(int=1 << 127)),
    ),
]


def _decimal(precision: int, *, integer: bool = False) -> Case:
    make = pa.decimal128 if precision <= 38 else pa.decimal256
    most = Decimal((0, (9,) * precision, -2))
    where = " as integer" if integer else ""
    return Case(
        name=f"DECIMAL({precision}, 2){where}",
        kind=make(precision, 2),
        make=_cents,
        special=(Decimal("0.00"), Decimal("-40.97"), Decimal("40.97"), most, most.copy_negate()),
    )


_DECIMALS = [
    *(_decimal(precision) for precision in (4, 9, 18, 38, 76)),
    *(_decimal(precision, integer=True) for precision in (4, 9, 18)),
]

_OLD_DAYS = (dt.date(1, 1, 1), dt.date(1582, 10, 4), dt.date(1582, 10, 15), dt.date(1969, 12, 31))
_NOON = dt.time(12, 0, 0, 1000)
_OLD_TIMES = tuple(dt.datetime.combine(day, _NOON) for day in _OLD_DAYS)
_OLD_POINTS = tuple(time.replace(tzinfo=dt.UTC) for time in _OLD_TIMES)
_LAST = dt.datetime(9999, 12, 31, 23, 59, 59)  # noqa: DTZ001
_CLOCKS = (dt.time(0), dt.time(23, 59, 59, 999_000))
_FINE = tuple(pd.Timestamp(text) for text in ("1677-09-22 00:00:00.000000001", "2262-04-11"))
_FAR_DAY = 4_000_000
"""In the year 12921."""

_MOMENTS = [
    Case(
        name="DATE",
        kind=pa.date32(),
        make=lambda n: _DAY + dt.timedelta(days=n),
        special=(*_OLD_DAYS, _LAST.date()),
        far=(_FAR_DAY, -_FAR_DAY),
    ),
    Case(name="TIME(ms)", kind=pa.time32("ms"), make=_time_ms, special=_CLOCKS),
    Case(name="TIME(us)", kind=pa.time64("us"), make=_time, special=(*_CLOCKS, dt.time.max)),
    Case(name="TIME(ns)", kind=pa.time64("ns"), make=_time, special=(*_CLOCKS, dt.time.max)),
    Case(
        name="TIMESTAMP(ms)",
        kind=pa.timestamp("ms"),
        make=lambda n: _CLOCK + _after(n),
        special=(*_OLD_TIMES, _LAST),
        far=(_FAR_DAY * 86_400_000,),
    ),
    Case(
        name="TIMESTAMP(us)",
        kind=pa.timestamp("us"),
        make=lambda n: _CLOCK + _micros(n),
        special=(*_OLD_TIMES, _LAST),
        far=(_FAR_DAY * 86_400_000_000,),
    ),
    Case(name="TIMESTAMP(ns)", kind=pa.timestamp("ns"), make=_nanos, special=_FINE),
    Case(
        name="TIMESTAMP(ms, UTC)",
        kind=pa.timestamp("ms", "UTC"),
        make=lambda n: _UTC + _after(n),
        special=(*_OLD_POINTS, _LAST.replace(tzinfo=dt.UTC)),
    ),
    Case(
        name="TIMESTAMP(us, UTC)",
        kind=pa.timestamp("us", "UTC"),
        make=lambda n: _UTC + _micros(n),
        special=(*_OLD_POINTS, _LAST.replace(tzinfo=dt.UTC)),
    ),
    Case(
        name="TIMESTAMP(ns, UTC)",
        kind=pa.timestamp("ns", "UTC"),
        make=lambda n: _nanos(n).tz_localize("UTC"),
        special=tuple(time.tz_localize("UTC") for time in _FINE),
    ),
    Case(name="INT96", kind=pa.timestamp("ns"), make=lambda n: _CLOCK + _micros(n)),
    Case(
        name="INTERVAL",
        kind=pa.month_day_nano_interval(),
        make=lambda n: pa.MonthDayNano([0, n, 0]),
    ),
]

_OTHERS = [
    Case(name="BOOLEAN", kind=pa.bool_(), make=lambda n: n % 4 == 0, size=4),
    Case(
        name="STRUCT of INT64",
        kind=pa.int64(),
        make=lambda n: n * 1_000_003,
        shape="struct",
    ),
    Case(name="STRUCT of STRING", kind=pa.string(), make=lambda n: f"s{n:05d}", shape="struct"),
    Case(name="LIST of INT64", kind=pa.int64(), make=lambda n: n * 1_000_003, shape="list"),
    Case(name="LIST of STRING", kind=pa.string(), make=lambda n: f"l{n:05d}", shape="list"),
    Case(name="MAP of STRING", kind=pa.string(), make=lambda n: f"k{n:05d}", shape="map"),
]

CASES = {
    case.name: case
    for case in (*_OTHERS[:1], *_INTEGERS, *_FLOATS, *_TEXT, *_DECIMALS, *_MOMENTS, *_OTHERS[1:])
}
