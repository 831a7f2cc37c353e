"""Indexes on a local or mounted disk.

An entry of the log is a file that only one of several writers can create (`durable.create_once`).
Only files in folders `v__=<N>` are ever removed, and never the targets of symbolic links. No file
is written if the index's folder, or a folder in it, is a symbolic link: its target may be a folder
of the user that the link's author may not write to. The index's home may be a symbolic link.
"""

# ruff: noqa: PTH102, PTH106, PTH112, PTH114, PTH116, PTH118, PTH119, PTH120, PTH208  system calls
from __future__ import annotations

import contextlib
import errno
import os
import re
from typing import TYPE_CHECKING

from parquet_bloomwriter.durable import (
    create_once,
    make_folders,
    remove_files,
    remove_leftovers,
    remove_tree,
    sync_folder,
)
from parquet_bloomwriter.errors import IndexProblem
from parquet_bloomwriter.index.layout import LOG
from parquet_bloomwriter.source.identity import FileIdentity
from parquet_bloomwriter.source.local import open_local

if TYPE_CHECKING:
    from collections.abc import Container, Hashable, Iterable
    from contextlib import AbstractContextManager
    from typing import Self

    from parquet_bloomwriter.index.entry import IndexFile, Tail
    from parquet_bloomwriter.source.local import FileSource

_VERSION = re.compile(r"v__=(0|[1-9][0-9]*)")
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
_NEW |= getattr(os, "O_BINARY", 0)


class LocalStorage:
    """The storage of indexes on a disk. All paths are absolute; safe in threads.

    `objects.ObjectStorage` has the same methods for stores. There every method raises IndexProblem
    if the store refuses or does not answer.
    """

    is_remote = False
    """Whether the files are on a store, where threads mostly wait."""

    removed_at_once = 1
    """Number of files that are removed between two checks whether the action was cancelled."""

    def check_writable(self, folder: str, *, one_writer: bool) -> None:
        """Check that two processes cannot create the same entry of the log; on a disk they cannot.

        Args:
            folder: Folder of an index.
            one_writer: The caller promises that no other process changes the index.

        Raises:
            InvalidArgument: If they can.
        """

    def has_log(self, folder: str) -> bool:
        """Return whether a folder holds the log of an index."""
        return os.path.isdir(os.path.join(folder, LOG))

    def names_in_home(self, home: str, *, is_above: bool = False) -> list[str]:  # noqa: ARG002
        """Return the names in a home that may be indexes, sorted; see `layout.index_folders`."""
        try:
            names = sorted(os.listdir(home))
        except (FileNotFoundError, NotADirectoryError):
            return []
        return [name for name in names if self.has_log(os.path.join(home, name))]

    def log_names(self, log_folder: str, *, just_listed: bool = False) -> list[str]:  # noqa: ARG002
        """Return the names of a log's entries, in any order.

        Args:
            log_folder: Folder of the log of an index.
            just_listed: A store need not be asked again after `log_state` in this thread.

        Raises:
            FileNotFoundError: If there is no log.
        """
        return os.listdir(log_folder)

    def log_state(self, log_folder: str) -> Hashable:
        """Return a value that changes when the log does: its folder's state, and all names in it.

        Raises:
            FileNotFoundError: If there is no log.
        """
        return FileIdentity.of(os.stat(log_folder)), frozenset(os.listdir(log_folder))

    def make_log(self, log_folder: str, *, is_new: bool) -> None:
        """Make the folder of a log if it is missing; if the log is new, sync the folders' names.

        A process that made the folders before may have died before it synced their names.

        Raises:
            IndexProblem: If it, or the index's folder, is a symbolic link. So do `create_entry`,
                `remove_leftovers`, `new_file` and `make_version`, for the folders they write to.
        """
        check_no_link(log_folder)
        make_folders(log_folder)
        if is_new:
            folder = log_folder
            for _ in ("_log", "the index", "its home"):
                folder = os.path.dirname(folder)
                sync_folder(folder)

    def read_entry(self, path: str, most: int) -> bytes | None:
        """Read an entry of a log; None if it has more bytes than `most`.

        Raises:
            FileNotFoundError: If there is no such entry.
        """
        with open_local(path) as source:
            return None if source.size > most else source.read_at(0, source.size)

    def create_entry(self, path: str, data: bytes, *, attempt: str, one_writer: bool) -> bool:  # noqa: ARG002
        """Write an entry of a log, unless there is an entry of its name.

        Args:
            path: Path of the entry.
            data: The entry.
            attempt: Random id of the attempt at the action that writes it.
            one_writer: As for `check_writable`.

        Returns:
            Whether it was written.
        """
        check_no_link(os.path.dirname(path))
        return create_once(path, data)

    def remove_leftovers(self, log_folder: str) -> None:
        """Remove the temporary files that killed writers left beside the entries."""
        check_no_link(log_folder)
        remove_leftovers(log_folder)

    def open(
        self,
        path: str,
        size: int,  # noqa: ARG002  the open file has its size
        *,
        keep: bool = False,  # noqa: ARG002  the file is on this machine
        whole: bool = False,  # noqa: ARG002  as above
        tail: Tail | None = None,  # noqa: ARG002  as above
    ) -> AbstractContextManager[FileSource]:
        """Open a file for reading. See `base.open_file`."""
        return open_local(path)

    def new_file(self, path: str) -> LocalNewFile:
        """Begin a file of a name that no file had before; its folder is made if need be."""
        folder = os.path.dirname(path)
        check_no_link(folder)
        make_folders(folder)
        return LocalNewFile(path)

    def manifest_name(self, attempt: str) -> str:  # noqa: ARG002
        """Return the name of a version's manifest.

        Args:
            attempt: Random id of the attempt at the action that writes it.
        """
        return "manifest.bfindex"

    def make_version(self, folder: str, version_folder: str) -> None:
        """Make the folder of a new version in an index's folder, if it is not there."""
        try:
            os.mkdir(version_folder)
        except FileExistsError:
            check_no_link(version_folder)
            return
        sync_folder(folder)

    def are_intact(self, folder: str, files: Iterable[IndexFile]) -> bool:
        """Return whether files of an index exist and have the size noted in the log."""
        return all(self.size_of(os.path.join(folder, file.path)) == file.size for file in files)

    def size_of(self, path: str) -> int:
        """Return the bytes of a file; -1 if it is not there."""
        try:
            return os.stat(path).st_size
        except OSError:
            return -1

    def files_of_versions(self, folder: str, *, before: int) -> list[tuple[str, int]]:
        """List all files in folders of versions below `before`: sorted paths, and bytes."""
        found = (
            os.path.join(parent, name)
            for version in _versions(folder)
            if version < before
            for parent, _, names in os.walk(_version_folder(folder, version))
            for name in names
        )
        return [(path, os.lstat(path).st_size) for path in sorted(found)]

    def discard_versions(self, folder: str, numbers: Container[int]) -> None:
        """Remove the folders of versions, as far as possible."""
        for version in _versions(folder):
            if version in numbers:
                with contextlib.suppress(OSError):
                    remove_tree(_version_folder(folder, version))
                    sync_folder(folder)

    def remove_version(self, version_folder: str) -> None:
        """Remove the folder of a version."""
        remove_tree(version_folder)

    def remove_files(self, paths: Iterable[str]) -> None:
        """Remove the files that exist."""
        remove_files(paths)

    def finish_removal(self, folder: str, *, before: int) -> None:
        """Sync the removal of files, and remove empty folders of versions below `before`."""
        for version in _versions(folder):
            if version < before:
                for parent, _, _ in os.walk(_version_folder(folder, version), topdown=False):
                    _remove_if_empty(parent)
        sync_folder(folder)


