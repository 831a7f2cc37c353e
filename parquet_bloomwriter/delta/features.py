"""Which features of the protocol are understood: to read a table, and to replace its files.

To replace a file means: an entry removes it, and adds another with the same rows in the same order,
the same statistics, partition and deletion vector. What is not in the table below is refused by its
name, as are features that ask more of a writer than that.

Source: Delta protocol, "Table Features", and the writer requirements of each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import UnsupportedTable

if TYPE_CHECKING:
    from parquet_bloomwriter.delta.actions import Protocol
    from parquet_bloomwriter.delta.snapshot import Snapshot

_NAMED_READER, _NAMED_WRITER = 3, 7
"""Versions of the protocol from which on features have names."""

_READABLE = frozenset(
    {
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        "typeWidening",
        "typeWidening-preview",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "variantType",
        "variantType-preview",
        "variantShredding",
        "variantShredding-preview",
    }
)

_REPLACEABLE = _READABLE | {
    "allowColumnDefaults",
    "appendOnly",
    "changeDataFeed",
    "checkConstraints",
    "clustering",
    "domainMetadata",
    "generatedColumns",
    "identityColumns",
    "inCommitTimestamp",
    "inCommitTimestamp-preview",
    "invariants",
    "materializePartitionColumns",
    "rowTracking",
}
"""Of these, none asks for anything but what an equal file has: rows are checked and counted when
they are written first, and rows of change data are not written where no data change."""

_WHY_NOT = {
    "catalogManaged": "a catalog, not the log, decides which commits count",
    "catalogOwned": "a catalog, not the log, decides which commits count",
    "catalogOwned-preview": "a catalog, not the log, decides which commits count",
    "coordinatedCommits-preview": "a coordinator, not the log, decides which commits count",
    "checkpointProtection": "older checkpoints must be kept in ways that are not understood here",
    **dict.fromkeys(
        ("icebergCompatV1", "icebergCompatV2", "icebergCompatV3"),
        "records of Iceberg would go on naming the old files",
    ),
}

_PROPERTIES = {
    "delta.universalFormat.enabledFormats": "records of another format would name the old files",
    **dict.fromkeys(
        (f"delta.enableIcebergCompatV{n}" for n in (1, 2, 3)),
        "records of Iceberg would go on naming the old files",
    ),
}
"""Properties that ask for more, if they are set to anything but false."""


def check_readable(protocol: Protocol, root: str) -> None:
    """Check that the files of a table can be found out.

    Raises:
        UnsupportedTable: If a feature would have to be understood; it is named.
    """
    if protocol.reader_version > _NAMED_READER:
        raise UnsupportedTable(
            f"the table needs version {protocol.reader_version} of Delta's reader protocol",
            path=root,
        )
    unknown = sorted(protocol.reader_features - _READABLE)
    if unknown:
        raise _refused(unknown[0], root, "read")


def check_replaceable(snapshot: Snapshot) -> None:
    """Check that files of a table can be replaced by equal ones.

    Raises:
        UnsupportedTable: If a feature or a property asks for more than that; it is named.
    """
    protocol, root = snapshot.protocol, snapshot.place.root
    if protocol.writer_version > _NAMED_WRITER:
        raise UnsupportedTable(
            f"the table needs version {protocol.writer_version} of Delta's writer protocol",
            path=root,
        )
    unknown = sorted((protocol.writer_features | protocol.reader_features) - _REPLACEABLE)
    if unknown:
        raise _refused(unknown[0], root, "written to")
    for name, why in _PROPERTIES.items():
        if snapshot.metadata.properties.get(name, "false").strip().lower() not in {"", "false"}:
            raise UnsupportedTable(
                f"the table has the property {name}: {why}", path=root, remedy=_REMEDY
            )


_REMEDY = "Let the table's own writer write the filters."


def _refused(feature: str, root: str, done: str) -> UnsupportedTable:
    why = _WHY_NOT.get(feature, "this program does not know what it asks for")
    return UnsupportedTable(
        f"the table has the feature {feature} and is not {done}: {why}", path=root, remedy=_REMEDY
    )
