"""Files on disk: opened without a lock, without blocking, and without the right to write.

`OpenedFile.check_unchanged` checks, before a file is replaced, that no other program changed it.

Only regular files are read. What a path leads to is looked at before it is opened, for opening
alone can move a tape; a FIFO that takes its place in between must not block.
"""

# ruff: noqa: PTH109, PTH116, PTH117, PTH118  the steps are system calls, and spelled as such
from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from parquet_bloomwriter.arguments import TAKE_TABLES
from parquet_bloomwriter.errors import (
    FileChanged,
    FileProblem,
    Proposal,
    UnsupportedFile,
    Way,
)
from parquet_bloomwriter.source.base import RangeReader, blame
from parquet_bloomwriter.source.identity import FileIdentity, identity_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator
    from typing import TypeAlias

    StrPath: TypeAlias = str | os.PathLike[str]
    Same: TypeAlias = "Callable[[FileIdentity, FileIdentity], bool]"

OPEN_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a FIFO put in place after the check must not block
    | getattr(os, "O_BINARY", 0)
)

_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
}
_WHOLE_FOLDER = Proposal(Way.WHOLE_FOLDER, "for_each_file applies a verb to every file of a folder")
_REMEDIES: dict[int, tuple[str | Proposal, ...]] = {
    stat.S_IFDIR: ("Name a file in it; ", _WHOLE_FOLDER, "."),
    stat.S_IFIFO: (
        "A pipe can be neither read from its end nor verified nor replaced: name a regular file.",
    ),
}
_FORMAT = stat.S_IFMT(0xFFFF)
"""Bits of a mode that give the kind of file."""


class FileSource(RangeReader):
    """An open file on disk, which its opener closes."""

    def __init__(
        self,
        path: str,
        fd: int,
        size: int,
        *,
        name: str | None = None,
        identity: Hashable | None = None,
    ) -> None:
        """Read from `fd`; `path` must lead to the same file, of `size` bytes."""
        super().__init__(size, name=path if name is None else name, identity=identity)
        self.told_version = identity
        self.path = path
        self.fd = fd

    def _fetch(self, start: int, stop: int) -> bytes:
        return _pread(self.fd, stop - start, start)

    def for_arrow(self) -> object:
        """Return the file, opened again by its path: pyarrow reads without Python.

        Raises:
            FileChanged: If the path leads to another file by now.
        """
        import pyarrow as pa

        opened = pa.OSFile(os.fsencode(self.path))
        try:
            found = os.fstat(opened.fileno())
        except AttributeError:  # so it is before pyarrow 25
            found = os.stat(self.path)
        if not os.path.samestat(found, os.fstat(self.fd)):
            opened.close()
            raise FileChanged(
                "the file was replaced by another one meanwhile",
                path=self.name,
                remedy="Run the command again.",
            )
        return opened


class open_local:  # noqa: N801  a context manager, as a class because it is entered so often
    """Open a file for reading, and close it at the end.

    Args:
        path: The file; symbolic links are followed.
        name: What to call it in messages; the path by default.

    Raises:
        UnsupportedFile: If it is a directory, FIFO, socket or device.
        OSError: What opening raises.
    """

    __slots__ = ("_fd", "_name", "_path")

    def __init__(self, path: str, *, name: str | None = None) -> None:
        self._path = path
        self._name = path if name is None else name

    def __enter__(self) -> FileSource:
        check_regular(os.stat(self._path), name=self._name)
        self._fd = os.open(self._path, OPEN_FLAGS)
        try:
            found = os.fstat(self._fd)
            check_regular(found, name=self._name)
        except BaseException:
            os.close(self._fd)
            raise
        size, identity = found.st_size, identity_of(found)
        source = FileSource(self._path, self._fd, size, name=self._name, identity=identity)
        source.told_version = identity or FileIdentity.of(found)
        return source

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        os.close(self._fd)
        if isinstance(error, FileProblem):
            blame(error, self._name)


@dataclass(frozen=True, kw_only=True)
class OpenedFile:
    """A regular file that is open for reading, with its identity at the time of opening.

    A rewrite may take minutes. At its end `check_unchanged` shows whether the file was changed
    meanwhile.
    """

    name: str
    """Path as the caller spelled it, for messages."""
    given: str
    """The same path, absolute, with its symbolic links."""
    fd: int
    """Open for reading; closed by `open_file`. `os.dup` it for readers that close theirs."""
    identity: FileIdentity = field(repr=False)
    """Identity of the file when it was opened."""

    @cached_property
    def path(self) -> str:
        """Absolute path after all symbolic links, as they are when it is first asked for.

        If they lead to another file by then, `check_unchanged` finds that out.
        """
        return os.path.realpath(self.given)

    def check_unchanged(self, same: Same = FileIdentity.__eq__) -> None:
        """Check that the open file, and the file at its path, are unchanged since it was opened.

        Args:
            same: What must not have changed; a method of `FileIdentity`.

        Raises:
            FileChanged: If either differs or the path leads nowhere.
        """
        try:
            found = (os.stat(self.path, follow_symlinks=False), os.fstat(self.fd))
        except FileNotFoundError:
            raise self._changed("the file was removed or renamed meanwhile") from None
        for identity in map(FileIdentity.of, found):
            if not same(self.identity, identity):
                raise self.changed_to(identity)

    def changed_to(self, now: FileIdentity) -> FileChanged:
        """Return the error that says how the file changed."""
        return self._changed(f"the file was {self._what(now)} meanwhile")

    def _what(self, now: FileIdentity) -> str:
        then = self.identity
        if (now.device, now.inode) != (then.device, then.inode):
            return "replaced by another one"
        return "given other attributes" if then.same_content(now) else "written to"

    def _changed(self, problem: str) -> FileChanged:
        return FileChanged(problem, path=self.name, remedy="Run the command again.")


@contextlib.contextmanager
def open_file(path: StrPath) -> Iterator[OpenedFile]:
    """Open a regular file for reading and record its identity; close it at the end.

    Args:
        path: The file; symbolic links are followed.

    Raises:
        UnsupportedFile: If it is a directory, FIFO, socket or device.
        OSError: What opening raises.
    """
    name = os.fspath(path)
    check_regular(os.stat(name), name=name)  # before opening: that alone can move a tape
    fd = os.open(name, OPEN_FLAGS)
    try:
        found = os.fstat(fd)
        check_regular(found, name=name)
        given = name if os.path.isabs(name) else os.path.join(os.getcwd(), name)
        yield OpenedFile(name=name, given=given, fd=fd, identity=FileIdentity.of(found))
    finally:
        with contextlib.suppress(OSError):  # closed before the renaming on Windows
            os.close(fd)


def check_regular(found: os.stat_result, *, name: str) -> None:
    """Refuse everything but regular files.

    Raises:
        UnsupportedFile: If it is a directory, FIFO, socket or device.
    """
    if found.st_mode & _FORMAT != stat.S_IFREG:
        kind = stat.S_IFMT(found.st_mode)
        what = _KINDS.get(kind, "no regular file")
        remedy = _REMEDIES.get(kind, ("Name a regular file.",))
        if kind == stat.S_IFDIR and (Path(name) / "_delta_log").is_dir():
            what, remedy = "the folder of a Delta table", (TAKE_TABLES,)
        raise UnsupportedFile(f"this is {what}", path=name, remedy=remedy)


if hasattr(os, "pread"):
    _pread = os.pread
else:
    from threading import Lock

    _seeking = Lock()

    def _pread(fd: int, length: int, offset: int, /) -> bytes:
        with _seeking:
            os.lseek(fd, offset, os.SEEK_SET)
            return os.read(fd, length)
