"""Delta tables at a version, and their files, for verbs that read them or replace files.

- Values of partition columns stand in the log, with types: never in the names of folders.
- A file may lack a column that was added later: its values there are null.
- Columns have other names in files if the table maps its columns.
- A file may have a narrower type than the table: literals are compared with that.

A column excludes no file if equal values may be stored as different bytes, or if readers differ in
which values are equal: collated text, CHAR padded with blanks, timestamps as INT96, partition
values without a recorded time zone, floats that differ from their text in the log.
"""

from __future__ import annotations

import contextlib
import json
import struct
import time
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, cast
from urllib.parse import unquote

from parquet_bloomwriter.delta.log import find_segment
from parquet_bloomwriter.delta.partition_values import partition_value
from parquet_bloomwriter.delta.place import place_of
from parquet_bloomwriter.delta.schema import DeltaColumns
from parquet_bloomwriter.delta.snapshot import (
    advance,
    read_snapshot,
    read_to_change,
    read_whole_commit,
)
from parquet_bloomwriter.errors import InvalidArgument, TableProblem
from parquet_bloomwriter.metadata.logical_types import Kind, type_of
from parquet_bloomwriter.source.filesystems import locate, without_secrets
from parquet_bloomwriter.table_files.files import (
    DELTA,
    FileEntry,
    StoredFile,
    Table,
    TableCommit,
    TableField,
    TableFile,
)
from parquet_bloomwriter.text import safe

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Self

    import numpy as np
    from numpy.typing import NDArray

    from parquet_bloomwriter.delta.actions import Add, FileKey
    from parquet_bloomwriter.delta.place import TablePlace
    from parquet_bloomwriter.delta.snapshot import Snapshot
    from parquet_bloomwriter.metadata import Footer, Leaf
    from parquet_bloomwriter.metadata.elements import Part
    from parquet_bloomwriter.predicate.expression import Texts
    from parquet_bloomwriter.table_files.files import FileReplacement
    from parquet_bloomwriter.table_files.properties import AskedFilters

_UNKNOWN: Texts = ()
_NULL: Texts = (None,)

_KINDS = {
    "string": (Kind.TEXT, Kind.BINARY),
    "binary": (Kind.TEXT, Kind.BINARY),
    "byte": (Kind.INTEGER,),
    "short": (Kind.INTEGER,),
    "integer": (Kind.INTEGER,),
    "long": (Kind.INTEGER,),
    "float": (Kind.FLOATING,),
    "double": (Kind.FLOATING, Kind.INTEGER),
    "boolean": (Kind.BOOLEAN,),
    "date": (Kind.DATE,),
    "timestamp": (Kind.TIMESTAMP,),
    "timestamp_ntz": (Kind.TIMESTAMP,),
}
"""The kinds of stored values that a literal for a column of a table's type equals alike, by the
name of the type."""

_TAG = "bloomify"
"""Name of the tag of files that this program wrote: a path, and columns. The tag counts only for
the path that it names: another program may copy the tags of a file to a file of its own."""

_MS_PER_S = 1000

_CHAR = "__CHAR_VARCHAR_TYPE_STRING"
_COLLATIONS = "__COLLATIONS"
_EXACT_BITS = 32
"""Maximum number of bits of an integer that is exact as DOUBLE."""


