"""Indexes of Delta tables: files by the log, at the version that is asked about."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote

import pytest
from deltalake import DeltaTable

from parquet_bloomwriter import InvalidArgument, bloomify_table, index
from tests.support.delta_tables import append, make_table


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table of five files with an index of `id`."""
    path = make_table(tmp_path / "events", num_files=5)
    index.create(path, "id", name="ids", fpp=0.0001)
    return path


def files_of(table: Path, version: int | None = None) -> set[str]:
    """Return the absolute paths of a version's files."""
    uris = DeltaTable(os.fspath(table), version=version).file_uris()
    return {unquote(uri).removeprefix("file://") for uri in uris}


def holding(table: Path, number: int, version: int | None = None) -> set[str]:
    """Return the files that hold the rows of one append."""
    data = DeltaTable(os.fspath(table), version=version).get_add_actions(flatten=True)
    rows = zip(data["path"].to_pylist(), data["min.id"].to_pylist(), strict=True)
    return {os.fspath(table / unquote(path)) for path, low in rows if low == number * 1000}


def test_a_lookup_names_the_file(table: Path) -> None:
    report = index.lookup(table, "id = 2500")
    assert set(report.paths) == holding(table, 2)
    assert (report.num_files, report.num_unknown) == (5, 0)


def test_files_that_no_index_knows_are_kept(table: Path) -> None:
    append(table, 5)
    report = index.lookup(table, "id = 2500")
    assert set(report.paths) == holding(table, 2) | holding(table, 5)
    assert report.num_unknown == 1
    index.refresh(table, name="ids")
    assert set(index.lookup(table, "id = 5500").paths) == holding(table, 5)


def test_removed_files_are_not_named(table: Path) -> None:
    DeltaTable(os.fspath(table)).delete("day = 2")
    assert index.lookup(table, "id = 2500").paths == ()
    assert set(index.lookup(table, "id = 2500", version=4).paths) == holding(table, 2, 4)


def test_files_that_vacuum_has_not_removed_yet_do_not_count(table: Path) -> None:
    bloomify_table(table, "id")
    report = index.lookup(table, "id = 2500")
    assert report.num_files == 5
    assert set(report.paths) == files_of(table)
    done = index.refresh(table, name="ids")
    assert done.version > 0
    assert set(index.lookup(table, "id = 2500").paths) == holding(table, 2)


@pytest.mark.parametrize("mode", ["incremental", "full", "quick"])
def test_every_refresh_knows_its_version(table: Path, mode: str) -> None:
    append(table, 5)
    index.refresh(table, name="ids", mode=mode)  # type: ignore[arg-type]
    assert index.index(table, name="ids").options["delta_version"] == "5"
    for number in range(6):
        assert holding(table, number) <= set(index.lookup(table, f"id = {number}500").paths)


def test_changes_are_told(table: Path) -> None:
    append(table, 5)
    DeltaTable(os.fspath(table)).delete("day = 1")
    info = index.index(table, name="ids")
    assert (info.appended, info.deleted) == (1, 1)


def test_no_stat_and_no_listing(table: Path) -> None:
    for file in files_of(table):
        os.utime(file, (1, 1))  # times in the log count, not those of the files
    assert set(index.lookup(table, "id = 2500").paths) == holding(table, 2)


def test_versions_are_of_delta_only(tmp_path: Path) -> None:
    plain = make_table(tmp_path / "t")
    (plain / "_delta_log").rename(tmp_path / "log")
    index.create(plain, "id", name="ids")
    with pytest.raises(InvalidArgument, match="has versions"):
        index.lookup(plain, "id = 1", version=0)


def test_named_files_are_refused(table: Path) -> None:
    with pytest.raises(InvalidArgument, match="Delta or Iceberg table"):
        index.lookup(table, "id = 1", files=next(iter(files_of(table))))


def test_a_part_of_a_table_is_refused(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", partition_by=["day"])
    with pytest.raises(InvalidArgument, match="Delta"):
        index.create(table / "day=1", "id", name="ids")


def test_slices_do_not_forget_files_that_were_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parquet_bloomwriter.index.format.slice_file.MIN_FILTERS", 2)
    table = make_table(tmp_path / "events", num_files=5)
    victim = Path(min(files_of(table)))
    data = victim.read_bytes()
    victim.write_bytes(bytes(len(data)))
    assert len(index.create(table, "id", name="ids").left_out) == 1
    victim.write_bytes(data)
    assert os.fspath(victim) in index.lookup(table, "id = 100000000").paths
    index.refresh(table, name="ids")
    assert index.lookup(table, "id = 100000000").paths == ()
