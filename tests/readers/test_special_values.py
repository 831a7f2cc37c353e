"""Values whose equality is not that of their bytes, and columns inside others."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import bloomify
from tests.readers.engines import Engine, equals

if TYPE_CHECKING:
    from pathlib import Path

FLOATS = (0.0, -0.0, float("nan"), 1.5)
POINT_X = {
    "duckdb": "point.x = {}",
    "datafusion": "t.point['x'] = {}",
    "chdb": "point.x = {}",
    "spark": "point.x = {}",
}


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()], ids=str)
def test_zeros_and_nans(kind: pa.DataType, engine: Engine, tmp_path: Path) -> None:
    old = tmp_path / "old.parquet"
    table = pa.table({"x": pa.array([0.0, 3.0, -0.0, 4.0, float("nan"), 5.0, 1.5, 6.0], kind)})
    pq.write_table(table, old, row_group_size=2, use_dictionary=False, write_statistics=False)
    new = tmp_path / "new.parquet"
    bloomify(old, output=new, fpp=1e-6)
    conditions = [equals(engine, "x", kind, value) or "" for value in FLOATS]
    before = engine.counts(old, conditions)
    assert engine.counts(new, conditions) == before
    assert before[3] == 1
    assert before[0] in (1, 2)


def test_int96_timestamps(engine: Engine, tmp_path: Path) -> None:
    start = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    times = [start + dt.timedelta(days=n * 7919 % 1000, microseconds=n) for n in range(400)]
    kind = pa.timestamp("us", "UTC") if engine.name == "spark" else pa.timestamp("ns")
    old, new = tmp_path / "old.parquet", tmp_path / "new.parquet"
    pq.write_table(
        pa.table({"at": pa.array(times, pa.timestamp("us"))}),
        old,
        row_group_size=100,
        use_deprecated_int96_timestamps=True,
    )
    bloomify(old, output=new)
    assert pq.read_metadata(new).row_group(0).column(0).physical_type == "INT96"
    asked = [times[0], times[-1], times[0] + dt.timedelta(microseconds=1)]
    conditions = [equals(engine, "at", kind, time) or "" for time in asked]
    for path in (old, new):
        assert engine.counts(path, conditions) == [1, 1, 0]


def test_leaf_of_a_struct(engine: Engine, tmp_path: Path) -> None:
    points = [None if n % 5 == 4 else {"x": n * 7919 % 1000 * 2, "y": n} for n in range(800)]
    kind = pa.struct([("x", pa.int32()), ("y", pa.int32())])
    old, new = tmp_path / "old.parquet", tmp_path / "new.parquet"
    pq.write_table(pa.table({"point": pa.array(points, kind)}), old, row_group_size=200)
    report = bloomify(old, ["point"], output=new)
    assert [column.name for column in report.columns] == ["point.x", "point.y"]
    xs = [point["x"] for point in points if point]
    conditions = [POINT_X[engine.name].format(x) for x in (xs[0], xs[-1], 1001)]
    for path in (old, new):
        assert engine.counts(path, conditions) == [xs.count(xs[0]), xs.count(xs[-1]), 0]
