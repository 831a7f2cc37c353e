"""Parquet files that are large in one respect."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pathlib import Path


def write_columns(path: Path, columns: int, *, rows: int = 20) -> None:
    """Write one row group of int64 columns `c0`, `c1`, ...; `c<i>` holds i times 1000, and on."""
    numbers = np.arange(rows)
    table = pa.table({f"c{i}": numbers + 1000 * i for i in range(columns)})
    pq.write_table(table, path)


def write_row_groups(path: Path, row_groups: int, *, columns: int = 2, rows: int = 20) -> None:
    """Write row groups of int64 columns that all hold the row's number: `c0`, `c1`, ..."""
    names = [f"c{i}" for i in range(columns)]
    schema = pa.schema([(name, pa.int64()) for name in names])
    with pq.ParquetWriter(path, schema, use_dictionary=False) as writer:
        for number in range(row_groups):
            values = pa.array(np.arange(number * rows, (number + 1) * rows))
            writer.write_table(pa.table([values] * columns, schema=schema))


def write_wide_footer(path: Path, row_groups: int) -> None:
    """Write row groups of 1,000 columns and 2 rows: about 125 KB of footer for each."""
    write_row_groups(path, row_groups, columns=1000, rows=2)


def write_rows(path: Path, rows: int) -> None:
    """Write one row group of an int64 column `c0` that holds the row's number."""
    table = pa.table({"c0": np.arange(rows)})
    pq.write_table(table, path, row_group_size=rows, use_dictionary=False, compression="none")
