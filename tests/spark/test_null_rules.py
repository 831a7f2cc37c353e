"""Conditions that are null for some rows: the verbs that read return the rows of Spark SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from parquet_bloomwriter import bloomify, dataset, iter_batches, read_table, scan_polars

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

TABLES = [
    pa.table(
        {
            "n": range(8),
            "a": pa.array([1, None, 3, 4, None, 6, 7, 8], pa.int64()),
            "b": pa.array([2, 2, None, 4, None, 0, -7, 8], pa.int64()),
            "s": ["x", "yy", None, "zz", "", "xx", None, "q"],
            "l": pa.array([[1], None, [], [None], [2, None], [1, 2], None, [3]]),
        }
    ),
    pa.table(
        {
            "n": range(8, 11),
            "a": pa.array([None] * 3, pa.int64()),
            "b": pa.array([2, None, 4], pa.int64()),
            "s": pa.array([None] * 3, pa.string()),
            "l": pa.array([[], [], None], pa.list_(pa.int64())),
        }
    ),
]
CONDITIONS = [
    *("a = 1", "NOT (a = 1)", "a <> 1", "NOT (a <> 1)", "a > 3 OR b = 2", "NOT (a > 3 OR b = 2)"),
    *("a IN (1, 4)", "a NOT IN (1, 4)", "a IN (1, NULL)", "a NOT IN (1, NULL)", "a IN (NULL)"),
    *("NOT (a IN (1, NULL))", "NOT (a NOT IN (1, NULL))", "NOT (a IN (NULL) OR b = 4)"),
    *("a = NULL", "NOT (a = NULL)", "a IS NULL", "NOT (a IS NULL)", "a IS NULL AND b IS NULL"),
    *("a = b", "NOT (a = b)", "a <> b", "a IS DISTINCT FROM b", "a IS NOT DISTINCT FROM b"),
    *("a IS NOT DISTINCT FROM NULL", "a IS DISTINCT FROM 1", "NOT (a IS DISTINCT FROM 1)"),
    *("a + b = 3", "NOT (a + b = 3)", "a * 2 > b", "NOT (a * 2 > b)", "(a + b) IS NULL"),
    *("coalesce(a, b) = 2", "NOT (coalesce(a, b) = 2)", "abs(b) = 7", "NOT (abs(b) = 7)"),
    *("length(s) = 2", "NOT (length(s) = 2)", "upper(s) = 'XX'", "NOT (upper(s) = 'XX')"),
    *(
        "s LIKE 'x%'",
        "s NOT LIKE 'x%'",
        "NOT (s LIKE 'x%')",
        "s = ''",
        "s <> ''",
        "s IN ('x', NULL)",
    ),
    *("a BETWEEN 2 AND 6", "a NOT BETWEEN 2 AND 6", "a BETWEEN NULL AND 6", "a BETWEEN b AND 8"),
    *("NOT (a BETWEEN NULL AND 6)", "a = 1 AND NOT (b = 1)", "NOT (a = 1 AND b = 2)"),
    *("array_contains(l, 1)", "NOT array_contains(l, 1)", "array_contains(l, 3) OR a = 1"),
    *("NOT (array_contains(l, 1) OR a = 4)", "l IS NULL", "NOT (array_contains(l, 2) AND b = 0)"),
]
BY_POLARS = [
    *("a = 1", "NOT (a = 1)", "a <> 1", "a > 3 OR b = 2", "NOT (a > 3 OR b = 2)", "a IN (1, 4)"),
    *("a NOT IN (1, 4)", "a IS NULL", "a = b", "NOT (a = b)", "a + b = 3", "NOT (a + b = 3)"),
    *("coalesce(a, b) = 2", "NOT (abs(b) = 7)", "NOT (a = 1 AND b = 2)", "a NOT BETWEEN 2 AND 6"),
]


def test_rows_are_those_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    for number, table in enumerate(TABLES):
        path = tmp_path / f"{number}.parquet"
        pq.write_table(table, path, row_group_size=3)
        bloomify(path, ["a", "b", "s", "l.list.element"])
    spark.read.parquet(str(tmp_path)).createOrReplaceTempView("null_rules")
    counts = ", ".join(f"collect_list(n) FILTER (WHERE {one})" for one in CONDITIONS)
    (row,) = spark.sql(f"SELECT {counts} FROM null_rules").collect()  # noqa: S608
    expected = {one: sorted(found) for one, found in zip(CONDITIONS, row, strict=True)}
    for condition, rows in expected.items():
        read = read_table(tmp_path, filters=condition)["n"].to_pylist()
        assert sorted(read) == rows, condition
        batches = iter_batches(tmp_path, filters=condition)
        assert sorted(n for one in batches for n in one["n"].to_pylist()) == rows, condition
        assert dataset(tmp_path, filters=condition).count_rows() == len(rows), condition
    frame = scan_polars(tmp_path)
    for condition in BY_POLARS:
        found = frame.filter(pl.sql_expr(condition)).collect()["n"].to_list()
        assert sorted(found) == expected[condition], condition
    same = read_table(tmp_path, filters="a <=> b")["n"].to_pylist()
    assert sorted(same) == expected["a IS NOT DISTINCT FROM b"]
