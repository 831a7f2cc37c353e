"""Iceberg tables of every kind: readers see the same rows before and after, deleted ones never."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pytest
from pyiceberg.manifest import DataFile, DataFileContent

from parquet_bloomwriter import (
    UnsupportedTable,
    bloomify_table,
    inspect,
    probe,
    read_table,
    strip_table,
    verify,
)
from parquet_bloomwriter.predicate.expression import Comparison
from parquet_bloomwriter.tables.replacement import Limits
from parquet_bloomwriter.tables.report import FileFate
from tests.support.delta_real import bag
from tests.support.delta_tables import listing
from tests.support.iceberg_deletes import delete_equal, delete_positions, live_entries
from tests.support.iceberg_readers import (
    by_all,
    by_duckdb,
    by_pyiceberg,
    by_specification,
)
from tests.support.iceberg_tables import MAKERS, Made, append, rows_of_append

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyiceberg.manifest import ManifestEntry
    from pyiceberg.table import Table

    from tests.support.iceberg_tables import Row, Warehouse

REPLACEABLE = [
    one for one in MAKERS if one not in ("plain", "deletion_vectors", "without_snapshot")
]

OF_FILES = ("file_path", "file_size_in_bytes", "split_offsets")
"""What manifests say of a file that differs between the old file and the new one."""

FACTS = [
    name
    for name, value in vars(DataFile).items()
    if isinstance(value, property) and name not in OF_FILES
]


@pytest.fixture(params=REPLACEABLE)
def made(request: pytest.FixtureRequest, warehouse: Warehouse) -> Made:
    """Return every kind of table whose files may be replaced."""
    return MAKERS[request.param](warehouse)


def path_of(entry: ManifestEntry) -> str:
    """Return the local path of a file."""
    return entry.data_file.file_path.removeprefix("file://")


def entries_of(table: Table) -> tuple[list[ManifestEntry], list[ManifestEntry]]:
    """Return the entries of a table's data files, and those of its delete files."""
    entries = live_entries(table, *DataFileContent)
    data = DataFileContent.DATA
    return (
        [one for one in entries if one.data_file.content == data],
        [one for one in entries if one.data_file.content != data],
    )


def facts(entries: Iterable[ManifestEntry]) -> list[str]:
    """Return what manifests say of data files, but for what differs between files."""
    found = []
    for entry in entries:
        values = {name: getattr(entry.data_file, name) for name in FACTS}
        plain = {
            name: sorted(one.items()) if isinstance(one, Mapping) else one
            for name, one in values.items()
        }
        # Manifests of format version 1 have no content, which is data then.
        plain["content"] = entry.data_file.content == DataFileContent.DATA
        found.append(repr((entry.sequence_number, plain)))
    return sorted(found)


def filtered(entries: Iterable[ManifestEntry]) -> list[set[str]]:
    """Return the columns with filters of each data file; all filters are checked."""
    found = []
    for entry in entries:
        path = path_of(entry)
        assert entry.data_file.file_size_in_bytes == inspect(path).size
        assert verify(path).passed
        found.append({one.name for one in inspect(path).columns if one.filters})
    return found


def assert_rows(made: Made, rows: list[Row], *, snapshot_id: int | None = None) -> None:
    """Check that all readers that can read a table see these rows."""
    expected = bag(rows)
    for reader, seen in by_all(made.load(), snapshot_id=snapshot_id, readers=made.readers).items():
        assert seen == expected, reader


def check_read(made: Made, step: int) -> None:
    """Check the rows that `read_table` returns, all of them and those of some values.

    Args:
        made: The table.
        step: Of all values of the first, the last and the first deleted row, this share is asked.
    """
    if "pyiceberg" not in made.readers:
        with pytest.raises(UnsupportedTable, match="equality deletes"):
            read_table(made.url)
        return
    assert bag(read_table(made.url).to_pylist()) == bag(made.rows)
    asked = {
        (column, value)
        for row in [*made.rows[:1], *made.rows[-1:], *made.deleted[:1]]
        for column, value in row.items()
        if isinstance(value, int | str)
    }
    for column, value in sorted(asked, key=repr)[::step]:
        expected = [row for row in made.rows if row[column] == value]
        found = read_table(made.url, filters=Comparison(column, "=", value))
        assert bag(found.to_pylist()) == bag(expected), (column, value)


