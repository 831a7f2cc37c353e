"""`bloomify_table` on a Delta table: tasks write files, the driver commits them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable

from parquet_bloomwriter import bloomify_table as bloomify_table_here
from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.spark import bloomify_table
from tests.support.delta_tables import actions, listing, make_table, rows_of

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def test_files_by_tasks_and_commits_by_the_driver(spark: SparkSession, tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", num_files=4, partition_by=["day"])
    before = rows_of(table)
    rows = bloomify_table(spark, table, ["id", "email"]).collect()
    assert [row.status for row in rows] == ["rewritten"] * 4
    assert sum(row.built for row in rows) == 8
    assert len(actions(table, 4, "add")) == 4
    assert rows_of(table) == before
    new = {os.fspath(table / row.output) for row in rows}
    assert {uri.removeprefix("file://") for uri in DeltaTable(os.fspath(table)).file_uris()} == new
    assert bloomify_table_here(table, ["id", "email"]).num_footers == 0
    assert bloomify_table(spark, table, ["id", "email"]).collect() == []
    assert bloomify_table(spark, table, ["id", "e*", "place"], exclude="place").collect() == []


def test_a_file_that_fails_is_told(spark: SparkSession, tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    [first, *_] = sorted(table.glob("*.parquet"))
    data = bytearray(first.read_bytes())
    data[4:40] = bytes(36)  # its footer can be read, its values cannot
    first.write_bytes(data)
    rows = {row.path: row for row in bloomify_table(spark, table, "id").collect()}
    assert rows[first.name].status in {"failed", "unchanged"}
    assert len([row for row in rows.values() if row.status == "rewritten"]) == 2


def test_what_makes_no_sense_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    before = listing(table)
    with pytest.raises(InvalidArgument, match="an output says nothing"):
        bloomify_table(spark, table, "id", output=tmp_path / "out")
    with pytest.raises(InvalidArgument, match="force says nothing"):
        bloomify_table(spark, table, "id", force=True)
    with pytest.raises(InvalidArgument, match="one number"):
        bloomify_table(spark, table, "id", ndv={"id": 3})
    assert listing(table) == before
