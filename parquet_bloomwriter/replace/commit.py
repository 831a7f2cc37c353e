"""Put a new version of a file in the place of the old one, or under a new name.

At every instant the path leads to all of the old bytes or all of the new ones:

    open_source      regular file, identity recorded          -+
    choose_target    symbolic links, hard links, -o, backup   -+ nothing written so far
    replacing        temporary file beside the target, mode 0600
      copy, write    the new bytes
                     owner, mode, attributes; fsync; verify by the caller
                     lock -> compare identity -> backup -> exchange names -> compare -> unlock
                     remove the old bytes; fsync the folder

Any exception before the exchange, KeyboardInterrupt and SystemExit too, removes the
temporary file and leaves the target alone. So does FileChanged right after it. Later only one can
come: Unfinished, if the folder could not be synced. The new version is then in place and complete,
but a power failure may still bring the old one back. Whatever else fails there (giving back the
lock, closing, removing the old bytes under the temporary name) changes nothing, and is not told.

**Power loss.** A renaming may reach the disk before other changes to the folder do. So the folder
is synced, too, between making a backup and the renaming, and after a file was taken away that would
contradict the new version: the old bytes always have a name, and checksums of the old bytes never
lie beside the new ones.

**Somebody else.** The old file is compared with what it was before the new one takes its place.
Then they exchange names, so that what was replaced can still be looked at: if it is another file
by now, or was written to in these microseconds, the names are exchanged back. (Not seen is what
only `ctime` would tell: a write of the same size with the time set back, and changes of attributes
other than mode and owner.) Where names cannot be exchanged (other systems than Linux, some network
file systems) the new file is renamed over the old one, and such a change is lost.

**Two runs on one file.** Each takes the lock of the *old* file, the one it opened, between
comparing and renaming. The lock goes with the inode: the second run either finds it taken
or, once it has it, finds that the path leads elsewhere; both are FileChanged, and nothing
is lost. The lock leaves no file behind. What remains possible:

- A program that holds the old file open goes on reading (and writing) the old bytes.
- A program that changes the new version before the names are exchanged back changes nothing.
- Where files opened for reading cannot be locked (NFS, Windows), our own runs have the
  same window of microseconds.

**A backup** is a second name of the old file, or, in a folder on another disk, a copy, which is
complete and synced, with its folders, before the exchange. It goes again if the exchange fails.

**A new name** is given by `link`, which never overwrites. Where hard links are impossible
(FAT, some FUSE mounts) an empty file claims the name first, and the new one is renamed
over it. A name that exists is replaced like the source itself, if the caller said so.

On Windows the files must be closed before the renaming, and folders cannot be synced; the
same holds for folders that we may not read and file systems that refuse it.

Two files that change names at one instant.

Renaming a file over another one destroys the other, whatever it has become by then. When names are
exchanged, it can be looked at afterwards, and given its name back.

Linux has `renameat2(RENAME_EXCHANGE)` for it, which most of its local file systems know. Python
does not offer it, so the C library is asked.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import functools
import os
import secrets
import stat
import sys
from typing import TYPE_CHECKING, Self

from parquet_bloomwriter.errors import FileChanged, Unfinished
from parquet_bloomwriter.replace.attributes import carry_over
from parquet_bloomwriter.replace.copying import WRITE_BACK, WriteBack, copy_range, write_all
from parquet_bloomwriter.replace.original import FileIdentity, SourceFile, open_source
from parquet_bloomwriter.replace.target import Target, choose_target, is_same
from parquet_bloomwriter.replace.temporary import (
    PRIVATE,
    Lock,
    Temporary,
    remove_stale,
    temporary_beside,
    try_lock,
    unlock,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from parquet_bloomwriter.replace.copying import Progress

__all__ = [
    "NewVersion",
    "SourceFile",
    "Target",
    "choose_target",
    "exchange",
    "open_source",
    "replacing",
]


_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def exchange(one: str, other: str) -> None:
    """Give each of two files the name of the other.

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
    error = renameat2(os.fsencode(one), os.fsencode(other))
    if error:
        raise OSError(error, os.strerror(error), one, None, other)


