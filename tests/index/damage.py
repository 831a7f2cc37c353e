"""Ways to damage a file of an index."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def unlinked(path: Path) -> None:
    path.unlink()


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def garbled(path: Path) -> None:
    path.write_bytes(b"\xa5" * path.stat().st_size)


def zeroed(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def lengthened(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\0")


def made_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