@dataclass(frozen=True, kw_only=True, eq=False)
class DeltaTable(Table):
    """A Delta table at one version."""

    kind: ClassVar[str] = DELTA
    format: ClassVar[str] = "delta"
    partition_origin: ClassVar[str] = "the value in the log"
    keeps_notes: ClassVar[bool] = True

    place: TablePlace
    number: int
    """Number of the version."""

    read: Snapshot | None = field(default=None, repr=False)
    """The version as read from the log; None: it is read when it is needed."""

    @classmethod
    def open(cls, path: str, version: int | None = None, *, name: str | None = None) -> Self:
        """Read a version of a table, by default the last.

        Args:
            path: Path or URL of its folder.
            version: Number of the version.
            name: The path as the caller spelled it, without secrets.

        Raises:
            InvalidArgument: If there is no such version.
            TableProblem, UnsupportedTable, StoreProblem, OSError: If it cannot be read.
        """
        return cls._at(read_snapshot(place_of(path), version), path if name is None else name)

    @classmethod
    def open_to_change(cls, path: str) -> Self:
        """Read the last version of a table, to replace files.

        Raises:
            InvalidArgument: If there is no table.
            TableProblem: If its log is damaged.
            UnsupportedTable: If it has a feature that this program must not touch.
            StoreProblem, OSError: If the log cannot be read.
        """
        snapshot = read_to_change(place_of(path))
        snapshot.check_replaceable()
        return cls._at(snapshot, snapshot.place.root)

    @classmethod
    def _at(cls, snapshot: Snapshot, path: str) -> Self:
        return cls(path=path, place=snapshot.place, number=snapshot.version, read=snapshot)

    @classmethod
    def at_end(cls, path: str) -> Self:
        """Open a table at its last version; read only the number of this version now."""
        place = place_of(path)
        return cls(path=path, place=place, number=find_segment(place).version)

    @cached_property
    def snapshot(self) -> Snapshot:
        """The version as the log describes it."""
        return self.read or read_snapshot(self.place, self.number)

    @cached_property
    def columns(self) -> DeltaColumns:
        """The table's columns, with the leaf columns of files that store them."""
        return DeltaColumns(self.snapshot.metadata)

    @property
    def version(self) -> int:
        """Number of the version."""
        return self.number

    @property
    def uuid(self) -> str:
        """The table's id in its metadata."""
        return self.snapshot.metadata.id

    @property
    def label(self) -> str:
        """The version in words: "version 3 of a Delta table"."""
        return f"version {self.version:,} of {self.kind}"

    @property
    def facts(self) -> dict[str, object]:
        """The version as a JSON object."""
        return {"version": self.version}

    @property
    def mapping(self) -> str:
        """The mode of column mapping: none, name or id."""
        return self.columns.mode

    @cached_property
    def plain_fields(self) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """The fields that have one value in each row, by dotted name."""
        return plain_fields(self.snapshot.metadata.schema)

    @cached_property
    def part_fields(self) -> Mapping[str, Sequence[tuple[str, Part, str]]]:
        """The parts of lists and maps, by the dotted name of their leaf: see `part_fields`."""
        return part_fields(self.snapshot.metadata.schema)

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
    def files(self) -> tuple[DeltaFile, ...]:
        """The table's data files, in the order of the log."""
        root = self.place.root
        home = locate(root)
        found = []
        for add in self.snapshot.files.values():
            path = self.place.locate(add.path)
            inner = path.removeprefix(f"{root}/")
            if inner == path:
                place, inner = locate(path), ""
            else:
                place = home._replace(path=f"{home.path.rstrip('/')}/{inner}")
            found.append(
                DeltaFile(
                    path=place.path,
                    filesystem=place.filesystem,
                    name=f"{self.path.rstrip('/')}/{inner}" if inner else without_secrets(path),
                    inner=inner,
                    table=self,
                    add=add,
                )
            )
        return tuple(found)

    def stored_files(self) -> list[StoredFile]:
        """Return the data files as the log describes them: see `Table`."""
        return [
            StoredFile(self.place.locate(add.path), add.size, add.modified_ms)
            for add in self.snapshot.files.values()
        ]

    @property
    def location(self) -> str:
        """Path or URL of the table's folder."""
        return self.place.root

    @cached_property
    def entries(self) -> Sequence[FileEntry]:
        """The data files for verbs that replace them. Any may be: deletion vectors carry over."""
        return [
            FileEntry(
                key=key,
                path=add.path,
                size=add.size,
                partition=tuple(add.partition_values.items()),
                age_rank=add.modified_ms,
                finished=_finished(add),
            )
            for key, add in self.snapshot.files.items()
        ]

    def asked(self) -> AskedFilters:
        """Return the filters that the table's properties ask for: see `Table`."""
        from parquet_bloomwriter.table_files.properties import asked_by_delta

        return asked_by_delta(self.snapshot.metadata.properties)

    def ask(self, columns: Sequence[str], fpp: float | None) -> int | None:
        """Set the properties that ask for filters, by a commit: see `Table`."""
        from parquet_bloomwriter.delta.commit import set_properties
        from parquet_bloomwriter.table_files.properties import delta_properties

        wanted = delta_properties(columns, fpp)
        if wanted.items() <= self.snapshot.metadata.properties.items():
            return None
        return set_properties(self.snapshot, wanted).version

    def has(self, entry: FileEntry) -> bool:
        """Return whether the table still has an earlier file: see `Table`."""
        return entry.key in self.snapshot.files

    def locate(self, path: str) -> str:
        """Return the absolute path or URL of a file in the log: see `Table`."""
        return self.place.locate(path)

    def shown(self, path: str) -> str:
        """Return a path in the log as the disk or store has it: see `Table`."""
        return unquote(path)

    def new_path(self, entry: FileEntry) -> str:
        """Return an unused path for a new version of a file: see `Table`."""
        return self.place.new_uri(entry.path)

    def remove(self, path: str) -> None:
        """Remove a new file that no commit was tried for: see `Table`."""
        self.place.remove(path)

    def check_commits(self) -> None:
        """Check that commits can be made safely here: see `Table`."""
        self.place.check_commits()

    def newest(self) -> DeltaTable:
        """Return the table at its newest version: see `Table`."""
        from parquet_bloomwriter.delta.commit import check_unchanged

        snapshot = self.snapshot
        while commit := read_whole_commit(self.place, snapshot.version + 1):
            snapshot = advance(snapshot, commit)
        check_unchanged(self.snapshot, snapshot)
        return self if snapshot is self.snapshot else self._at(snapshot, self.path)

    def commit(
        self, replacements: Sequence[FileReplacement], *, verb: str, columns: Sequence[str]
    ) -> TableCommit:
        """Replace data files by new files, in one commit: see `Table`."""
        from parquet_bloomwriter.delta.commit import AddReplacement, new_add, replace_files

        adds = []
        for replacement in replacements:
            old = self.snapshot.files[cast("FileKey", replacement.old.key)]
            tags = {name: text for name, text in old.tags.items() if name != _TAG}
            if replacement.finished:
                tags[_TAG] = tag_of(replacement.path, replacement.finished)
            new = new_add(
                old,
                uri=replacement.path,
                size=replacement.size,
                modified_ms=int(time.time() * _MS_PER_S),
                tags=tags,
            )
            adds.append(AddReplacement(old=old, new=new))
        parameters = {"predicate": "[]", "zOrderBy": "[]", "auto": "false"}
        parameters[f"bloomify.{verb}"] = json.dumps(tuple(columns))
        made = replace_files(self.snapshot, adds, operation_parameters=parameters)
        dropped = {str(one.new["path"]): why for one, why in made.dropped}
        return TableCommit(
            table=self._at(made.snapshot, self.path),
            version=made.version if len(dropped) < len(replacements) else None,
            dropped=dropped,
        )

    def fields_of(self, name: str) -> list[TableField]:
        """Return the fields that a dotted name can mean: see `Table`."""
        types = [one["type"] for one in self.plain_fields.get(name, ())]
        return [TableField(one) for one in types + [t for *_, t in self.part_fields.get(name, ())]]

    def check_names_in_files(self) -> None:
        """Check that the table does not map its columns: see `Table`."""
        if self.mapping != "none":
            raise InvalidArgument(
                f"columns have other names in the files of this table (mapping by {self.mapping})",
                path=self.place.root,
                remedy="An index knows the names in files only: add filters to the files instead.",
            )

    @cached_property
    def _stored(self) -> frozenset[str]:
        return frozenset(self.columns.select(None))

    def known_texts(self, name: str, leaf: Leaf | None, footer: Footer) -> Texts | None:  # noqa: ARG002  Delta's own names are certain
        """Return the known values of a column, the same in all rows of a file: see `Table`."""
        several = self.plain_fields.get(name, ())
        if len(several) != 1 or name not in self._stored or is_special(several[0]):
            return _UNKNOWN
        if leaf is None:
            return _NULL
        return None if _is_kept(leaf, several[0]["type"]) else _UNKNOWN

    def part_leaves(self, footer: Footer) -> dict[tuple[str, Part], list[Leaf]]:
        """Return the columns of a file that hold parts of lists and maps: see `Table`."""
        leaves = self.columns.in_file(footer)
        return {
            (several[0][0], several[0][1]): [leaves[name]]
            for name, several in self.part_fields.items()
            if len(several) == 1 and name in leaves and _is_kept(leaves[name], several[0][2])
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaFile(TableFile):
    """A data file of a Delta table."""

    table: DeltaTable = field(compare=False, repr=False)
    add: Add = field(compare=False, repr=False)

    def partition_texts(self, columns: Sequence[str]) -> dict[str, Texts]:
        """Return the possible values of partition columns in this file: see `TableFile`."""
        return {
            name: _texts(self.add.partition_values.get(logged), field)
            for name, (logged, field) in self.table.partition_columns.items()
            if name in columns
        }

    def deleted_rows(self, *, num_rows: int) -> NDArray[np.int64] | None:
        """Return the positions of the deleted rows of the file; None if no row is deleted.

        Args:
            num_rows: Rows of the file.

        Raises:
            TableProblem: If the deletion vector is damaged, missing, or does not fit the file.
            StoreProblem, OSError: If it cannot be read.
        """
        if self.add.deletion_vector is None:
            return None
        from parquet_bloomwriter.delta.deletion_vectors import read_deletion_vector

        return read_deletion_vector(self.table.place, self.add.deletion_vector, num_rows=num_rows)


def tag_of(path: str, columns: Iterable[str]) -> str:
    """Return the tag of a new file: its path, and the columns that need no more work."""
    return json.dumps({"path": path, "columns": sorted(columns)}, separators=(",", ":"))


def _finished(add: Add) -> frozenset[str]:
    tag = add.tags.get(_TAG)
    if tag is None:
        return frozenset()
    with contextlib.suppress(ValueError, TypeError, KeyError):
        document = json.loads(tag)
        if document["path"] == add.path:
            return frozenset(map(str, document["columns"]))
    return frozenset()


def plain_fields(schema: Mapping[str, Any]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the fields of a table that have one value in each row, by dotted name.

    Args:
        schema: The table's ("Schema Serialization Format").
    """
    found: dict[str, list[Mapping[str, Any]]] = {}
    for name, one in _plain(schema["fields"], ""):
        found.setdefault(name, []).append(one)
    return found


def _plain(fields: Sequence[Any], above: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for one in fields:
        name, type_ = f"{above}{one['name']}", one["type"]
        if isinstance(type_, str):
            yield name, one
        elif type_["type"] == "struct":
            yield from _plain(type_["fields"], f"{name}.")


def part_fields(schema: Mapping[str, Any]) -> dict[str, list[tuple[str, Part, str]]]:
    """Return the parts of lists and maps of which readers agree which values are equal.

    Args:
        schema: The table's ("Schema Serialization Format").

    Returns:
        By the dotted name of the leaf column, such as `tags.list.element`: the dotted name of the
        list or map, the part, and its type.
    """
    found: dict[str, list[tuple[str, Part, str]]] = {}
    for name, one, kind in _lists_and_maps(schema["fields"], ""):
        parts: tuple[tuple[str, Part, Any], ...] = (
            ("key_value.key", "key", kind.get("keyType")),
            ("key_value.value", "value", kind.get("valueType")),
        )
        if kind["type"] == "array":
            parts = (("list.element", "element", kind["elementType"]),)
        metadata = one.get("metadata") or {}
        for inner, part, type_ in parts:
            is_plain = isinstance(type_, str) and not type_.startswith("string collate")
            if is_plain and _CHAR not in metadata and _COLLATIONS not in metadata:
                found.setdefault(f"{name}.{inner}", []).append((name, part, type_))
    return found


def _lists_and_maps(
    fields: Sequence[Any], above: str
) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    """Yield dotted names, fields and types of lists and maps that occur once in each row."""
    for one in fields:
        name, type_ = f"{above}{one['name']}", one["type"]
        if isinstance(type_, str):
            continue
        if type_["type"] == "struct":
            yield from _lists_and_maps(type_["fields"], f"{name}.")
        else:
            yield name, one, type_


def is_special(field: Mapping[str, Any]) -> bool:
    """Return whether readers may find values equal whose bytes differ."""
    metadata = field.get("metadata") or {}
    padded = str(metadata.get(_CHAR, "")).lower().startswith("char")
    return padded or _COLLATIONS in metadata or str(field["type"]).startswith("string collate")


def _is_kept(leaf: Leaf, type_: str) -> bool:
    """Return whether the same literals equal the stored values and the table's values."""
    stored = type_of(leaf)
    if type_.startswith("decimal"):
        return stored.kind in {Kind.DECIMAL, Kind.INTEGER}
    if stored.kind not in _KINDS.get(type_, ()):
        return False
    if stored.kind is Kind.TIMESTAMP:
        return stored.is_adjusted is (type_ == "timestamp")
    if type_ == "double" and stored.kind is Kind.INTEGER:
        return stored.bits <= _EXACT_BITS
    return True


def _texts(text: str | None, field: Mapping[str, Any]) -> Texts:  # noqa: PLR0911  a type each
    """Return a partition value as paths spell it; no value if the spelling is not certain."""
    try:
        value = partition_value(text, field["type"], field["name"])
    except TableProblem:
        return _UNKNOWN
    if value is None:
        return _NULL
    if is_special(field) or isinstance(value, datetime):
        return _UNKNOWN
    if isinstance(value, bool):
        return (str(value).lower(),)
    if isinstance(value, float):
        return _spelled(value, text or "", field["type"])
    if isinstance(value, Decimal):
        return (f"{value:f}",)
    return (str(value),)


def _spelled(value: float, text: str, type_: object) -> Texts:
    """Return the text of a float if it spells exactly this finite number."""
    layout = "<f" if type_ == "float" else "<d"
    try:
        (stored,) = struct.unpack(layout, struct.pack(layout, value))
        is_exact = Decimal(stored) == Decimal(text)
    except (ArithmeticError, ValueError, OverflowError):
        return _UNKNOWN
    return (text,) if is_exact else _UNKNOWN
