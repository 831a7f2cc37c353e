"""Ctrl-C and SIGTERM, the signals that end a run, and its exit code.

They undo what is under way, in every thread. Python raises a signal's exception only in the main
thread. The other threads notice the signal when they next report to the progress bar; each then
removes its temporary file.
"""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from bloomify.exits import ExitCode
from parquet_bloomwriter.text import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from parquet_bloomwriter.progress import Bar


class Terminated(KeyboardInterrupt):
    """The exception for a SIGTERM that was received."""


_REASONS = {signal.SIGINT: KeyboardInterrupt, signal.SIGTERM: Terminated}


def terminate(_number: int, _frame: FrameType | None) -> NoReturn:
    """Raise `Terminated` on SIGTERM, as Python's own handler raises for Ctrl-C.

    Raises:
        Terminated: Always.
    """
    raise Terminated


@contextmanager
def interruptible(bar: Bar) -> Iterator[None]:
    """Let both signals raise in the block, and stop all threads that report to `bar`; close it."""

    def interrupt(number: int, _frame: FrameType | None) -> None:
        reason = _REASONS[signal.Signals(number)]
        bar.stop(reason)
        raise reason

    is_main = threading.current_thread() is threading.main_thread()
    numbers = _REASONS if is_main else ()
    before = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        with bar:
            yield
    except RuntimeError as error:
        # A signal within a wait for threads can leave it without its lock, which says so; `counted`
        # knows that, too.
        if isinstance(error.__context__, KeyboardInterrupt):
            raise error.__context__ from None
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def counted(num_files: int, done: Callable[[], int]) -> Iterator[None]:
    """Let an interruption of the block say how many files were done before it.

    Args:
        num_files: Number of all files; a single file is not counted.
        done: Returns the number of files that are done.
    """
    try:
        yield
    except (KeyboardInterrupt, RuntimeError) as error:
        reason = error.__context__ if isinstance(error, RuntimeError) else error
        if isinstance(reason, KeyboardInterrupt) and num_files > 1:
            late = sum(note.endswith(": done") for note in getattr(reason, "__notes__", ()))
            reason.args = (f"after {done() + late:,} of {count(num_files, 'file')}",)
        raise


def interruption_text(error: KeyboardInterrupt) -> str:
    """Return one sentence on an interruption."""
    return " ".join(["interrupted", *map(str, error.args)]) + "."


def interruption_code(error: KeyboardInterrupt) -> ExitCode:
    """Return the exit code of an interruption."""
    return ExitCode.TERMINATED if isinstance(error, Terminated) else ExitCode.INTERRUPTED
