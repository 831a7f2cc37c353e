"""The folders that keep the jar of the rules from one process to the next.

It lies in `__pycache__` beside this file, or else in the user's cache folder, or where the
environment variable PARQUET_BLOOMWRITER_CACHE says; where neither can be written, the rules are
compiled anew in each process. A file that another user could have written is not loaded.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import tempfile
from pathlib import Path

_PRIVATE = 0o700
_WRITABLE_BY_OTHERS = 0o022 if hasattr(os, "getuid") else 0
_READ_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_READ_FLAGS |= getattr(os, "O_BINARY", 0)


def keep(name: str, data: bytes) -> None:
    """Write a file to the first cache folder that takes it; for `read_ours` by later processes."""
    for folder in cache_folders():
        try:
            folder.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=folder)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(temporary).replace(folder / name)
        except OSError:
            continue
        return


def read_ours(path: Path) -> bytes:
    """Read a file that no other user could have written; the file that is checked is the one read.

    Raises:
        OSError: If there is no such file, or another user could have written it.
    """
    with os.fdopen(os.open(path, _READ_FLAGS), "rb") as file:
        found = os.fstat(file.fileno())
        is_foreign = hasattr(os, "getuid") and found.st_uid not in (0, os.getuid())
        if is_foreign or not stat.S_ISREG(found.st_mode) or found.st_mode & _WRITABLE_BY_OTHERS:
            raise PermissionError(errno.EPERM, "another user could have written it", str(path))
        return file.read()


def cache_folders() -> tuple[Path, ...]:
    """Folders for what can be made again, the one to be tried first at the head."""
    chosen = os.environ.get("PARQUET_BLOOMWRITER_CACHE")
    if chosen:
        return (Path(chosen),)
    if sys.platform == "win32":
        home = Path(os.environ.get("LOCALAPPDATA", Path.home()))
    elif sys.platform == "darwin":
        home = Path.home() / "Library" / "Caches"
    else:
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return (Path(__file__).parent / "__pycache__", home / "parquet-bloomwriter")
