"""What an index asks of the place that its files are in.

A place is a folder: an absolute path, or the URL of a prefix, such as `s3://bucket/prefix`. Paths
of files are strings below it, joined by "/". `storage_of` tells which storage a path is in. Lookups
open files of local indexes by `open_file`, which goes to the disk without a detour.

    log           entries are created once, and listed
    files         are written once, as a whole, under names that are given once; read by ranges
    versions      folders `v__=<N>`, which are listed only to remove what no entry refers to
"""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from parquet_bloomwriter.source.identity import FileIdentity
from parquet_bloomwriter.source.local import FileSource, open_local

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Hashable, Iterable
    from contextlib import AbstractContextManager
    from types import TracebackType
    from typing import Self, TypeAlias

    from parquet_bloomwriter.index.entry import IndexFile
    from parquet_bloomwriter.index.storage.object_file import ObjectSource
    from parquet_bloomwriter.source.base import Range

    IndexSource: TypeAlias = FileSource | ObjectSource

LOG = "_log"
"""Folder of the log, in the index's."""

SCHEMES = ("s3://", "gs://", "abfss://", "hdfs://")
"""What the absolute path of an object or prefix begins with; see `stores.buckets`."""


class ObjectName(NamedTuple):
    """The identity of a file of an index on a store, where names are given once."""

    url: str
    size: int
    """Bytes."""


class Tail(NamedTuple):
    """The end of a file that follows from what is before it, so that a store need not send it."""

    start: int
    """Where it begins, bytes."""

    of: Callable[[bytes], bytes]
    """Makes it from the bytes before it."""

    crc: int
    """CRC-32 of the whole file. Where it does not fit, the file is fetched to its end."""


class NewFile(Protocol):
    """A file that is being written. A context manager: a file that is not finished is removed."""

    fd: int
    """Open for writing and reading."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def finish(self, *, is_kept: bool = True) -> int:
        """Bring the file to its place, and close it.

        Args:
            is_kept: Whether it must outlive a crash of the machine.

        Returns:
            Its size in bytes.

        Raises:
            OSError, IndexProblem: If that fails.
        """
        ...


class Storage(Protocol):
    """Where the files of indexes are. All paths are absolute; safe in threads.

    On a store, every method raises IndexProblem if the store refuses or does not answer.
    """

    removed_at_once: int
    """Files that are removed between two looks at whether the action was cancelled."""

    def check_writable(self, folder: str, *, one_writer: bool) -> None:
        """Check that two processes cannot create the same entry of the log.

        Args:
            folder: Of an index.
            one_writer: The caller promises that no other process changes the index.

        Raises:
            InvalidArgument: If they can.
        """
        ...

    def has_log(self, folder: str) -> bool:
        """Return whether a folder has the log of an index."""
        ...

    def names_in_home(self, home: str, *, is_above: bool = False) -> list[str]:
        """Return the names in a home that may be indexes, sorted; see `layout.index_folders`."""
        ...

    def log_names(self, log_folder: str, *, just_listed: bool = False) -> list[str]:
        """Return the names of a log's entries, in any order.

        Args:
            log_folder: Of an index.
            just_listed: A store need not be asked again after `log_state` in this thread.

        Raises:
            FileNotFoundError: If there is no log.
        """
        ...

    def log_state(self, log_folder: str) -> Hashable:
        """Return a value that changes when the log does.

        Raises:
            FileNotFoundError: If there is no log.
        """
        ...

    def make_log(self, log_folder: str, *, is_new: bool) -> None:
        """Make the log's folder, if it is not there; and if it is new, see that it stays.

        Raises:
            IndexProblem: If it, or the index's folder, is a symbolic link. So do `create_entry`,
                `remove_leftovers`, `new_file` and `make_version`, for the folders they write to.
        """
        ...

    def read_entry(self, path: str, most: int) -> bytes | None:
        """Read an entry of a log; None if it has more bytes than `most`.

        Raises:
            FileNotFoundError: If there is no such entry.
        """
        ...

    def create_entry(self, path: str, data: bytes, *, attempt: str, one_writer: bool) -> bool:
        """Write an entry of a log, unless there is an entry of its name.

        Args:
            path: Of the entry.
            data: The entry.
            attempt: Random id of the attempt at the action that writes it.
            one_writer: As for `check_writable`.

        Returns:
            Whether it was written.
        """
        ...

    def remove_leftovers(self, log_folder: str) -> None:
        """Remove the temporary files that killed writers left beside the entries."""
        ...

    def open(
        self,
        path: str,
        size: int,
        *,
        keep: bool = False,
        whole: bool = False,
        tail: Tail | None = None,
    ) -> AbstractContextManager[IndexSource]:
        """Open a file for reading. See `open_file`."""
        ...

    def new_file(self, path: str) -> NewFile:
        """Begin a file of a name that no file had before; its folder is made if need be."""
        ...

    def make_version(self, folder: str, version_folder: str) -> None:
        """Make the folder of a new version in an index's folder, if it is not there."""
        ...

    def are_intact(self, folder: str, files: Iterable[IndexFile]) -> bool:
        """Return whether files of an index exist and have the size noted in the log."""
        ...

    def size_of(self, path: str) -> int:
        """Return the bytes of a file; -1 if it is not there."""
        ...

    def files_of_versions(self, folder: str, *, before: int) -> list[tuple[str, int]]:
        """List all files of versions below `before`: paths, sorted, and bytes."""
        ...

    def discard_versions(self, folder: str, numbers: Container[int]) -> None:
        """Remove versions, as far as possible."""
        ...

    def remove_version(self, version_folder: str) -> None:
        """Remove a version."""
        ...

    def remove_files(self, paths: Iterable[str]) -> None:
        """Remove files, as far as they are there."""
        ...

    def finish_removal(self, folder: str, *, before: int) -> None:
        """See that removed files do not come back, and remove empty folders below `before`."""
        ...


