"""Predicates of all kinds on a table that changed its schema, its partitions and its rows."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from hypothesis import example, given, reject, settings
from hypothesis import strategies as st
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DecimalType, DoubleType, LongType, StringType

from parquet_bloomwriter import bloomify, prune_scan, read_table
from parquet_bloomwriter.iceberg.row_filter import to_iceberg
from parquet_bloomwriter.predicate.arrow_out import to_arrow
from parquet_bloomwriter.predicate.expression import And, Comparison, IsIn, IsNull, Not, Or
from parquet_bloomwriter.scan.iceberg_rows import filter_types
from parquet_bloomwriter.table_files.find import find_table
from tests.support.iceberg_deletes import delete_positions
from tests.support.iceberg_reading import new_catalog, paths_of, url_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyiceberg.table import Table

    from parquet_bloomwriter.predicate.expression import Expression
    from parquet_bloomwriter.table_files.iceberg import IcebergTable

DAY = date(2026, 1, 1)
MOMENT = datetime(2026, 1, 1)  # noqa: DTZ001  of no zone
VALUES: dict[str, list[Any]] = {
    "number": [-3, 0, 1, 2, 7, 2**31, 2**40],
    "text": ["", "a", "b", "ab", "7", "2026-01-01"],
    "rate": [0.0, -0.0, 0.25, 0.1, 7.0, float("nan")],
    "price": [Decimal("1.00"), Decimal("2.50"), Decimal("-7.25"), Decimal("12345678.90")],
    "day": [DAY, DAY + timedelta(days=1), date(1969, 12, 31)],
    "moment": [MOMENT, MOMENT + timedelta(microseconds=1)],
    "instant": [one.replace(tzinfo=UTC) for one in (MOMENT, MOMENT - timedelta(hours=1))],
    "kind": ["x", "y", "7", "true"],
    "late": ["p", "q"],
}
OLD = {
    "number": pa.int32(),
    "text": pa.string(),
    "rate": pa.float32(),
    "price": pa.decimal128(10, 2),
    "day": pa.date32(),
    "moment": pa.timestamp("us"),
    "instant": pa.timestamp("us", "UTC"),
    "kind": pa.string(),
}
NEW = {**OLD, "number": pa.int64(), "rate": pa.float64(), "price": pa.decimal128(20, 2)}
NEW["late"] = pa.string()
ROWS = 40


def rows_of(types: dict[str, pa.DataType], seed: int) -> pa.Table:
    """Return rows with a few values of each column, nulls among them."""
    columns = {}
    for place, (name, type_) in enumerate(types.items()):
        fitting = VALUES[name]
        if type_ == pa.int32():
            fitting = [one for one in fitting if one < 2**31]
        chosen = [*fitting[seed % 2 :: 2], None]
        columns[name] = pa.array(
            [chosen[(row * (place + 1) + seed) % len(chosen)] for row in range(ROWS)], type_
        )
    return pa.table(columns)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    """A table of several files with filters, in three partition specs; one has deleted rows."""
    with pytest.MonkeyPatch.context() as patch:
        catalog = new_catalog(patch, tmp_path_factory.mktemp("lake"))
        table = catalog.create_table("shop.orders", pa.schema(list(OLD.items())))
        for seed in range(2):
            table.append(rows_of(OLD, seed))
        delete_positions(table, {f"file://{paths_of(table)[-1]}": range(0, ROWS, 3)})
        table.refresh()
        with table.update_schema() as update:
            update.update_column("number", LongType())
            update.update_column("rate", DoubleType())
            update.update_column("price", DecimalType(20, 2))
            update.add_column("late", StringType())
        with table.update_spec() as update:
            update.add_field("kind", IdentityTransform())
        table.append(rows_of(NEW, 2))
        with table.update_spec() as update:
            update.remove_field("kind")
            update.add_field("day", IdentityTransform())
        table.append(rows_of(NEW, 3))
        with table.update_schema() as update:
            update.rename_column("text", "old_text")
        with table.update_schema() as update:
            update.add_column("text", StringType())
        for path in paths_of(table):
            bloomify(path, force=True)
        yield table


NAMES = [*VALUES, "old_text"]


def conditions() -> st.SearchStrategy[Expression]:
    def of(name: str) -> st.SearchStrategy[Expression]:
        values = st.sampled_from(VALUES["text" if name == "old_text" else name])
        return st.one_of(
            st.builds(Comparison, st.just(name), st.sampled_from(["=", "<", ">=", "!="]), values),
            st.builds(IsIn, st.just(name), st.lists(values, min_size=1, max_size=3).map(tuple)),
            st.just(IsNull(name)),
        )

    return st.recursive(
        st.sampled_from(NAMES).flatmap(of),
        lambda parts: st.one_of(
            st.builds(And, st.lists(parts, min_size=2, max_size=2).map(tuple)),
            st.builds(Or, st.lists(parts, min_size=2, max_size=2).map(tuple)),
            st.builds(Not, parts),
        ),
        max_leaves=3,
    )


def bag(rows: pa.Table) -> list[str]:
    return [repr(row) for row in rows.to_pylist()]  # NaN is equal to nothing


@pytest.fixture(scope="module")
def everything(table: Table) -> pa.Table:
    """All rows of the table."""
    return read_table(url_of(table))


@settings(max_examples=10, deadline=None)
@given(tree=conditions())
@example(tree=Or((Comparison("number", ">=", -3), Comparison("day", "<", DAY))))
def test_no_row_is_lost(table: Table, everything: pa.Table, tree: Expression) -> None:
    expected = ds.dataset(everything).to_table(filter=to_arrow(tree, everything.schema))
    found = read_table(url_of(table), filters=tree)
    assert found.schema.equals(expected.schema)
    assert bag(found) == bag(expected)


@settings(max_examples=10, deadline=None)
@given(tree=conditions())
def test_no_row_of_a_pruned_scan_is_lost(table: Table, tree: Expression) -> None:
    opened = cast("IcebergTable", find_table(url_of(table)))
    scan = table.scan(to_iceberg(tree, filter_types(opened)))
    try:
        planned = list(scan.plan_files())
    except TypeError:  # pyiceberg 0.12 compares null, as the value of a partition, by < and >
        reject()
    tasks = prune_scan(scan)
    assert len(tasks) <= len(planned)
    reader = ArrowScan(scan.table_metadata, scan.io, scan.projection(), scan.row_filter)
    assert bag(reader.to_table(tasks)) == bag(scan.to_arrow())


def test_files_are_pruned(table: Table) -> None:
    """The properties above would hold if nothing were left out."""
    num_files = len(paths_of(table))
    conditions = ["number = 999", "kind = 'z'", "late = 'p'", "kind = 'x' AND day = '2026-01-01'"]
    kept = [len(prune_scan(table.scan(), one)) for one in conditions]
    assert kept[:2] == [0, 0]
    assert all(0 < one < num_files for one in kept[2:])
