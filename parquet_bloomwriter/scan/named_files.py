"""The files of a table that an index named, found among those that a scan would read.

An index and a scan spell the same file in different ways. So both spellings become a key, and if
any file that is named is not found by its key, nothing is left out: the spellings differ in a way
that is not known here, or the table has changed since the index was asked.
"""

# ruff: noqa: PTH100  paths are strings, as in the index
from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar

from parquet_bloomwriter.source.filesystems import is_url
from parquet_bloomwriter.source.listing import is_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from parquet_bloomwriter.source import Location

T = TypeVar("T")


def key_of(file: Location) -> str:
    """Return the key of a file that a scan would read."""
    return key_of_path(file.path) if file.filesystem is None else file.path


def key_of_name(path: str) -> str:
    """Return the key of a file by its absolute path or URL."""
    return path.partition("://")[2] if is_url(path) else key_of_path(path)


def key_of_path(path: str) -> str:
    """Return the key of a file on disk by its path."""
    return path if is_plain(path) else os.path.abspath(path)


def named(files: Sequence[T], among: Collection[str] | None, *, key: Callable[[T], str]) -> list[T]:
    """Return the files that an index named; all if it named none, or one that is not there.

    Args:
        files: What a scan would read.
        among: Keys of the only files that might match; None if no index was asked.
        key: Returns the key of a file.
    """
    if among is None:
        return list(files)
    keys = [key(file) for file in files]
    if not set(among) <= set(keys):
        return list(files)
    return [file for file, one in zip(files, keys, strict=True) if one in among]
