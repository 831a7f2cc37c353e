"""What earlier runs found of data files, so that their footers need not be read again.

A file of a table never changes. Of each is recorded for which columns nothing is left to do: they
have filters, or cannot have any. Columns are those of the file (`TableColumns.stored_name`), which
keep their names when the table's are renamed.

    in the log        the tag `bloomify` of files that this program wrote: a path, and columns
    on this machine   $XDG_CACHE_HOME/parquet-bloomwriter/tables/NAME.json, by default ~/.cache

A tag counts only for the path that it names: another program may copy the tags of a file to a file
of its own. NAME is made of the table's id and place. The file may be removed at any time; then
footers are read again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from parquet_bloomwriter.durable import make_folders, write_file

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from parquet_bloomwriter.delta.actions import Add

TAG = "bloomify"

_VERSION = 1


def tag_of(path: str, columns: Iterable[str]) -> str:
    """Return the tag of a new file, for columns of which nothing is left to do."""
    return json.dumps({"path": path, "columns": sorted(columns)}, separators=(",", ":"))


class Records:
    """The files of one table."""

    def __init__(self, table_id: str, root: str) -> None:
        """Read what is recorded on this machine; what is broken counts as nothing."""
        name = hashlib.sha256(f"{table_id}\n{root}".encode()).hexdigest()[:32]
        folder = _folder()
        self._file = None if folder is None else folder / f"{name}.json"
        self._found = {} if self._file is None else _read(self._file)
        self._is_new = False

    def finished(self, file: Add) -> frozenset[str]:
        """Return the columns of a file of which nothing is left to do, by their stored names."""
        known = self._found.get(file.path)
        found = known[1] if known is not None and known[0] == file.size else frozenset()
        tag = file.tags.get(TAG)
        return found if tag is None else found | _columns_in(tag, file.path)

    def note(self, file: Add, columns: Iterable[str]) -> None:
        """Record that nothing is left to do for these columns of a file."""
        self._found[file.path] = file.size, self.finished(file) | frozenset(columns)
        self._is_new = True

    def save(self, active: Container[str]) -> None:
        """Keep what was noted of files whose paths are active; a full disk is no reason to fail."""
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
            make_folders(os.fspath(self._file.parent))
            write_file(os.fspath(self._file), json.dumps(document).encode())
            self._is_new = False


def _folder() -> Path | None:
    """Return where records are kept; None for a user without a home."""
    try:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:
        return None
    return Path(home) / "parquet-bloomwriter" / "tables"


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


def _columns_in(tag: str, path: str) -> frozenset[str]:
    with contextlib.suppress(ValueError, TypeError, KeyError):
        document = json.loads(tag)
        if document["path"] == path:
            return frozenset(map(str, document["columns"]))
    return frozenset()
