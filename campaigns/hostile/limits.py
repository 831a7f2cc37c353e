"""What one try may take: five seconds of the processor, and 64 MiB of memory beyond its file.

A try that takes longer ends the process, with a traceback: the parent charges it to the number
that it was at. Time counts as the processor's, so that a loaded machine makes no difference; the
parent's own patience covers sleep. Memory is the process's peak, which the kernel sets back on
request, and the peak of pyarrow's pool, which counts what was reserved and never touched.
"""

from __future__ import annotations

import faulthandler
import os
import resource
import signal
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator

CPU_SECONDS = 5
ALLOWED_BYTES = 64 << 20
"""Beyond the size of the file."""

_ALL_BYTES = 4 << 30
"""Of one process: what asks for more gets an error, not the machine's memory."""

_RESET_PEAK = b"5"


def in_memory() -> str | None:
    """Return a folder whose files are in memory: flushing takes long; None if there is none."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108


@dataclass(slots=True, kw_only=True)
class Use:
    """What a try took."""

    peak_bytes: int = 0
    """Resident memory beyond what there was when it began, at most."""

    pool_bytes: int = 0
    """Of pyarrow's pool, if it never took more before; otherwise 0."""


@dataclass(slots=True)
class Meter:
    """Measures one try after the other in this process."""

    _clear: int = field(default_factory=lambda: os.open("/proc/self/clear_refs", os.O_WRONLY))
    _status: int = field(default_factory=lambda: os.open("/proc/self/status", os.O_RDONLY))
    _pool_peak: int = 0

    def __post_init__(self) -> None:
        """End the process when a try takes too long, and keep it within its bounds."""
        faulthandler.register(signal.SIGPROF, all_threads=False, chain=True)
        resource.setrlimit(resource.RLIMIT_DATA, (_ALL_BYTES, _ALL_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    @contextmanager
    def measured(self) -> Iterator[Use]:
        """Measure what is done inside."""
        use = Use()
        os.write(self._clear, _RESET_PEAK)
        before = self._kibibytes(b"VmRSS:")
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
        try:
            yield use
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        use.peak_bytes = (self._kibibytes(b"VmHWM:") - before) << 10
        pool = pa.default_memory_pool().max_memory()
        if pool > self._pool_peak:
            self._pool_peak = use.pool_bytes = pool

    def _kibibytes(self, name: bytes) -> int:
        status = os.pread(self._status, 4096, 0)
        at = status.index(name) + len(name)
        return int(status[at : status.index(b"kB", at)])
