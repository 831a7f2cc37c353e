"""Commits that replace files: what they say, and what they make of what others committed."""

from __future__ import annotations

import json
import os
import threading
import time
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from parquet_bloomwriter.delta import commit as module
from parquet_bloomwriter.delta import snapshot as snapshots
from parquet_bloomwriter.delta.actions import Add
from parquet_bloomwriter.delta.commit import Replacement, new_add, replace_files, set_properties
from parquet_bloomwriter.delta.place.local import LocalPlace
from parquet_bloomwriter.errors import (
    OutcomeUnknown,
    TableChanged,
    TableProblem,
    UnsupportedTable,
)
from tests.support.delta_commits import (
    active_files,
    add_by_hand,
    data_files,
    log_of,
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
    from collections.abc import Callable
    from pathlib import Path

    from parquet_bloomwriter.delta.commit import Committed
    from parquet_bloomwriter.delta.snapshot import Snapshot

VECTOR = {
    "storageType": "i",
    "pathOrInlineDv": "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L",
    "sizeInBytes": 44,
    "cardinality": 6,
}
"""Rows 3, 4, 7, 11, 18 and 29."""

ROW_TRACKING = ["domainMetadata", "rowTracking"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table of three files, versions 0 to 2."""
    return make_table(tmp_path / "t", rows=50)


def metadata_with(snapshot: Snapshot, **properties: str) -> dict[str, Any]:
    """Return the table's metadata with more properties."""
    now = {**snapshot.metadata.properties, **properties}
    return {"metaData": {**snapshot.metadata.raw, "configuration": now}}


def protocol_with(*features: str, reads: bool = False) -> dict[str, Any]:
    """Return a protocol with features."""
    return {
        "protocol": {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": list(features) if reads else [],
            "writerFeatures": list(features),
        }
    }


def check(path: Path, rows: list[str], committed: Committed, *, by_duckdb: bool = True) -> None:
    """Check that readers see these rows, and the snapshot the files that the log has."""
    assert rows_of(path) == rows
    if by_duckdb:
        assert len(rows_by_duckdb(path)) == len(rows)
    again = open_table(path, committed.version)
    assert committed.snapshot.files.keys() == again.files.keys()
    for key, file in committed.snapshot.files.items():
        assert dict(file.raw) == dict(again.files[key].raw)
    assert committed.snapshot.timestamp_ms == again.timestamp_ms


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
    check(table, before, committed)
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


# ------------------------------------------------------------ what others do meanwhile


def append_one(path: Path) -> None:
    append(path, 3, rows=50)


def delete_some(path: Path) -> None:
    DeltaTable(os.fspath(path)).delete("id = 60")


def delete_file(path: Path) -> None:
    DeltaTable(os.fspath(path)).delete("day = 1")


def delete_all(path: Path) -> None:
    DeltaTable(os.fspath(path)).delete()


def update(path: Path) -> None:
    DeltaTable(os.fspath(path)).update({"email": "'x'"}, predicate="id = 10")


def merge(path: Path) -> None:
    source = pa.table({"id": pa.array([10, 1000], pa.int64())})
    (
        DeltaTable(os.fspath(path))
        .merge(source, predicate="t.id = s.id", source_alias="s", target_alias="t")
        .when_matched_update({"email": "'merged'"})
        .when_not_matched_insert({"id": "s.id"})
        .execute()
    )


def compact(path: Path) -> None:
    DeltaTable(os.fspath(path)).optimize.compact()


def checkpoint(path: Path) -> None:
    DeltaTable(os.fspath(path)).create_checkpoint()


def vacuum(path: Path) -> None:
    table = DeltaTable(os.fspath(path))
    table.vacuum(retention_hours=24 * 30, dry_run=False)


def many_appends(path: Path) -> None:
    for number in range(3, 8):
        append(path, number, rows=50)


def second_committer(path: Path) -> None:
    snapshot = open_table(path)
    assert replace_files(snapshot, replacements_of(snapshot)).dropped == ()


def second_committer_of_some(path: Path) -> None:
    snapshot = open_table(path)
    assert replace_files(snapshot, replacements_of(snapshot)[1:]).dropped == ()


def vector(path: Path) -> None:
    """Delete six rows of the second file by a deletion vector."""
    snapshot = open_table(path)
    file = list(snapshot.files.values())[1]
    remove = {**module.remove_of(file, 1), "dataChange": True}
    features = protocol_with("deletionVectors", reads=True)
    add = {**file.raw, "deletionVector": VECTOR, "dataChange": True}
    add_by_hand(snapshot, features, {"remove": remove}, {"add": add})


def set_property(path: Path) -> None:
    DeltaTable(os.fspath(path)).alter.set_table_properties({"delta.appendOnly": "true"})


REMOVED, ROWS_DELETED = "another program removed it", "another program deleted rows of it"

OTHERS: list[tuple[Callable[[Path], None], list[str]]] = [
    (append_one, []),
    (many_appends, []),
    (delete_some, [REMOVED]),
    (delete_file, [REMOVED]),
    (delete_all, [REMOVED] * 3),
    (update, [REMOVED]),
    (merge, [REMOVED]),
    (compact, [REMOVED] * 3),
    (checkpoint, []),
    (vacuum, []),
    (second_committer, [REMOVED] * 3),
    (second_committer_of_some, [REMOVED] * 2),
    (vector, [ROWS_DELETED]),
    (set_property, []),
]


@pytest.mark.parametrize("when", ["before it is tried", "when it is tried"])
@pytest.mark.parametrize(
    ("meddle", "reasons"), OTHERS, ids=lambda one: getattr(one, "__name__", "")
)
def test_others_commit_meanwhile(
    table: Path, meddle: Callable[[Path], None], reasons: list[str], when: str
) -> None:
    snapshot = open_table(table)
    replacements = replacements_of(snapshot)
    rows: list[str] = []

    def act(_: int = 0) -> None:
        if not rows:
            meddle(table)
            rows.extend(rows_seen(table) or ["none"])

    if when == "before it is tried":
        act()
    files = data_files(table)
    committed = replace_files(snapshot, replacements, on_attempt=act)
    assert rows_seen(table) == (rows if rows != ["none"] else [])
    assert len(rows_by_duckdb(table)) == len(rows_seen(table))
    assert [why for _, why in committed.dropped] == reasons
    assert len(committed.kept) == 3 - len(reasons)
    if committed.kept:
        assert versions(table)[-1] == committed.version
        assert len(actions(table, committed.version, "add")) == len(committed.kept)
    assert committed.snapshot.files.keys() == open_table(table).files.keys()
    assert data_files(table) >= files


def rows_seen(path: Path) -> list[str]:
    """Return the rows of a table as deltalake or, where there are vectors, DuckDB reads them."""
    has_vectors = any(key.deletion_vector for key in open_table(path).files)
    return rows_by_duckdb(path) if has_vectors else rows_of(path)


def test_a_file_with_a_vector_is_replaced(table: Path) -> None:
    vector(table)
    snapshot, before = open_table(table), rows_by_duckdb(table)
    assert len(before) == 144
    committed = replace_files(snapshot, replacements_of(snapshot))
    assert committed.dropped == ()
    assert rows_by_duckdb(table) == before
    assert [
        one["deletionVector"] for one in actions(table, 4, "add") if "deletionVector" in one
    ] == [VECTOR]
    assert [
        one["deletionVector"] for one in actions(table, 4, "remove") if "deletionVector" in one
    ] == [VECTOR]


def test_what_an_entry_has_got_meanwhile_is_kept(table: Path) -> None:
    """Another program commits the same file again, with tags, row ids and better statistics."""
    snapshot = open_table(table)
    file = next(iter(snapshot.files.values()))
    tagged = Add({**file.raw, "tags": {"bloomify": "old", "gone": "x", "same": "x"}})
    add_by_hand(snapshot, {"add": {**tagged.raw, "dataChange": False}})
    snapshot = open_table(table)
    tagged = snapshot.files[file.key]
    [one] = replacements_of(snapshot, [tagged])
    one = Replacement(tagged, {**one.new, "tags": {"bloomify": "new", "same": "x"}})
    theirs = {
        **tagged.raw,
        "dataChange": False,
        "tags": {"bloomify": "old", "gone": "x", "same": "y", "more": "z"},
        "baseRowId": 5,
        "stats": '{"numRecords":50}',
    }
    add_by_hand(snapshot, {"add": theirs})
    committed = replace_files(snapshot, [one])
    [new] = actions(table, committed.version, "add")
    assert new["tags"] == {"bloomify": "new", "same": "y", "more": "z"}
    assert (new["baseRowId"], new["stats"]) == (5, '{"numRecords":50}')
    assert (new["path"], new["dataChange"]) == (one.new["path"], False)


def test_nothing_is_committed_where_nothing_holds(table: Path) -> None:
    snapshot = open_table(table)
    replacements = replacements_of(snapshot)
    delete_all(table)
    committed = replace_files(snapshot, replacements)
    assert (committed.version, committed.kept) == (3, ())
    assert versions(table)[-1] == 3
    assert replace_files(snapshot, []).version == 3


def test_a_new_file_that_is_in_the_table_already(table: Path) -> None:
    snapshot = open_table(table)
    replacements = replacements_of(snapshot)
    add_by_hand(snapshot, {"add": {**replacements[0].new, "dataChange": True}})
    committed = replace_files(snapshot, replacements)
    assert [why for _, why in committed.dropped] == ["the new file is in the table already"]


# ------------------------------------------------------------ schema, protocol, features


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
    check(table, before, committed)
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
    check(table, before, second)


def test_row_ids_are_carried_over(table: Path) -> None:
    snapshot = open_table(table)
    adds = [
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
    adds = [
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
    replacements = replacements_of(snapshot)
    meddled: list[int] = []

    def meddle(_: int) -> None:
        if not meddled:
            meddled.append(add_by_hand(snapshot, protocol_with(*ROW_TRACKING), *adds[1:]))

    with pytest.raises(UnsupportedTable, match="no row ids"):
        replace_files(snapshot, replacements, on_attempt=meddle)
    assert versions(table)[-1] == meddled[0]


# ------------------------------------------------------------ answers that are lost, and damage


class Losing(LocalPlace):
    """A disk that may not say what became of an entry."""

    def __init__(self, root: str, *, is_written: bool) -> None:
        super().__init__(root)
        self.is_written = is_written

    def create_entry(self, name: str, data: bytes, *, attempt: str) -> bool:
        """See `TablePlace`."""
        if self.is_written:
            super().create_entry(name, data, attempt=attempt)
        raise OutcomeUnknown("the store did not answer", path=name, remedy="It sees what is there.")


@pytest.mark.parametrize("is_written", [False, True])
def test_an_outcome_that_is_not_known(table: Path, *, is_written: bool) -> None:
    from dataclasses import replace

    snapshot, before = open_table(table), rows_of(table)
    replacements = replacements_of(snapshot)
    files = data_files(table)
    losing = replace(snapshot, place=Losing(os.fspath(table), is_written=is_written))
    with pytest.raises(OutcomeUnknown, match='version 3 has the txnId "attempt-1"') as caught:
        replace_files(losing, replacements, attempt="attempt-1")
    assert vars(caught.value)["version"] == 3
    assert vars(caught.value)["attempt"] == "attempt-1"
    assert data_files(table) == files
    assert rows_of(table) == before
    append(table, 3, rows=50)
    committed = replace_files(snapshot, replacements, attempt="attempt-1")
    assert committed.version == (3 if is_written else 4)
    assert (len(committed.kept), committed.dropped) == (3, ())
    assert len(rows_of(table)) == 200
    assert versions(table) == list(range(5))


@pytest.mark.parametrize("found", [b"", b'{"commitInfo":{}}\n{"add":{"pat'])
def test_an_entry_that_is_filled_after_it_was_created(
    table: Path, monkeypatch: pytest.MonkeyPatch, found: bytes
) -> None:
    monkeypatch.setattr(snapshots, "_WHOLE_AFTER_S", (0.05,) * 100)
    snapshot, before = open_table(table), rows_of(table)
    replacements = replacements_of(snapshot)
    third = log_of(snapshot) / f"{3:020}.json"
    third.write_bytes(found)
    whole = json.dumps({"commitInfo": {"operation": "X"}}) + "\n"
    timer = threading.Timer(0.2, lambda: third.write_text(whole))
    timer.start()
    committed = replace_files(snapshot, replacements)
    timer.join()
    assert committed.version == 4
    check(table, before, committed)


@pytest.mark.parametrize("found", [b"", b"\n", b'{"commitInfo":{}}\n{"add":{"pat'])
def test_an_entry_that_stays_torn(
    table: Path, monkeypatch: pytest.MonkeyPatch, found: bytes
) -> None:
    monkeypatch.setattr(snapshots, "_WHOLE_AFTER_S", (0.0, 0.0))
    snapshot = open_table(table)
    replacements = replacements_of(snapshot)
    third = log_of(snapshot) / f"{3:020}.json"
    third.write_bytes(found)
    files = data_files(table)
    with pytest.raises(TableProblem):
        replace_files(snapshot, replacements)
    assert versions(table)[-1] == 3
    assert third.read_bytes() == found
    assert data_files(table) == files


def test_entries_that_were_cleaned_up_meanwhile(table: Path) -> None:
    """Entry 3 could be created, and nobody would ever read it."""
    snapshot = open_table(table)
    replacements = replacements_of(snapshot)
    many_appends(table)
    DeltaTable(os.fspath(table)).delete("day = 1")
    checkpoint(table)
    for version in range(8):
        (log_of(snapshot) / f"{version:020}.json").unlink()
    before = rows_of(table)
    committed = replace_files(snapshot, replacements)
    assert (committed.version, len(committed.kept)) == (9, 2)
    assert [why for _, why in committed.dropped] == [REMOVED]
    check(table, before, committed)


def test_a_log_that_went_away(table: Path) -> None:
    snapshot = open_table(table)
    for version in range(3):
        (log_of(snapshot) / f"{version:020}.json").unlink()
    with pytest.raises(TableProblem, match="not in the log any more"):
        replace_files(snapshot, [])


def test_others_that_are_always_quicker(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_TRIES", 5)
    snapshot = open_table(table)
    replacements = replacements_of(snapshot)
    tried: list[int] = []

    def meddle(version: int) -> None:
        tried.append(version)
        add_by_hand(snapshot, {"txn": {"appId": "a", "version": version}})

    with pytest.raises(TableProblem, match="committed 5 times"):
        replace_files(snapshot, replacements, on_attempt=meddle)
    assert tried == [3, 4, 5, 6, 7]


# ------------------------------------------------------------ properties


def test_properties_are_set(table: Path) -> None:
    snapshot, before = open_table(table), rows_of(table)
    DeltaTable(os.fspath(table)).alter.set_table_properties({"delta.appendOnly": "true"})
    committed = set_properties(snapshot, {"bloomify.columns": "id, email"})
    check(table, before, committed)
    found = DeltaTable(os.fspath(table))
    assert found.metadata().configuration == {
        "delta.appendOnly": "true",
        "bloomify.columns": "id, email",
    }
    assert found.history(1)[0]["operation"] == "SET TBLPROPERTIES"
    again = set_properties(committed.snapshot, {"bloomify.columns": "id, email"})
    assert again.version == committed.version == versions(table)[-1]
