"""Writes what pyiceberg 0.12 only reads: delete files of Iceberg, and snapshots that add them."""

from __future__ import annotations

import json
import struct
import uuid
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc
from pyiceberg.avro.file import AvroOutputFile
from pyiceberg.manifest import (
    MANIFEST_LIST_FILE_SCHEMAS,
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    ManifestWriterV2,
    write_manifest_list,
)
from pyiceberg.schema import Schema
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    AssertRefSnapshotId,
    SetSnapshotRefUpdate,
)
from pyiceberg.typedef import Record
from pyiceberg.types import (
    IntegerType,
    ListType,
    LongType,
    NestedField,
    StringType,
    StructType,
)

from tests.support.delta_vectors import vector

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyiceberg.table import Table

PATH_ID, POSITION_ID = 2147483546, 2147483545
"""Field ids that Iceberg reserves for the columns of position deletes."""

_POSITIONS = Schema(
    NestedField(PATH_ID, "file_path", StringType(), required=True),
    NestedField(POSITION_ID, "pos", LongType(), required=True),
)


def live_entries(table: Table, *content: DataFileContent) -> list[ManifestEntry]:
    """Return the entries of a table's data files, or of other files, as manifests have them now."""
    table.refresh()
    head = table.current_snapshot()
    return [
        entry
        for manifest in (head.manifests(table.io) if head else ())
        for entry in manifest.fetch_manifest_entry(table.io)
        if entry.data_file.content in (content or (DataFileContent.DATA,))
    ]


def delete_positions(
    table: Table,
    positions: Mapping[str, Sequence[int]],
    *,
    file_format: str = "PARQUET",
    is_damaged: bool = False,
    with_bounds: bool = True,
) -> str:
    """Delete rows of data files by a file of position deletes.

    Args:
        table: The table.
        positions: Of rows, from 0, by the locations of data files, all of one partition.
        file_format: PARQUET, AVRO or ORC.
        is_damaged: Whether the delete file cannot be read.
        with_bounds: Whether the manifest has bounds of the column file_path.

    Returns:
        The location of the delete file.
    """
    by_path = {entry.data_file.file_path: entry.data_file for entry in live_entries(table)}
    named = next(by_path[path] for path in positions if path in by_path)
    rows = [(path, position) for path, some in positions.items() for position in some]
    schema = pa.schema(
        [
            _field("file_path", pa.string(), PATH_ID),
            _field("pos", pa.int64(), POSITION_ID),
        ]
    )
    columns = [[path for path, _ in rows], [position for _, position in rows]]
    data = pa.table([pa.array(c) for c in columns], schema=schema)
    location, size = _write(table, data, file_format, is_damaged=is_damaged)
    bounds = (min(positions).encode(), max(positions).encode())
    file = _delete_file(
        content=DataFileContent.POSITION_DELETES,
        file_path=location,
        file_format=FileFormat[file_format],
        file_size_in_bytes=size,
        record_count=len(rows),
        partition=named.partition,
        lower_bounds={PATH_ID: bounds[0]} if with_bounds else None,
        upper_bounds={PATH_ID: bounds[1]} if with_bounds else None,
    )
    _add(table, [file], named.spec_id)
    return location


def delete_equal(
    table: Table, values: Mapping[str, Sequence[Any]], *, partition: Record | None = None
) -> str:
    """Delete all older rows of a partition that have these values, by an equality delete file.

    Args:
        table: The table.
        values: By names of columns; those of one place belong together.
        partition: The partition; none in a table without partitions.

    Returns:
        The location of the delete file.
    """
    table.refresh()
    schema = table.schema()
    types = schema.as_arrow()
    ids = {name: schema.find_field(name).field_id for name in values}
    fields = [_field(name, types.field(name).type, number) for name, number in ids.items()]
    data = pa.table(dict(values), schema=pa.schema(fields))
    location, size = _write(table, data)
    file = _delete_file(
        content=DataFileContent.EQUALITY_DELETES,
        file_path=location,
        file_size_in_bytes=size,
        record_count=data.num_rows,
        partition=partition or Record(),
        equality_ids=list(ids.values()),
    )
    _add(table, [file], table.spec().spec_id)
    return location


