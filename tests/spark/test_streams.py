"""Streams of Spark: folders that they write are refused, those that they read keep their times."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JJavaError

from parquet_bloomwriter import bloomify, index, repair, strip
from parquet_bloomwriter.errors import InvalidArgument, UnsafeTarget
from parquet_bloomwriter.spark import bloomify_table

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

DAY_S = 24 * 3600
SCHEMA = "id long"


def write(folder: Path, name: str, ids: range, *, age_days: int) -> Path:
    """Write a file that is some days old."""
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.table({"id": pa.array(ids, pa.int64())}), folder / name)
    then = (folder / name).stat().st_mtime - age_days * DAY_S
    os.utime(folder / name, (then, then))
    return folder / name


def run_stream(spark: SparkSession, source: Path, sink: Path) -> int:
    """Let a stream read what is new in a folder; return the number of rows that it has written."""
    (
        spark.readStream.schema(SCHEMA)
        .parquet(str(source))
        .writeStream.format("parquet")
        .option("checkpointLocation", str(sink) + ".checkpoint")
        .trigger(availableNow=True)
        .start(str(sink))
        .awaitTermination()
    )
    return spark.read.parquet(str(sink)).count()


def test_a_folder_that_a_stream_writes(spark: SparkSession, tmp_path: Path) -> None:
    """Spark believes the sizes in `_spark_metadata`, and fails on files of another size."""
    write(tmp_path / "in", "a.parquet", range(1000), age_days=0)
    sink = tmp_path / "out"
    assert run_stream(spark, tmp_path / "in", sink) == 1000
    (file,) = sink.glob("*.parquet")
    before = file.read_bytes()
    for verb in (bloomify, strip, repair):
        with pytest.raises(UnsafeTarget, match="log of Spark's streaming sink"):
            verb(file, output=file, regenerate_crc=True)
    with pytest.raises(UnsafeTarget, match="this is the folder of a Spark stream"):
        bloomify_table(spark, sink, ["id"])
    with pytest.raises(UnsafeTarget, match="Read it with Spark"):
        bloomify_table(spark, sink, ["id"], output=tmp_path / "new")
    with pytest.raises(InvalidArgument, match="log of Spark's streaming sink"):
        index.create(sink, ["id"], name="ids")
    assert file.read_bytes() == before
    assert bloomify(file, ["id"], regenerate_crc=True, force=True).written
    with pytest.raises(Py4JJavaError, match="is not a Parquet file"):
        spark.read.parquet(str(sink)).count()


def test_a_folder_that_a_stream_reads(spark: SparkSession, tmp_path: Path) -> None:
    """Spark forgets files that are older than `maxFileAge`, 7 days, than the newest one."""
    source = tmp_path / "in"
    old = write(source, "a.parquet", range(1000), age_days=30)
    write(source, "b.parquet", range(1000, 1100), age_days=0)
    assert run_stream(spark, source, tmp_path / "out") == 1100
    bloomify(old, ["id"], keep_time=True)
    assert run_stream(spark, source, tmp_path / "out") == 1100
    strip(old, keep_time=True)
    bloomify_table(spark, source, ["id"], keep_time=True)
    assert run_stream(spark, source, tmp_path / "out") == 1100
    bloomify(
        old, ["id"], replace=True
    )  # what `keep_time` is for: with a new time, it is read again
    assert run_stream(spark, source, tmp_path / "out") == 2100
