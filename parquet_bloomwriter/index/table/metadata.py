"""Delta and Iceberg tables: their files as their metadata name them, instead of a listing.

A file of such a table never changes, so an index of the table has the contract "immutable", and
lookups check no file. The identity of a file is its path and size in the metadata, and its time in
a Delta log. Lookups take the files of the requested state (version or snapshot) from the metadata,
and keep files that no index knows. The index's log entry records the state that it was built from.

An index of an Iceberg table knows a column by its name, and by the field that had the name when the
index was made: the field's id, by which the column is found in each file, and its type. If the name
means another field, or a field of another type, in the requested state, the index is not used.

The metadata of an Iceberg table do not name its catalog, so the index's entry has the table's name.
The home of its indexes is below the table's location: Iceberg's `remove_orphan_files` passes over
names that begin with an underscore.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.index.contract import COMPLETE
from parquet_bloomwriter.index.files import LoggedFile
from parquet_bloomwriter.index.layout import absolute_path, known_spelling, relative_path
from parquet_bloomwriter.replace.external_references import ReferenceKind
from parquet_bloomwriter.table_files.files import DELTA

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TypeAlias

    from parquet_bloomwriter.index.files import FileId
    from parquet_bloomwriter.table_files.files import StoredFile, Table
    from parquet_bloomwriter.table_files.iceberg import IcebergTable

    TableState: TypeAlias = "DeltaState | IcebergState"

_DELTA_VERSION = "delta_version"
_TABLE, _UUID, _SNAPSHOT, _FIELDS = (
    "iceberg_table",
    "iceberg_uuid",
    "iceberg_snapshot",
    "iceberg_fields",
)
"""Names of the options of a log entry that record the state of a table."""

_BOOLEAN = "boolean"
"""The type without filters, as both formats spell it."""


@dataclass(frozen=True, slots=True)
class DeltaState:
    """The version of a Delta table that an index was built from."""

    version: int
    kind: ClassVar[ReferenceKind] = ReferenceKind.DELTA_LOG

    def options(self) -> dict[str, str]:
        """Return the options by which a log entry records this state."""
        return {_DELTA_VERSION: str(self.version)}

    def is_of(self, table: MetadataTable) -> bool:
        """Return whether an opened table is in this state."""
        return table.table.kind == DELTA and table.table.version == self.version

    def field_id(self, name: str) -> None:
        """Return None: columns of a Delta table are found in files by their names."""

    def why_silent(self, table: MetadataTable, columns: Iterable[str]) -> str | None:  # noqa: ARG002  as below
        """Return why the index cannot be used for a table, a clause; None if it can."""
        return None if table.table.kind == DELTA else "it is of a Delta table"


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergState:
    """The snapshot of an Iceberg table that an index was built from."""

    name: str
    """Name of the table: iceberg://CATALOG/NAMESPACE.TABLE."""

    uuid: str
    """UUID of the table."""

    snapshot_id: int
    fields: Mapping[str, str]
    """Field id and type of each indexed column that the table had, by name."""

    kind: ClassVar[ReferenceKind] = ReferenceKind.ICEBERG_METADATA

    def options(self) -> dict[str, str]:
        """Return the options by which a log entry records this state."""
        return {
            _TABLE: self.name,
            _UUID: self.uuid,
            _SNAPSHOT: str(self.snapshot_id),
            _FIELDS: json.dumps(dict(self.fields), sort_keys=True),
        }

    def is_of(self, table: MetadataTable) -> bool:
        """Return whether an opened table is in this state."""
        found = table.table
        if found.kind == DELTA:
            return False
        return (found.uuid, found.version) == (self.uuid, self.snapshot_id)

    def field_id(self, name: str) -> int | None:
        """Return the field id by which an indexed column is found in data files."""
        field_id = self.fields.get(name, "").partition(" ")[0]
        return int(field_id) if field_id.isdecimal() else None

    def why_silent(self, table: MetadataTable, columns: Iterable[str]) -> str | None:
        """Return why the index cannot be used for a table, a clause; None if it can.

        Args:
            table: The table at the snapshot of the query.
            columns: Names of the index's columns that the query needs.
        """
        if table.table.kind == DELTA:
            return "it is of an Iceberg table"
        if table.table.uuid != self.uuid:
            return "it is of another table that had this name; delete it, and create it anew"
        for name in columns:
            known = self.fields.get(name)
            if known is None or _field_of(table.table, name) != known:
                return (
                    f'the column "{name}" was dropped, renamed or changed since the index was '
                    "made, or is not in this snapshot; refresh it in full"
                )
        return None


