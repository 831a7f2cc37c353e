"""What is in a folder: every byte, and who may read it."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One file."""

    data: bytes
    mode: int
    """Permission bits."""

    owner: tuple[int, int]
    """User and group."""

    attributes: tuple[tuple[str, bytes], ...] = ()
    """Extended attributes, sorted."""

    def put(self, path: Path) -> None:
        """Make this file."""
        path.write_bytes(self.data)
        os.chown(path, *self.owner)
        path.chmod(self.mode)
        for name, value in self.attributes:
            os.setxattr(path, name, value)


Folder: TypeAlias = dict[str, Entry]
"""By name."""


def put(folder: Path, entries: Folder) -> None:
    """Make a folder of these files."""
    folder.mkdir()
    for name, entry in entries.items():
        entry.put(folder / name)


def look(folder: Path) -> Folder:
    """Take down what is there."""
    return {path.name: _entry(path) for path in sorted(folder.iterdir())}


def _entry(path: Path) -> Entry:
    found = path.lstat()
    names = sorted(os.listxattr(path))
    return Entry(
        data=path.read_bytes(),
        mode=stat.S_IMODE(found.st_mode),
        owner=(found.st_uid, found.st_gid),
        attributes=tuple((name, os.getxattr(path, name)) for name in names),
    )
