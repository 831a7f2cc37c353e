"""Writing of an HTML page: the file has all of its bytes, or does not exist."""

# ruff: noqa: PTH112  the steps are system calls
from __future__ import annotations

import errno
import os
from pathlib import Path

from parquet_bloomwriter.replace.target import output_exists


def check_writable(path: str, *, overwrite: bool) -> None:
    """Check before the work that a file can probably be written.

    Raises:
        UnsafeTarget: If a file of that name must not be replaced.
        OSError: If its folder is missing, or `path` is a folder.
    """
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if os.path.lexists(path) and not overwrite:
        raise output_exists(path)
    Path(path).resolve().parent.stat()


def write_page(path: str, data: bytes, *, overwrite: bool) -> None:
    """Write a file under a temporary name beside its final name, then rename it.

    Raises:
        UnsafeTarget: If a file of that name must not be replaced.
        OSError: If the file cannot be written.
    """
    from parquet_bloomwriter.durable import create_once, write_file

    target = os.path.realpath(path)
    try:
        if overwrite:
            write_file(target, data)
        elif not create_once(target, data):
            raise output_exists(path)
    except OSError as error:  # the name of the temporary file says nothing to the user
        raise OSError(error.errno, error.strerror, path) from error
