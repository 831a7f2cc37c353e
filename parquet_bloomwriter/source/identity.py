"""By which sign content on a store is known to be the same as before.

A time of change is a sign only if it is older than the store's clock is coarse: an object that was
written a moment ago may be written again within the same second.
"""

from __future__ import annotations

import errno
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow.fs as pafs

_CLOCK_NS = 2_000_000_000
"""S3 gives whole seconds, FAT even ones."""


@dataclass(frozen=True, slots=True, eq=False)
class FileSystemKey:
    """One of pyarrow's file systems, hashable: equal if pyarrow says that they are."""

    filesystem: pafs.FileSystem

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FileSystemKey) and bool(self.filesystem == other.filesystem)

    def __hash__(self) -> int:
        return hash(self.filesystem.type_name)


def is_settled(changed_ns: int) -> bool:
    """Whether a later change would show a later time.

    Args:
        changed_ns: Last change of the content, nanoseconds since 1970 UTC.
    """
    return time.time_ns() - changed_ns >= _CLOCK_NS


def not_found(name: str) -> FileNotFoundError:
    """The error for a file that is not there, as the operating system words it."""
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