def delete_by_vectors(table: Table, positions: Mapping[str, Sequence[int]]) -> str:
    """Make format version 3 of a table of version 2, and delete rows by deletion vectors.

    Args:
        table: The table, in a catalog of SQLite; nobody else writes to it.
        positions: Of rows, from 0, by the locations of data files.

    Returns:
        The location of the Puffin file.
    """
    by_path = {entry.data_file.file_path: entry.data_file for entry in live_entries(table)}
    _upgrade(table)
    vectors = {path: _blob(some) for path, some in positions.items()}
    data, offsets = _puffin(vectors)
    location = f"{table.location()}/data/{uuid.uuid4()}.puffin"
    with table.io.new_output(location).create() as stream:
        stream.write(data)
    files = [
        _delete_file(
            format_version=3,
            content=DataFileContent.POSITION_DELETES,
            file_path=location,
            file_format=FileFormat.PUFFIN,
            file_size_in_bytes=len(data),
            record_count=len(positions[path]),
            partition=by_path[path].partition,
            referenced_data_file=path,
            content_offset=offsets[path],
            content_size_in_bytes=len(vectors[path]),
        )
        for path in positions
    ]
    _add(table, files, by_path[next(iter(positions))].spec_id)
    return location


def _field(name: str, type_: pa.DataType, number: int) -> pa.Field:
    metadata = {"PARQUET:field_id": str(number)}
    return pa.field(name, type_, nullable=False, metadata=metadata)


def _write(
    table: Table, data: pa.Table, file_format: str = "PARQUET", *, is_damaged: bool = False
) -> tuple[str, int]:
    """Write a file to the table's folder of data; return its location and size."""
    location = f"{table.location()}/data/{uuid.uuid4()}-deletes.{file_format.lower()}"
    output = table.io.new_output(location)
    if file_format == "AVRO":
        with AvroOutputFile[Record](output, _POSITIONS, "deletes") as file:
            file.write_block([Record(*row.values()) for row in data.to_pylist()])
        return location, len(output)
    with output.create() as stream:
        if is_damaged:
            stream.write(b"no delete file")
        else:
            (pq if file_format == "PARQUET" else orc).write_table(data, stream)
    return location, len(output)


def _delete_file(*, format_version: Any = 2, **facts: Any) -> DataFile:  # noqa: ANN401
    return DataFile.from_args(format_version, **{"file_format": FileFormat.PARQUET} | facts)


class _DeleteManifest(ManifestWriterV2):
    """A manifest of delete files."""

    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}

    def _with_partition(self, format_version: Any) -> Schema:  # noqa: ANN401  pyiceberg's literal
        """Return the schema of entries, with whole numbers of 32 bits as equality ids.

        pyiceberg 0.12 writes 64, which Iceberg's own implementation cannot read.
        """

        def with_ids(one: NestedField) -> NestedField:
            kind = one.field_type
            if one.name == "equality_ids" and isinstance(kind, ListType):
                kind = ListType(kind.element_id, IntegerType(), kind.element_required)
            elif one.name == "data_file" and isinstance(kind, StructType):
                kind = StructType(*map(with_ids, kind.fields))
            return one.model_copy(update={"field_type": kind})

        return Schema(*map(with_ids, super()._with_partition(format_version).fields))


class _DeleteManifestV3(_DeleteManifest):
    """A manifest of deletion vectors."""

    @property
    def version(self) -> Any:  # noqa: ANN401  pyiceberg's literal
        return 3

    def new_writer(self) -> AvroOutputFile[ManifestEntry]:
        return AvroOutputFile[ManifestEntry](
            output_file=self._output_file,
            file_schema=self._with_partition(3),
            schema_name="manifest_entry",
            metadata=self._meta,
        )