@functools.cache
def _renameat2() -> Callable[[bytes, bytes], int] | None:
    """The C library's function, as one that returns an error number; None if there is none."""
    if sys.platform != "linux":
        return None
    import ctypes

    found = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if found is None:
        return None

    def call(one: bytes, other: bytes) -> int:
        if found(_AT_FDCWD, one, _AT_FDCWD, other, _RENAME_EXCHANGE) == 0:
            return 0
        return ctypes.get_errno()

    return call


# ruff: noqa: PTH102, PTH104, PTH105, PTH108, PTH112, PTH116, PTH120  the steps are system calls, spelled as such


_CLOSE_BEFORE_RENAMING = sys.platform == "win32"
_NO_LINKS = frozenset(
    {errno.EPERM, errno.EACCES, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV},
)
_PERMISSIONS = stat.S_IRWXU | stat.S_IRWXG | stat.S_IRWXO
_NO_FOLDER_SYNC = frozenset({errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS, errno.EBADF})


class NewVersion:
    """The new bytes, written from the first to the last."""

    def __init__(self, source: SourceFile, fd: int, *, progress: Progress | None) -> None:
        """Write to the open, empty file `fd`; `progress` is told the bytes as they come."""
        self.source = source
        self.written = 0
        """Bytes so far; the offset of the next one."""
        self._fd = fd
        self._progress = progress
        self._write_back = WriteBack(fd, every=WRITE_BACK)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._write_back.stop()
        if kind is None:
            self._write_back.check()

    def copy(self, start: int, stop: int) -> None:
        """Append bytes [start, stop) of the source.

        Raises:
            FileChanged: If the source ends before `stop`.
        """
        name = self.source.name
        copy_range(self.source.fd, self._fd, start, stop, path=name, progress=self._advance)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Append `data`."""
        write_all(self._fd, data)
        self._advance(memoryview(data).nbytes)

    def _advance(self, count: int) -> None:
        self.written += count
        self._write_back.advance(count)
        if self._progress is not None:
            self._progress(count)


@contextlib.contextmanager
def replacing(
    source: SourceFile,
    target: Target,
    *,
    verify: Callable[[str], None],
    progress: Progress | None = None,
    contradicted: str | None = None,
) -> Iterator[NewVersion]:
    """Write a new version in the body of the `with` statement; at its end it takes its place.

    Args:
        source: The file that `copy` reads; checked for changes at the end.
        target: From `choose_target`.
        verify: Given the path of the complete new file, synced but not yet in place; an
            exception from it throws the file away.
        progress: Told the number of bytes as they are written.
        contradicted: Path of a file that is true of the replaced version only. It is taken away
            before the renaming, and put back if that fails.

    Raises:
        FileChanged: Source or target were changed by somebody else, or are being so now.
        Unfinished: The new version is in place, but its folder could not be synced.
        OSError: What any step before that raises.
    """
    with contextlib.ExitStack() as stack:
        old = _open_old(source, target, stack)
        for path in filter(None, (target.path, target.backup)):
            remove_stale(path)
        permissions = PRIVATE if old else os.fstat(source.fd).st_mode
        temporary = stack.enter_context(temporary_beside(target.path, permissions=permissions))
        with NewVersion(source, temporary.fd, progress=progress) as new:
            yield new
        _complete(temporary, old)
        verify(temporary.path)
        source.check_unchanged()
        if old is None:
            with _taken_away(contradicted, unless=temporary, at=target.path):
                _publish(temporary, target.path, name=target.name)
        else:
            _take_place(temporary, old, backup=target.backup, contradicted=contradicted)
            _remove_old(temporary, old)
    try:
        _sync_folder(os.path.dirname(target.path))
    except OSError as error:
        raise Unfinished(
            f"the folder could not be synced: {error.strerror}",
            path=target.name,
            remedy="Check the disk: a power failure may bring back what was there before.",
        ) from error


@contextlib.contextmanager
def successor(
    path: str, write: Callable[[SourceFile, NewVersion], None]
) -> Iterator[Callable[[], None]]:
    """Write a new version of a file that is about to be taken away.

    Args:
        path: The file, absolute.
        write: Given the file and its new version.

    Yields:
        What gives the new version the name, which must be free by then: FileChanged else.

    Raises:
        OSError: What any step raises.
    """
    with temporary_beside(path, permissions=PRIVATE) as temporary:
        with open_source(path) as old:
            with NewVersion(old, temporary.fd, progress=None) as new:
                write(old, new)
            _complete(temporary, old)

        def publish() -> None:
            if os.path.lexists(path):
                raise _created_meanwhile(path)
            if _CLOSE_BEFORE_RENAMING:
                os.close(temporary.fd)
            os.replace(temporary.path, path)
            _sync_folder(os.path.dirname(path))

        yield publish


def _open_old(source: SourceFile, target: Target, stack: contextlib.ExitStack) -> SourceFile | None:
    """Open the file that will be replaced, if any."""
    if target.replaces is None or target.in_place:
        return source if target.in_place else None
    old = stack.enter_context(open_source(target.path))
    old = dataclasses.replace(old, name=target.name, identity=target.replaces)
    old.check_unchanged()
    return old


def _complete(temporary: Temporary, old: SourceFile | None) -> None:
    """Give the written file its attributes and bring it to the disk."""
    if old is not None:
        carry_over(old.fd, temporary.fd)
    elif hasattr(os, "fchmod"):
        os.fchmod(temporary.fd, temporary.granted)
    os.fsync(temporary.fd)


def _take_place(
    temporary: Temporary, old: SourceFile, *, backup: str | None, contradicted: str | None
) -> None:
    """Rename the new file over the old one, which must be as it was opened."""
    if try_lock(old.fd) is Lock.BUSY:
        remedy = "Run the command again when the other process has ended."
        raise FileChanged("another process has locked the file", path=old.name, remedy=remedy)
    try:
        if not temporary.may_be_at(temporary.path):
            raise FileChanged("the temporary file was removed meanwhile", path=old.name)
        with _taken_away(contradicted, unless=temporary, at=old.path):
            old.check_unchanged()  # the last look before the exchange
            with _kept(old, backup, unless=temporary):
                if _CLOSE_BEFORE_RENAMING:
                    os.close(temporary.fd)
                    os.close(old.fd)
                _exchange(temporary, old)
    finally:
        unlock(old.fd)


def _exchange(temporary: Temporary, old: SourceFile) -> None:
    """Give the new file the old one's name, unless that was somebody else's file by then."""
    try:
        exchange(temporary.path, old.path)
    except OSError:
        old.check_unchanged(FileIdentity.same_but_for_names)  # it may be gone
        os.replace(temporary.path, old.path)
    finally:  # an interruption, too, may come after it was done
        _check_replaced(temporary, old)


def _check_replaced(temporary: Temporary, old: SourceFile) -> None:
    """See what has the temporary name now; if it is not the old file as it was, give it back."""
    try:
        found = os.stat(temporary.path, follow_symlinks=False)
    except OSError:  # nothing has; or the last look before the exchange must do
        return
    now = FileIdentity.of(found)
    if os.path.samestat(found, temporary.made) or old.identity.same_but_for_names(now):
        return
    temporary.is_left = True
    try:
        exchange(temporary.path, old.path)
    except FileNotFoundError:  # what they had put there, they have removed since
        temporary.is_left = False
        old.check_unchanged()
    except OSError as error:
        saved = _saved(temporary.path, old.path)
        raise Unfinished(
            f"somebody else changed it at the same instant; their version is now {saved}",
            path=old.name,
            remedy="Choose which of the two is to stay.",
        ) from error
    temporary.is_left = False
    raise old.changed_to(now)


def _saved(path: str, beside: str) -> str:
    """Give somebody else's file a name that no later run takes for a leftover, if possible."""
    name = f"{beside}.saved-{secrets.token_hex(4)}"
    try:
        os.rename(path, name)
    except OSError:
        return path
    return name


