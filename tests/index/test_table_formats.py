"""Folders of Delta, Iceberg and Hudi tables: no index is made, and an old one excludes nothing."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import index
from parquet_bloomwriter.errors import InvalidArgument, TableProblem
from parquet_bloomwriter.index.report import Code
from parquet_bloomwriter.spark.plan.catalog import matching_indexes
from tests.support.foreign_folders import FOREIGN_FOLDERS

if TYPE_CHECKING:
    from pathlib import Path

RECORDS = {
    "Delta table log": "_delta_log/00000000000000000000.json",
    "Iceberg table metadata": "metadata/00000-1f.metadata.json",
    "Hudi table timeline": ".hoodie/hoodie.properties",
}
FILES = 3

records = pytest.mark.parametrize(("kind", "record"), RECORDS.items(), ids=["d", "i", "h"])


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Write files of the ids 0, 1 and 2, two folders below `tmp_path`."""
    for number in range(FILES):
        path = tmp_path / "warehouse" / "events" / f"day={number}" / f"{number}.parquet"
        path.parent.mkdir(parents=True)
        pq.write_table(pa.table({"id": [number]}), path)
    return tmp_path / "warehouse" / "events"


def keep_records(folder: Path, record: str) -> Path:
    """Make a folder a table of another format; return its records."""
    path = folder / record
    path.parent.mkdir()
    path.write_text("{}")
    return path.parent


@records
@pytest.mark.parametrize("where", [".", "..", "day=1"])
def test_no_index_is_made(table: Path, kind: str, record: str, where: str) -> None:
    folder = keep_records((table / where).resolve(), record)
    if (where, record) == (".", RECORDS["Delta table log"]):  # a Delta table, whose log is empty
        with pytest.raises(TableProblem):
            index.create(table, ["id"], name="ids")
        return
    with pytest.raises(InvalidArgument) as caught:
        index.create(table, ["id"], name="ids")
    assert f"table of another format: {folder} ({kind})" in str(caught.value)
    assert "cannot be indexed" in caught.value.remedy
    assert not (table / "_bloom_index").exists()


def test_none_is_made_of_files_that_lie_elsewhere(table: Path, tmp_path: Path) -> None:
    keep_records(table, RECORDS["Delta table log"])
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(InvalidArgument, match="Delta table log"):
        index.create(other, ["id"], name="ids", files=sorted(table.rglob("*.parquet")))


def test_no_index_is_made_of_any_format_that_is_known(tmp_path: Path) -> None:
    for number, (kind, file, records) in enumerate(FOREIGN_FOLDERS):
        path = tmp_path / str(number) / file
        for name in (file, *records):
            (tmp_path / str(number) / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / str(number) / name).write_text("{}")
        pq.write_table(pa.table({"id": [number]}), path)
        with pytest.raises(InvalidArgument, match=kind) as caught:
            index.create(path.parent, ["id"], name="ids")
        assert "table of another format" in caught.value.problem
        assert "cannot be indexed" in caught.value.remedy
        assert not (path.parent / "_bloom_index").exists()


def test_none_is_made_through_a_link(table: Path, tmp_path: Path) -> None:
    keep_records(table, RECORDS["Delta table log"])
    (tmp_path / "link").symlink_to(table / "day=1")
    with pytest.raises(InvalidArgument, match="Delta table log"):
        index.create(tmp_path / "link", ["id"], name="ids")


@pytest.mark.parametrize("name", ["metadata/notes.json", "_delta_log", "hoodie/x"])
def test_other_folders_do_no_harm(table: Path, name: str) -> None:
    (table / name).parent.mkdir(exist_ok=True)
    (table / name).write_text("{}")
    assert index.create(table, ["id"], name="ids").num_files == FILES


@records
def test_an_index_of_what_has_become_such_a_table_excludes_nothing(
    table: Path, kind: str, record: str
) -> None:
    index.create(table, ["id"], name="ids")
    assert index.lookup(table, "id = 1").num_kept == 1
    folder = keep_records(table, record)
    report = index.lookup(table, "id = 1")
    assert (report.num_kept, report.num_files) == (FILES, FILES)
    (use,) = report.indexes
    assert use.reason is not None
    assert use.reason.code is Code.TABLE_FORMAT
    assert f"{folder} ({kind})" in use.reason.text
    with pytest.raises(InvalidArgument, match=kind):
        index.refresh(table, name="ids")
    shutil.rmtree(folder)
    assert index.lookup(table, "id = 1").num_kept == 1
    keep_records(table, record)
    assert index.delete(table, name="ids").state is index.State.DELETED
    assert index.vacuum(table, name="ids").changed


@records
@pytest.mark.parametrize("asked", [".", "1.parquet"])
def test_part_of_a_table_that_has_become_such_a_table_is_not_excluded(
    table: Path, kind: str, record: str, asked: str
) -> None:
    index.create(table, ["id"], name="ids")
    index.create(table, ["id"], name="others")
    day = table / "day=1"
    assert index.lookup(day / asked, "id = 2").num_kept == 0
    folder = keep_records(day, record)
    report = index.lookup(day / asked, "id = 2")
    assert report.num_kept == 1
    for use in report.indexes:
        assert use.reason is not None
        assert use.reason.code is Code.TABLE_FORMAT
        assert f'"{day}" has become a table' in use.reason.text
        assert f"{folder} ({kind})" in use.reason.text
    assert [use.name for use in report.indexes] == ["ids", "others"]
    assert index.lookup(table / "day=2", "id = 1").num_kept == 0
    assert [one for _, one in matching_indexes([str(day / asked)], [])] == [
        use.reason for use in report.indexes
    ]


def test_metadata_where_iceberg_has_none_does_no_harm(table: Path, tmp_path: Path) -> None:
    """`metadata/` is a common name: only in the folder and in the one above it may be Iceberg's."""
    index.create(table, ["id"], name="ids")
    keep_records(tmp_path, RECORDS["Iceberg table metadata"])
    assert index.lookup(table, "id = 1").num_kept == 1
    assert index.refresh(table, name="ids", mode="full").num_files == FILES


def test_metadata_that_cannot_be_listed_may_be_icebergs(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden = table.parent / "metadata"
    hidden.mkdir()
    real = os.scandir

    def refuse(path: str) -> object:
        if str(path) == str(hidden):
            raise PermissionError
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(InvalidArgument) as caught:
        index.create(table, ["id"], name="ids")
    assert caught.value.problem == f"{hidden} cannot be listed, and may be a table's"
    assert "list it" in caught.value.remedy