def _add(table: Table, files: Sequence[DataFile], spec_id: int) -> None:
    """Commit a snapshot that adds delete files of one partition spec."""
    table.refresh()
    metadata = table.metadata
    head = table.current_snapshot()
    assert head is not None
    snapshot_id, number = metadata.new_snapshot_id(), metadata.next_sequence_number()
    folder = f"{table.location()}/metadata"
    writer_of = _DeleteManifestV3 if metadata.format_version == 3 else _DeleteManifest
    with writer_of(
        metadata.specs()[spec_id],
        metadata.schema(),
        table.io.new_output(f"{folder}/{uuid.uuid4()}-deletes.avro"),
        snapshot_id,
        "deflate",
    ) as writer:
        for file in files:
            writer.add_entry(
                ManifestEntry.from_args(
                    metadata.format_version,
                    status=ManifestEntryStatus.ADDED,
                    snapshot_id=snapshot_id,
                    data_file=file,
                )
            )
    manifests = [writer.to_manifest_file(), *head.manifests(table.io)]
    location = f"{folder}/snap-{snapshot_id}-{uuid.uuid4()}.avro"
    with _manifest_list(table, location, snapshot_id, number) as listed:
        listed.add_manifests(manifests)
    rows = sum(file.record_count for file in files)
    made: dict[str, Any] = {
        "snapshot_id": snapshot_id,
        "parent_snapshot_id": head.snapshot_id,
        "sequence_number": number,
        "manifest_list": location,
        "summary": Summary(Operation.DELETE, **_totals(head.summary, len(files), rows)),
        "schema_id": metadata.current_schema_id,
        "timestamp_ms": max(metadata.last_updated_ms, head.timestamp_ms) + 1,
    }
    if metadata.format_version == 3:
        _register_with(table, Snapshot(**made | {"first_row_id": 0, "added_rows": 0}))
        return
    expected: dict[str, Any] = {"ref": MAIN_BRANCH, "snapshot_id": head.snapshot_id}
    move: dict[str, Any] = {
        "ref_name": MAIN_BRANCH,
        "type": SnapshotRefType.BRANCH,
        "snapshot_id": snapshot_id,
    }
    table.catalog.commit_table(
        table,
        (AssertRefSnapshotId(**expected),),
        (AddSnapshotUpdate(snapshot=Snapshot(**made)), SetSnapshotRefUpdate(**move)),
    )
    table.refresh()


def _totals(summary: Summary | None, num_files: int, rows: int) -> dict[str, str]:
    before = dict(summary.additional_properties) if summary else {}
    totals = {key: value for key, value in before.items() if key.startswith("total-")}
    totals["total-delete-files"] = str(int(totals.get("total-delete-files", 0)) + num_files)
    return {**totals, "added-delete-files": str(num_files), "added-position-deletes": str(rows)}


@contextmanager
def _manifest_list(table: Table, location: str, snapshot_id: int, number: int) -> Iterator[Any]:
    head = table.current_snapshot()
    assert head is not None
    output = table.io.new_output(location)
    if table.metadata.format_version == 2:
        with write_manifest_list(
            2, output, snapshot_id, head.snapshot_id, number, "deflate"
        ) as writer:
            yield writer
        return
    meta = {
        "snapshot-id": str(snapshot_id),
        "parent-snapshot-id": str(head.snapshot_id),
        "sequence-number": str(number),
        "format-version": "3",
    }
    with AvroOutputFile[ManifestFile](
        output_file=output,
        file_schema=MANIFEST_LIST_FILE_SCHEMAS[3],
        schema_name="manifest_file",
        metadata=meta,
    ) as avro:
        yield _ListV3(avro, number)


