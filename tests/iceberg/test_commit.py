"""Snapshots that replace files; races, and answers that are lost."""

from __future__ import annotations

import datetime as dt
import json
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import (
    BadRequestError,
    CommitFailedException,
    CommitStateUnknownException,
    ForbiddenError,
)
from pyiceberg.manifest import ManifestEntryStatus
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update import SetSnapshotRefUpdate
from pyiceberg.types import LongType

from parquet_bloomwriter.errors import (
    OutcomeUnknown,
    TableChanged,
    TableProblem,
    Unfinished,
    UnsupportedTable,
)
from parquet_bloomwriter.iceberg.commit import ATTEMPT, replace_files, set_properties
from parquet_bloomwriter.iceberg.new_snapshot import EntryReplacement
from parquet_bloomwriter.iceberg.snapshot import locate, read_snapshot
from tests.support.iceberg_commits import (
    copies,
    name_of,
    rows,
)
from tests.support.iceberg_deletes import delete_equal, delete_positions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyiceberg.catalog import Catalog
    from pyiceberg.manifest import ManifestEntry
    from pyiceberg.table import Table

ASKED = {"bloomify.add": "id"}


def _ids(table: Table) -> list[int]:
    return sorted(table.refresh().scan().to_arrow()["id"].to_pylist())


def _entries(table: Table, snapshot_id: int) -> list[ManifestEntry]:
    snapshot = table.refresh().snapshot_by_id(snapshot_id)
    assert snapshot is not None
    return [
        entry
        for manifest in snapshot.manifests(table.io)
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=False)
    ]


def _metadata_files(table: Table) -> set[str]:
    folder = Path(table.location().removeprefix("file://")) / "metadata"
    return {one.name for one in folder.iterdir() if one.suffix == ".avro"}


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parquet_bloomwriter.iceberg.commit.time.sleep", lambda _: None)


@pytest.mark.parametrize("version", [1, 2])
def test_the_rows_stay_and_numbers_are_kept(make_table: Callable[..., Table], version: int) -> None:
    table = make_table(files=3, version=version)
    before = read_snapshot(name_of(table))
    kept, *replaced = before.files.values()
    made = replace_files(before, copies(before, replaced), parameters=ASKED)
    assert made.snapshot_id is not None
    assert not made.dropped
    assert _ids(table) == list(range(30))
    after = made.snapshot
    assert kept.path in after.files
    assert not {one.path for one in replaced} & after.files.keys()
    numbers = [1, 2, 3] if version == 2 else [0, 0, 0]
    assert sorted(one.data_sequence_number for one in after.files.values()) == numbers
    by_status: dict[ManifestEntryStatus, list[ManifestEntry]] = {}
    for entry in _entries(table, made.snapshot_id):
        by_status.setdefault(entry.status, []).append(entry)
    added = by_status[ManifestEntryStatus.ADDED]
    deleted = by_status[ManifestEntryStatus.DELETED]
    own_number = 4 if version == 2 else 0
    assert {one.file_sequence_number for one in added if one.snapshot_id == made.snapshot_id} == {
        own_number
    }
    assert {one.data_file.file_path for one in deleted} == {one.path for one in replaced}
    assert {one.snapshot_id for one in deleted} == {made.snapshot_id}


