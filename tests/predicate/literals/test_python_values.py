"""Literals of Python, NumPy, pandas and Arrow -> plain values."""

from __future__ import annotations

import enum
import uuid
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_bloomwriter.predicate.expression import Instant, TimeOfDay, UnknownKind, Value
from parquet_bloomwriter.predicate.literals.python_values import plain_value, plain_values

ID = uuid.UUID("01234567-89ab-cdef-0123-456789abcdef")
NOON = datetime(2024, 1, 31, 12, tzinfo=UTC)
NOON_NS = 1_706_702_400_000_000_000
DAY_NS = 86_400_000_000_000


class Colour(enum.StrEnum):
    """InSet are strings."""

    RED = "red"


class Size(enum.IntEnum):
    """InSet are integers."""

    SMALL = 1


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        *((one, one) for one in (True, 5, 5.5, "x", b"x", Decimal("1.20"), ID, NOON)),
        *((one, one) for one in (date(2024, 1, 31), time(12), Instant(1, False), TimeOfDay(1))),  # noqa: FBT003
        (Colour.RED, "red"),
        (Size.SMALL, 1),
        (bytearray(b"x"), b"x"),
        (memoryview(b"x"), b"x"),
        (np.int8(-5), -5),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (np.bool_(True), True),  # noqa: FBT003
        (np.float64(5.5), 5.5),
        (np.float32(0.1), 0.10000000149011612),
        (np.float16(0.5), 0.5),
        (np.str_("x"), "x"),
        (np.bytes_(b"x"), b"x"),
        (np.datetime64("2024-01-31"), date(2024, 1, 31)),
        (np.datetime64("2024-01-31T12:00:00.000000001"), Instant(NOON_NS + 1, is_zoned=False)),
        (pd.Timestamp("2024-01-31 12:00:00.000000001"), Instant(NOON_NS + 1, is_zoned=False)),
        (pd.Timestamp("2024-01-31 14:00+02:00"), Instant(NOON_NS, is_zoned=True)),
        (pd.Timestamp("1969-12-31 23:59:59.999999999"), Instant(-1, is_zoned=False)),
        (pa.scalar(5, pa.uint8()), 5),
        (pa.scalar(2**64 - 1, pa.uint64()), 2**64 - 1),
        (pa.scalar(True), True),  # noqa: FBT003
        (pa.scalar(0.5, pa.float16()), 0.5),
        (pa.scalar(0.1, pa.float32()), 0.10000000149011612),
        (pa.scalar(5.5), 5.5),
        (pa.scalar("x"), "x"),
        (pa.scalar("x", pa.large_string()), "x"),
        (pa.scalar("x", pa.string_view()), "x"),
        (pa.scalar(b"x"), b"x"),
        (pa.scalar(b"x", pa.large_binary()), b"x"),
        (pa.scalar(b"x", pa.binary_view()), b"x"),
        (pa.scalar(b"xy", pa.binary(2)), b"xy"),
        (pa.scalar(ID, pa.uuid()), ID),
        (pa.array(["x"]).dictionary_encode()[0], "x"),
        (pa.scalar(Decimal("1.20"), pa.decimal32(5, 2)), Decimal("1.20")),
        (pa.scalar(Decimal("1.20"), pa.decimal256(60, 2)), Decimal("1.20")),
        (pa.scalar(date(2024, 1, 31)), date(2024, 1, 31)),
        (pa.scalar(-1, pa.date32()), date(1969, 12, 31)),
        (pa.scalar(10**7, pa.date32()), Instant(10**7 * DAY_NS, is_zoned=False)),
        (pa.scalar(86_400_000, pa.date64()), date(1970, 1, 2)),
        (pa.scalar(86_400_001, pa.date64()), Instant(DAY_NS + 1_000_000, is_zoned=False)),
        (pa.scalar(1, pa.time32("s")), time(0, 0, 1)),
        (pa.scalar(1, pa.time32("ms")), time(0, 0, 0, 1000)),
        (pa.scalar(1, pa.time64("us")), time(0, 0, 0, 1)),
        (pa.scalar(1, pa.time64("ns")), TimeOfDay(1)),
        (pa.scalar(DAY_NS, pa.time64("ns")), TimeOfDay(DAY_NS)),
        (pa.scalar(1, pa.timestamp("s")), Instant(10**9, is_zoned=False)),
        (pa.scalar(-1, pa.timestamp("ms", "UTC")), Instant(-(10**6), is_zoned=True)),
        (pa.scalar(1, pa.timestamp("us", "Europe/Berlin")), Instant(1000, is_zoned=True)),
        (pa.scalar(2**62, pa.timestamp("s")), Instant(2**62 * 10**9, is_zoned=False)),
    ],
    ids=lambda one: type(one).__name__,
)
def test_values(literal: object, value: Value) -> None:
    found = plain_value(literal)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "null",
    [None, pd.NA, pd.NaT, np.datetime64("NaT"), pa.scalar(None), pa.scalar(None, pa.int8())],
    ids=lambda one: type(one).__name__,
)
def test_nulls(null: object) -> None:
    assert plain_value(null) is None


@pytest.mark.parametrize(
    "literal",
    [
        object(),
        timedelta(1),
        [1],
        {"x": 1},
        5j,
        np.timedelta64(1, "s"),
        np.datetime64("2024-01"),
        np.complex64(1),
        np.longdouble(1) / 3,
        pa.scalar(timedelta(1)),
        pa.scalar([1]),
        pa.scalar({"x": 1}),
    ],
    ids=lambda one: type(one).__name__,
)
def test_unknown_kinds(literal: object) -> None:
    with pytest.raises(UnknownKind):
        plain_value(literal)


def test_subclasses_of_temporal_types() -> None:
    class Day(date): ...

    class Clock(time): ...

    class Identity(uuid.UUID): ...

    found = [
        plain_value(Day(2024, 1, 31)),
        plain_value(Clock(1, 2, 3, 4)),
        plain_value(Identity(int=1)),
    ]
    assert found == [date(2024, 1, 31), time(1, 2, 3, 4), uuid.UUID(int=1)]
    assert [type(one) for one in found] == [date, time, uuid.UUID]
    zoned = Clock(1, tzinfo=timezone(timedelta(hours=2)))
    assert plain_value(zoned) is zoned


VALUES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.string(): st.text(st.characters(exclude_categories=["Cs"])),
    pa.date32(): st.dates(),
    pa.time64("us"): st.times(),
    pa.decimal128(38, 9): st.decimals(-(10**20), 10**20, places=9),
}


@st.composite
def arrays(draw: st.DrawFn) -> pa.Array:
    type_ = draw(st.sampled_from(list(VALUES)))
    return pa.array(draw(st.lists(st.none() | VALUES[type_])), type_)


@given(arrays())
def test_arrays_of_arrow_are_as_their_lists(array: pa.Array) -> None:
    assert plain_values(array) == array.to_pylist()
    assert plain_values(array.dictionary_encode()) == array.to_pylist()
    assert plain_values(pa.chunked_array([array, array])) == array.to_pylist() * 2


@given(st.datetimes(), st.sampled_from(["s", "ms", "us"]))
def test_timestamps_are_exact(moment: datetime, unit: str) -> None:
    array = pa.array([moment], pa.timestamp("us")).cast(pa.timestamp(unit), safe=False)
    since = array.to_pylist()[0] - datetime(1970, 1, 1)  # noqa: DTZ001
    expected = Instant(since // timedelta(microseconds=1) * 1000, is_zoned=False)
    assert plain_values(array) == [expected]
