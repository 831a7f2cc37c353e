"""Rows of Iceberg tables: those that pyiceberg returns, from the row groups that might match."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DoubleType, LongType, NestedField, StringType, StructType

from parquet_bloomwriter import (
    bloomify,
    dataset,
    find_files,
    iter_batches,
    probe,
    prune_scan,
    read_table,
    scan_polars,
)
from parquet_bloomwriter.errors import (
    ColumnNotFound,
    InvalidArgument,
    TableProblem,
    UnsupportedTable,
)
from tests.support.iceberg_deletes import delete_equal, delete_positions
from tests.support.iceberg_reading import (
    append_stored,
    new_catalog,
    paths_of,
    url_of,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

MANY = 3000


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    """A catalog that is called `lake`, with the namespace `shop`."""
    return new_catalog(monkeypatch, tmp_path)


def rows_of(first: int, *, step: int = 3) -> pa.Table:
    numbers = list(range(first, first + MANY * step, step))
    return pa.table(
        {
            "id": pa.array(numbers, pa.int32()),
            "name": [f"n{one}" for one in numbers],
            "rate": pa.array([one / 4 for one in numbers], pa.float32()),
        }
    )


def new_table(catalog: Catalog, *parts: pa.Table) -> Table:
    """Return a table with a file of each part, all of which have filters for all columns."""
    table = catalog.create_table("shop.orders", parts[0].schema)
    for part in parts:
        table.append(part)
    return with_filters(table)


def with_filters(table: Table) -> Table:
    for path in paths_of(table):
        bloomify(path, force=True)
    return table


def whole(table: Table, snapshot_id: int | None = None) -> pa.Table:
    """Return all rows, by pyiceberg."""
    return table.scan(snapshot_id=snapshot_id).to_arrow_batch_reader().read_all()


def spoil(path: Path) -> None:
    """Destroy the pages of a file's first row group."""
    group = pq.read_metadata(path).row_group(0)
    data = bytearray(path.read_bytes())
    for chunk in map(group.column, range(group.num_columns)):
        start = chunk.dictionary_page_offset or chunk.data_page_offset
        data[start : start + chunk.total_compressed_size] = bytes(chunk.total_compressed_size)
    path.write_bytes(data)


def might_match(table: Table, filters: str) -> list[str]:
    found = probe(url_of(table), filters)
    assert not found.failed
    return [str(one.path) for one in found.might_match]


def check_rows(table: Table, filters: str, condition: pc.Expression) -> None:
    """Check that the rows are those that pyarrow finds among all rows of pyiceberg."""
    expected = ds.dataset(whole(table)).to_table(filter=condition)
    found = read_table(url_of(table), filters=filters)
    assert found.equals(expected)
    batches = list(iter_batches(url_of(table), filters=filters, batch_size=100))
    assert pa.Table.from_batches(batches, expected.schema).equals(expected)
    selected = pl.sql_expr(filters)
    by_polars = scan_polars(url_of(table)).filter(selected).collect()
    assert_frame_equal(by_polars, pl.DataFrame(whole(table)).filter(selected))


def test_only_files_that_might_match_are_read(catalog: Catalog, tmp_path: Path) -> None:
    table = new_table(catalog, rows_of(0), rows_of(1), rows_of(2))
    last, middle, first = paths_of(table)
    assert might_match(table, "id = 300") == [first]
    assert might_match(table, "name = 'n301'") == [middle]
    check_rows(table, "id = 300", pc.field("id") == 300)
    check_rows(table, "id IN (301, 302) OR name = 'n5'", pc.field("id").isin([5, 301, 302]))
    for path in (middle, last):
        spoil(tmp_path / path)
    assert read_table(url_of(table), filters="id = 300")["name"].to_pylist() == ["n300"]
    frame = scan_polars(url_of(table))
    assert frame.filter(pl.col("id") == 300).select("name").collect().item() == "n300"
    with pytest.raises((OSError, pa.ArrowException)):
        read_table(url_of(table))


def test_projection(catalog: Catalog) -> None:
    table = new_table(catalog, rows_of(0), rows_of(1))
    url = url_of(table)
    assert read_table(url).equals(whole(table))
    assert read_table(url, columns=["name"]).equals(whole(table).select(["name"]))
    assert read_table(url, columns=[]).num_rows == 2 * MANY
    found = read_table(url, columns=["rate"], filters="id = 301", use_threads=False)
    assert found.to_pydict() == {"rate": [301 / 4]}
    twice = read_table(url, columns={"twice": pc.field("id") * 2}, filters="id = 3")
    assert twice.to_pydict() == {"twice": [6]}
    with pytest.raises(ColumnNotFound):
        read_table(url, columns=["nmae"])
    with pytest.raises(ColumnNotFound):
        read_table(url, filters="nmae = 'x'")
    with pytest.raises(InvalidArgument, match="partitioning has no meaning for an Iceberg table"):
        read_table(url, partitioning=None)