def test_the_metadata_says_what_was_done(make_table: Callable[..., Table]) -> None:
    table = make_table(files=3)
    before = read_snapshot(name_of(table))
    parent = before.snapshot
    assert parent is not None
    (replaced, *_) = before.files.values()
    (new,) = copies(before, [replaced])
    larger = EntryReplacement(
        old=new.old, path=new.path, size=new.size + 100, split_offsets=(4, 50)
    )
    made = replace_files(before, [larger], parameters=ASKED, attempt="mine")
    snapshot = made.snapshot.snapshot
    assert snapshot is not None
    assert snapshot.summary is not None
    assert snapshot.parent_snapshot_id == parent.snapshot_id
    assert snapshot.timestamp_ms > parent.timestamp_ms
    summary = {
        "operation": snapshot.summary.operation.value,
        **snapshot.summary.additional_properties,
    }
    size = sum(one.size for one in before.files.values())
    expected = {
        "operation": "replace",
        "bloomify.add": "id",
        ATTEMPT: "mine",
        "engine-name": "bloomify",
        "added-data-files": "1",
        "deleted-data-files": "1",
        "added-records": "10",
        "deleted-records": "10",
        "added-files-size": str(new.size + 100),
        "removed-files-size": str(new.size),
        "total-data-files": "3",
        "total-records": "30",
        "total-files-size": str(size + 100),
        "total-delete-files": "0",
        "total-position-deletes": "0",
        "total-equality-deletes": "0",
    }
    assert expected.items() <= summary.items()
    old, now = replaced.data_file, made.snapshot.files[new.path].data_file
    assert (now.file_size_in_bytes, now.split_offsets) == (new.size + 100, [4, 50])
    for position in set(range(len(old))) - {1, 5, 13}:
        one, other = now[position], old[position]
        assert (dict(one), 0) == (dict(other), 0) if hasattr(one, "items") else one == other


def test_partitions_of_several_specs_are_carried_over(catalog: Catalog) -> None:
    schema = pa.schema(
        [
            ("id", pa.int64()),
            ("name", pa.string()),
            ("day", pa.date32()),
            ("at", pa.timestamp("us")),
            ("price", pa.decimal128(9, 2)),
            ("raw", pa.binary()),
        ]
    )
    table = catalog.create_table("shop.parts", schema=schema)
    values = pa.table(
        {
            "id": [1, 2, None],
            "name": ["a", None, "ö/="],
            "day": [dt.date(1969, 1, 1), dt.date(2026, 1, 1), None],
            "at": [dt.datetime(1969, 1, 1, 3), None, dt.datetime(2026, 1, 1, 0, 0, 0, 7)],  # noqa: DTZ001
            "price": [Decimal("1.25"), None, Decimal("-3.50")],
            "raw": [b"\0\xff", b"", None],
        },
        schema=schema,
    )
    table.append(values)
    with table.update_spec() as update:
        for name in schema.names:
            update.add_identity(name)
    table.append(values)
    with table.update_spec() as update:
        update.remove_field("name")
    with table.update_schema() as columns:
        columns.delete_column("name")
        columns.add_column("more", LongType())
    table.append(values.drop_columns(["name"]))
    before = read_snapshot(name_of(table))
    assert len({one.spec_id for one in before.files.values()}) == 3
    content = table.refresh().scan().to_arrow()
    made = replace_files(before, copies(before), parameters=ASKED)
    assert sorted(map(repr, table.refresh().scan().to_arrow().to_pylist())) == sorted(
        map(repr, content.to_pylist())
    )
    assert sorted(repr((one.spec_id, one.partition)) for one in before.files.values()) == sorted(
        repr((one.spec_id, one.partition)) for one in made.snapshot.files.values()
    )


@pytest.mark.parametrize(
    ("asked", "codec"),
    [
        ("ZSTD", b"zstandard"),
        ("zstd", b"zstandard"),
        ("uncompressed", b"null"),
        ("gzip", b"deflate"),
        ("snappy", b"deflate"),
    ],
)
def test_manifests_are_compressed_as_iceberg_names_codecs(
    make_table: Callable[..., Table], asked: str, codec: bytes
) -> None:
    table = make_table(files=1)
    with table.transaction() as change:
        change.set_properties({"write.avro.compression-codec": asked})
    before, files = read_snapshot(name_of(table)), _metadata_files(table)
    replace_files(before, copies(before), parameters=ASKED)
    folder = Path(table.location().removeprefix("file://")) / "metadata"
    new = [(folder / name).read_bytes() for name in _metadata_files(table) - files]
    assert len(new) == 3
    assert all(codec in one for one in new)
    assert _ids(table) == list(range(10))


