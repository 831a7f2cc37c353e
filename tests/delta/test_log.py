"""Which files make up a version: any mix of entries and checkpoints is the same table."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parquet_bloomwriter.delta.log import last_version
from parquet_bloomwriter.delta.place import place_of
from parquet_bloomwriter.delta.snapshot import advance, read_commit, read_snapshot
from parquet_bloomwriter.errors import InvalidArgument, TableProblem, UnsupportedTable
from tests.support import delta_log
from tests.support.delta_checkpoints import (
    KINDS,
    add,
    metadata,
    write_checkpoint,
    write_entry,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_bloomwriter.delta.snapshot import Snapshot
    from tests.support.delta_checkpoints import Kind

PROTOCOL: dict[str, Any] = {
    "minReaderVersion": 3,
    "minWriterVersion": 7,
    "readerFeatures": ["deletionVectors", "v2Checkpoint"],
    "writerFeatures": ["deletionVectors", "v2Checkpoint"],
}
VECTOR = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "sizeInBytes": 40}


def _files(snapshot: Snapshot) -> dict[tuple[str, str | None], dict[str, Any]]:
    return {tuple(key): dict(one.raw) for key, one in snapshot.files.items()}  # type: ignore[misc]


def _start(root: Path) -> None:
    write_entry(root, 0, [{"protocol": PROTOCOL}, {"metaData": metadata()}])


def _numbered(root: Path, last: int) -> None:
    """Write a table whose entry n adds the file fn."""
    _start(root)
    for version in range(1, last + 1):
        write_entry(root, version, [{"add": add(f"f{version}")}])


def _state(root: Path, version: int) -> list[dict[str, Any]]:
    found = delta_log.replay(root, version)
    assert found is not None
    tombstone = {"path": "long-gone", "deletionTimestamp": 1, "dataChange": True}
    return [
        {"protocol": found.protocol},
        {"metaData": found.metadata},
        {"txn": {"appId": "a", "version": 3}},
        {"remove": tombstone},
        *({"add": one} for one in found.files.values()),
    ]


def _checkpoint(root: Path, version: int, kind: Kind = "classic") -> list[Path]:
    return write_checkpoint(root, version, _state(root, version), kind)


def _remove_entries(root: Path, until: int) -> None:
    for version in range(until + 1):
        (root / "_delta_log" / f"{version:020}.json").unlink(missing_ok=True)


def _note(root: Path, text: str) -> None:
    (root / "_delta_log" / "_last_checkpoint").write_text(text)


_VECTORS = st.sampled_from([None, 1, 2])
_EXTRAS = st.fixed_dictionaries(
    {},
    optional={
        "tags": st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=2),
        "stats": st.just('{"numRecords":7}'),
        "baseRowId": st.integers(0, 9),
        "clusteringProvider": st.just("liquid"),
        "unheardOf": st.fixed_dictionaries(
            {}, optional={"a": st.integers(0, 9), "b": st.lists(st.text(max_size=2), max_size=2)}
        ),
        "partitionValues": st.sampled_from([{"day": None}, {"day": "2"}, {}]),
    },
)
_CHANGES = st.dictionaries(
    st.sampled_from(["a", "b", "c", "day=1/d%20e"]),
    st.tuples(st.sampled_from(["add", "remove", "vector"]), _VECTORS, _EXTRAS),
    max_size=4,
)


def _entry(
    active: dict[str, int | None], changes: dict[str, tuple[str, int | None, dict[str, Any]]]
) -> list[dict[str, Any]]:
    """Return the actions of a valid entry, and keep account of which files are active."""
    actions: list[dict[str, Any]] = []
    for path, (what, vector, extras) in changes.items():
        if path in active and (what == "remove" or active[path] != vector):
            before = _vector(active.pop(path))
            actions.append({"remove": {"path": path, "dataChange": True, **before}})
        if what != "remove":
            actions.append({"add": add(path, **_vector(vector), **extras)})
            active[path] = vector
    return actions


def _vector(number: int | None) -> dict[str, Any]:
    return {} if number is None else {"deletionVector": {**VECTOR, "offset": number}}


@settings(deadline=None, max_examples=12)
@given(
    st.lists(_CHANGES, min_size=1, max_size=8),
    st.lists(st.tuples(st.integers(0, 8), st.sampled_from(KINDS)), max_size=3),
    st.booleans(),
    st.sampled_from(["none", "true", "first", "ahead", "text", "list"]),
    st.data(),
)
def test_any_mix_is_the_same_table(
    history: Sequence[dict[str, Any]],
    checkpoints: Sequence[tuple[int, Kind]],
    cleans_up: bool,  # noqa: FBT001  drawn
    hint: str,
    data: st.DataObject,
) -> None:
    root = Path(tempfile.mkdtemp())
    try:
        _start(root)
        active: dict[str, int | None] = {}
        for version, changes in enumerate(history, 1):
            write_entry(root, version, _entry(active, changes))
        last = len(history)
        wanted = data.draw(st.integers(0, last))
        expected = {version: delta_log.replay(root, version) for version in (wanted, last)}
        there = [(min(version, last), kind) for version, kind in checkpoints]
        for version, kind in there:
            _checkpoint(root, version, kind)
        versions = [version for version, _ in there]
        if cleans_up and versions:
            _remove_entries(root, min(versions))
        _note_hint(root, hint, versions)
        for version, state in expected.items():
            assert state is not None
            if cleans_up and versions and version < min(versions):
                with pytest.raises(InvalidArgument, match="cannot be read any more"):
                    read_snapshot(place_of(root), version)
                continue
            found = read_snapshot(place_of(root), None if version == last else version)
            assert found.version == version
            assert _files(found) == state.files
            assert dict(found.metadata.raw) == state.metadata
        assert last_version(place_of(root)) == last
    finally:
        shutil.rmtree(root)


def _note_hint(root: Path, hint: str, versions: Sequence[int]) -> None:
    if hint == "ahead":
        _note(root, '{"version":4711,"size":1}')
    elif hint == "text":
        _note(root, '{"version":')
    elif hint == "list":
        _note(root, '["version"]')
    elif hint != "none" and versions:
        version = max(versions) if hint == "true" else min(versions)
        _note(root, json.dumps({"version": version, "size": 1}))


@settings(deadline=None, max_examples=10)
@given(st.lists(_CHANGES, min_size=1, max_size=8))
def test_advance_is_reading_the_next_version(history: Sequence[dict[str, Any]]) -> None:
    root = Path(tempfile.mkdtemp())
    try:
        _start(root)
        snapshot = read_snapshot(place_of(root))
        active: dict[str, int | None] = {}
        for version, changes in enumerate(history, 1):
            write_entry(root, version, _entry(active, changes))
            commit = read_commit(snapshot.place, version)
            assert commit is not None
            snapshot = advance(snapshot, commit)
            again = read_snapshot(place_of(root))
            assert snapshot.version == again.version
            assert _files(snapshot) == _files(again)
        assert read_commit(snapshot.place, len(history) + 1) is None
    finally:
        shutil.rmtree(root)


@pytest.mark.parametrize("kind", KINDS)
def test_checkpoints_of_every_kind(tmp_path: Path, kind: Kind) -> None:
    _numbered(tmp_path, 5)
    expected = read_snapshot(place_of(tmp_path))
    _checkpoint(tmp_path, 4, kind)
    _remove_entries(tmp_path, 4)
    found = read_snapshot(place_of(tmp_path))
    assert _files(found) == _files(expected)
    assert found.protocol == expected.protocol
    assert found.metadata == expected.metadata
    with pytest.raises(InvalidArgument, match=re.escape("that can be read: 4 to 5")):
        read_snapshot(place_of(tmp_path), 3)


def test_checkpoint_with_a_missing_part_is_ignored(tmp_path: Path) -> None:
    _numbered(tmp_path, 5)
    expected = read_snapshot(place_of(tmp_path))
    _checkpoint(tmp_path, 4, "parts")[1].unlink()
    _note(tmp_path, '{"version":4,"size":6,"parts":3}')
    assert _files(read_snapshot(place_of(tmp_path))) == _files(expected)
    _remove_entries(tmp_path, 4)
    with pytest.raises(TableProblem, match="begins with version 5, and has no complete checkpoint"):
        read_snapshot(place_of(tmp_path))


def test_missing_sidecar(tmp_path: Path) -> None:
    _numbered(tmp_path, 5)
    sidecar = _checkpoint(tmp_path, 4, "v2-sidecars")[0]
    sidecar.unlink()
    with pytest.raises(TableProblem, match=f"_sidecars/{sidecar.name} is missing"):
        read_snapshot(place_of(tmp_path))


@pytest.mark.parametrize("kind", ["classic", "v2-json"])
def test_torn_checkpoint(tmp_path: Path, kind: Kind) -> None:
    _numbered(tmp_path, 5)
    (path,) = _checkpoint(tmp_path, 4, kind)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(TableProblem, match=path.name):
        read_snapshot(place_of(tmp_path))


def test_gap_names_the_missing_version(tmp_path: Path) -> None:
    _numbered(tmp_path, 5)
    (tmp_path / "_delta_log" / f"{3:020}.json").unlink()
    with pytest.raises(TableProblem, match=r"lacks the entry of version 3, .* for version 5"):
        read_snapshot(place_of(tmp_path))
    assert read_snapshot(place_of(tmp_path), 2).version == 2
    with pytest.raises(InvalidArgument, match=re.escape("that can be read: 0 to 2")):
        read_snapshot(place_of(tmp_path), 3)


def test_version_that_is_not_there_yet(tmp_path: Path) -> None:
    _numbered(tmp_path, 5)
    _checkpoint(tmp_path, 4)
    _note(tmp_path, '{"version":4,"size":6}')
    with pytest.raises(InvalidArgument, match=r"version 6 .* is not there. .*read: 0 to 5"):
        read_snapshot(place_of(tmp_path), 6)
    for wrong in (-1, "1", 1.0):
        with pytest.raises(InvalidArgument, match="0 or more"):
            read_snapshot(place_of(tmp_path), cast("int", wrong))


def test_no_table(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="no Delta table here"):
        read_snapshot(place_of(tmp_path))
    (tmp_path / "_delta_log").mkdir()
    with pytest.raises(InvalidArgument, match="no Delta table here"):
        read_snapshot(place_of(tmp_path))
    with pytest.raises(InvalidArgument, match="no Delta table here"):
        last_version(place_of(tmp_path))


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('{"add":{"path":"f9","size":1', "line 2 of .* is no JSON"),
        ("[]", "line 2 of .* is no action"),
        ('{"add":[]}', "no object"),
        ('{"add":{"path":"f9","size":1}}', "without modificationTime"),
        ('{"remove":{"dataChange":true}}', "without path"),
        ('{"metaData":{"id":"x"}}', "without schemaString"),
    ],
)
def test_damaged_entry(tmp_path: Path, line: str, what: str) -> None:
    _numbered(tmp_path, 3)
    path = tmp_path / "_delta_log" / f"{2:020}.json"
    path.write_text('{"commitInfo":{}}\n' + line)
    with pytest.raises(TableProblem, match=what):
        read_snapshot(place_of(tmp_path))


def test_log_without_metadata(tmp_path: Path) -> None:
    write_entry(tmp_path, 0, [{"protocol": PROTOCOL}])
    with pytest.raises(TableProblem, match="names no metadata up to version 0"):
        read_snapshot(place_of(tmp_path))


def test_compacted_entries_change_nothing(tmp_path: Path) -> None:
    _numbered(tmp_path, 5)
    expected = _files(read_snapshot(place_of(tmp_path)))
    compacted = tmp_path / "_delta_log" / f"{2:020}.{4:020}.compacted.json"
    compacted.write_text("not looked at")
    assert _files(read_snapshot(place_of(tmp_path))) == expected


@pytest.mark.parametrize(
    ("added", "removed"),
    [
        ("a%20b", "a b"),
        ("./f", "f"),
        ("x/../f", "f"),
        ("day=1//f", "day=1/f"),
        ("/data/f", "file:/data/f"),
        ("file:///data/f", "file:/data/f"),
        ("file:///data/a%20b", "/data/a b"),
        ("S3://b/f", "s3://b/f"),
    ],
)
def test_spellings_of_one_path(tmp_path: Path, added: str, removed: str) -> None:
    _start(tmp_path)
    write_entry(tmp_path, 1, [{"add": add(added)}, {"add": add("other")}])
    assert {key.path for key in read_snapshot(place_of(tmp_path)).files} == {added, "other"}
    write_entry(tmp_path, 2, [{"remove": {"path": removed, "dataChange": True}}])
    for snapshot in (read_snapshot(place_of(tmp_path)), _advanced(tmp_path)):
        assert {key.path for key in snapshot.files} == {"other"}
    write_entry(tmp_path, 3, [{"add": add(removed)}])
    write_entry(tmp_path, 4, [{"add": add(added)}])
    for snapshot in (read_snapshot(place_of(tmp_path)), _advanced(tmp_path)):
        assert [key.path for key in snapshot.files] == ["other", added]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a%2520b", "a%20b"),
        ("f", "F"),
        ("s3://b/f", "s3://c/f"),
        ("s3://b/f", "f"),
        ("/f", "f"),
        ("a%ff", "a%fe"),
        ("day=1%3A2/f", "day=1%253A2/f"),
    ],
)
def test_paths_that_differ(tmp_path: Path, one: str, other: str) -> None:
    _start(tmp_path)
    write_entry(tmp_path, 1, [{"add": add(one)}, {"add": add(other)}])
    for snapshot in (read_snapshot(place_of(tmp_path)), _advanced(tmp_path)):
        assert [key.path for key in snapshot.files] == [one, other]
    write_entry(tmp_path, 2, [{"remove": {"path": other, "dataChange": True}}])
    for snapshot in (read_snapshot(place_of(tmp_path)), _advanced(tmp_path)):
        assert [key.path for key in snapshot.files] == [one]


def _advanced(root: Path) -> Snapshot:
    """Return the last version, reached entry by entry from the first."""
    snapshot = read_snapshot(place_of(root), 0)
    while commit := read_commit(snapshot.place, snapshot.version + 1):
        snapshot = advance(snapshot, commit)
    return snapshot


def test_file_that_one_entry_removes_and_adds_stays(tmp_path: Path) -> None:
    _numbered(tmp_path, 1)
    again = add("f1", size=2000)
    write_entry(tmp_path, 2, [{"add": again}, {"remove": {"path": "f1", "dataChange": False}}])
    assert _files(read_snapshot(place_of(tmp_path))) == {("f1", None): again}


def test_later_entry_of_a_file_wins(tmp_path: Path) -> None:
    _numbered(tmp_path, 3)
    again = add("f1", stats='{"numRecords":3}', tags={"x": "y"})
    write_entry(tmp_path, 4, [{"add": again}])
    found = _files(read_snapshot(place_of(tmp_path)))
    assert list(found) == [("f2", None), ("f3", None), ("f1", None)]
    assert found["f1", None] == again


def test_other_actions_are_kept_by_entries_and_ignored_by_snapshots(tmp_path: Path) -> None:
    _numbered(tmp_path, 1)
    others: list[dict[str, Any]] = [
        {"txn": {"appId": "a", "version": 1}},
        {"domainMetadata": {"domain": "d", "configuration": "{}", "removed": False}},
        {"cdc": {"path": "_change_data/x", "partitionValues": {}, "size": 1, "dataChange": False}},
        {"unheardOf": {"x": 1}},
    ]
    write_entry(tmp_path, 2, [{"commitInfo": {"operation": "WRITE"}}, *others])
    assert set(_files(read_snapshot(place_of(tmp_path)))) == {("f1", None)}
    commit = read_commit(place_of(tmp_path), 2)
    assert commit is not None
    assert list(commit.others) == others
    assert commit.info == {"operation": "WRITE"}


def test_protocol_that_changes(tmp_path: Path) -> None:
    _numbered(tmp_path, 1)
    snapshot = read_snapshot(place_of(tmp_path))
    features = [*PROTOCOL["readerFeatures"], "someFeature"]
    newer = {**PROTOCOL, "readerFeatures": features, "writerFeatures": features}
    write_entry(tmp_path, 2, [{"protocol": newer}])
    with pytest.raises(UnsupportedTable, match="someFeature"):
        read_snapshot(place_of(tmp_path))
    commit = read_commit(snapshot.place, 2)
    assert commit is not None
    with pytest.raises(UnsupportedTable, match="someFeature"):
        advance(snapshot, commit)
    assert read_snapshot(place_of(tmp_path), 1).version == 1


@pytest.mark.parametrize("has_checkpoint", [False, True])
def test_in_commit_timestamp(tmp_path: Path, has_checkpoint: bool) -> None:  # noqa: FBT001  drawn
    properties = {"delta.enableInCommitTimestamps": "true"}
    info: dict[str, Any] = {"commitInfo": {"inCommitTimestamp": 1000}}
    first = [{"metaData": metadata(configuration=properties)}, {"protocol": PROTOCOL}]
    write_entry(tmp_path, 0, [info, *first])
    write_entry(tmp_path, 1, [{"commitInfo": {"inCommitTimestamp": 1001}}])
    if has_checkpoint:
        _checkpoint(tmp_path, 1)
    assert read_snapshot(place_of(tmp_path)).timestamp_ms == 1001
    assert read_snapshot(place_of(tmp_path), 0).timestamp_ms == 1000


def test_timestamp_of_tables_that_have_none(tmp_path: Path) -> None:
    _start(tmp_path)
    write_entry(tmp_path, 1, [{"commitInfo": {"inCommitTimestamp": 1001, "timestamp": 3}}])
    assert read_snapshot(place_of(tmp_path)).timestamp_ms is None


def test_many_entries(tmp_path: Path) -> None:
    _numbered(tmp_path, 300)
    assert list(_files(read_snapshot(place_of(tmp_path)))) == [
        (f"f{number}", None) for number in range(1, 301)
    ]
