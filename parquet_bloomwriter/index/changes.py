"""The files that a table has now, and how they differ from those that a version of an index knows.

Files are compared by path, size and time of modification; paths are relative to the table's root.
"""

# ruff: noqa: PTH112, PTH118  paths are strings, as in the log
from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.arguments import paths_of
from parquet_bloomwriter.errors import IndexProblem, InvalidArgument
from parquet_bloomwriter.index.files import FileId, file_id, list_files, location, relative_path
from parquet_bloomwriter.index.layout import absolute_path
from parquet_bloomwriter.index.storage.base import is_on_store, storage_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    from parquet_bloomwriter.index.entry import Entry
    from parquet_bloomwriter.index.format.manifest import FileTable
    from parquet_bloomwriter.source.folders import Leftovers

    StrPath: TypeAlias = str | os.PathLike[str]


_FEW = 12
"""Objects that are looked at one by one sooner than listed."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Changes:
    """The files that a table has, compared with those that a version knows."""

    appended: tuple[FileId, ...]
    """Files that the version does not know; a file that was replaced is among them."""

    known: FileTable
    """All files that the version knows."""

    still_there: NDArray[np.bool_]
    """Whether each known file is there, as it was; shape (known files,)."""

    @property
    def num_deleted(self) -> int:
        """Known files that are gone, or were replaced."""
        return int(np.count_nonzero(~self.still_there))

    @property
    def deleted_bytes(self) -> int:
        """Bytes of these files."""
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
        raise IndexProblem(
            "the list of the files that the index knows is gone, or not as it was written",
            path=path,
            remedy="Refresh the index in full.",
        )
    return read_manifest(path, entry.manifest.size, entry.manifest.first_crc)


def positions(files: Sequence[FileId], known: FileTable) -> NDArray[np.int64]:
    """Find files among the known files.

    Returns:
        Shape (files,): 0-based positions; -1 for a file that is not known as it is now.
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


def current_files(
    table: StrPath,
    root: str,
    files: StrPath | Sequence[StrPath] | None,
    leftovers: Leftovers | None = None,
    *,
    known: Sequence[tuple[str, FileTable]] = (),
) -> list[FileId]:
    """List the files of a table, ordered by path.

    Args:
        table: Its folder, a folder within it, or one of its files.
        root: Folder that paths are to be relative to, absolute.
        files: The files, if the caller names them.
        leftovers: Takes what a listing passes over.
        known: Files that are known to be Parquet, by the roots that their paths are relative to:
            in the same state they are not opened.

    Raises:
        OSError: If a folder cannot be listed, or a file does not exist.
        StoreProblem: If a store refuses or does not answer.
        InvalidArgument: If some files are on a disk, and some on a store.
    """
    path = absolute_path(table)
    if files is not None:
        paths = [absolute_path(file) for file in paths_of(files)]
        if len({is_on_store(one) for one in [root, *paths]}) > 1:
            problem = "some files of the table are on a disk, and some on a store"
            raise InvalidArgument(problem, remedy="Make an index of each kind.")
        return sorted(_named(root, paths))
    if not _is_folder(path, root):
        return [file_id(root, path)]

    def are_known(doubtful: Sequence[FileId]) -> Iterable[bool]:
        asked = [
            positions(relative_to(base, doubtful, folder=path), those) >= 0 for base, those in known
        ]
        return map(any, zip(*asked, strict=True))

    found = list_files(path, leftovers, are_known=are_known if known else None)
    return sorted(relative_to(root, found, folder=path))


def _named(root: str, paths: Sequence[str]) -> set[FileId]:
    """Return the identities of files that the caller names; a store lists most of them at once."""
    if not is_on_store(root) or len(paths) < _FEW:
        return {file_id(root, one) for one in paths}
    listed = {location(root, file): file for file in list_files(root)}
    return {listed.get(one) or file_id(root, one) for one in paths}


def _is_folder(path: str, root: str) -> bool:
    """Return whether a path is a folder; the root of a table is one."""
    if not is_on_store(path):
        return os.path.isdir(path)
    from parquet_bloomwriter.index.table.objects import is_folder

    return path == root or is_folder(path)


def relative_to(root: str, files: Iterable[FileId], *, folder: str) -> list[FileId]:
    """Return files with paths relative to `root` instead of `folder`."""
    if root == folder:
        return list(files)
    return [replace(file, path=relative_path(root, location(folder, file))) for file in files]
