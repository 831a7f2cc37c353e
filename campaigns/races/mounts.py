"""Small file systems for one try. Whoever may not mount any is told what to do."""

from __future__ import annotations

import contextlib
import os
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGE = os.sysconf("SC_PAGESIZE")
"""Bytes that a tmpfs gives out at a time."""


def _call(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PermissionError(
            f"{' '.join(command)}: {done.stderr.strip()}. Mounting needs root's rights: run the "
            "tests as root, or below `unshare --map-root-user --mount`."
        )


@contextlib.contextmanager
def tmpfs(folder: Path, *, pages: int, inodes: int = 0) -> Iterator[Path]:
    """Mount an empty file system in memory.

    Args:
        folder: Where; it is made.
        pages: Its size. Contents of files take whole pages, and names none.
        inodes: How many files and folders it has room for, its root included; 0 for any number.
    """
    folder.mkdir(parents=True)
    options = f"size={pages * PAGE},nr_inodes={inodes},mode=0755"
    _call("mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder))
    try:
        yield folder
    finally:
        _call("umount", str(folder))


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[Path]:
    """Let nothing be written below a folder."""
    _call("mount", "--bind", str(folder), str(folder))
    try:
        _call("mount", "-o", "remount,bind,ro", str(folder))
        yield folder
    finally:
        _call("umount", str(folder))


def pages_of(*sizes: int) -> int:
    """Pages that files of these sizes take."""
    return sum(-(-size // PAGE) for size in sizes)
