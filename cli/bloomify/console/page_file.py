"""A new file with all of its bytes, or none."""

# ruff: noqa: PTH112  the steps are system calls
from __future__ import annotations

import errno
import os
from pathlib import Path

from parquet_bloomwriter.errors import UnsafeTarget


def check_writable(path: str, *, overwrite: bool) -> None:
    """Check early that a file could be written.

    Raises:
        UnsafeTarget: If a file of that name must not be replaced.
        OSError: If its folder is missing, or `path` is a folder.
    """
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if os.path.lexists(path) and not overwrite:
        raise _exists(path)
    Path(path).resolve().parent.stat()


def write_page(path: str, data: bytes, *, overwrite: bool) -> None:
    """Write a file beside its final name, then give it that name.

    Raises:
        UnsafeTarget: If a file of that name must not be replaced.
        OSError: If it cannot be written.
    """
    from parquet_bloomwriter.durable import create_once, write_file

    target = os.path.realpath(path)
    try:
        if overwrite:
            write_file(target, data)
        elif not create_once(target, data):
            raise _exists(path)
    except OSError as error:  # the name of the temporary file says nothing to the user
        raise OSError(error.errno, error.strerror, path) from error


def _exists(path: str) -> UnsafeTarget:
    remedy = "Choose another name, or permit overwriting."
    return UnsafeTarget("the output exists already", path=path, remedy=remedy)
