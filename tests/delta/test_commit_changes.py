"""Commits on tables whose schema, protocol or features changed meanwhile."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from parquet_bloomwriter.delta.commit import replace_files
from parquet_bloomwriter.errors import (
    TableChanged,
    UnsupportedTable,
)
from tests.support.delta_commits import (
    add_by_hand,
    check_committed,
    data_files,
    metadata_with,
    open_table,
    protocol_with,
    replacements_of,
)
from tests.support.delta_tables import (
    actions,
    entry,
    rows_of,
    versions,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from parquet_bloomwriter.delta.snapshot import Snapshot


ROW_TRACKING = ["domainMetadata", "rowTracking"]


def changed_schema(snapshot: Snapshot) -> dict[str, Any]:
    schema = json.loads(snapshot.metadata.raw["schemaString"])
    schema["fields"].append({"name": "new", "type": "long", "nullable": True, "metadata": {}})
    return {"metaData": {**snapshot.metadata.raw, "schemaString": json.dumps(schema)}}


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (changed_schema, TableChanged, "changed the table's schema"),
        (
            lambda one: {"metaData": {**one.metadata.raw, "partitionColumns": ["day"]}},
            TableChanged,
            "changed the table's partitioning",
        ),
        (
            lambda one: {"metaData": {**one.metadata.raw, "id": "another"}},
            TableChanged,
            "changed the table's identity",
        ),
        (
            lambda one: metadata_with(one, **{"delta.columnMapping.mode": "name"}),
            TableChanged,
            "changed the table's column mapping",
        ),
        (
            lambda one: metadata_with(one, **{"delta.enableIcebergCompatV2": "true"}),
            UnsupportedTable,
            "enableIcebergCompatV2",
        ),
        (lambda _: protocol_with("a feature of later"), UnsupportedTable, "a feature of later"),
    ],
)
def test_changes_that_end_a_run(
    table: Path, change: Callable[[Snapshot], dict[str, Any]], error: type[Exception], words: str
) -> None:
    snapshot = open_table(table)
    replacements = replacements_of(snapshot)
    files = data_files(table)
    with pytest.raises(error, match=words):
        replace_files(
            snapshot, replacements, on_attempt=lambda _: add_by_hand(snapshot, change(snapshot))
        )
    assert versions(table)[-1] == 3
    assert data_files(table) == files


@pytest.mark.parametrize(
    "change",
    [
        lambda one: metadata_with(one, **{"delta.appendOnly": "true", "x": "y"}),
        lambda one: {"metaData": {**one.metadata.raw, "description": "new", "name": "n"}},
        lambda _: protocol_with("appendOnly", "changeDataFeed"),
    ],
)
def test_changes_that_do_not_matter(
    table: Path, change: Callable[[Snapshot], dict[str, Any]]
) -> None:
    snapshot = open_table(table)
    replacements, before = replacements_of(snapshot), rows_of(table)
    tried: list[int] = []

    def meddle(version: int) -> None:
        if not tried:
            add_by_hand(snapshot, change(snapshot))
        tried.append(version)

    committed = replace_files(snapshot, replacements, on_attempt=meddle)
    assert tried == [3, 4]
    check_committed(table, before, committed)
    assert committed.dropped == ()


def test_a_table_with_an_unknown_feature_is_refused(table: Path) -> None:
    add_by_hand(open_table(table), protocol_with("a feature of later"))
    snapshot = open_table(table)
    with pytest.raises(UnsupportedTable, match="a feature of later"):
        replace_files(snapshot, replacements_of(snapshot))


def with_in_commit_timestamps(path: Path, stamp: int) -> Snapshot:
    """Switch in-commit timestamps on, at a time."""
    snapshot = open_table(path)
    info = {"commitInfo": {"timestamp": 1, "inCommitTimestamp": stamp, "operation": "X"}}
    on = metadata_with(snapshot, **{"delta.enableInCommitTimestamps": "true"})
    add_by_hand(snapshot, info, protocol_with("inCommitTimestamp"), on, info=False)
    return open_table(path)


@pytest.mark.parametrize("ahead_ms", [-(10**6), 10**9])
def test_in_commit_timestamps_grow_whatever_the_clock_says(table: Path, ahead_ms: int) -> None:
    stamp = int(time.time() * 1000) + ahead_ms
    snapshot, before = with_in_commit_timestamps(table, stamp), rows_of(table)
    replacements = replacements_of(snapshot)
    stamps: list[int] = []

    def meddle(_: int) -> None:
        if not stamps:
            stamps.append(stamp + 10**10)
            info = {"commitInfo": {"inCommitTimestamp": stamps[0], "operation": "X"}}
            add_by_hand(snapshot, info, {"txn": {"appId": "a", "version": 1}}, info=False)

    first = replace_files(snapshot, replacements[:1])
    info = entry(table, first.version)[0]["commitInfo"]
    assert list(info)[:2] == ["timestamp", "inCommitTimestamp"]
    expected = stamp + 1 if ahead_ms > 0 else info["timestamp"]
    assert info["inCommitTimestamp"] == info["timestamp"] == expected
    assert info["inCommitTimestamp"] > stamp
    snapshot = first.snapshot
    second = replace_files(snapshot, replacements[1:], on_attempt=meddle)
    info = entry(table, second.version)[0]["commitInfo"]
    assert info["inCommitTimestamp"] == stamps[0] + 1
    check_committed(table, before, second)


def adds_with_row_ids(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Return an `add` for each file, as it is when the table tracks rows."""
    return [
        {
            "add": {
                **one.raw,
                "baseRowId": 100 * n,
                "defaultRowCommitVersion": n,
                "dataChange": False,
            }
        }
        for n, one in enumerate(snapshot.files.values())
    ]


