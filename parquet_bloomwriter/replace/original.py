"""The file that is rewritten: open, and with its identity at the time of opening.

Rewriting may take minutes. At its end the identity shows whether the file was changed meanwhile.
"""

# ruff: noqa: PTH116  the steps are system calls, and spelled as such
from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import FileChanged
from parquet_bloomwriter.source.local import OPEN_FLAGS, FileIdentity, check_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    StrPath: TypeAlias = str | os.PathLike[str]
    Same: TypeAlias = "Callable[[FileIdentity, FileIdentity], bool]"


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceFile:
    """A regular file that is open for reading."""

    name: str
    """The path as the caller spelled it, for messages."""
    path: str
    """Absolute path after all symbolic links."""
    fd: int
    """Open for reading; closed by `open_source`. `os.dup` it for readers that close theirs."""
    identity: FileIdentity = field(repr=False)
    """What the file was when it was opened."""

    def check_unchanged(self, same: Same = FileIdentity.__eq__) -> None:
        """Check that the open file, and the file that the path leads to, are still as opened.

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
        """The error that says what became of the file."""
        return self._changed(f"the file was {self._what(now)} meanwhile")

    def _what(self, now: FileIdentity) -> str:
        then = self.identity
        if (now.device, now.inode) != (then.device, then.inode):
            return "replaced by another one"
        return "given other attributes" if then.same_content(now) else "written to"

    def _changed(self, problem: str) -> FileChanged:
        return FileChanged(problem, path=self.name, remedy="Run the command again.")


@contextlib.contextmanager
def open_source(path: StrPath) -> Iterator[SourceFile]:
    """Open a regular file for reading and record its identity; close it at the end.

    Args:
        path: The file; symbolic links are followed.

    Raises:
        UnsupportedFile: If it is a directory, FIFO, socket or device.
        OSError: What opening raises.
    """
    name = os.fspath(path)
    check_regular(os.stat(name), name=name)  # before opening: that alone can move a tape
    real = os.path.realpath(name)  # which does not lead to a pipe in /dev/fd
    fd = os.open(real, OPEN_FLAGS)
    try:
        found = os.fstat(fd)
        check_regular(found, name=name)
        yield SourceFile(name=name, path=real, fd=fd, identity=FileIdentity.of(found))
    finally:
        with contextlib.suppress(OSError):  # closed before the renaming on Windows
            os.close(fd)
