"""From system calls to operations on a disk.

A call that touches the folder (its path is in the call's line, since strace names open files) is
an operation, or is known to change nothing; any other is an error. At the end the model's disk must
hold, byte for byte, what the folder holds: then nothing was overlooked or misunderstood.
"""

from __future__ import annotations

import os
import stat
from bisect import bisect_left
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, ClassVar

from campaigns.power.calls import Call, UnknownCall
from campaigns.power.disk import (
    ROOT,
    Attribute,
    Disk,
    Exchange,
    File,
    Mode,
    Name,
    Operation,
    Owner,
    Rename,
    Resize,
    SyncFile,
    SyncFolder,
    Unname,
    Write,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_HARMLESS = frozenset(
    {
        "stat",
        "lstat",
        "fstat",
        "newfstatat",
        "statx",
        "access",
        "faccessat",
        "faccessat2",
        "readlink",
        "readlinkat",
        "getdents64",
        "flock",
        "read",
        "pread64",
        "readv",
        "preadv",
        "preadv2",
        "fadvise64",
        "statfs",
        "fstatfs",
        "getxattr",
        "fgetxattr",
        "listxattr",
        "flistxattr",
        "ioctl",
        "utimensat",
        "sync_file_range",
        "getcwd",
    }
)
"""Calls that change nothing that is judged. `utimensat` changes times; `sync_file_range` promises
nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What a run did."""

    name: str
    """The scenario's."""

    before: Disk
    after: Disk
    operations: tuple[Operation, ...]
    births: dict[int, File]
    """Files that were made, as they were first."""


@dataclass(slots=True)
class _Open:
    """An open file; several descriptors may share it."""

    inode: int
    position: int = 0


def look(folder: Path) -> Disk:
    """Take down what is in a folder; inodes are numbered by name, hard links share one."""
    disk = Disk()
    _look(disk, ROOT, folder, {})
    return disk


def _look(disk: Disk, inode: int, folder: Path, known: dict[int, int]) -> None:
    for path in sorted(folder.iterdir()):
        found = path.lstat()
        number = known.setdefault(found.st_ino, len(known) + 1)
        disk.folders[inode][path.name] = number
        if stat.S_ISDIR(found.st_mode):
            disk.folders[number] = {}
            _look(disk, number, path, known)
        else:
            disk.files[number] = file_at(path)


def file_at(path: Path) -> File:
    """Take down a file."""
    found = path.lstat()
    return File(
        data=path.read_bytes(),
        mode=stat.S_IMODE(found.st_mode),
        owner=(found.st_uid, found.st_gid),
        attributes=tuple((name, os.getxattr(path, name)) for name in sorted(os.listxattr(path))),
    )


def record(name: str, before: Disk, folder: Path, calls: Iterable[Call]) -> Record:
    """Turn the calls of a run into operations.

    Args:
        name: The scenario's.
        before: What was in the folder.
        folder: As the run left it.
        calls: Those that touch the folder, in the order in which they ended.

    Raises:
        UnknownCall: If one is not understood, or the operations do not lead to what is there.
    """
    recorder = _Recorder(folder, before)
    for call in calls:
        recorder.hear(call)
    if paths_of(recorder.disk) != paths_of(look(folder)):
        raise UnknownCall(f"{name}: the folder is not as its operations would have left it")
    return Record(
        name=name,
        before=before,
        after=recorder.disk,
        operations=tuple(recorder.operations),
        births=recorder.births,
    )


def paths_of(disk: Disk) -> dict[str, File | None]:
    """What every path leads to; None for a folder."""
    return {path: disk.files.get(inode) for path, inode in disk.walk()}


class _Recorder:
    def __init__(self, folder: Path, before: Disk) -> None:
        self.disk = before.copy()
        self.operations: list[Operation] = []
        self.births: dict[int, File] = {}
        self._folder = folder
        self._ended: list[int] = []
        self._open: dict[int, _Open] = {}
        self._next = 1 + max([*before.files, *before.folders])

    def hear(self, call: Call) -> None:
        """Take note of a call."""
        if call.result == -1 or call.name in _HARMLESS:
            return
        handler = self._HANDLERS.get(call.name)
        if handler is None:
            raise UnknownCall(f"nobody knows what this does to the folder: {call}")
        for operation in handler(self, call):
            self.disk.do(operation)
            self.operations.append(operation)
            self._ended.append(call.ended)

    def _place(self, call: Call, at: int, base: int | None = None) -> tuple[int, str]:
        """Folder and name of a path argument, whose base folder may be another argument."""
        path, folder = PurePosixPath(call.text(at)), ROOT
        if path.is_absolute():
            path = path.relative_to(self._folder)
        elif base is None or call.arguments[base].startswith("AT_FDCWD"):
            raise UnknownCall(f"a path from the working folder: {call}")
        else:
            folder = self._file(call, base).inode
        for part in path.parts[:-1]:
            folder = self.disk.folders[folder][part]
        return folder, path.name

    def _inode(self, call: Call, at: int, base: int | None = None) -> int:
        folder, name = self._place(call, at, base)
        return self.disk.folders[folder][name] if name else folder

    def _file(self, call: Call, at: int) -> _Open:
        """The open file that an argument is."""
        try:
            return self._open[call.fd(at)]
        except KeyError:
            raise UnknownCall(f"a file that nobody opened: {call}") from None

    def _new(self, folder: int, name: str, file: File | None) -> tuple[Name]:
        inode, self._next = self._next, self._next + 1
        if file is None:
            self.disk.folders[inode] = {}
        else:
            self.disk.files[inode] = self.births[inode] = file
        return (Name(folder, name, inode),)

    def _on_openat(self, call: Call) -> tuple[Operation, ...]:
        folder, name = self._place(call, 1, 0)
        flags = call.flags(2)
        done: tuple[Operation, ...] = ()
        if flags & {"O_TMPFILE", "O_APPEND"}:
            raise UnknownCall(str(call))
        names = self.disk.folders[folder]
        if name and name not in names:
            file = File(mode=call.number(3) & ~_umask(), owner=_owner_of_new(self._folder))
            done = (made := self._new(folder, name, file))
            inode = made[0].inode
        else:
            inode = names[name] if name else folder
            if "O_TRUNC" in flags:
                done = (Resize(inode, 0),)
        self._open[call.result] = _Open(inode)
        return done

    def _on_close(self, call: Call) -> tuple[Operation, ...]:
        self._open.pop(call.fd(0), None)
        return ()

    def _on_dup(self, call: Call) -> tuple[Operation, ...]:
        self._open[call.result] = self._file(call, 0)
        return ()

    def _on_fcntl(self, call: Call) -> tuple[Operation, ...]:
        if call.arguments[1] in {"F_DUPFD", "F_DUPFD_CLOEXEC"}:
            return self._on_dup(call)
        return ()

    def _on_lseek(self, call: Call) -> tuple[Operation, ...]:
        self._file(call, 0).position = call.result
        return ()

    def _on_write(self, call: Call) -> tuple[Operation, ...]:
        file = self._file(call, 0)
        data = call.bytes(1)[: call.result]
        offset, file.position = file.position, file.position + len(data)
        return (Write(file.inode, offset, data),) if data else ()

    def _on_pwrite(self, call: Call) -> tuple[Operation, ...]:
        data = call.bytes(1)[: call.result]
        return (Write(self._file(call, 0).inode, call.number(3), data),)

    def _on_copy(self, call: Call) -> tuple[Operation, ...]:
        source, target = self._file(call, 0), self._file(call, 2)
        if call.arguments[3] != "NULL" or not call.result:
            raise UnknownCall(str(call))
        start = int(call.arguments[1].strip("[]").partition(" ")[0])
        data = self.disk.files[source.inode].data[start : start + call.result]
        offset, target.position = target.position, target.position + len(data)
        return (Write(target.inode, offset, data),)

    def _on_ftruncate(self, call: Call) -> tuple[Operation, ...]:
        return (Resize(self._file(call, 0).inode, call.number(1)),)

    def _on_fallocate(self, call: Call) -> tuple[Operation, ...]:
        mode, start, length = (call.number(at) for at in (1, 2, 3))
        if mode or start:
            raise UnknownCall(f"room is taken in the middle of a file: {call}")
        return (Resize(self._file(call, 0).inode, length),)  # the file was empty

    def _on_fchmod(self, call: Call) -> tuple[Operation, ...]:
        return (Mode(self._file(call, 0).inode, call.number(1)),)

    def _on_chmod(self, call: Call) -> tuple[Operation, ...]:
        return (Mode(self._inode(call, 0), call.number(1)),)

    def _on_fchown(self, call: Call) -> tuple[Operation, ...]:
        inode = self._file(call, 0).inode
        wished, had = (call.number(1), call.number(2)), self.disk.files[inode].owner
        owner = tuple(old if new == -1 else new for new, old in zip(wished, had, strict=True))
        return (Owner(inode, (owner[0], owner[1])),)

    def _on_fsetxattr(self, call: Call) -> tuple[Operation, ...]:
        return (Attribute(self._file(call, 0).inode, call.text(1), call.bytes(2)),)

    def _on_fremovexattr(self, call: Call) -> tuple[Operation, ...]:
        return (Attribute(self._file(call, 0).inode, call.text(1), None),)

    def _on_fsync(self, call: Call) -> tuple[Operation, ...]:
        inode, covers = self._file(call, 0).inode, bisect_left(self._ended, call.began)
        if inode in self.disk.folders:
            return (SyncFolder(inode, covers),)
        return (SyncFile(inode, covers, data_only=call.name == "fdatasync"),)

    def _on_link(self, call: Call) -> tuple[Operation, ...]:
        return (Name(*self._place(call, 1), self._inode(call, 0)),)

    def _on_linkat(self, call: Call) -> tuple[Operation, ...]:
        return (Name(*self._place(call, 3, 2), self._inode(call, 1, 0)),)

    def _on_rename(self, call: Call) -> tuple[Operation, ...]:
        (folder, name), (other, new_name) = self._place(call, 0), self._place(call, 1)
        inode = self.disk.folders[folder][name]
        if folder != other or inode in self.disk.folders:
            raise UnknownCall(f"a renaming across folders, or of one: {call}")
        return (Rename(folder, name, new_name, inode),)

    def _on_exchange(self, call: Call) -> tuple[Operation, ...]:
        (folder, name), (same, other) = self._place(call, 1, 0), self._place(call, 3, 2)
        names = self.disk.folders[folder]
        if folder != same or call.flags(4) != {"RENAME_EXCHANGE"}:
            raise UnknownCall(str(call))
        return (Exchange(folder, name, names[other], other, names[name]),)

    def _on_unlink(self, call: Call) -> tuple[Operation, ...]:
        folder, name = self._place(call, 0)
        return (Unname(folder, name, self.disk.folders[folder][name]),)

    def _on_unlinkat(self, call: Call) -> tuple[Operation, ...]:
        folder, name = self._place(call, 1, 0)
        return (Unname(folder, name, self.disk.folders[folder][name]),)

    def _on_mkdir(self, call: Call) -> tuple[Operation, ...]:
        return self._new(*self._place(call, 0), None)

    def _on_mmap(self, call: Call) -> tuple[Operation, ...]:
        if "MAP_SHARED" in call.flags(3) and "PROT_WRITE" in call.flags(2):
            raise UnknownCall(f"writing through memory: {call}")
        return ()

    _HANDLERS: ClassVar[dict[str, Callable[[_Recorder, Call], tuple[Operation, ...]]]] = {
        "openat": _on_openat,
        "close": _on_close,
        "dup": _on_dup,
        "fcntl": _on_fcntl,
        "lseek": _on_lseek,
        "write": _on_write,
        "writev": _on_write,
        "pwrite64": _on_pwrite,
        "copy_file_range": _on_copy,
        "fallocate": _on_fallocate,
        "ftruncate": _on_ftruncate,
        "fchmod": _on_fchmod,
        "chmod": _on_chmod,
        "fchown": _on_fchown,
        "fsetxattr": _on_fsetxattr,
        "fremovexattr": _on_fremovexattr,
        "fsync": _on_fsync,
        "fdatasync": _on_fsync,
        "link": _on_link,
        "linkat": _on_linkat,
        "rename": _on_rename,
        "renameat2": _on_exchange,
        "unlink": _on_unlink,
        "unlinkat": _on_unlinkat,
        "rmdir": _on_unlink,
        "mkdir": _on_mkdir,
        "mmap": _on_mmap,
    }


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _owner_of_new(folder: Path) -> tuple[int, int]:
    found = folder.stat()
    return os.geteuid(), found.st_gid if found.st_mode & stat.S_ISGID else os.getegid()
