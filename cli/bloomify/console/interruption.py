"""Ctrl-C and SIGTERM: undo what is under way, in every thread, and leave.

Python raises a signal's exception only in the main thread. The other threads notice the signal when
they next report to the progress bar; each then removes its temporary file.
"""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bloomify.exits import ExitCode

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from parquet_bloomwriter.progress import Bar


class Terminated(KeyboardInterrupt):
    """SIGTERM was received."""


_REASONS = {signal.SIGINT: KeyboardInterrupt, signal.SIGTERM: Terminated}


@contextmanager
def interruptible(bar: Bar) -> Iterator[None]:
    """Let both signals raise here and stop all threads that report to `bar`; then close it."""

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
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def interruption_code(error: KeyboardInterrupt) -> ExitCode:
    """Map an interruption to its exit code."""
    return ExitCode.TERMINATED if isinstance(error, Terminated) else ExitCode.INTERRUPTED
