"""The files of an index: those that an entry refers to, and those that can be removed.

Only files in folders `v__=<N>` are ever removed, and never what a symbolic link leads to.
"""

# ruff: noqa: PTH106, PTH116, PTH118  paths are strings, as in the log
from __future__ import annotations

import contextlib
import errno
import os
import re
from typing import TYPE_CHECKING

from parquet_bloomwriter.durable import remove_tree, sync_folder
from parquet_bloomwriter.errors import IndexProblem

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from parquet_bloomwriter.index.log.entry import Entry, IndexFile

_VERSION = re.compile(r"v__=(0|[1-9][0-9]*)")


def version_folder(folder: str, version: int) -> str:
    """Return the folder of a version's files."""
    return os.path.join(folder, f"v__={version}")


def files_of(entry: Entry) -> Iterator[IndexFile]:
    """Yield all files that an entry refers to."""
    yield from _indispensable(entry)
    for column in entry.columns:
        if column.slices is not None:
            yield column.slices.file


def _indispensable(entry: Entry) -> Iterator[IndexFile]:
    """Yield the files that an entry refers to, without slices: lookups do without these."""
    if entry.manifest is not None:
        yield entry.manifest
    for column in entry.columns:
        yield from column.parts
        if column.global_filter is not None:
            yield column.global_filter.file


def bytes_of(entry: Entry) -> int:
    """Return the bytes of all files that an entry refers to."""
    return sum(file.size for file in files_of(entry))


def is_intact(folder: str, entry: Entry) -> bool:
    """Return whether all files of an entry, except slices, exist and have the size noted in it."""
    return are_intact(folder, _indispensable(entry))


def check_intact(folder: str, entry: Entry) -> None:
    """Check that all files of an entry, except slices, exist and have the size noted in it.

    Raises:
        IndexProblem: If not.
    """
    if not is_intact(folder, entry):
        problem = "some files of the index are gone, or not as they were written"
        raise IndexProblem(problem, path=folder, remedy="Refresh it in full.")


def are_intact(folder: str, files: Iterable[IndexFile]) -> bool:
    """Return whether files of an index exist and have the size noted in the log."""
    return all(_size(os.path.join(folder, file.path)) == file.size for file in files)


def versions(folder: str) -> list[int]:
    """Return the numbers of the versions that have a folder, ascending."""
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    return sorted(int(match[1]) for match in map(_VERSION.fullmatch, names) if match)


def discard_versions(folder: str, numbers: Container[int]) -> None:
    """Remove the folders of versions, as far as possible; `vacuum` removes what is left."""
    for version in versions(folder):
        if version in numbers:
            with contextlib.suppress(OSError):
                remove_tree(version_folder(folder, version))
                sync_folder(folder)


def unreferenced(folder: str, entry: Entry, *, before: int) -> list[tuple[str, int]]:
    """Find the files of versions below `before` that an entry does not refer to.

    Returns:
        Absolute paths and sizes in bytes.
    """
    kept = {os.path.join(folder, *file.path.split("/")) for file in files_of(entry)}
    found = (
        os.path.join(parent, name)
        for version in versions(folder)
        if version < before
        for parent, _, names in os.walk(version_folder(folder, version))
        for name in names
    )
    return [(path, os.lstat(path).st_size) for path in sorted(found) if path not in kept]


def remove_empty_folders(folder: str, *, before: int) -> None:
    """Remove the folders of versions below `before` that hold nothing."""
    for version in versions(folder):
        if version < before:
            for parent, _, _ in os.walk(version_folder(folder, version), topdown=False):
                _remove_if_empty(parent)


def _remove_if_empty(folder: str) -> None:
    try:
        os.rmdir(folder)
    except OSError as error:
        if error.errno not in {errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT}:
            raise


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return -1
