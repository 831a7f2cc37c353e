"""Put a new version of a file in the place of the old one, or under a new name.

At every instant the path leads to all of the old bytes or all of the new ones:

    open_file      regular file, identity recorded          -+
    choose_target    symbolic links, hard links, -o, backup   -+ nothing written so far
    new_version      temporary file beside the target, mode 0600
      copy, write    the new bytes
      complete       owner, mode, attributes, the old time if asked for; fsync
                     (now the caller reads the file back)
      commit         lock -> compare identity -> backup -> exchange names -> compare -> unlock
                     remove the old bytes; fsync the folder

Any exception before the exchange, KeyboardInterrupt and SystemExit too, removes the
temporary file and leaves the target alone. So does FileChanged right after it. Later only one can
come: Unfinished, if the folder could not be synced. The new version is then in place and complete,
but a power failure may still bring the old one back. Whatever else fails there (giving back the
lock, closing, removing the old bytes under the temporary name) changes nothing, and is no error.

**Power loss.** A renaming may reach the disk before other changes to the folder do. So the folder
is synced, too, between making a backup and the renaming, and after a file was taken away that would
contradict the new version: the old bytes always have a name, and checksums of the old bytes never
lie beside the new ones.

**Other programs.** The old file is compared with what it was before the new one takes its place.
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

**A new name** is given by `names.publish`, which never overwrites. A name that exists is replaced
like the source itself, if the caller said so.
"""

# ruff: noqa: PTH104, PTH105, PTH108, PTH116, PTH120  the steps are system calls, spelled as such
from __future__ import annotations

import contextlib
import dataclasses
import os
import stat
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import FileChanged, Unfinished
from parquet_bloomwriter.replace.attributes import carry_over
from parquet_bloomwriter.replace.copying import WRITE_BACK, WriteBack, copy_range, write_all
from parquet_bloomwriter.replace.names import (
    CLOSE_BEFORE_RENAMING,
    NO_LINKS,
    exchange,
    is_same,
    make_folders,
    publish,
    remove_abandoned_claim,
    sync_folder,
)
from parquet_bloomwriter.replace.temporary import (
    PRIVATE,
    Lock,
    Temporary,
    remove_stale,
    temporary_beside,
    try_lock,
    unlock,
)
from parquet_bloomwriter.source.identity import FileIdentity
from parquet_bloomwriter.source.local import OpenedFile, open_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parquet_bloomwriter.replace.copying import Progress
    from parquet_bloomwriter.replace.target import Target
    from parquet_bloomwriter.source import Source

NEW_FILE = 0o666
"""Permissions of a new file that replaces none, before the umask."""

_COPIED_BYTES = 64 * 1024 * 1024
"""Bytes that are copied at once from a source that is not on disk."""

_PERMISSIONS = stat.S_IRWXU | stat.S_IRWXG | stat.S_IRWXO


@contextlib.contextmanager
def new_version(
    source: OpenedFile | Source,
    target: Target,
    *,
    keeps_time: bool = False,
    progress: Progress | None = None,
) -> Iterator[NewVersion]:
    """Open the new version of a file; at the end it is removed, unless it was committed.

    Args:
        source: What `copy` reads: a file, checked for changes by `commit`; or bytes of another
            place, which are all of one version.
        target: From `choose_target`.
        keeps_time: Whether the new version gets the time of modification of `source`, a file.
        progress: Called after each write with the number of bytes.

    Raises:
        FileChanged: If the file that will be replaced has changed.
        OSError: What any step raises.
    """
    with contextlib.ExitStack() as stack:
        old = _open_old(source, target, stack)
        for path in filter(None, (target.path if old is None else None, target.backup)):
            remove_abandoned_claim(path)  # before the temporary file that tells
        for path in filter(None, (target.path, target.backup)):
            remove_stale(path)
        mode = os.fstat(source.fd).st_mode if isinstance(source, OpenedFile) else NEW_FILE
        permissions = PRIVATE if old else mode
        temporary = stack.enter_context(temporary_beside(target.path, permissions=permissions))
        new = NewVersion(source, target, old, temporary, stack, progress=progress)
        new.keeps_time = keeps_time
        stack.callback(new.stop)
        yield new


