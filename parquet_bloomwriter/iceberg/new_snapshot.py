"""A new snapshot that puts new files in the place of equal old ones: its manifests and its list.

Deletes and sequence numbers: a data file has a data sequence number, by which deletes apply to it,
and a file sequence number, which says when it was added. A new file gets the data sequence number
of the old one, so that equality deletes go on to apply, and inherits the file sequence number of
the new snapshot. Position deletes name files by location: a file that they name is never replaced
(`DataFileEntry.why_kept`). Partition, spec, metrics, bounds and sort order are carried over.

Manifests without replaced files are kept unchanged. The other manifests are written anew: files
that stay are EXISTING with their snapshot ids and sequence numbers, replaced files are DELETED by
our snapshot. The new files are in one manifest for each partition spec.

A new snapshot takes effect when the catalog makes it the head of a branch (`iceberg.commit`).

Source: Iceberg specification, "Snapshots", "Manifests", "Sequence Number Inheritance"; Iceberg's
`BaseRewriteFiles` and `MergingSnapshotProducer`.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyiceberg.manifest import DataFile, ManifestEntry, ManifestFile, ManifestWriter
    from pyiceberg.partitioning import PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table
    from pyiceberg.table.refs import SnapshotRef
    from pyiceberg.table.snapshots import Snapshot, Summary
    from pyiceberg.table.update import TableRequirement, TableUpdate

    from parquet_bloomwriter.iceberg.snapshot import DataFileEntry, IcebergSnapshot

_PATH, _SIZE, _SPLIT_OFFSETS = 1, 5, 13
"""Positions of fields in pyiceberg's `DataFile`."""

_COMPRESSION = "write.avro.compression-codec"
_CODECS = {"gzip": "gzip", "zstd": "zstd", "uncompressed": "null"}
"""Compression codecs, as the property spells them, that pyiceberg can write anywhere, with
pyiceberg's names."""

_MOST_ENTRIES = 4_000
"""Maximum number of entries in a manifest that is written anew: about 1 MB, a third of a second."""

_PARTITION_LIMIT = "write.summary.partition-limit"


@dataclass(frozen=True, kw_only=True)
class EntryReplacement:
    """A data file of the table, and the new file that replaces it."""

    old: DataFileEntry
    path: str
    """Location of the new file, as manifests will store it."""

    size: int
    """Size of the new file, bytes."""

    split_offsets: tuple[int, ...] | None
    """Positions of the new file's row groups, bytes, ascending; None to leave them out."""


