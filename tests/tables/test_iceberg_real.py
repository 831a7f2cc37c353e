"""Real tables of Iceberg: each is read, indexed and given filters, or is refused and left alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyiceberg.io.pyarrow import ArrowScan

from parquet_bloomwriter import bloomify_table, index, read_table, strip_table
from parquet_bloomwriter.errors import (
    BloomwriterError,
    InvalidArgument,
    TableProblem,
    UnsupportedTable,
)
from parquet_bloomwriter.tables.report import FileFate
from tests.support import iceberg_real
from tests.support.delta_real import bag
from tests.support.delta_tables import listing
from tests.support.iceberg_readers import READERS, by_all, by_duckdb

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pyiceberg.table import Table

    from tests.support.delta_real import Spelled
    from tests.support.iceberg_tables import Warehouse

REFUSED = {"legacy_bare_deletion_vector": "version 3"}
"""By short names, and what the refusal names."""

SIZES_ARE_WRONG = "t1"
"""A table whose manifests have other sizes than the files: these are not made valid."""


def data_of(folder: Path) -> dict[str, bytes]:
    """Return the table's own files: what a catalog keeps elsewhere is left out."""
    return {name: data for name, data in listing(folder).items() if "catalog.db" not in name}


FEW = 3
"""Columns of a large table that are asked about; of other tables, all."""

VALUES = 4
"""Looked up of each column in the index."""


@pytest.mark.parametrize("name", iceberg_real.parameters())
def test_the_same_rows_or_refused(name: str, warehouse: Warehouse) -> None:
    table = iceberg_real.copy(name, warehouse)
    short = iceberg_real.short(name)
    url = warehouse.url(short)
    before, rows = data_of(warehouse.folder), rows_of(name, table)
    assert_ground(name, table, rows)
    check_rows(name, table, url)
    if short in REFUSED:
        before = data_of(warehouse.folder)
        with pytest.raises(UnsupportedTable, match=REFUSED[short]):
            bloomify_table(url, "*")
        assert data_of(warehouse.folder) == before
        return
    if "pyiceberg" in iceberg_real.readers(name):
        check_index(name, table, url)
    report = bloomify_table(url, "*")
    assert not report.left_over
    failed = [one.reason for one in report.changes if one.fate is FileFate.FAILED]
    assert bool(failed) == (short == SIZES_ARE_WRONG), failed
    assert rows_of(name, warehouse.load(short)) == rows
    head, now = table.current_snapshot(), warehouse.load(short)
    assert head is not None
    assert now.snapshot_by_id(head.snapshot_id) is not None
    again = bloomify_table(url, "*")
    assert (again.commits, again.num_footers) == ((), len(failed))
    strip_table(url)
    one = next(iter(rows))
    assert rows_of(name, warehouse.load(short), readers=[one])[one] == rows[one]
    assert before.items() <= data_of(warehouse.folder).items()


def rows_of(name: str, table: Table, *, readers: Sequence[str] = ()) -> dict[str, Counter[Spelled]]:
    """Return the rows that readers see; of a large table, a part of those that DuckDB sees."""
    if iceberg_real.is_large(name):
        return {"DuckDB": bag(by_duckdb(table, where="l_orderkey % 16 = 1"))}
    return by_all(table, readers=readers or iceberg_real.readers(name))


def assert_ground(name: str, table: Table, seen: Mapping[str, Counter[Spelled]]) -> None:
    """Check that a copy is read as the table that it is a copy of, by those that can read it."""
    if iceberg_real.is_large(name):
        return  # read whole by `check_rows`
    expected = iceberg_real.ROWS.get(iceberg_real.short(name))
    assert {reader: rows.total() for reader, rows in seen.items()} == dict.fromkeys(seen, expected)
    for reader in READERS:
        if reader not in iceberg_real.readers(name):
            with pytest.raises(Exception, match=r"."):
                by_all(table, readers=[reader])


def some_columns(name: str, columns: list[str]) -> list[str]:
    """Return the columns that are asked about."""
    return columns[:: len(columns) // FEW] if iceberg_real.is_large(name) else columns


def check_rows(name: str, table: Table, url: str) -> None:
    """Check the rows that `read_table` returns, beside those of pyiceberg."""
    if "pyiceberg" not in iceberg_real.readers(name):
        with pytest.raises((UnsupportedTable, TableProblem)):
            read_table(url)
        return
    everything, expected = read_table(url), table.scan().to_arrow()
    assert everything.num_rows == iceberg_real.ROWS[iceberg_real.short(name)]
    if iceberg_real.is_large(name):
        order = [(column, "ascending") for column in everything.column_names]
        expected = expected.select(everything.column_names).cast(everything.schema)
        assert everything.sort_by(order).equals(expected.sort_by(order))
    else:
        assert bag(everything.to_pylist()) == bag(expected.to_pylist())
    for column in some_columns(name, everything.column_names):
        field = everything.schema.field(column)
        values = everything[column].to_pylist()
        if pa.types.is_nested(field.type):
            continue
        for value in [one for one in values[:2] if one is not None][-1:]:
            condition = ds.field(column) == pa.scalar(value, field.type)
            try:
                found = read_table(url, filters=condition)
            except (InvalidArgument, pa.ArrowNotImplementedError):
                continue  # pyarrow does not compare the type
            rows = [place for place, one in enumerate(values) if one == value]
            assert found.to_pylist() == everything.take(rows).to_pylist()


def check_index(name: str, table: Table, url: str) -> None:
    """Check that an index of each column leaves out no file that holds a value."""
    scan = table.scan()
    reader = ArrowScan(scan.table_metadata, scan.io, scan.projection(), scan.row_filter)
    rows = {one.file.file_path: reader.to_table([one]) for one in scan.plan_files()}
    columns = pa.concat_tables(rows.values(), promote_options="permissive").column_names
    for column in some_columns(name, columns):
        try:
            index.create(url, column, name=f"of-{column.replace('_', '-')}")
        except BloomwriterError:
            continue
        for path, data in rows.items():
            values = [one for one in data[column].to_pylist() if one is not None]
            for value in values[:: max(1, len(values) // VALUES)]:
                found = index.lookup(url, [(column, "=", value)])
                assert path.removeprefix("file://") in found.paths, (column, value)


def test_there_are_tables() -> None:
    names = iceberg_real.names()
    if not names:
        pytest.skip("BLOOMIFY_TABLES names no folder of tables")
    assert len(names) == len({iceberg_real.short(name) for name in names}) == 23
