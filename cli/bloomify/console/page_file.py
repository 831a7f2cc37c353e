"""A new file with all of its bytes, or none."""

# ruff: noqa: PTH105, PTH112  the steps are system calls
from __future__ import annotations

import errno
import os
from pathlib import Path

from parquet_bloomwriter.errors import UnsafeTarget

_NO_LINKS = frozenset({errno.EPERM, errno.EACCES, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})


def check_writable(path: str, *, overwrite: bool) -> None:
    """See early that a file could be written.

    Raises:
        UnsafeTarget: If something is there that must not be replaced.
        OSError: If its folder is not there, or it is a folder itself.
    """
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if os.path.lexists(path) and not overwrite:
        raise _exists(path)
    Path(path).resolve().parent.stat()


def write_page(path: str, data: bytes, *, overwrite: bool) -> None:
    """Write a file beside its final name, then give it that name.

    Raises:
        UnsafeTarget: If something is there that must not be replaced.
        OSError: If it cannot be written.
    """
    from parquet_bloomwriter.replace.copying import write_all
    from parquet_bloomwriter.replace.temporary import temporary_beside

    target = os.path.realpath(path)
    try:
        with temporary_beside(target, permissions=0o666) as temporary:
            write_all(temporary.fd, data)
            if hasattr(os, "fchmod"):
                os.fchmod(temporary.fd, temporary.granted)
            os.fsync(temporary.fd)
            if overwrite:
                os.replace(temporary.path, target)
            else:
                _give_name(temporary.path, target, path)
    except OSError as error:  # The name of the temporary file says nothing to anybody.
        raise OSError(error.errno, error.strerror, path) from error


def _give_name(temporary: str, target: str, path: str) -> None:
    """Name a file without replacing another, which may have come meanwhile."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise _exists(path) from None
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        try:
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            raise _exists(path) from None
        os.replace(temporary, target)


def _exists(path: str) -> UnsafeTarget:
    remedy = "Choose another name, or permit overwriting."
    return UnsafeTarget("the output exists already", path=path, remedy=remedy)
