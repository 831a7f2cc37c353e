"""Settings `spark.bloomwriter.*`: what Spark takes is taken, the rest refused, and never fatal."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import index
from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.index.report import Code
from parquet_bloomwriter.spark import Hyperspace, rules, settings
from tests.spark.metrics import metrics_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

GOOD: dict[str, dict[str, float]] = {
    settings.MIN_JOIN_BYTES: {
        "0": 0,
        "10MB": 10 << 20,
        " 10m ": 10 << 20,
        "9MiB": 9 << 20,
        "3Ki": 3 << 10,
        "1g": 1 << 30,
        "-1": -1,
    },
    settings.MAX_APPENDED_BYTES: {"5kb": 5 << 10, "7B": 7, "2Tb": 2 << 40, "1P": 1 << 50},
    settings.MAX_APPENDED: {"0": 0, "0.25": 0.25, "1": 1, "3e-1": 0.3, " .5": 0.5},
    settings.MAX_DELETED: {"1.0": 1},
    settings.HYBRID_ENABLED: {"true": True, "FALSE": False, " True": True},
}
BAD: dict[str, list[str]] = {
    settings.MIN_JOIN_BYTES: ["", "ten", "1.5g", "10 MB", "5ib", "5i", "5kbi", "1e6", "9000p", "٣"],
    settings.MAX_APPENDED_BYTES: ["256MBs"],
    settings.MAX_APPENDED: ["30%", "30", "-0.1", "nan", "", "some"],
    settings.MAX_DELETED: ["1.1"],
    settings.HYBRID_ENABLED: ["yes", "1", ""],
}


def pairs(values: Mapping[str, Iterable[str]]) -> list[tuple[str, str]]:
    return [(name, text) for name, texts in values.items() for text in texts]


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """Return a session, and take back what a test sets in it."""
    yield spark
    rules.disable(spark)
    for name in (*settings.DEFAULTS, "spark.sql.autoBroadcastJoinThreshold"):
        spark.conf.unset(name)


@pytest.mark.parametrize(("name", "text"), pairs(GOOD))
def test_what_is_understood(name: str, text: str, caplog: pytest.LogCaptureFixture) -> None:
    assert settings.read_setting(name, text) == GOOD[name][text]
    assert caplog.records == []


@pytest.mark.parametrize(("name", "text"), pairs(BAD))
def test_what_is_not_is_told_once_and_the_default_counts(
    name: str, text: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "_warned", set())
    usual = settings.read_setting(name, settings.DEFAULTS[name])
    assert [settings.read_setting(name, text) for _ in range(3)] == [usual] * 3
    (record,) = caplog.records
    assert (record.levelno, name in record.getMessage()) == (logging.WARNING, True)
    assert f'set to "{text}"' in record.getMessage()
    assert record.getMessage().endswith(f"the default counts, {settings.DEFAULTS[name]}")


@pytest.mark.parametrize("text", [text for _, text in pairs(GOOD) + pairs(BAD) if "." not in text])
def test_bytes_are_read_as_spark_reads_them(spark: SparkSession, text: str) -> None:
    from pyspark.errors import IllegalArgumentException

    conf = spark._jsparkSession.sessionState().conf()  # noqa: SLF001
    spark.conf.set("spark.sql.files.maxPartitionBytes", "7")
    try:
        spark.conf.set("spark.sql.files.maxPartitionBytes", text)
        expected = conf.filesMaxPartitionBytes()
    except IllegalArgumentException:
        expected = None
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")
    try:
        found = settings._bytes(text.strip())  # noqa: SLF001
    except ValueError:
        found = None
    assert found == expected


@pytest.mark.parametrize(("name", "text"), pairs(BAD))
def test_enable_refuses_what_is_not(session: SparkSession, name: str, text: str) -> None:
    session.conf.set(name, text)
    with pytest.raises(InvalidArgument, match=f"^{name} is set to "):
        Hyperspace(session).enable()
    assert not rules.is_enabled(session)
    session.conf.unset(name)
    Hyperspace(session).enable()
    assert rules.is_enabled(session)


@pytest.fixture
def joined(session: SparkSession, tmp_path: Path) -> DataFrame:
    """Join two tables of different keys, of which one has an index and a file it does not know."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        keys = pa.table({"k": range(0 if name == "a" else 900, 1000)})
        pq.write_table(keys, tmp_path / name / "0.parquet")
    index.create(tmp_path / "a", ["k"], name="keys")
    pq.write_table(pa.table({"k": [1]}), tmp_path / "a" / "1.parquet")
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    session.conf.set(settings.MIN_JOIN_BYTES, "1")
    rules.enable(session)
    left, right = (session.read.parquet(str(tmp_path / name)) for name in "ab")
    return right.join(left, "k")


def num_probes(df: DataFrame) -> int:
    again = df.select("*")  # planned anew
    assert sorted(row.k for row in again.collect()) == list(range(900, 1000))
    return metrics_of(again).num_probes


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (settings.MIN_JOIN_BYTES, "1b", 1),
        (settings.MIN_JOIN_BYTES, "-1", 1),
        (settings.MIN_JOIN_BYTES, "10MB", 0),
        (settings.MIN_JOIN_BYTES, "ten", 0),  # as by default
        (settings.MAX_APPENDED_BYTES, "1m", 1),
        (settings.MAX_APPENDED_BYTES, "1b", 0),
        (settings.MAX_APPENDED_BYTES, "1 MiB", 1),
        (settings.MAX_APPENDED, "1e0", 1),
        (settings.MAX_APPENDED, "0.0001", 0),
        (settings.MAX_APPENDED, "60%", 1),
        (settings.HYBRID_ENABLED, "FALSE", 0),
        (settings.HYBRID_ENABLED, "yes", 1),
    ],
)
def test_a_join_goes_by_what_is_set_later(
    session: SparkSession, joined: DataFrame, name: str, text: str, expected: int
) -> None:
    if name != settings.MAX_APPENDED:
        session.conf.set(settings.MAX_APPENDED, "1.0")
    session.conf.set(name, text)
    assert num_probes(joined) == expected, rules.trace(joined)
    codes = [one.reason.code for one in rules.trace(joined) if one.reason is not None]
    assert Code.INTERNAL_ERROR not in codes
