"""A process that has loaded everything, and forks a child for each command: `bloomify` in 20 ms.

    python -m campaigns.races.server

A line of JSON on standard input is a list of jobs (see `Job`), which begin at the same time. Each
is a child that does what `python -m bloomify` does. A line of JSON is printed when a child stops
itself at the step asked for, and one when all have ended.

A step is a call by which the package, or the interpreter for it, looks at or changes files.
"""

from __future__ import annotations

import fcntl
import gc
import importlib
import json
import os
import resource
import signal
import sys
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import bloomify.main
from parquet_bloomwriter.replace import commit
from parquet_bloomwriter.replace.names import exchange
from parquet_bloomwriter.source import local

if TYPE_CHECKING:
    from collections.abc import Callable

LOADED = (
    *(f"bloomify.commands.{verb}" for verb in ("add", "strip", "verify", "probe", "inspect")),
    *("bloomify.commands.index", "bloomify.commands.index.runner", "bloomify.views.index"),
    *("bloomify.views.add", "bloomify.runner", "bloomify.views", "locale"),
    *("numpy.ma", "parquet_bloomwriter.verbs.for_each_file"),
    *("parquet_bloomwriter.verbs.add", "parquet_bloomwriter.verbs.strip"),
    *("parquet_bloomwriter.verbs.verify", "parquet_bloomwriter.verbs.probe"),
    *("parquet_bloomwriter.index.actions.create", "parquet_bloomwriter.index.actions.lifecycle"),
    *("parquet_bloomwriter.index.build.threads", "parquet_bloomwriter.index.api"),
    *("pyarrow.compute", "pyarrow.parquet", "thrift.protocol.TCompactProtocol"),
)
"""Modules that commands import."""

_STEPS = (
    *("open", "stat", "fstat", "pread", "preadv", "write", "copy_file_range", "fsync"),
    *("fchmod", "fchown", "listxattr", "getxattr", "setxattr", "listdir"),
    *("link", "rename", "replace", "unlink"),
)
"""Names in `os`."""


class Steps:
    """Counts steps, and stops the process before one of them, or notes all their names."""

    def __init__(self, *, stop_at: int, notes: str | None) -> None:
        self._stop_at = stop_at
        self._notes = notes
        self._count = 0

    def watch(self) -> None:
        """Begin to count."""
        for name in _STEPS:
            setattr(os, name, self._counted(name, getattr(os, name)))
        local._pread = os.pread  # noqa: SLF001  bound when it was imported
        commit.exchange = self._counted("exchange", exchange)  # type: ignore[attr-defined]  # its own name for it
        fcntl.flock = self._counted("flock", fcntl.flock)
        pa.OSFile = self._counted("OSFile", pa.OSFile)

    def _counted(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  as the wrapped function
            self._step(name)
            return real(*args, **kwargs)

        return call

    def _step(self, name: str) -> None:
        self._count += 1
        if self._notes is not None:
            with open(self._notes, "a", encoding="utf-8") as file:  # noqa: PTH123  no step of its own
                file.write(name + "\n")
        if self._count == self._stop_at:
            os.kill(os.getpid(), signal.SIGSTOP)


def main() -> None:
    """Take jobs until standard input ends."""
    for name in LOADED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # a collection in a child copies the pages of all that it looks at
    for line in sys.stdin:
        _tell({"ended": _run(json.loads(line))})


def _run(jobs: list[dict[str, Any]]) -> list[int]:
    """Run children at once; return their exit codes, negative for signals."""
    gate, opener = os.pipe()
    children = [_begin(job, gate, opener) for job in jobs]
    os.close(gate)
    os.close(opener)  # now they all begin
    codes: dict[int, int] = {}
    while len(codes) < len(children):
        child, status = os.waitpid(-1, os.WUNTRACED)
        if os.WIFSTOPPED(status):
            _tell({"stopped": child})
        else:
            codes[child] = os.waitstatus_to_exitcode(status)
    return [codes[child] for child in children]


def _begin(job: dict[str, Any], gate: int, opener: int) -> int:
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        os.close(opener)
        os.read(gate, 1)
        os.close(gate)
        _become(job)
        bloomify.main.main()
    except SystemExit as ending:
        code = ending.code if isinstance(ending.code, int) else 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return 0


def _become(job: dict[str, Any]) -> None:
    """Make this child what the job wants it to be."""
    os.chdir(job["folder"])
    for number, path in ((1, job["out"]), (2, job["err"])):
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(fd, number)
        os.close(fd)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.argv = ["bloomify", *job["arguments"]]
    steps = Steps(stop_at=job["stop_at"], notes=job["notes"])
    for name, most in job["limits"].items():
        resource.setrlimit(getattr(resource, name), (most, most))
    if job["stop_at"] or job["notes"]:
        steps.watch()


def _tell(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
