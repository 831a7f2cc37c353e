"""bloomify, strip and the properties, on Iceberg tables."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table.snapshots import Snapshot

from parquet_bloomwriter.errors import (
    InvalidArgument,
    OutcomeUnknown,
    TableChanged,
    Unfinished,
    UnsafeTarget,
)
from parquet_bloomwriter.iceberg.catalog import open_catalog
from parquet_bloomwriter.iceberg.deletes import PositionDeletes
from parquet_bloomwriter.iceberg.snapshot import read_snapshot
from parquet_bloomwriter.source.settings import StoreSettings, use
from parquet_bloomwriter.tables.add import bloomify_table
from parquet_bloomwriter.tables.replacement import Limits
from parquet_bloomwriter.tables.report import FileFate
from parquet_bloomwriter.tables.request import ask_for_filters
from parquet_bloomwriter.tables.strip import strip_table
from tests.iceberg.conftest import catalog, make_table
from tests.support.iceberg_commits import CATALOG, configuration_on, name_of, rows
from tests.support.iceberg_deletes import delete_positions

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

    from tests.stores.servers import Store

__all__ = ["catalog", "make_table"]


def _filtered(table: Table) -> dict[str, list[str]]:
    """Return the columns with filters of each file in the table."""
    found = {}
    for path in read_snapshot(name_of(table)).files:
        metadata = pq.read_metadata(path.removeprefix("file://"))
        group = metadata.row_group(0)
        columns = [group.column(number) for number in range(group.num_columns)]
        found[path] = [one.path_in_schema for one in columns if one.bloom_filter_offset]
    return found


def _rows(table: Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table.refresh().scan().to_arrow().to_pylist()
    return sorted(found, key=lambda row: row["id"])


def _data_files(table: Table) -> set[str]:
    folder = Path(table.location().removeprefix("file://")) / "data"
    return {f"file://{one}" for one in folder.iterdir()}


@pytest.mark.parametrize("version", [1, 2])
def test_filters_are_added_once_and_taken_out(
    make_table: Callable[..., Table], version: int
) -> None:
    table = make_table(files=3, version=version)
    name, before = name_of(table), _rows(table)
    old = _data_files(table)
    report = bloomify_table(name, "id", limits=Limits(num_files=2))
    assert (report.format, report.num_filters, len(report.commits)) == ("iceberg", 3, 2)
    assert list(_filtered(table).values()) == [["id"]] * 3
    assert _rows(table) == before
    assert old <= _data_files(table)
    assert report.commits[-1] == table.metadata.current_snapshot_id
    for path, entry in read_snapshot(name).files.items():
        metadata = pq.read_metadata(path.removeprefix("file://"))
        assert entry.size == os.path.getsize(path.removeprefix("file://"))  # noqa: PTH202
        first = metadata.row_group(0).column(0)
        assert entry.data_file.split_offsets == [
            first.dictionary_page_offset or first.data_page_offset
        ]
    again = bloomify_table(name, "id")
    assert (again.num_to_do, again.num_footers, again.commits) == (0, 0, ())
    stripped = strip_table(name)
    assert stripped.num_filters == 3
    assert list(_filtered(table).values()) == [[]] * 3
    assert _rows(table) == before


def test_a_dry_run_writes_nothing(make_table: Callable[..., Table]) -> None:
    table = make_table()
    files, location = _data_files(table), table.metadata_location
    report = bloomify_table(name_of(table), dry_run=True, columns="id")
    assert (report.count(FileFate.PLANNED), report.num_commits_planned) == (3, 1)
    assert (_data_files(table), table.refresh().metadata_location) == (files, location)


def test_files_with_position_deletes_stay_and_are_named(make_table: Callable[..., Table]) -> None:
    table = make_table(files=3)
    kept = next(iter(read_snapshot(name_of(table)).files))
    delete_positions(table, {kept: [0, 4]})
    before = _rows(table)
    report = bloomify_table(name_of(table), "id")
    assert len(before) == 28
    assert _rows(table) == before
    assert [(one.path, one.reason) for one in report.changes if one.fate is FileFate.KEPT] == [
        (kept.removeprefix("file://"), "position deletes name it")
    ]
    assert sorted(_filtered(table).values()) == [[], ["id"], ["id"]]


def test_a_property_that_names_no_column_is_not_said_to_be_missing(
    make_table: Callable[..., Table],
) -> None:
    table = make_table(files=1)
    key = "write.parquet.bloom-filter-enabled.column.nmae"
    with table.transaction() as change:
        change.set_properties({key: "true"})
    with pytest.raises(InvalidArgument, match=f"no column that its property {key} names"):
        bloomify_table(name_of(table))
    assert bloomify_table(name_of(table), ["name"]).changes


def test_the_table_itself_asks(make_table: Callable[..., Table]) -> None:
    table = make_table(files=2)
    name = name_of(table)
    with pytest.raises(InvalidArgument, match="no property write"):
        bloomify_table(name)
    assert ask_for_filters(name, ["name"], fpp=0.1) == table.metadata.current_snapshot_id
    assert ask_for_filters(name, ["name"], fpp=0.1) is None
    with table.refresh().update_schema() as update:
        update.rename_column("name", "label")
    report = bloomify_table(name)
    assert (report.columns, report.asked_by_table) == (("label",), True)
    assert list(_filtered(table).values()) == [["name"]] * 2
    # A rate of the properties does not stand in the way of other columns.
    assert bloomify_table(name, "id").num_filters == 2


def test_a_branch_is_changed_alone(make_table: Callable[..., Table]) -> None:
    table = make_table(files=2)
    head = table.metadata.current_snapshot_id
    assert head is not None
    table.manage_snapshots().create_branch(head, "audit").commit()
    table.append(rows(50), branch="audit")
    report = bloomify_table(name_of(table), "id", branch="audit")
    assert report.num_filters == 3
    assert list(_filtered(table).values()) == [[], []]
    with pytest.raises(InvalidArgument, match="no branch"):
        bloomify_table(name_of(table), "id", branch="other")


def test_new_files_lie_beside_the_old_wherever_these_are(
    make_table: Callable[..., Table], tmp_path: Path
) -> None:
    table = make_table(files=0)
    place = tmp_path / "elsewhere" / "day=a%2Fb c"
    place.mkdir(parents=True)
    pq.write_table(rows(0), place / "x.parquet")
    table.add_files([f"file://{place}/x.parquet"])
    report = bloomify_table(name_of(table), "id")
    assert report.num_filters == 1
    assert len(list(place.iterdir())) == 2
    assert [row["id"] for row in _rows(table)] == list(range(10))


def test_a_commit_of_unknown_outcome_keeps_the_new_files(
    make_table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make_table(files=2)
    files = _data_files(table)

    def refuse(*_: object) -> object:
        raise ConnectionError("gone")

    monkeypatch.setattr(SqlCatalog, "commit_table", refuse)
    monkeypatch.setattr("parquet_bloomwriter.iceberg.commit.time.sleep", lambda _: None)
    with pytest.raises(OutcomeUnknown) as caught:
        bloomify_table(name_of(table), "id")
    assert len(_data_files(table) - files) == 2
    assert {f"file://{one}" for one in caught.value.__dict__["report"].undecided} == (
        _data_files(table) - files
    )


@pytest.mark.parametrize("is_made", [True, False])
def test_an_interrupted_commit_is_looked_up(
    make_table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch, *, is_made: bool
) -> None:
    table = make_table(files=2)
    files = _data_files(table)
    commit = SqlCatalog.commit_table

    def interrupt(*given: Any) -> object:  # noqa: ANN401
        if is_made:
            commit(*given)
        raise KeyboardInterrupt

    monkeypatch.setattr(SqlCatalog, "commit_table", interrupt)
    with pytest.raises(KeyboardInterrupt) as caught:
        bloomify_table(name_of(table), "id")
    report = caught.value.__dict__["report"]
    new = _data_files(table) - files
    assert len(new) == 2
    assert not report.left_over
    assert {f"file://{one}" for one in report.undecided} == (set() if is_made else new)
    assert report.commits == ((table.refresh().metadata.current_snapshot_id,) if is_made else ())
    assert [one.fate for one in report.changes] == [FileFate.REPLACED] * 2 * is_made


def test_totals_of_the_last_snapshot_that_are_no_numbers_are_left_out(
    make_table: Callable[..., Table],
) -> None:
    table = make_table(files=1)
    metadata = Path(table.metadata_location.removeprefix("file://"))
    text = metadata.read_text()
    odd = text.replace('"total-equality-deletes":"0"', '"total-equality-deletes":"none"')
    assert odd != text
    metadata.write_text(odd)
    bloomify_table(name_of(table), "id")
    summary = table.refresh().metadata.snapshots[-1].summary
    assert summary is not None
    assert summary.additional_properties["total-data-files"] == "1"
    assert "total-equality-deletes" not in summary.additional_properties


def test_files_of_a_commit_that_cannot_be_read_are_not_left_over(
    make_table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make_table(files=2)
    commit = SqlCatalog.commit_table

    def cut_off(*given: Any) -> object:  # noqa: ANN401
        made = commit(*given)
        monkeypatch.setattr(Snapshot, "manifests", lambda *_: 1 // 0)
        return made

    monkeypatch.setattr(SqlCatalog, "commit_table", cut_off)
    with pytest.raises(Unfinished) as caught:
        bloomify_table(name_of(table), "id")
    report = caught.value.__dict__["report"]
    assert len(report.undecided) == 2
    assert not report.left_over


def test_delete_files_that_go_after_the_last_commit_do_not_hide_the_report(
    make_table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make_table(files=3)
    delete_positions(table, {next(iter(read_snapshot(name_of(table)).files)): [1]})
    commit = SqlCatalog.commit_table

    def cut_off(*given: Any) -> object:  # noqa: ANN401
        made = commit(*given)

        def refuse(_: object) -> object:
            raise OSError("no store")

        monkeypatch.setattr(PositionDeletes, "_position_deletes", refuse)
        return made

    monkeypatch.setattr(SqlCatalog, "commit_table", cut_off)
    report = bloomify_table(name_of(table), "id")
    assert sorted(one.fate.name for one in report.changes) == ["KEPT", "REPLACED", "REPLACED"]


@pytest.mark.parametrize("what", ["table", "branch"])
def test_a_table_that_goes_between_two_commits_has_changed(
    make_table: Callable[..., Table],
    catalog: Catalog,
    monkeypatch: pytest.MonkeyPatch,
    what: str,
) -> None:
    table = make_table(files=2)
    snapshot_id = table.metadata.current_snapshot_id
    assert snapshot_id is not None
    table.manage_snapshots().create_branch(snapshot_id, "side").commit()
    commit = SqlCatalog.commit_table

    def then_gone(*given: Any) -> object:  # noqa: ANN401
        monkeypatch.setattr(SqlCatalog, "commit_table", commit)
        made = commit(*given)
        if what == "table":
            catalog.drop_table("shop.orders")
        else:
            table.refresh().manage_snapshots().remove_branch("side").commit()
        return made

    monkeypatch.setattr(SqlCatalog, "commit_table", then_gone)
    with pytest.raises(TableChanged) as caught:
        bloomify_table(name_of(table), "id", branch="side", limits=Limits(num_files=1))
    report = caught.value.__dict__["report"]
    assert len(report.commits) == 1
    assert not report.left_over


def test_the_report_says_how_old_files_go(make_table: Callable[..., Table]) -> None:
    text = str(bloomify_table(name_of(make_table()), "id"))
    assert "CALL testing.system.expire_snapshots('shop.orders')" in text
    assert "VACUUM" not in text
    assert "snapshot " in text


def test_on_a_store_by_the_settings_of_the_catalog_alone(
    store: Store, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in configuration_on(store, bucket, tmp_path).items():
        monkeypatch.setenv(name, value)
    opened = open_catalog(CATALOG)
    opened.create_namespace("shop")
    table = opened.create_table("shop.orders", schema=rows(0).schema)
    for number in range(3):
        table.append(rows(number * 10))
    before = _rows(table)
    try:
        report = bloomify_table(name_of(table), "id")
        assert (report.num_filters, report.num_failed) == (3, 0)
        assert _rows(table) == before
        assert bloomify_table(name_of(table), "id").num_to_do == 0
        assert strip_table(name_of(table)).num_filters == 3
        assert _rows(table) == before
    finally:
        use(StoreSettings())
        opened.close()


def test_a_file_of_the_table_cannot_be_changed_in_place(make_table: Callable[..., Table]) -> None:
    from parquet_bloomwriter import bloomify

    table = make_table(files=1)
    path = next(iter(read_snapshot(name_of(table)).files)).removeprefix("file://")
    with pytest.raises(UnsafeTarget):
        bloomify(path, "id")
