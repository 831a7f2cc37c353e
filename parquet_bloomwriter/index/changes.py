"""The files that a table has now, and how they differ from those that a version of an index knows.

Files are compared by path, size and time of modification; paths are relative to the table's root.
"""

# ruff: noqa: PTH118  paths are strings, as in the log
from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.errors import IndexProblem
from parquet_bloomwriter.index.entry import damaged
from parquet_bloomwriter.index.files import are_unchanged as files_are_unchanged
from parquet_bloomwriter.index.files import location
from parquet_bloomwriter.index.storage.base import storage_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    from parquet_bloomwriter.index.entry import Entry
    from parquet_bloomwriter.index.files import FileId
    from parquet_bloomwriter.index.format.manifest import FileTable

    StrPath: TypeAlias = str | os.PathLike[str]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Changes:
    """The files that a table has, compared with those that a version knows."""

    appended: tuple[FileId, ...]
    """The files that the version does not know; a replaced file is among them."""

    known: FileTable
    """All files that the version knows."""

    still_there: NDArray[np.bool_]
    """Whether each known file exists unchanged; shape (known files,)."""

    @property
    def num_deleted(self) -> int:
        """Number of known files that were deleted or replaced."""
        return int(np.count_nonzero(~self.still_there))

    @property
    def deleted_bytes(self) -> int:
        """Size of the known files that were deleted or replaced, bytes."""
        return int(self.known.sizes[~self.still_there].sum())


def compare(files: Sequence[FileId], entry: Entry, folder: str) -> Changes:
    """Compare the files that a table has with those that a version of an index knows.

    Raises:
        IndexProblem: If the version's manifest cannot be read.
    """
    known = known_files(entry, folder)
    places = positions(files, known)
    still_there = np.zeros(len(known.sizes), dtype=np.bool_)
    still_there[places[places >= 0]] = True
    appended = tuple(file for file, place in zip(files, places, strict=True) if place < 0)
    return Changes(appended=appended, known=known, still_there=still_there)


def known_files(entry: Entry, folder: str) -> FileTable:
    """Read the manifest of a version: the files that it knows.

    Raises:
        IndexProblem: If the manifest is missing or cannot be read.
    """
    from parquet_bloomwriter.index.format.manifest import read_manifest

    if entry.manifest is None:
        raise IndexProblem("the index's entry names no manifest", path=folder)
    path = os.path.join(folder, entry.manifest.path)
    if storage_of(folder).size_of(path) != entry.manifest.size:
        problem = "the list of the files that the index knows is gone, or not as it was written"
        raise damaged(path, problem)
    return read_manifest(path, entry.manifest.size, entry.manifest.first_crc)


def positions(files: Sequence[FileId], known: FileTable) -> NDArray[np.int64]:
    """Return the position of each file among the known files.

    Returns:
        Shape (files,): 0-based positions; -1 for a file that is new or has changed.
    """
    import pyarrow as pa

    paths = known.paths.to_pylist()
    place_of = {path: place for place, path in enumerate(paths)}
    found = np.array([place_of.get(file.path, -1) for file in files], dtype=np.int64)
    sizes = np.array([file.size for file in files], dtype=np.int64)
    times = np.array([file.modified_ms for file in files], dtype=np.int64)
    if not paths:
        return found
    same = known.modified_ms[found] == times
    if known.etags is not None:
        pairs = zip(known.etags.take(pa.array(found.clip(0))).to_pylist(), files, strict=True)
        etags = [(known_etag, file.etag) for known_etag, file in pairs]
        have_both = np.array([bool(one and other) for one, other in etags], np.bool_)
        same = np.where(have_both, [one == other for one, other in etags], same)
    return np.where(same & (known.sizes[found] == sizes), found, -1)


def are_unchanged(files: FileTable, root: str, places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Look at known files on disk or store, and return for each whether it is unchanged.

    Args:
        files: The data files that the version knows.
        root: Root of the table, absolute.
        places: 0-based positions in `files`, shape (n,).

    Returns:
        Shape (n,).
    """
    if storage_of(root).is_remote:
        from parquet_bloomwriter.index.table.objects import are_unchanged as are_same_objects

        some = files.take(places).identities()
        return np.array(are_same_objects([location(root, one) for one in some], some), np.bool_)
    base = root.rstrip("/") + "/"
    names = files.paths.take(places).to_pylist()
    paths = (name if name.startswith("/") else base + name for name in names)
    sizes, times = files.sizes[places].tolist(), files.modified_ms[places].tolist()
    return np.array(files_are_unchanged(paths, sizes, times), np.bool_)