def operations(table: Table) -> list[str]:
    """Return the operations of all snapshots, the oldest first."""
    snapshots = sorted(table.metadata.snapshots, key=lambda one: one.timestamp_ms)
    return [one.summary.operation.value for one in snapshots if one.summary]


def deletes(entries: Iterable[ManifestEntry]) -> list[tuple[str, int | None, int]]:
    """Return path, sequence number and size of delete files."""
    return [
        (one.data_file.file_path, one.sequence_number, one.data_file.file_size_in_bytes)
        for one in entries
    ]


def assert_new_files_are_of_the_head(
    table: Table, entries: Iterable[ManifestEntry], before: set[str]
) -> None:
    """Check that new files have a new file sequence number, and the old data sequence number."""
    head = table.current_snapshot()
    assert head is not None
    new = [one for one in entries if one.data_file.file_path not in before]
    # Of format version 1 there are no sequence numbers.
    of_head = (head.snapshot_id, head.sequence_number or 0)
    assert {(one.snapshot_id, one.file_sequence_number) for one in new} <= {of_head}
    for manifest in head.manifests(table.io):
        entries = manifest.fetch_manifest_entry(table.io)
        if entries and table.metadata.format_version > 1:
            assert manifest.min_sequence_number == min(one.sequence_number or 0 for one in entries)


def assert_deleted_rows_stay_away(made: Made) -> None:
    """Check that no deleted row is found by its value."""
    table = made.load()
    wanted = {row["id"] for row in made.deleted}
    if not wanted:
        return
    still = bag(one for one in made.rows if one["id"] in wanted)
    for row in made.deleted[:1] if "pyiceberg" in made.readers else ():
        of_row = bag(one for one in made.rows if one["id"] == row["id"])
        assert bag(by_pyiceberg(table, where=f"id = {row['id']}")) == of_row
    if "DuckDB" in made.readers:
        values = ", ".join(map(str, sorted(wanted)))
        assert bag(by_duckdb(table, where=f"id IN ({values})")) == still


def test_readers_see_the_same_rows_then_and_now(made: Made) -> None:
    table = made.load()
    data, others = entries_of(table)
    before, deleted, old = facts(data), deletes(others), table.current_snapshot()
    paths, done = {one.data_file.file_path for one in data}, operations(table)
    assert old is not None
    report = bloomify_table(made.url, made.column)
    check_read(made, 2)
    files = probe(made.url, f"{made.column} = -17").files if "pyiceberg" in made.readers else ()
    assert all(one.error is None for one in files)
    if not made.num_named and made.column == "id":
        assert not any(one.surviving for one in files)
    table = made.load()
    data, others = entries_of(table)
    fates = (FileFate.REPLACED, FileFate.KEPT)
    assert [report.count(one) for one in fates] == [len(before) - made.num_named, made.num_named]
    assert_rows(made, made.rows)
    assert (facts(data), deletes(others)) == (before, deleted)
    assert operations(table) == [*done, "replace"]
    assert sum(len(one) > 0 for one in filtered(data)) == len(before) - made.num_named
    assert_new_files_are_of_the_head(table, data, paths)
    assert_deleted_rows_stay_away(made)
    # These are the files as the maker wrote them: a reader sees what the maker names.
    assert bag(by_specification(table, snapshot_id=old.snapshot_id)) == bag(made.rows)
    strip_table(made.url)
    table = made.load()
    data, others = entries_of(table)
    assert bag(by_specification(table)) == bag(made.rows)
    assert (facts(data), deletes(others)) == (before, deleted)
    assert operations(table) == [*done, "replace", "replace"]
    assert all(not one for one in filtered(data))
    assert bloomify_table(made.url, made.column, dry_run=True).count(FileFate.PLANNED) == (
        len(before) - made.num_named
    )


@pytest.mark.parametrize("maker", ["branches", "all_deletes"])
def test_commits_of_one_file_each_and_the_end_of_old_files(
    maker: str, warehouse: Warehouse
) -> None:
    made = MAKERS[maker](warehouse)
    report = bloomify_table(made.url, made.column, limits=Limits(num_files=1))
    assert len(report.commits) == report.count(FileFate.REPLACED) > 1
    table = made.load()
    assert set(operations(table)[-len(report.commits) :]) == {"replace"}
    kept = {one.snapshot_id for one in table.metadata.refs.values()}
    old = [one.snapshot_id for one in table.metadata.snapshots if one.snapshot_id not in kept]
    table.maintenance.expire_snapshots().by_ids(old).commit()
    assert {one.snapshot_id for one in made.load().metadata.snapshots} == kept
    assert_rows(made, made.rows)
    again = bloomify_table(made.url, made.column)
    assert (again.commits, again.num_to_do) == ((), 0)
    assert again.count(FileFate.KEPT) == made.num_named


