"""`keep_time`: the new file has the old file's time, and an index is right all the same."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from bloomify.main import cli
from parquet_bloomwriter import bloomify, index, probe, repair, strip
from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.replace.external_references import crc_path

THEN = 1_600_000_000_123_456_789
"""Nanoseconds since 1970, a time long ago."""


def write(path: Path, start: int = 0) -> Path:
    """Write a file of 1,000 ids from a long time ago."""
    path.parent.mkdir(exist_ok=True, parents=True)
    ids = range(start, start + 2000, 2)
    pq.write_table(pa.table({"id": ids, "name": [str(i) for i in ids]}), path, row_group_size=500)
    os.utime(path, ns=(THEN, THEN))
    return path


def test_the_time_stays_to_the_nanosecond(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet")
    inode, size = path.stat().st_ino, path.stat().st_size
    assert bloomify(path, ["id"], keep_time=True).written
    assert path.stat().st_mtime_ns == THEN
    assert path.stat().st_ino != inode
    assert path.stat().st_size > size
    assert bloomify(path, ["id"], replace=True, backup_dir=tmp_path / "b", keep_time=True).written
    assert path.stat().st_mtime_ns == (tmp_path / "b" / "a.parquet").stat().st_mtime_ns == THEN
    bloomify(path, ["name"], output=tmp_path / "c.parquet", keep_time=True)
    repair(path, output=tmp_path / "d.parquet", keep_time=True)
    for new in ("c.parquet", "d.parquet"):
        assert (tmp_path / new).stat().st_mtime_ns == THEN
    crc_path(path).write_bytes(b"crc\0\0\0\x02\0")
    assert strip(path, keep_time=True, regenerate_crc=True).written
    assert (path.stat().st_mtime_ns, path.stat().st_size) == (THEN, size)
    assert crc_path(path).stat().st_mtime_ns > THEN
    bloomify(path, ["id"], regenerate_crc=True)
    assert path.stat().st_mtime_ns > THEN


def test_the_command(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet")
    for verb in (["add", "-c", "id"], ["strip"]):
        result = CliRunner().invoke(cli, [*verb, str(path), "--keep-time"])
        assert result.exit_code == 0, result.output
        assert path.stat().st_mtime_ns == THEN


def test_stores_and_buffers_are_refused_before_anything_is_asked_of_them(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet")
    for source, output in (
        (path.read_bytes(), None),
        ("s3://bucket/a.parquet", None),
        ("gs://bucket/a.parquet", tmp_path / "b.parquet"),
        (path, "sftp://host/a.parquet"),
    ):
        for verb in (bloomify, strip, repair):
            with pytest.raises(InvalidArgument, match="on disk"):
                verb(source, output=output, keep_time=True)
    assert os.listdir(tmp_path) == ["a.parquet"]  # noqa: PTH208


def test_a_footer_that_is_kept_is_not_taken_for_the_new_one(tmp_path: Path) -> None:
    """`stat` shows another inode and ctime."""
    path = write(tmp_path / "a.parquet")
    for _ in range(3):
        assert probe(path, "id = 501").num_filters == 0
        bloomify(path, ["id"], keep_time=True)
        assert probe(path, "id = 501").num_filters > 0
        strip(path, keep_time=True)


def test_an_index_is_right_about_files_whose_times_were_kept(tmp_path: Path) -> None:
    """A file of the size and the time that the index knows has the values that the index knows.

    `keep_time` takes the time from the version whose values it keeps, so no other values can get
    the same size and time.
    """
    first, second = write(tmp_path / "t/a.parquet"), write(tmp_path / "t/b.parquet", 1)
    table = tmp_path / "t"
    index.create(table, ["id"], name="ids")

    def found(value: int) -> list[str]:
        return [Path(path).name for path in index.lookup(table, f"id = {value}").paths]

    assert [found(4), found(5), found(9999)] == [["a.parquet"], ["b.parquet"], []]
    bloomify(first, ["id"], keep_time=True)  # another size: another file, which is read
    assert (found(4), found(5)) == (["a.parquet"], ["a.parquet", "b.parquet"])
    assert found(9999) == ["a.parquet"]
    index.refresh(table, name="ids")
    assert [found(4), found(5), found(9999)] == [["a.parquet"], ["b.parquet"], []]
    before = first.read_bytes()
    state = first.stat()
    bloomify(first, ["id"], replace=True, fpp=0.011, keep_time=True)  # the size may stay
    strip(first, keep_time=True)
    bloomify(first, ["id"], keep_time=True)
    assert first.read_bytes() == before
    assert (first.stat().st_size, first.stat().st_mtime_ns) == (state.st_size, THEN)
    assert [found(4), found(5), found(9999)] == [["a.parquet"], ["b.parquet"], []]
    strip(second, keep_time=True)
    for value in range(0, 2000, 97):
        assert ("a.parquet" if value % 2 == 0 else "b.parquet") in found(value)
