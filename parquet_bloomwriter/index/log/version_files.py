"""The files of an index: those that an entry refers to, and those that can be removed.

Only files in folders `v__=<N>` are ever removed.
"""

# ruff: noqa: PTH118  paths are strings, as in the log
from __future__ import annotations

import os
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import IndexProblem
from parquet_bloomwriter.index.storage.base import storage_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parquet_bloomwriter.index.entry import Entry, IndexFile


def version_folder(folder: str, version: int) -> str:
    """Return the folder of a version's files."""
    return os.path.join(folder, f"v__={version}")


def files_of(entry: Entry) -> Iterator[IndexFile]:
    """Yield all files that an entry refers to."""
    yield from entry.needed_files()
    for column in entry.columns:
        if column.slices is not None:
            yield column.slices.file


def bytes_of(entry: Entry) -> int:
    """Return the bytes of all files that an entry refers to."""
    return sum(file.size for file in files_of(entry))


def is_intact(folder: str, entry: Entry) -> bool:
    """Return whether all files of an entry, except slices, exist and have the size noted in it."""
    return storage_of(folder).are_intact(folder, entry.needed_files())


def check_intact(folder: str, entry: Entry) -> None:
    """Check that all files of an entry, except slices, exist and have the size noted in it.

    Raises:
        IndexProblem: If not.
    """
    if not is_intact(folder, entry):
        problem = "some files of the index are gone, or not as they were written"
        raise IndexProblem(problem, path=folder, remedy="Refresh it in full.")


def unreferenced(folder: str, entry: Entry, *, before: int) -> list[tuple[str, int]]:
    """Find the files of versions below `before` that an entry does not refer to.

    Returns:
        Absolute paths and sizes in bytes.
    """
    kept = {os.path.join(folder, *file.path.split("/")) for file in files_of(entry)}
    found = storage_of(folder).files_of_versions(folder, before=before)
    return [(path, size) for path, size in found if path not in kept]
