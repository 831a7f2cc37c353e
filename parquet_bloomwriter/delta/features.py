"""The protocol features that are understood: for reading a table, and for replacing its files.

To replace a file means: the file is copied, with the same rows at the same positions and the same
columns; one entry removes the old file and adds the new file with all fields of the old `add`, and
declares that no data changed. No schema, property, checkpoint or row is written, and no file is
cleaned up. Whether a feature is supported depends on what it demands of such a commit. A feature
that is not in this list is refused.

Source: Delta protocol, "Valid Feature Names in Table Features", the sections named there, and the
protocol's RFCs for names that are not in it yet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from parquet_bloomwriter.errors import UnsupportedTable
from parquet_bloomwriter.text import clipped, safe

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from parquet_bloomwriter.delta.actions import Add, Metadata, Protocol


class Support(NamedTuple):
    """Whether a feature of the protocol is understood, and why."""

    reads: bool
    """Whether tables with this feature can be read; true for features of writers only."""

    replaces: bool
    """Whether files of tables with this feature can be replaced."""

    reason: str
    """The reason, one sentence."""


def _yes(reason: str) -> Support:
    return Support(reads=True, replaces=True, reason=reason)


def _reads(reason: str) -> Support:
    return Support(reads=True, replaces=False, reason=reason)


def _no(reason: str) -> Support:
    return Support(reads=False, replaces=False, reason=reason)


_VARIANT = _yes("The bytes of variants are copied; variant columns themselves get no filter.")
_WIDENING = _yes("Files keep the types that they have; a copy of a file is as narrow as the file.")
_CATALOG = "Its newest versions are known to its catalog only, and commits go through that."
_ICEBERG = "Each commit must leave Iceberg metadata that name the new files, which is not written."
_REDIRECT = "The table has moved: its log says where to."
_GEO = "How geometries are stored is not settled yet."

_MATERIALIZE = "materializePartitionColumns"
_WRITE_PARTITIONS = "delta.writePartitionColumnsToParquet"
"""Name of a property which, like the feature above it, has no effect on tables without
partitions."""

_SYMLINKS = "delta.compatibility.symlinkFormatManifest.enabled"

FEATURES: Mapping[str, Support] = {
    "adaptiveMetadata": _no("Its list of files is in manifests of Iceberg, not in the log."),
    "adaptiveMetadata-preview": _no("Its list of files is in manifests of Iceberg."),
    "allowColumnDefaults": _yes("No rows are written that would need values by default."),
    "appendOnly": _yes("Entries may rearrange data, if they say that no data changed."),
    "catalogManaged": _no(_CATALOG),
    "catalogOwned": _no(_CATALOG),
    "catalogOwned-preview": _no(_CATALOG),
    "changeDataFeed": _yes("Entries without changed data need no change files and show none."),
    "checkConstraints": _yes("The rows are the same, so they pass as before."),
    "checkpointProtection": _yes("No checkpoint is written, and nothing is cleaned up."),
    "clustering": _yes("The name of the clustering and the statistics are carried over."),
    "collations": _reads("Statistics may be ordered by collations that are not understood."),
    "collations-preview": _reads("Statistics may be ordered by collations not understood."),
    "columnMapping": _yes("Columns are found by their physical names or ids."),
    "columnMappingUsageTracking": _yes("No column is dropped or renamed."),
    "coordinatedCommits": _reads("Commits go through a coordinator."),
    "coordinatedCommits-preview": _reads("Commits go through a coordinator."),
    "deletionVectors": _yes("Rows keep their positions, and the vector is carried over."),
    "domainMetadata": _yes("Metadata of domains stay as they are."),
    "generatedColumns": _yes("The rows are the same, generated values among them."),
    "geospatial": _no(_GEO),
    "geospatial-dev": _no(_GEO),
    "geospatial-preview": _no(_GEO),
    "icebergCompatV1": _reads(_ICEBERG),
    "icebergCompatV2": _reads(_ICEBERG),
    "icebergCompatV3": _reads(_ICEBERG),
    "icebergWriterCompatV1": _reads(_ICEBERG),
    "icebergWriterCompatV2": _reads(_ICEBERG),
    "icebergWriterCompatV3": _reads(_ICEBERG),
    "identityColumns": _yes("No rows are written that would need new values."),
    "inCommitTimestamp": _yes("Each entry has a time later than that of the entry before."),
    "invariants": _yes("The rows are the same, so they pass as before."),
    "managedCommit": _reads("Commits go through an owner."),
    "managedCommit-dev": _reads("Commits go through an owner."),
    _MATERIALIZE: _reads(
        "New files must store partition columns, and a copy of an old file may lack them."
    ),
    "redirectReaderWriter": _no(_REDIRECT),
    "redirectReaderWriter-preview": _no(_REDIRECT),
    "redirectWriterOnly": _reads(_REDIRECT),
    "redirectWriterOnly-preview": _reads(_REDIRECT),
    "rowTracking": _yes("Rows keep their positions, and ids and versions are carried over."),
    "timestampNanos": _no("Timestamps in nanoseconds are not settled yet."),
    "timestampNtz": _yes("Timestamps without a time zone are stored as integers."),
    "typeWidening": _WIDENING,
    "typeWidening-preview": _WIDENING,
    "v2Checkpoint": _yes("Checkpoints of both kinds are read, and none is written."),
    "vacuumProtocolCheck": _yes("Nothing is vacuumed."),
    "variantShredding": _VARIANT,
    "variantShredding-preview": _VARIANT,
    "variantType": _VARIANT,
    "variantType-dev": _VARIANT,
    "variantType-preview": _VARIANT,
}
"""Support of each feature, by the feature's name in tables."""