def test_only_row_groups_that_might_match_are_decoded(catalog: Catalog, tmp_path: Path) -> None:
    table = catalog.create_table("shop.orders", rows_of(0).schema)
    stored = rows_of(0).cast(table.schema().as_arrow())
    path = append_stored(table, stored, row_group_size=500)
    with_filters(table)
    check_rows(table, "id = 300", pc.field("id") == 300)
    (one,) = probe(url_of(table), "name = 'n3000'").files
    assert (one.num_row_groups, list(one.surviving)) == (6, [2])
    spoil(tmp_path / path)  # its first row group
    assert read_table(url_of(table), filters="name = 'n3000'")["id"].to_pylist() == [3000]
    with pytest.raises((OSError, pa.ArrowException)):
        read_table(url_of(table))


def test_row_groups_keep_their_order(catalog: Catalog) -> None:
    table = catalog.create_table("shop.orders", rows_of(0).schema)
    append_stored(table, rows_of(0).cast(table.schema().as_arrow()), row_group_size=100)
    with_filters(table)
    for groups in ([2, 8], [1, 6, 8, 9], [0, 16, 17, 25]):
        ids = [3 * 100 * group for group in groups]
        check_rows(table, f"id IN ({str(ids)[1:-1]})", pc.field("id").isin(ids))


def test_renamed_dropped_added_and_swapped_columns(catalog: Catalog) -> None:
    table = new_table(catalog, rows_of(0))
    with table.update_schema() as update:
        update.rename_column("name", "title")
        update.delete_column("rate")
    with table.update_schema() as update:
        update.add_column("name", StringType())
        update.add_column("rate", StringType())
    new = rows_of(1).select(["id"]).append_column("title", pa.array(["t"] * MANY))
    new = new.append_column("name", pa.array([f"n{one}" for one in range(MANY)]))
    table.append(new.append_column("rate", pa.array(["r"] * MANY)))
    with_filters(table)
    newer, older = paths_of(table)
    assert might_match(table, "title = 'n300'") == [older]
    assert might_match(table, "name = 'n30'") == [newer]  # the older file stores it as a title
    assert might_match(table, "name IS NULL") == [older]
    assert might_match(table, "rate = 'r'") == [newer]
    check_rows(table, "title = 'n300'", pc.field("title") == "n300")
    check_rows(table, "name = 'n30'", pc.field("name") == "n30")
    check_rows(table, "name IS NULL AND id = 3", pc.field("name").is_null() & (pc.field("id") == 3))
    with table.update_schema() as update:
        update.rename_column("name", "swap")
        update.rename_column("title", "name")
    with table.update_schema() as update:
        update.rename_column("swap", "title")
    assert might_match(table, "name = 'n300'") == [older]
    assert might_match(table, "title = 'n30'") == [newer]
    check_rows(table, "name = 'n300'", pc.field("name") == "n300")
    check_rows(table, "title = 'n30'", pc.field("title") == "n30")


def test_columns_of_the_same_name_and_type_that_are_others(catalog: Catalog) -> None:
    """Files whose schemas differ only in the ids of their fields."""
    table = new_table(catalog, rows_of(0))
    with table.update_schema() as update:
        update.delete_column("name")
    with table.update_schema() as update:
        update.add_column("name", StringType())
    table.append(rows_of(1).select(["id", "rate", "name"]))
    with_filters(table)
    newer, older = paths_of(table)
    assert might_match(table, "name = 'n301'") == [newer]
    assert might_match(table, "name = 'n300'") == []
    assert might_match(table, "name IS NULL") == [older]
    check_rows(table, "name = 'n301'", pc.field("name") == "n301")
    check_rows(table, "name = 'n300'", pc.field("name") == "n300")


def test_promoted_types(catalog: Catalog) -> None:
    table = new_table(catalog, rows_of(0))
    with table.update_schema() as update:
        update.update_column("id", LongType())
        update.update_column("rate", DoubleType())
    wide = rows_of(1).set_column(0, "id", pa.array(range(2**40, 2**40 + MANY), pa.int64()))
    table.append(wide.set_column(2, "rate", pa.array([0.1] * MANY, pa.float64())))
    with_filters(table)
    newer, older = paths_of(table)
    assert might_match(table, "id = 300") == [older]
    assert might_match(table, f"id = {2**40 + 7}") == [newer]
    assert might_match(table, "rate = 75.0") == [older]
    assert might_match(table, "rate = 0.1") == [newer]
    check_rows(table, "id = 300", pc.field("id") == 300)
    check_rows(table, f"id >= {2**40 + MANY - 2}", pc.field("id") >= 2**40 + MANY - 2)
    check_rows(table, "rate = 0.1", pc.field("rate") == 0.1)


