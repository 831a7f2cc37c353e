"""A table of every type, with values that are there and values that are not.

Values stand in no order and are made from even numbers, so that what is made from odd ones lies
between minimum and maximum of every row group and only a Bloom filter rules it out.
"""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = 2000
ROW_GROUP_ROWS = 500
_DAY = dt.date(1970, 1, 1)
_TIME = dt.datetime(2001, 1, 1)  # noqa: DTZ001  the columns have no zone
_UTC = dt.datetime(2001, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One type."""

    kind: pa.DataType
    make: Callable[[int], Any]
    """The value made from a number below 2 * `ROWS`."""


def _micros(n: int) -> dt.timedelta:
    return dt.timedelta(hours=n, microseconds=1000 * n)


COLUMNS = {
    "int16": Column(kind=pa.int16(), make=lambda n: n - 1500),
    "int32": Column(kind=pa.int32(), make=lambda n: n * 1_000_003 - 2**31),
    "int64": Column(kind=pa.int64(), make=lambda n: n * 2_000_000_000_000_003 - 2**62),
    "uint16": Column(kind=pa.uint16(), make=lambda n: n + 60_000),
    "uint32": Column(kind=pa.uint32(), make=lambda n: 2**32 - 1 - n),
    "uint64": Column(kind=pa.uint64(), make=lambda n: 2**64 - 1 - n),
    "float": Column(kind=pa.float32(), make=lambda n: n / 8 - 100),
    "double": Column(kind=pa.float64(), make=lambda n: n / 7 - 100),
    "string": Column(kind=pa.string(), make=lambda n: f"{n:05d} Łódź"),
    "binary": Column(kind=pa.binary(), make=lambda n: n.to_bytes(2, "big") + b"\x00\xff"),
    "fixed": Column(kind=pa.binary(5), make=lambda n: n.to_bytes(2, "big") + b"\x00\xff\x80"),
    "uuid": Column(kind=pa.uuid(), make=lambda n: uuid.UUID(int=n << 112 | 77)),
    "date": Column(kind=pa.date32(), make=lambda n: _DAY + dt.timedelta(days=n)),
    "timestamp_ms": Column(kind=pa.timestamp("ms"), make=lambda n: _TIME + _micros(n)),
    "timestamp_us": Column(kind=pa.timestamp("us"), make=lambda n: _TIME + _micros(n)),
    "timestamp_ns": Column(kind=pa.timestamp("ns"), make=lambda n: _TIME + _micros(n)),
    "instant": Column(kind=pa.timestamp("us", "UTC"), make=lambda n: _UTC + _micros(n)),
    "decimal_9": Column(kind=pa.decimal128(9, 2), make=lambda n: Decimal(n - 999).scaleb(-2)),
    "decimal_18": Column(kind=pa.decimal128(18, 2), make=lambda n: Decimal(n - 999).scaleb(-2)),
    "decimal_38": Column(kind=pa.decimal128(38, 2), make=lambda n: Decimal(n - 999).scaleb(-2)),
}


def numbers() -> list[int]:
    """Even numbers in no order."""
    even: list[int] = np.random.default_rng(7).permutation(np.arange(0, 2 * ROWS, 2)).tolist()
    return even


FILES = {
    "decimals as integers": tuple(COLUMNS.keys() - {"uuid", "timestamp_ns"}),
    "decimals as bytes": ("decimal_9", "decimal_18", "decimal_38"),
    "unknown to spark": ("uuid", "timestamp_ns"),
}
"""Columns of each file; Spark refuses files with one column that it does not know."""


def table(file: str) -> pa.Table:
    """The columns of one of `FILES`; each eleventh row is null throughout."""
    return pa.table(
        {
            name: pa.array(
                [None if i % 11 == 3 else column.make(n) for i, n in enumerate(numbers())],
                column.kind,
            )
            for name, column in COLUMNS.items()
            if name in FILES[file]
        }
    )


def present() -> list[int]:
    """Numbers of two values that are there, in different row groups."""
    return [numbers()[5], numbers()[ROWS - 1]]


def absent() -> list[int]:
    """Numbers of two values that are not."""
    return [1001, 2 * ROWS - 1001]
