"""Transactions, with work that only writes a file: who may begin, and what failures leave."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from parquet_bloomwriter.durable import remove_files
from parquet_bloomwriter.errors import (
    IndexBusy,
    IndexNotFound,
    IndexProblem,
    InvalidArgument,
)
from parquet_bloomwriter.index.actions import lifecycle
from parquet_bloomwriter.index.entry import STABLE, Entry, IndexFile, State
from parquet_bloomwriter.index.log.log import IndexLog
from parquet_bloomwriter.index.log.transaction import (
    Transaction,
    fail_if_overtaken,
    load_existing,
    load_stable,
    next_id,
    run_transaction,
)
from parquet_bloomwriter.index.storage import local

if TYPE_CHECKING:
    from collections.abc import Callable

NEW = Entry(
    id=0, name="ids", state=State.CREATING, version=-1, root=None, columns=(), action="create"
)
REFRESHING = replace(NEW, state=State.REFRESHING, action="refresh full")


def tree(folder: str) -> dict[str, str]:
    """All files with their text; of entries, their state."""
    log, root = IndexLog(folder), Path(folder)
    files = {str(path.relative_to(root)): path for path in root.rglob("*") if not path.is_dir()}
    return {
        name: log.get(int(path.name)).state if name.startswith("_log/") else path.read_text()
        for name, path in sorted(files.items())
    }


def without_stamp(entry: Entry) -> Entry:
    """Return an entry without the values that are new in every entry."""
    return replace(entry, id=0, created_ms=0, attempt="", action="")


def folders(folder: str) -> list[str]:
    return sorted(path.name for path in Path(folder).iterdir())


def build(transaction: Transaction) -> Entry:
    path = Path(transaction.make_folder(), "data")
    path.write_text(f"of {transaction.version}")
    file = IndexFile(path=f"v__={transaction.version}/data", size=path.stat().st_size)
    return replace(
        transaction.begun, state=State.ACTIVE, version=transaction.version, manifest=file
    )


def act(log: IndexLog, begin: Entry = NEW, op: Callable[[Transaction], Entry] = build) -> Entry:
    with run_transaction(log, load_stable(log), begin) as transaction:
        return transaction.commit(op(transaction))


@pytest.fixture
def log(tmp_path: Path) -> IndexLog:
    return IndexLog(str(tmp_path / "home" / "ids"))


@pytest.fixture
def made(log: IndexLog) -> IndexLog:
    act(log)
    return log


ONE = {"_log/0": "CREATING", "_log/1": "ACTIVE", "v__=0/data": "of 0"}


def test_an_action_is_two_entries_and_a_folder_of_its_own(made: IndexLog) -> None:
    assert tree(made.folder) == ONE
    final = act(made, REFRESHING)
    assert (final.id, final.version, final == made.latest_stable()) == (3, 2, True)
    assert tree(made.folder) == ONE | {
        "_log/2": "REFRESHING",
        "_log/3": "ACTIVE",
        "v__=2/data": "of 2",
    }


def test_what_is_gone_because_somebody_went_on_is_no_fault_of_the_index(made: IndexLog) -> None:
    stable = load_existing(made, states=STABLE, to="looked at")

    def look() -> None:
        with fail_if_overtaken(made, stable):
            raise FileNotFoundError

    with pytest.raises(FileNotFoundError):
        look()
    act(made, REFRESHING)
    with pytest.raises(IndexBusy, match="has begun meanwhile"):
        look()


class Broken(Exception):
    """The error that the work raises here."""


@pytest.mark.parametrize("error", [Broken, KeyboardInterrupt, SystemExit])
def test_work_that_fails_leaves_the_stable_version_in_force(
    made: IndexLog, error: type[BaseException]
) -> None:
    stable = made.latest_stable()
    assert stable is not None

    def fail(transaction: Transaction) -> Entry:
        build(transaction)
        assert made.latest_stable() == stable  # queries go on with it meanwhile
        raise error

    with pytest.raises(error):
        act(made, REFRESHING, fail)
    assert tree(made.folder) == ONE | {
        "_log/2": "REFRESHING",
        "_log/3": "CANCELLING",
        "_log/4": "ACTIVE",
    }
    assert folders(made.folder) == ["_log", "v__=0"]
    now = made.latest_stable()
    assert now is not None
    assert without_stamp(now) == without_stamp(stable)


def test_creating_that_fails_leaves_an_index_that_does_not_exist(log: IndexLog) -> None:
    def fail(transaction: Transaction) -> Entry:
        build(transaction)
        raise Broken

    with pytest.raises(Broken):
        act(log, NEW, fail)
    assert tree(log.folder) == {
        "_log/0": "CREATING",
        "_log/1": "CANCELLING",
        "_log/2": "DOESNOTEXIST",
    }
    assert folders(log.folder) == ["_log"]
    assert act(log).id == 4
    assert tree(log.folder)["v__=3/data"] == "of 3"


def test_an_action_does_not_begin_while_another_is_at_work(made: IndexLog) -> None:
    def other_comes(transaction: Transaction) -> Entry:
        with pytest.raises(IndexBusy, match=r'"ids" is REFRESHING since \d{4}-.* cancel it'):
            act(made, REFRESHING)
        return build(transaction)

    act(made, REFRESHING, other_comes)
    assert [entry.state for entry in made.entries()] == [
        State.CREATING,
        State.ACTIVE,
        State.REFRESHING,
        State.ACTIVE,
    ]


def test_of_two_that_found_the_index_at_rest_one_begins(made: IndexLog) -> None:
    stable = load_stable(made)
    act(made, REFRESHING)
    before = tree(made.folder)
    with (
        pytest.raises(IndexBusy, match="has begun meanwhile"),
        run_transaction(made, stable, REFRESHING),
    ):
        raise AssertionError
    assert tree(made.folder) == before


def test_an_action_that_was_cancelled_fails_at_its_end_and_leaves_nothing(made: IndexLog) -> None:
    def cancelled(transaction: Transaction) -> Entry:
        build(transaction)
        assert lifecycle.cancel(made).changed
        final = build(transaction)  # it does not know yet, and goes on writing
        with pytest.raises(IndexBusy, match="cancelled by another process"):
            transaction.check_not_cancelled()
        return final

    with pytest.raises(IndexBusy, match=r"\(refresh full\) was cancelled by another process"):
        act(made, REFRESHING, cancelled)
    assert tree(made.folder) == ONE | {
        "_log/2": "REFRESHING",
        "_log/3": "CANCELLING",
        "_log/4": "ACTIVE",
    }
    assert folders(made.folder) == ["_log", "v__=0"]


def test_one_that_was_cancelled_does_not_harm_what_came_after(made: IndexLog) -> None:
    def cancelled(transaction: Transaction) -> Entry:
        build(transaction)
        lifecycle.cancel(made)
        act(made, REFRESHING)
        return build(transaction)

    with pytest.raises(IndexBusy):
        act(made, REFRESHING, cancelled)
    assert tree(made.folder) == ONE | {
        "_log/2": "REFRESHING",
        "_log/3": "CANCELLING",
        "_log/4": "ACTIVE",
        "_log/5": "REFRESHING",
        "_log/6": "ACTIVE",
        "v__=5/data": "of 5",
    }
    latest = made.latest_stable()
    assert latest is not None
    assert latest.version == 5


@pytest.mark.parametrize("at", ["begin", "end"])
def test_an_entry_that_was_written_counts_whatever_failed_after(
    made: IndexLog, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    write, number = IndexLog.write, {"begin": 2, "end": 3}[at]

    def written_but_not_synced(self: IndexLog, entry: Entry) -> bool:
        won = write(self, entry)
        if entry.id == number:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return won

    monkeypatch.setattr(IndexLog, "write", written_but_not_synced)
    with pytest.raises(OSError, match="Input/output"):
        act(made, REFRESHING)
    ended = {"_log/3": "ACTIVE", "v__=2/data": "of 2"}
    undone = {"_log/3": "CANCELLING", "_log/4": "ACTIVE"}
    assert tree(made.folder) == ONE | {"_log/2": "REFRESHING"} | (ended if at == "end" else undone)


def test_a_full_disk_at_the_end_leaves_the_rest_to_cancel(
    made: IndexLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = IndexLog.write

    def full(self: IndexLog, entry: Entry) -> bool:
        if entry.id > 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(self, entry)

    monkeypatch.setattr(IndexLog, "write", full)
    with pytest.raises(OSError, match="No space"):
        act(made, REFRESHING)
    monkeypatch.undo()
    assert tree(made.folder) == ONE | {"_log/2": "REFRESHING"}
    latest = made.latest_stable()
    assert latest is not None
    assert latest.id == 1
    with pytest.raises(IndexBusy):
        lifecycle.delete(made)
    assert lifecycle.cancel(made).state is State.ACTIVE
    assert lifecycle.delete(made).state is State.DELETED


def test_the_life_of_an_index(made: IndexLog) -> None:
    act(made, REFRESHING)
    assert lifecycle.delete(made).state is State.DELETED
    with pytest.raises(InvalidArgument, match=r"is DELETED, and cannot be deleted\. Restore it"):
        lifecycle.delete(made)
    assert lifecycle.restore(made).state is State.ACTIVE
    with pytest.raises(InvalidArgument, match="is ACTIVE, and cannot be restored"):
        lifecycle.restore(made)
    vacuumed = lifecycle.vacuum(made)
    assert (vacuumed.changed, vacuumed.removed_files, vacuumed.removed_bytes) == (True, 1, 4)
    assert folders(made.folder) == ["_log", "v__=2"]
    assert not lifecycle.vacuum(made).changed
    lifecycle.delete(made)
    vacuumed = lifecycle.vacuum(made)
    assert (vacuumed.changed, vacuumed.removed_files) == (True, 1)
    assert vacuumed.state is State.DOES_NOT_EXIST
    assert (folders(made.folder), vacuumed.columns) == (["_log"], ())
    for verb in (lifecycle.delete, lifecycle.restore, lifecycle.vacuum):
        with pytest.raises(IndexNotFound, match="does not exist any more"):
            verb(made)
    assert not lifecycle.cancel(made).changed
    assert [entry.id for entry in made.entries()] == list(range(14))
    assert act(made).id == 15


def test_nothing_can_be_done_to_an_index_that_never_was(log: IndexLog) -> None:
    for verb in (lifecycle.delete, lifecycle.restore, lifecycle.vacuum, lifecycle.cancel):
        with pytest.raises(IndexNotFound, match="there is no index"):
            verb(log)
    assert not Path(log.folder).exists()


def test_an_index_whose_files_are_gone_is_not_restored(made: IndexLog) -> None:
    lifecycle.delete(made)
    Path(made.folder, "v__=0/data").write_text("other")
    with pytest.raises(IndexProblem, match="some files of the index are gone"):
        lifecycle.restore(made)
    assert [entry.state for entry in made.entries()][2:] == [State.DELETING, State.DELETED]


def test_vacuum_leaves_what_it_does_not_know(made: IndexLog) -> None:
    for name in ("v__=0/left-over", "v__=0/deep/er", "v__=x/mine", "notes", "v__=9/newer"):
        path = Path(made.folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    vacuumed = lifecycle.vacuum(made)
    assert (vacuumed.removed_files, vacuumed.removed_bytes) == (2, 2)
    assert sorted(set(tree(made.folder)) - set(ONE)) == [
        "_log/2",
        "_log/3",
        "notes",
        "v__=9/newer",  # of an action that is yet to be announced
        "v__=x/mine",
    ]
    assert not Path(made.folder, "v__=0/deep").exists()


def test_vacuuming_that_is_cancelled_stops_removing(
    made: IndexLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    act(made, REFRESHING)
    Path(made.folder, "v__=0/b").write_text("x")

    def cancelled(paths: list[str]) -> None:
        lifecycle.cancel(made)
        remove_files(paths)

    monkeypatch.setattr(local, "remove_files", cancelled)
    with pytest.raises(IndexBusy, match=r"\(vacuum\) was cancelled"):
        lifecycle.vacuum(made)
    assert "v__=0/data" in tree(made.folder)
    latest = made.latest()
    assert latest is not None
    assert (latest.state, latest.version) == (State.ACTIVE, 2)


@pytest.mark.parametrize("removed", [0, 1])
def test_cancelling_the_vacuuming_of_a_deleted_index(made: IndexLog, removed: int) -> None:
    act(made, REFRESHING)
    lifecycle.delete(made)
    stable = load_stable(made)
    assert stable is not None
    begin = replace(stable, id=next_id(stable), state=State.VACUUMING, action="vacuum")
    assert made.write(begin)  # and its process dies
    if removed:
        Path(made.folder, "v__=2/data").unlink()
    entry = lifecycle.cancel(made)
    if removed:
        assert (entry.state, folders(made.folder)) == (State.DOES_NOT_EXIST, ["_log"])
    else:
        assert entry.state is State.DELETED
        assert lifecycle.restore(made).version == 2


def test_cancel_goes_on_behind_a_torn_entry(made: IndexLog) -> None:
    Path(made.log_folder, "2").write_bytes(b"")
    with pytest.raises(IndexProblem, match=r"cannot be read .*Cancel what wrote it"):
        act(made, REFRESHING)
    assert lifecycle.cancel(made).log_id == 4
    Path(made.log_folder, "2").unlink()
    assert tree(made.folder) == ONE | {"_log/3": "CANCELLING", "_log/4": "ACTIVE"}


def test_cancel_can_be_cancelled(made: IndexLog) -> None:
    stable = made.latest_stable()
    assert stable is not None
    assert made.write(replace(REFRESHING, id=2))
    assert made.write(replace(REFRESHING, id=3, state=State.CANCELLING))
    Path(made.folder, "v__=2").mkdir()
    Path(made.folder, "v__=2/data").write_text("half")
    lifecycle.cancel(made)
    cancelled = made.latest()
    assert cancelled is not None
    assert cancelled.action == "cancel refresh full"
    assert without_stamp(cancelled) == without_stamp(stable)
    assert tree(made.folder) == ONE | {
        "_log/2": "REFRESHING",
        "_log/3": "CANCELLING",
        "_log/4": "CANCELLING",
        "_log/5": "ACTIVE",
    }