def _remove_old(temporary: Temporary, old: SourceFile) -> None:
    """Remove the replaced file's temporary names: this run's, and one that a killed run left."""
    with contextlib.suppress(OSError):
        os.unlink(temporary.path)
    unlock(temporary.fd)  # it marks the target as being replaced
    with contextlib.suppress(OSError):  # closed, on Windows; and it is a courtesy
        if os.fstat(old.fd).st_nlink:
            remove_stale(old.path)


@contextlib.contextmanager
def _taken_away(path: str | None, *, unless: Temporary, at: str) -> Iterator[None]:
    """Take a file away, under a temporary name; put it back unless the new file came there."""
    if path is None:
        yield
        return
    with temporary_beside(path, permissions=PRIVATE) as aside:
        if _CLOSE_BEFORE_RENAMING:
            os.close(aside.fd)
        try:
            os.replace(path, aside.path)
            _sync_folder(os.path.dirname(path))
            yield
        except BaseException:
            if not (unless.may_be_at(at) or os.path.lexists(path)):
                _put_back(aside.path, path)
            raise


def _put_back(aside: str, path: str) -> None:
    """Give a file its name again, in one of two ways: what has failed may go on failing."""
    try:
        os.link(aside, path)
    except OSError:
        os.replace(aside, path)


