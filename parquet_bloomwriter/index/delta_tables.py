"""Delta tables: their files as the log names them, instead of a listing.

A file of such a table never changes, so an index of it has the contract "immutable", and no file is
ever looked at. Its identity is path, size and time as the log has them. Lookups take the files of
the version that is asked about from the log, and keep those that no index knows. An entry of the
index's log says of which version it was made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.index.files import FileId, relative_path

if TYPE_CHECKING:
    import os

    from parquet_bloomwriter.delta.snapshot import Snapshot

VERSION = "delta_version"
"""Name of the version of the table among the options of an entry."""


@dataclass(frozen=True, slots=True, order=True)
class LoggedFile(FileId):
    """A file as a log has it: its time there need not be that of the file system."""


def is_delta(root: str) -> bool:
    """Return whether a folder or prefix is a Delta table."""
    from parquet_bloomwriter.delta.place import is_table

    return is_table(root)


def delta_files(
    root: str | os.PathLike[str], version: int | None = None
) -> tuple[int, list[FileId]]:
    """Return a version, by default the last, and its files, ordered by path.

    Raises:
        InvalidArgument: If there is no such version, or an index cannot know the table's columns.
        TableProblem: If the log cannot be read.
    """
    from parquet_bloomwriter.delta.place import place_of
    from parquet_bloomwriter.delta.snapshot import read_snapshot

    snapshot = read_snapshot(place_of(root), version)
    _check_columns(snapshot)
    place = snapshot.place
    files: list[FileId] = [
        LoggedFile(relative_path(place.root, place.locate(file.path)), file.size, file.modified_ms)
        for file in snapshot.files.values()
    ]
    return snapshot.version, sorted(files)


def check_named(files: object) -> None:
    """Check that a caller does not name the files of a table, which its log does.

    Raises:
        InvalidArgument: If he does.
    """
    if files is not None:
        raise InvalidArgument(
            "the log of a Delta table says which files it has", remedy="Name no files."
        )


def last_version(root: str) -> int:
    """Return the number of the last version of a table."""
    from parquet_bloomwriter.delta.log import find_segment
    from parquet_bloomwriter.delta.place import place_of

    return find_segment(place_of(root)).version


def _check_columns(snapshot: Snapshot) -> None:
    """Check that the columns of the table are those of its files."""
    mode = snapshot.metadata.properties.get("delta.columnMapping.mode", "none")
    if mode != "none":
        raise InvalidArgument(
            f"columns have other names in the files of this table (mapping by {mode})",
            path=snapshot.place.root,
            remedy="An index knows the names in files only: add filters to the files instead.",
        )
