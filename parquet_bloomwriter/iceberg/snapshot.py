"""The data files of an Iceberg table at one snapshot.

Files come in the order of pyiceberg's plan of a scan without a filter: by the manifest list, then
by each manifest. The manifest list and all manifests are read when files are first asked for
(`state_of`), or at once (`read_snapshot`, for writing). Delete files are opened later, to decide
whether a file may be replaced (`DataFileEntry.why_kept`).

Source: Iceberg specification, "Scan Planning", "Manifests", "Snapshot References".
"""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import (
    InvalidArgument,
    TableChanged,
    TableProblem,
    UnsupportedTable,
)
from parquet_bloomwriter.iceberg.catalog import load_table, metadata_errors
from parquet_bloomwriter.iceberg.deletes import PositionDeletes, partition_key
from parquet_bloomwriter.iceberg.names import parse_name
from parquet_bloomwriter.iceberg.schema import IcebergColumns
from parquet_bloomwriter.text import safe

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from pyiceberg.manifest import DataFile, ManifestEntry, ManifestFile
    from pyiceberg.schema import Schema
    from pyiceberg.table import DataScan, Table
    from pyiceberg.table.snapshots import Snapshot

MAIN = "main"
"""Name of the branch that is read if the caller names no branch."""

DATA, DELETES = 0, 1
"""Values of `content` in a manifest list: the manifest lists data files, or delete files."""

MANIFESTS_AT_ONCE = 16
"""Number of threads that read manifests: they mostly wait for stores."""

_LAST_REPLACEABLE = 2
"""The last format version of a table whose files may be replaced."""

_PARQUET = "PARQUET"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DataFileEntry:
    """A data file of a table, from an entry of a manifest."""

    path: str
    """Location of the file in the manifest: a path or a URL."""

    size: int
    """Size of the file, bytes."""

    num_rows: int
    """Number of stored rows, including deleted rows."""

    partition: Hashable
    """Partition values, in the order of the partition spec's fields, a tuple."""

    spec_id: int
    """Id of the partition spec."""

    data_sequence_number: int
    """Data sequence number: deletes of later numbers may apply to the file. 0 in tables of format
    version 1."""

    data_file: DataFile
    """The `DataFile` of pyiceberg."""

    is_repeated: bool = False
    """Whether the table has the same file several times."""

    deletes: PositionDeletes = field(repr=False)
    """The position deletes of the snapshot."""

    @property
    def why_kept(self) -> str | None:
        """Return why this file may not be replaced, or None. Delete files may be opened.

        Raises:
            TableProblem: If a manifest cannot be read. (Delete files that cannot be read are taken
                to name the file.)
        """
        if self.data_file.file_format.value != _PARQUET:
            return f"it is a file of {self.data_file.file_format.value}"
        if self.data_file.key_metadata is not None:
            return "it is encrypted"
        if self.is_repeated:
            return "the table has it several times"
        return self.deletes.why_named(self.data_file, self.data_sequence_number)


