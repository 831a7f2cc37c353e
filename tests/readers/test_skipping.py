"""Our filters make engines skip row groups that they read before.

The values are unique, in no order, and even; what is asked for is odd, so statistics and
dictionaries say nothing. `write_page_index` files show that those who use page indexes still find
their pages after everything has moved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import bloomify
from tests.readers.engines import ClickHouse, DataFusion, DuckDB, Engine, Spark
from tests.support import compact

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from parquet_bloomwriter.rewrite.plan import Placement

ROWS, ROW_GROUPS = 20_000, 4
PLACEMENTS: tuple[Placement, ...] = ("column-chunk", "row-group", "end")
CONDITIONS = {"id": "id = 10001", "word": "word = 'w10001'"}


@pytest.fixture(scope="module")
def numbers() -> list[int]:
    """Return even numbers in no order."""
    even: list[int] = np.random.default_rng(3).permutation(np.arange(0, 2 * ROWS, 2)).tolist()
    return even


@pytest.fixture(scope="module")
def old(numbers: list[int], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file of numbers and words without filters."""
    path = tmp_path_factory.mktemp("skipping") / "old.parquet"
    table = pa.table({"id": numbers, "word": [f"w{n:05d}" for n in numbers]})
    pq.write_table(table, path, row_group_size=ROWS // ROW_GROUPS, use_dictionary=False)
    return path


@pytest.fixture(scope="module", params=PLACEMENTS)
def new(request: pytest.FixtureRequest, old: Path) -> Path:
    """Return the same with filters, of a rate that leaves nothing to chance."""
    path = old.with_name(f"{request.param}.parquet")
    bloomify(old, output=path, placement=request.param, fpp=1e-6)
    return path


def test_duckdb_lists_the_filters(old: Path, new: Path) -> None:
    filters = compact.filters_of(compact.footer_of(new.read_bytes()))
    assert DuckDB().filters(old) == [(None, None)] * len(filters)
    assert DuckDB().filters(new) == [filters[place] for place in sorted(filters)]


def test_duckdb_excludes_row_groups(old: Path, new: Path, numbers: list[int]) -> None:
    probe = DuckDB().row_groups_excluded
    assert probe(old, "id", "10001") == [False] * ROW_GROUPS
    assert probe(new, "id", "10001") == [True] * ROW_GROUPS
    assert probe(new, "word", "'w10001'") == [True] * ROW_GROUPS
    assert probe(new, "id", str(numbers[-1])) == [True, True, True, False]
    assert probe(new, "word", f"'w{numbers[0]:05d}'") == [False, True, True, True]


@pytest.mark.parametrize("condition", CONDITIONS.values())
def test_datafusion_prunes_by_filters(condition: str, old: Path, new: Path) -> None:
    before, after = (DataFusion().metrics(path, condition) for path in (old, new))
    for metrics in (before, after):
        assert metrics["row_groups_pruned_statistics"] == (ROW_GROUPS, ROW_GROUPS)
    assert before["row_groups_pruned_bloom_filter"] == (ROW_GROUPS, ROW_GROUPS)
    assert after["row_groups_pruned_bloom_filter"] == (ROW_GROUPS, 0)


def test_datafusion_reads_the_row_group_that_has_it(new: Path, numbers: list[int]) -> None:
    metrics = DataFusion().metrics(new, f"id = {numbers[0]}")
    assert metrics["row_groups_pruned_bloom_filter"] == (ROW_GROUPS, 1)


@pytest.mark.parametrize("condition", CONDITIONS.values())
def test_clickhouse_reads_no_rows(condition: str, old: Path, new: Path) -> None:
    assert ClickHouse().rows_read(old, condition) == ROWS
    assert ClickHouse().rows_read(new, condition) == 0


@pytest.mark.parametrize("condition", CONDITIONS.values())
def test_spark_scans_no_rows(condition: str, old: Path, new: Path, spark: SparkSession) -> None:
    assert Spark(spark).scanned(old, condition) == ROWS
    assert Spark(spark).scanned(new, condition) == 0


def test_spark_scans_the_row_group_that_has_it(
    new: Path, numbers: list[int], spark: SparkSession
) -> None:
    assert Spark(spark).scanned(new, f"id = {numbers[0]}") == ROWS // ROW_GROUPS


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a file in order, of many small pages and an index; and the same with filters."""
    folder = tmp_path_factory.mktemp("indexed")
    old, new = folder / "old.parquet", folder / "new.parquet"
    table = pa.table({"id": range(ROWS), "word": [f"w{n:05d}" for n in range(ROWS)]})
    pq.write_table(
        table,
        old,
        row_group_size=ROWS // ROW_GROUPS,
        use_dictionary=False,
        write_page_index=True,
        data_page_size=1024,
        write_batch_size=100,
    )
    report = bloomify(old, output=new, placement="column-chunk")
    assert (report.placement, report.fallback) == ("column-chunk", None)
    return old, new


@pytest.mark.parametrize("first", [0, 4_990, 7_777, 19_990])
def test_ranges_by_page_index_hold_the_same_rows(
    first: int, indexed: tuple[Path, Path], engine: Engine
) -> None:
    inside = f"id >= {first} AND id < {first + 20}"
    same = f"{inside} AND word >= 'w{first:05d}' AND word < 'w{first + 20:05d}'"
    expected = min(20, ROWS - first)
    for path in indexed:
        assert engine.counts(path, [inside, same]) == [expected, expected]


def test_datafusion_uses_the_page_index(indexed: tuple[Path, Path]) -> None:
    before, after = (DataFusion().metrics(path, "id = 7777") for path in indexed)
    total, left = after["page_index_pages_pruned"]
    assert 0 < left < total
    assert (total, left) == before["page_index_pages_pruned"]


def test_spark_uses_the_page_index(indexed: tuple[Path, Path], spark: SparkSession) -> None:
    before, after = (Spark(spark).scanned(path, "id = 7777") for path in indexed)
    assert 0 < after < ROWS // ROW_GROUPS
    assert after == before
