"""Iceberg tables for tests: a catalog in a folder, rows, and deletes.

The catalog is pyiceberg's, on SQLite. pyiceberg writes no delete files: these are written by
pyarrow and pyiceberg's Avro writer, their manifests by pyiceberg's writer with another content.
"""

from __future__ import annotations

import shutil
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc
from pyiceberg.avro.file import AvroOutputFile
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestWriterV2,
    write_manifest_list,
)
from pyiceberg.schema import Schema
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.table.update import AddSnapshotUpdate, AssertRefSnapshotId, SetSnapshotRefUpdate
from pyiceberg.typedef import Record
from pyiceberg.types import LongType, NestedField, StringType

from parquet_bloomwriter.iceberg.new_snapshot import Replacement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyiceberg.table import Table

    from parquet_bloomwriter.iceberg.snapshot import DataFileEntry, IcebergSnapshot

CATALOG = "testing"

PATH_FIELD = NestedField(2147483546, "file_path", StringType(), required=True)
POSITION_FIELD = NestedField(2147483545, "pos", LongType(), required=True)


def configuration(folder: Path) -> dict[str, str]:
    """Return variables of the environment that name a catalog in a folder."""
    prefix = f"PYICEBERG_CATALOG__{CATALOG.upper()}__"
    return {
        f"{prefix}URI": f"sqlite:///{folder}/catalog.db",
        f"{prefix}WAREHOUSE": f"file://{folder}/warehouse",
    }


def name_of(table: Table) -> str:
    """Return the name of a table as verbs take it."""
    return f"iceberg://{CATALOG}/{'.'.join(table.name())}"


def rows(start: int, number: int = 10) -> pa.Table:
    """Return rows of columns id and name, with ids from `start` on."""
    ids = list(range(start, start + number))
    return pa.table({"id": ids, "name": [f"name {one}" for one in ids]})


def copies(
    snapshot: IcebergSnapshot, entries: Sequence[DataFileEntry] | None = None
) -> list[Replacement]:
    """Copy data files under new names, and return their replacements."""
    made = []
    for entry in snapshot.files.values() if entries is None else entries:
        path = entry.path.replace(".parquet", f"-{uuid.uuid4()}.parquet")
        shutil.copy(snapshot.locate(entry.path), snapshot.locate(path))
        made.append(Replacement(old=entry, path=path, size=entry.size, split_offsets=(4,)))
    return made


class _DeleteManifest(ManifestWriterV2):
    """Writes a manifest of delete files, which pyiceberg only reads."""

    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


def add_position_deletes(
    table: Table,
    positions: dict[str, list[int]],
    *,
    file_format: str = "PARQUET",
    damage: bool = False,
) -> None:
    """Commit one position delete file, for the partition of the first data file that it names.

    Args:
        table: Of format version 2.
        positions: Deleted rows by the data file's location.
        file_format: PARQUET, AVRO or ORC.
        damage: Whether the delete file cannot be read.
    """
    pairs = [(path, pos) for path, found in positions.items() for pos in found]
    location = f"{table.location()}/data/{uuid.uuid4()}-deletes.{file_format.lower()}"
    local = location.removeprefix("file://")
    if file_format == "AVRO":
        schema = Schema(PATH_FIELD, POSITION_FIELD)
        with AvroOutputFile[Record](table.io.new_output(location), schema, "deletes") as output:
            output.write_block([Record(*pair) for pair in pairs])
    else:
        schema = pa.schema(
            [
                pa.field("file_path", pa.string(), metadata={"PARQUET:field_id": "2147483546"}),
                pa.field("pos", pa.int64(), metadata={"PARQUET:field_id": "2147483545"}),
            ]
        )
        columns = {"file_path": [path for path, _ in pairs], "pos": [pos for _, pos in pairs]}
        (pq if file_format == "PARQUET" else orc).write_table(
            pa.table(columns, schema=schema), local
        )
    if damage:
        Path(local).write_bytes(b"no delete file")
    _commit_deletes(table, location, DataFileContent.POSITION_DELETES, file_format, pairs[0][0])


def add_equality_deletes(table: Table, ids: Sequence[int], like: str) -> None:
    """Commit one equality delete file of column id, for the partition of a data file."""
    location = f"{table.location()}/data/{uuid.uuid4()}-deletes.parquet"
    schema = pa.schema([pa.field("id", pa.int64(), metadata={"PARQUET:field_id": "1"})])
    pq.write_table(pa.table({"id": ids}, schema=schema), location.removeprefix("file://"))
    _commit_deletes(table, location, DataFileContent.EQUALITY_DELETES, "PARQUET", like)


def data_file(table: Table, path: str) -> DataFile:
    """Return pyiceberg's entry of a data file."""
    head = table.current_snapshot()
    assert head is not None
    return next(
        entry.data_file
        for manifest in head.manifests(table.io)
        for entry in manifest.fetch_manifest_entry(table.io)
        if entry.data_file.file_path == path
    )


def _commit_deletes(
    table: Table, location: str, content: DataFileContent, file_format: str, like: str
) -> None:
    table.refresh()
    head = table.current_snapshot()
    assert head is not None
    data = data_file(table, like)
    delete_file = DataFile.from_args(
        content=content,
        file_path=location,
        file_format=FileFormat[file_format],
        partition=data.partition,
        record_count=1,
        file_size_in_bytes=len(table.io.new_input(location)),
        equality_ids=[1] if content == DataFileContent.EQUALITY_DELETES else None,
    )
    delete_file.spec_id = data.spec_id
    snapshot_id = table.metadata.new_snapshot_id()
    provider = table.location_provider()
    with _DeleteManifest(
        table.specs()[data.spec_id],
        table.schema(),
        table.io.new_output(provider.new_metadata_location(f"{uuid.uuid4()}-m0.avro")),
        snapshot_id,
        "deflate",
    ) as writer:
        writer.add(
            ManifestEntry.from_args(
                status=ManifestEntryStatus.ADDED, snapshot_id=snapshot_id, data_file=delete_file
            )
        )
    listed = provider.new_metadata_location(f"snap-{snapshot_id}-0-{uuid.uuid4()}.avro")
    sequence_number = table.metadata.next_sequence_number()
    with write_manifest_list(
        format_version=2,
        output_file=table.io.new_output(listed),
        snapshot_id=snapshot_id,
        parent_snapshot_id=head.snapshot_id,
        sequence_number=sequence_number,
        avro_compression="deflate",
    ) as lists:
        lists.add_manifests([*head.manifests(table.io), writer.to_manifest_file()])
    fields: dict[str, Any] = {
        "snapshot_id": snapshot_id,
        "parent_snapshot_id": head.snapshot_id,
        "manifest_list": listed,
        "sequence_number": sequence_number,
        "timestamp_ms": max(int(time.time() * 1000), head.timestamp_ms + 1),
        "summary": Summary(operation=Operation.OVERWRITE),
        "schema_id": table.metadata.current_schema_id,
    }
    move: dict[str, Any] = {"ref_name": "main", "snapshot_id": snapshot_id}
    expected: dict[str, Any] = {"ref": "main", "snapshot_id": head.snapshot_id}
    table.catalog.commit_table(
        table,
        (AssertRefSnapshotId(**expected),),
        (
            AddSnapshotUpdate(snapshot=Snapshot(**fields)),
            SetSnapshotRefUpdate(type=SnapshotRefType.BRANCH, **move),
        ),
    )
    table.refresh()