def test_row_ids_are_carried_over(table: Path) -> None:
    snapshot = open_table(table)
    adds = adds_with_row_ids(snapshot)
    high = {"domain": "delta.rowTracking", "configuration": '{"rowIdHighWaterMark":300}'}
    features = protocol_with(*ROW_TRACKING)
    on = metadata_with(snapshot, **{"delta.enableRowTracking": "true"})
    mark = {"domainMetadata": {**high, "removed": False}}
    add_by_hand(snapshot, features, on, mark, *adds)
    snapshot = open_table(table)
    committed = replace_files(snapshot, replacements_of(snapshot))
    found = actions(table, committed.version, "add")
    assert [one["baseRowId"] for one in found] == [0, 100, 200]
    assert [one["defaultRowCommitVersion"] for one in found] == [0, 1, 2]
    info = entry(table, committed.version)[0]["commitInfo"]
    assert info["tags"] == {"delta.rowTracking.preserved": "true"}
    suspended = metadata_with(
        committed.snapshot,
        **{"delta.enableRowTracking": "false", "delta.rowTrackingSuspended": "true"},
    )
    add_by_hand(committed.snapshot, suspended)
    snapshot = open_table(table)
    committed = replace_files(snapshot, replacements_of(snapshot))
    assert all("baseRowId" not in one for one in actions(table, committed.version, "add"))
    assert all("baseRowId" in one for one in actions(table, committed.version, "remove"))
    assert "tags" not in entry(table, committed.version)[0]["commitInfo"]


def test_a_file_without_row_ids_stays(table: Path) -> None:
    """Row tracking is switched on meanwhile, and one file has no ids yet."""
    snapshot = open_table(table)
    adds = adds_with_row_ids(snapshot)
    replacements = replacements_of(snapshot)
    meddled: list[int] = []

    def meddle(_: int) -> None:
        if not meddled:
            meddled.append(add_by_hand(snapshot, protocol_with(*ROW_TRACKING), *adds[1:]))

    with pytest.raises(UnsupportedTable, match="no row ids"):
        replace_files(snapshot, replacements, on_attempt=meddle)
    assert versions(table)[-1] == meddled[0]