def test_untouched_manifests_are_kept(make_table: Callable[..., Table]) -> None:
    table = make_table(files=3)
    before = read_snapshot(name_of(table))
    first = next(iter(before.files.values()))
    made = replace_files(before, copies(before, [first]), parameters=ASKED)
    paths = [one.manifest_path for one in before.manifests]
    now = [one.manifest_path for one in made.snapshot.manifests]
    assert now[-2:] == paths[1:]
    again = replace_files(made.snapshot, copies(made.snapshot, []), parameters=ASKED)
    assert again.snapshot_id is None


def test_a_long_manifest_becomes_several(
    make_table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make_table(files=5)
    before = read_snapshot(name_of(table))
    one = replace_files(before, copies(before), parameters=ASKED).snapshot
    monkeypatch.setattr("parquet_bloomwriter.iceberg.new_snapshot._MOST_ENTRIES", 2)
    third = list(one.files.values())[2]
    made = replace_files(one, copies(one, [third]), parameters=ASKED).snapshot
    numbers = [one.data_sequence_number for one in made.files.values()]
    assert sorted(numbers) == sorted(one.data_sequence_number for one in before.files.values())
    assert made.files.keys() - one.files.keys() != set()
    assert one.files.keys() - made.files.keys() == {third.path}
    listed = [
        [
            entry.status.name
            for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=False)
        ]
        for manifest in made.manifests
    ]
    there, gone = "EXISTING", "DELETED"
    assert listed == [["ADDED"], [there, there], [gone, there], [there]]
    assert made.snapshot is not None
    assert made.snapshot.summary is not None
    summary = made.snapshot.summary.additional_properties
    assert (summary["manifests-created"], summary["manifests-replaced"]) == ("4", "1")


def test_a_branch_is_changed_alone_and_keeps_its_settings(
    make_table: Callable[..., Table],
) -> None:
    table = make_table(files=2)
    head = table.metadata.current_snapshot_id
    assert head is not None
    fields: dict[str, Any] = {"ref_name": "audit", "snapshot_id": head, "max_ref_age_ms": 5_000}
    table._do_commit(  # noqa: SLF001
        (SetSnapshotRefUpdate(type=SnapshotRefType.BRANCH, min_snapshots_to_keep=3, **fields),), ()
    )
    table.manage_snapshots().create_tag(head, "v1").commit()
    before = read_snapshot(name_of(table), branch="audit")
    made = replace_files(before, copies(before), parameters=ASKED)
    refs = table.refresh().metadata.refs
    assert refs["main"].snapshot_id == refs["v1"].snapshot_id == head
    assert refs["audit"].snapshot_id == made.snapshot_id
    assert (refs["audit"].max_ref_age_ms, refs["audit"].min_snapshots_to_keep) == (5_000, 3)
    assert made.snapshot.branch == "audit"


def test_equality_deletes_go_on_to_apply_to_the_same_files(
    make_table: Callable[..., Table],
) -> None:
    table = make_table(files=2)
    older = set(read_snapshot(name_of(table)).files)
    delete_equal(table, {"id": [3, 13]})
    table.append(rows(0))
    before = read_snapshot(name_of(table))
    made = replace_files(before, copies(before), parameters=ASKED)
    numbers = {one.old.path: one.old.data_sequence_number for one in copies(before)}
    assert sorted(one.data_sequence_number for one in made.snapshot.files.values()) == sorted(
        numbers.values()
    )
    (manifest,) = [one for one in made.snapshot.manifests if one.content.value]
    (delete,) = manifest.fetch_manifest_entry(table.io)
    assert delete.sequence_number == 3
    assert [number for path, number in numbers.items() if path in older] == [2, 1]


# Races.


