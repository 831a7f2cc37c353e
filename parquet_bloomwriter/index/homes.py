"""Who can write to the indexes of a table, and not to the table.

An index is trusted as far as its table: who can write to the table can take rows from queries in
any case, and who can write only to the index can do so as well. If there are such users, a warning
names the folder, once in a process. The index is used, because its owner may have meant it so.

Owners and permission bits of folders on disks are compared. Stores do not say who can write.
"""

from __future__ import annotations

import logging
import os
import stat
from typing import TYPE_CHECKING

from parquet_bloomwriter.index.storage.base import is_on_store
from parquet_bloomwriter.index.storage.local import LOG
from parquet_bloomwriter.text import safe

if TYPE_CHECKING:
    from collections.abc import Iterator

_log = logging.getLogger(__name__)
_warned: set[str] = set()
"""Homes that a warning named."""


def warn_of_home(folder: str, root: str) -> None:
    """Log a warning if users who cannot write to a table can write to its index.

    Args:
        folder: The index's, absolute; on a store there is no warning.
        root: The table's, absolute. If it is on a store, every user but this one and root counts.
    """
    home = os.path.dirname(folder)  # noqa: PTH120  paths are strings, as in the entries
    if home in _warned or is_on_store(folder) or not hasattr(os, "geteuid"):
        return
    table = None if is_on_store(root) else _stat(root)
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
    """Return whether the folder of an index has a writer whom the table does not have."""
    owners, groups, mode = {0, os.geteuid()}, set(), 0
    if table is not None:
        if not table.st_mode & stat.S_ISVTX:  # else nobody may replace files of others
            mode = table.st_mode
        owners.add(table.st_uid)
        groups = {table.st_gid} if mode & stat.S_IWGRP else set()
    if mode & stat.S_IWOTH:
        return False
    is_of_others = index.st_uid not in owners or bool(index.st_mode & stat.S_IWOTH)
    return is_of_others or bool(index.st_mode & stat.S_IWGRP and index.st_gid not in groups)


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116  as above
    except OSError:
        return None