@dataclass(frozen=True, kw_only=True)
class MetadataTable:
    """A Delta or Iceberg table in one state (version or snapshot), for an index."""

    table: Table
    root: str
    """The table's folder or prefix, absolute."""

    planned: Sequence[StoredFile] | None = field(default=None, repr=False)
    """The data files of the query; None: all files of the table."""

    def files(self) -> list[FileId]:
        """Return the table's files, ordered by path.

        Raises:
            InvalidArgument: If an index cannot know the table's columns.
            TableProblem: If the metadata cannot be read.
        """
        self.table.check_names_in_files()
        planned = self.table.stored_files() if self.planned is None else self.planned
        return sorted(map(self.identity, planned))

    def identity(self, file: StoredFile) -> FileId:
        """Return the identity of a data file; a table uses each path only once."""
        path = relative_path(self.root, known_spelling(file.path))
        return LoggedFile(path, file.size, file.modified_ms)

    def select(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the dotted names of leaf columns, as `select_columns` finds them.

        Raises:
            ColumnNotFound: If a name matches nothing.
        """
        return self.table.columns.select(names)

    def can_index(self, name: str) -> bool:
        """Return whether the type of a column, given by its dotted name, can be indexed."""
        return any(one.type != _BOOLEAN for one in self.table.fields_of(name))

    def state(self, columns: Sequence[str]) -> TableState:
        """Return the state that an index of these columns records.

        Raises:
            InvalidArgument: If the table has no such column.
        """
        table = self.table
        if table.kind == DELTA:
            return DeltaState(table.version)
        table.columns.select(columns)
        fields = {name: text for name in columns if (text := _field_of(table, name)) is not None}
        if missing := [name for name in columns if name not in fields]:
            raise InvalidArgument(
                f'"{missing[0]}" is no column of this table whose values can be looked up',
                path=table.path,
                remedy="Name a column as the table spells it, or what a list or map holds "
                "(tags.element, m.key, m.value), and no struct, nor what is within structs in "
                "lists.",
            )
        return IcebergState(
            name=table.path, uuid=table.uuid, snapshot_id=table.version, fields=fields
        )


def _field_of(table: Table, name: str) -> str | None:
    """Return the field id and the type of a column; None if the table has no such column."""
    return next((f"{one.id} {one.type}" for one in table.fields_of(name)), None)


def is_delta(root: str) -> bool:
    """Return whether a folder or prefix is a Delta table."""
    from parquet_bloomwriter.delta.place import is_table

    return is_table(root)


def delta_table(root: str, version: int | None = None, *, at_end: bool = False) -> MetadataTable:
    """Open a Delta table at a version, by default the last.

    Args:
        root: The table's folder or prefix, absolute.
        version: Number of the version.
        at_end: Read only the number of the last version now, and the rest when it is needed.

    Raises:
        InvalidArgument: If there is no such version.
        TableProblem: If the log cannot be read.
    """
    from parquet_bloomwriter.table_files.delta import DeltaTable

    opened = DeltaTable.at_end(root) if at_end else DeltaTable.open(root, version)
    return MetadataTable(table=opened, root=root)


def iceberg_table(
    name: str, *, snapshot_id: int | None = None, branch: str | None = None
) -> MetadataTable:
    """Open an Iceberg table at a snapshot, by default the last one of `main`; no manifest is read.

    Raises:
        InvalidArgument: If there is no such table, snapshot or branch; if both are given; if its
            location is one where no index can be.
        TableProblem: If the catalog does not answer, or metadata cannot be read.
    """
    from parquet_bloomwriter.table_files.iceberg import IcebergTable

    if snapshot_id is not None and branch is not None:
        raise InvalidArgument("a snapshot and a branch are given: one of them is enough")
    return iceberg_table_at(IcebergTable.open(name, snapshot_id=snapshot_id, branch=branch))


def iceberg_table_at(
    table: IcebergTable, planned: Sequence[StoredFile] | None = None
) -> MetadataTable:
    """Wrap an opened Iceberg table; its settings for its bucket apply from now on."""
    from parquet_bloomwriter.iceberg.snapshot import locate
    from parquet_bloomwriter.iceberg.store import use_settings

    location = table.metadata.location
    use_settings(table.io.properties, [location])
    return MetadataTable(table=table, root=absolute_path(locate(location)), planned=planned)


def state_of(options: Mapping[str, str]) -> TableState | None:
    """Return the state of a table that an entry's options record; None for a plain table."""
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


def without_state(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a log entry without the state of a table."""
    ours = (_DELTA_VERSION, _TABLE, _UUID, _SNAPSHOT, _FIELDS, *COMPLETE)
    return {name: text for name, text in options.items() if name not in ours}


def check_named(files: object) -> None:
    """Check that a caller does not name files of a table: its metadata name them.

    Raises:
        InvalidArgument: If the caller names files.
    """
    if files is not None:
        raise InvalidArgument(
            "the metadata of a Delta or Iceberg table say which files it has",
            remedy="Name no files.",
        )
