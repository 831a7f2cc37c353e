"""Indexes of Iceberg tables: at every snapshot, every file that can hold a value is found."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.table.update import SetLocationUpdate
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, StringType

from parquet_bloomwriter import bloomify_table, index
from parquet_bloomwriter.errors import IndexNotFound, InvalidArgument
from parquet_bloomwriter.index import Code
from tests.support.iceberg_deletes import delete_positions, live_entries
from tests.support.iceberg_tables import append, make_warehouse, rows_of_append

if TYPE_CHECKING:
    from pyiceberg.table import Table

    from parquet_bloomwriter.index import LookupReport
    from tests.support.iceberg_tables import Warehouse

NAME = "people"


@pytest.fixture
def warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Warehouse:
    """Make an empty catalog."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return make_warehouse(tmp_path / "ground", monkeypatch)


@pytest.fixture
def url(warehouse: Warehouse) -> str:
    """Return the table's name."""
    return warehouse.url(NAME)


@pytest.fixture
def table(warehouse: Warehouse) -> Table:
    """Make a table of four files."""
    made = warehouse.create(NAME)
    for number in range(4):
        append(made, rows_of_append(number))
    return made


def paths(table: Table, snapshot_id: int | None = None) -> set[str]:
    """Return the data files of a snapshot."""
    scan = table.refresh().scan(snapshot_id=snapshot_id)
    return {task.file.file_path.removeprefix("file://") for task in scan.plan_files()}


def holders(table: Table, column: str, value: object, snapshot_id: int | None = None) -> set[str]:
    """Return the files that have a row with a value, as pyiceberg reads each."""
    found = rows_by_file(table, column, snapshot_id)
    return {path for path, values in found.items() if value in values}


def rows_by_file(table: Table, column: str, snapshot_id: int | None = None) -> dict[str, list[Any]]:
    """Return the values of a column in each file of a snapshot."""
    scan = table.refresh().scan(snapshot_id=snapshot_id)
    reader = ArrowScan(scan.table_metadata, scan.io, scan.projection(), scan.row_filter)
    return {
        task.file.file_path.removeprefix("file://"): reader.to_table([task])[column].to_pylist()
        for task in scan.plan_files()
    }


def found(url: str, where: str, **options: Any) -> LookupReport:  # noqa: ANN401  of index.lookup
    """Look up in the index."""
    return index.lookup(url, where, **options)


def test_create_and_look_up(table: Table, url: str) -> None:
    report = index.create(url, ["id", "email", "place.zip"], name="ids")
    assert report.num_files == 4
    assert Path(report.folder).parent == Path(table.location().removeprefix("file://")) / (
        "_bloom_index"
    )
    for value in (0, 150, 399):
        assert set(found(url, f"id = {value}").paths) == holders(table, "id", value)
    one = found(url, "email = 'user250@example.org'")
    assert (len(one.paths), one.num_files, one.num_unknown) == (1, 4, 0)
    assert found(url, "id = 100000").paths == ()
    assert [info.name for info in index.indexes(url, changes=True)] == ["ids"]
    info = index.index(url, name="ids")
    assert (info.appended, info.deleted) == (0, 0)


def test_every_state_of_a_history(table: Table, url: str) -> None:
    index.create(url, "id", name="ids")
    append(table, rows_of_append(4))
    table.refresh().delete("id >= 150 and id < 160")
    bloomify_table(url, "id")
    append(table.refresh(), rows_of_append(5))
    table.refresh().delete("id >= 300 and id < 400")  # a whole file
    values = (5, 155, 161, 350, 550)
    every, holding = {}, {}
    for snapshot in table.refresh().metadata.snapshots:
        key = snapshot.snapshot_id
        every[key] = paths(table, key)
        rows = rows_by_file(table, "id", key)
        holding[key] = {v: {path for path in rows if v in rows[path]} for v in values}
    for mode in (None, "quick", "incremental", "full"):
        if mode is not None:
            index.refresh(url, name="ids", mode=mode)
        for number, (key, files) in enumerate(every.items(), mode in {None, "incremental"}):
            for value in values[number % 2 :: 2]:
                asked = found(url, f"id = {value}", snapshot=key)
                assert holding[key][value] <= set(asked.paths) <= files
                assert asked.num_files == len(files)
        if mode in ("incremental", "full"):
            assert set(found(url, "id = 550").paths) == holding[key][550]


