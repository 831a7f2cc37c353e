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
from tests.support.draws import drawn

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


def test_what_is_understood(caplog: pytest.LogCaptureFixture) -> None:
    for name, text in pairs(GOOD):
        assert (name, text, settings.read_setting(name, text)) == (name, text, GOOD[name][text])
    assert caplog.records == []


def test_what_is_not_is_told_once_and_the_default_counts(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in pairs(BAD):
        caplog.clear()
        monkeypatch.setattr(settings, "_warned", set())
        usual = settings.read_setting(name, settings.DEFAULTS[name])
        assert [settings.read_setting(name, text) for _ in range(3)] == [usual] * 3, (name, text)
        (record,) = caplog.records
        assert (record.levelno, name in record.getMessage()) == (logging.WARNING, True)
        assert f'set to "{text}"' in record.getMessage()
        assert record.getMessage().endswith(f"the default counts, {settings.DEFAULTS[name]}")


def test_bytes_are_read_as_spark_reads_them(spark: SparkSession) -> None:
    from pyspark.errors import IllegalArgumentException

    conf = spark._jsparkSession.sessionState().conf()  # noqa: SLF001
    expected: dict[str, object] = {}
    found: dict[str, object] = {}
    for text in {text for _, text in pairs(GOOD) + pairs(BAD) if "." not in text}:
        spark.conf.set("spark.sql.files.maxPartitionBytes", "7")
        try:
            spark.conf.set("spark.sql.files.maxPartitionBytes", text)
            expected[text] = conf.filesMaxPartitionBytes()
        except IllegalArgumentException:
            expected[text] = None
        finally:
            spark.conf.unset("spark.sql.files.maxPartitionBytes")
        try:
            found[text] = settings._bytes(text.strip())  # noqa: SLF001
        except ValueError:
            found[text] = None
    assert found == expected


def test_enable_refuses_what_is_not(session: SparkSession) -> None:
    for name, text in pairs(BAD):
        session.conf.set(name, text)
        with pytest.raises(InvalidArgument, match=f"^{name} is set to "):
            Hyperspace(session).enable()
        assert not rules.is_enabled(session), (name, text)
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


SET_LATER = [
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
]


def test_a_join_goes_by_what_is_set_later(session: SparkSession, joined: DataFrame) -> None:
    """By half of these settings, others in each run."""
    for name, text, expected in drawn(SET_LATER, len(SET_LATER) // 2):
        for other in (settings.MIN_JOIN_BYTES, settings.MAX_APPENDED_BYTES, settings.MAX_APPENDED):
            session.conf.unset(other)
        session.conf.unset(settings.HYBRID_ENABLED)
        session.conf.set(settings.MIN_JOIN_BYTES, "1")
        if name != settings.MAX_APPENDED:
            session.conf.set(settings.MAX_APPENDED, "1.0")
        session.conf.set(name, text)
        assert num_probes(joined) == expected, rules.trace(joined)
        codes = [one.reason.code for one in rules.trace(joined) if one.reason is not None]
        assert Code.INTERNAL_ERROR not in codes