def test_what_others_removed_or_deleted_from_is_dropped(make_table: Callable[..., Table]) -> None:
    table = make_table(files=3)
    before = read_snapshot(name_of(table))
    new = copies(before)
    third, second, first = before.files
    table.delete("id < 10")
    delete_positions(table, {second: [0]})
    table.append(rows(100))
    with table.update_schema() as update:
        update.rename_column("name", "label")
    made = replace_files(before, new, parameters=ASKED)
    assert {one.old.path: why for one, why in made.dropped} == {
        first: "another program removed it",
        second: "position deletes name it",
    }
    assert third not in made.snapshot.files
    assert {first, second} & made.snapshot.files.keys() == {second}
    again = replace_files(before, new, parameters=ASKED)
    assert again.snapshot_id is None
    assert len(again.dropped) == 3


@contextmanager
def _each_commit(
    monkeypatch: pytest.MonkeyPatch, act: Callable[[int, Callable[[], object]], object]
) -> Iterator[list[int]]:
    """Let a function stand for the catalog's commits; it gets the commit and its number from 1."""
    commit: Any = SqlCatalog.commit_table
    calls: list[int] = []

    def instead(self: SqlCatalog, *given: object) -> object:
        calls.append(len(calls))
        return act(len(calls), lambda: commit(self, *given))

    with monkeypatch.context() as patch:
        patch.setattr(SqlCatalog, "commit_table", instead)
        yield calls