def test_files_that_the_index_does_not_know_are_kept(table: Table, url: str) -> None:
    index.create(url, "id", name="ids")
    before = paths(table)
    append(table, rows_of_append(4))
    (new,) = paths(table) - before
    asked = found(url, "id = 450")
    assert (asked.paths, asked.num_unknown) == ((new,), 1)
    assert set(found(url, "id = 7").paths) == {new} | holders(table, "id", 7)


def test_a_branch_and_a_rollback(table: Table, url: str) -> None:
    first = table.metadata.current_snapshot_id
    assert first is not None
    index.create(url, "id", name="ids", fpp=1e-6)
    table.manage_snapshots().create_branch(first, "audit").commit()
    append(table.refresh(), rows_of_append(7), branch="audit")
    assert found(url, "id = 750").paths == ()
    assert len(found(url, "id = 750", branch="audit").paths) == 1
    append(table.refresh(), rows_of_append(8))
    assert len(found(url, "id = 850").paths) == 1
    index.refresh(url, name="ids")
    table.refresh().manage_snapshots().set_current_snapshot(snapshot_id=first).commit()
    assert found(url, "id = 850").paths == ()
    assert found(url, "id = 750").paths == ()
    assert len(found(url, "id = 50").paths) == 1


def test_a_table_that_was_made_anew_at_the_same_place(
    warehouse: Warehouse, table: Table, url: str
) -> None:
    index.create(url, "id", name="ids")
    location = table.location()
    warehouse.open().drop_table(("db", NAME))
    again = warehouse.open().create_table(("db", NAME), table.schema(), location=location)
    append(again, rows_of_append(9))
    asked = found(url, "id = 100000")
    assert set(asked.paths) == paths(again)
    (use,) = asked.indexes
    assert use.reason is not None
    assert use.reason.code == Code.TABLE_FORMAT
    assert "another table" in use.reason.text
    with pytest.raises(InvalidArgument, match="another table"):
        index.refresh(url, name="ids")


def test_a_name_that_means_another_column(table: Table, url: str) -> None:
    index.create(url, ["id", "email"], name="ids")
    old = table.metadata.current_snapshot_id
    with table.update_schema() as update:
        update.rename_column("email", "mail")
    with table.refresh().update_schema() as update:
        update.add_column("email", StringType())
    rows = [row | {"email": row["city"], "mail": row["email"]} for row in rows_of_append(4)]
    append(table.refresh(), rows)
    (new,) = (path for path in paths(table) if holders(table, "email", "Ulm") == {path})
    for mode in (None, "full"):
        if mode == "full":
            with pytest.raises(InvalidArgument, match="refresh it in full"):
                index.refresh(url, name="ids")
            index.refresh(url, name="ids", mode="full")
        assert new in found(url, "email = 'Ulm'").paths
        assert len(found(url, "id = 7").paths) == (2 if mode is None else 1)
        mails = found(url, "mail = 'user7@example.org'").paths
        assert holders(table, "mail", "user7@example.org") <= set(mails)
        then = found(url, "email = 'user7@example.org'", snapshot=old).paths
        assert holders(table, "email", "user7@example.org", old) <= set(then)
    # Of files that were written before there was such a column, nothing is known.
    assert len(found(url, "email = 'nobody'").paths) == 4


def test_columns_that_are_renamed_added_and_dropped(table: Table, url: str) -> None:
    index.create(url, ["id", "city"], name="ids")
    with table.update_schema() as update:
        update.rename_column("id", "number")
        update.add_column("extra", LongType())
        update.delete_column("city")
    assert len(found(url, "number = 7").paths) == 4
    assert len(found(url, "extra = 7").paths) == 4
    with pytest.raises(InvalidArgument, match="no column"):
        index.refresh(url, name="ids", mode="full")
    with pytest.raises(InvalidArgument, match='no file has the column "extra" yet'):
        index.create(url, ["number", "extra"], name="new")
    index.create(url, "number", name="new")
    assert set(found(url, "number = 7", name="new").paths) == holders(table, "number", 7)
    row = {"number": 1, "email": "x", "extra": 7, "seen": None, "place": None}
    append(table.refresh(), [row])
    assert holders(table, "extra", 7) <= set(found(url, "extra = 7").paths)
    assert set(found(url, "number = 7", name="new").paths) == {
        *holders(table, "number", 7),
        *holders(table, "extra", 7),
    }


