"""Real tables of Iceberg: an index leaves out no file that holds a value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyiceberg.io.pyarrow import ArrowScan

from parquet_bloomwriter import index
from parquet_bloomwriter.errors import BloomwriterError
from tests.support import iceberg_real

if TYPE_CHECKING:
    from tests.support.iceberg_tables import Warehouse

VALUES = 12
"""Looked up of each column."""


@pytest.mark.parametrize("name", iceberg_real.parameters())
def test_every_value_is_found(name: str, warehouse: Warehouse) -> None:
    table = iceberg_real.copy(name, warehouse)
    short = iceberg_real.short(name)
    if "pyiceberg" not in iceberg_real.readers(name):
        return
    scan = table.scan()
    reader = ArrowScan(scan.table_metadata, scan.io, scan.projection(), scan.row_filter)
    rows = {one.file.file_path: reader.to_table([one]) for one in scan.plan_files()}
    for column in pa.concat_tables(rows.values(), promote_options="permissive").column_names:
        try:
            index.create(warehouse.url(short), column, name=f"of-{column.replace('_', '-')}")
        except BloomwriterError:
            continue
        for path, data in rows.items():
            values = [one for one in data[column].to_pylist() if one is not None]
            for value in values[:: max(1, len(values) // VALUES)]:
                found = index.lookup(warehouse.url(short), [(column, "=", value)])
                assert path.removeprefix("file://") in found.paths, (column, value)
