"""Filters that Arrow C++ and DuckDB write, and ours in their place, are the same bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter.hashing import hash_array
from parquet_bloomwriter.sbbf import Sbbf, decode_header

if TYPE_CHECKING:
    from pathlib import Path

ROWS = 5_000

COLUMNS = {
    "int32": pa.array(np.arange(ROWS, dtype=np.int32) * 7919),
    "int64": pa.array(np.arange(ROWS, dtype=np.int64) * -(2**40)),
    "float32": pa.array(np.arange(ROWS, dtype=np.float32) / 3),
    "float64": pa.array(np.arange(ROWS, dtype=np.float64) / 7),
    "string": pa.array([f"row {i}" * (i % 7) for i in range(ROWS)]),
    "nullable": pa.array([None if i % 3 == 0 else f"value {i}" for i in range(ROWS)]),
    "fixed": pa.array([i.to_bytes(16, "big") for i in range(ROWS)], pa.binary(16)),
}


def filter_bytes(path: Path, column: int) -> list[bytes]:
    """Header and bitset of one column, per row group, as DuckDB's metadata places them."""
    query = "SELECT bloom_filter_offset, bloom_filter_length FROM parquet_metadata(?)"
    spans = duckdb.execute(f"{query} WHERE column_id = ?", [str(path), column]).fetchall()
    raw = path.read_bytes()
    return [raw[offset : offset + length] for offset, length in spans]


@pytest.mark.parametrize("name", COLUMNS)
def test_arrow_s_filter_is_ours(name: str, tmp_path: Path) -> None:
    path = tmp_path / "arrow.parquet"
    options = {name: {"ndv": ROWS, "fpp": 0.01}}
    table = pa.table({name: COLUMNS[name]})
    pq.write_table(table, path, bloom_filter_options=options)
    (raw,) = filter_bytes(path, 0)
    ours = Sbbf.empty(decode_header(raw).num_bytes // 32)
    ours.insert_hashes(hash_array(COLUMNS[name]))
    assert ours.to_bytes() == raw


def test_duckdb_s_filters_hold_what_we_hash(tmp_path: Path) -> None:
    path = tmp_path / "duckdb.parquet"
    values = pa.table({"text": [f"value {i % 400}" for i in range(ROWS)]})
    duckdb.from_arrow(values).write_parquet(str(path))
    (raw,) = filter_bytes(path, 0)
    theirs = Sbbf.from_bytes(raw)
    hashes = hash_array(values["text"].combine_chunks().dictionary_encode())
    ours = Sbbf.empty(theirs.num_blocks)
    ours.insert_hashes(hashes)
    assert ours == theirs
