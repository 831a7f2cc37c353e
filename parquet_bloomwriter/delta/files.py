"""The files of a table at one version, for whoever only reads them.

`find_files` stands where folders are searched through: a folder that is a table means the files
that its log names, and no others. A folder inside a table, and a single file of it, are files as
any others. A file's footer is shown with the names that the table has for its columns.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from glob import has_magic
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.column_names import select_columns
from parquet_bloomwriter.delta.deletion_vectors import read_deletion_vector
from parquet_bloomwriter.delta.place import LOG, is_table, place_of
from parquet_bloomwriter.delta.schema import TableColumns
from parquet_bloomwriter.errors import InvalidArgument, TableProblem
from parquet_bloomwriter.metadata import Footer, Leaf, Schema
from parquet_bloomwriter.source import Location, find_sources
from parquet_bloomwriter.source.filesystems import is_fsspec, is_url, locate, without_secrets
from parquet_bloomwriter.source.listing import has_suffix, is_pattern
from parquet_bloomwriter.text import safe

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from parquet_bloomwriter.delta.actions import Add
    from parquet_bloomwriter.delta.snapshot import Snapshot
    from parquet_bloomwriter.source.filesystems import ResolvedPath, StrPath

_UNLISTED = re.compile(r"https?://", re.IGNORECASE)
"""URLs below which nothing can be listed, so that no log is found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLeaf(Leaf):
    """A leaf column of a file, under the name that the table has for it."""

    logical_name: str

    @property
    def name(self) -> str:
        """The dotted path in the table's schema."""
        return self.logical_name


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """A table at one version."""

    path: str
    """As the caller spelled it, without secrets."""

    snapshot: Snapshot

    @cached_property
    def columns(self) -> TableColumns:
        """The table's columns, and those of files that they are."""
        return TableColumns(self.snapshot.metadata)

    @property
    def version(self) -> int:
        """The version."""
        return self.snapshot.version

    @property
    def mapping(self) -> str:
        """The mode of column mapping: none, name or id."""
        return self.columns.mode

    @cached_property
    def partition_columns(self) -> Mapping[str, tuple[str, Any]]:
        """Logical name of each partition column -> its name in the log, and its field."""
        metadata = self.snapshot.metadata
        fields = {one["name"]: one for one in metadata.schema["fields"]}
        found = {}
        for name in metadata.partition_columns:
            one = fields.get(name)
            if one is None:
                raise TableProblem(f'the schema has no partition column "{safe(name)}"')
            physical = (one.get("metadata") or {}).get("delta.columnMapping.physicalName", name)
            found[name] = (name if self.mapping == "none" else physical, one)
        return found

    @cached_property
    def files(self) -> tuple[TableFile, ...]:
        """The table's files, in the order of the log."""
        root = self.snapshot.place.root
        home = locate(root)
        found = []
        for add in self.snapshot.files.values():
            path = self.snapshot.place.locate(add.path)
            inner = path.removeprefix(f"{root}/")
            if inner == path:
                place, inner = locate(path), ""
            else:
                place = home._replace(path=f"{home.path.rstrip('/')}/{inner}")
            found.append(
                TableFile(
                    path=place.path,
                    filesystem=place.filesystem,
                    name=f"{self.path.rstrip('/')}/{inner}" if inner else without_secrets(path),
                    inner=inner,
                    table=self,
                    add=add,
                )
            )
        return tuple(found)

    def named(self, footer: Footer) -> Footer:
        """Return a footer whose columns have the names of the table.

        Columns that the table does not have, or has no more, keep the file's names.
        """
        leaves = list(footer.leaves)
        for name, leaf in self.columns.in_file(footer).items():
            leaves[leaf.ordinal] = _renamed(leaf, name)
        return replace(footer, schema=Schema(tuple(leaves)))

    def in_file(self, footer: Footer) -> dict[str, Leaf]:
        """Return the leaf columns of a file by their names in the table, and under them."""
        return {name: _renamed(leaf, name) for name, leaf in self.columns.in_file(footer).items()}


