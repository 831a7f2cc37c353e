"""Commits that replace files while others commit: what still holds, and what is dropped."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from parquet_bloomwriter.delta import commit as module
from parquet_bloomwriter.delta.actions import Add
from parquet_bloomwriter.delta.commit import AddReplacement, replace_files
from tests.support.delta_commits import (
    VECTOR,
    add_by_hand,
    data_files,
    open_table,
    protocol_with,
    replacements_of,
)
from tests.support.delta_tables import (
    actions,
    append,
    rows_by_duckdb,
    rows_of,
    versions,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


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


@pytest.mark.parametrize(
    ("meddle", "reasons", "when"),
    [
        *((*one, "before it is tried") for one in OTHERS),
        *((*one, "when it is tried") for one in OTHERS[::3]),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
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
    one = AddReplacement(tagged, {**one.new, "tags": {"bloomify": "new", "same": "x"}})
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