def test_snapshots_and_branches(catalog: Catalog) -> None:
    table = new_table(catalog, rows_of(0))
    first = table.current_snapshot()
    assert first is not None
    table.manage_snapshots().create_branch(first.snapshot_id, "audit").commit()
    with table.update_schema() as update:
        update.rename_column("name", "title")
    table.append(rows_of(1).rename_columns(["id", "title", "rate"]))
    table.append(rows_of(2).rename_columns(["id", "title", "rate"]), branch="audit")
    url = url_of(table)
    then = read_table(url, filters="name = 'n300'", snapshot=first.snapshot_id)
    assert then.column_names == ["id", "name", "rate"]
    assert then["id"].to_pylist() == [300]
    with pytest.raises(ColumnNotFound):
        read_table(url, filters="title = 'n300'", snapshot=first.snapshot_id)
    assert len(find_files(url, snapshot=first.snapshot_id)) == 1
    found = read_table(url, filters="title IN ('n300', 'n301', 'n302')", branch="audit")
    assert sorted(found["id"].to_pylist()) == [300, 302]
    found = read_table(url, filters="title IN ('n300', 'n301', 'n302')")
    assert sorted(found["id"].to_pylist()) == [300, 301]
    with pytest.raises(InvalidArgument, match="no branch"):
        probe(url, "id = 1", branch="nowhere")
    with pytest.raises(InvalidArgument, match="no snapshot 7"):
        probe(url, "id = 1", snapshot=7)
    with pytest.raises(InvalidArgument, match="snapshots and branches, not versions"):
        probe(url, "id = 1", version=0)
    with pytest.raises(InvalidArgument, match="need not agree"):
        probe(url, "id = 1", snapshot=first.snapshot_id, branch="audit")


def test_a_table_without_snapshots(catalog: Catalog) -> None:
    table = catalog.create_table("shop.orders", rows_of(0).schema)
    assert find_files(url_of(table)) == []
    assert probe(url_of(table), "id = 1").files == ()
    assert read_table(url_of(table)).equals(whole(table))
    assert dataset(url_of(table), filters="id = 1").to_table().num_rows == 0


def test_identity_partitions(catalog: Catalog) -> None:
    table = catalog.create_table(
        "shop.orders", rows_of(0).append_column("kind", [["x"] * MANY]).schema
    )
    table.append(rows_of(0).append_column("kind", [["old"] * MANY]))
    with table.update_spec() as update:
        update.add_field("kind", IdentityTransform())
    for kind in ("a", "b"):
        # As files that were imported from hive folders: the column stands in the manifest alone.
        stored = rows_of(1).cast(table.schema().select("id", "name", "rate").as_arrow())
        append_stored(table, stored, partition=[kind])
    with_filters(table)
    by_kind = {kind: might_match(table, f"kind = '{kind}'") for kind in ("a", "b", "old", "c")}
    assert [len(one) for one in by_kind.values()] == [1, 1, 1, 0]
    assert might_match(table, "kind IS NULL") == []
    assert might_match(table, "kind = 'a' AND id = 301") == by_kind["a"]
    for kind in by_kind:
        check_rows(
            table,
            f"kind = '{kind}' AND id < 60",
            (pc.field("kind") == kind) & (pc.field("id") < 60),
        )
    with pytest.raises(UnsupportedTable, match='fill in the column "kind"'):
        dataset(url_of(table), filters="id = 1")


def test_files_without_ids_go_by_the_name_mapping(catalog: Catalog) -> None:
    table = new_table(catalog, rows_of(0))
    path = append_stored(table, rows_of(1))
    with_filters(table)
    # No mapping: engines differ in what the columns are.
    assert path in might_match(table, "name = 'absent'")
    with pytest.raises(UnsupportedTable, match="pyiceberg cannot read the table"):
        read_table(url_of(table), filters="name = 'n301'")
    with table.transaction() as transaction:
        mapping = table.schema().name_mapping.model_dump_json()
        transaction.set_properties({"schema.name-mapping.default": mapping})
    assert might_match(table, "name = 'absent'") == []
    assert might_match(table, "name = 'n301'") == [path]
    with table.update_schema() as update:
        update.rename_column("name", "title")
    check_rows(table, "title = 'n301'", pc.field("title") == "n301")


def test_position_deletes(catalog: Catalog) -> None:
    table = new_table(catalog, rows_of(0), rows_of(1))
    newer, older = paths_of(table)
    delete_positions(table, {f"file://{older}": [100, 101], f"file://{newer}": [0]})
    assert whole(table).num_rows == 2 * MANY - 3
    check_rows(table, "id = 300", pc.field("id") == 300)
    assert read_table(url_of(table), filters="id = 300").num_rows == 0
    check_rows(table, "id IN (303, 306, 4)", pc.field("id").isin([303, 306, 4]))
    assert read_table(url_of(table)).equals(whole(table))
    with pytest.raises(UnsupportedTable, match="deleted rows"):
        dataset(url_of(table), filters="id = 300")