def test_a_type_that_was_promoted(warehouse: Warehouse) -> None:
    from pyiceberg.schema import Schema
    from pyiceberg.types import IntegerType, NestedField

    table = warehouse.create("wide", Schema(NestedField(1, "id", IntegerType())))
    append(table, [{"id": 1}])
    url = warehouse.url("wide")
    index.create(url, "id", name="ids")
    with table.update_schema() as update:
        update.update_column("id", LongType())
    append(table.refresh(), [{"id": 1 << 40}])
    assert len(found(url, f"id = {1 << 40}").paths) >= 1
    index.refresh(url, name="ids", mode="full")
    assert set(found(url, f"id = {1 << 40}").paths) == holders(table, "id", 1 << 40)
    assert set(found(url, "id = 1").paths) == holders(table, "id", 1)


def test_deleted_rows_and_partitions(warehouse: Warehouse) -> None:
    table = warehouse.create("parts", spec={"city": IdentityTransform()})
    for number in range(2):
        append(table, rows_of_append(number))
    victim = live_entries(table)[0].data_file.file_path
    delete_positions(table, {victim: [0]})
    url = warehouse.url("parts")
    index.create(url, ["id", "city"], name="ids")
    assert found(url, "id = 7").num_files == 8
    assert len(found(url, "id = 7").paths) == 1
    with table.refresh().update_spec() as update:
        update.remove_field("city_0")
    append(table.refresh(), rows_of_append(2))
    index.refresh(url, name="ids")
    assert len(found(url, "id = 250").paths) == 1
    assert len(found(url, "city = 'Ulm'").paths) == 3


def test_scans_of_pyiceberg(table: Table, url: str) -> None:
    scan = table.scan("id = 150")
    with pytest.raises(IndexNotFound):
        index.prune_scan(scan)
    index.create(url, ["id", "email"], name="ids")
    append(table, rows_of_append(4))
    table = table.refresh()
    for where, more, num_files in [
        ("email = 'user150@example.org'", None, 2),
        ("email = 'nobody'", None, 1),
        ("id >= 0", "email = 'user50@example.org'", 2),
        ("email = 'user50@example.org' or city = 'Ulm'", None, 5),
    ]:
        scan = table.scan(where)
        tasks = index.prune_scan(scan, more)
        planned = list(scan.plan_files())
        every = [one.file.file_path for one in planned]
        assert [one.file.file_path for one in tasks] == [
            one for one in every if one in {task.file.file_path for task in tasks}
        ]
        assert len(tasks) <= num_files
        reader = ArrowScan(scan.table_metadata, scan.io, scan.projection(), scan.row_filter)
        if more is None:
            assert reader.to_table(tasks).to_pylist() == reader.to_table(planned).to_pylist()