def _renamed(leaf: Leaf, name: str) -> Leaf:
    facts = {one: getattr(leaf, one) for one in Leaf.__dataclass_fields__}
    return leaf if leaf.name == name else TableLeaf(**facts, logical_name=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFile(Location):
    """A file of a table."""

    table: Table = field(compare=False, repr=False)
    add: Add = field(compare=False, repr=False)

    def named(self, footer: Footer) -> Footer:
        """Return the file's footer, with the names that the table has for columns."""
        return self.table.named(footer)

    def select(self, names: str | Iterable[str], footer: Footer) -> tuple[Leaf, ...]:
        """Return the leaf columns of some names, as far as the file has them.

        Args:
            names: Of columns of the table.
            footer: The file's, as `named` returns it.

        Raises:
            ColumnNotFound: If the table has no such column.
        """
        chosen = set(self.table.columns.select(names if isinstance(names, str) else list(names)))
        return tuple(leaf for leaf in footer.leaves if leaf.name in chosen)

    def deleted_rows(self, *, num_rows: int) -> NDArray[np.int64] | None:
        """Return which rows of the file are deleted; None if none are.

        Args:
            num_rows: Rows of the file.

        Raises:
            TableProblem: If the deletion vector is damaged, missing, or does not fit the file.
            StoreProblem, OSError: If it cannot be read.
        """
        if self.add.deletion_vector is None:
            return None
        place = self.table.snapshot.place
        return read_deletion_vector(place, self.add.deletion_vector, num_rows=num_rows)


def find_table(
    given: object, *, filesystem: object = None, version: int | None = None
) -> Table | None:
    """Return the table that a path or URL is; None if it is none.

    Args:
        given: What a verb takes; only paths can be tables.
        filesystem: What the path is relative to.
        version: Of the table; None for the last one.

    Raises:
        InvalidArgument: If a version is asked for of what is no table, or is not there.
        TableProblem: If the log is damaged.
        UnsupportedTable: If the table has features that are not understood.
        StoreProblem, OSError: If the log cannot be read.
    """
    path = _table_path(given, filesystem)
    if path is None:
        if version is not None:
            raise InvalidArgument(
                f'"{_shown(given)}" is no table, so it has no versions',
                remedy="Name the folder of a Delta table.",
            )
        return None
    from parquet_bloomwriter.delta.snapshot import read_snapshot  # brings pyarrow

    return Table(path=_shown(given), snapshot=read_snapshot(place_of(path), version))


def _table_path(given: object, filesystem: object) -> str | None:
    """Return the path or URL of a table; None if `given` is none.

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
    """Whether a folder on a store has that of a log; False if it cannot be looked at."""
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
    """What paths name."""

    files: list[Location]
    """Each once, in the order of the paths; those of tables are `TableFile`s."""

    tables: list[Table]
    """The tables among what was named; a table may have no files."""


def find_inputs(
    given: StrPath | Location | Iterable[StrPath | Location],
    *,
    filesystem: object = None,
    version: int | None = None,
) -> FoundFiles:
    """Find the files that paths name, as `find_sources`, but of tables those of a version.

    Args:
        given: Paths or URLs of tables, files and folders, and glob patterns; one or many.
        filesystem: What the paths are relative to.
        version: Of the tables; None for their last ones.

    Raises:
        InvalidArgument: As `find_sources` and `find_table`.
        TableProblem, UnsupportedTable, StoreProblem, OSError: As `find_table`.
    """
    several = [given] if isinstance(given, str | os.PathLike | Location) else list(given)
    tables = [
        None
        if isinstance(one, Location)
        else find_table(one, filesystem=filesystem, version=version)
        for one in several
    ]
    if not any(tables):
        return FoundFiles(files=find_sources(several, filesystem=filesystem), tables=[])
    found: list[Location] = []
    for one, table in zip(several, tables, strict=True):
        found += find_sources(one, filesystem=filesystem) if table is None else table.files
    return FoundFiles(
        files=list(dict.fromkeys(found)), tables=[one for one in tables if one is not None]
    )


def find_files(
    given: StrPath | Location | Iterable[StrPath | Location],
    *,
    filesystem: object = None,
    version: int | None = None,
) -> list[Location]:
    """Find the files that paths name, for verbs on single files.

        for file in find_files("orders", version=3):
            print(inspect(file))

    Args:
        given: Paths or URLs of Delta tables, files and folders, and glob patterns; one or many.
        filesystem: What the paths are relative to: a file system of pyarrow or fsspec.
        version: Of Delta tables; None for their last ones.

    Returns:
        Each file once, in the order of the paths; `str` gives its name. Verbs know the columns of a
        table's file by the names that the table has for them.

    Raises:
        InvalidArgument: If a folder or pattern matches nothing, if there is no such version, or if
            a version is asked for of what is no table.
        TableProblem: If the log of a table is damaged, or asks for features not understood.
        OSError: If a folder or log cannot be read.
    """
    return find_inputs(given, filesystem=filesystem, version=version).files


def columns_of_file(
    source: object, footer: Footer, names: str | Iterable[str] | None
) -> tuple[Leaf, ...]:
    """Return leaf columns of a file by their names; of a table's file, as far as it has them.

    Args:
        source: What the file was opened by.
        footer: Its footer, with the names by which its columns are known.
        names: Of columns; None for all.

    Raises:
        ColumnNotFound: If a name matches nothing, or is ambiguous.
    """
    if names is None:
        return footer.leaves
    if isinstance(source, TableFile):
        return source.select(names, footer)
    return select_columns(footer.leaves, names)
