"""Folders of this user for data kept between runs, by the XDG Base Directory Specification.

A user without a home, such as one of a container, has none: what would be kept there is not kept.
The same holds if another user could write into such a folder: what later runs believe could come
from that user then. The folders are made when they are asked for, closed to other users, so that
another user cannot make them meanwhile.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

_NAME = "parquet-bloomwriter"


def cache_folder() -> Path | None:
    """Return the folder for data that can be found out again; None for a user without a home."""
    return _folder("XDG_CACHE_HOME", ".cache")


def state_folder() -> Path | None:
    """Return the folder for data that a later run must know; None for a user without a home."""
    return _folder("XDG_STATE_HOME", ".local/state")


def is_own(found: os.stat_result, *, or_of_root: bool = False) -> bool:
    """Return whether a file or folder is this user's, and no other user but root can write to it.

    Args:
        found: What the file system says of it.
        or_of_root: Whether it may belong to root instead.
    """
    if not hasattr(os, "geteuid"):
        return True
    is_ours = found.st_uid == os.geteuid() or (or_of_root and found.st_uid == 0)
    return is_ours and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def make_private(folder: Path) -> None:
    """Make a folder and those above it that are missing, which only this user can enter.

    The mode of `Path.mkdir` is that of the last folder alone: by an umask of 0, all users could
    write to those above it, and rename it.

    Raises:
        OSError: If a folder cannot be made.
    """
    for one in (*reversed(folder.parents), folder):
        if not one.is_dir():
            one.mkdir(mode=0o700, exist_ok=True)


def _folder(variable: str, below_home: str) -> Path | None:
    try:
        folder = Path(os.environ.get(variable) or Path.home() / below_home) / _NAME
        make_private(folder)
        return folder if is_own(folder.stat()) else None
    except (OSError, RuntimeError):
        return None
