"""The power goes after every operation of every run: a fixed share of what `make torture` tries.

And the model is held to account: with one `fsync` less, whichever, it must find something wrong.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from campaigns.power.disk import SyncFile, SyncFolder, Unname
from campaigns.power.indexes import INDEX_SCENARIOS
from campaigns.power.scenarios import READING, SCENARIOS
from campaigns.power.stage import EVERY, run_traced
from campaigns.power.trying import Effort, crash

if TYPE_CHECKING:
    from campaigns.power.recording import Record

pytestmark = pytest.mark.xdist_group("power")

FILES = Effort(seed=0, fates=16, real=3)
INDEXES = Effort(seed=0, fates=12, real=3)
MANY = Effort(seed=0, fates=40, real=0)
STATES = 1000
"""Different ones, at least, of rewritten files."""

NEEDED = [
    ("in place", SyncFile, 0),
    ("in place", SyncFolder, 0),
    ("new file", SyncFile, 0),
    ("new file", SyncFolder, 0),
    ("with a backup", SyncFolder, 0),
    ("with a backup, no hard links", SyncFile, 1),
    ("with a backup, no hard links", SyncFolder, 0),
    ("with a backup in a new folder", SyncFolder, 0),
    ("with a backup in a new folder", SyncFolder, 1),
    ("with a backup in a new folder", SyncFolder, 2),
    ("with a backup on another disk", SyncFile, 1),
    ("with a backup on another disk", SyncFolder, 2),
    ("with a checksum file", SyncFile, 1),
    ("with a checksum file", SyncFolder, 0),
    ("with a checksum file", SyncFolder, 1),
    ("with a checksum file", SyncFolder, 2),
]
"""Syncs of files or folders, by their order, without which something is lost; with them, nothing is
(`test_files`)."""


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Record]:
    return run_traced(list(EVERY), tmp_path_factory.mktemp("stage"))


def test_files(records: dict[str, Record]) -> None:
    results = {name: crash(SCENARIOS[name], records[name], FILES) for name in SCENARIOS}
    assert {name: result.problems for name, result in results.items() if result.problems} == {}
    assert sum(result.states for result in results.values()) >= STATES


@pytest.mark.parametrize("name", INDEX_SCENARIOS)
def test_indexes(records: dict[str, Record], name: str) -> None:
    result = crash(INDEX_SCENARIOS[name], records[name], INDEXES)
    assert result.problems == {}
    assert result.states > result.crashes / 2


@pytest.mark.parametrize(("name", "kind", "number"), NEEDED)
def test_every_sync_is_needed(
    records: dict[str, Record], name: str, kind: type[SyncFile | SyncFolder], number: int
) -> None:
    assert crash(SCENARIOS[name], without(records[name], kind, number), MANY).problems


def test_a_folder_that_cannot_be_read_is_not_synced(records: dict[str, Record]) -> None:
    name = "in place, folder cannot be read"
    strict = replace(SCENARIOS[name], without=())
    assert READING in SCENARIOS[name].without
    problems = crash(strict, records[name], MANY).problems
    assert problems.keys() == {
        "the run has returned, and the new version is not there",
        "the run has returned, and something is not as it left it",
    }


def test_what_was_vacuumed_does_not_come_back(records: dict[str, Record]) -> None:
    name = "index: vacuum, deleted"
    operations = records[name].operations
    syncs = [at for at, one in enumerate(operations) if isinstance(one, SyncFolder)]
    last_removal = max(at for at, one in enumerate(operations[:-3]) if isinstance(one, Unname))
    number = next(number for number, at in enumerate(syncs) if at > last_removal)
    short = without(records[name], SyncFolder, number)
    assert crash(INDEX_SCENARIOS[name], short, replace(INDEXES, real=1)).problems


def test_folders_of_a_killed_run_are_synced(records: dict[str, Record]) -> None:
    name = "index: create, after a kill"
    short = records[name]
    for _ in range(3):
        short = without(short, SyncFolder, 0)
    assert crash(INDEX_SCENARIOS[name], short, replace(INDEXES, fates=3)).problems


def without(record: Record, kind: type[SyncFile | SyncFolder], number: int) -> Record:
    """The same run, but for one sync."""
    places = [at for at, one in enumerate(record.operations) if isinstance(one, kind)]
    operations = list(record.operations)
    operations[places[number]] = SyncFile(-1, 0)
    return replace(record, operations=tuple(operations))
