"""The homes of indexes: the folders that are searched for indexes, and who can write to them.

An index is trusted as far as its table: a user who can write to the table can remove rows from
queries in any case, and a user who can write only to the index can do the same. So a home above the
table counts only if its owner can write to the table anyway. If other users can write to an index
that is used, a warning names the folder, once in a process: this may be the intention of the
index's owner.

Owners and permission bits of folders on disks are compared. Stores do not say who can write.
"""

# ruff: noqa: PTH112, PTH113, PTH116, PTH118, PTH120  paths are strings, as in the entries
from __future__ import annotations

import logging
import os
import stat
from typing import TYPE_CHECKING

from parquet_bloomwriter.index.layout import HOME, LOG, homes_above, is_name, upwards
from parquet_bloomwriter.index.storage.base import storage_of
from parquet_bloomwriter.text import safe

if TYPE_CHECKING:
    from collections.abc import Iterator

_log = logging.getLogger(__name__)
_warned: set[str] = set()
"""Homes that a warning of this process has named."""


def find_homes(path: str) -> list[str]:
    """Return the existing homes in a folder (of a file: its folder) and above it, nearest first.

    A home above the folder counts only if it belongs to root, to the user, or to the owner of a
    folder on the way there. The same holds for a home in a folder with the sticky bit: whoever may
    make a home there may not replace the files of other users. So where all users may make folders,
    as in /tmp, none can exclude rows of other users' queries.
    """
    found = []
    if storage_of(path).is_remote:
        first, *others = homes_above(path)
        homes = [first] if index_folders(first) else []
        return homes + [home for home in others if index_folders(home, is_above=True)]
    beside = os.path.dirname(path) if os.path.isfile(path) else path
    trusted = {0, os.getuid() if hasattr(os, "getuid") else 0}
    for folder in upwards(path):
        home = os.path.join(folder, HOME)
        trusted.add(_owner(folder))
        may_replace = folder in {path, beside} and not _is_sticky(folder)
        if os.path.isdir(home) and (may_replace or _owner(home) in trusted):
            found.append(home)
    return found


def index_folders(home: str, *, is_above: bool = False) -> list[str]:
    """Return the folders of the indexes in a home, sorted by name; vacuumed indexes are included.

    On a store, folders without a log may be among them.

    Args:
        home: The home.
        is_above: The home is above the queried folder; if a store forbids to list it, skip it.
    """
    names = storage_of(home).names_in_home(home, is_above=is_above)
    return [os.path.join(home, name) for name in names if is_name(name)]


def _owner(path: str) -> int:
    """Return the owner of a file, or of a symbolic link itself; -1 if the path does not exist."""
    try:
        return os.lstat(path).st_uid
    except OSError:
        return -1


def _is_sticky(folder: str) -> bool:
    """Return whether a folder's sticky bit keeps users from replacing files of other users."""
    try:
        return bool(os.stat(folder).st_mode & stat.S_ISVTX)
    except OSError:
        return False


def warn_of_home(folder: str, root: str) -> None:
    """Log a warning if users who cannot write to a table can write to its index.

    Args:
        folder: The index's folder, absolute; on a store there is no warning.
        root: The table's root, absolute. On a store, every user but this one and root counts.
    """
    home = os.path.dirname(folder)
    if home in _warned or storage_of(folder).is_remote or not hasattr(os, "geteuid"):
        return
    table = None if storage_of(root).is_remote else _stat(root)
    if any(_is_open(found, table) for found in _folders(home, folder)):
        _warned.add(home)
        _log.warning(
            'users who cannot write to the table "%s" can write to its indexes in "%s", and so can '
            "hide rows of the table from queries; close this folder to them, or make the indexes "
            "in another one",
            safe(root),
            safe(home),
        )


def _folders(home: str, folder: str) -> Iterator[os.stat_result]:
    for path in (home, folder, f"{folder}/{LOG}"):
        found = _stat(path)
        if found is not None:
            yield found


def _is_open(index: os.stat_result, table: os.stat_result | None) -> bool:
    """Return whether some user who cannot write to the table can write to the index's folder."""
    owners, groups, mode = {0, os.geteuid()}, set(), 0
    if table is not None:
        if not table.st_mode & stat.S_ISVTX:  # else users cannot replace files of other users
            mode = table.st_mode
        owners.add(table.st_uid)
        groups = {table.st_gid} if mode & stat.S_IWGRP else set()
    if mode & stat.S_IWOTH:
        return False
    is_of_others = index.st_uid not in owners or bool(index.st_mode & stat.S_IWOTH)
    return is_of_others or bool(index.st_mode & stat.S_IWGRP and index.st_gid not in groups)


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None
