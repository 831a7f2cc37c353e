"""The folders that keep the jar of the rules from one process to the next.

It lies in `__pycache__` beside this file, or else in the user's cache folder, or where the
environment variable PARQUET_BLOOMWRITER_CACHE says; where neither can be written, the rules are
compiled anew in each process. Where another user could have written a file, or put one, nothing is
kept and nothing is loaded.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from pathlib import Path

from parquet_bloomwriter.user_folders import cache_folder, is_own, make_private

_READ_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_READ_FLAGS |= getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)


def keep(name: str, data: bytes) -> None:
    """Write a file to the first cache folder that takes it; for `read_ours` by later processes."""
    for folder in cache_folders():
        try:
            make_private(folder)
            _check(folder, folder.stat())
            handle, temporary = tempfile.mkstemp(dir=folder)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(temporary).replace(folder / name)
        except OSError:
            continue
        return


def read_ours(path: Path) -> bytes:
    """Read a file that no other user could have written; the checked file is the file that is read.

    Raises:
        OSError: If there is no such file, if it is a link, or if another user could have written or
            put it.
    """
    _check(path.parent, path.parent.stat())
    with os.fdopen(os.open(path, _READ_FLAGS), "rb") as file:
        _check(path, os.fstat(file.fileno()))
        return file.read()


def cache_folders() -> tuple[Path, ...]:
    """Return the folders for files that can be made again, in the order in which they are tried."""
    chosen = os.environ.get("PARQUET_BLOOMWRITER_CACHE")
    if chosen:
        return (Path(chosen),)
    beside, own = Path(__file__).parent / "__pycache__", cache_folder()
    return (beside,) if own is None else (beside, own)


def _check(path: Path, found: os.stat_result) -> None:
    is_usual = stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)
    if not (is_usual and is_own(found, or_of_root=True)):
        raise PermissionError(errno.EPERM, "another user could have written it", str(path))