def test_equality_deletes_are_left_to_other_engines(catalog: Catalog) -> None:
    table = new_table(catalog, rows_of(0))
    delete_equal(table, {"id": [300]})
    assert len(might_match(table, "id = 300")) == 1
    assert might_match(table, "id = 301") == []
    for read in (read_table, lambda url: dataset(url, filters="id = 1")):
        with pytest.raises(UnsupportedTable, match="equality deletes"):
            read(url_of(table))


def test_a_file_that_is_gone(catalog: Catalog, tmp_path: Path) -> None:
    table = new_table(catalog, rows_of(0))
    (path,) = paths_of(table)
    (tmp_path / path).unlink()
    with pytest.raises(TableProblem, match="missing"):
        read_table(url_of(table), filters="id = 300")


def test_dataset(catalog: Catalog) -> None:
    table = new_table(catalog, rows_of(0), rows_of(1))
    found = dataset(url_of(table), filters="id = 300")
    assert found.schema.equals(whole(table).schema)
    assert found.to_table()["name"].to_pylist() == ["n300"]
    parts = dataset(url_of(table), filters="name = 'n300'", filter_rows=False)
    assert len(list(parts.get_fragments())) == 1
    with table.update_schema() as update:
        update.add_column("late", StringType())
    assert dataset(url_of(table), filters="late IS NULL").to_table().num_rows == 2 * MANY
    with table.update_schema() as update:
        update.rename_column("name", "title")
    with pytest.raises(UnsupportedTable, match="other names"):
        dataset(url_of(table), filters="id = 300")


def test_dataset_does_not_take_a_new_column_for_an_old_one(catalog: Catalog) -> None:
    table = new_table(catalog, rows_of(0))
    with table.update_schema() as update:
        update.delete_column("name")
    with table.update_schema() as update:
        update.add_column("name", StringType())
    with pytest.raises(UnsupportedTable, match="dropped column"):
        dataset(url_of(table), filters="id = 300")


def test_dataset_refuses_promoted_types(catalog: Catalog) -> None:
    table = new_table(catalog, rows_of(0))
    with table.update_schema() as update:
        update.update_column("id", LongType())
    with pytest.raises(UnsupportedTable, match="other types"):
        dataset(url_of(table), filters="id = 300")


def test_scans_of_pyiceberg_are_pruned(catalog: Catalog) -> None:
    table = new_table(catalog, rows_of(0), rows_of(1), rows_of(2))
    scan = table.scan("id = 300 and name > 'a'")
    assert len(list(scan.plan_files())) == 3
    (task,) = prune_scan(scan)
    assert task.file.file_path.endswith(paths_of(table)[2])
    assert prune_scan(table.scan("name = 'n3000000'")) == []
    assert len(prune_scan(table.scan("id in (300, 301)"))) == 2
    assert len(prune_scan(table.scan("not id = 300"))) == 3
    assert len(prune_scan(table.scan("rate = 75.0"))) == 3  # pyiceberg rounds literals of floats
    assert len(prune_scan(table.scan(), "rate = 75.0")) == 1
    assert len(prune_scan(table.scan(selected_fields=("rate",)), "name = 'n300'")) == 1
    with pytest.raises(ColumnNotFound):
        prune_scan(scan, "nmae = 'n300'")


def test_names_that_open_nothing(catalog: Catalog) -> None:
    assert catalog.list_tables("shop") == []
    for url in ("iceberg://lake/shop.none", "iceberg://nowhere/shop.orders", "iceberg://lake"):
        with pytest.raises(InvalidArgument):
            read_table(url)


def test_tables_that_pyiceberg_reads_by_fsspec(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = new_table(catalog, rows_of(0), rows_of(1))
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__PY_IO_IMPL", "pyiceberg.io.fsspec.FsspecFileIO")
    assert might_match(table, "id = 300") == [paths_of(table)[1]]
    assert read_table(url_of(table), filters="id = 300")["name"].to_pylist() == ["n300"]


def test_a_required_field_is_null_where_its_struct_is(catalog: Catalog) -> None:
    part = StructType(NestedField(3, "number", LongType(), required=True))
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "part", part))
    table = catalog.create_table("shop.parts", schema)
    rows = [{"id": 1, "part": {"number": 7}}, {"id": 2, "part": None}]
    for one in rows:
        table.append(pa.Table.from_pylist([one], schema=table.schema().as_arrow()))
    with_filters(table)
    is_null = pl.col("part").struct.field("number").is_null()

    assert read_table(url_of(table), filters="part.number IS NULL")["id"].to_pylist() == [2]
    assert scan_polars(url_of(table)).filter(is_null).collect()["id"].to_list() == [2]