@dataclass(frozen=True, kw_only=True, eq=False)
class IcebergSnapshot:
    """An Iceberg table at one snapshot."""

    name: str
    """The table's name as a URL, iceberg://CATALOG/NAMESPACE.TABLE."""

    table: Table
    """The table of pyiceberg, as loaded when the snapshot was read."""

    snapshot: Snapshot | None
    """The snapshot of pyiceberg; None for a table, or a branch `main`, without snapshots."""

    branch: str | None
    """Name of the branch whose last snapshot this is; None if the snapshot was asked for by its
    id."""

    schema: Schema
    """The table's current schema for a branch; for a snapshot by its id, the schema of that
    snapshot."""

    @cached_property
    def columns(self) -> IcebergColumns:
        """The table's leaf columns, with the leaf columns of files that store them."""
        return IcebergColumns(self.schema, self.table.metadata.name_mapping())

    @cached_property
    def manifests(self) -> tuple[ManifestFile, ...]:
        """Manifests, in the order of the manifest list.

        Raises:
            UnsupportedTable: If one is encrypted.
            Whatever pyiceberg raises: If the list cannot be read. The same holds for `entries`.
        """
        if self.snapshot is None:
            return ()
        manifests = tuple(self.snapshot.manifests(self.table.io))
        if any(one.key_metadata for one in manifests):
            raise UnsupportedTable("the table's manifests are encrypted", path=self.name)
        return manifests

    @cached_property
    def entries(self) -> Mapping[str, list[ManifestEntry]]:
        """Manifest entries of data files by the manifest's path, without deleted entries."""
        return self._read_entries({})

    @cached_property
    def deletes(self) -> PositionDeletes:
        """Position deletes, which are not read yet."""
        return PositionDeletes(self.name, self.table.io, self._manifests_of(DELETES))

    @cached_property
    def files(self) -> Mapping[str, DataFileEntry]:
        """Data files by path, in the order of the plan."""
        return self._read_files({})

    @property
    def snapshot_id(self) -> int | None:
        """Id of the snapshot; None for a table without snapshots."""
        return None if self.snapshot is None else self.snapshot.snapshot_id

    @property
    def properties(self) -> Mapping[str, str]:
        """The table's properties."""
        return self.table.metadata.properties

    @property
    def uuid(self) -> str:
        """UUID of the table, which stays when the table is renamed."""
        return str(self.table.metadata.table_uuid)

    def read_with(self, known: IcebergSnapshot) -> None:
        """Read all manifests, except those that an earlier snapshot has read."""
        earlier = known.deletes
        of_deletes = self._manifests_of(DELETES)
        if not earlier.are_known_of(of_deletes):
            io = self.table.io
            earlier = PositionDeletes(self.name, io, of_deletes, known=earlier)
        self.__dict__["deletes"] = earlier
        self.__dict__["entries"] = self._read_entries(known.entries)
        known_files = known.files if earlier is known.deletes else {}
        self.__dict__["files"] = self._read_files(known_files)

    def _manifests_of(self, content: int) -> list[ManifestFile]:
        return [one for one in self.manifests if int(one.content) == content]

    def _read_entries(
        self, known: Mapping[str, list[ManifestEntry]]
    ) -> dict[str, list[ManifestEntry]]:
        io = self.table.io

        def read(manifest: ManifestFile) -> list[ManifestEntry]:
            found = known.get(manifest.manifest_path)
            return manifest.fetch_manifest_entry(io) if found is None else found

        of_data = self._manifests_of(DATA)
        with ThreadPoolExecutor(MANIFESTS_AT_ONCE, thread_name_prefix="manifests") as pool:
            paths = [one.manifest_path for one in of_data]
            return dict(zip(paths, pool.map(read, of_data), strict=True))

    def _read_files(self, known: Mapping[str, DataFileEntry]) -> dict[str, DataFileEntry]:
        """Return data files by path; take those of unchanged entries from `known`."""
        files: dict[str, DataFileEntry] = {}
        for entry in chain.from_iterable(self.entries.values()):
            data_file = entry.data_file
            path = data_file.file_path
            before = known.get(path)
            if before is not None and before.data_file is data_file and path not in files:
                files[path] = before
                continue
            if entry.sequence_number is None:
                problem = f'a manifest gives "{safe(path)}" no sequence number'
                raise TableProblem(problem, path=self.name)
            files[path] = DataFileEntry(
                path=path,
                size=data_file.file_size_in_bytes,
                num_rows=data_file.record_count,
                partition=partition_key(data_file),
                spec_id=data_file.spec_id,
                data_sequence_number=entry.sequence_number,
                data_file=data_file,
                is_repeated=path in files,
                deletes=self.deletes,
            )
        return files


def read_snapshot(
    given: str, *, snapshot_id: int | None = None, branch: str | None = None
) -> IcebergSnapshot:
    """Read a table at a snapshot, by default the last one of the branch `main`.

    Args:
        given: The table's name, iceberg://CATALOG/NAMESPACE.TABLE.
        snapshot_id: Id of the snapshot.
        branch: Name of the branch whose last snapshot is meant.

    Raises:
        InvalidArgument: If there is no such table, snapshot or branch; if both are given; if
            pyiceberg is missing.
        UnsupportedTable: If its manifests are encrypted.
        TableProblem: If the catalog does not answer, or metadata cannot be read.
    """
    name = parse_name(given)
    if snapshot_id is not None and branch is not None:
        raise InvalidArgument("a snapshot and a branch are given: one of them is enough")
    return snapshot_of(str(name), load_table(name), snapshot_id=snapshot_id, branch=branch)


def snapshot_of(
    name: str,
    table: Table,
    *,
    snapshot_id: int | None = None,
    branch: str | None = None,
    known: IcebergSnapshot | None = None,
) -> IcebergSnapshot:
    """Read a snapshot of a table that is already loaded, as `read_snapshot` does.

    Args:
        name: The table's name as a URL.
        table: The table.
        snapshot_id: Id of the snapshot.
        branch: Name of the branch whose last snapshot is meant.
        known: An earlier snapshot of the table: manifests, which never change, are not read again.

    Raises:
        InvalidArgument, UnsupportedTable, TableProblem: As `read_snapshot`.
    """
    with metadata_errors(name):
        found = state_of(name, table, snapshot_id=snapshot_id, branch=branch)
        if known is not None:
            found.read_with(known)
        _ = found.files
        return found


def reload(snapshot: IcebergSnapshot) -> Table:
    """Load the table of a snapshot as its catalog has it now.

    Raises:
        TableChanged: If the catalog has no such table any more, or another one has its name.
        TableProblem: If the catalog does not answer.
    """
    try:
        table = load_table(parse_name(snapshot.name))
    except InvalidArgument as error:
        raise TableChanged(error.problem, path=snapshot.name) from error
    if str(table.metadata.table_uuid) != snapshot.uuid:
        raise TableChanged("another table has this name by now", path=snapshot.name)
    return table