class _ListV3:
    """Writes the entries of a manifest list of version 3, of a table that had version 2."""

    def __init__(self, avro: AvroOutputFile[ManifestFile], number: int) -> None:
        self._avro = avro
        self._number = number

    def add_manifests(self, manifests: Sequence[ManifestFile]) -> None:
        """Give each manifest its sequence numbers, and data the ids of their rows."""
        first_row_id, listed = 0, []
        for manifest in manifests:
            fields = [manifest[place] for place in range(15)]
            for place in (4, 5):
                fields[place] = self._number if fields[place] == -1 else fields[place]
            is_data = manifest.content == ManifestContent.DATA
            listed.append(ManifestFile(*fields, first_row_id if is_data else None))
            if is_data:
                first_row_id += (manifest.added_rows_count or 0) + (
                    manifest.existing_rows_count or 0
                )
        self._avro.write_block(listed)


def _upgrade(table: Table) -> None:
    """Give a table format version 3."""
    table.refresh()
    metadata = _as_json(table)
    metadata["format-version"] = 3
    metadata["next-row-id"] = sum(entry.data_file.record_count for entry in live_entries(table))
    _register(table, metadata)


def _register_with(table: Table, snapshot: Snapshot) -> None:
    """Commit a snapshot to a table of version 3, whose metadata pyiceberg cannot write."""
    metadata = _as_json(table)
    metadata["snapshots"].append(json.loads(snapshot.model_dump_json(by_alias=True)))
    metadata["refs"][MAIN_BRANCH]["snapshot-id"] = snapshot.snapshot_id
    metadata["current-snapshot-id"] = snapshot.snapshot_id
    metadata["last-sequence-number"] = snapshot.sequence_number
    metadata["last-updated-ms"] = snapshot.timestamp_ms
    moment = {"snapshot-id": snapshot.snapshot_id, "timestamp-ms": snapshot.timestamp_ms}
    metadata["snapshot-log"].append(moment)
    _register(table, metadata)


def _as_json(table: Table) -> dict[str, Any]:
    with table.io.new_input(table.metadata_location).open() as stream:
        found: dict[str, Any] = json.loads(stream.read())
    return found


def _register(table: Table, metadata: dict[str, Any]) -> None:
    """Write the metadata of a table anew, and register them under its name."""
    location = f"{table.location()}/metadata/{uuid.uuid4()}.metadata.json"
    with table.io.new_output(location).create() as stream:
        stream.write(json.dumps(metadata).encode())
    name = table.name()
    table.catalog.drop_table(name)
    table.catalog.register_table(name, location)
    table.refresh()


def _blob(positions: Sequence[int]) -> bytes:
    """Return a blob `deletion-vector-v1`: length, vector and checksum."""
    inner = vector(positions)
    return struct.pack(">I", len(inner)) + inner + struct.pack(">I", zlib.crc32(inner))


def _puffin(blobs: Mapping[str, bytes]) -> tuple[bytes, dict[str, int]]:
    """Return a Puffin file of deletion vectors, and the offset of each."""
    data, offsets = b"PFA1", {}
    described = []
    for path, blob in blobs.items():
        offsets[path] = len(data)
        described.append(
            {
                "type": "deletion-vector-v1",
                "fields": [2147483545],
                "snapshot-id": -1,
                "sequence-number": -1,
                "offset": len(data),
                "length": len(blob),
                "properties": {
                    "referenced-data-file": path,
                    "cardinality": str(_cardinality(blob)),
                },
            }
        )
        data += blob
    footer = json.dumps({"blobs": described}).encode()
    end = struct.pack("<I", len(footer)) + bytes(4)
    return data + b"PFA1" + footer + end + b"PFA1", offsets


def _cardinality(blob: bytes) -> int:
    from pyiceberg.table.deletion_vector import DeletionVector

    bitmaps = DeletionVector._deserialize_bitmap(blob[8:-4])  # noqa: SLF001  its only reader
    return sum(map(len, bitmaps))
