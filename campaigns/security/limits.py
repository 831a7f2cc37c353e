"""Bounds for what a hostile file may make us do: time, and memory."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

HANG_SECONDS = 30.0


@contextlib.contextmanager
def no_hang(seconds: float = HANG_SECONDS) -> Iterator[None]:
    """Raise in the body if it takes too long; system calls that wait are interrupted.

    Raises:
        TimeoutError: If so.
    """

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"it takes longer than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def little_memory(more: int) -> Iterator[None]:
    """Let the process have only so many bytes of address space more than it has now."""
    with open("/proc/self/statm", encoding="ascii") as statm:  # noqa: PTH123
        held = int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (held + more, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
