"""Run scenarios one after the other, with a mark before and after each, for a tracer to see.

    strace ... python -m campaigns.power.stage SCRATCH NAME...

SCRATCH/NAME/before is what the run of scenario NAME found, SCRATCH/NAME/table what it left.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from campaigns.power.calls import read_calls
from campaigns.power.indexes import INDEX_SCENARIOS
from campaigns.power.recording import Record, look, record
from campaigns.power.scenarios import SCENARIOS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from campaigns.power.indexes import IndexScenario
    from campaigns.power.scenarios import Scenario

EVERY: dict[str, Scenario | IndexScenario] = {**SCENARIOS, **INDEX_SCENARIOS}
"""All scenarios, by name."""

TABLE, BEFORE = "table", "before"
_ROOT = Path(__file__).resolve().parents[2]
_MARK = "/the power may go from here/"
_LONGEST = 1 << 22
"""Bytes of one write that strace shows whole."""

_NOT_TRACED = (
    "read,pread64,preadv,preadv2,readv,futex,madvise,munmap,mprotect,brk,rt_sigaction,"
    "rt_sigprocmask,sched_yield,clock_nanosleep,getrandom,sched_getaffinity,getpid,gettid"
)
"""Calls that are frequent, and change no file."""


def run_traced(names: Sequence[str], scratch: Path) -> dict[str, Record]:
    """Run scenarios under strace, and read what they did.

    Raises:
        RuntimeError: If strace is missing or a run failed.
        UnknownCall: If something was done that is not understood.
    """
    tracer = shutil.which("strace")
    if tracer is None:
        raise RuntimeError("strace is missing: install it (Debian: apt-get install strace)")
    log = scratch / "strace.log"
    options = ["-f", "-y", "-xx", "-s", str(_LONGEST), "-e", f"trace=!{_NOT_TRACED}"]
    stage = [sys.executable, "-m", "campaigns.power.stage", str(scratch), *names]
    done = subprocess.run(
        [tracer, *options, "--seccomp-bpf", "-o", str(log), *stage],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the runs failed: {done.stderr}")
    parts = _parts(log.read_text(encoding="ascii"))
    return {name: _record(name, scratch / name, parts[name]) for name in names}


def _record(name: str, folder: Path, lines: Sequence[str]) -> Record:
    table = folder / TABLE
    return record(name, look(folder / BEFORE), table, read_calls(lines, str(table)))


def _parts(log: str) -> dict[str, list[str]]:
    """The lines of the log by scenario."""
    mark = "".join(f"\\x{byte:02x}" for byte in _MARK.encode())
    parts: dict[str, list[str]] = {}
    part: list[str] | None = None
    for line in log.splitlines():
        _, found, rest = line.partition(mark)
        if found:
            name = bytes.fromhex(rest.partition('"')[0].replace("\\x", "")).decode()
            part = None if part is not None else parts.setdefault(name, [])
        elif part is not None:
            part.append(line)
    return parts


def main() -> None:
    """Be the traced process."""
    scratch, *names = sys.argv[1:]
    for name in names:
        scenario = EVERY[name]
        table = Path(scratch, name, TABLE)
        table.mkdir(parents=True)
        scenario.prepare(table)
        shutil.copytree(table, table.with_name(BEFORE))
        os.access(_MARK + name, os.F_OK)
        scenario.act(table)
        os.access(_MARK + name, os.F_OK)


if __name__ == "__main__":
    main()