def read_again(known: IcebergSnapshot, table: Table) -> IcebergSnapshot:
    """Read the branch of an earlier snapshot again, from a table that was loaded again.

    Raises:
        TableChanged: If the branch is gone.
        UnsupportedTable, TableProblem: As `read_snapshot`.
    """
    try:
        return snapshot_of(known.name, table, branch=known.branch, known=known)
    except InvalidArgument as error:
        raise TableChanged(error.problem, path=known.name) from error


def state_of(
    name: str, table: Table, *, snapshot_id: int | None, branch: str | None
) -> IcebergSnapshot:
    """Return a snapshot by its id, or the last one of a branch. No manifest is read yet.

    Args:
        name: The table's name as a URL.
        table: The table.
        snapshot_id: Id of the snapshot.
        branch: Name of the branch; None for `main`, if no snapshot is asked for by its id.

    Raises:
        InvalidArgument: If there is no such snapshot or branch.
    """
    schema = table.schema()
    if snapshot_id is None:
        branch = MAIN if branch is None else branch
        snapshot = head_of(name, table, branch)
    else:
        snapshot = _by_id(name, table, snapshot_id)
        if snapshot.schema_id is not None:
            schema = table.schemas().get(snapshot.schema_id, schema)
    return IcebergSnapshot(name=name, table=table, snapshot=snapshot, branch=branch, schema=schema)


def state_of_scan(scan: DataScan) -> IcebergSnapshot:
    """Return the snapshot that a scan of pyiceberg reads, with all columns of its schema."""
    from pyiceberg.catalog.noop import NoopCatalog
    from pyiceberg.table import Table

    identifier, metadata = scan.table_identifier, scan.table_metadata
    number = scan.snapshot_id
    return IcebergSnapshot(
        name=metadata.location if identifier is None else ".".join(identifier),
        table=Table(identifier or (), metadata, "", scan.io, NoopCatalog("scan")),
        snapshot=None if number is None else metadata.snapshot_by_id(number),
        branch=None,
        schema=scan.update(selected_fields=("*",)).projection(),
    )


def head_of(name: str, table: Table, branch: str) -> Snapshot | None:
    """Return the last snapshot of a branch; None if `main` has none yet.

    Raises:
        InvalidArgument: If there is no branch of that name.
    """
    from pyiceberg.table.refs import SnapshotRefType

    ref = table.metadata.refs.get(branch)
    if ref is None:
        if branch == MAIN:
            return table.current_snapshot()
        branches = [
            one
            for one, there in table.metadata.refs.items()
            if there.snapshot_ref_type == SnapshotRefType.BRANCH
        ]
        raise InvalidArgument(
            f'there is no branch "{safe(branch)}"; found: {safe(", ".join(branches)) or "none"}',
            path=name,
        )
    if ref.snapshot_ref_type != SnapshotRefType.BRANCH:
        raise InvalidArgument(
            f'"{safe(branch)}" is a tag and no branch',
            path=name,
            remedy=f"Read the tag by its snapshot, {ref.snapshot_id}.",
        )
    return _by_id(name, table, ref.snapshot_id)


def check_replaceable(snapshot: IcebergSnapshot) -> None:
    """Check that files of a table may be replaced by equal ones.

    Raises:
        UnsupportedTable: If not; says why.
    """
    version = snapshot.table.metadata.format_version
    if version > _LAST_REPLACEABLE:
        raise UnsupportedTable(
            f"the table is of format version {version}, which gives each row an id that stays with "
            "it: files can only be replaced together with the ids of their rows, and that is not "
            "supported yet",
            path=snapshot.name,
            remedy=f"Tables of format versions 1 and {_LAST_REPLACEABLE} can be changed.",
        )


def locate(path: str) -> str:
    """Return the absolute local path or the URL by which verbs open a data file.

    A location is taken literally: nothing in it is an escape, neither for pyiceberg nor for
    Iceberg's own FileIO.

    Args:
        path: As the manifest has it.

    Raises:
        InvalidArgument: If it is relative, or of another machine.
    """
    if not path or "\0" in path:
        raise InvalidArgument(f'"{safe(path)}" in a manifest is no location of a file')
    found = _SCHEME.match(path)
    if found is None:
        if not path.startswith("/"):
            raise InvalidArgument(
                f'"{safe(path)}" in a manifest is relative: nothing says to which folder',
                remedy="Register the table with absolute locations.",
            )
        return os.path.normpath(path)
    if found[0].lower() != "file:":
        return path
    rest = path[found.end() :]
    host = ""
    if rest.startswith("//"):
        host, slash, rest = rest[2:].partition("/")
        rest = slash + rest
    if host not in ("", "localhost") or not rest.startswith("/"):
        raise InvalidArgument(f'"{safe(path)}" in a manifest is no path of this machine')
    return "/" + os.path.normpath(rest).lstrip("/")


def _by_id(name: str, table: Table, snapshot_id: int) -> Snapshot:
    found = table.snapshot_by_id(snapshot_id)
    if found is None:
        raise InvalidArgument(
            f"there is no snapshot {snapshot_id}; it may have expired",
            path=name,
        )
    return found
