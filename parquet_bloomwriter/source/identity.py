"""The identity of a version of a file, by which a later look shows whether the file was changed.

A local file is identified by its device, inode, size and times; an object on a store by its ETag or
the like, which may be a time alone. A time identifies the content only if it lies far enough back
that a later change would show another time. `source.local.OpenedFile.check_unchanged` compares the
identity of a file that is rewritten with the file on disk.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import os

_TICK_NS = 20_000_000
"""Nanoseconds; file systems stamp changes by a clock that moves every 1 to 10 ms on most kernels.
"""

_CLOCK_NS = 2_000_000_000
"""Nanoseconds of the coarsest clock of stores: S3 gives whole seconds, FAT even ones."""

_SECOND_NS = 1_000_000_000


class FileIdentity(NamedTuple):
    """A local file and its state, as `stat` shows them.

    A change that keeps the size and falls into the same tick of the file system's clock as the
    `stat` (1 to 10 ms on most kernels) does not show.
    """

    device: int
    """`st_dev`."""

    inode: int
    """`st_ino`, unique within the device."""

    size: int
    """Bytes."""

    mtime_ns: int
    """Last change of the content, nanoseconds since 1970 UTC."""

    ctime_ns: int
    """Last change of anything, also of names and attributes (Windows: creation)."""

    mode: int
    """`st_mode`."""

    owner: tuple[int, int]
    """`st_uid` and `st_gid`."""

    @classmethod
    def of(cls, found: os.stat_result) -> FileIdentity:
        """Return the identity of a file from its `stat`."""
        return cls(
            found.st_dev,
            found.st_ino,
            found.st_size,
            found.st_mtime_ns,
            found.st_ctime_ns,
            found.st_mode,
            (found.st_uid, found.st_gid),
        )

    def same_but_for_names(self, other: FileIdentity) -> bool:
        """Return whether both have the same file, content, mode and owner; names may differ."""
        return self._replace(ctime_ns=other.ctime_ns) == other

    def same_content(self, other: FileIdentity) -> bool:
        """Return whether both have the same file and content."""
        return self._replace(mode=other.mode, owner=other.owner).same_but_for_names(other)


def identity_of(found: os.stat_result) -> FileIdentity | None:
    """Return the key under which results about a file may be cached; None if it changed just now.

    A file that was changed a moment ago may be changed again within the same tick of the clock.
    """
    if time.time_ns() - found.st_ctime_ns < _TICK_NS:
        return None
    return FileIdentity.of(found)


def is_settled(changed_ns: int) -> bool:
    """Return whether a time of change identifies the content: a later change shows another time.

    An object that was written a moment ago may be written again within the same second.

    Args:
        changed_ns: Last change of the content, nanoseconds since 1970 UTC.
    """
    return time.time_ns() - changed_ns >= _CLOCK_NS


def tells_versions(changed_ns: int) -> bool:
    """Return whether all versions written from now on have another time of change than this one.

    A time with parts of a second is one of a finer clock than `is_settled` has to assume.

    Args:
        changed_ns: Last change of the content, nanoseconds since 1970 UTC.
    """
    clock = _TICK_NS if changed_ns % _SECOND_NS else _CLOCK_NS
    return time.time_ns() - changed_ns >= clock
