"""Find the files that paths and names of a caller denote: tables, folders, patterns, files.

`find_files` takes the place of searching through folders: a folder that is a table stands for the
files that the table's log names, and no other files. A folder inside a table, and a single file of
a table, are treated like plain files.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from glob import has_magic
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.delta.place import LOG, is_table
from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.iceberg.catalog import check_version
from parquet_bloomwriter.iceberg.names import is_iceberg
from parquet_bloomwriter.source import Location, find_sources
from parquet_bloomwriter.source.filesystems import is_fsspec, is_url, locate, without_secrets
from parquet_bloomwriter.source.folders import Leftovers, has_suffix
from parquet_bloomwriter.source.listing import is_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable

    from parquet_bloomwriter.source.filesystems import ResolvedPath, StrPath
    from parquet_bloomwriter.source.folders import PassedOver
    from parquet_bloomwriter.table_files.delta import DeltaTable
    from parquet_bloomwriter.table_files.files import Table

_UNLISTED = re.compile(r"https?://", re.IGNORECASE)
"""Schemes of URLs below which nothing can be listed, so that no log is found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AsOf:
    """The state of tables to read; by default their last version or snapshot."""

    version: int | None = None
    """Number of the version, for Delta tables."""

    snapshot: int | None = None
    """Id of the snapshot, for Iceberg tables."""

    branch: str | None = None
    """Name of the branch whose last snapshot is read, for Iceberg tables."""

    def check_delta(self, name: str) -> None:
        """Check that no snapshot or branch is asked for, which a Delta table does not have.

        Args:
            name: Name of the table, for messages.

        Raises:
            InvalidArgument: If a snapshot or branch is asked for.
        """
        if self.snapshot is not None or self.branch is not None:
            what = "branches" if self.snapshot is None else "snapshot ids"
            raise InvalidArgument(
                f'"{name}" is a Delta table, which has versions and no {what}',
                remedy="Name a version.",
            )

    def check_iceberg(self, name: str) -> None:
        """Check that neither a version, nor both a snapshot and a branch, are asked for.

        Args:
            name: Name of the table, for messages.

        Raises:
            InvalidArgument: If a version is asked for, or both a snapshot and a branch.
        """
        if self.version is not None:
            raise InvalidArgument(
                f'"{name}" is an Iceberg table, which has snapshots and branches, not versions',
                remedy="Name a snapshot or a branch.",
            )
        if self.snapshot is not None and self.branch is not None:
            raise InvalidArgument(
                "a snapshot and a branch are given, which need not agree",
                remedy="Name one of them.",
            )

    def check_plain(self, name: str) -> None:
        """Check that no version, snapshot or branch is asked for, which plain files do not have.

        Args:
            name: Name of the file or folder, for messages.

        Raises:
            InvalidArgument: If any of these is asked for.
        """
        if self.version is not None:
            raise InvalidArgument(
                f'"{name}" is no table, so it has no versions',
                remedy="Name the folder of a Delta table.",
            )
        if self.snapshot is not None or self.branch is not None:
            what = "branches" if self.snapshot is None else "snapshots"
            raise InvalidArgument(
                f'"{name}" is no Iceberg table, so it has no {what}',
                remedy="Name an Iceberg table: iceberg://CATALOG/NAMESPACE.TABLE.",
            )


LAST = AsOf()
"""The default: the last version of Delta tables, the last snapshot of Iceberg tables' main
branch."""


def find_table(given: object, *, filesystem: object = None, as_of: AsOf = LAST) -> Table | None:
    """Return the table at a path or URL; None if there is no table.

    Args:
        given: The argument of a verb; only paths can be tables.
        filesystem: File system that the path is relative to.
        as_of: The state of the table.

    Raises:
        InvalidArgument: If a state is asked for, but there is no table, or not this state.
        TableProblem: If the table's metadata are damaged.
        UnsupportedTable: If the table has features that are not understood.
        StoreProblem, OSError: If the metadata cannot be read.
    """
    if is_iceberg(given):
        as_of.check_iceberg(_shown(given))
        return _iceberg_table(str(given), as_of)
    path = _delta_path(given, filesystem)
    if path is None:
        as_of.check_plain(_shown(given))
        return None
    as_of.check_delta(_shown(given))
    return _delta_table(path, name=_shown(given), version=as_of.version)


def is_table_name(given: str | os.PathLike[str]) -> bool:
    """Return whether a path or name is that of a Delta or Iceberg table.

    Raises:
        StoreProblem: If a store does not answer.
    """
    return is_iceberg(given) or is_table(given)


def open_to_change(given: str | os.PathLike[str], *, branch: str | None = None) -> Table:
    """Read the last version of a table, to replace files.

    Args:
        given: Path or URL of a Delta table's folder, or name of an Iceberg table.
        branch: Name of the branch of an Iceberg table; None for its main branch.

    Raises:
        InvalidArgument: If there is no table, or no such branch.
        UnsupportedTable: If the table has a feature that this program must not touch; it is named.
        TableProblem: If its metadata are damaged.
        StoreProblem, OSError: If they cannot be read.
    """
    if isinstance(given, str) and is_iceberg(given):
        from parquet_bloomwriter.table_files.iceberg import IcebergTable

        return IcebergTable.open_to_change(given, branch=branch)
    if branch is not None:
        raise InvalidArgument(
            f'"{os.fsdecode(given)}" has no branches',
            remedy="Only Iceberg tables have: leave it out.",
        )
    from parquet_bloomwriter.table_files.delta import DeltaTable

    return DeltaTable.open_to_change(os.fsdecode(given))