class NewVersion:
    """The new version of a file: written from first to last byte, completed, committed."""

    def __init__(  # noqa: PLR0913  made by `new_version` only
        self,
        source: OpenedFile | Source,
        target: Target,
        old: OpenedFile | None,
        temporary: Temporary,
        resources: contextlib.ExitStack,
        *,
        progress: Progress | None,
    ) -> None:
        """Write to an empty temporary file.

        Args:
            source: What `copy` reads.
            target: Where the new version goes.
            old: The file that it replaces, open; None if it gets a new name.
            temporary: The empty file.
            resources: What closes and removes the temporary file, and closes `old`.
            progress: Called after each write with the number of bytes.
        """
        self.written = 0
        """Bytes written so far, which is the offset of the next one."""
        self.keeps_time = False
        """Whether the new version gets the modification time of its source."""
        self._source = source
        self._target = target
        self._old = old
        self._temporary = temporary
        self._resources = resources
        self._progress = progress
        self._write_back = WriteBack(temporary.fd, every=WRITE_BACK)

    @property
    def path(self) -> str:
        """Absolute path of the temporary file, until it is committed."""
        return self._temporary.path

    def copy(self, start: int, stop: int) -> None:
        """Append bytes [start, stop) of the source.

        Raises:
            FileChanged: If the source ends before `stop`.
        """
        source, fd = self._source, self._temporary.fd
        if isinstance(source, OpenedFile):
            copy_range(source.fd, fd, start, stop, path=source.name, progress=self._advance)
            return
        for at in range(start, stop, _COPIED_BYTES):
            self.write(source.read_at(at, min(at + _COPIED_BYTES, stop)))

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Append `data`."""
        write_all(self._temporary.fd, data)
        self._advance(memoryview(data).nbytes)

    def complete(self) -> None:
        """Give the file its attributes, and sync its bytes to disk; no more can be written.

        Raises:
            OSError: If bytes could not be stored, or an attribute cannot be kept.
        """
        complete(self._temporary, self._old)  # while the last early write-back may go on
        self._write_back.stop()
        self._write_back.check()
        if self.keeps_time and isinstance(self._source, OpenedFile):
            _set_time(self._temporary, self._source.identity.mtime_ns)

    def commit(self, *, contradicted: str | None = None) -> None:
        """Rename the complete file to its target.

        Args:
            contradicted: Path of a file that is true of the replaced version only. It is taken away
                before the renaming, and put back if that fails.

        Raises:
            FileChanged: If another program changed source or target, or is about to.
            Unfinished: If the new version is in place, but its folder could not be synced.
            OSError: What any step before that raises.
        """
        target, temporary = self._target, self._temporary
        if isinstance(self._source, OpenedFile):
            self._source.check_unchanged()
        if self._old is None:
            with _taken_away(contradicted, unless=temporary, at=target.path):
                if not publish(temporary, target.path):
                    raise created_meanwhile(target.name)
        else:
            _take_place(temporary, self._old, backup=target.backup, contradicted=contradicted)
            _remove_old(temporary, self._old)
        self.discard()  # of a new name, the temporary one is left
        try:
            sync_folder(os.path.dirname(target.path))
        except OSError as error:
            raise Unfinished(
                f"the folder could not be synced: {error.strerror}",
                path=target.name,
                remedy="Check the disk: a power failure may bring back what was there before.",
            ) from error

    def discard(self) -> None:
        """Remove the temporary file, and close all files."""
        self._resources.close()

    def stop(self) -> None:
        """Stop the early write-back."""
        self._write_back.stop()

    def _advance(self, count: int) -> None:
        self.written += count
        self._write_back.advance(count)
        if self._progress is not None:
            self._progress(count)


def _open_old(
    source: OpenedFile | Source, target: Target, stack: contextlib.ExitStack
) -> OpenedFile | None:
    """Open the file that will be replaced, or return None."""
    if target.in_place and isinstance(source, OpenedFile):
        return source
    if target.replaces is None:
        return None
    old = stack.enter_context(open_file(target.path))
    old = dataclasses.replace(old, name=target.name, identity=target.replaces)
    old.check_unchanged()
    return old


def complete(temporary: Temporary, old: OpenedFile | None) -> None:
    """Give a written temporary file its attributes, and sync it to disk.

    Args:
        temporary: The file.
        old: The file that it replaces, whose attributes it gets; None gives it those that the
            system grants a new file.

    Raises:
        OSError: If an attribute cannot be kept, or bytes could not be stored.
    """
    if old is not None:
        carry_over(old.fd, temporary.fd, name=old.name)
    else:
        temporary.grant()
    os.fsync(temporary.fd)


def _set_time(temporary: Temporary, mtime_ns: int) -> None:
    """Set the modification time, last of all: writing, or flushing on NFS, would change it."""
    place = temporary.fd if os.utime in os.supports_fd else temporary.path
    os.utime(place, ns=(os.fstat(temporary.fd).st_atime_ns, mtime_ns))
    os.fsync(temporary.fd)


def _take_place(
    temporary: Temporary, old: OpenedFile, *, backup: str | None, contradicted: str | None
) -> None:
    """Rename the new file over the old one, which must be unchanged since it was opened."""
    if try_lock(old.fd) is Lock.BUSY:
        remedy = "Run the command again when the other process has ended."
        raise FileChanged("another process has locked the file", path=old.name, remedy=remedy)
    try:
        if not temporary.may_be_at(temporary.path):
            raise FileChanged("the temporary file was removed meanwhile", path=old.name)
        with _taken_away(contradicted, unless=temporary, at=old.path):
            old.check_unchanged()  # the last look before the exchange
            with _kept(old, backup, unless=temporary):
                if CLOSE_BEFORE_RENAMING:
                    os.close(temporary.fd)
                    os.close(old.fd)
                _exchange(temporary, old)
    finally:
        unlock(old.fd)


def _exchange(temporary: Temporary, old: OpenedFile) -> None:
    """Exchange the names of both files, unless another program has replaced the old file."""
    try:
        exchange(temporary.path, old.path)
    except OSError:
        old.check_unchanged(FileIdentity.same_but_for_names)  # it may be gone
        os.replace(temporary.path, old.path)
    finally:  # an interruption, too, may come after it was done
        _check_replaced(temporary, old)


def _check_replaced(temporary: Temporary, old: OpenedFile) -> None:
    """Check that the temporary name leads to the unchanged old file; else exchange names back."""
    try:
        found = os.stat(temporary.path, follow_symlinks=False)
    except OSError:  # no file has it; or the check before the exchange must be enough
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
            f"another program changed it at the same instant; its version is now {saved}",
            path=old.name,
            remedy="Choose which of the two is to stay.",
        ) from error
    temporary.is_left = False
    raise old.changed_to(now)


def _saved(path: str, beside: str) -> str:
    """Rename another program's file so that no later run removes it as a leftover, if possible."""
    name = f"{beside}.saved-{os.urandom(4).hex()}"
    try:
        os.rename(path, name)
    except OSError:
        return path
    return name


