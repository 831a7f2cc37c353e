"""Dates and times: ISO 8601 text as SQL engines read it, and nanoseconds.

Only forms that all engines read alike are accepted: `2024-01-31`,
`2024-01-31 10:00[:00[.123456789]]` with a blank or a T, and a zone as `Z`, `+02`, `+02:00` or
`+0200`.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING

from parquet_bloomwriter.predicate.expression import Instant, TimeOfDay

if TYPE_CHECKING:
    from collections.abc import Mapping

NANOSECONDS_PER_SECOND = 1_000_000_000
NANOSECONDS_PER_DAY = 86_400 * NANOSECONDS_PER_SECOND
NANOSECONDS: Mapping[str, int] = {
    "s": NANOSECONDS_PER_SECOND,
    "ms": 1_000_000,
    "us": 1_000,
    "ns": 1,
}
"""Nanoseconds of one unit, by Arrow's name of the unit."""

EPOCH = date(1970, 1, 1).toordinal()
"""Day 0 of DATE, as an ordinal of the proleptic Gregorian calendar."""

_DATE = r"(?P<date>\d{4}-\d{2}-\d{2})"
_TIME = r"(?P<minute>\d{2}:\d{2})(?P<second>:\d{2})?(?:(?<=:\d\d:\d\d)\.(?P<fraction>\d{1,9}))?"
_ZONE = r"(?:(?P<utc>Z)|(?P<hours>[+-]\d{2})(?::?(?P<minutes>\d{2}))?)"
_TIME_ONLY = re.compile(_TIME, re.ASCII)
_TIMESTAMP = re.compile(rf"{_DATE}(?:[ T]{_TIME} ?{_ZONE}?)?", re.ASCII)


def parse_date(text: str) -> date | None:
    """Read `2024-01-31`; None if the text is anything else."""
    match = re.fullmatch(_DATE, text.strip(), re.ASCII)
    if match is None:
        return None
    try:
        return date.fromisoformat(match["date"])
    except ValueError:
        return None


def parse_time(text: str) -> time | TimeOfDay | None:
    """Read `10:00:00.5`; None if the text is anything else."""
    match = _TIME_ONLY.fullmatch(text.strip())
    return None if match is None else _time_of(match)


def parse_timestamp(text: str) -> datetime | Instant | None:
    """Read a date with or without a time and a zone; None if the text is anything else."""
    match = _TIMESTAMP.fullmatch(text.strip())
    if match is None:
        return None
    day = parse_date(match["date"])
    clock = time() if match["minute"] is None else _time_of(match)
    zone = _offset_of(match)
    if day is None or clock is None or (zone is None and (match["utc"] or match["hours"])):
        return None
    fine = clock.nanoseconds if isinstance(clock, TimeOfDay) else nanoseconds_of_time(clock)
    nanoseconds = (day.toordinal() - EPOCH) * NANOSECONDS_PER_DAY + fine
    offset = 0 if zone is None else zone // timedelta(microseconds=1) * 1_000
    instant = Instant(nanoseconds - offset, zone is not None)
    return instant if isinstance(clock, TimeOfDay) else datetime_of(instant)


def datetime_of(instant: Instant) -> datetime | Instant:
    """Return an instant as `datetime`, in UTC if zoned; unchanged where that would not be exact."""
    microseconds, rest = divmod(instant.nanoseconds, 1_000)
    start = datetime(1970, 1, 1, tzinfo=UTC if instant.is_zoned else None)
    try:
        return instant if rest else start + timedelta(microseconds=microseconds)
    except OverflowError:
        return instant


def instant_of(value: date | Instant) -> Instant:
    """Return a date or time as an exact instant, with pandas' nanoseconds; a date at midnight."""
    if isinstance(value, Instant):
        return value
    if not isinstance(value, datetime):
        return Instant((value.toordinal() - EPOCH) * NANOSECONDS_PER_DAY, is_zoned=False)
    offset = value.utcoffset()
    naive = datetime.combine(value.date(), value.time())
    since = naive - datetime(1970, 1, 1) - (offset or timedelta())  # noqa: DTZ001  naive on purpose
    nanosecond = getattr(value, "nanosecond", 0)
    microseconds = since // timedelta(microseconds=1)
    return Instant(microseconds * 1_000 + nanosecond, is_zoned=offset is not None)


def nanoseconds_of_time(value: time) -> int:
    """Return nanoseconds since midnight, whatever the zone."""
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return seconds * NANOSECONDS_PER_SECOND + value.microsecond * 1_000


def time_of(nanoseconds: int) -> time | TimeOfDay:
    """Return the time of day; a `TimeOfDay` where `time` would not be exact."""
    microseconds, rest = divmod(nanoseconds, 1_000)
    if rest or not 0 <= nanoseconds < NANOSECONDS_PER_DAY:
        return TimeOfDay(nanoseconds)
    seconds, microsecond = divmod(microseconds, 1_000_000)
    minutes, second = divmod(seconds, 60)
    return time(minutes // 60, minutes % 60, second, microsecond)


def _time_of(match: re.Match[str]) -> time | TimeOfDay | None:
    try:
        clock = time.fromisoformat(match["minute"] + (match["second"] or ""))
    except ValueError:
        return None
    fraction = int((match["fraction"] or "").ljust(9, "0"))
    return time_of(nanoseconds_of_time(clock) + fraction)


def _offset_of(match: re.Match[str]) -> timedelta | None:
    """Return the offset of the zone; None if there is no zone, or an impossible one."""
    if match["utc"]:
        return timedelta()
    if match["hours"] is None:
        return None
    sign = -1 if match["hours"][0] == "-" else 1
    hours, minutes = int(match["hours"][1:]), int(match["minutes"] or 0)
    possible = hours < 24 and minutes < 60  # noqa: PLR2004  of a day, of an hour
    return sign * timedelta(hours=hours, minutes=minutes) if possible else None
