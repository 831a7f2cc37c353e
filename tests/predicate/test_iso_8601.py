"""Dates and times as text, and as nanoseconds."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_bloomwriter.predicate.expression import Instant, TimeOfDay
from parquet_bloomwriter.predicate.iso_8601 import (
    datetime_of,
    instant_of,
    nanoseconds_of_time,
    parse_date,
    parse_time,
    parse_timestamp,
    time_of,
)

TEN = datetime(2024, 1, 31, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-01-31", datetime(2024, 1, 31)),  # noqa: DTZ001  naive
        (" 2024-01-31 ", datetime(2024, 1, 31)),  # noqa: DTZ001
        ("2024-01-31 10:00", datetime(2024, 1, 31, 10)),  # noqa: DTZ001
        ("2024-01-31T10:00:00", datetime(2024, 1, 31, 10)),  # noqa: DTZ001
        ("2024-01-31 10:00:00.5", datetime(2024, 1, 31, 10, 0, 0, 500_000)),  # noqa: DTZ001
        ("2024-01-31 10:00:00.123456000", datetime(2024, 1, 31, 10, 0, 0, 123_456)),  # noqa: DTZ001
        ("1970-01-01 00:00:00.000000001", Instant(1, is_zoned=False)),
        ("1969-12-31 23:59:59.999999999Z", Instant(-1, is_zoned=True)),
        ("2024-01-31 10:00:00Z", TEN),
        ("2024-01-31 10:00:00+00", TEN),
        ("2024-01-31 12:00:00+02:00", TEN),
        ("2024-01-31 12:00:00 +0200", TEN),
        ("2024-01-31 04:30:00-05:30", TEN),
        ("0001-01-01 00:00:00+01", Instant(-62135600400 * 10**9, is_zoned=True)),
        *((text, None) for text in ("", "now", "2024", "2024-1-31", "20240131", "2024-02-30")),
        *((text, None) for text in ("2024-01-31 25:00", "2024-01-31 10", "2024-01-31 10:00.5")),
        ("2024-01-31 10:00:00.1234567890", None),
        *((f"2024-01-31 10:00:00{zone}", None) for zone in ("+24", "+02:60", " Europe/Berlin")),
        ("2024-01-31Z", None),
        ("\u0662\u0660\u0662\u0664-01-31", None),
    ],
)
def test_timestamps(text: str, expected: datetime | Instant | None) -> None:
    assert parse_timestamp(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-01-31", date(2024, 1, 31)),
        ("2024-02-30", None),
        ("2024-01-31 00:00", None),
        ("", None),
    ],
)
def test_dates(text: str, expected: date | None) -> None:
    assert parse_date(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10:00", time(10)),
        ("23:59:59.999999", time(23, 59, 59, 999_999)),
        ("00:00:00.000000001", TimeOfDay(1)),
        *((text, None) for text in ("24:00", "10", "10:00.5", "10:00Z", "10:61", "")),
    ],
)
def test_times(text: str, expected: time | TimeOfDay | None) -> None:
    assert parse_time(text) == expected


ZONES: Any = st.none() | st.integers(-1439, 1439).map(
    lambda minutes: timezone(timedelta(minutes=minutes))
)


@given(st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1), timezones=ZONES))  # noqa: DTZ001
def test_what_is_written_is_read(moment: datetime) -> None:
    assert parse_timestamp(moment.isoformat(" ")) == moment
    assert datetime_of(instant_of(moment)) == moment


@given(st.times())
def test_times_of_day_are_exact(clock: time) -> None:
    assert parse_time(clock.isoformat()) == clock
    assert time_of(nanoseconds_of_time(clock)) == clock


def test_midnight_of_a_date() -> None:
    assert instant_of(date(1970, 1, 2)) == Instant(86_400 * 10**9, is_zoned=False)


def test_what_no_datetime_holds_stays_an_instant() -> None:
    far, fine = Instant(10**30, is_zoned=True), Instant(1, is_zoned=False)
    assert datetime_of(far) is far
    assert datetime_of(fine) is fine
    assert instant_of(far) is far


def test_the_end_of_a_day_is_not_its_beginning() -> None:
    """No engine reads 24:00 as 00:00 of the same day."""
    for text in ("24:00", "24:00:00", "24:00:00.000000000"):
        assert parse_time(text) is None
        assert parse_timestamp(f"2024-01-31 {text}") is None
    whole_day = 86_400 * 10**9
    assert time_of(whole_day) == TimeOfDay(whole_day)
    assert time_of(whole_day - 1_000) == time(23, 59, 59, 999_999)
