"""The temporary file beside the target, its lock, and temporary files that killed runs left.

    .<name of the target>.bloomify-<16 hexadecimal digits>.tmp

The leading dot keeps readers of datasets (Spark, Hive, pyarrow) away from it. The digits
come from the system's random source; `O_EXCL` and `O_NOFOLLOW` refuse whatever is there
already. Mode 0600 holds until the attributes of the old file are carried over. Names are
cut to 255 bytes, the limit of common file systems.

**Locks** are advisory, belong to the open file, not to its name, and end with the process that
holds them. Only programs that ask for a lock notice it.

A writer holds the lock of its temporary file as long as it lives, also when that file has taken the
target's place and the temporary name leads to the old file. A file of exactly this pattern was left
by a killed run, and is removed, if both its lock and that of the target can be taken. Where locks
are unavailable nothing is removed; on Windows the system itself refuses to remove open files.
"""

from __future__ import annotations

import contextlib
import enum
import errno
import os
import stat
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

if sys.platform != "win32":
    import fcntl


_BUSY = {errno.EWOULDBLOCK} if sys.platform == "linux" else {errno.EWOULDBLOCK, errno.EACCES}
"""Errors of `flock` if another open file holds the lock. Where it is made of `fcntl` locks, EACCES
may say so, too; on Linux EACCES comes from a security module that forbids all locks."""


class Lock(enum.StrEnum):
    """The outcome of asking for a lock."""

    HELD = "held"
    """This run holds the lock until `unlock`, or until the file is closed."""
    BUSY = "busy"
    """Another open file holds the lock."""
    UNAVAILABLE = "unavailable"
    """The platform or the file system has no such locks (Windows; NFS for read-only files)."""


def try_lock(fd: int) -> Lock:
    """Try to take the exclusive lock of an open file, without waiting."""
    if sys.platform == "win32":
        return Lock.UNAVAILABLE
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return Lock.BUSY if error.errno in _BUSY else Lock.UNAVAILABLE
    return Lock.HELD


def unlock(fd: int) -> None:
    """Release the lock of an open file, if it is held."""
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_UN)


# ruff: noqa: PTH108, PTH116, PTH118, PTH208  the steps are system calls, and spelled as such


NAME_MAX = 255
"""Most bytes of a file name."""

PRIVATE = stat.S_IRUSR | stat.S_IWUSR
"""Mode 0600: only the owner reads and writes."""

_ATTEMPTS = 100
"""Number of new names that are tried; that one is taken or locked by another run is very rare."""

_MARK = ".bloomify-"
_DIGITS = 16
_HEXADECIMAL = frozenset("0123456789abcdef")
_END = ".tmp"
_ROOM = NAME_MAX - len("." + _MARK + _END) - _DIGITS
"""Most bytes of the target's name in the temporary one."""

_TICK_NS = 20_000_000
"""Nanoseconds in which a file system's clock may not show a change."""

_UNSETTLED = -1
_SLOW_LISTING_NS, _LISTINGS_APART = 5_000_000, 20
"""A folder that takes longer to list is listed again only after so many times as long."""

_CONTINUES_MASK, _CONTINUES = 0b1100_0000, 0b1000_0000
"""A byte that continues a UTF-8 character; names are not cut inside one."""

