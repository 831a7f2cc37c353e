"""Folders of this user for what is kept between runs, by the XDG Base Directory Specification.

A user without a home, such as one of a container, has none: what would be kept there is not kept.
"""

from __future__ import annotations

import os
from pathlib import Path

_NAME = "parquet-bloomwriter"


def cache_folder() -> Path | None:
    """Return the folder for what can be found out again; None for a user without a home."""
    return _folder("XDG_CACHE_HOME", ".cache")


def state_folder() -> Path | None:
    """Return the folder for what a later run must know; None for a user without a home."""
    return _folder("XDG_STATE_HOME", ".local/state")


def _folder(variable: str, below_home: str) -> Path | None:
    try:
        chosen = os.environ.get(variable) or Path.home() / below_home
    except RuntimeError:
        return None
    return Path(chosen) / _NAME
