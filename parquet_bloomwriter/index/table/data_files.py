"""The files of a table whose metadata name none: listed, looked at, opened, wherever they are."""

# ruff: noqa: PTH116  paths are strings, as in the entries
from __future__ import annotations

import itertools
import os
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

from parquet_bloomwriter.arguments import paths_of
from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.index.files import FileId, identity, location, relative_to
from parquet_bloomwriter.index.layout import absolute_path, are_mixed, relative_path
from parquet_bloomwriter.index.storage.base import storage_of
from parquet_bloomwriter.source.folders import NOWHERE, Leftovers, Why, is_parquet, walk
from parquet_bloomwriter.source.local import open_local

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from contextlib import AbstractContextManager
    from typing import TypeAlias

    from parquet_bloomwriter.index.table.objects import ListedTable
    from parquet_bloomwriter.index.table.ref import TableRef
    from parquet_bloomwriter.source import Source

    StrPath: TypeAlias = str | os.PathLike[str]
    AreKnown: TypeAlias = Callable[[Sequence[FileId]], Iterable[bool]]

_FEW = 12
"""Fewer objects than this number are looked up one by one instead of by a listing."""


def current_files(
    table: TableRef,
    files: StrPath | Sequence[StrPath] | None,
    leftovers: Leftovers | None = None,
    *,
    root: str | None = None,
    are_known: AreKnown | None = None,
) -> list[FileId]:
    """List the files of a table, ordered by path.

    Args:
        table: The table, a folder within it, or one of its files.
        files: The files, if the caller names them.
        leftovers: Receives the files that a listing skips.
        root: Folder that paths are to be relative to, absolute; None: the table's own root.
        are_known: As for `list_files`.

    Raises:
        OSError: If a folder cannot be listed, or a file does not exist.
        StoreProblem: If a store refuses or does not answer.
        InvalidArgument: If some files are on a disk, and some on a store.
    """
    path, root = table.path, table.root if root is None else root
    if files is not None:
        paths = [absolute_path(file) for file in paths_of(files)]
        if are_mixed([root, *paths]):
            problem = "some files of the table are on a disk, and some on a store"
            raise InvalidArgument(problem, remedy="Make an index of each kind.")
        return sorted(_named(root, paths))
    if path != root and path != table.root:  # noqa: PLR1714  a store is asked for the second
        return [file_id(root, path)]
    listed = list_files(path, leftovers, are_known=are_known)
    return sorted(relative_to(root, listed, folder=path))


def _named(root: str, paths: Sequence[str]) -> set[FileId]:
    """Return the identities of files that a caller names; a store lists most of them at once."""
    if not storage_of(root).is_remote or len(paths) < _FEW:
        return {file_id(root, one) for one in paths}
    listed = {location(root, file): file for file in list_files(root)}
    return {listed.get(one) or file_id(root, one) for one in paths}


def list_files(
    root: str,
    leftovers: Leftovers | None = None,
    *,
    are_known: AreKnown | None = None,
) -> list[FileId]:
    """List the Parquet files below a folder, ordered by path; there may be none.

    `source.folders` has the rule for which files count. A file that disappears during the listing
    is left out.

    Args:
        root: Absolute.
        leftovers: Receives the files that are skipped.
        are_known: Says of files whether they are known to be Parquet in this state; such files are
            not opened, whatever their names.

    Raises:
        OSError: If a folder cannot be listed, or a file cannot be looked at.
        StoreProblem: If it is on a store that refuses or does not answer.
    """
    left = Leftovers() if leftovers is None else leftovers
    listed: ListedTable | _ListedFolder
    if storage_of(root).is_remote:
        from parquet_bloomwriter.index.table.objects import list_objects

        listed = list_objects(root, left)
    else:
        listed = _list_folder(root, left)
    sure: list[FileId] = [*listed.sure]
    doubtful: Sequence[FileId] = listed.doubtful
    if doubtful and are_known is not None:
        known = list(are_known(doubtful))
        sure += itertools.compress(doubtful, known)
        doubtful = [one for one, is_known in zip(doubtful, known, strict=True) if not is_known]
    sure += listed.parquet_among(doubtful, left)
    return sorted(sure, key=attrgetter("path"))  # paths differ, and whole files compare slowly


@dataclass(frozen=True, slots=True, kw_only=True)
class _ListedFolder:
    """The files below a folder on a disk, as `objects.ListedTable` has those on a store."""

    root: str
    sure: list[FileId]
    doubtful: list[FileId]

    def parquet_among(self, doubtful: Sequence[FileId], leftovers: Leftovers) -> list[FileId]:
        """Return the doubtful files that are Parquet by their last or first bytes."""
        return [one for one in doubtful if is_parquet(location(self.root, one), leftovers)]


def _list_folder(root: str, leftovers: Leftovers) -> _ListedFolder:
    """List a folder on disk: files that count as Parquet by their names, and files that might."""
    sure: list[FileId] = []
    doubtful: list[FileId] = []
    for inner, entry, is_sure in walk(root, leftovers):
        try:
            found = identity(inner, entry.stat())
        except OSError as error:
            if error.errno not in NOWHERE:
                raise
            if entry.is_symlink():
                leftovers.add(Why.DEAD, entry.path)
        else:
            (sure if is_sure else doubtful).append(found)
    return _ListedFolder(root=root, sure=sure, doubtful=doubtful)


def file_id(root: str, path: str) -> FileId:
    """Look up a file on its disk or store, and return its identity.

    Args:
        root: Folder that its path is to be relative to, absolute.
        path: Absolute.

    Raises:
        OSError: If there is no such file, or it cannot be looked at.
        StoreProblem: If it is on a store that refuses or does not answer.
    """
    if storage_of(path).is_remote:
        from parquet_bloomwriter.index.table.objects import object_id

        return object_id(path, relative_path(root, path))
    return identity(relative_path(root, path), os.stat(path))


def open_data_file(path: str) -> AbstractContextManager[Source]:
    """Open a file of a table.

    Args:
        path: Absolute, or the URL of an object. An object is read in the version that was opened,
            or not at all.

    Raises:
        OSError: If there is no such file, or it cannot be read.
        FileProblem: If it is no regular file, or a store refuses.
    """
    if not storage_of(path).is_remote:
        return open_local(path)
    from parquet_bloomwriter.stores.open import open_source

    return open_source(path)