def test_a_commit_that_comes_first_is_taken_in(
    make_table: Callable[..., Table], catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make_table(files=2)
    before = read_snapshot(name_of(table))
    new = copies(before)
    files = _metadata_files(table)
    second, first = before.files
    commit = SqlCatalog.commit_table

    def act(number: int, go_on: Callable[[], object]) -> object:
        if number == 1:
            with monkeypatch.context() as patch:
                patch.setattr(SqlCatalog, "commit_table", commit)
                delete_positions(catalog.load_table("shop.orders"), {first: [0]})
        return go_on()

    with _each_commit(monkeypatch, act) as calls:
        made = replace_files(before, new, parameters=ASKED)
    assert len(calls) == 2
    assert {one.old.path for one, _ in made.dropped} == {first}
    assert second not in made.snapshot.files
    assert _ids(table) == [*range(1, 20)]
    # Of the first try, nothing is left over: manifests and lists of two commits are new.
    assert len(_metadata_files(table) - files) == 2 + 3


def test_a_lost_answer_is_found_by_the_attempt(
    make_table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make_table(files=2)
    before = read_snapshot(name_of(table))
    new = copies(before)

    def act(_: int, go_on: Callable[[], object]) -> object:
        go_on()
        raise ConnectionResetError("the answer is lost")

    with _each_commit(monkeypatch, act) as calls:
        made = replace_files(before, new, parameters=ASKED)
    assert len(calls) == 1
    assert (made.snapshot_id, made.dropped) == (
        table.refresh().metadata.current_snapshot_id,
        (),
    )
    assert made.snapshot.files.keys() == {one.path for one in new}
    assert _ids(table) == list(range(20))


@pytest.mark.parametrize("error", [CommitStateUnknownException, CommitFailedException, OSError])
def test_a_conflict_that_was_none_is_found_too(
    make_table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    table = make_table(files=1)
    before = read_snapshot(name_of(table))

    def act(_: int, go_on: Callable[[], object]) -> object:
        go_on()
        raise error("asked twice")

    with _each_commit(monkeypatch, act):
        made = replace_files(before, copies(before), parameters=ASKED)
    assert made.snapshot_id == table.refresh().metadata.current_snapshot_id
    assert _ids(table) == list(range(10))


def test_a_request_that_never_arrived_is_sent_again(
    make_table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make_table(files=1)
    before = read_snapshot(name_of(table))

    def act(number: int, go_on: Callable[[], object]) -> object:
        if number == 1:
            raise CommitStateUnknownException("no answer")
        return go_on()

    with _each_commit(monkeypatch, act) as calls:
        made = replace_files(before, copies(before), parameters=ASKED)
    assert len(calls) == 2
    assert made.snapshot_id is not None
    assert len(table.refresh().metadata.snapshots) == 2


def test_a_request_that_arrives_late_makes_one_commit(
    make_table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make_table(files=1)
    before = read_snapshot(name_of(table))
    late: list[Callable[[], object]] = []

    def act(number: int, go_on: Callable[[], object]) -> object:
        if number == 1:
            late.append(go_on)
            raise TimeoutError("no answer")
        late.pop()()
        return go_on()

    with _each_commit(monkeypatch, act):
        made = replace_files(before, copies(before), parameters=ASKED)
    assert made.snapshot_id == table.refresh().metadata.current_snapshot_id
    assert not made.dropped
    assert len(table.metadata.snapshots) == 2
    assert _ids(table) == list(range(10))


def test_an_outcome_that_stays_unknown_is_said_and_nothing_is_removed(
    make_table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make_table(files=1)
    before = read_snapshot(name_of(table))
    files, new = _metadata_files(table), copies(before)

    def act(_: int, __: Callable[[], object]) -> object:
        raise CommitStateUnknownException("no answer")

    with _each_commit(monkeypatch, act) as calls, pytest.raises(OutcomeUnknown) as caught:
        replace_files(before, new, parameters=ASKED, attempt="mine")
    assert "mine" in str(caught.value)
    assert len(calls) == 4
    assert len(_metadata_files(table) - files) == 4 * 3
    assert all(Path(locate(one.path)).exists() for one in new)


def test_a_catalog_that_is_gone_leaves_it_unknown(
    make_table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make_table(files=1)
    before = read_snapshot(name_of(table))

    def act(_: int, go_on: Callable[[], object]) -> object:
        go_on()
        monkeypatch.setattr(
            SqlCatalog, "load_table", lambda *_: (_ for _ in ()).throw(ConnectionError("gone"))
        )
        raise ConnectionError("gone")

    with _each_commit(monkeypatch, act), pytest.raises(OutcomeUnknown):
        replace_files(before, copies(before), parameters=ASKED)


@pytest.mark.parametrize("error", [ForbiddenError, NotImplementedError])
def test_a_refusal_is_passed_on(
    make_table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    table = make_table(files=1)
    before = read_snapshot(name_of(table))

    def act(_: int, __: Callable[[], object]) -> object:
        raise error("read only")

    with _each_commit(monkeypatch, act) as calls, pytest.raises(TableProblem) as caught:
        replace_files(before, copies(before), parameters=ASKED)
    assert len(calls) == 1
    assert not isinstance(caught.value, OutcomeUnknown)
    assert "read only" in str(caught.value)


def test_an_interruption_is_passed_on_and_removes_nothing(
    make_table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make_table(files=1)
    before = read_snapshot(name_of(table))

    def act(_: int, go_on: Callable[[], object]) -> object:
        go_on()
        raise KeyboardInterrupt

    with _each_commit(monkeypatch, act), pytest.raises(KeyboardInterrupt):
        replace_files(before, copies(before), parameters=ASKED)
    assert _ids(table) == list(range(10))


def test_a_commit_after_which_the_table_cannot_be_read_is_not_said_to_be_none(
    make_table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make_table(files=1)
    before = read_snapshot(name_of(table))
    new = copies(before)

    def act(_: int, go_on: Callable[[], object]) -> object:
        made = go_on()
        patch.setattr(Snapshot, "manifests", lambda *_: (_ for _ in ()).throw(OSError("no store")))
        return made

    with (
        pytest.MonkeyPatch.context() as patch,
        _each_commit(monkeypatch, act),
        pytest.raises(Unfinished, match="was made"),
    ):
        replace_files(before, new, parameters=ASKED)
    assert _ids(table) == list(range(10))


@pytest.mark.parametrize("error", [CommitFailedException, ConnectionResetError])
@pytest.mark.parametrize("then", ["renamed", "gone"])
def test_a_commit_is_unknown_whose_table_is_not_found_afterwards(
    make_table: Callable[..., Table],
    catalog: Catalog,
    monkeypatch: pytest.MonkeyPatch,
    error: type[Exception],
    then: str,
) -> None:
    before = read_snapshot(name_of(make_table(files=1)))

    def act(_: int, go_on: Callable[[], object]) -> object:
        go_on()
        if then == "renamed":
            catalog.rename_table("shop.orders", "shop.sales")
        else:
            patch.setattr(
                SqlCatalog, "load_table", lambda *_: (_ for _ in ()).throw(ConnectionError("gone"))
            )
        raise error("asked twice")

    with (
        pytest.MonkeyPatch.context() as patch,
        _each_commit(monkeypatch, act),
        pytest.raises(OutcomeUnknown),
    ):
        replace_files(before, copies(before), parameters=ASKED)


def test_new_files_are_not_said_to_be_left_over_where_the_snapshot_has_expired(
    make_table: Callable[..., Table], catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = read_snapshot(name_of(make_table(files=1)))
    commit = SqlCatalog.commit_table

    def act(_: int, go_on: Callable[[], object]) -> object:
        go_on()
        with monkeypatch.context() as patch:
            patch.setattr(SqlCatalog, "commit_table", commit)
            table = catalog.load_table("shop.orders")
            ours = table.metadata.current_snapshot_id
            assert ours is not None
            table.append(rows(10))
            table.maintenance.expire_snapshots().by_id(ours).commit()
        raise ConnectionResetError("the answer is lost")

    with _each_commit(monkeypatch, act), pytest.raises(Unfinished, match="was made"):
        replace_files(before, copies(before), parameters=ASKED)


@pytest.mark.parametrize("error", [None, BadRequestError])
def test_commits_to_other_branches_are_conflicts(
    make_table: Callable[..., Table],
    catalog: Catalog,
    monkeypatch: pytest.MonkeyPatch,
    error: type[Exception] | None,
) -> None:
    """They take the sequence number; some catalogs say so as of a request that makes no sense."""
    table = make_table(files=1)
    table.manage_snapshots().create_branch(table.metadata.current_snapshot_id or 0, "side").commit()
    before = read_snapshot(name_of(table))
    files = _metadata_files(table)
    commit = SqlCatalog.commit_table

    def act(number: int, go_on: Callable[[], object]) -> object:
        if number > 6:
            return go_on()
        with monkeypatch.context() as patch:
            patch.setattr(SqlCatalog, "commit_table", commit)
            catalog.load_table("shop.orders").append(rows(100), branch="side")
        try:
            return go_on()
        except ValueError as refusal:
            raise (error(str(refusal)) if error else refusal) from refusal

    with _each_commit(monkeypatch, act) as calls:
        made = replace_files(before, copies(before), parameters=ASKED)
    assert len(calls) == 7
    assert made.snapshot_id is not None
    assert _ids(table) == list(range(10))
    # Six appends of a manifest and a list, and ours: nothing is left over of what was refused.
    assert len(_metadata_files(table) - files) == 6 * 2 + 3


def test_a_branch_that_is_gone_is_a_change_of_the_table(make_table: Callable[..., Table]) -> None:
    table = make_table(files=1)
    table.manage_snapshots().create_branch(table.metadata.current_snapshot_id or 0, "side").commit()
    before = read_snapshot(name_of(table), branch="side")
    table.manage_snapshots().remove_branch("side").commit()
    with pytest.raises(TableChanged, match='no branch "side"'):
        replace_files(before, copies(before), parameters=ASKED)


def test_a_table_that_is_upgraded_during_the_commit_is_refused(
    make_table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make_table(files=1)
    before = read_snapshot(name_of(table))
    metadata = Path(table.metadata_location.removeprefix("file://"))

    def act(_: int, go_on: Callable[[], object]) -> object:
        # pyiceberg does not upgrade tables to version 3.
        found = json.loads(metadata.read_bytes())
        found |= {"format-version": 3, "next-row-id": 0}
        metadata.write_text(json.dumps(found))
        return go_on()

    with _each_commit(monkeypatch, act) as calls, pytest.raises(UnsupportedTable):
        replace_files(before, copies(before), parameters=ASKED)
    assert len(calls) == 1
    assert len(table.refresh().metadata.snapshots) == 1


def test_another_table_of_the_name_is_not_touched(
    make_table: Callable[..., Table], catalog: Catalog
) -> None:
    table = make_table(files=1)
    before = read_snapshot(name_of(table))
    new = copies(before)
    catalog.drop_table("shop.orders")
    with pytest.raises(TableChanged):
        replace_files(before, new, parameters=ASKED)
    other = make_table(files=1)
    with pytest.raises(TableChanged, match="another table has this name"):
        replace_files(before, new, parameters=ASKED)
    assert len(other.refresh().metadata.snapshots) == 1


def test_properties_are_set_and_others_stay(make_table: Callable[..., Table]) -> None:
    table = make_table(files=1)
    with table.transaction() as change:
        change.set_properties({"owner": "me"})
    before = read_snapshot(name_of(table))
    after = set_properties(before, {"a": "1", "b": "2"})
    assert {"owner": "me", "a": "1", "b": "2"}.items() <= after.properties.items()
    assert after.snapshot_id == before.snapshot_id
    location = after.table.metadata_location
    assert set_properties(after, {"a": "1"}).table.metadata_location == location


def test_files_that_stay_keep_what_their_entries_say(catalog: Catalog) -> None:
    table = catalog.create_table("shop.parts", schema=rows(0).schema)
    with table.update_spec() as update:
        update.add_identity("id")
    table.append(rows(0, 4))
    before = read_snapshot(name_of(table))
    (manifest,) = before.manifests
    first = next(iter(before.files.values()))
    made = replace_files(before, copies(before, [first]), parameters=ASKED)
    assert made.snapshot_id is not None
    entries = _entries(table, made.snapshot_id)
    stayed = [one for one in entries if one.status == ManifestEntryStatus.EXISTING]
    assert len(stayed) == 3
    assert {(one.snapshot_id, one.sequence_number, one.file_sequence_number) for one in stayed} == {
        (before.snapshot_id, 1, 1)
    }
    of_new, rewritten = made.snapshot.manifests
    assert manifest.manifest_path not in {of_new.manifest_path, rewritten.manifest_path}
    assert (of_new.min_sequence_number, of_new.sequence_number) == (1, 2)
    assert (rewritten.min_sequence_number, rewritten.sequence_number) == (1, 2)
    again = replace_files(
        made.snapshot, copies(made.snapshot, list(made.snapshot.files.values())), parameters=ASKED
    )
    assert again.snapshot_id is not None
    entries = _entries(table, again.snapshot_id)
    # What the snapshot before deleted is not carried on.
    assert sum(one.status == ManifestEntryStatus.DELETED for one in entries) == 4
    assert _ids(table) == list(range(4))


def test_time_goes_on_where_a_clock_is_behind(
    make_table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make_table(files=2)
    before = read_snapshot(name_of(table))
    monkeypatch.setattr("parquet_bloomwriter.iceberg.new_snapshot.time.time_ns", lambda: 0)
    made = replace_files(before, copies(before), parameters=ASKED)
    times = [one.timestamp_ms for one in made.snapshot.table.metadata.snapshots]
    assert times == sorted(set(times))
    log = made.snapshot.table.metadata.snapshot_log
    assert [one.timestamp_ms for one in log] == sorted(one.timestamp_ms for one in log)
