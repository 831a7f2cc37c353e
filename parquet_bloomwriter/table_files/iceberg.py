"""Iceberg tables at a snapshot, and their files, for verbs that read them or replace files.

- Columns are found in files by their ids, so that renaming a column changes nothing.
- A file may lack a column. If the file's partition spec has the column by identity, as for files
  that were imported from hive folders, all rows have the partition's value. Otherwise they are
  null, unless the column has a default.
- A file may have a narrower type than the table: literals are compared with that.

A column excludes no file if its stored values may equal other literals than the table's values do:
times of another clock, nanoseconds that are read as microseconds, unsigned integers.

Source: Iceberg's table specification, "Column Projection", "Schema Evolution", "Partition
Transforms", "Parquet" (Appendix A).
"""

from __future__ import annotations

import copy
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, ClassVar

from parquet_bloomwriter.delta.place import new_name
from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.iceberg.catalog import load_table, metadata_errors
from parquet_bloomwriter.iceberg.names import parse_name
from parquet_bloomwriter.iceberg.partition_values import identities, texts_of
from parquet_bloomwriter.iceberg.snapshot import (
    MAIN,
    check_replaceable,
    locate,
    read_again,
    read_snapshot,
    reload,
    state_of,
    state_of_scan,
)
from parquet_bloomwriter.iceberg.store import place_of, use_settings_of
from parquet_bloomwriter.iceberg.stored_types import is_kept, part_fields, plain_fields
from parquet_bloomwriter.kernels.layout import ABSENT
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.metadata.tree import ColumnNode, column_tree, is_repeated, nodes_below
from parquet_bloomwriter.source.filesystems import without_secrets
from parquet_bloomwriter.table_files.files import (
    COMMITTED,
    FOOTERS_AT_ONCE,
    ICEBERG,
    FileEntry,
    StoredFile,
    Table,
    TableCommit,
    TableField,
    TableFile,
    footer_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Self

    from pyiceberg.io import FileIO
    from pyiceberg.manifest import DataFile
    from pyiceberg.schema import Schema
    from pyiceberg.table import DataScan
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.name_mapping import MappedField
    from pyiceberg.types import NestedField

    from parquet_bloomwriter.iceberg.commit import SnapshotCommit
    from parquet_bloomwriter.iceberg.new_snapshot import EntryReplacement
    from parquet_bloomwriter.iceberg.schema import IcebergColumns
    from parquet_bloomwriter.iceberg.snapshot import IcebergSnapshot
    from parquet_bloomwriter.metadata import Footer, Leaf
    from parquet_bloomwriter.metadata.elements import Part
    from parquet_bloomwriter.predicate.expression import Texts
    from parquet_bloomwriter.table_files.files import FileReplacement
    from parquet_bloomwriter.table_files.properties import AskedFilters

_SPECIAL = frozenset("%?#")
"""Characters that some readers interpret as parts of a URL."""

_UNKNOWN: Texts = ()
_NULL: Texts = (None,)


@dataclass(frozen=True, kw_only=True, eq=False)
class IcebergTable(Table):
    """An Iceberg table at one snapshot."""

    kind: ClassVar[str] = ICEBERG
    format: ClassVar[str] = "iceberg"
    partition_origin: ClassVar[str] = "the value in the manifest"
    keeps_notes: ClassVar[bool] = False

    snapshot: IcebergSnapshot

    @classmethod
    def open(cls, given: str, *, snapshot_id: int | None = None, branch: str | None = None) -> Self:
        """Open a table at a snapshot, by default the last one of the branch `main`.

        No manifest is read yet.

        Args:
            given: The table's name, iceberg://CATALOG/NAMESPACE.TABLE.
            snapshot_id: Id of the snapshot.
            branch: Name of the branch whose last snapshot is meant, if none is asked for by id.

        Raises:
            InvalidArgument: If there is no such table, snapshot or branch.
            TableProblem: If the catalog does not answer, or metadata cannot be read.
        """
        name = parse_name(given)
        table = load_table(name)
        with metadata_errors(str(name)):
            snapshot = state_of(str(name), table, snapshot_id=snapshot_id, branch=branch)
        return cls(path=snapshot.name, snapshot=snapshot)

    @classmethod
    def open_to_change(cls, given: str, *, branch: str | None = None) -> Self:
        """Read the last snapshot of a branch, to replace files.

        Raises:
            InvalidArgument: If there is no such table or branch, or pyiceberg is missing.
            UnsupportedTable: If its format version is one whose files must not be replaced.
            TableProblem: If its metadata cannot be read.
        """
        snapshot = read_snapshot(given, branch=branch)
        check_replaceable(snapshot)
        use_settings_of(snapshot)
        return cls(path=snapshot.name, snapshot=snapshot)

    @classmethod
    def of_scan(cls, scan: DataScan) -> Self:
        """Return the table that a scan of pyiceberg reads, with all its columns."""
        snapshot = state_of_scan(scan)
        return cls(path=snapshot.name, snapshot=snapshot)

    @property
    def metadata(self) -> TableMetadata:
        """The metadata of pyiceberg."""
        return self.snapshot.table.metadata

    @property
    def io(self) -> FileIO:
        """Opens the table's files."""
        return self.snapshot.table.io

    @property
    def schema(self) -> Schema:
        """The schema of the snapshot."""
        return self.snapshot.schema

    @property
    def snapshot_id(self) -> int | None:
        """Id of the snapshot; None for a table without snapshots."""
        return self.snapshot.snapshot_id

    @property
    def label(self) -> str:
        """The snapshot in words."""
        if self.snapshot_id is None:
            return f"{self.kind} without snapshots"
        branch = self.snapshot.branch
        branch = "" if branch in (None, MAIN) else f", the last of branch {branch}"
        return f"snapshot {self.snapshot_id} of {self.kind}{branch}"

    @property
    def facts(self) -> dict[str, object]:
        """The snapshot as a JSON object."""
        return {"snapshot_id": self.snapshot_id, "branch": self.snapshot.branch}

    @property
    def version(self) -> int:
        """Id of the snapshot; 0 for a table without snapshots."""
        return self.snapshot_id or 0

    @property
    def uuid(self) -> str:
        """UUID of the table, in its metadata."""
        return self.snapshot.uuid

    @property
    def columns(self) -> IcebergColumns:
        """The table's leaf columns, with the leaf columns of files that store them."""
        return self.snapshot.columns

    @cached_property
    def plain_fields(self) -> Mapping[str, Sequence[NestedField]]:
        """The fields that have one value in each row, by dotted name."""
        return plain_fields(self.schema)

    @cached_property
    def part_fields(self) -> Mapping[str, Sequence[tuple[str, Part, NestedField]]]:
        """The parts of lists and maps, by the dotted name of their leaf."""
        return part_fields(self.schema)

    @cached_property
    def files(self) -> tuple[IcebergFile, ...]:
        """The data files, in the order of the manifests.

        Raises:
            TableProblem: If a manifest cannot be read.
            UnsupportedTable: If one is encrypted.
        """
        with metadata_errors(self.path):
            return tuple(map(self.file, self.data_files))

    @cached_property
    def data_files(self) -> Sequence[DataFile]:
        """The data files as the manifests describe them; raises the errors of `files`."""
        with metadata_errors(self.path):
            entries = chain.from_iterable(self.snapshot.entries.values())
            return [entry.data_file for entry in entries]

    def stored_files(self) -> list[StoredFile]:
        """Return the data files as the manifests describe them: see `Table`."""
        return list(map(stored_file, self.data_files))

    def file(self, one: DataFile) -> IcebergFile:
        """Return a data file that opens with the table's own settings of stores."""
        path, filesystem = place_of(one.file_path, self.io)
        name = path if filesystem is None else without_secrets(one.file_path)
        return IcebergFile(path=path, filesystem=filesystem, name=name, table=self, data_file=one)

    @property
    def location(self) -> str:
        """URL or path of the table's folder, in its metadata."""
        return self.snapshot.table.location()

    @cached_property
    def entries(self) -> Sequence[FileEntry]:
        """The data files for verbs that replace them; format version 1 has the newest first."""
        return [
            FileEntry(
                key=path,
                path=path,
                size=entry.size,
                partition=(entry.spec_id, entry.partition),
                age_rank=entry.data_sequence_number or -position,
                why_kept=entry.why_kept,
            )
            for position, (path, entry) in enumerate(self.snapshot.files.items())
        ]

    def asked(self) -> AskedFilters:
        """Return the filters that the table's properties ask for: see `Table`."""
        from parquet_bloomwriter.table_files.properties import asked_by_iceberg

        return asked_by_iceberg(self.snapshot)

    def ask(self, columns: Sequence[str], fpp: float | None) -> int | None:
        """Set the properties that ask for filters: see `Table`. They belong to no snapshot."""
        from parquet_bloomwriter.iceberg.commit import set_properties
        from parquet_bloomwriter.table_files.properties import iceberg_properties

        wanted = iceberg_properties(columns, fpp)
        if wanted.items() <= self.snapshot.properties.items():
            return None
        return set_properties(self.snapshot, wanted).snapshot_id or 0

    def has(self, entry: FileEntry) -> bool:
        """Return whether the table still has an earlier file: see `Table`."""
        found = self.snapshot.files.get(entry.path)
        return found is not None and found.why_kept is None

    def locate(self, path: str) -> str:
        """Return the absolute path or URL of a file in a manifest: see `Table`."""
        return locate(path)

    def shown(self, path: str) -> str:
        """Return a path in a manifest as the disk or store has it: see `Table`."""
        with suppress(InvalidArgument):
            return locate(path)
        return path

    def new_path(self, entry: FileEntry) -> str:
        """Return an unused path for a new version of a file, beside the old file: see `Table`."""
        folder, slash, name = entry.path.rpartition("/")
        return f"{folder}{slash}{new_name(name if _SPECIAL.isdisjoint(name) else '')}"

    def remove(self, path: str) -> None:
        """Remove a new file that no commit was tried for: see `Table`."""
        place = locate(path)
        if "://" not in place:
            os.unlink(place)  # noqa: PTH108  paths are strings
            return
        with metadata_errors(self.path):
            self.io.delete(path)

    def newest(self) -> IcebergTable:
        """Return the table at its branch's last snapshot: see `Table`.

        Files stay valid under another schema: columns have ids.
        """
        before = self.snapshot
        table = reload(before)
        location = table.metadata_location
        if location and location == before.table.metadata_location:
            after = copy.copy(before)  # with the manifests that were read
            after.__dict__["table"] = table  # keys may have been renewed
        else:
            after = read_again(before, table)
            check_replaceable(after)
        use_settings_of(after)
        return IcebergTable(path=self.path, snapshot=after)

    def commit(
        self, replacements: Sequence[FileReplacement], *, verb: str, columns: Sequence[str]
    ) -> TableCommit:
        """Replace data files by new files, in one commit: see `Table`."""
        from parquet_bloomwriter.iceberg.commit import COMMITTED as BY_CATALOG
        from parquet_bloomwriter.iceberg.commit import replace_files

        with ThreadPoolExecutor(FOOTERS_AT_ONCE, thread_name_prefix="bloomify") as pool:
            entries = list(pool.map(self._entry_replacement, replacements))
        parameters = {f"bloomify.{verb}": ", ".join(columns)}
        try:
            made = replace_files(self.snapshot, entries, parameters=parameters)
        except (KeyboardInterrupt, SystemExit) as error:
            late = error.__dict__.pop(BY_CATALOG, None)
            if late is not None:
                error.__dict__[COMMITTED] = self._after(late)
            raise
        return self._after(made)

    def _after(self, made: SnapshotCommit) -> TableCommit:
        return TableCommit(
            table=IcebergTable(path=self.path, snapshot=made.snapshot),
            version=made.snapshot_id,
            dropped={one.path: why for one, why in made.dropped},
        )

    def _entry_replacement(self, replacement: FileReplacement) -> EntryReplacement:
        from parquet_bloomwriter.iceberg.new_snapshot import EntryReplacement

        old = self.snapshot.files[replacement.old.path]
        offsets = None
        if old.data_file.split_offsets is not None:
            footer, _ = footer_of(locate(replacement.path))
            offsets = split_offsets(footer)
        return EntryReplacement(
            old=old, path=replacement.path, size=replacement.size, split_offsets=offsets
        )

    def fields_of(self, name: str) -> list[TableField]:
        """Return the fields that a dotted name means, if that is clear: see `Table`.

        The `.element` of a list may be left out.
        """
        fields = list(self.plain_fields.get(name, ()))
        for one in (name, f"{name}.element"):
            fields += [field for *_, field in self.part_fields.get(one, ())]
        clear = fields if len(fields) == 1 else []
        return [TableField(str(one.field_type), one.field_id) for one in clear]

    def check_names_in_files(self) -> None:
        """Do nothing: columns are found by their ids."""

    def why_unlike(self, footer: Footer, name: str, leaf: Leaf) -> str | None:
        """Return why stored values may equal other literals than the table's do: see `Table`."""
        parts = [one for several in self.part_leaves(footer).values() for one in several]
        if leaf not in parts and self.known_texts(name, leaf, footer) is not None:
            return f'its column "{name}" is stored as values that may equal others in the table'
        return None

    def known_texts(self, name: str, leaf: Leaf | None, footer: Footer) -> Texts | None:
        """Return the known values of a column, the same in all rows of a file: see `Table`.

        Files of which only some columns have ids are read by some engines by these, and by others
        by the name mapping: nothing is known of their columns.
        """
        several = self.plain_fields.get(name, ())
        if len(several) != 1:
            return _UNKNOWN
        (one,) = several
        nodes = list(nodes_below(column_tree(footer)))
        if _has_some_ids(nodes):
            return _UNKNOWN
        if leaf is None:
            is_null = not one.required and one.initial_default is None
            return _NULL if is_null and self._is_absent(one.field_id, nodes) else _UNKNOWN
        return None if is_kept(leaf, one.field_type) else _UNKNOWN

    def part_leaves(self, footer: Footer) -> dict[tuple[str, Part], list[Leaf]]:
        """Return the columns of a file that hold parts of lists and maps: see `Table`."""
        if _has_some_ids(list(nodes_below(column_tree(footer)))):
            return {}
        leaves = self.columns.in_file(footer)
        return {
            (several[0][0], several[0][1]): [leaves[name]]
            for name, several in self.part_fields.items()
            if len(several) == 1
            and name in leaves
            and is_kept(leaves[name], several[0][2].field_type)
        }

    def _is_absent(self, field_id: int, nodes: Sequence[ColumnNode]) -> bool:
        """Return whether a file certainly has no column that a field id could mean."""
        if any(node.field_id != ABSENT for node in nodes):
            return all(node.field_id != field_id for node in nodes)
        mapping = self.metadata.name_mapping()
        if mapping is None:
            return not nodes  # Engines differ in how they read files without ids.
        names = {one for mapped in _mapped(mapping.root, field_id) for one in mapped.names}
        return all(node.name not in names for node in nodes)

    def identities(self, spec_id: int) -> Mapping[str, tuple[int, NestedField]]:
        """Return the columns by whose identity a spec partitions: position in the spec, and field.

        Args:
            spec_id: Partition spec id of a data file.
        """
        if spec_id not in self._identities:
            spec = self.metadata.specs().get(spec_id)
            found = () if spec is None else identities(spec, self.plain_fields)
            self._identities[spec_id] = dict(found)
        return self._identities[spec_id]

    @cached_property
    def _identities(self) -> dict[int, Mapping[str, tuple[int, NestedField]]]:
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergFile(TableFile):
    """A data file of an Iceberg table."""

    table: IcebergTable = field(compare=False, repr=False)
    data_file: DataFile = field(compare=False, repr=False)

    def partition_texts(self, columns: Sequence[str]) -> dict[str, Texts]:
        """Return the possible values of partition columns in this file: see `TableFile`."""
        return {
            name: texts_of(self.data_file.partition, position, one.field_type)
            for name, (position, one) in self.table.identities(self.data_file.spec_id).items()
            if name in columns
        }


def stored_file(file: DataFile) -> StoredFile:
    """Return a data file in the form of all formats; an Iceberg table uses each path only once."""
    return StoredFile(locate(file.file_path), file.file_size_in_bytes, 0)


def split_offsets(footer: Footer) -> tuple[int, ...]:
    """Return the position of each row group's first page, bytes from the file's start."""
    starts = footer.chunks.value(ChunkField.DATA_PAGE_OFFSET).copy()
    dictionaries = footer.chunks.value(ChunkField.DICTIONARY_PAGE_OFFSET)
    is_first = (dictionaries > 0) & (dictionaries < starts)
    starts[is_first] = dictionaries[is_first]
    return tuple(sorted(starts.min(axis=1).tolist())) if starts.size else ()


def _has_some_ids(nodes: Sequence[ColumnNode]) -> bool:
    """Return whether some columns of a file have field ids, and others have none."""
    return len({node.field_id != ABSENT for node in nodes if not is_repeated(node)}) > 1


def _mapped(fields: Iterable[MappedField], field_id: int) -> Iterator[MappedField]:
    """Yield the fields of a name mapping that have an id, at any level."""
    for one in fields:
        if one.field_id == field_id:
            yield one
        yield from _mapped(one.fields, field_id)
