"""Iceberg tables for tests of verbs that read: a catalog, evolved tables, delete files."""

from __future__ import annotations

import random
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog import load_catalog
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
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.table.update import AddSnapshotUpdate, SetSnapshotRefUpdate
from pyiceberg.typedef import Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pytest
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

CATALOG = "lake"


def new_catalog(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Catalog:
    """Return a catalog in a folder, with the namespace `shop`: iceberg://lake/shop.NAME."""
    settings = {
        "type": "sql",
        "uri": f"sqlite:///{folder}/catalog.db",
        "warehouse": f"file://{folder}/warehouse",
    }
    for name, value in settings.items():
        monkeypatch.setenv(f"PYICEBERG_CATALOG__{CATALOG.upper()}__{name.upper()}", value)
    catalog = load_catalog(CATALOG, **settings)
    catalog.create_namespace("shop")
    return catalog


def url_of(table: Table) -> str:
    """Return the name by which verbs open a table."""
    return f"iceberg://{CATALOG}/{'.'.join(table.name())}"


def paths_of(table: Table) -> list[str]:
    """Return the local paths of the last snapshot's data files, in the order of the plan."""
    return [
        file.removeprefix("file://") for file in table.inspect.data_files()["file_path"].to_pylist()
    ]


def append_stored(
    table: Table,
    rows: pa.Table,
    *,
    partition: Sequence[Any] = (),
    row_group_size: int | None = None,
) -> str:
    """Append a file as it is: with the field ids that `rows` has, or none. Returns its path."""
    path = f"{table.location().removeprefix('file://')}/data/{uuid.uuid4().hex}.parquet"
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, path, row_group_size=row_group_size, store_schema=False)
    file = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=f"file://{path}",
        file_format=FileFormat.PARQUET,
        partition=Record(*partition),
        record_count=rows.num_rows,
        file_size_in_bytes=1,
    )
    file.spec_id = table.spec().spec_id
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        append.append_data_file(file)
    return path


class _DeletesWriter(ManifestWriterV2):
    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


def delete_positions(table: Table, rows: Mapping[str, Iterable[int]]) -> None:
    """Delete rows of data files by a position delete file: local paths -> positions from 0."""
    places = [(f"file://{path}", row) for path, several in rows.items() for row in several]
    ids = {b"PARQUET:field_id": b"2147483546"}, {b"PARQUET:field_id": b"2147483545"}
    schema = pa.schema(
        [
            pa.field("file_path", pa.string(), nullable=False, metadata=ids[0]),
            pa.field("pos", pa.int64(), nullable=False, metadata=ids[1]),
        ]
    )
    data = pa.table([[path for path, _ in places], [row for _, row in places]], schema=schema)
    _commit_deletes(table, data, DataFileContent.POSITION_DELETES, None)


def delete_equal(table: Table, column: str, values: Sequence[Any]) -> None:
    """Delete rows by an equality delete file."""
    field = table.schema().find_field(column)
    stored = table.schema().as_arrow().field(column)
    data = pa.table([pa.array(values, stored.type)], schema=pa.schema([stored]))
    _commit_deletes(table, data, DataFileContent.EQUALITY_DELETES, [field.field_id])


def _commit_deletes(
    table: Table, data: pa.Table, content: DataFileContent, equality_ids: list[int] | None
) -> None:
    head = table.current_snapshot()
    assert head is not None
    metadata, name = table.metadata, uuid.uuid4().hex
    folder = table.location()
    path = f"{folder}/data/{name}-deletes.parquet"
    pq.write_table(data, path.removeprefix("file://"))
    file = DataFile.from_args(
        content=content,
        file_path=path,
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=data.num_rows,
        file_size_in_bytes=1,
        equality_ids=equality_ids,
    )
    file.spec_id = table.spec().spec_id
    snapshot_id = random.getrandbits(62)
    sequence_number = (head.sequence_number or 0) + 1
    output = table.io.new_output(f"{folder}/metadata/{name}-m0.avro")
    with _DeletesWriter(table.spec(), table.schema(), output, snapshot_id, "deflate") as writer:
        entry = ManifestEntry.from_args(
            status=ManifestEntryStatus.ADDED, snapshot_id=snapshot_id, data_file=file
        )
        writer.add_entry(entry)
    manifest_list = f"{folder}/metadata/snap-{snapshot_id}-{name}.avro"
    with write_manifest_list(
        2,
        table.io.new_output(manifest_list),
        snapshot_id,
        head.snapshot_id,
        sequence_number,
        "deflate",
    ) as writer_of_list:
        writer_of_list.add_manifests([*head.manifests(table.io), writer.to_manifest_file()])
    snapshot = Snapshot.model_validate(
        {
            "snapshot-id": snapshot_id,
            "parent-snapshot-id": head.snapshot_id,
            "sequence-number": sequence_number,
            "manifest-list": manifest_list,
            "summary": Summary(Operation.DELETE),
            "schema-id": metadata.current_schema_id,
        }
    )
    ref = SetSnapshotRefUpdate.model_validate(
        {"ref-name": "main", "type": SnapshotRefType.BRANCH, "snapshot-id": snapshot_id}
    )
    table.catalog.commit_table(table, (), (AddSnapshotUpdate(snapshot=snapshot), ref))
    table.refresh()
