"""Advisory locks on open files, which end with the process that holds them.

A lock belongs to the open file, not to its name, and leaves nothing behind. Only programs
that ask for it notice it.
"""

from __future__ import annotations

import contextlib
import enum
import errno
import sys

if sys.platform != "win32":
    import fcntl

__all__ = ["Lock", "try_lock", "unlock"]

_BUSY = {errno.EWOULDBLOCK} if sys.platform == "linux" else {errno.EWOULDBLOCK, errno.EACCES}
"""Where `flock` is made of `fcntl` locks, EACCES may say it, too. On Linux that is a security
module which forbids locks, to everybody and for ever."""


class Lock(enum.StrEnum):
    """What became of asking for a lock."""

    HELD = "held"
    """It is ours until `unlock`, or until the file is closed."""
    BUSY = "busy"
    """Another open file holds it."""
    UNAVAILABLE = "unavailable"
    """The platform or the file system has no such locks (Windows; NFS for read-only files)."""


def try_lock(fd: int) -> Lock:
    """Ask for the exclusive lock of an open file, without waiting."""
    if sys.platform == "win32":
        return Lock.UNAVAILABLE
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return Lock.BUSY if error.errno in _BUSY else Lock.UNAVAILABLE
    return Lock.HELD


def unlock(fd: int) -> None:
    """Give the lock back; nothing happens where none is held."""
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_UN)