@pytest.mark.parametrize("maker", ["version_1", "other_columns", "old_position_delete"])
def test_rows_are_deleted_appended_and_overwritten_as_before(
    maker: str, warehouse: Warehouse
) -> None:
    """By pyiceberg: not where there are equality deletes, nor hashes in partitions."""
    made = MAKERS[maker](warehouse)
    bloomify_table(made.url, made.column)
    table = made.load()
    table.delete("id >= 2 and id < 50")
    rows = [row for row in made.rows if not 2 <= row["id"] < 50]
    append(table, made.rows[:3])
    rows += made.rows[:3]
    assert bag(by_specification(made.load())) == bag(rows)
    table.overwrite(table.scan("id == 60").to_arrow(), overwrite_filter="id == 60")
    bloomify_table(made.url, made.column)
    assert_rows(made, rows)


@pytest.mark.parametrize(
    ("maker", "delete"),
    [
        ("sorted_files", delete_equal),
        ("upgraded", None),
        ("branches", None),
    ],
)
def test_deletes_of_later_go_on_to_apply(
    maker: str, delete: Callable[..., str] | None, warehouse: Warehouse
) -> None:
    """Deletes that are added to the new files count, and so they stay with the next run."""
    made = MAKERS[maker](warehouse)
    bloomify_table(made.url, made.column)
    table = made.load()
    if delete is None:
        oldest = min(live_entries(table), key=lambda one: one.sequence_number or 0)
        delete_positions(table, {oldest.data_file.file_path: [4]})
        gone = {4} if maker != "upgraded" else None
    else:
        delete_equal(table, {"id": [4, 105]})
        gone = {4, 105}
    strip_table(made.url)
    bloomify_table(made.url, [made.column, "email"])
    rows = by_specification(made.load())
    if gone is not None:
        assert bag(rows) == bag(row for row in made.rows if row["id"] not in gone)
    assert bag(by_duckdb(made.load())) == bag(rows)
    assert len(rows) < len(made.rows)


def test_version_3_is_refused_and_left_as_it_is(warehouse: Warehouse) -> None:
    made = MAKERS["deletion_vectors"](warehouse)
    before = listing(warehouse.folder)
    with pytest.raises(UnsupportedTable, match="version 3"):
        bloomify_table(made.url, "id")
    with pytest.raises(UnsupportedTable, match="version 3"):
        strip_table(made.url)
    assert listing(warehouse.folder) == before
    assert_rows(made, made.rows)
    check_read(made, 1)


def test_a_table_without_snapshots_has_nothing_to_do(warehouse: Warehouse) -> None:
    made = MAKERS["without_snapshot"](warehouse)
    before = listing(warehouse.folder)
    assert bloomify_table(made.url, "id").commits == ()
    assert listing(warehouse.folder) == before
    assert_rows(made, [])
    check_read(made, 1)


def test_a_branch_by_name_and_no_other(warehouse: Warehouse) -> None:
    made = MAKERS["branches"](warehouse)
    refs = dict(made.load().metadata.refs)
    side = refs["side"].snapshot_id
    bloomify_table(made.url, "id", branch="side")
    table = made.load()
    now = dict(table.metadata.refs)
    assert now["side"].snapshot_id != side
    assert {name: now[name] for name in ("main", "then")} == {
        name: refs[name] for name in ("main", "then")
    }
    assert_rows(made, made.rows)
    of_side = [row for number in range(3) for row in rows_of_append(number)]
    assert_rows(made, of_side, snapshot_id=now["side"].snapshot_id)
    assert_rows(made, of_side, snapshot_id=side)


def test_renamed_columns_are_found_by_their_present_names(warehouse: Warehouse) -> None:
    made = MAKERS["other_columns"](warehouse)
    bloomify_table(made.url, ["id", "right", "gone", "inner.new"])
    assert sorted(map(sorted, filtered(live_entries(made.load())))) == [
        # In files the columns have the names that the table had then.
        ["gone", "id", "inner.new", "right"],
        ["inner.old", "key", "left"],
    ]
    assert_rows(made, made.rows)
