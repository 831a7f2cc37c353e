"""Tables read at snapshots and branches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyiceberg.table import StaticTable

from parquet_bloomwriter.errors import InvalidArgument, TableProblem, UnsupportedTable
from parquet_bloomwriter.iceberg import catalog as catalogs
from parquet_bloomwriter.iceberg.snapshot import (
    check_replaceable,
    locate,
    read_snapshot,
    snapshot_of,
)
from tests.support.iceberg_commits import CATALOG, name_of, rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyiceberg.table import Table


def test_files_are_those_of_the_plan_in_its_order(make_table: Callable[..., Table]) -> None:
    table = make_table()
    read = read_snapshot(name_of(table))
    planned = [one.file for one in table.scan().plan_files()]
    assert [(one.path, one.size, one.num_rows) for one in read.files.values()] == [
        (one.file_path, one.file_size_in_bytes, one.record_count) for one in planned
    ]
    assert sorted(one.data_sequence_number for one in read.files.values()) == [1, 2, 3]
    assert {one.why_kept for one in read.files.values()} == {None}
    assert read.branch == "main"
    assert read.snapshot_id == table.metadata.current_snapshot_id


def test_a_table_without_snapshots_has_no_files(make_table: Callable[..., Table]) -> None:
    read = read_snapshot(name_of(make_table(files=0)))
    assert (read.snapshot, read.snapshot_id, dict(read.files)) == (None, None, {})


def test_an_older_snapshot_has_its_files_and_its_schema(make_table: Callable[..., Table]) -> None:
    table = make_table(files=1)
    first = table.current_snapshot()
    assert first is not None
    with table.update_schema() as update:
        update.rename_column("name", "label")
    table.append(rows(10).rename_columns(["id", "label"]))
    read = read_snapshot(name_of(table), snapshot_id=first.snapshot_id)
    assert len(read.files) == 1
    assert read.branch is None
    assert read.columns.select(None) == ("id", "name")
    assert read_snapshot(name_of(table)).columns.select(None) == ("id", "label")


def test_a_branch_has_its_own_files(make_table: Callable[..., Table]) -> None:
    table = make_table(files=1)
    snapshot_id = table.metadata.current_snapshot_id
    assert snapshot_id is not None
    table.manage_snapshots().create_branch(snapshot_id, "audit").create_tag(
        snapshot_id, "v1"
    ).commit()
    table.append(rows(10), branch="audit")
    assert len(read_snapshot(name_of(table), branch="audit").files) == 2
    assert len(read_snapshot(name_of(table)).files) == 1
    with pytest.raises(InvalidArgument, match="is a tag"):
        read_snapshot(name_of(table), branch="v1")
    with pytest.raises(InvalidArgument, match=r"found: .*audit"):
        read_snapshot(name_of(table), branch="audits")


def test_what_is_not_there_is_named(make_table: Callable[..., Table]) -> None:
    table = make_table(files=1)
    for given in (f"iceberg://{CATALOG}/shop.none", f"iceberg://{CATALOG}/nowhere.orders"):
        with pytest.raises(InvalidArgument, match="no table of this name"):
            read_snapshot(given)
    with pytest.raises(InvalidArgument, match=f"no catalog .other.; found: .*{CATALOG}"):
        read_snapshot("iceberg://other/shop.orders")
    with pytest.raises(InvalidArgument, match="no snapshot 7"):
        read_snapshot(name_of(table), snapshot_id=7)
    with pytest.raises(InvalidArgument, match="one of them is enough"):
        read_snapshot(name_of(table), snapshot_id=7, branch="main")


def test_another_version_of_pyiceberg_is_refused(
    make_table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make_table(files=1)
    monkeypatch.setattr("pyiceberg.__version__", "0.120.0")
    with pytest.raises(InvalidArgument, match=r"pyiceberg 0\.120\.0 is installed"):
        read_snapshot(name_of(table))
    assert catalogs.SERIES == "0.12"


def test_a_manifest_that_is_gone_is_a_problem_of_the_table(
    make_table: Callable[..., Table], tmp_path: Path
) -> None:
    table = make_table(files=1)
    for manifest in (tmp_path / "warehouse").rglob("*-m0.avro"):
        manifest.unlink()
    with pytest.raises(TableProblem):
        read_snapshot(name_of(table))


def test_rows_with_ids_are_a_reason_to_refuse(
    make_table: Callable[..., Table], tmp_path: Path
) -> None:
    table = make_table(files=0, version=1)
    check_replaceable(read_snapshot(name_of(table)))
    # pyiceberg does not write tables of version 3.
    found = json.loads(Path(table.metadata_location.removeprefix("file://")).read_text())
    newer = tmp_path / "v3.metadata.json"
    found |= {"format-version": 3, "next-row-id": 0, "last-sequence-number": 0}
    newer.write_text(json.dumps(found))
    read = snapshot_of(name_of(table), StaticTable.from_metadata(str(newer)))
    with pytest.raises(UnsupportedTable, match="format version 3"):
        check_replaceable(read)


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ("file:///w/a b/x.parquet", "/w/a b/x.parquet"),
        ("file:/w/x.parquet", "/w/x.parquet"),
        ("file://localhost/w/x.parquet", "/w/x.parquet"),
        ("/w//x.parquet", "/w/x.parquet"),
        ("file:///w/a%20b/x#1?.parquet", "/w/a%20b/x#1?.parquet"),
        ("s3://bucket/a%20b//x.parquet", "s3://bucket/a%20b//x.parquet"),
    ],
)
def test_a_location_stands_for_itself(given: str, place: str) -> None:
    assert locate(given) == place


@pytest.mark.parametrize("given", ["", "data/x.parquet", "file://host/w/x", "/w/\0"])
def test_a_location_that_names_no_file_here_is_refused(given: str) -> None:
    with pytest.raises(InvalidArgument):
        locate(given)
