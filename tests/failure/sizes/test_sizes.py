"""Large and empty files: what comes of every verb. What it takes is measured by `torture`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from campaigns.sizes.cases import CASES, NEW, run
from campaigns.sizes.sparse import GIB, write_no_columns, write_sparse
from parquet_bloomwriter import advise, bloomify, inspect, probe, read_table, strip, verify

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.shares

SIZES = {
    "sparse": 4.5,
    "columns": 1000,
    "row groups": 500,
    "footer": 10,
    "filter": 2,
    "rows": 400_000,
}


@pytest.mark.parametrize("name", CASES)
def test_large(tmp_path: Path, name: str) -> None:
    case, size, old = CASES[name], SIZES[name], tmp_path / "old.parquet"
    case.make(old, size)
    for verb in case.verbs:
        run(case, verb, old, size)


def test_holes_stay_holes(tmp_path: Path) -> None:
    old, new = tmp_path / "old.parquet", tmp_path / NEW
    rows = write_sparse(old, 4.5)
    assert old.stat().st_size > 4 * GIB
    bloomify(old, ["id"], output=new)
    assert new.stat().st_size > 4 * GIB
    for path in (old, new):
        assert path.stat().st_blocks * 512 < 4 << 20
        ids = pq.read_table(path, columns=["id"])["id"].to_numpy()
        assert np.array_equal(ids, np.arange(rows))


def test_in_place_beyond_four_gib(tmp_path: Path) -> None:
    path = tmp_path / "old.parquet"
    rows = write_sparse(path, 4.5)
    size = path.stat().st_size
    bloomify(path, ["id"], placement="end")
    (found,) = probe(path, f"id = {rows - 1}").files
    assert [one.verdict.name for one in found.row_groups] == ["CANNOT_MATCH", "MIGHT_MATCH"]
    strip(path)
    assert path.stat().st_size == size


def write_empty(path: Path, name: str) -> None:
    if name == "rows, but no columns":
        write_no_columns(path, 2)
        return
    table = pa.table({} if name == "no columns" else {"id": pa.array([], pa.int64())})
    with pq.ParquetWriter(path, table.schema) as writer:
        if name == "no rows":
            writer.write_table(table)


EMPTY = {"no rows": 1, "no row groups": 0, "no columns": 0, "rows, but no columns": 1}
"""And the number of row groups."""


@pytest.mark.parametrize("name", EMPTY)
def test_empty(tmp_path: Path, name: str) -> None:
    old, new = tmp_path / "old.parquet", tmp_path / NEW
    write_empty(old, name)
    data, meta = old.read_bytes(), pq.read_metadata(old)
    assert meta.num_row_groups == EMPTY[name]
    assert not any(chunk.num_bytes for c in bloomify(old, output=new).columns for chunk in c.chunks)
    assert new.read_bytes() == data
    assert not bloomify(old).written
    assert not strip(old).written
    assert old.read_bytes() == data
    assert inspect(old).filters == ()
    assert verify(old).checks == ()
    assert len(advise(old).columns) == meta.num_columns
    assert read_table(old).equals(pq.read_table(old))
    assert read_table(old).num_rows == meta.num_rows


@pytest.mark.parametrize("name", ["no rows", "no row groups"])
def test_empty_is_probed(tmp_path: Path, name: str) -> None:
    path = tmp_path / "old.parquet"
    write_empty(path, name)
    (found,) = probe(path, "id = 1").files
    assert len(found.row_groups) == EMPTY[name]
    assert read_table(path, filters="id = 1").to_pylist() == []
