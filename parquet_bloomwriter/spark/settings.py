"""Settings of a Spark session, `spark.bloomwriter.*`, and their default values.

    bytes      10485760, 10MB, 10m, 1GiB, as in Spark's own settings; units are powers of 1024
    flags      true, false
    ratios     numbers from 0 to 1, such as 0.3; not 30%, which no setting of Spark takes

`Hyperspace.enable` refuses any other value. A query must not fail for a wrong value that is set
later: the first query that reads the value logs a warning, and the default counts.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Final

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.text import safe

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

_PREFIX = "spark.bloomwriter."

INDEX_PATH: Final = f"{_PREFIX}index.path"
"""Folder of indexes; "" for the folder `_bloom_index` in each table."""

HYBRID_ENABLED: Final = f"{_PREFIX}hybridScan.enabled"
"""Whether indexes are used for tables whose files have changed since the last refresh."""

MAX_APPENDED: Final = f"{_PREFIX}hybridScan.maxAppendedRatio"
"""Maximum share of bytes in files unknown to the index, up to which joins use the index."""

MAX_APPENDED_BYTES: Final = f"{_PREFIX}hybridScan.maxAppendedBytes"
"""Maximum total size of unknown files that the driver reads for a join, bytes."""

MAX_DELETED: Final = f"{_PREFIX}hybridScan.maxDeletedRatio"
"""Maximum share of bytes in files that the table no longer has, up to which joins use the index."""

MIN_JOIN_BYTES: Final = f"{_PREFIX}join.minBytes"
"""Minimum size of a join's side that is filtered, bytes, by Spark's estimate."""

DEFAULTS: Final = {
    INDEX_PATH: "",
    HYBRID_ENABLED: "true",
    MAX_APPENDED: "0.3",
    MAX_APPENDED_BYTES: str(256 * 1024 * 1024),
    MAX_DELETED: "0.2",
    MIN_JOIN_BYTES: str(10 * 1024 * 1024),
}

_BYTES = re.compile(r"(?P<number>-?[0-9]+)(?:b|(?P<unit>[kmgtp])i?b?)?", re.IGNORECASE | re.ASCII)
_UNITS = ("", "k", "m", "g", "t", "p")
_MAX_BYTES = (1 << 63) - 1

_log = logging.getLogger(__name__)
_warned: set[tuple[str, str]] = set()
"""Names and texts of settings about which a warning was logged."""


def setting_of(spark: SparkSession, name: str) -> str:
    """Return the value of a setting, as text."""
    value = spark.conf.get(name, DEFAULTS[name])
    return DEFAULTS[name] if value is None else value


def number_of(spark: SparkSession, name: str) -> float:
    """Return the value of a setting in bytes, or of a ratio; the default if the text is wrong."""
    return read_setting(name, setting_of(spark, name))


def flag_of(spark: SparkSession, name: str) -> bool:
    """Return the value of a flag; the default if the text is neither true nor false."""
    return bool(read_setting(name, setting_of(spark, name)))


def read_setting(name: str, text: str) -> float:
    """Return the value of a setting's text; for a wrong text, warn once and return the default."""
    try:
        return _READERS[name](text.strip())
    except ValueError as error:
        if (name, text) not in _warned:
            _warned.add((name, text))
            _log.warning(
                "%s; the default counts, %s", safe(_refusal(name, text, error)), DEFAULTS[name]
            )
        return _READERS[name](DEFAULTS[name])


def check_settings(spark: SparkSession) -> None:
    """Check the settings of a session.

    Raises:
        InvalidArgument: If a setting has a wrong value.
    """
    for name, read in _READERS.items():
        text = setting_of(spark, name)
        try:
            read(text.strip())
        except ValueError as error:
            raise InvalidArgument(_refusal(name, text, error)) from error


def _refusal(name: str, text: str, error: ValueError) -> str:
    return f'{name} is set to "{text:.80}", which is not {error}'


def _bytes(text: str) -> float:
    match = _BYTES.fullmatch(text)
    number = (
        int(match["number"]) << 10 * _UNITS.index((match["unit"] or "").lower()) if match else None
    )
    if number is None or abs(number) > _MAX_BYTES:
        raise ValueError("a number of bytes, such as 10485760, 10MB or 1g")
    return number


def _flag(text: str) -> float:
    if text.lower() not in ("true", "false"):
        raise ValueError("true or false")
    return text.lower() == "true"


def _ratio(text: str) -> float:
    try:
        ratio = float(text)
    except ValueError:
        ratio = -1
    if not 0 <= ratio <= 1:
        raise ValueError("a number from 0 to 1, such as 0.3 for 30 %")
    return ratio


_READERS: Final[dict[str, Callable[[str], float]]] = {
    HYBRID_ENABLED: _flag,
    MAX_APPENDED: _ratio,
    MAX_APPENDED_BYTES: _bytes,
    MAX_DELETED: _ratio,
    MIN_JOIN_BYTES: _bytes,
}


def is_connect(spark: SparkSession) -> bool:
    """Return whether a session is one of Spark Connect, which has no JVM of its own."""
    return type(spark).__module__.startswith("pyspark.sql.connect")
