"""The place of a literal among the values of a type."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_bloomwriter.predicate.expression import Instant, TimeOfDay, Value
from parquet_bloomwriter.predicate.literals.arrow import (
    ArrowFloor,
    Incomparable,
    compared_as,
    floor_finder,
)

ID = UUID("01234567-89ab-cdef-0123-456789abcdef")
NOON = datetime(2024, 1, 31, 12)  # noqa: DTZ001  naive
NOON_US = 1_706_702_400_000_000
NUMBERS = (
    st.integers(-(10**6), 10**6) | st.decimals(-(10**6), 10**6, places=4) | st.floats(-1e6, 1e6)
)


def at(value: Value, type_: pa.DataType) -> ArrowFloor:
    return floor_finder(type_)(value, type_)


@pytest.mark.parametrize(
    ("type_", "value", "floor", "is_exact"),
    [
        (pa.int8(), 127, 127, True),
        (pa.int8(), 128, 127, False),
        (pa.int8(), -128, -128, True),
        (pa.int8(), -129, None, False),
        (pa.int8(), 5.5, 5, False),
        (pa.int8(), -5.5, -6, False),
        (pa.int8(), Decimal("5.00"), 5, True),
        (pa.int8(), "5", 5, True),
        (pa.int8(), float("inf"), 127, False),
        (pa.int8(), float("-inf"), None, False),
        (pa.int64(), Decimal("1e100000"), 2**63 - 1, False),
        (pa.int64(), Decimal("1e-100000"), 0, False),
        (pa.int64(), Decimal("-1e-100000"), -1, False),
        (pa.uint64(), 2**64 - 1, 2**64 - 1, True),
        (pa.uint8(), -1, None, False),
        (pa.decimal128(4, 2), Decimal("1.20"), Decimal("1.20"), True),
        (pa.decimal128(4, 2), Decimal("1.205"), Decimal("1.20"), False),
        (pa.decimal128(4, 2), Decimal("-1.205"), Decimal("-1.21"), False),
        (pa.decimal128(4, 2), 100, Decimal("99.99"), False),
        (pa.decimal128(4, 2), -100, None, False),
        (pa.decimal128(4, -2), 1250, Decimal(1200), False),
        (pa.decimal256(60, 30), Decimal("1" * 30), Decimal("1" * 30), True),
        (pa.float64(), Decimal("0.1"), 0.1, True),
        (pa.float64(), 10**309, float(np.finfo(np.float64).max), False),
        (pa.float32(), Decimal("-1e300"), float("-inf"), False),
        (pa.float64(), "0.1", 0.1, True),
        (pa.float32(), Decimal("0.1"), float(np.float32(0.1)), True),
        (pa.float32(), 0.5, 0.5, True),
        (pa.float32(), 0.1, float(np.nextafter(np.float32(0.1), np.float32(0))), False),
        (pa.float32(), 1e300, float(np.finfo(np.float32).max), False),
        (pa.float32(), -1e300, float("-inf"), False),
        (pa.float16(), Decimal("0.1"), float(np.float16(0.1)), True),
        (pa.date32(), date(1970, 1, 2), 1, True),
        (pa.date32(), "1970-01-02", 1, True),
        (pa.date32(), datetime(1970, 1, 2, 1), 1, False),  # noqa: DTZ001
        (pa.date64(), date(1970, 1, 2), 86_400_000, True),
        (
            pa.date64(),
            Instant(10**40, is_zoned=False),
            (2**63 // 86_400_000 - 1) * 86_400_000,
            False,
        ),
        (pa.timestamp("us"), NOON, NOON_US, True),
        (pa.timestamp("us"), date(1970, 1, 2), 86_400_000_000, True),
        (pa.timestamp("us"), "2024-01-31 12:00", NOON_US, True),
        (pa.timestamp("us"), Instant(-1, is_zoned=False), -1, False),
        (pa.timestamp("ns"), Instant(10**30, is_zoned=False), 2**63 - 1, False),
        (pa.timestamp("us", "Asia/Tokyo"), NOON.replace(tzinfo=UTC), NOON_US, True),
        (pa.time32("s"), time(0, 0, 1), 1, True),
        (pa.time32("s"), time(0, 0, 1, 1), 1, False),
        (pa.time64("ns"), TimeOfDay(1), 1, True),
        (pa.time64("ns"), "00:00:00.000000001", 1, True),
        (pa.string(), "x", "x", True),
        (pa.string_view(), "x", "x", True),
        (pa.dictionary(pa.int8(), pa.string()), "x", "x", True),
        (pa.binary(), b"x", b"x", True),
        (pa.binary(), "é", b"\xc3\xa9", True),
        (pa.binary(2), b"ab", b"ab", True),
        (pa.binary(2), b"abc", b"ab", False),
        (pa.binary(2), b"b", b"a\xff", False),
        (pa.binary(2), b"", None, False),
        (pa.binary(16), ID, ID.bytes, True),
        (pa.uuid(), ID, ID.bytes, True),
        (pa.uuid(), str(ID).upper(), ID.bytes, True),
        (pa.uuid(), ID.bytes, ID.bytes, True),
        (pa.json_(), "{}", "{}", True),
        (pa.bool_(), True, True, True),
    ],
)
def test_places(type_: pa.DataType, value: Value, floor: object, *, is_exact: bool) -> None:
    assert at(value, type_) == ArrowFloor(floor=floor, is_exact=is_exact)


@pytest.mark.parametrize(
    ("type_", "value", "remedy"),
    [
        (pa.int8(), "x", "Compare it with a number."),
        (pa.int8(), "1/2", "Compare it with a number."),
        (pa.int8(), True, "Compare it with a number."),
        (pa.int8(), "nan", "Compare it with a number."),
        (pa.float64(), "nan", "Compare it with a number."),
        (pa.string(), 5, "Give text: in SQL in single quotes, in Python as a str."),
        (pa.binary(), 5, "Write bytes as X'00AB'."),
        (pa.binary(), r"\x00", "Write bytes as X'00AB'."),
        (pa.bool_(), 1, "Compare it with TRUE or FALSE."),
        (pa.date32(), 5, "Write timestamps as TIMESTAMP '2024-01-31 10:00:00'."),
        (pa.date32(), "2024-01-31 10:00", "Write dates as DATE '2024-01-31'."),
        (pa.date32(), NOON.replace(tzinfo=UTC), "Give a date, or a timestamp without a time zone."),
        (pa.time64("us"), 5, "Write times as TIME '10:00:00', without a time zone."),
        (
            pa.time64("us"),
            time(1, tzinfo=UTC),
            "Write times as TIME '10:00:00', without a time zone.",
        ),
        (pa.timestamp("us"), "now", "Write timestamps as TIMESTAMP '2024-01-31 10:00:00'."),
        (
            pa.timestamp("us"),
            NOON.replace(tzinfo=UTC),
            "Give the timestamp without a time zone: the column has none.",
        ),
        (
            pa.timestamp("us", "UTC"),
            NOON,
            "Give the time zone: TIMESTAMPTZ '2024-01-31 10:00:00+00:00'.",
        ),
        (
            pa.timestamp("us", "UTC"),
            date(2024, 1, 31),
            "Give the time zone: TIMESTAMPTZ '2024-01-31 10:00:00+00:00'.",
        ),
        (pa.uuid(), "0123", "Write UUIDs as UUID '01234567-89ab-cdef-0123-456789abcdef'."),
        (pa.list_(pa.int8()), 5, "Ask for nulls only, or give a pyarrow expression."),
        (pa.duration("s"), 5, "Ask for nulls only, or give a pyarrow expression."),
    ],
)
def test_what_cannot_be_compared(type_: pa.DataType, value: Value, remedy: str) -> None:
    with pytest.raises(Incomparable) as caught:
        at(value, type_)
    assert str(caught.value) == remedy


def test_nan_differs_from_every_integer() -> None:
    assert at(float("nan"), pa.int8()) == ArrowFloor(floor=None, is_exact=False, is_nan=True)


def test_nan_is_a_value_of_floating_types() -> None:
    found = at(float("nan"), pa.float32())
    assert found.is_exact
    assert found.floor != found.floor


@given(NUMBERS, st.sampled_from([pa.int8(), pa.int32(), pa.uint16()]))
def test_the_floor_of_integers_is_the_largest_below(
    value: float | Decimal, type_: pa.DataType
) -> None:
    found = at(value, type_)
    low, high = {"int8": (-128, 127), "int32": (-(2**31), 2**31 - 1), "uint16": (0, 65535)}[
        str(type_)
    ]
    if found.floor is None:
        assert Fraction(value) < low
        return
    assert low <= found.floor <= min(Fraction(value), high)
    assert found.floor == high or found.floor + 1 > Fraction(value)
    assert found.is_exact == (found.floor == Fraction(value))


@given(st.floats(allow_nan=False), st.sampled_from([np.float16, np.float32]))
def test_the_floor_of_floats_is_the_largest_below(
    value: float, narrow: type[np.floating[np._typing.NBitBase]]
) -> None:
    found = at(value, pa.from_numpy_dtype(narrow))
    assert float(narrow(found.floor)) == found.floor <= value
    with np.errstate(over="ignore"):
        assert float(np.nextafter(narrow(found.floor), narrow(np.inf))) > value or value == np.inf
    assert found.is_exact == (found.floor == value)


@given(st.binary(max_size=4), st.binary(min_size=2, max_size=2))
def test_bytes_of_any_length_among_those_of_one(literal: bytes, value: bytes) -> None:
    found = at(literal, pa.binary(2))
    is_at_most = found.floor is not None and value <= found.floor
    assert is_at_most == (value <= literal)
    assert (found.is_exact and value == found.floor) == (value == literal)


@pytest.mark.parametrize(
    ("type_", "expected"),
    [
        (pa.int8(), pa.int8()),
        (pa.float16(), pa.float32()),
        (pa.uuid(), pa.binary(16)),
        (pa.json_(), pa.string()),
        (pa.decimal32(5, 2), pa.decimal128(5, 2)),
        (pa.decimal64(5, 2), pa.decimal128(5, 2)),
        (pa.string_view(), pa.large_string()),
        (pa.binary_view(), pa.large_binary()),
        (pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int8(), pa.string())),
        (pa.dictionary(pa.int8(), pa.float16()), pa.float32()),
    ],
)
def test_types_that_pyarrow_compares(type_: pa.DataType, expected: pa.DataType) -> None:
    assert compared_as(type_) == expected
