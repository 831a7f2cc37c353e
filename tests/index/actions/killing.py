"""Run one action of an index again and again, and kill its process at one step after the other.

    python -m tests.index.actions.killing < tasks

A task is a line of JSON: [FOLDER, ACTION, HOW, FIRST, STRIDE]; the last two say which steps.
A step is a call that changes the index's folder: a file that is opened for writing, linked, renamed
or removed, a folder that is made or removed, an fsync. FOLDER holds `before/`, the table before
the action; for the n-th step it is copied to `at-n/`, where the action is begun in a process that
ends before its n-th step ("exit"), or has an error raised there ("raise", "interrupt"). Prints a
line with the number of the last copy, in which the action came to its end.

Copies keep the times of files, so the table's files are the same in all of them.
"""

from __future__ import annotations

import errno
import gc
import importlib
import json
import os
import shutil
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from parquet_bloomwriter import index
from parquet_bloomwriter.index.build.threads import ThreadEngine
from parquet_bloomwriter.index.format import slice_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

BUG, FAILED, SWALLOWED, KILLED = 1, 3, 4, 9
MOST = 500

_ACTIONS: dict[str, Callable[[Path], Any]] = {
    "create": lambda table: index.create(table, ["id"], name="ids", engine=ThreadEngine(jobs=1)),
    "optimize": lambda table: index.optimize(table, name="ids"),
    "vacuum": lambda table: index.vacuum(table, name="ids"),
    "delete": lambda table: index.delete(table, name="ids"),
    "restore": lambda table: index.restore(table, name="ids"),
    "cancel": lambda table: index.cancel(table, name="ids"),
    **{
        mode: lambda table, mode=mode: index.refresh(  # type: ignore[misc]
            table, name="ids", mode=mode, engine=ThreadEngine(jobs=1)
        )
        for mode in ("incremental", "full", "quick")
    },
}


def small_groups() -> AbstractContextManager[object]:
    """Write slices of the few filters of small tables, too."""
    return mock.patch.object(slice_file, "MIN_FILTERS", 2)


def _with_slices(action: Callable[[Path], Any]) -> Callable[[Path], Any]:
    def act(table: Path) -> Any:  # noqa: ANN401  passed on
        with small_groups():
            return action(table)

    return act


ACTIONS = {name: _with_slices(action) for name, action in _ACTIONS.items()}

_MODULES = (
    *(f"parquet_bloomwriter.index.actions.{name}" for name in ("create", "refresh", "optimize")),
    *(f"parquet_bloomwriter.index.{name}" for name in ("build.group", "query.lookup")),
    "parquet_bloomwriter.index.build.slices",
    *("pyarrow.compute", "pyarrow.parquet", "pandas"),
)

_CHANGING = {"os.link", "os.remove", "os.rename", "os.mkdir", "os.rmdir"}


class Steps:
    """Counts steps, and does something at one of them."""

    def __init__(self, home: str, at: int, how: str) -> None:
        self._home = home
        self._left = at
        self._how = how

        def fsync(_: object) -> None:  # nobody pulls the plug here
            self.step()

        os.fsync = fsync  # type: ignore[assignment]

    @property
    def is_over(self) -> bool:
        """Whether the step was there."""
        return self._left <= 0

    def look(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Receive Python's audit events."""
        is_opened = event == "open" and isinstance(arguments[2], int) and arguments[2] & 3
        if (event in _CHANGING or is_opened) and self._home in str(arguments[0]):
            self.step()

    def step(self) -> None:
        """Count one."""
        self._left -= 1
        if self._left:
            return
        if self._how == "exit":
            os._exit(KILLED)
        if self._how == "interrupt":
            raise KeyboardInterrupt
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _act(table: Path, action: str, at: int, how: str) -> int:
    """Run the action in a child; its exit code."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = BUG
    try:
        steps = Steps(str(table / "_bloom_index"), at, how)
        sys.addaudithook(steps.look)
        ACTIONS[action](table)
        code = SWALLOWED if steps.is_over else 0
    except (OSError, KeyboardInterrupt):
        code = FAILED
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        os._exit(code)


def _kill_at_each_step(folder: Path, action: str, how: str, steps: range) -> int:
    for number in steps:
        table = folder / f"at-{number}"
        shutil.copytree(folder / "before", table)
        code = _act(table, action, number, how)
        if code == 0:
            return number
        if code not in ({KILLED} if how == "exit" else {FAILED, SWALLOWED}):
            sys.exit(f"step {number} ended with {code}")
    sys.exit("there is no end")


def main() -> None:
    """Do it."""
    for module in _MODULES:  # once, not in every child
        importlib.import_module(module)
    gc.collect()
    gc.freeze()  # a collection in a child copies the pages of all that it looks at
    for line in sys.stdin:
        folder, action, how, first, stride = json.loads(line)
        steps = range(first, MOST, stride)
        print(_kill_at_each_step(Path(folder), action, how, steps), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