def _iceberg_table(name: str, as_of: AsOf) -> Table:
    check_version()
    from parquet_bloomwriter.table_files.iceberg import IcebergTable  # brings pyiceberg

    return IcebergTable.open(name, snapshot_id=as_of.snapshot, branch=as_of.branch)


def _delta_table(path: str, *, name: str, version: int | None) -> DeltaTable:
    from parquet_bloomwriter.table_files.delta import DeltaTable  # brings pyarrow

    return DeltaTable.open(path, version, name=name)


def _delta_path(given: object, filesystem: object) -> str | None:
    """Return the path or URL of a Delta table; None if `given` is no Delta table.

    Folders on stores are looked at by what reads files there: that needs no other package, and
    only tables ask for more.

    Raises:
        InvalidArgument: If a table lies on a file system that was given as an object.
    """
    if not isinstance(given, str | os.PathLike):
        return None
    path = os.fsdecode(given)
    if filesystem is None and not is_url(path):
        return _local_table(path)
    if _UNLISTED.match(path):
        return None
    place = locate(path, filesystem)
    if place.filesystem is None:
        return _local_table(place.path)
    if has_suffix(place.path) or has_magic(place.path) or not _has_log(place):
        return None
    if filesystem is not None:
        raise InvalidArgument(
            f'"{place.name}" is a Delta table, which cannot be read through a file system object',
            remedy="Give its URL alone.",
        )
    return path


def _local_table(path: str) -> str | None:
    if is_pattern(path):
        return None
    return path if is_table(path) else None


def _has_log(place: ResolvedPath) -> bool:
    """Return whether a folder on a store has a log's folder; False if that cannot be checked."""
    path = f"{place.path.rstrip('/')}/{LOG}"
    filesystem: Any = place.filesystem
    try:
        if is_fsspec(filesystem):
            return bool(filesystem.isdir(path))
        import pyarrow.fs as pafs

        return bool(filesystem.get_file_info(path).type == pafs.FileType.Directory)
    except (OSError, ValueError):
        return False


def _shown(given: object) -> str:
    if isinstance(given, str | os.PathLike):
        return without_secrets(os.fsdecode(given))
    return type(given).__name__


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFiles:
    """The files and tables that paths denote."""

    files: list[Location]
    """The files without duplicates, in the order of the paths; files of tables are `TableFile`s."""

    tables: list[Table]
    """The tables that were found; a table may have no files."""

    passed_over: tuple[PassedOver, ...] = ()
    """Files that were skipped in plain folders."""


def find_inputs(
    given: StrPath | Location | Iterable[StrPath | Location],
    *,
    filesystem: object = None,
    as_of: AsOf = LAST,
) -> FoundFiles:
    """Find the files of paths, as `find_sources` does, and the files of tables at a version.

    Args:
        given: Paths or URLs of tables, files and folders, and glob patterns; one or many.
        filesystem: File system that the paths are relative to.
        as_of: The state of the tables.

    Raises:
        InvalidArgument: As `find_sources` and `find_table`.
        TableProblem, UnsupportedTable, StoreProblem, OSError: As `find_table`.
    """
    several = [given] if isinstance(given, str | os.PathLike | Location) else list(given)
    tables = [
        None if isinstance(one, Location) else find_table(one, filesystem=filesystem, as_of=as_of)
        for one in several
    ]
    left = Leftovers()
    if not any(tables):
        found = find_sources(several, filesystem=filesystem, leftovers=left)
        return FoundFiles(files=found, tables=[], passed_over=left.groups())
    found = []
    for one, table in zip(several, tables, strict=True):
        if table is None:
            found += find_sources(one, filesystem=filesystem, leftovers=left)
        else:
            found += table.files
    return FoundFiles(
        files=list(dict.fromkeys(found)),
        tables=[one for one in tables if one is not None],
        passed_over=left.groups(),
    )


def find_files(
    given: StrPath | Location | Iterable[StrPath | Location],
    *,
    filesystem: object = None,
    version: int | None = None,
    snapshot: int | None = None,
    branch: str | None = None,
) -> list[Location]:
    """Find the files that paths denote, for verbs on single files.

        for file in find_files("orders", version=3):
            print(inspect(file))

    Args:
        given: Paths or URLs of tables, files and folders, and glob patterns; one or many.
        filesystem: What the paths are relative to: a file system of pyarrow or fsspec.
        version: Of Delta tables; None for their last ones.
        snapshot: Id of a snapshot of Iceberg tables; None for their last ones.
        branch: Of Iceberg tables; None for `main`.

    Returns:
        Each file once, in the order of the paths; `str` gives its name. Verbs know the columns of a
        table's file by the names that the table has for them.

    Raises:
        InvalidArgument: If a folder or pattern matches nothing, if there is no such version,
            snapshot or branch, or if it is asked for of what is no such table.
        TableProblem: If the metadata of a table are damaged, or ask for features not understood.
        OSError: If a folder or log cannot be read.
    """
    as_of = AsOf(version=version, snapshot=snapshot, branch=branch)
    return find_inputs(given, filesystem=filesystem, as_of=as_of).files
