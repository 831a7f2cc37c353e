"""Delta and Iceberg tables: their files as their metadata name them, instead of a listing.

A file of such a table never changes, so an index of it has the contract "immutable", and no file is
ever looked at. Its identity is path and size as the metadata have them, and the time in a Delta
log. Lookups take the files of the state that is asked about from the metadata, and keep those that
no index knows. An entry of the index's log says of which state it was made.

An index of an Iceberg table knows columns by name, and by what the name meant when it was made: the
field's id, by which the column is found in each file, and its type. If the name means another
field, or a field of another type, in the state that is asked about, the index says nothing of it.

The metadata of an Iceberg table do not tell its catalog, so the index's entry has the table's name.
The home of its indexes is below the table's location: Iceberg's `remove_orphan_files` passes over
names that begin with an underscore.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Protocol

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.iceberg.names import is_iceberg
from parquet_bloomwriter.index.files import FileId, relative_path
from parquet_bloomwriter.index.layout import known_spelling
from parquet_bloomwriter.replace.external_references import ReferenceKind

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TypeAlias

    from pyiceberg.manifest import DataFile

    from parquet_bloomwriter.delta.snapshot import Snapshot
    from parquet_bloomwriter.metadata import Footer, Leaf
    from parquet_bloomwriter.table_files.iceberg import IcebergTable

    TableState: TypeAlias = "DeltaState | IcebergState"

_DELTA_VERSION = "delta_version"
_TABLE, _UUID, _SNAPSHOT, _FIELDS = (
    "iceberg_table",
    "iceberg_uuid",
    "iceberg_snapshot",
    "iceberg_fields",
)
"""Options of an entry."""

_COMPLETE, _YES = "has_all_files", "yes"
"""The option of an entry whose version knows all files of the state that it was made of."""

_NAME_NO_FILES = "Name no files."
_BOOLEAN = "boolean"
"""The type that no filter is built for, as both formats spell it."""


@dataclass(frozen=True, slots=True, order=True)
class LoggedFile(FileId):
    """A file as metadata have it: its time there need not be that of the file system."""


@dataclass(frozen=True, slots=True)
class DeltaState:
    """The version of a Delta table that an index was made of."""

    version: int
    kind: ClassVar[ReferenceKind] = ReferenceKind.DELTA_LOG

    def options(self) -> dict[str, str]:
        """Return what an entry keeps."""
        return {_DELTA_VERSION: str(self.version)}

    def is_of(self, table: ManagedTable) -> bool:
        """Return whether a table at some version is in this state."""
        return isinstance(table, DeltaTable) and table.version == self.version

    def field_id(self, name: str) -> None:
        """Return None: columns have their names in files, too."""

    def why_silent(self, table: ManagedTable, columns: Iterable[str]) -> str | None:  # noqa: ARG002  as below
        """Return why the index says nothing about a table, a clause; None if it does."""
        return None if isinstance(table, DeltaTable) else "it is of a Delta table"


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergState:
    """The snapshot of an Iceberg table that an index was made of."""

    name: str
    """iceberg://CATALOG/NAMESPACE.TABLE."""

    uuid: str
    """The table's identity."""

    snapshot_id: int
    fields: Mapping[str, str]
    """Id and type of each indexed column that the table had."""

    kind: ClassVar[ReferenceKind] = ReferenceKind.ICEBERG_METADATA

    def options(self) -> dict[str, str]:
        """Return what an entry keeps."""
        return {
            _TABLE: self.name,
            _UUID: self.uuid,
            _SNAPSHOT: str(self.snapshot_id),
            _FIELDS: json.dumps(dict(self.fields), sort_keys=True),
        }

    def is_of(self, table: ManagedTable) -> bool:
        """Return whether a table at some snapshot is in this state."""
        if not isinstance(table, IcebergTableAt):
            return False
        return (table.uuid, table.snapshot_id) == (self.uuid, self.snapshot_id)

    def field_id(self, name: str) -> int | None:
        """Return the id of an indexed column, by which it is found in files."""
        field_id = self.fields.get(name, "").partition(" ")[0]
        return int(field_id) if field_id.isdecimal() else None

    def why_silent(self, table: ManagedTable, columns: Iterable[str]) -> str | None:
        """Return why the index says nothing about a table, a clause; None if it does.

        Args:
            table: At the snapshot that is asked about.
            columns: Those of the index that are asked for.
        """
        if not isinstance(table, IcebergTableAt):
            return "it is of an Iceberg table"
        if table.uuid != self.uuid:
            return "it is of another table that had this name; delete it, and create it anew"
        for name in columns:
            known = self.fields.get(name)
            if known is None or table.field_of(name) != known:
                return (
                    f'the column "{name}" was dropped, renamed or changed since the index was '
                    "made, or is not in this snapshot; refresh it in full"
                )
        return None