_LAST_READER, _LAST_WRITER = 3, 7
_NAMED_READER, _NAMED_WRITER = 3, 7
"""The protocol versions from which tables list their features by name."""

_BY_READER = {"columnMapping": 2}
_BY_WRITER = {
    "appendOnly": 2,
    "invariants": 2,
    "checkConstraints": 3,
    "changeDataFeed": 4,
    "generatedColumns": 4,
    "columnMapping": 5,
    "identityColumns": 6,
}
"""The features that versions imply, with the writer version from which each is implied ("Writer
Version Requirements")."""

_PROPERTIES = {
    "delta.enableIcebergCompatV1": _ICEBERG,
    "delta.enableIcebergCompatV2": _ICEBERG,
    "delta.enableIcebergCompatV3": _ICEBERG,
    "delta.enableIcebergWriterCompatV1": _ICEBERG,
    "delta.enableIcebergWriterCompatV3": _ICEBERG,
    "delta.universalFormat.enabledFormats": "Each commit must leave metadata of another format.",
    "delta.redirectReaderWriter-preview": _REDIRECT,
    "delta.redirectWriterOnly-preview": _REDIRECT,
    "delta.coordinatedCommits.commitCoordinator-preview": "Commits go through a coordinator.",
    _SYMLINKS: "Each commit must renew the manifests in _symlink_format_manifest, by which Athena, "
    "Presto and others read, and which are not written.",
    _WRITE_PARTITIONS: FEATURES[_MATERIALIZE].reason,
}
"""Names of properties that demand something of writers whatever the features are, with the demand;
a property that is not set, or "false", demands nothing."""

_REMEDIES = {
    _SYMLINKS: "Set it to false there, add or take out the filters, set it to true again, and run "
    "GENERATE symlink_format_manifest FOR TABLE.",
}
_WHERE = "Use the writer that the table belongs to; or drop the feature there."


def features_of(protocol: Protocol) -> frozenset[str]:
    """Return the names of all features that readers or writers must respect."""
    found = set(protocol.reader_features | protocol.writer_features)
    if protocol.reader_version < _NAMED_READER:
        found |= _implied(_BY_READER, protocol.reader_version)
    if protocol.writer_version < _NAMED_WRITER:
        found |= _implied(_BY_WRITER, protocol.writer_version)
    return frozenset(found)


