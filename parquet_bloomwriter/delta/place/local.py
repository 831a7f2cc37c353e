"""Tables on a local or mounted disk.

An entry of the log is written to a temporary file, synced, and given its name by a hard link, or by
a rename that replaces no file: at any time the name leads to the whole entry or to no file. A disk
without both calls is read only: a file that is first created and then filled could be read while it
is empty, and would stay empty after a crash.
"""

# ruff: noqa: PTH112, PTH118, PTH208  paths are strings
from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, NamedTuple

from parquet_bloomwriter.delta.place.uris import check_new, data_path, new_uri
from parquet_bloomwriter.durable import create_whole, remove_files, remove_leftovers
from parquet_bloomwriter.errors import InvalidArgument, OutcomeUnknown, UnsafeTarget
from parquet_bloomwriter.source.local import open_local

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from parquet_bloomwriter.source.local import FileSource

_NS_PER_MS = 1_000_000

LOG = "_delta_log"
"""Name of the log's folder, in the table's folder."""


class LogFile(NamedTuple):
    """A file of the log."""

    name: str
    """Path of the file below the log's folder, with "/"."""

    size: int
    """Size of the file, bytes."""

    modified_ms: int
    """Time of modification, milliseconds since 1970 UTC."""


class LocalPlace:
    """A table in a folder of a disk. Safe in threads.

    `store.StorePlace` has the same methods for stores. There each of them raises StoreProblem if
    the store refuses or does not answer.
    """

    def __init__(self, root: str) -> None:
        """Prepare access to the table in a folder, without reading anything.

        Args:
            root: Absolute path.
        """
        self.root = root
        """The table's folder: an absolute path, or a URL without a slash at its end."""
        self._log = os.path.join(root, LOG)

    def list_log(self, start: str = "") -> list[LogFile]:
        """List the files directly in the log's folder, by name.

        Args:
            start: Leave out names that come before this one.

        Raises:
            FileNotFoundError: If there is no log.
            StoreProblem: If a store refuses or does not answer.
        """
        found = []
        with os.scandir(self._log) as entries:
            for entry in entries:
                if entry.name < start:
                    continue
                try:
                    if not entry.is_file():
                        continue
                    state = entry.stat()
                except FileNotFoundError:  # removed meanwhile
                    continue
                found.append(LogFile(entry.name, state.st_size, state.st_mtime_ns // _NS_PER_MS))
        return sorted(found)

    def log_names(self) -> Iterator[str]:
        """Yield the names of the files directly in the log's folder; list no more than needed.

        Raises:
            FileNotFoundError: If there is no log; a store of objects may yield nothing instead.
            StoreProblem: If a store refuses or does not answer.
        """
        return iter(os.listdir(self._log))

    def read_log(self, name: str) -> bytes:
        """Read a file of the log.

        Raises:
            FileNotFoundError: If there is no such file.
            StoreProblem: If a store refuses or does not answer.
        """
        with self.open_log(name) as source:
            return source.read_at(0, source.size)

    def open_log(self, name: str) -> AbstractContextManager[FileSource]:
        """Open a file of the log to read ranges of it.

        Raises:
            FileNotFoundError: If there is no such file.
            StoreProblem: If a store refuses or does not answer.
        """
        return open_local(os.path.join(self._log, name))

    def check_commits(self) -> None:
        """Check that an entry of the log can be created exclusively here.

        What killed runs left in the log's folder is removed.

        Raises:
            UnsafeTarget: If not; says why, and nothing was written to the log.
        """
        if not os.path.isdir(self._log):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self._log)
        if not os.access(self._log, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), self._log)
        remove_leftovers(self._log)

    def create_entry(self, name: str, data: bytes, *, attempt: str) -> bool:
        """Create a file of the log, unless there is one of its name.

        The file is created as a whole, or not at all. If an answer is lost, the file is read: data
        that contain the id of the attempt are ours.

        Args:
            name: Name of the entry.
            data: The entry, which holds `attempt`.
            attempt: Random id of this attempt.

        Returns:
            Whether it was created; False if there is an entry of another program.

        Raises:
            OutcomeUnknown: If it cannot be found out.
            StoreProblem, OSError: If it was certainly not created.
        """
        path = os.path.join(self._log, name)
        try:
            return create_whole(path, data)
        except OSError as error:
            if self._is_ours(path, attempt):
                raise OutcomeUnknown(
                    f"the entry of the log is there, but the disk may not keep it: {error}",
                    path=path,
                    remedy="Check the disk, and then the table's history.",
                ) from error
            if error.errno == errno.EOPNOTSUPP:
                raise UnsafeTarget(
                    "the disk knows neither hard links nor renames that replace nothing, so an "
                    "entry of the log could be seen before it is complete",
                    path=path,
                    remedy="Keep the table on another disk.",
                ) from error
            raise

    def locate(self, uri: str) -> str:
        """Return the absolute path or URL of a data file, as verbs take it.

        Args:
            uri: As the log has it: relative to the root or absolute, with its escapes.

        Raises:
            InvalidArgument: If it is absolute, of a kind that this place cannot open; or if it
                leads out of the table's folder by "..".
        """
        scheme, path = data_path(uri)
        if not scheme:
            return os.path.join(self.root, *path.split("/"))
        if scheme == "file":
            return path
        raise InvalidArgument(
            f'the log names "{uri}", which is not on this machine, where the table is'
        )

    def new_uri(self, old_uri: str) -> str:
        """Return the URI of a new file, relative to the root, that no file has.

        It lies in the folder of the old file, or in the table's folder if the old one is not below
        the root. Its name is that of the old one with another random id.

        Args:
            old_uri: URI in the log of the old file that the new file replaces.
        """
        return new_uri(old_uri)

    def remove(self, uri: str) -> None:
        """Remove a data file below the root, which this run wrote and never tried to commit.

        Raises:
            InvalidArgument: If it is absolute, or no name that `new_uri` gives.
        """
        remove_files([os.path.join(self.root, *check_new(uri).split("/"))])

    @staticmethod
    def _is_ours(path: str, attempt: str) -> bool:
        """Return whether an entry has the id of an attempt; False if it cannot be read."""
        try:
            with open_local(path) as source:
                return attempt.encode() in source.read_at(0, source.size)
        except OSError:
            return False
