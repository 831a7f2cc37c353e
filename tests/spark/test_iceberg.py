"""`bloomify_table` on an Iceberg table: tasks write files, the driver commits them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from parquet_bloomwriter import bloomify_table as bloomify_table_here
from parquet_bloomwriter import inspect, verify
from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.spark import bloomify_table
from tests.iceberg.conftest import catalog, make_table
from tests.support.delta_real import bag
from tests.support.iceberg_commits import name_of
from tests.support.iceberg_deletes import delete_positions, live_entries
from tests.support.iceberg_readers import by_specification

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyiceberg.table import Table
    from pyspark.sql import SparkSession

__all__ = ["catalog", "make_table"]


def test_files_by_tasks_and_commits_by_the_driver(
    spark: SparkSession, make_table: Callable[..., Table]
) -> None:
    table = make_table(files=4)
    kept = live_entries(table)[0].data_file.file_path
    delete_positions(table, {kept: [0]})
    before = bag(by_specification(table))
    rows = bloomify_table(spark, name_of(table), ["id", "name"]).collect()
    assert sorted(row.status for row in rows) == ["kept", *["rewritten"] * 3]
    (held,) = (row for row in rows if row.status == "kept")
    assert (held.path, held.output) == (kept.removeprefix("file://"), None)
    assert "deletes" in held.error
    assert sum(row.built for row in rows) == 6
    assert bag(by_specification(table.refresh())) == before
    new = {row.output for row in rows if row.output}
    live = {one.data_file.file_path.removeprefix("file://") for one in live_entries(table)}
    assert live == {*new, held.path}
    for path in new:
        assert verify(path).passed
        assert [len(column.filters) for column in inspect(path).columns] == [1, 1]
    snapshot = table.metadata.current_snapshot_id
    assert bloomify_table_here(name_of(table), ["id", "name"]).commits == ()
    again = bloomify_table(spark, name_of(table), ["id", "name"]).collect()
    assert [row.status for row in again] == ["kept"]
    assert table.refresh().metadata.current_snapshot_id == snapshot


def test_a_branch_alone(spark: SparkSession, make_table: Callable[..., Table]) -> None:
    table = make_table(files=2)
    main = table.metadata.current_snapshot_id
    assert main is not None
    table.manage_snapshots().create_branch(main, "audit").commit()
    rows = bloomify_table(spark, name_of(table), "id", branch="audit").collect()
    assert [row.status for row in rows] == ["rewritten"] * 2
    refs = table.refresh().metadata.refs
    assert refs["main"].snapshot_id == main
    assert refs["audit"].snapshot_id != main


def test_what_makes_no_sense_is_refused(
    spark: SparkSession, make_table: Callable[..., Table], tmp_path: Path
) -> None:
    table = make_table(files=1)
    name, before = name_of(table), table.metadata_location
    with pytest.raises(InvalidArgument, match="an output says nothing"):
        bloomify_table(spark, name, "id", output=tmp_path / "out")
    with pytest.raises(InvalidArgument, match="force says nothing"):
        bloomify_table(spark, name, "id", force=True)
    (tmp_path / "plain").mkdir()
    with pytest.raises(InvalidArgument, match="no branches"):
        bloomify_table(spark, tmp_path / "plain", "id", branch="audit")
    assert table.refresh().metadata_location == before