def _implied(features: Mapping[str, int], version: int) -> set[str]:
    return {name for name, first in features.items() if first <= version}


def check_readable(protocol: Protocol) -> None:
    """Check that a table can be read.

    Raises:
        UnsupportedTable: If it has a version or a feature that is not understood; names it.
    """
    _check_versions("reader", protocol.reader_version, _LAST_READER)
    for name in sorted(protocol.reader_features):
        support = FEATURES.get(name)
        if support is None:
            raise _unknown(name)
        if not support.reads:
            raise _unsupported(name, support.reason, "cannot be read")


def check_replaceable(
    protocol: Protocol, metadata: Metadata, files: Collection[Add], root: str
) -> None:
    """Check that files of a table can be replaced by equal ones.

    Args:
        protocol: Protocol of the table.
        metadata: Metadata of the table.
        files: Active files of the table.
        root: Path or URL of the table, for errors.

    Raises:
        UnsupportedTable: If it has a version, a feature or a property for which that is not so, or
            is not known to be; names it.
    """
    check_readable(protocol)
    _check_versions("writer", protocol.writer_version, _LAST_WRITER)
    is_partitioned = bool(metadata.partition_columns)
    for name in sorted(features_of(protocol)):
        support = FEATURES.get(name)
        if support is None:
            raise _unknown(name)
        if not support.replaces and not (name == _MATERIALIZE and not is_partitioned):
            raise _unsupported(name, support.reason, "cannot be changed")
    properties = {name.lower(): value for name, value in metadata.properties.items()}
    for name, reason in _PROPERTIES.items():
        if name == _WRITE_PARTITIONS and not is_partitioned:
            continue
        if properties.get(name.lower(), "").strip().lower() not in ("", "false"):
            raise UnsupportedTable(
                f"the table cannot be changed, because of its property {name}: " + _clause(reason),
                path=root,
                remedy=_REMEDIES.get(name, _WHERE),
            )
    if "rowTracking" in protocol.writer_features:
        _check_row_ids(files, properties, root)
    _check_counts(files, root)


def _check_row_ids(files: Collection[Add], properties: Mapping[str, str], root: str) -> None:
    """Check that the table's files have the row ids that each committed `add` needs."""
    if properties.get("delta.rowtrackingsuspended", "").lower() == "true":
        return
    for add in files:
        if add.raw.get("baseRowId") is None or add.raw.get("defaultRowCommitVersion") is None:
            raise UnsupportedTable(
                "the table cannot be changed, because of its feature rowTracking: "
                f"the file {clipped(safe(add.path))} has no row ids yet, and must get new ones",
                path=root,
                remedy="Let Delta Lake assign them: set delta.enableRowTracking to true there.",
            )


def _check_counts(files: Collection[Add], root: str) -> None:
    """Check that each file with a deletion vector has a known number of rows, as `add` needs it."""
    for add in files:
        if add.deletion_vector is not None and add.num_records is None:
            raise UnsupportedTable(
                "the table cannot be changed, because of its feature deletionVectors: "
                f"the log does not say how many rows the file {clipped(safe(add.path))} has",
                path=root,
                remedy="Remove the deleted rows with REORG TABLE ... APPLY (PURGE) first.",
            )


def _check_versions(who: str, version: int, last: int) -> None:
    if not 0 < version <= last:
        raise UnsupportedTable(
            f"the table asks for {who} version {version}; known are 1 to {last}",
            remedy="Look for a newer parquet-bloomwriter.",
        )


def _unknown(name: str) -> UnsupportedTable:
    return UnsupportedTable(
        f"the table has the feature {clipped(safe(name))}, which is not known",
        remedy="Look for a newer parquet-bloomwriter.",
    )


def _unsupported(name: str, reason: str, what: str) -> UnsupportedTable:
    return UnsupportedTable(
        f"the table {what}, because of its feature {name}: {_clause(reason)}", remedy=_WHERE
    )


def _clause(reason: str) -> str:
    """Return a sentence as a clause, to be part of another sentence."""
    return reason[0].lower() + reason[1:].removesuffix(".")