class ManagedTable(Protocol):
    """A table at one of its states."""

    @property
    def root(self) -> str:
        """The table's folder or prefix, absolute."""
        ...

    def files(self) -> list[FileId]:
        """Return its files, ordered by path.

        Raises:
            InvalidArgument: If an index cannot know the table's columns.
            TableProblem: If the metadata cannot be read.
        """
        ...

    def select(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the dotted names of leaf columns, as `select_columns` finds them.

        Raises:
            ColumnNotFound: If a name matches nothing.
        """
        ...

    def column_names(self) -> tuple[str, ...]:
        """Return the dotted names that a predicate can use, those of partitions included."""
        ...

    def can_index(self, name: str) -> bool:
        """Return whether a column of this dotted name can be indexed as far as its type goes."""
        ...

    def state(self, columns: Sequence[str]) -> TableState:
        """Return what an index of these columns records.

        Raises:
            InvalidArgument: If the table has no such column.
        """
        ...

    def why_unlike(self, footer: Footer, name: str, leaf: Leaf) -> str | None:
        """Return why lookups could take stored values of a column for others, a clause."""
        ...


@dataclass(frozen=True)
class DeltaTable:
    """A Delta table at one version."""

    root: str
    version: int
    _snapshot: Snapshot | None = None

    def files(self) -> list[FileId]:
        """See `ManagedTable`."""
        snapshot = self._read()
        _check_columns(snapshot)
        place = snapshot.place
        files: list[FileId] = [
            LoggedFile(
                relative_path(self.root, known_spelling(place.locate(file.path))),
                file.size,
                file.modified_ms,
            )
            for file in snapshot.files.values()
        ]
        return sorted(files)

    def select(self, names: Sequence[str]) -> tuple[str, ...]:
        """See `ManagedTable`."""
        from parquet_bloomwriter.delta.schema import TableColumns

        return TableColumns(self._read().metadata).select(names)

    def column_names(self) -> tuple[str, ...]:
        """See `ManagedTable`."""
        from parquet_bloomwriter.delta.schema import TableColumns
        from parquet_bloomwriter.table_files.delta import plain_fields

        metadata = self._read().metadata
        return (*TableColumns(metadata).select(None), *plain_fields(metadata.schema))

    def can_index(self, name: str) -> bool:
        """See `ManagedTable`."""
        from parquet_bloomwriter.table_files.delta import part_fields, plain_fields

        schema = self._read().metadata.schema
        types = [one["type"] for one in plain_fields(schema).get(name, ())]
        types += [type_ for _, _, type_ in part_fields(schema).get(name, ())]
        return any(type_ != _BOOLEAN for type_ in types)

    def _read(self) -> Snapshot:
        from parquet_bloomwriter.delta.place import place_of
        from parquet_bloomwriter.delta.snapshot import read_snapshot

        return self._snapshot or read_snapshot(place_of(self.root), self.version)

    def state(self, columns: Sequence[str]) -> DeltaState:  # noqa: ARG002  as the protocol has it
        """See `ManagedTable`."""
        return DeltaState(self.version)

    def why_unlike(self, footer: Footer, name: str, leaf: Leaf) -> None:
        """See `ManagedTable`: columns have their names in files, too."""


@dataclass(frozen=True, kw_only=True)
class IcebergTableAt:
    """An Iceberg table at one snapshot."""

    table: IcebergTable
    root: str
    planned: Sequence[DataFile] | None = field(default=None, repr=False)
    """The files that are asked about, if not all of the snapshot."""

    @property
    def uuid(self) -> str:
        """The table's identity."""
        return str(self.table.metadata.table_uuid)

    @property
    def snapshot_id(self) -> int:
        """0 for a table without snapshots."""
        return self.table.snapshot_id or 0

    def files(self) -> list[FileId]:
        """See `ManagedTable`."""
        return sorted(map(self.identity, self._data_files))

    def identity(self, file: DataFile) -> FileId:
        """Return the identity of a data file; a path is never used again."""
        from parquet_bloomwriter.iceberg.snapshot import locate

        path = relative_path(self.root, known_spelling(locate(file.file_path)))
        return LoggedFile(path, file.file_size_in_bytes, 0)

    def select(self, names: Sequence[str]) -> tuple[str, ...]:
        """See `ManagedTable`."""
        return self.table.columns.select(names)

    def column_names(self) -> tuple[str, ...]:
        """See `ManagedTable`."""
        return (*self.table.columns.select(None), *self.table.plain_fields)

    def can_index(self, name: str) -> bool:
        """See `ManagedTable`."""
        field = self.field_of(name)
        return field is not None and field.partition(" ")[2] != _BOOLEAN

    def state(self, columns: Sequence[str]) -> IcebergState:
        """See `ManagedTable`."""
        self.table.columns.select(columns)
        found = {name: self.field_of(name) for name in columns}
        fields = {name: text for name, text in found.items() if text is not None}
        if missing := [name for name in columns if name not in fields]:
            raise InvalidArgument(
                f'"{missing[0]}" is no column of this table whose values can be looked up',
                path=self.table.path,
                remedy="Name a column as the table spells it, or what a list or map holds "
                "(tags.element, m.key, m.value), and no struct, nor what is within structs in "
                "lists.",
            )
        return IcebergState(
            name=self.table.path, uuid=self.uuid, snapshot_id=self.snapshot_id, fields=fields
        )

    def field_of(self, name: str) -> str | None:
        """Return the id and the type of a column; None if the table has none of that name."""
        several = [
            *self.table.plain_fields.get(name, ()),
            *(one for _, _, one in self.table.part_fields.get(name, ())),
            *(one for _, _, one in self.table.part_fields.get(f"{name}.element", ())),
        ]
        return f"{several[0].field_id} {several[0].field_type}" if len(several) == 1 else None

    def why_unlike(self, footer: Footer, name: str, leaf: Leaf) -> str | None:
        """See `ManagedTable`."""
        parts = [one for several in self.table.part_leaves(footer).values() for one in several]
        if leaf not in parts and self.table.known_texts(name, leaf, footer) is not None:
            return f'its column "{name}" is stored as values that may equal others in the table'
        return None

    @cached_property
    def _data_files(self) -> Sequence[DataFile]:
        from parquet_bloomwriter.iceberg.catalog import metadata_errors
        from parquet_bloomwriter.iceberg.scan import data_files_of

        if self.planned is not None:
            return self.planned
        if self.table.snapshot_id is None:
            return ()
        with metadata_errors(self.table.path):
            return data_files_of(
                self.table.path, self.table.metadata, self.table.io, self.table.snapshot_id
            )


def is_delta(root: str) -> bool:
    """Return whether a folder or prefix is a Delta table."""
    from parquet_bloomwriter.delta.place import is_table

    return is_table(root)


def delta_table(root: str, version: int | None = None) -> DeltaTable:
    """Open a Delta table at a version, by default the last.

    Raises:
        InvalidArgument: If there is no such version.
        TableProblem: If the log cannot be read.
    """
    from parquet_bloomwriter.delta.place import place_of
    from parquet_bloomwriter.delta.snapshot import read_snapshot

    snapshot = read_snapshot(place_of(root), version)
    return DeltaTable(root, snapshot.version, snapshot)


def delta_table_at_end(root: str) -> DeltaTable:
    """Open a Delta table at its last version, of which only the number is read now."""
    from parquet_bloomwriter.delta.log import find_segment
    from parquet_bloomwriter.delta.place import place_of

    return DeltaTable(root, find_segment(place_of(root)).version)


def iceberg_table(
    name: str, *, snapshot_id: int | None = None, branch: str | None = None
) -> IcebergTableAt:
    """Open an Iceberg table at a snapshot, by default the last one of `main`; no manifest is read.

    Raises:
        InvalidArgument: If there is no such table, snapshot or branch; if both are given; if its
            location is one where no index can be.
        TableProblem: If the catalog does not answer, or metadata cannot be read.
    """
    from parquet_bloomwriter.table_files.iceberg import open_table

    if snapshot_id is not None and branch is not None:
        raise InvalidArgument("a snapshot and a branch are given: one of them is enough")
    return iceberg_table_at(open_table(name, snapshot_id=snapshot_id, branch=branch))


def iceberg_table_at(table: IcebergTable) -> IcebergTableAt:
    """Return a table that was opened; the settings of its location's bucket count from now on."""
    from parquet_bloomwriter.iceberg.snapshot import locate
    from parquet_bloomwriter.iceberg.store import use_settings
    from parquet_bloomwriter.index.layout import absolute_path

    location = table.metadata.location
    use_settings(table.io.properties, [location])
    return IcebergTableAt(table=table, root=absolute_path(locate(location)))


def managed_table(
    given: str | os.PathLike[str], root: str, state: TableState | None = None
) -> ManagedTable | None:
    """Open a table whose metadata name its files, at its last state; None for a plain one.

    Args:
        given: The table's name, path or URL.
        root: Its folder, absolute; one that the caller named, not only an index.
        state: What an index of the table records; None if there is no index yet.

    Raises:
        InvalidArgument: If it is an Iceberg table, and only the index names it.
    """
    if why := why_unnamed(given, state):
        raise InvalidArgument(f"the index says nothing here: {why}", path=root)
    if isinstance(given, str) and is_iceberg(given):
        return iceberg_table(given)
    if isinstance(state, DeltaState) or (state is None and is_delta(root)):
        return delta_table(root)
    return None


def why_unnamed(given: str | os.PathLike[str], state: TableState | None) -> str | None:
    """Return why an Iceberg table is not opened, a clause: only its index names it; else None.

    An index may come from a stranger: no catalog is asked for a name that is found in it.

    Args:
        given: What the caller named.
        state: What an index records.
    """
    if not isinstance(state, IcebergState) or is_iceberg(given):
        return None
    return (
        "it is of an Iceberg table, and names that are found in an index are not looked up: if "
        f'you mean "{state.name}", name the table so'
    )


def state_of(options: Mapping[str, str]) -> TableState | None:
    """Return the state of a table that an entry's index was made of; None for a plain table."""
    version, snapshot = options.get(_DELTA_VERSION, ""), options.get(_SNAPSHOT, "")
    if version.isdecimal():
        return DeltaState(int(version))
    if not snapshot.isdecimal():
        return None
    fields: dict[str, str] = {}
    with suppress(ValueError):
        fields = json.loads(options.get(_FIELDS, ""))
    return IcebergState(
        name=options.get(_TABLE, ""),
        uuid=options.get(_UUID, ""),
        snapshot_id=int(snapshot),
        fields=fields,
    )


def with_completeness(options: Mapping[str, str], *, is_complete: bool) -> dict[str, str]:
    """Return options of an entry that say whether its version knows all files of its state.

    A file that could not be read is left out of a version, and lookups must keep it.
    """
    others = {name: text for name, text in options.items() if name != _COMPLETE}
    return others | {_COMPLETE: _YES} if is_complete else others


def is_complete(options: Mapping[str, str]) -> bool:
    """Return whether a version certainly knows all files of the state that it was made of."""
    return options.get(_COMPLETE) == _YES


def without_state(options: Mapping[str, str]) -> dict[str, str]:
    """Return options of an entry without the state of a table."""
    ours = (_DELTA_VERSION, _TABLE, _UUID, _SNAPSHOT, _FIELDS, _COMPLETE)
    return {name: text for name, text in options.items() if name not in ours}


def check_named(files: object) -> None:
    """Check that a caller does not name the files of a table, which its metadata do.

    Raises:
        InvalidArgument: If he does.
    """
    if files is not None:
        raise InvalidArgument(
            "the metadata of a Delta or Iceberg table say which files it has",
            remedy=_NAME_NO_FILES,
        )


def _check_columns(snapshot: Snapshot) -> None:
    """Check that the columns of the table are those of its files."""
    mode = snapshot.metadata.properties.get("delta.columnMapping.mode", "none")
    if mode != "none":
        raise InvalidArgument(
            f"columns have other names in the files of this table (mapping by {mode})",
            path=snapshot.place.root,
            remedy="An index knows the names in files only: add filters to the files instead.",
        )
