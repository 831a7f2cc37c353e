"""The log of an index: entries 0, 1, 2, ... of which the newest stable one counts.

Every entry is a file of its own, `_log/<id>`, that is written once and never changed. Of several
writers of one id exactly one succeeds, and its entry is there as a whole. So the writer of entry
n + 1 knows that no entry came between it and entry n. There is no pointer to the newest entry,
which could be stale: the folder is listed.

An entry that cannot be read (a disk's fault; a writer that died, on a file system without hard
links) keeps its id. Queries ignore it; actions stop at it, and `cancel` goes on with the next id.
"""

# ruff: noqa: PTH118  paths are strings, as in the entries
from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import FileProblem, IndexProblem
from parquet_bloomwriter.index.entry import STABLE, OtherFormat, from_json, to_json
from parquet_bloomwriter.index.layout import LOG
from parquet_bloomwriter.index.storage.base import storage_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parquet_bloomwriter.index.entry import Entry

_ID = re.compile(r"0|[1-9][0-9]*")
_MAX_ENTRY_BYTES = 1 << 28
"""Maximum size of a log entry, bytes; enough for some million parts."""


class IndexLog:
    """The log of one index, without a cache: every method reads the folder anew."""

    def __init__(self, folder: str, *, one_writer: bool = False) -> None:
        """Prepare access to the log of an index.

        Args:
            folder: The index's folder, absolute. It need not exist.
            one_writer: The caller promises that no other process changes the index, so that a
                store will do that ignores conditions.
        """
        self.folder = folder
        self.log_folder = os.path.join(folder, LOG)
        self.storage = storage_of(folder)
        self._one_writer = one_writer

    def check_writable(self) -> None:
        """Check that two processes cannot write the same entry.

        Raises:
            InvalidArgument: If they can, and the caller does not promise that there is one.
            IndexProblem: If the store refuses or does not answer.
        """
        self.storage.check_writable(self.folder, one_writer=self._one_writer)

    def ids(self, *, just_listed: bool = False) -> list[int]:
        """Return the ids of all entries, ascending; an empty list if there is no log.

        Args:
            just_listed: On a store, take them from the last `Storage.log_state` of this thread.
        """
        try:
            names = self.storage.log_names(self.log_folder, just_listed=just_listed)
        except FileNotFoundError:
            return []
        return sorted(int(name) for name in names if _ID.fullmatch(name))

    def get(self, entry_id: int) -> Entry:
        """Read an entry.

        Raises:
            IndexProblem: If the entry cannot be understood.
            OSError: If the entry cannot be read.
        """
        path = os.path.join(self.log_folder, str(entry_id))
        entry = from_json(self._read(path), path=path)
        if entry.id != entry_id:
            raise IndexProblem(f"the entry says that it is number {entry.id}", path=path)
        return entry

    def latest(self) -> Entry | None:
        """Read the newest entry; None if there is no entry.

        Raises:
            IndexProblem: If the entry cannot be understood.
            OSError: If the entry cannot be read.
        """
        ids = self.ids()
        return self.get(ids[-1]) if ids else None

    def latest_stable(self, *, just_listed: bool = False) -> Entry | None:
        """Read the newest stable entry that can be read; None if there was never a stable entry.

        Args:
            just_listed: As for `ids`.

        Raises:
            IndexProblem: If there is none, and some entries cannot be understood.
            OtherFormat: If another version of this package wrote an entry.
            OSError: If an entry cannot be read.
        """
        failure = None
        for entry_id in reversed(self.ids(just_listed=just_listed)):
            try:
                entry = self.get(entry_id)
            except OtherFormat:
                raise
            except IndexProblem as error:
                failure = failure or error
                continue
            if entry.state in STABLE:
                return entry
        if failure is not None:
            raise failure
        return None

    def entries(self) -> Iterator[Entry]:
        """Read all entries, the oldest first.

        Raises:
            IndexProblem: At an entry that cannot be understood.
            OSError: At an entry that cannot be read.
        """
        return map(self.get, self.ids())

    def is_only_claimed(self) -> bool:
        """Return whether all entries are empty: their writers died after they created the files."""
        paths = (os.path.join(self.log_folder, str(number)) for number in self.ids())
        return not any(map(self.storage.size_of, paths))

    def write(self, entry: Entry) -> bool:
        """Write an entry, unless its id is taken. The log's folder must exist.

        Returns:
            Whether the entry was written.

        Raises:
            OSError: If writing fails. `holds` tells whether the entry was written all the same.
        """
        return self.storage.create_entry(
            os.path.join(self.log_folder, str(entry.id)),
            to_json(entry),
            attempt=entry.attempt,
            one_writer=self._one_writer,
        )

    def holds(self, entry: Entry) -> bool:
        """Return whether the log has this very entry, and not an entry of another attempt."""
        try:
            return self.get(entry.id) == entry
        except (IndexProblem, FileNotFoundError):
            return False

    def is_intact(self, entry: Entry) -> bool:
        """Return whether all files of an entry, except slices, have the size noted in the entry."""
        return self.storage.are_intact(self.folder, entry.needed_files())

    def check_intact(self, entry: Entry) -> None:
        """Check that all files of an entry, except slices, have the size that the entry notes.

        Raises:
            IndexProblem: If not.
        """
        if not self.is_intact(entry):
            problem = "some files of the index are gone, or not as they were written"
            raise IndexProblem(problem, path=self.folder, remedy="Refresh it in full.")

    def unreferenced_files(self, entry: Entry, *, before: int) -> list[tuple[str, int]]:
        """Find the files in folders of versions below `before` that an entry does not refer to.

        Returns:
            Absolute paths and sizes in bytes. Only files in folders `v__=<N>` are among them.
        """
        kept = {os.path.join(self.folder, *file.path.split("/")) for file in entry.files()}
        found = self.storage.files_of_versions(self.folder, before=before)
        return [(path, size) for path, size in found if path not in kept]

    def _read(self, path: str) -> bytes:
        try:
            data = self.storage.read_entry(path, _MAX_ENTRY_BYTES)
        except FileProblem as error:
            raise IndexProblem(error.problem, path=path) from error
        if data is None:
            problem = f"it has more than {_MAX_ENTRY_BYTES:,} bytes, and is no entry of a log"
            raise IndexProblem(problem, path=path)
        return data
