"""The version of an index that is opened, and the snapshots that are kept."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest

from parquet_bloomwriter import clear_cache
from parquet_bloomwriter.index.entry import State
from parquet_bloomwriter.index.log.log import IndexLog
from parquet_bloomwriter.index.query.snapshot import (
    Snapshot,
    SnapshotCache,
    open_snapshot,
)
from parquet_bloomwriter.index.report import Code, Reason
from tests.index.support import (
    Column,
    Made,
    Row,
    hashes,
    kept,
    make,
    many,
    of,
    small_index,
)


@pytest.fixture
def index(tmp_path: Path) -> Made:
    return small_index(tmp_path)


@pytest.mark.parametrize("state", [State.DELETED, State.DOES_NOT_EXIST])
def test_only_active_indexes_are_asked(index: Made, state: State) -> None:
    assert IndexLog(index.folder).write(replace(index.entry, id=1, state=state))
    found = open_snapshot(index.folder)
    assert isinstance(found, Reason)
    assert found.code is Code.INDEX_NOT_ACTIVE
    assert IndexLog(index.folder).write(replace(index.entry, id=2))
    assert isinstance(open_snapshot(index.folder), Snapshot)


def test_an_index_that_was_never_finished_is_not_active(tmp_path: Path) -> None:
    index = make(tmp_path / "ids", {}, file_ids=[], state=State.CREATING)
    found = open_snapshot(index.folder)
    assert isinstance(found, Reason)
    assert found.code is Code.INDEX_NOT_ACTIVE


def test_no_index_is_a_reason(tmp_path: Path) -> None:
    found = open_snapshot(str(tmp_path / "nothing"))
    assert isinstance(found, Reason)


def test_somebody_at_work_changes_nothing(index: Made) -> None:
    before = index.snapshot()
    assert IndexLog(index.folder).write(replace(index.entry, id=1, state=State.REFRESHING))
    after = index.snapshot()
    assert after is before
    assert kept(index, "id = 3") == [12, 14]


def test_a_new_version_is_seen_at_once(index: Made) -> None:
    assert kept(index, "id = 3") == [12, 14]
    folder = Path(index.folder)
    column = Column(parts=[[[Row(file_id=20, filter=of(3))]]])
    make(folder, {"id": column}, file_ids=[20], entry_id=1, version=1)
    assert kept(index, "id = 3") == [20]
    assert kept(index, "id = 1") == []


def test_an_index_that_was_made_anew_is_seen(index: Made) -> None:
    assert kept(index, "id = 3") == [12, 14]
    shutil.rmtree(index.folder)
    column = Column(parts=[[[Row(file_id=20, filter=of(3))]]])
    make(Path(index.folder), {"id": column}, file_ids=[20])
    assert kept(index, "id = 3") == [20]


def test_what_was_opened_is_kept_until_the_cache_is_cleared(index: Made) -> None:
    before = index.snapshot()
    assert index.snapshot() is before
    clear_cache()
    assert index.snapshot() is not before
    assert kept(index, "id = 3") == [12, 14]


def test_memory_is_bounded(tmp_path: Path) -> None:
    made = [make(tmp_path / name, {"id": Column(parts=[])}, file_ids=range(100)) for name in "abc"]
    opened = {one.folder: one.snapshot() for one in made}

    def take(folder: str, _: Snapshot | None) -> Snapshot:
        return opened[folder]

    cache = SnapshotCache(max_bytes=opened[made[0].folder].num_bytes_held * 2)
    for one in made:
        assert cache.put(one.folder, take) is opened[one.folder]
    assert [cache.get(one.folder) is not None for one in made] == [False, True, True]
    small = SnapshotCache(max_bytes=0)
    for one in made:
        small.put(one.folder, take)
    assert [small.get(one.folder) is not None for one in made] == [False, False, True]


def test_threads_may_ask_at_once(tmp_path: Path) -> None:
    index = many(tmp_path, of(*range(40)), stop=40)
    found: list[list[int]] = []

    def ask_all() -> None:
        found.extend(kept(index, f"id = {number}") for number in range(40))

    threads = [Thread(target=ask_all) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted([[number] for number in range(40)] * 4)


def test_no_file_stays_open(tmp_path: Path) -> None:
    index = many(tmp_path, of(*range(40)), stop=40)
    before = sorted(os.listdir("/proc/self/fd"))  # noqa: PTH208
    assert kept(index, "id IN (1, 2, 3)") == [1, 2, 3]
    assert hashes(0, 1) is not None
    assert sorted(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
