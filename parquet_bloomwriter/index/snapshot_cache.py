"""Snapshots that were opened lately, as long as the log is what it was then.

Entries are written once: as long as the log's folder lists the same names, and is the same folder,
the newest stable entry is the same.
"""

# ruff: noqa: PTH118, PTH116, PTH208  paths are strings, as in the entries
from __future__ import annotations

import os
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING

from parquet_bloomwriter.index.layout import LOG

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from parquet_bloomwriter.index.query.snapshot import Snapshot

_MAX_BYTES = 512 * 1024 * 1024
"""Of all snapshots but the newest."""


class SnapshotCache:
    """Safe in threads."""

    def __init__(self, max_bytes: int = _MAX_BYTES) -> None:
        """Keep so many bytes, but always the newest snapshot."""
        self._max_bytes = max_bytes
        self._kept: OrderedDict[str, tuple[Hashable, Snapshot]] = OrderedDict()
        self._lock = Lock()

    def get(self, folder: str) -> Snapshot | None:
        """Return the snapshot of an index; None if there is none, or it is not of this log."""
        with self._lock:
            found = self._kept.get(folder)
        if found is None or found[0] != _state_of(folder) or found[1].problem is not None:
            return None
        with self._lock:
            if folder in self._kept:
                self._kept.move_to_end(folder)
        return found[1]

    def put(self, folder: str, open_: Callable[[str, Snapshot | None], Snapshot]) -> Snapshot:
        """Open the snapshot of an index, and keep it.

        Args:
            folder: The index's.
            open_: Opens it; told of the one that was kept so far, which it may return.

        Raises:
            Exception: Whatever opening raises; nothing is kept then.
        """
        with self._lock:
            _, before = self._kept.pop(folder, (None, None))
        state = _state_of(folder)  # Before: what is written meanwhile is noticed the next time.
        snapshot = open_(folder, before)
        with self._lock:
            self._kept[folder] = (state, snapshot)
            self._kept.move_to_end(folder)
            held = sum(one.num_bytes_held for _, one in self._kept.values())
            while held > self._max_bytes and len(self._kept) > 1:
                _, (_, oldest) = self._kept.popitem(last=False)
                held -= oldest.num_bytes_held
        return snapshot


def _state_of(folder: str) -> Hashable:
    """What changes when the log does."""
    log = os.path.join(folder, LOG)
    found = os.stat(log)
    place = (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns)
    return (*place, frozenset(os.listdir(log)))
