"""Which files a table has, and when a file is still the one that was indexed.

A file is known by path, size and time of modification (milliseconds, as Hadoop tells it). One that
differs in any of these is another file, about which an index says nothing.

Times come from a clock that moves every few milliseconds. A file that was written a moment ago may
be written again without a sign of it; one that is read for the index is looked at again once that
moment is over. Some file systems and mounted stores know whole seconds only. A file whose time is a
whole second, to the millisecond, might lie on one of them: it is not indexed within two seconds of
that time, so that no second state of it can look the same. A file server has a clock of its own, so
its time is read from a temporary file, made where the index is written or else beside the file. If
it cannot be read, or the file's time is ahead of it, the file is not indexed.
"""

# ruff: noqa: PTH108, PTH116, PTH118, PTH120  paths are strings, as in the entries
from __future__ import annotations

import contextlib
import os
import tempfile
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloomwriter.source.listing import HIDDEN, has_suffix

if TYPE_CHECKING:
    from collections.abc import Iterable

_NS_PER_MS, _NS_PER_S = 1_000_000, 1_000_000_000
_MS_PER_S = 1000
_TICK_NS = 20_000_000
"""More than the clock moves at once that file systems stamp changes by."""

_COARSE_TICK_NS = 2 * _NS_PER_S
"""The same for file systems that know whole seconds only, FAT even ones."""

_MAX_SKEW_NS = 24 * 3600 * _NS_PER_S
"""More than the clock of a file server differs from that of this machine."""


@dataclass(frozen=True, slots=True, order=True)
class FileId:
    """One file in one state."""

    path: str
    """Relative to the table's root, with "/"; absolute if it lies elsewhere."""

    size: int
    """Bytes."""

    modified_ms: int
    """Milliseconds since 1970 UTC, cut, not rounded."""


def list_files(root: str) -> list[FileId]:
    """List the Parquet files below a folder, ordered by path; there may be none.

    Names that begin with `.` or `_` are left out, as readers of datasets do. So is a file that is
    gone before it is looked at.

    Args:
        root: Absolute.

    Raises:
        OSError: If a folder cannot be listed, or a file cannot be looked at.
    """
    found: list[FileId] = []
    pending = [(root, "")]
    while pending:
        folder, prefix = pending.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith(HIDDEN):
                    continue
                path = prefix + entry.name
                if entry.is_dir(follow_symlinks=False):
                    pending.append((entry.path, path + "/"))
                elif has_suffix(entry.name) and not entry.is_dir():
                    with contextlib.suppress(FileNotFoundError):
                        found.append(identity(path, entry.stat()))
    return sorted(found)


def file_id(root: str, path: str) -> FileId:
    """Say which file this is now.

    Args:
        root: What its path is to be relative to, absolute.
        path: Absolute.

    Raises:
        OSError: If there is no such file, or it cannot be looked at.
    """
    base = root if root.endswith(os.sep) else root + os.sep
    relative = path.removeprefix(base)
    return identity(relative.replace(os.sep, "/"), os.stat(path))


def are_unchanged(
    paths: Iterable[str], sizes: Iterable[int], modified_ms: Iterable[int]
) -> list[bool]:
    """Look at files: say of each whether it has this size and this time of modification now.

    A file that is gone, or cannot be looked at, does not.

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
    return os.path.join(root, file.path)


def identity(path: str, found: os.stat_result) -> FileId:
    """Make the identity of a file of what the file system says of it."""
    return FileId(path, found.st_size, found.st_mtime_ns // _NS_PER_MS)


def is_settled(found: os.stat_result) -> bool:
    """Whether any change from now on shows in the file's time of modification.

    Decided by this machine's clock, whatever the file system's is. A time in the future is no
    obstacle: a change sets it back.
    """
    margin = _TICK_NS if _is_fine(found.st_mtime_ns) else _MAX_SKEW_NS
    return abs(time.time_ns() - found.st_mtime_ns) >= margin


def settled(fd: int, path: str, folder: str | None) -> os.stat_result | None:
    """Look at an open file, once more after a moment if it was changed just now.

    If it is changed all the time, that is left to whoever looks at it afterwards.

    Args:
        fd: The file.
        path: Its path, absolute.
        folder: Where a temporary file may be made. None: nothing may be written, and what is read
            is kept under the file's `st_ctime_ns`, too.

    Returns:
        The file as it is; None if a later change of it might not show.
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
    """Whether a time is none of whole seconds, as far as `FileId` tells times apart."""
    return time_ns // _NS_PER_MS % _MS_PER_S != 0


def _file_system_time(found: os.stat_result, path: str, folder: str | None) -> int | None:
    """Return the time by the clock that a file's times come from, nanoseconds; None if unknown.

    Without a folder it is this machine's time, if a change shows in `st_ctime_ns` anyway.
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
    """Return what a file system says of a file that is written now, and remove the file."""
    fd, path = tempfile.mkstemp(prefix=".clock-", dir=folder)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(b"\0")
        return os.stat(path)
    finally:
        os.unlink(path)
