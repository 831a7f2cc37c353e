"""Files that are made once, under a name that only one writer gets, and that outlive a crash.

    temporary file beside it -> the bytes -> fsync -> link to the name -> fsync of the folder

`link` refuses a name that is taken, and gives the name to a whole file. Where there are no hard
links (FAT, some FUSE mounts) an empty file claims the name, and the temporary one is renamed over
it: of two writers one gets it all the same, but a reader may find it empty, and a writer that dies
in between leaves it so.

A temporary file is locked as long as its writer lives. One that a killed writer left is recognised
by its name and removed.
"""

# ruff: noqa: PTH102, PTH105, PTH108, PTH112, PTH118, PTH120, PTH208  system calls
from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import stat
import sys
from typing import TYPE_CHECKING

from parquet_bloomwriter.replace.copying import write_all
from parquet_bloomwriter.replace.temporary import Temporary, remove_stale, temporary_beside

if TYPE_CHECKING:
    from collections.abc import Iterable

_ALL = 0o666
"""Permissions wished for; the umask takes from them."""

_NO_LINKS = frozenset({errno.EPERM, errno.EACCES, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})
_NO_FOLDER_SYNC = frozenset({errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS, errno.EBADF})
_TEMPORARY = re.compile(r"\.(?P<target>.+)\.bloomify-[0-9a-f]{16}\.tmp")


def create_once(path: str, data: bytes) -> bool:
    """Make a file of these bytes, if nobody has the name.

    Returns:
        Whether it was made. If not, nothing was done.

    Raises:
        OSError: What any step raises. The file is there or not; it is never there in part.
    """
    with temporary_beside(path, permissions=_ALL) as temporary:
        write_all(temporary.fd, data)
        if hasattr(os, "fchmod"):
            os.fchmod(temporary.fd, temporary.granted)
        os.fsync(temporary.fd)
        if not _publish(temporary, path):
            return False
    sync_folder(os.path.dirname(path))
    return True


def make_folders(path: str) -> None:
    """Make a folder and those above it, and bring their names to the disk."""
    missing = []
    while not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    for folder in reversed(missing):
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder)
        sync_folder(os.path.dirname(folder))


def sync_folder(folder: str) -> None:
    """Bring the names in a folder to the disk, where the platform can."""
    if sys.platform == "win32":
        return
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except PermissionError:
        return
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise
    finally:
        os.close(fd)


def remove_leftovers(folder: str) -> None:
    """Remove the temporary files that killed writers left in a folder."""
    for name in os.listdir(folder):
        match = _TEMPORARY.fullmatch(name)
        if match is None:
            continue
        target = os.path.join(folder, match["target"])
        if _is_same(os.path.join(folder, name), target):  # killed between link and unlink
            _remove_file(os.path.join(folder, name))
        else:
            remove_stale(target)


def remove_tree(folder: str) -> None:
    """Remove a folder and all that is in it, if it is there; what links lead to stays.

    Raises:
        OSError: If something cannot be removed, or it is a symbolic link.
    """
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(folder)


def remove_files(paths: Iterable[str]) -> None:
    """Remove files, as far as they are there."""
    for path in paths:
        _remove_file(path)


def size_of_tree(folder: str) -> tuple[int, int]:
    """Count the files below a folder, and their bytes."""
    sizes = [
        os.lstat(os.path.join(parent, name)).st_size
        for parent, _, names in os.walk(folder)
        for name in names
    ]
    return len(sizes), sum(sizes)


def _publish(temporary: Temporary, path: str) -> bool:
    """Give the new file its name; False if it is taken."""
    try:
        os.link(temporary.path, path)
    except FileExistsError:
        # A network file system may answer so to the second sending of a link that was made.
        return _is_same(temporary.path, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        return _claim_and_rename(temporary, path)
    return True


def _claim_and_rename(temporary: Temporary, path: str) -> bool:
    try:
        claim = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, stat.S_IRUSR | stat.S_IWUSR)
    except FileExistsError:
        return False
    try:
        os.replace(temporary.path, path)
    except BaseException:
        if _is_same(path, claim):
            os.unlink(path)
        raise
    finally:
        os.close(claim)
    return True


def _is_same(one: str, other: str | int) -> bool:
    try:
        found = os.fstat(other) if isinstance(other, int) else os.lstat(other)
        return os.path.samestat(os.lstat(one), found)
    except OSError:
        return False


def _remove_file(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
