"""The fast share of the torture: where a kill can leave something, and what can fail there.

`python -m campaigns --again syscalls/NAME` shows a try that failed here.
"""

from __future__ import annotations

from itertools import cycle, pairwise
from typing import TYPE_CHECKING

import pytest

from campaigns.syscalls.calls import CHANGING, Call
from campaigns.syscalls.faults import ERRORS, KILL
from campaigns.syscalls.nursery import START, WORKER
from campaigns.syscalls.scenarios import BACKUP, CRC, FILE, OUTPUT, checksums, scenarios
from campaigns.syscalls.trying import PROCESS, WRITE_BACK, Bench
from parquet_bloomwriter import strip

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

pytestmark = pytest.mark.xdist_group("syscalls")  # what is made once takes seconds

MAIN = "in place"
OTHERS = sorted(scenarios().keys() - {MAIN})


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with Bench(tmp_path_factory.mktemp("bench")) as made:
        yield made


def survive(bench: Bench, scenario: str, tries: Iterable[str], *, gate: str = START) -> None:
    """Try these, "CALL/KIND", and fail with all that is wrong."""
    wrong = []
    tried = 0
    for one in tries:
        name = f"{scenario}/{gate}/{one}"
        result = bench.attempt(name)
        tried += result.is_reached
        wrong += [f"{name}: {problem}" for problem in result.problems]
    assert not wrong, "\n".join(wrong)
    assert tried


def all_places(bench: Bench, scenario: str, gate: str = START) -> list[Call]:
    """Every call that faults are tried at."""
    faults = bench.reference(scenario, gate).faults.values()
    return [fault.place for fault in faults if fault.is_kill]


def changes(bench: Bench, scenario: str, gate: str = START) -> list[Call]:
    """The calls that change the folder, of several writes in a row the last.

    A kill at any other call leaves what a kill at one of these leaves.
    """
    found = [
        call
        for call in all_places(bench, scenario, gate)
        if call.name in CHANGING | {"flock"} or "O_CREAT" in call.text
    ]
    return [a for a, b in pairwise(found) if not a.name == b.name == "write"] + found[-1:]


def own_changes(bench: Bench, scenario: str) -> list[Call]:
    """The changes that a scenario does not share with `MAIN`, and some of the others.

    Until the new file is synced, all scenarios write it in the same way. After that, some of them
    give names in the same way, too.
    """
    found = changes(bench, scenario)
    if [call.name for call in found] == [call.name for call in changes(bench, MAIN)]:
        return found[OTHERS.index(scenario) % 6 :: 6]
    synced = next(nth for nth, call in enumerate(found) if call.name == "fsync")
    return [call for call in found[synced:] if call.name != "flock"]


def test_the_scenarios_do_what_they_say(bench: Bench) -> None:
    for name, scenario in bench.scenarios.items():
        after, old = bench.reference(name).after, scenario.before[FILE]
        new = after[scenario.target]
        assert new.data != old.data, name
        assert (strip(new.data).data or new.data) == (strip(old.data).data or old.data), name
        if scenario.target == FILE:
            assert (new.mode, new.owner, new.attributes) == (old.mode, old.owner, old.attributes)
        if scenario.companion == BACKUP:
            assert after[BACKUP] == old
        if scenario.companion == CRC:
            assert after[CRC].data == checksums(new.data)
        names = {FILE, scenario.target, scenario.companion or FILE}
        assert after.keys() == names | scenario.before.keys(), name


def test_every_kind_of_change_is_met(bench: Bench) -> None:
    names = {call.name for scenario in bench.scenarios for call in changes(bench, scenario)}
    assert names >= {"openat", "flock", "write", "copy_file_range", "fchown", "fsetxattr", "fchmod"}
    assert names >= {"fsync", "renameat2", "rename", "link", "unlink"}


def test_a_kill_at_every_change(bench: Bench) -> None:
    """And at a few of the calls that change nothing."""
    places = dict.fromkeys([*changes(bench, MAIN), *all_places(bench, MAIN)[::24]])
    survive(bench, MAIN, [f"{call.place}/{KILL}" for call in places])


@pytest.mark.parametrize("scenario", OTHERS)
def test_a_kill_at_every_change_of_its_own(bench: Bench, scenario: str) -> None:
    survive(bench, scenario, [f"{call.place}/{KILL}" for call in own_changes(bench, scenario)])


def test_errors_at_every_change(bench: Bench) -> None:
    """Each error at a few changes: with the other scenarios, each kind of change meets several."""
    turns = cycle(ERRORS)
    tries = [
        f"{call.place}/{error}" for call, error in zip(changes(bench, MAIN), turns, strict=False)
    ]
    survive(bench, MAIN, tries)


def test_errors_in_turn(bench: Bench) -> None:
    turns = cycle([kind for error in ERRORS for kind in (error, f"{error}+")])
    for number, scenario in enumerate(OTHERS):
        calls = own_changes(bench, scenario)[number % 2 :: 2]
        tries = [f"{call.place}/{kind}" for call, kind in zip(calls, turns, strict=False)]
        survive(bench, scenario, tries)


@pytest.mark.parametrize(("kind", "step"), [("disk full", 2), ("read-only", 6), ("disk gone", 6)])
def test_from_a_change_on(bench: Bench, kind: str, step: int) -> None:
    faults = [name for name in bench.reference(MAIN).faults if name.endswith(kind)]
    tries = [name.split("/", 2)[2] for name in faults]
    places = {call.place for call in changes(bench, MAIN)}
    survive(bench, MAIN, [one for one in tries if one.split("/")[0] in places][::step])


def test_the_thread_that_builds_filters(bench: Bench) -> None:
    places = all_places(bench, MAIN, WORKER)
    kinds = cycle([KILL, *ERRORS])
    tries = [f"{call.place}/{kind}" for call, kind in zip(places[::9], kinds, strict=False)]
    survive(bench, MAIN, tries, gate=WORKER)


@pytest.mark.parametrize("kind", [KILL, "ENOSPC", "EIO"])
def test_the_write_back(bench: Bench, kind: str) -> None:
    name = f"write-back/{WRITE_BACK}/fdatasync#1/{kind}"
    result = bench.attempt(name)
    assert result.is_reached
    assert not result.problems
    assert result.ending.status == (-9 if kind == KILL else 6)
    assert not result.aftermath.is_new


def test_a_process_of_its_own(bench: Bench) -> None:
    places = all_places(bench, MAIN, PROCESS)
    renaming = next(call for call in places if call.name == "renameat2")
    last = [call for call in places if call.name == "fsync"][-1]
    survive(bench, MAIN, [f"{renaming.place}/{KILL}", f"{last.place}/EIO"], gate=PROCESS)


def test_what_is_said_when_the_folder_cannot_be_synced(bench: Bench) -> None:
    last = [call for call in all_places(bench, "new name") if call.name == "fsync"][-1]
    name = f"new name/start/{last.place}/EIO"
    result = bench.attempt(name)
    assert (result.ending.status, result.ending.out, result.problems) == (6, "", ())
    assert result.ending.err == (
        f"bloomify: {OUTPUT}: the folder could not be synced: Input/output error. "
        "The new version is in place. "
        "Check the disk: a power failure may bring back what was there before.\n"
    )


def test_locks_that_are_forbidden_are_done_without(bench: Bench) -> None:
    name = f"{MAIN}/start/flock#1/EACCES+"
    result = bench.attempt(name)
    assert (result.ending.status, result.problems) == (0, ())