class LocalNewFile:
    """A file of an index that is being written. A context manager: an unfinished file is removed.

    It is opened once, so that no other file can take its place meanwhile.
    """

    def __init__(self, path: str) -> None:
        """Create the file.

        Raises:
            OSError: If that fails, or there is a file of this name.
        """
        self.path = path
        self.fd = os.open(path, _NEW, 0o666)
        """Open for writing and reading."""
        self._is_finished = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()
        if not self._is_finished:
            remove_files([self.path])

    def finish(self, *, is_kept: bool = True) -> int:
        """Give the file its final name, and close it.

        Args:
            is_kept: Whether it must outlive a crash of the machine.

        Returns:
            Its size in bytes.

        Raises:
            OSError, IndexProblem: If that fails.
        """
        if is_kept:
            os.fsync(self.fd)
        size = os.fstat(self.fd).st_size
        self._close()
        if is_kept:
            sync_folder(os.path.dirname(self.path))
        self._is_finished = True
        return size

    def _close(self) -> None:
        if self.fd >= 0:
            fd, self.fd = self.fd, -1
            os.close(fd)


def check_no_link(folder: str) -> None:
    """Check that a folder of an index, and its parents up to the index's, are no symbolic links.

    Args:
        folder: `_log`, `v__=<N>` or a folder in it, absolute. It need not exist.

    Raises:
        IndexProblem: If one is.
    """
    inside = [folder]
    while inside[-1] != (above := os.path.dirname(inside[-1])):
        name = os.path.basename(inside[-1])
        inside.append(above)
        if name == LOG or _VERSION.fullmatch(name):
            break
    else:
        inside = [folder]
    for one in inside:
        if os.path.islink(one):
            raise IndexProblem(
                "this folder of the index is a symbolic link, through which nothing is written",
                path=one,
                remedy="Remove the link. To keep an index elsewhere, name the folder as its home.",
            )


def _version_folder(folder: str, version: int) -> str:
    return os.path.join(folder, f"v__={version}")


def _versions(folder: str) -> list[int]:
    """Return the numbers of the versions that have a folder, ascending."""
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    return sorted(int(match[1]) for match in map(_VERSION.fullmatch, names) if match)


def _remove_if_empty(folder: str) -> None:
    try:
        os.rmdir(folder)
    except OSError as error:
        if error.errno not in {errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT}:
            raise
