"""Let the disk begin to write while the rest of a file is still being copied.

Without it the last `fsync` finds the whole file in memory and waits for all of it. A
helper thread that calls `fdatasync` after every `WRITE_BACK` bytes shortens copy + fsync of a
600 MB file in the page cache from 0.31 s to 0.20 s (ext4 on NVMe; 0.43 s to 0.40 s when
the source has to be read from the same disk too). Small files start no thread.

The kernel reports a failed write to each open file once only: an error met by the thread
would be hidden from the last `fsync`. So `check` raises it.
"""

from __future__ import annotations

import os
import threading

__all__ = ["WRITE_BACK", "WriteBack"]

WRITE_BACK = 128 << 20
"""Bytes between two write-backs. More often, they get in the way of the copying: at 32 MiB a copy
of 600 MB, while filters are being built, takes 1.0 s instead of 0.7 s."""

_sync_data = getattr(os, "fdatasync", os.fsync)


class WriteBack:
    """Early write-back of one open file."""

    def __init__(self, fd: int, *, every: int) -> None:
        """Watch `fd`; begin a write-back after every `every` bytes that are advanced."""
        self._fd = fd
        self._every = every
        self._pending = 0
        self._wake = threading.Event()
        self._stopping = False
        self._error: OSError | None = None
        self._thread: threading.Thread | None = None

    def advance(self, count: int) -> None:
        """Take note of `count` more bytes written to the file."""
        self._pending += count
        if self._pending >= self._every:
            self._pending = 0
            self._start()
            self._wake.set()

    def stop(self) -> None:
        """End the thread, and wait for the write-back that is under way."""
        self._stopping = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def check(self) -> None:
        """Raise the error that a write-back met, if any.

        Raises:
            OSError: Bytes of the file could not be stored.
        """
        if self._error is not None:
            raise self._error

    def _start(self) -> None:
        if self._thread is None:
            own = os.dup(self._fd)  # stays valid however the main thread ends
            self._thread = threading.Thread(target=self._run, args=(own,), daemon=True)
            self._thread.start()

    def _run(self, fd: int) -> None:
        try:
            while self._wake.wait() and not self._stopping:
                self._wake.clear()
                _sync_data(fd)
        except OSError as error:
            self._error = error
        finally:
            os.close(fd)
