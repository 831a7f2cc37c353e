"""An entry of the log on a disk: killed, or failing, at every system call of its creation."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest

from campaigns.syscalls.traced import ROOT, find_strace
from parquet_bloomwriter.delta.place import place_of

if TYPE_CHECKING:
    from pathlib import Path

NAME = "00000000000000000001.json"
DATA = b'{"commitInfo":{"txnId":"attempt-1"}}\n' * 500
BEGIN = "/the/creation/begins"
CALLS = (
    "open,openat,write,pwrite64,fsync,fdatasync,fchmod,link,linkat,unlink,rename,renameat2,close"
)
KILL, ERRORS = "signal=KILL", ("error=EIO", "error=ENOSPC", "error=EINTR")
_CALL = re.compile(r"(?:\d+ +)?(\w+)\(")

PROGRAM = f"""
import ctypes, os, sys
from parquet_bloomwriter.delta.place.local import LocalPlace
data = {DATA!r}
try:
    os.open({BEGIN!r}, os.O_RDONLY)
except OSError:
    pass
try:
    created = LocalPlace(sys.argv[1]).create_entry({NAME!r}, data, attempt="attempt-1")
except BaseException as error:
    created = type(error).__name__
os.write(1, str(created).encode())
os._exit(0)
"""


class Ended(NamedTuple):
    """What came of a try."""

    said: str
    """True, False, or the name of an error; "" if it was killed."""

    calls: list[str]
    """System calls of the creation, in order, and those before it, by name."""

    before: int
    """How many of the calls came before it."""


def create(table: Path, *inject: str) -> Ended:
    """Create the entry under strace."""
    log = table.parent / "strace.log"
    options = [part for one in inject for part in ("-e", f"inject={one}")]
    trace = ["-f", "-qq", "-o", os.fspath(log), "-e", f"trace={CALLS}", *options]
    done = subprocess.run(
        [find_strace(), *trace, sys.executable, "-c", PROGRAM, os.fspath(table)],
        cwd=ROOT,
        capture_output=True,
        check=False,
        text=True,
        timeout=100,
    )
    lines = log.read_text(errors="replace").splitlines()
    calls = [(match[1], line) for line in lines if (match := _CALL.match(line))]
    before = next(n for n, (_, line) in enumerate(calls) if BEGIN in line) + 1
    return Ended(done.stdout, [name for name, _ in calls], before)


def table_in(folder: Path) -> Path:
    log = folder / "t" / "_delta_log"
    log.mkdir(parents=True)
    (log / "00000000000000000000.json").write_bytes(b"{}\n")
    return folder / "t"


@pytest.mark.parametrize("standing", ["", "link,linkat:error=EPERM"])
def test_whole_or_not_at_all(tmp_path: Path, standing: str) -> None:
    always = (standing,) if standing else ()
    (tmp_path / "first").mkdir()
    whole = create(table_in(tmp_path / "first"), *always)
    assert whole.said == "True"
    creation = whole.calls[whole.before : -1]  # without the last one, which says what came of it
    assert {"fsync", "write"} <= set(creation)
    links = [place for place, name in enumerate(creation) if name in ("link", "linkat")]
    begins = links[0] if standing else 0  # until then, both do the same
    outcomes = set()
    for place, name in enumerate(creation):  # a kill at each, and the errors in turn
        count = whole.calls[: whole.before + place + 1].count(name)
        if place < begins or (standing and place in links):
            continue
        for fault in (KILL, ERRORS[place % len(ERRORS)]):
            folder = tmp_path / f"{place}-{fault}"
            folder.mkdir()
            table = table_in(folder)
            said = create(table, *always, f"{name}:{fault}:when={count}").said
            outcomes.add(judge(table, said, where=f"{place} {name} {fault}"))
    assert outcomes >= {"whole after a kill", "absent after a kill", "absent after an error"}


def judge(table: Path, said: str, *, where: str) -> str:
    """Check what is there, and that the next run goes on."""
    log = table / "_delta_log"
    is_there = (log / NAME).exists()
    if is_there:
        assert (log / NAME).read_bytes() == DATA, where
    names = {one.name for one in log.iterdir()}
    visible = {one for one in names if not one.startswith(".")}
    assert visible == {"00000000000000000000.json", *([NAME] if is_there else [])}, where
    if said in ("True", "OutcomeUnknown"):
        assert is_there, where
    elif said:
        assert (said, is_there) == ("OSError", False) or said == "InterruptedError", where
    place = place_of(table)
    place.check_commits()
    assert place.create_entry(NAME, b"next", attempt="attempt-2") == (not is_there), where
    assert {one.name for one in log.iterdir()} == {"00000000000000000000.json", NAME}, where
    what = "whole" if is_there else "absent"
    return f"{what} after {'a kill' if not said else 'an error' if said != 'True' else 'success'}"
