"""Run commands in children of a nursery, under strace or alone."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from campaigns.syscalls.nursery import NOWHERE, START

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parents[2]
HANG_SECONDS = 120.0
"""A command that takes longer is taken to hang, and killed."""

HUNG = -1000
"""The status of a command that was killed for that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One command."""

    arguments: tuple[str, ...]
    folder: Path
    """Its working directory."""

    write_back: int | None = None
    """Bytes between two write-backs; None for the usual number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What a command came to."""

    status: int
    """Exit code; minus the signal's number if one killed it; `HUNG` if it did not end."""

    out: str
    err: str
    log: tuple[str, ...] = ()
    """What strace wrote, line by line."""

    @property
    def is_killed(self) -> bool:
        """Whether the injected signal ended it."""
        return self.status == -signal.SIGKILL


def find_strace() -> str:
    """Where strace is.

    Raises:
        RuntimeError: If it is not installed.
    """
    found = shutil.which("strace")
    if found is None:
        raise RuntimeError("strace is missing: install it (Debian: apt-get install strace)")
    return found


class Nursery:
    """A nursery in a process of its own."""

    def __init__(self, scratch: Path) -> None:
        """Begin; logs are kept in `scratch` until they are read."""
        self._log = scratch / "strace.log"
        self._strace = find_strace()
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "campaigns.syscalls.nursery"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env=_environment(),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._process:  # closes its standard input, at which it ends, and waits
            pass

    def warm_up(self, task: Task) -> None:
        """Import what the command imports, once and for all children."""
        self._ask(task, gate=NOWHERE, modules=True)
        self._hear()

    def run(self, task: Task) -> Ending:
        """Run a command alone."""
        self._ask(task, gate=NOWHERE)
        return _ending(self._hear())

    def run_traced(
        self, task: Task, injections: Sequence[str] = (), *, gate: str = START, follow: bool = False
    ) -> Ending:
        """Run a command and let strace inject faults into the thread that stands at the gate.

        Args:
            task: The command.
            injections: As strace has them behind `-e inject=`.
            gate: Where tracing begins.
            follow: Trace all threads; each counts calls on its own.
        """
        self._ask(task, gate=gate)
        at_gate = self._hear()
        if "tid" not in at_gate:
            return _ending(at_gate)
        options = [f"-einject={injection}" for injection in injections]
        command = [self._strace, "-y", "-s0", "-o", self._log, "-p", at_gate["tid"], *options]
        with subprocess.Popen(
            [*map(str, command), *(["-f"] if follow else [])], stderr=subprocess.PIPE, text=True
        ) as tracer:
            said = tracer.stderr.readline() if tracer.stderr else ""
            if "attached" not in said:
                os.kill(at_gate["pid"], signal.SIGKILL)
                raise RuntimeError(f"strace does not attach: {said}")
            os.kill(at_gate["pid"], signal.SIGCONT)
            answer = self._hear(at_gate["pid"])
            tracer.communicate()
        return _ending(answer, self._log.read_text(errors="replace").splitlines())

    def _ask(self, task: Task, *, gate: str, modules: bool = False) -> None:
        question = {
            "arguments": task.arguments,
            "folder": str(task.folder),
            "write_back": task.write_back,
            "gate": gate,
            "modules": modules,
        }
        stdin = self._process.stdin
        assert stdin is not None
        stdin.write(json.dumps(question).encode() + b"\n")
        stdin.flush()

    def _hear(self, pid: int | None = None) -> dict[str, Any]:
        """Wait for an answer; a child that takes too long is killed."""
        stdout = self._process.stdout
        assert stdout is not None
        is_late = not select.select([stdout], [], [], HANG_SECONDS)[0]
        if is_late and pid is not None:
            os.kill(pid, signal.SIGKILL)
        line = stdout.readline()
        if not line:
            raise RuntimeError("the nursery has ended")
        return {**json.loads(line), "hung": is_late}


def run_process(task: Task, injections: Sequence[str], log: Path) -> Ending:
    """Run a command as users do, in a process of its own, its main thread under strace."""
    options = [f"-einject={injection}" for injection in injections]
    command = [sys.executable, "-m", "bloomify", *task.arguments]
    done = subprocess.run(
        [find_strace(), "-y", "-s0", "-o", log, *options, *command],
        cwd=task.folder,
        env=_environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_SECONDS,
    )
    lines = log.read_text(errors="replace").splitlines()
    return Ending(status=done.returncode, out=done.stdout, err=done.stderr, log=tuple(lines))


def _environment() -> dict[str, str]:
    """What makes the package be that of this tree, and runs as alike as they can be."""
    path = os.pathsep.join(map(str, (ROOT, ROOT / "cli")))
    fixed = {"PYTHONPATH": path, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
    return {**os.environ, **fixed}


def _ending(answer: dict[str, Any], log: Sequence[str] = ()) -> Ending:
    status = HUNG if answer["hung"] else answer["status"]
    return Ending(status=status, out=answer["out"], err=answer["err"], log=tuple(log))
