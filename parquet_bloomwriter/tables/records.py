"""Records of earlier runs: the columns of data files that need no more work.

A file of a table never changes. The record of a file names the columns that need no more work: they
have filters, or cannot have any. Columns are those of the file (`DeltaColumns.stored_name`), which
keep their names when the table's are renamed.

    in the table      of a Delta table: a tag of each file that this program wrote
    on this machine   $XDG_CACHE_HOME/parquet-bloomwriter/tables/NAME.json, by default ~/.cache

NAME is made of the table's id and place. The file may be removed at any time; then footers are read
again. If another user could write into its folder, it is neither believed nor written: a forged
record would keep filters from being added.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from typing import TYPE_CHECKING

from parquet_bloomwriter.durable import write_file
from parquet_bloomwriter.user_folders import cache_folder, is_own, make_private

if TYPE_CHECKING:
    from collections.abc import Container, Iterable
    from pathlib import Path

    from parquet_bloomwriter.table_files.files import FileEntry

_VERSION = 1


class Records:
    """The records about the files of one table."""

    def __init__(self, table_id: str) -> None:
        """Read the records on this machine; damaged records are ignored."""
        name = hashlib.sha256(table_id.encode()).hexdigest()[:32]
        folder = _folder()
        self._file = None if folder is None else folder / f"{name}.json"
        self._found = {} if self._file is None else _read(self._file)
        self._is_new = False

    def finished(self, file: FileEntry) -> frozenset[str]:
        """Return the stored names of the columns of a file that need no more work."""
        known = self._found.get(file.path)
        if known is None or known[0] != file.size:
            return file.finished
        return file.finished | known[1]

    def note(self, file: FileEntry, columns: Iterable[str]) -> None:
        """Record columns of a file that need no more work."""
        self.note_new(file.path, file.size, self.finished(file).union(columns))

    def note_new(self, path: str, size: int, columns: Iterable[str]) -> None:
        """Record the columns of a newly written file that need no more work."""
        self._found[path] = size, frozenset(columns)
        self._is_new = True

    def save(self, active: Container[str]) -> None:
        """Save the records of active files; errors, such as a full disk, are ignored."""
        if self._file is None or not self._is_new:
            return
        groups: dict[frozenset[str], list[tuple[str, int]]] = {}
        for path, (size, columns) in self._found.items():
            if path in active:
                groups.setdefault(columns, []).append((path, size))
        document = {
            "version": _VERSION,
            "groups": [[sorted(columns), files] for columns, files in groups.items()],
        }
        with contextlib.suppress(OSError):
            write_file(os.fspath(self._file), json.dumps(document).encode())
            self._is_new = False


def _folder() -> Path | None:
    """Return the folder of records of all tables; None if other users could write to it."""
    above = cache_folder()
    if above is None:
        return None
    folder = above / "tables"
    try:
        make_private(folder)
        return folder if is_own(folder.stat()) else None
    except OSError:
        return None


def _read(file: Path) -> dict[str, tuple[int, frozenset[str]]]:
    found: dict[str, tuple[int, frozenset[str]]] = {}
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        document = json.loads(file.read_bytes())
        if document["version"] != _VERSION:
            return {}
        for names, files in document["groups"]:
            columns = frozenset(map(str, names))
            found.update({str(path): (int(size), columns) for path, size in files})
    return found
