"""Two files that change names at one instant.

Renaming a file over another one destroys the other, whatever it has become by then. When names are
exchanged, it can be looked at afterwards, and given its name back.

Linux has `renameat2(RENAME_EXCHANGE)` for it, which most of its local file systems know. Python
does not offer it, so the C library is asked.
"""

from __future__ import annotations

import errno
import functools
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["exchange"]

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def exchange(one: str, other: str) -> None:
    """Give each of two files the name of the other.

    Args:
        one: Path of a file.
        other: Path of another one in the same file system.

    Raises:
        OSError: If that failed, and nothing has happened. Systems, file systems and sandboxes that
            cannot do it say so in many ways (ENOSYS, EINVAL, EPERM); and some need more than a
            renaming does, as overlayfs, which copies the old file first (ENOSPC).
    """
    renameat2 = _renameat2()
    if renameat2 is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), one, None, other)
    error = renameat2(os.fsencode(one), os.fsencode(other))
    if error:
        raise OSError(error, os.strerror(error), one, None, other)


@functools.cache
def _renameat2() -> Callable[[bytes, bytes], int] | None:
    """The C library's function, as one that returns an error number; None if there is none."""
    if sys.platform != "linux":
        return None
    import ctypes

    found = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if found is None:
        return None

    def call(one: bytes, other: bytes) -> int:
        if found(_AT_FDCWD, one, _AT_FDCWD, other, _RENAME_EXCHANGE) == 0:
            return 0
        return ctypes.get_errno()

    return call
