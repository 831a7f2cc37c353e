"""The judge itself: what it reads in logs, and that it condemns what must not be."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from campaigns.syscalls.aftermath import Aftermath
from campaigns.syscalls.calls import parse, places
from campaigns.syscalls.faults import fault_at
from campaigns.syscalls.folders import Entry, Folder, look, put
from campaigns.syscalls.judging import problems_of, undurable
from campaigns.syscalls.scenarios import FILE, Scenario
from campaigns.syscalls.traced import Ending

FOLDER = Path("/data")
NEW = "/data/.a.parquet.bloomify-0123456789abcdef.tmp"
LOG = f"""\
newfstatat(AT_FDCWD</data>, "/lib", 0x7ffc, 0) = -1 ENOENT (No such file or directory)
openat(AT_FDCWD</data>, "/data/a.parquet", O_RDONLY) = 3</data/a.parquet>
futex(0x7f, FUTEX_WAKE_PRIVATE, 1)      = 1
openat(AT_FDCWD</data>, "{NEW}", O_RDWR|O_CREAT, 0600) = 4<{NEW}>
copy_file_range(3</data/a.parquet>, [0], 4<{NEW}>, NULL, 4, 0) = 4
write(4<{NEW}>, ""..., 80) = 80
fsync(4<{NEW}>) = 0
rename("{NEW}", "/data/a.parquet") = 0
openat(AT_FDCWD</data>, "/data", O_RDONLY|O_DIRECTORY) = 5</data>
fsync(5</data>) = 0
exit_group(0)                           = ?
+++ exited with 0 +++
""".splitlines()
ME = (os.geteuid(), os.getegid())
OLD, DONE = (Entry(data=data, mode=0o640, owner=ME) for data in (b"old", b"new"))
SCENARIO = Scenario(name="test", before={FILE: OLD}, arguments=())


def complaints(*, without: str) -> list[str]:
    log = [line for line in LOG if not line.startswith(without)]
    return list(undurable(parse(log), FOLDER, denied=False))


def test_calls_are_numbered_by_name() -> None:
    calls = parse(LOG)
    assert [call.place for call in calls if call.name == "openat"] == [
        "openat#1",
        "openat#2",
        "openat#3",
    ]
    found = places(calls, since=FILE)
    assert [call.name for call in found][:2] == ["openat", "openat"]
    assert {call.name for call in found} & {"futex", "exit_group", "newfstatat"} == set()
    assert [c.name for c in places(calls, since="lib", mentioning=["/lib"])] == ["newfstatat"]


def test_a_run_that_syncs_everything_is_durable() -> None:
    assert complaints(without="nothing") == []


def test_a_missing_sync_is_noticed() -> None:
    assert complaints(without="fsync(4") == ["a.parquet got its name before its bytes were synced"]
    assert complaints(without="fsync(5") == [
        "the folder was not synced after ['a.parquet'] got their names"
    ]


def test_a_sync_that_failed_is_none() -> None:
    failed = [
        line.replace("= 0", "= -1 EIO (Input/output error) (INJECTED)")
        if line.startswith("fsync(4")
        else line
        for line in LOG
    ]
    assert [call.is_injected for call in parse(failed)].count(True) == 1
    assert list(undurable(parse(failed), FOLDER, denied=False))


def test_once_sticky_and_from_there_on() -> None:
    calls = parse(LOG)
    write = next(call for call in calls if call.name == "write")
    injections = {
        kind: fault.injections
        for kind in ("kill", "EIO", "EIO+", "EINTR+", "disk full")
        if (fault := fault_at(write, kind, calls)) is not None
    }
    assert injections["kill"] == ("write:signal=SIGKILL:when=1",)
    assert injections["EIO"] == ("write:error=EIO:when=1",)
    assert injections["EIO+"] == ("write:error=EIO:when=1+",)
    assert injections["EINTR+"] == ("write:error=EINTR:when=1..5",)
    assert "copy_file_range:error=ENOSPC:when=2+" in injections["disk full"]
    assert "fsync:error=ENOSPC:when=1+" in injections["disk full"]


def test_every_wrong_outcome_is_condemned(tmp_path: Path) -> None:
    half = replace(OLD, data=b"ne")
    shown = replace(OLD, mode=0o644)
    temporary = ".a.parquet.bloomify-0123456789abcdef.tmp"
    untrue = Ending(status=6, out="", err="bloomify: a: no. The file was left unchanged.\n")
    told = replace(untrue, err="bloomify: a: no. The new version is in place.\n")
    bug = Ending(status=1, out="", err="Traceback (most recent call last):\n")
    done = Ending(status=0, out="", err="")
    cases: list[tuple[Folder, Ending, str]] = [
        ({FILE: OLD}, untrue, ""),
        ({FILE: DONE}, done, ""),
        ({FILE: DONE}, told, ""),
        ({FILE: half}, untrue, "neither old nor new"),
        ({}, untrue, "neither old nor new"),
        ({FILE: OLD}, done, "exit code 0"),
        ({FILE: DONE}, untrue, "but the user is told"),
        ({FILE: OLD}, told, "not new, but the user is told"),
        ({FILE: OLD}, replace(untrue, err=2 * untrue.err), "more than one line"),
        ({FILE: OLD}, bug, "a traceback"),
        ({FILE: OLD}, replace(untrue, status=70), "exit code 70"),
        ({FILE: OLD}, replace(untrue, err=""), "without a reason"),
        ({FILE: replace(DONE, mode=0o666)}, done, "has mode 666"),
        ({FILE: OLD, temporary: half}, untrue, "left over"),
        ({FILE: OLD, "rubbish": half}, untrue, "nobody recognises"),
        ({FILE: OLD, temporary: shown}, untrue, "has mode 644"),
    ]
    calls = parse(LOG)
    fault = fault_at(calls[1], "EIO", calls)
    assert fault is not None
    for number, (found, ending, expected) in enumerate(cases):
        folder = tmp_path / str(number)
        put(folder, found)
        aftermath = Aftermath.of(SCENARIO, {FILE: DONE}, fault, ending, folder)
        problems = list(problems_of(aftermath, is_worker=False))
        assert any(expected in problem for problem in problems) == bool(expected), problems
        assert look(folder) == found
