"""Iceberg tables that another program commits to while files are replaced: nothing is lost."""

from __future__ import annotations

import secrets
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from parquet_bloomwriter import bloomify_table, inspect, verify
from parquet_bloomwriter.tables.replacement import Limits
from tests.support.delta_real import bag
from tests.support.iceberg_deletes import live_entries
from tests.support.iceberg_races import KINDS, NAME, make, meddle, rows_after, rows_before
from tests.support.iceberg_readers import by_duckdb, by_specification

if TYPE_CHECKING:
    from tests.support.iceberg_tables import Warehouse

LONGEST_S = 0.3
"""How long the other program waits before it begins; a run takes about as long."""


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_those_that_the_other_program_leaves(
    kind: str, number: int, warehouse: Warehouse
) -> None:
    seed = f"{number} {secrets.randbelow(1 << 31)}"
    make(warehouse)
    url = warehouse.url(NAME)
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(meddle, warehouse, kind, LONGEST_S, seed)
        report = bloomify_table(url, "id", limits=Limits(num_files=1))
        said = other.result()
    table = warehouse.load(NAME)
    expected = bag(rows_after(kind) if said == "done" else rows_before())
    assert bag(by_specification(table)) == expected, (seed, said)
    assert bag(by_duckdb(table)) == expected, (seed, said)
    assert not report.undecided
    known = {one.snapshot_id for one in table.metadata.snapshots}
    assert kind == "expire" or set(report.commits) <= known
    files = [Path(one.data_file.file_path.removeprefix("file://")) for one in live_entries(table)]
    assert all(one.exists() for one in files)
    assert len(set(files)) == len(files)
    bloomify_table(url, "id")
    table = warehouse.load(NAME)
    assert bag(by_specification(table)) == expected, (seed, said)
    for one in live_entries(table):
        path = one.data_file.file_path.removeprefix("file://")
        assert verify(path).passed
        assert any(column.filters for column in inspect(path).columns)
