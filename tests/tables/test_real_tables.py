"""Real tables: each gets its filters by commits, or is refused by name and left as it is."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from parquet_bloomwriter import bloomify_table, strip_table
from parquet_bloomwriter.errors import UnsupportedTable
from parquet_bloomwriter.tables.report import FileFate
from tests.support import delta_real
from tests.support.delta_real import bag, by_deltalake
from tests.support.delta_tables import listing
from tests.support.duckdb_tables import delta_rows

if TYPE_CHECKING:
    from collections import Counter
    from pathlib import Path

REFUSED = {
    "catalog-owned-preview": "catalogManaged",
    "catalog_managed_0": "catalogManaged",
    "basic_catalog_managed/delta": "catalogManaged",
    "simple_table_features": "version 5",
    "partitioned_with_materialize_feature": "materializePartitionColumns",
    "table-with-icebegCompatV2Enabled": "icebergCompatV2",
}
"""By the end of their names, and what the refusal names."""


LARGE = "delta-io__delta/connectors/golden-tables/src/main/resources/golden/parquet-decimal-type"
"""It has 99,998 rows in files of nothing uncommon: tests/delta/test_rows.py reads it."""


def rows_of(root: Path) -> list[Counter[delta_real.Spelled] | str]:
    """Return the rows that both engines read, or that they cannot."""
    found = delta_rows(root)
    return [rows_by_deltalake(root), "DuckDB cannot" if isinstance(found, str) else bag(found)]


def rows_by_deltalake(root: Path) -> Counter[delta_real.Spelled] | str:
    """Return the rows that deltalake reads, or that it cannot."""
    try:
        return bag(by_deltalake(root))
    except Exception:  # noqa: BLE001  whatever deltalake does not know
        return "deltalake cannot"


@pytest.mark.shares
@pytest.mark.parametrize("table", [one for one in delta_real.names() if one != LARGE])
def test_the_same_rows_or_refused(table: str, tmp_path: Path) -> None:
    root = tmp_path / "t"
    shutil.copytree(delta_real.folder() / table, root)
    why = next((why for name, why in REFUSED.items() if table.endswith(name)), None)
    if why is not None:
        before = listing(root)
        with pytest.raises(UnsupportedTable, match=why):
            bloomify_table(root, "*")
        assert listing(root) == before
        return
    rows = rows_of(root)
    report = bloomify_table(root, "*")
    assert not report.left_over
    assert [one.reason for one in report.changes if one.fate is FileFate.FAILED] == []
    assert rows_of(root) == rows
    again = bloomify_table(root, "*")
    assert (again.commits, again.num_footers) == ((), 0)
    if report.commits:
        strip_table(root)
        assert rows_by_deltalake(root) == rows[0]