@dataclass
class NewSnapshot:
    """A new snapshot on top of another: its replacements, and the files written for it."""

    current: IcebergSnapshot
    kept: dict[str, EntryReplacement]
    """Replacements that hold, by the path of the old file."""

    dropped: list[tuple[EntryReplacement, str]]
    extra: Mapping[str, str]
    """Further properties of the snapshot's summary, besides the counts."""

    snapshot_id: int = field(init=False)
    parent_id: int = field(init=False)
    sequence_number: int = field(init=False)
    _id: str = field(init=False, default_factory=lambda: str(uuid.uuid4()))
    _written: list[str] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        parent = self.current.snapshot
        if parent is None:
            raise ValueError("a table without snapshots has no files to replace")
        self.snapshot_id = self.current.table.metadata.new_snapshot_id()
        self.parent_id = parent.snapshot_id
        self.sequence_number = self.current.table.metadata.next_sequence_number()

    def write(self, branch: str) -> tuple[tuple[TableUpdate, ...], tuple[TableRequirement, ...]]:
        """Write manifests and their list; return updates and requirements for the catalog."""
        from pyiceberg.table.update import (
            AddSnapshotUpdate,
            AssertRefSnapshotId,
            AssertTableUUID,
            SetSnapshotRefUpdate,
        )

        metadata = self.current.table.metadata
        ref = metadata.refs.get(branch)
        expected: dict[str, Any] = {
            "ref": branch,
            "snapshot_id": None if ref is None else self.parent_id,
        }
        return (
            (
                AddSnapshotUpdate(snapshot=self._written_snapshot()),
                SetSnapshotRefUpdate(**self._move(branch, ref)),
            ),
            (
                AssertTableUUID(uuid=metadata.table_uuid),
                AssertRefSnapshotId(**expected),
            ),
        )

    def _written_snapshot(self) -> Snapshot:
        """Write manifests and their list; return the snapshot."""
        from pyiceberg.manifest import write_manifest_list
        from pyiceberg.table.snapshots import Snapshot

        metadata = self.current.table.metadata
        manifests, num_created, num_replaced = self._manifests()
        location = self._new_location(f"snap-{self.snapshot_id}-0-{self._id}.avro")
        with write_manifest_list(
            format_version=metadata.format_version,
            output_file=self.current.table.io.new_output(location),
            snapshot_id=self.snapshot_id,
            parent_snapshot_id=self.parent_id,
            sequence_number=self.sequence_number,
            avro_compression=self._compression,
        ) as writer:
            writer.add_manifests(manifests)
        made: dict[str, Any] = {
            "snapshot_id": self.snapshot_id,
            "parent_snapshot_id": self.parent_id,
            "manifest_list": location,
            "sequence_number": self.sequence_number,
            "timestamp_ms": self._now_ms(),
            "summary": self._summary(
                {
                    "manifests-created": str(num_created),
                    "manifests-replaced": str(num_replaced),
                    "manifests-kept": str(len(manifests) - num_created),
                }
            ),
            "schema_id": metadata.current_schema_id,
        }
        return Snapshot(**made)

    def _move(self, branch: str, ref: SnapshotRef | None) -> dict[str, Any]:
        """Return the arguments of the update that moves a branch to the new snapshot."""
        from pyiceberg.table.refs import SnapshotRefType

        move: dict[str, Any] = {
            "ref_name": branch,
            "type": SnapshotRefType.BRANCH,
            "snapshot_id": self.snapshot_id,
        }
        if ref is not None:
            # A branch keeps its own settings of retention only if they are given again.
            move |= {
                "max_ref_age_ms": ref.max_ref_age_ms,
                "max_snapshot_age_ms": ref.max_snapshot_age_ms,
                "min_snapshots_to_keep": ref.min_snapshots_to_keep,
            }
        return move

    def remove(self) -> None:
        """Remove the manifests and the list that were written for a commit that was not made."""
        for location in self._written:
            try:
                self.current.table.io.delete(location)
            except Exception:  # noqa: BLE001  what is left over does no harm
                _log.debug("%s is left over", location, exc_info=True)
        self._written.clear()

    def _manifests(self) -> tuple[list[ManifestFile], int, int]:
        """Write manifests; return the new snapshot's, and the numbers of new and replaced ones."""
        added: dict[int, list[tuple[ManifestEntry, EntryReplacement]]] = defaultdict(list)
        made: list[ManifestFile] = []
        untouched: list[ManifestFile] = []
        num_replaced = 0
        for manifest in self.current.manifests:
            entries = self.current.entries.get(manifest.manifest_path, ())
            touched = [one for one in entries if one.data_file.file_path in self.kept]
            if not touched:
                # As in Iceberg, a manifest that has only deleted entries is left out.
                if manifest.has_added_files() or manifest.has_existing_files():
                    untouched.append(manifest)
                continue
            for entry in touched:
                replacement = self.kept[entry.data_file.file_path]
                added[manifest.partition_spec_id].append((entry, replacement))
            made += self._without_replaced(manifest.partition_spec_id, entries)
            num_replaced += 1
        new = [self._of_new_files(spec_id, pairs) for spec_id, pairs in added.items()]
        return [*new, *made, *untouched], len(new) + len(made), num_replaced

    def _without_replaced(
        self, spec_id: int, entries: Sequence[ManifestEntry]
    ) -> Iterator[ManifestFile]:
        """Write a manifest anew; split a long manifest, so that later commits rewrite less."""
        for start in range(0, len(entries), _MOST_ENTRIES):
            with self._writer(spec_id) as writer:
                for entry in entries[start : start + _MOST_ENTRIES]:
                    if entry.data_file.file_path in self.kept:
                        writer.delete(entry)
                    else:
                        writer.existing(entry)
            yield writer.to_manifest_file()

    def _of_new_files(
        self, spec_id: int, pairs: Sequence[tuple[ManifestEntry, EntryReplacement]]
    ) -> ManifestFile:
        from pyiceberg.manifest import ManifestEntry, ManifestEntryStatus

        with self._writer(spec_id) as writer:
            for entry, replacement in pairs:
                writer.add(
                    ManifestEntry.from_args(
                        status=ManifestEntryStatus.ADDED,
                        snapshot_id=self.snapshot_id,
                        sequence_number=entry.sequence_number,
                        data_file=_new_data_file(entry.data_file, replacement),
                    )
                )
        return writer.to_manifest_file()

    @contextmanager
    def _writer(self, spec_id: int) -> Iterator[ManifestWriter]:
        from pyiceberg.manifest import write_manifest

        metadata = self.current.table.metadata
        spec = metadata.specs()[spec_id]
        location = self._new_location(f"{self._id}-m{len(self._written)}.avro")
        with write_manifest(
            format_version=metadata.format_version,
            spec=spec,
            schema=_schema_for(self.current.table, spec),
            output_file=self.current.table.io.new_output(location),
            snapshot_id=self.snapshot_id,
            avro_compression=self._compression,
        ) as writer:
            yield writer

    def _new_location(self, name: str) -> str:
        location = self.current.table.location_provider().new_metadata_location(name)
        self._written.append(location)
        return location

    @property
    def _compression(self) -> Any:  # noqa: ANN401  one of pyiceberg's literals
        """Return the codec that the table asks for; gzip if that cannot be written here."""
        asked = self.current.properties.get(_COMPRESSION, "gzip")
        return _CODECS.get(asked.strip().lower(), "gzip")

    def _now_ms(self) -> int:
        """Return the time of the snapshot, which is later than that of all others."""
        metadata = self.current.table.metadata
        latest = max(one.timestamp_ms for one in metadata.snapshots)
        return max(time.time_ns() // 1_000_000, metadata.last_updated_ms, latest + 1)

    def _summary(self, numbers: Mapping[str, str]) -> Summary:
        """Return the summary of the new snapshot, with the totals of the branch."""
        from pyiceberg.table.snapshots import (
            Operation,
            SnapshotSummaryCollector,
            Summary,
            update_snapshot_summaries,
        )

        metadata = self.current.table.metadata
        schema, specs = metadata.schema(), metadata.specs()
        limit = int(metadata.properties.get(_PARTITION_LIMIT, "0"))
        collector = SnapshotSummaryCollector(partition_summary_limit=limit)
        for replacement in self.kept.values():
            old = replacement.old.data_file
            new = _new_data_file(old, replacement)
            spec = specs[old.spec_id]
            collector.remove_file(data_file=old, partition_spec=spec, schema=schema)
            collector.add_file(data_file=new, partition_spec=spec, schema=schema)
        fields = {**self.extra, **numbers, **collector.build()}
        previous = None if self.current.snapshot is None else self.current.snapshot.summary
        if previous is None:
            # If the last snapshot has no totals, neither has the new one.
            return Summary(operation=Operation.REPLACE, **fields)
        # pyiceberg adds totals up for the operations that it makes itself, from whole numbers.
        totals = {
            name: value
            for name, value in previous.additional_properties.items()
            if not name.startswith("total-") or value.isdecimal()
        }
        summary = update_snapshot_summaries(
            Summary(operation=Operation.OVERWRITE, **fields),
            {**totals, "operation": str(previous.operation)},
        )
        return Summary(operation=Operation.REPLACE, **summary.additional_properties)


_log = logging.getLogger(__name__)


def _new_data_file(old: DataFile, replacement: EntryReplacement) -> DataFile:
    """Return the `DataFile` of a new file: that of the old file with the changed fields."""
    new = type(old)(*(old[position] for position in range(len(old))))
    new[_PATH] = replacement.path
    new[_SIZE] = replacement.size
    offsets = replacement.split_offsets
    new[_SPLIT_OFFSETS] = None if offsets is None else list(offsets)
    new.spec_id = old.spec_id
    return new


def _schema_for(table: Table, spec: PartitionSpec) -> Schema:
    """Return a schema that has all source columns of a spec: they may be dropped by now."""
    sources = {one.source_id for one in spec.fields}
    newest = sorted(table.schemas().values(), key=lambda one: one.schema_id, reverse=True)
    for schema in (table.schema(), *newest):
        if sources <= set(schema.field_ids) | {one.field_id for one in schema.fields}:
            return schema
    return table.schema()