def _remove_old(temporary: Temporary, old: OpenedFile) -> None:
    """Remove the replaced file's temporary names: this run's, and one that a killed run left."""
    with contextlib.suppress(OSError):
        os.unlink(temporary.path)
    unlock(temporary.fd)  # it marks the target as being replaced
    with contextlib.suppress(OSError):  # closed, on Windows; and it is a courtesy
        if os.fstat(old.fd).st_nlink:
            remove_stale(old.path)


@contextlib.contextmanager
def _taken_away(path: str | None, *, unless: Temporary, at: str) -> Iterator[None]:
    """Rename a file to a temporary name; rename it back unless the new file took its place."""
    if path is None:
        yield
        return
    with temporary_beside(path, permissions=PRIVATE) as aside:
        if CLOSE_BEFORE_RENAMING:
            os.close(aside.fd)
        try:
            os.replace(path, aside.path)
            sync_folder(os.path.dirname(path))
            yield
        except BaseException:
            if not (unless.may_be_at(at) or os.path.lexists(path)):
                _put_back(aside.path, path)
            raise


def _put_back(aside: str, path: str) -> None:
    """Rename a file back, in one of two ways: the one that has failed may fail again."""
    try:
        os.link(aside, path)
    except OSError:
        os.replace(aside, path)


@contextlib.contextmanager
def _kept(old: OpenedFile, backup: str | None, *, unless: Temporary) -> Iterator[None]:
    """Keep the old file under a backup name; remove that unless the new file took its place."""
    if backup is None:
        yield
        return
    mode = os.stat(os.path.dirname(old.path)).st_mode & _PERMISSIONS | stat.S_IRWXU
    make_folders(os.path.dirname(backup), mode=mode)  # may be entered by no more users
    is_made = _make_backup(old, backup)
    try:
        sync_folder(os.path.dirname(backup))
        old.check_unchanged(FileIdentity.same_but_for_names)
        yield
    except BaseException:
        if is_made and not unless.may_be_at(old.path):
            os.unlink(backup)
        raise


def _make_backup(old: OpenedFile, backup: str) -> bool:
    """Make the backup; return False if an earlier run that died had made it."""
    try:
        os.link(old.path, backup)
    except FileExistsError:
        if not is_same(backup, old.path):
            raise created_meanwhile(backup) from None
        return False
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        _copy_backup(old, backup)
    return True


def _copy_backup(old: OpenedFile, backup: str) -> None:
    with temporary_beside(backup, permissions=PRIVATE) as temporary:
        copy_range(old.fd, temporary.fd, 0, old.identity.size, path=old.name)
        carry_over(old.fd, temporary.fd, name=old.name)
        os.utime(temporary.path, ns=(old.identity.mtime_ns, old.identity.mtime_ns))
        os.fsync(temporary.fd)
        if not publish(temporary, backup):
            raise created_meanwhile(backup)


def created_meanwhile(name: str) -> FileChanged:
    """Return the error for a target that was free when chosen, and was created meanwhile."""
    remedy = "Choose another name."
    return FileChanged(
        "the file was created by another program meanwhile", path=name, remedy=remedy
    )