@contextlib.contextmanager
def _kept(old: SourceFile, backup: str | None, *, unless: Temporary) -> Iterator[None]:
    """Keep the old file under a second name; take that away unless the new file took its place."""
    if backup is None:
        yield
        return
    _make_folders(os.path.dirname(backup), like=os.path.dirname(old.path))
    is_made = _make_backup(old, backup)
    try:
        _sync_folder(os.path.dirname(backup))
        old.check_unchanged(FileIdentity.same_but_for_names)
        yield
    except BaseException:
        if is_made and not unless.may_be_at(old.path):
            os.unlink(backup)
        raise


def _make_folders(folder: str, *, like: str) -> None:
    """Make the folder of a backup, and those above it, which may be entered by no more users.

    Each is on the disk before the backup is: a power failure leaves none without its parent.

    Args:
        folder: Absolute path.
        like: A folder, whose permissions are taken for those that are missing.
    """
    if os.path.isdir(folder):
        return
    parent = os.path.dirname(folder)
    _make_folders(parent, like=like)
    mode = os.stat(like).st_mode & _PERMISSIONS | stat.S_IRWXU
    with contextlib.suppress(FileExistsError):  # another thread was quicker
        os.mkdir(folder, mode)
    _sync_folder(parent)


def _make_backup(old: SourceFile, backup: str) -> bool:
    """Return whether the name was made, and not by an earlier run that died."""
    try:
        os.link(old.path, backup)
    except FileExistsError:
        if not is_same(backup, old.path):
            raise _created_meanwhile(backup) from None
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        _copy_backup(old, backup)
    return True


def _copy_backup(old: SourceFile, backup: str) -> None:
    with temporary_beside(backup, permissions=PRIVATE) as temporary:
        copy_range(old.fd, temporary.fd, 0, old.identity.size, path=old.name)
        carry_over(old.fd, temporary.fd)
        os.utime(temporary.path, ns=(old.identity.mtime_ns, old.identity.mtime_ns))
        os.fsync(temporary.fd)
        _publish(temporary, backup, name=backup)


def _publish(temporary: Temporary, path: str, *, name: str) -> None:
    """Give the new file a name that nobody has."""
    try:
        if _CLOSE_BEFORE_RENAMING:
            os.close(temporary.fd)
            os.rename(temporary.path, path)  # refuses an existing name on Windows
        else:
            os.link(temporary.path, path)
    except FileExistsError:
        raise _created_meanwhile(name) from None
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        _claim_and_rename(temporary, path, name=name)


def _claim_and_rename(temporary: Temporary, path: str, *, name: str) -> None:
    try:
        claim = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
    except FileExistsError:
        raise _created_meanwhile(name) from None
    try:
        os.replace(temporary.path, path)
    except BaseException:
        if os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(claim)):
            os.unlink(path)
        raise
    finally:
        with contextlib.suppress(OSError):
            os.close(claim)


def _created_meanwhile(name: str) -> FileChanged:
    remedy = "Choose another name."
    return FileChanged("the file was created by somebody else meanwhile", path=name, remedy=remedy)


def _sync_folder(folder: str) -> None:
    """Bring the new name to the disk, where the platform can."""
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
