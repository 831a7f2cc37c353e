"""Real tables of Iceberg: each gets its filters by commits, or is refused and left as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from parquet_bloomwriter import bloomify_table, strip_table
from parquet_bloomwriter.errors import UnsupportedTable
from parquet_bloomwriter.tables.report import FileFate
from tests.support import iceberg_real
from tests.support.delta_tables import listing
from tests.support.iceberg_readers import READERS, by_all

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping
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


LARGE = "lineitem"
"""Begins the names of tables of which one reader sees the rows, for there are many."""


@pytest.mark.parametrize("name", iceberg_real.parameters())
def test_the_same_rows_or_refused(name: str, warehouse: Warehouse) -> None:
    table = iceberg_real.copy(name, warehouse)
    short = iceberg_real.short(name)
    url = warehouse.url(short)
    readers = ("DuckDB",) if short.startswith(LARGE) else iceberg_real.readers(name)
    before, rows = data_of(warehouse.folder), by_all(table, readers=readers)
    assert_ground(name, table, rows)
    if short in REFUSED:
        with pytest.raises(UnsupportedTable, match=REFUSED[short]):
            bloomify_table(url, "*")
        assert data_of(warehouse.folder) == before
        return
    report = bloomify_table(url, "*")
    assert not report.left_over
    failed = [one.reason for one in report.changes if one.fate is FileFate.FAILED]
    assert bool(failed) == (short == SIZES_ARE_WRONG), failed
    assert by_all(warehouse.load(short), readers=readers) == rows
    head, now = table.current_snapshot(), warehouse.load(short)
    assert head is not None
    [one, *_] = readers
    assert by_all(now, snapshot_id=head.snapshot_id, readers=[one])[one] == rows[one]
    again = bloomify_table(url, "*")
    assert (again.commits, again.num_footers) == ((), len(failed))
    strip_table(url)
    assert by_all(warehouse.load(short), readers=[one])[one] == rows[one]
    assert before.items() <= data_of(warehouse.folder).items()


def assert_ground(name: str, table: Table, seen: Mapping[str, Counter[Spelled]]) -> None:
    """Check that a copy is read as the table that it is a copy of, by those that can read it."""
    expected = iceberg_real.ROWS.get(iceberg_real.short(name))
    assert {reader: rows.total() for reader, rows in seen.items()} == dict.fromkeys(seen, expected)
    for reader in READERS:
        if reader not in iceberg_real.readers(name):
            with pytest.raises(Exception, match=r"."):
                by_all(table, readers=[reader])


def test_there_are_tables() -> None:
    names = iceberg_real.names()
    if not names:
        pytest.skip("BLOOMIFY_TABLES names no folder of tables")
    assert len(names) == len({iceberg_real.short(name) for name in names}) == 23
