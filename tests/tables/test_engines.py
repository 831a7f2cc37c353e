"""Which readers of Delta use the filters: a copy whose data pages are noise is asked.

A value that is absent, but lies between minimum and maximum, can be answered only by the filter:
whoever reads a page fails. docs/compatibility.md says what comes out.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from urllib.parse import unquote

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake

from parquet_bloomwriter import bloomify_table, probe, read_table
from tests.support.delta_tables import rows_by_duckdb

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ABSENT = 777_777
"""Between the values of the table."""


@pytest.fixture(scope="module")
def noise(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with filters, whose data pages can be read by nobody."""
    path = tmp_path_factory.mktemp("noise") / "t"
    rng = np.random.default_rng(3)
    ids = rng.permutation(np.arange(0, 2_000_000, 100))
    write_deltalake(os.fspath(path), pa.table({"id": ids}))
    bloomify_table(path, "id")
    for uri in DeltaTable(os.fspath(path)).file_uris():
        file = path.parent / unquote(uri).removeprefix("file://")
        metadata = pq.read_metadata(file)
        data = bytearray(file.read_bytes())
        for group in range(metadata.num_row_groups):
            chunk = metadata.row_group(group).column(0)
            start = chunk.dictionary_page_offset or chunk.data_page_offset
            data[start : start + chunk.total_compressed_size] = bytes(chunk.total_compressed_size)
        file.write_bytes(data)
    return path


def by_deltalake(path: Path, where: str) -> int:
    """Ask DataFusion, through deltalake."""
    table = DeltaTable(os.fspath(path))
    query = f"SELECT * FROM t WHERE {where}"  # noqa: S608  of this module
    found = QueryBuilder().register("t", table).execute(query).read_all()
    return int(pa.table(found).num_rows)


def by_duckdb(path: Path, where: str) -> int:
    """Ask DuckDB's extension."""
    return len(rows_by_duckdb(path, where))


def by_us(path: Path, where: str) -> int:
    """Ask `read_table`."""
    return int(read_table(path, filters=where).num_rows)


def by_polars(path: Path, where: str) -> int:
    """Ask Polars."""
    return pl.scan_delta(os.fspath(path)).filter(pl.sql_expr(where)).collect().height


def by_pyarrow(path: Path, where: str) -> int:
    """Ask pyarrow's dataset of deltalake."""
    value = int(where.split("=")[1])
    found = DeltaTable(os.fspath(path)).to_pyarrow_table(filters=[("id", "=", value)])
    return int(found.num_rows)


@pytest.mark.parametrize("ask", [by_deltalake, by_duckdb, by_us])
def test_these_use_the_filters(noise: Path, ask: Callable[[Path, str], int]) -> None:
    assert ask(noise, f"id = {ABSENT}") == 0
    assert probe(noise, f"id = {ABSENT}").num_surviving == 0


@pytest.mark.parametrize("ask", [by_polars, by_pyarrow])
def test_these_do_not(noise: Path, ask: Callable[[Path, str], int]) -> None:
    with pytest.raises((pl.exceptions.PolarsError, OSError, pa.ArrowException)):
        ask(noise, f"id = {ABSENT}")
