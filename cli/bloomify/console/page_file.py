"""A page as a file: with all of its bytes, or not at all."""

# ruff: noqa: PTH105, PTH112  the steps are system calls
from __future__ import annotations

import errno
import os
from pathlib import Path

from parquet_bloomwriter.errors import UnsafeTarget

_PERMISSIONS = 0o666
"""Permissions of a new file, before the umask takes from them."""


def check_writable(path: str, *, overwrite: bool) -> None:
    """Check before the work that a file can probably be written.

    Raises:
        UnsafeTarget: If the file exists and must not be replaced.
        OSError: If its folder does not exist, or the path is a folder.
    """
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if os.path.lexists(path) and not overwrite:
        raise _exists(path)
    Path(path).resolve().parent.stat()


def write_page(path: str, data: bytes, *, overwrite: bool) -> None:
    """Write a file under a temporary name beside its final name, then rename it.

    Raises:
        UnsafeTarget: If the file exists, also since `check_writable`, and must not be replaced.
        OSError: If the file cannot be written.
    """
    from parquet_bloomwriter.durable import create_once

    target = os.path.realpath(path)
    try:
        if overwrite:
            _write_over(target, data)
        elif not create_once(target, data):
            raise _exists(path)
    except OSError as error:  # The name of the temporary file means nothing to the user.
        raise OSError(error.errno, error.strerror, path) from error


def _write_over(target: str, data: bytes) -> None:
    from parquet_bloomwriter.replace.copying import write_all
    from parquet_bloomwriter.replace.temporary import temporary_beside

    with temporary_beside(target, permissions=_PERMISSIONS) as temporary:
        write_all(temporary.fd, data)
        if hasattr(os, "fchmod"):
            os.fchmod(temporary.fd, temporary.granted)
        os.fsync(temporary.fd)
        os.replace(temporary.path, target)


def _exists(path: str) -> UnsafeTarget:
    remedy = "Choose another name, or permit overwriting."
    return UnsafeTarget("the output exists already", path=path, remedy=remedy)
