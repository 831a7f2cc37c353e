"""Commits that replace files or set properties: what their entries say, and what readers see."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pyarrow as pa
from deltalake import DeltaTable

from parquet_bloomwriter.delta import commit as module
from parquet_bloomwriter.delta.actions import Add
from parquet_bloomwriter.delta.commit import new_add, replace_files, set_properties
from tests.support.delta_commits import (
    VECTOR,
    active_files,
    check_committed,
    open_table,
    replacements_of,
)
from tests.support.delta_tables import (
    actions,
    append,
    entry,
    make_table,
    rows_by_duckdb,
    rows_of,
    versions,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_what_an_entry_says(table: Path) -> None:
    snapshot, before = open_table(table), rows_of(table)
    replacements = replacements_of(snapshot)
    committed = replace_files(
        snapshot,
        replacements,
        operation_parameters={"auto": "false", "bloomify.add": '["`id`"]'},
        metrics={"numFilters": 3},
        attempt="attempt-1",
        engine_info="tests/1",
    )
    check_committed(table, before, committed)
    assert (committed.version, committed.kept) == (3, tuple(replacements))
    assert committed.dropped == ()
    lines = entry(table, 3)
    assert [next(iter(one)) for one in lines] == ["commitInfo", *["remove"] * 3, *["add"] * 3]
    info = lines[0]["commitInfo"]
    stamp = info.pop("timestamp")
    assert abs(stamp - time.time() * 1000) < 60_000
    assert info == {
        "operation": "OPTIMIZE",
        "operationParameters": {
            "predicate": "[]",
            "zOrderBy": "[]",
            "clusterBy": "[]",
            "auto": "false",
            "bloomify.add": '["`id`"]',
        },
        "readVersion": 2,
        "isolationLevel": "SnapshotIsolation",
        "isBlindAppend": False,
        "operationMetrics": {
            "numAddedFiles": "3",
            "numRemovedFiles": "3",
            "numAddedBytes": str(sum(one.new["size"] for one in replacements)),
            "numRemovedBytes": str(sum(one.old.size for one in replacements)),
            "numFilters": "3",
        },
        "engineInfo": "tests/1",
        "txnId": "attempt-1",
    }
    for one, remove in zip(replacements, actions(table, 3, "remove"), strict=True):
        assert remove.pop("deletionTimestamp") == stamp
        assert remove == {
            "path": one.old.path,
            "dataChange": False,
            "extendedFileMetadata": True,
            "partitionValues": {},
            "size": one.old.size,
            "stats": one.old.stats,
        }


def test_an_add_and_a_remove_keep_what_the_file_had(tmp_path: Path) -> None:
    path = make_table(tmp_path / "t", num_files=1, rows=50, partition_by=["day"])
    snapshot = open_table(path)
    [file] = snapshot.files.values()
    special = {
        **file.raw,
        "partitionValues": {"day": None},
        "deletionVector": VECTOR,
        "tags": {"INSERTION_TIME": "7", "other": "x"},
        "baseRowId": 100,
        "defaultRowCommitVersion": 4,
        "clusteringProvider": "liquid",
        "a field of later": {"deep": [1, None]},
    }
    old = Add(special)
    now = 1_700_000_000_000
    new = new_add(old, uri="n.parquet", size=9, modified_ms=now)
    own = {"path": "n.parquet", "size": 9, "modificationTime": now, "dataChange": False}
    assert new == {**special, **own}
    assert new_add(old, uri="n.parquet", size=9, modified_ms=now, tags={"a": "b"})["tags"] == {
        "a": "b"
    }
    assert "tags" not in new_add(old, uri="n.parquet", size=9, modified_ms=now, tags={})
    assert module.remove_of(old, now) == {
        "path": file.path,
        "deletionTimestamp": now,
        "dataChange": False,
        "extendedFileMetadata": True,
        **{name: special[name] for name in ("partitionValues", "size", "tags", "deletionVector")},
        **{name: special[name] for name in ("baseRowId", "defaultRowCommitVersion", "stats")},
    }


def test_history_time_travel_restore_vacuum_and_changes_go_on(tmp_path: Path) -> None:
    path = make_table(tmp_path / "t", rows=50, properties={"delta.enableChangeDataFeed": "true"})
    before = rows_of(path)
    old = active_files(path)
    committed = replace_files(open_table(path), replacements_of(open_table(path)))
    table = DeltaTable(os.fspath(path))
    newest = table.history(1)[0]
    assert (newest["operation"], newest["version"]) == ("OPTIMIZE", committed.version)
    assert rows_of(path, version=2) == before
    changes = pa.table(table.load_cdf(starting_version=committed.version).read_all())
    assert changes.num_rows == 0
    unused = table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=True)
    assert sorted(unused) == old
    table.restore(2)
    assert (rows_of(path), active_files(path)) == (before, old)
    replace_files(open_table(path), replacements_of(open_table(path)))
    table = DeltaTable(os.fspath(path))
    table.create_checkpoint()
    assert rows_of(path) == before
    append(path, 3, rows=50)
    assert len(rows_of(path)) == len(rows_by_duckdb(path)) == 200


def test_properties_are_set(table: Path) -> None:
    snapshot, before = open_table(table), rows_of(table)
    DeltaTable(os.fspath(table)).alter.set_table_properties({"delta.appendOnly": "true"})
    committed = set_properties(snapshot, {"bloomify.columns": "id, email"})
    check_committed(table, before, committed)
    found = DeltaTable(os.fspath(table))
    assert found.metadata().configuration == {
        "delta.appendOnly": "true",
        "bloomify.columns": "id, email",
    }
    assert found.history(1)[0]["operation"] == "SET TBLPROPERTIES"
    again = set_properties(committed.snapshot, {"bloomify.columns": "id, email"})
    assert again.version == committed.version == versions(table)[-1]