def is_on_store(path: str) -> bool:
    """Return whether an absolute path is the URL of an object or a prefix."""
    return path.startswith(SCHEMES)


def storage_of(path: str) -> Storage:
    """Return the storage that an absolute path is in."""
    return _objects() if path.startswith(SCHEMES) else _local()


def open_file(
    path: str,
    size: int = -1,
    *,
    keep: bool = False,
    whole: bool = False,
    tail: Tail | None = None,
) -> AbstractContextManager[IndexSource]:
    """Open a file of an index for reading; on a disk, just as `open_local` does.

    Args:
        path: Absolute.
        size: The bytes that the log says it has; without them, a store is asked first.
        keep: What is read is needed for every lookup: on a store, keep it on this machine.
        whole: All of it will be read: on a store, fetch it at once.
        tail: Its end, if that follows from the rest.

    Raises:
        OSError: If there is no such file, or it cannot be read.
        IndexProblem: If it is on a store, and has another size.
    """
    if path.startswith(SCHEMES):
        return _objects().open(path, size, keep=keep, whole=whole, tail=tail)
    return open_local(path)


def prefetch(source: IndexSource, ranges: Iterable[Range]) -> None:
    """Fetch ranges of a file on a store, all at the same time; of a file on a disk, do nothing.

    Raises:
        IndexProblem: If the store refuses, or the object is not as it was written.
        OSError: If there is no such object.
    """
    if source.fd < 0:
        cast("ObjectSource", source).prefetch(ranges)


def state_of(source: IndexSource) -> FileIdentity | ObjectName:
    """Return the identity of an open file of an index, which never changes."""
    found = getattr(source, "object_name", None)
    if isinstance(found, ObjectName):
        return found
    return FileIdentity.of(os.fstat(source.fd))


def relative_to_index(version_folder: str, path: str) -> str:
    """Return the path of a version's file as entries have it: relative to the index's folder."""
    folder = os.path.dirname(version_folder)  # noqa: PTH120  paths are strings, as in the entries
    return relative_to_folder(folder, path)


def relative_to_folder(folder: str, path: str) -> str:
    """Return the path of an index's file relative to the index's folder, with "/"."""
    if is_on_store(path):
        return path.removeprefix(folder.rstrip("/") + "/")
    return os.path.relpath(path, folder).replace(os.sep, "/")


@cache
def _local() -> Storage:
    from parquet_bloomwriter.index.storage.local import LocalStorage

    return LocalStorage()


@cache
def _objects() -> Storage:
    from parquet_bloomwriter.index.storage.objects import ObjectStorage

    return ObjectStorage()
