"""Operations on names of files: publish, exchange, and sync to disk.

    publish       give a complete temporary file a name that no file has
    is_abandoned_claim, remove_abandoned_claim
                  an empty file that a run which died left under a name
    exchange      give each of two files the name of the other
    make_folders  make the folders that a new name needs
    sync_folder   bring the names in a folder to the disk

`publish` uses `link`, which never overwrites. Where hard links are impossible (FAT, some FUSE
mounts) an empty file claims the name, and the temporary file is renamed over it: of two writers
only one gets the name all the same, but a reader may find the file empty, and a writer that dies
in between leaves it so. Its temporary file then lies beside it, and no process holds the lock of
that file: so the next run recognises the claim, and removes it. An empty file without such a
temporary file beside it may belong to another program, and is left alone. Where other programs
read what is published, `renameat2(RENAME_NOREPLACE)` takes the place of the claim, or nothing does.

Renaming a file over another one destroys the other, whatever it has become by then. After an
exchange of names it can be looked at, and given its name back. Linux has
`renameat2(RENAME_EXCHANGE)` for it, which most of its local file systems know. Python does not
offer the call, so the C library is asked.

On Windows a file must be closed before it is renamed, and folders cannot be synced; nor can folders
that we may not read, and those of file systems that refuse it.
"""

# ruff: noqa: PTH102, PTH104, PTH105, PTH108, PTH112, PTH120  the steps are system calls
from __future__ import annotations

import contextlib
import errno
import functools
import os
import stat
import sys
from typing import TYPE_CHECKING

from parquet_bloomwriter.replace.temporary import (
    PRIVATE,
    Lock,
    has_only_abandoned,
    leads_to,
    try_lock,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from parquet_bloomwriter.replace.temporary import Temporary

CLOSE_BEFORE_RENAMING = sys.platform == "win32"
"""Whether the system refuses to rename files that are open."""

NO_LINKS = frozenset(
    {errno.EPERM, errno.EACCES, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV},
)
"""Errors of file systems without hard links."""

_NO_FOLDER_SYNC = frozenset({errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS, errno.EBADF})
_AT_FDCWD = -100
_RENAME_NOREPLACE = 1
_RENAME_EXCHANGE = 2


def publish(temporary: Temporary, path: str, *, claims: bool = True) -> bool:
    """Rename a complete temporary file to a name that no file has.

    Args:
        temporary: The file.
        path: The name, absolute.
        claims: Where hard links are impossible, an empty file may claim the name first. Without
            that, the name never leads to anything but the whole file.

    Returns:
        Whether it has the name now; False if the name is taken, and nothing was done.

    Raises:
        OSError: What any step raises. The name is then as it was. EOPNOTSUPP if there is no way
            without a claim.
    """
    try:
        if CLOSE_BEFORE_RENAMING:
            os.close(temporary.fd)
            os.rename(temporary.path, path)  # refuses a name that is taken, on Windows
        else:
            os.link(temporary.path, path)
    except FileExistsError:
        # A network file system may answer so when it sends a request again that was fulfilled.
        with contextlib.suppress(OSError):
            return is_same(temporary.path, path)
        return False
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        return _claim_and_rename(temporary, path) if claims else _rename_new(temporary, path)
    return True


def _rename_new(temporary: Temporary, path: str) -> bool:
    """Rename a file to a name that no file has, in one step."""
    renameat2 = _renameat2()
    error = errno.ENOSYS
    if renameat2 is not None:
        names = os.fsencode(temporary.path), os.fsencode(path)
        error = renameat2(*names, _RENAME_NOREPLACE)
    if error in (errno.EEXIST, errno.ENOENT):
        # A network file system may answer so when it sends a request again that was fulfilled.
        with contextlib.suppress(OSError):
            if leads_to(path, temporary.made):
                return True
        if error == errno.EEXIST:
            return False
    if error in (errno.ENOSYS, errno.EINVAL):
        error = errno.EOPNOTSUPP
    if error:
        raise OSError(error, os.strerror(error), temporary.path, None, path)
    return True


def _claim_and_rename(temporary: Temporary, path: str) -> bool:
    try:
        claim = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
    except FileExistsError:
        return False
    try:
        os.replace(temporary.path, path)
    except BaseException:
        if leads_to(path, os.fstat(claim)):
            os.unlink(path)
        raise
    finally:
        with contextlib.suppress(OSError):
            os.close(claim)
    return True


def is_abandoned_claim(path: str) -> bool:
    """Return whether a file is the empty claim of a run that died before its file got the name."""
    with _abandoned_claim(path) as is_one:
        return is_one


def remove_abandoned_claim(path: str) -> None:
    """Remove the empty claim of a run that died; any other file stays.

    Raises:
        OSError: If it cannot be removed.
    """
    with _abandoned_claim(path) as is_one:
        if is_one:
            os.unlink(path)


@contextlib.contextmanager
def _abandoned_claim(path: str) -> Iterator[bool]:
    """Yield whether a file is an abandoned claim; no other run removes it meanwhile.

    A live run that claims the name has a locked temporary file from before until afterwards. So a
    file that was there before the temporary files were looked at, and still is, is no live claim.
    """
    if sys.platform == "win32":  # names are not claimed there
        yield False
        return
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        yield False
        return
    try:
        is_ours = try_lock(fd) is Lock.HELD and has_only_abandoned(path)
        found = os.fstat(fd)
        is_empty = stat.S_ISREG(found.st_mode) and found.st_size == 0
        yield is_ours and is_empty and leads_to(path, found)
    finally:
        os.close(fd)


def is_same(one: str, other: str) -> bool:
    """Return whether both names lead to one file; False if one leads nowhere."""
    try:
        return os.path.samestat(os.lstat(one), os.lstat(other))
    except FileNotFoundError:
        return False


def exchange(one: str, other: str) -> None:
    """Exchange the names of two files.

    Args:
        one: Path of a file.
        other: Path of another one in the same file system.

    Raises:
        OSError: If that failed, and nothing has happened. Systems, file systems and sandboxes that
            cannot do it say so in many ways (ENOSYS, EINVAL, EPERM); and some need more than a
            renaming does, as overlayfs, which copies the old file first (ENOSPC).
    """
    renameat2 = _renameat2()
    if renameat2 is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), one, None, other)
    error = renameat2(os.fsencode(one), os.fsencode(other), _RENAME_EXCHANGE)
    if error:
        raise OSError(error, os.strerror(error), one, None, other)


@functools.cache
def _renameat2() -> Callable[[bytes, bytes, int], int] | None:
    """Return the C library's `renameat2` as a function to an error number; None without it."""
    if sys.platform != "linux":
        return None
    import ctypes

    found = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if found is None:
        return None

    def call(one: bytes, other: bytes, flag: int) -> int:
        if found(_AT_FDCWD, one, _AT_FDCWD, other, flag) == 0:
            return 0
        return ctypes.get_errno()

    return call


def make_folders(folder: str, *, mode: int = 0o777) -> None:
    """Make a folder, and the folders above it that are missing.

    Each folder is synced before the next: a power failure leaves none without its parent.

    Args:
        folder: Absolute path.
        mode: Permissions of the folders that are made, from which the umask takes.
    """
    missing = []
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    for one in reversed(missing):
        with contextlib.suppress(FileExistsError):  # another thread was quicker
            os.mkdir(one, mode)
        sync_folder(os.path.dirname(one))


def sync_folder(folder: str) -> None:
    """Sync the names in a folder to disk, where the platform can."""
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
        with contextlib.suppress(OSError):
            os.close(fd)
