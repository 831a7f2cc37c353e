"""The identity of a table's file: the values that show whether the file is unchanged.

A file is identified by path, size and time of modification (in milliseconds, as in Hadoop). If any
of these differs, it is another file, which the index does not know. An object on a store is
identified by path, size and ETag, if both identities have an ETag.

The clock of a file system advances every few milliseconds. A file that was written a moment ago may
be written again without a change of its time. So a file that is read for the index is looked at
again after that moment. Some file systems and mounted stores store whole seconds only. A file whose
time is a whole second might be on such a file system: it is not indexed within two seconds of that
time, so that no later state can have the same time. A file server has a clock of its own, so its
time is read from a temporary file, made where the index is written or else beside the file. If the
time cannot be read, or the file's time is ahead of it, the file is not indexed.
"""

# ruff: noqa: PTH108, PTH116, PTH120  paths are strings, as in the entries
from __future__ import annotations

import contextlib
import os
import tempfile
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from parquet_bloomwriter.index.layout import path_in, relative_path

if TYPE_CHECKING:
    from collections.abc import Iterable

_NS_PER_MS, _NS_PER_S = 1_000_000, 1_000_000_000
_TICK_NS = 20_000_000
"""Upper bound for one step of a file system's clock, nanoseconds."""

_COARSE_TICK_NS = 2 * _NS_PER_S
"""Upper bound for one step of the clock if the file system stores whole seconds only, nanoseconds
(FAT: even seconds)."""

_MAX_SKEW_NS = 24 * 3600 * _NS_PER_S
"""Upper bound for the difference between the clocks of a file server and of this machine,
nanoseconds."""


@dataclass(frozen=True, slots=True, order=True)
class FileId:
    """The identity of a file in one state: path, size, time of modification."""

    path: str
    """Path relative to the table's root, with "/"; absolute if the file is outside of the root."""

    size: int
    """Size of the file, bytes."""

    modified_ms: int
    """Time of modification, milliseconds since 1970 UTC, rounded down."""

    etag: ClassVar[str] = ""
    """The ETag of an object; files on a disk have no ETag."""

    def is_same(self, other: FileId) -> bool:
        """Return whether both identities are those of the same file in the same state."""
        if (self.path, self.size) != (other.path, other.size):
            return False
        if self.etag and other.etag:
            return self.etag == other.etag
        return self.modified_ms == other.modified_ms


@dataclass(frozen=True, slots=True, order=True)
class ObjectId(FileId):
    """The identity of an object on a store; a subclass, as there are very many `FileId`."""

    etag: str  # type: ignore[misc]  # the base class has the empty one for all its instances
    """The ETag without its quotes; empty if it is weak."""


@dataclass(frozen=True, slots=True, order=True)
class LoggedFile(FileId):
    """The identity of a file by a table's metadata; its time may differ from the file system's."""


def are_unchanged(
    paths: Iterable[str], sizes: Iterable[int], modified_ms: Iterable[int]
) -> list[bool]:
    """Look at files, and return for each whether it still has this size and time of modification.

    The answer is False for a file that is gone or cannot be looked at.

    Args:
        paths: Absolute.
        sizes: Bytes.
        modified_ms: As in `FileId`.
    """
    stat, found = os.stat, []
    for path, size, modified in zip(paths, sizes, modified_ms, strict=True):
        try:
            now = stat(path)
        except (OSError, ValueError):
            found.append(False)
        else:
            found.append(now.st_size == size and now.st_mtime_ns // _NS_PER_MS == modified)
    return found


def location(root: str, file: FileId) -> str:
    """Return the absolute path of a file."""
    return path_in(root, file.path)


def relative_to(root: str, files: Iterable[FileId], *, folder: str) -> list[FileId]:
    """Return the identities of files with paths relative to `root` instead of `folder`."""
    if root == folder:
        return list(files)
    return [replace(file, path=relative_path(root, location(folder, file))) for file in files]


def identity(path: str, found: os.stat_result) -> FileId:
    """Return the identity of a file, from its `os.stat_result`."""
    return FileId(path, found.st_size, found.st_mtime_ns // _NS_PER_MS)


def is_settled(found: os.stat_result) -> bool:
    """Return whether any later change of a file must change its time of modification.

    It is decided by this machine's clock, whatever the file system's clock is. A time in the future
    is no obstacle: a change sets it back.
    """
    margin = _TICK_NS if _is_fine(found.st_mtime_ns) else _MAX_SKEW_NS
    return abs(time.time_ns() - found.st_mtime_ns) >= margin


def settled(fd: int, path: str, folder: str | None) -> os.stat_result | None:
    """Return the `os.stat_result` of an open file; if it was changed a moment ago, wait and repeat.

    A file that is changed all the time is noticed by the caller, who looks at it after reading.

    Args:
        fd: The file.
        path: Absolute path of the file.
        folder: Where a temporary file may be made. None: nothing may be written, and the caller
            identifies the file by its `st_ctime_ns`, too.

    Returns:
        What the file system says of the file; None if a later change of it might not show.
    """
    found = os.fstat(fd)
    if is_settled(found):
        return found
    wait_ns = 2 * _TICK_NS
    if not _is_fine(found.st_mtime_ns):
        now = _file_system_time(found, path, folder)
        if now is None:
            return None
        wait_ns = found.st_mtime_ns + _COARSE_TICK_NS - now
    if wait_ns > 2 * _COARSE_TICK_NS:
        return None
    if wait_ns > 0:
        time.sleep(wait_ns / _NS_PER_S)
    return os.fstat(fd)


def _is_fine(time_ns: int) -> bool:
    """Return whether a time has a fraction of a second, so that the file system stores these."""
    return time_ns % _NS_PER_S != 0


def _file_system_time(found: os.stat_result, path: str, folder: str | None) -> int | None:
    """Return the time by the clock that a file's times come from, nanoseconds; None if unknown.

    Without a folder, it is this machine's time, if `st_ctime_ns` shows changes anyway.
    """
    if folder is None:
        return time.time_ns() if _is_fine(found.st_ctime_ns) else None
    with contextlib.suppress(OSError):
        new = _stamp(folder)
        if new.st_dev == found.st_dev:
            return new.st_mtime_ns
    with contextlib.suppress(OSError):
        return _stamp(os.path.dirname(os.path.realpath(path))).st_mtime_ns
    return None


def _stamp(folder: str) -> os.stat_result:
    """Write a temporary file, and return its `os.stat_result`."""
    fd, path = tempfile.mkstemp(prefix=".clock-", dir=folder)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(b"\0")
        return os.stat(path)
    finally:
        os.unlink(path)
