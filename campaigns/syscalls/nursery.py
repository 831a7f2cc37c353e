"""Start `bloomify` in a few milliseconds, standing still where a tracer is to be attached.

    python -m campaigns.syscalls.nursery

A warm process that has everything imported forks one child for each task, a line of JSON on its
standard input. The child is the command from `bloomify.main.main` on, exit code and all; what the
interpreter does before that has nothing to do with the file. At its gate the child stops itself:

    "start"   before the command begins, in the main thread
    "worker"  in the thread that builds filters, before its first task
    ""        nowhere

Answers are lines of JSON, too: `{"tid": ...}` when a child stands at its gate, and
`{"status": ..., "out": ..., "err": ...}` when it has ended, with its status as by `waitpid`.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import importlib
import json
import mmap
import os
import signal
import sys
import threading
import traceback
import warnings
from typing import Any, NoReturn

from bloomify.main import main as command
from parquet_bloomwriter import parallel
from parquet_bloomwriter.replace import commit

START, WORKER, NOWHERE = "start", "worker", ""
_TID_BYTES = 8
_SET_PTRACER, _ANYBODY = 0x59616D61, -1
"""PR_SET_PTRACER of prctl(2): where Yama minds, only ancestors may trace a process otherwise."""
LOST = 99
"""The exit code of a child that came back from the command, which it never should."""


def main() -> None:
    """Serve until standard input ends."""
    warnings.simplefilter("ignore")
    gc.disable()  # collecting in a child would copy every page of the parent
    for line in sys.stdin:
        task = json.loads(line)
        if task.get("modules"):
            _warm_up(task)
            _answer({})
        else:
            _serve(task)


def _warm_up(task: dict[str, Any]) -> None:
    """Import what a child of this task imports."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            _run(task, _memory_files())
        except SystemExit:
            os.write(writer, json.dumps(sorted(sys.modules)).encode())
        finally:
            os._exit(LOST)
    os.close(writer)
    with os.fdopen(reader) as told:
        names = json.loads(told.read())
    os.waitpid(child, 0)
    for name in names:
        with contextlib.suppress(ImportError):  # some are made by others, under no name of a file
            importlib.import_module(name)


def _serve(task: dict[str, Any]) -> None:
    files = _memory_files()
    page = mmap.mmap(-1, _TID_BYTES)  # shared with the child, and written without a system call
    child = os.fork()
    if not child:
        _be_child(task, files, page)
    if task["gate"]:
        _, status = os.waitpid(child, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            _answer(_ending(status, files))
            return
        _answer({"pid": child, "tid": int.from_bytes(page[:], "little")})
    _, status = os.waitpid(child, 0)
    _answer(_ending(status, files))


def _be_child(task: dict[str, Any], files: tuple[int, int], page: mmap.mmap) -> NoReturn:
    def gate() -> None:
        page[:] = threading.get_native_id().to_bytes(_TID_BYTES, "little")
        os.kill(os.getpid(), signal.SIGSTOP)

    if task["gate"]:
        ctypes.CDLL(None).prctl(_SET_PTRACER, ctypes.c_ulong(_ANYBODY))  # may fail: not all ask
    if task["gate"] == WORKER:
        pool = functools.partial(parallel.WorkerPool, initializer=gate)
        vars(parallel)["WorkerPool"] = pool
    try:
        if task["gate"] == START:
            gate()
        _run(task, files)
    except BaseException:  # noqa: BLE001  what the interpreter would do with it
        traceback.print_exc()
    finally:
        os._exit(LOST)


def _run(task: dict[str, Any], files: tuple[int, int]) -> None:
    for number, file in enumerate(files, start=1):
        os.dup2(file, number)
    os.chdir(task["folder"])
    os.umask(0o022)
    if task["write_back"]:
        vars(commit)["WRITE_BACK"] = task["write_back"]
    if task.get("modules"):
        os._exit = sys.exit  # type: ignore[assignment]
    sys.argv = ["bloomify", *task["arguments"]]
    command()


def _memory_files() -> tuple[int, int]:
    return os.memfd_create("out"), os.memfd_create("err")


def _ending(status: int, files: tuple[int, int]) -> dict[str, Any]:
    texts = []
    for file in files:
        os.lseek(file, 0, os.SEEK_SET)
        with os.fdopen(file, encoding="utf-8", errors="replace") as printed:
            texts.append(printed.read())
    return {"status": os.waitstatus_to_exitcode(status), "out": texts[0], "err": texts[1]}


def _answer(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