def test_slices_do_not_forget_files_that_were_left_out(
    table: Table, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parquet_bloomwriter.index.format.slice_file.MIN_FILTERS", 2)
    victim = Path(min(holders(table, "id", 250)))
    data = victim.read_bytes()
    victim.write_bytes(bytes(len(data)))
    report = index.create(url, "id", name="ids")
    assert len(report.left_out) == 1
    assert report.columns[0].slice_bytes
    victim.write_bytes(data)
    assert set(found(url, "id = 250").paths) == {str(victim)}
    assert set(found(url, "id = 50").paths) == {str(victim)} | holders(table, "id", 50)
    index.refresh(url, name="ids")
    assert set(found(url, "id = 50").paths) == holders(table, "id", 50)
    assert set(found(url, "id = 250").paths) == {str(victim)}


def test_what_makes_no_sense_is_refused(table: Table, url: str, tmp_path: Path) -> None:
    index.create(url, "id", name="ids")
    folder = table.location().removeprefix("file://")
    with pytest.raises(InvalidArgument, match="which files it has"):
        index.lookup(url, "id = 1", files=[f"{folder}/data"])
    with pytest.raises(InvalidArgument, match="only a Delta table has versions"):
        index.lookup(url, "id = 1", version=1)
    with pytest.raises(InvalidArgument, match="only an Iceberg table"):
        index.lookup(tmp_path, "id = 1", branch="main")
    with pytest.raises(InvalidArgument, match="one of them is enough"):
        index.lookup(url, "id = 1", branch="main", snapshot=1)
    with pytest.raises(InvalidArgument, match="iceberg://CATALOG"):
        index.create(folder, "id", name="other")


def test_no_catalog_is_asked_for_a_name_that_only_the_index_has(
    table: Table, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.create(url, "id", name="ids")
    append(table, rows_of_append(4))
    table.refresh().delete("id >= 300 and id < 400")
    asked = index.lookup(url, "id = 350 or id = 420")
    assert set(asked.paths) == holders(table, "id", 420)
    assert asked.num_files == 4
    folder = table.location().removeprefix("file://")
    catalogs = "parquet_bloomwriter.iceberg.catalog.open_catalog"
    with monkeypatch.context() as patch:
        patch.setattr(catalogs, forbidden)
        check_refusals(folder, url)
    assert index.refresh(url, name="ids").appended == 1
    assert index.index(url).problem == ""


def check_refusals(folder: str, url: str) -> None:
    """Check that the folder of a table does not lead to the catalog."""
    for attempt in (
        lambda: index.lookup(folder, "id = 350"),
        lambda: index.refresh(folder, name="ids"),
        lambda: index.refresh(folder, name="ids", mode="full"),
    ):
        with pytest.raises(InvalidArgument, match=f'you mean "{url}", name the table so'):
            attempt()
    for info in (index.index(folder), *index.indexes(folder, changes=True)):
        assert url in info.problem


def forbidden(name: str) -> object:
    """Fail: no catalog may be opened."""
    raise AssertionError(name)


def test_options_of_an_entry_survive() -> None:
    from parquet_bloomwriter.index.table.metadata import IcebergState, state_of

    state = IcebergState(name="iceberg://a/b.c", uuid="u", snapshot_id=3, fields={"id": "1 long"})
    assert state_of(state.options()) == state
    broken = state.options() | {"iceberg_fields": "{"}
    assert state_of(broken) == dataclasses.replace(state, fields={})


def test_a_part_of_a_table_is_refused(table: Table, url: str) -> None:
    folder = table.location().removeprefix("file://")
    index.create(url, "id", name="ids")
    for part in (f"{folder}/data", min(paths(table))):
        with pytest.raises(InvalidArgument, match=f'part of a table.*Name the table: "{url}"'):
            found(part, "id = 150")


def test_a_name_that_another_table_has_taken(warehouse: Warehouse, table: Table, url: str) -> None:
    index.create(url, "id", name="ids")
    catalog, namespace = table.catalog, table.name()[:-1]
    renamed = catalog.rename_table(table.name(), (*namespace, "renamed"))
    place = f"file://{warehouse.folder}/elsewhere"
    other = catalog.create_table((*namespace, NAME), table.schema(), location=place)
    append(other, rows_of_append(4))
    asked = set(found(warehouse.url("renamed"), "id = 150").paths)
    assert asked == holders(renamed, "id", 150)
    with pytest.raises(IndexNotFound):
        found(url, "id = 150")


def test_a_table_that_was_moved(table: Table, url: str, tmp_path: Path) -> None:
    folder = table.location().removeprefix("file://")
    index.create(url, "id", name="ids")
    with table.refresh().transaction() as moving:
        moving._apply((SetLocationUpdate(location=f"file://{tmp_path}/elsewhere"),))  # noqa: SLF001
    append(table.refresh(), rows_of_append(4))
    for value in (150, 450):
        asked = found(url, f"id = {value}", home=f"{folder}/_bloom_index")
        assert holders(table, "id", value) <= set(asked.paths) <= paths(table)


def test_a_link_to_a_table(table: Table, url: str, tmp_path: Path) -> None:
    index.create(url, "id", name="ids")
    link = tmp_path / "link"
    link.symlink_to(table.location().removeprefix("file://"))
    with pytest.raises(InvalidArgument, match=f'you mean "{url}"'):
        found(str(link), "id = 150")


def test_a_home_with_indexes_of_several_tables(table: Table, url: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    index.create(url, "id", name="ids", home=home)
    plain = tmp_path / "plain"
    plain.mkdir()
    pq.write_table(pa.table({"id": [150, 151]}), plain / "a.parquet")
    index.create(plain, "id", name="plain", home=home)
    assert found(str(plain), "id = 150", home=home).paths == (str(plain / "a.parquet"),)
    assert found(str(plain), "id = 7", home=home).paths == ()
    assert set(found(url, "id = 150", home=home).paths) == holders(table, "id", 150)