_FLAGS = (
    os.O_RDWR
    | os.O_CREAT
    | os.O_EXCL
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


@dataclass(kw_only=True, slots=True)
class Temporary:
    """A temporary file that this run has opened and locked."""

    path: str
    """Absolute path of the file."""
    fd: int
    """File descriptor, open for reading and writing."""
    made: os.stat_result = field(repr=False)
    """`stat` of the file when it was made."""
    is_left: bool = False
    """Whether its path is not removed at the end, because another program's file has it now."""

    @property
    def granted(self) -> int:
        """Permission bits that the system grants a new file: umask and default ACL applied."""
        return stat.S_IMODE(self.made.st_mode)

    def grant(self) -> None:
        """Give the file the permissions of a new file; until then only the owner can use it."""
        if hasattr(os, "fchmod"):
            os.fchmod(self.fd, self.granted)

    def may_be_at(self, path: str) -> bool:
        """Return whether a path leads to this very file; True also if that cannot be seen."""
        try:
            return leads_to(path, self.made)
        except OSError:
            return True


@contextlib.contextmanager
def temporary_beside(target: str, *, permissions: int) -> Iterator[Temporary]:
    """Open a temporary file in the target's folder; at the end close it and remove its path.

    What cannot be removed is left for a later run, as after a kill.

    Args:
        target: Absolute path of the file to be replaced or created.
        permissions: The permission bits wished for, from which `granted` is made.

    Yields:
        The file, empty, with mode 0600 or less.
    """
    temporary = _create(target, permissions=permissions)
    try:
        yield temporary
    finally:
        _discard(temporary.fd, None if temporary.is_left else temporary.path)


def find_temporaries(target: str) -> tuple[str, ...]:
    """Return the paths of all temporary files for this target, live or stale, sorted."""
    return _find(target, may_be_late=False)


def remove_stale(target: str) -> tuple[str, ...]:
    """Remove the temporary files that killed runs left for this target.

    One that leads to the target itself (the run died between giving it its name and taking
    the temporary one away) is left for a later run; and so may be one that was left in a large
    folder a moment ago.

    Returns:
        The paths that were removed.
    """
    found = _find(target, may_be_late=True)
    return tuple(path for path in found if _remove_if_stale(path, target))


def has_only_abandoned(target: str) -> bool:
    """Return whether killed runs left temporary files for this target, and no live run has one.

    Return False where locks are unavailable: a run may be alive without one.
    """
    found = find_temporaries(target)
    return bool(found) and all(_lock_of(path) is Lock.HELD for path in found)


def _find(target: str, *, may_be_late: bool) -> tuple[str, ...]:
    folder, name = os.path.split(target)
    try:
        names = _marked_names(folder, may_be_late=may_be_late)
    except (PermissionError, FileNotFoundError):  # writable, perhaps, or about to be made
        return ()
    if not names:  # as nearly always
        return ()
    prefix = _prefix(name)
    return tuple(os.path.join(folder, found) for found in names if _is_marked(found, prefix))


def _is_marked(name: str, prefix: str) -> bool:
    """Return whether a name is exactly the prefix, digits and ending of a temporary file."""
    digits = name[len(prefix) : -len(_END)]
    return (
        name.startswith(prefix)
        and name.endswith(_END)
        and len(digits) == _DIGITS
        and _HEXADECIMAL.issuperset(digits)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listing:
    """The temporary files of a folder at the time of a listing."""

    folder: str
    changed_ns: int
    """Time of the folder's last change, by its file system; `_UNSETTLED` if that was just now, so
    that another change might not show."""

    names: tuple[str, ...]
    due_ns: int
    """Monotonic time until which the listing may be used although the folder has changed."""


_last_listing: _Listing | None = None


def _marked_names(folder: str, *, may_be_late: bool) -> tuple[str, ...]:
    """Return the names of all temporary files in a folder, sorted.

    A listing serves many targets: until the folder changes, as far as its time shows. But each file
    that is replaced changes it. So that n files do not take n listings of n names, a folder that
    takes long to list is not listed again at once, if that `may_be_late`.
    """
    global _last_listing  # noqa: PLW0603  replaced as a whole
    changed_ns = os.stat(folder).st_mtime_ns
    began, last = time.monotonic_ns(), _last_listing
    if last is not None and last.folder == folder:
        is_due = not may_be_late or began >= last.due_ns
        if last.changed_ns == changed_ns or not is_due:
            return last.names
    names = tuple(sorted(name for name in os.listdir(folder) if _MARK in name))
    ended = time.monotonic_ns()
    took_ns = ended - began
    _last_listing = _Listing(
        folder=folder,
        changed_ns=changed_ns if time.time_ns() - changed_ns > _TICK_NS else _UNSETTLED,
        names=names,
        due_ns=ended + _LISTINGS_APART * took_ns if took_ns > _SLOW_LISTING_NS else 0,
    )
    return names


def _create(target: str, *, permissions: int) -> Temporary:
    folder, name = os.path.split(target)
    for _ in range(_ATTEMPTS):
        digits = os.urandom(_DIGITS // 2).hex()
        path = os.path.join(folder, f"{_prefix(name)}{digits}{_END}")
        try:
            fd = os.open(path, _FLAGS, permissions & 0o777)
        except FileExistsError:
            continue
        except BaseException:
            with contextlib.suppress(OSError):  # interrupted just after it was made
                os.unlink(path)
            raise
        temporary = _claim(path, fd)
        if temporary is not None:
            return temporary
    raise BlockingIOError(errno.EWOULDBLOCK, "New files are locked by another process", target)


def _claim(path: str, fd: int) -> Temporary | None:
    """Lock a new temporary file; None if another run took it for a stale one just now."""
    try:
        temporary = Temporary(path=path, fd=fd, made=os.fstat(fd))
        if hasattr(os, "fchmod") and temporary.granted != PRIVATE:
            os.fchmod(fd, PRIVATE)
        is_ours = try_lock(fd) is not Lock.BUSY and temporary.may_be_at(path)
    except BaseException:
        _discard(fd, path)
        raise
    if is_ours:
        return temporary
    _discard(fd, path)
    return None


def _discard(fd: int, path: str | None) -> None:
    """Close a temporary file and remove its path, unless either was done before."""
    try:
        with contextlib.suppress(OSError):
            os.close(fd)
    finally:
        if path is not None:
            with contextlib.suppress(OSError):
                os.unlink(path)


def _prefix(name: str) -> str:
    """Return the prefix of the names of all temporary files for `name`."""
    whole = os.fsencode(name)
    end = min(len(whole), _ROOM)
    while end < len(whole) and whole[end] & _CONTINUES_MASK == _CONTINUES:
        end -= 1
    return f".{os.fsdecode(whole[:end])}{_MARK}"


def _remove_if_stale(path: str, target: str) -> bool:
    try:
        if sys.platform == "win32":
            os.unlink(path)
            return True
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            return _unlink_if_stale(path, fd, target)
        finally:
            os.close(fd)
    except OSError:  # in use, gone, or another user's: removing it is a courtesy
        return False


def _lock_of(path: str) -> Lock | None:
    """Take a file's lock and release it; return the outcome, or None if it cannot be opened."""
    if sys.platform == "win32":
        return Lock.UNAVAILABLE
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return try_lock(fd)
    finally:
        os.close(fd)


def _unlink_if_stale(path: str, fd: int, target: str) -> bool:
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode) or leads_to(target, found):
        return False
    if try_lock(fd) is not Lock.HELD or _lock_of(target) is Lock.BUSY:
        return False
    if not leads_to(path, found):
        return False
    os.unlink(path)
    return True


def leads_to(path: str, found: os.stat_result) -> bool:
    """Return whether a path leads to the file with the given `stat`."""
    try:
        return os.path.samestat(os.stat(path, follow_symlinks=False), found)
    except FileNotFoundError:
        return False
