"""Which tables are read, and files of which tables may be replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from parquet_bloomwriter.delta.actions import Protocol
from parquet_bloomwriter.delta.features import (
    FEATURES,
    check_readable,
    features_of,
)
from parquet_bloomwriter.delta.place import place_of
from parquet_bloomwriter.delta.snapshot import read_snapshot
from parquet_bloomwriter.errors import UnsupportedTable
from tests.support.delta_checkpoints import add, metadata, write_entry

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from parquet_bloomwriter.delta.snapshot import Snapshot

NAMED_BY_THE_PROTOCOL = [
    "appendOnly",
    "invariants",
    "checkConstraints",
    "generatedColumns",
    "allowColumnDefaults",
    "changeDataFeed",
    "columnMapping",
    "identityColumns",
    "deletionVectors",
    "rowTracking",
    "timestampNtz",
    "domainMetadata",
    "v2Checkpoint",
    "catalogManaged",
    "icebergCompatV1",
    "icebergCompatV2",
    "clustering",
    "vacuumProtocolCheck",
    "inCommitTimestamp",
    "variantType",
    "variantShredding",
    "typeWidening",
]
"""The appendix of the protocol, and its sections on variants and type widening."""

REFUSED_TO_READ = {name for name, support in FEATURES.items() if not support.reads}


def _named(*features: str, reader: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": list(reader),
        "writerFeatures": [*features, *reader],
    }


def _snapshot(
    root: Path,
    protocol: dict[str, Any],
    *adds: dict[str, Any],
    partitions: tuple[str, ...] = ("day",),
    properties: Mapping[str, str] | None = None,
) -> Snapshot:
    table = metadata(
        partitionColumns=list(partitions),
        configuration={f"delta.{name}": value for name, value in (properties or {}).items()},
    )
    files = [{"add": one} for one in adds]
    write_entry(root, 0, [{"protocol": protocol}, {"metaData": table}, *files])
    return read_snapshot(place_of(root))


def test_all_names_of_the_protocol_are_judged() -> None:
    assert set(NAMED_BY_THE_PROTOCOL) <= FEATURES.keys()
    for support in FEATURES.values():
        assert support.reads or not support.replaces
        assert support.reason.endswith(".")
        assert support.reason.count(". ") == 0


def test_refused_by_name_are_those() -> None:
    refused = {name for name in NAMED_BY_THE_PROTOCOL if not FEATURES[name].replaces}
    assert refused == {"catalogManaged", "icebergCompatV1", "icebergCompatV2"}
    assert {name for name in NAMED_BY_THE_PROTOCOL if name in REFUSED_TO_READ} == {"catalogManaged"}


@pytest.mark.parametrize("name", sorted(FEATURES))
def test_each_feature(tmp_path: Path, name: str) -> None:
    support = FEATURES[name]
    protocol = Protocol.of(_named(reader=(name,)))
    if not support.reads:
        with pytest.raises(UnsupportedTable, match=f"cannot be read.* {name}: "):
            check_readable(protocol)
        return
    check_readable(protocol)
    snapshot = _snapshot(tmp_path, _named(name))
    if support.replaces:
        snapshot.check_replaceable()
        return
    with pytest.raises(UnsupportedTable, match=f"cannot be changed.* {name}: "):
        snapshot.check_replaceable()


def test_features_that_are_not_known(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedTable, match="the feature neverHeardOf, which is not known"):
        check_readable(Protocol.of(_named(reader=("neverHeardOf",))))
    snapshot = _snapshot(tmp_path, _named("neverHeardOf"))
    with pytest.raises(UnsupportedTable, match="the feature neverHeardOf, which is not known"):
        snapshot.check_replaceable()


@pytest.mark.parametrize(("reader", "writer", "what"), [(4, 7, "reader version 4"), (0, 7, "0")])
def test_reader_versions(reader: int, writer: int, what: str) -> None:
    with pytest.raises(UnsupportedTable, match=what):
        check_readable(Protocol(reader, writer))


def test_writer_versions(tmp_path: Path) -> None:
    snapshot = _snapshot(tmp_path, {"minReaderVersion": 1, "minWriterVersion": 8})
    with pytest.raises(UnsupportedTable, match="writer version 8"):
        snapshot.check_replaceable()


@pytest.mark.parametrize("writer", range(1, 7))
def test_versions_without_names(tmp_path: Path, writer: int) -> None:
    protocol = {"minReaderVersion": 2 if writer >= 5 else 1, "minWriterVersion": writer}
    _snapshot(tmp_path, protocol).check_replaceable()
    implied = [
        set(),
        {"appendOnly", "invariants"},
        {"checkConstraints"},
        {"changeDataFeed", "generatedColumns"},
        {"columnMapping"},
        {"identityColumns"},
    ]
    assert features_of(Protocol.of(protocol)) == set().union(*implied[:writer])


def test_named_features_imply_no_others() -> None:
    assert features_of(Protocol(3, 7, frozenset(), frozenset({"appendOnly"}))) == {"appendOnly"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("enableIcebergCompatV1", "true"),
        ("enableIcebergCompatV2", "TRUE"),
        ("universalFormat.enabledFormats", "hudi"),
        ("writePartitionColumnsToParquet", "true"),
        ("compatibility.symlinkFormatManifest.enabled", "true"),
    ],
)
def test_properties(tmp_path: Path, name: str, value: str) -> None:
    protocol = {"minReaderVersion": 1, "minWriterVersion": 2}
    snapshot = _snapshot(tmp_path / "a", protocol, properties={name: value})
    with pytest.raises(UnsupportedTable, match=f"property delta.{name}: "):
        snapshot.check_replaceable()
    _snapshot(tmp_path / "b", protocol, properties={name: "false"}).check_replaceable()


def test_partition_columns_in_files_matter_to_partitioned_tables_only(tmp_path: Path) -> None:
    protocol = _named("materializePartitionColumns")
    properties = {"writePartitionColumnsToParquet": "true"}
    _snapshot(tmp_path, protocol, partitions=(), properties=properties).check_replaceable()


def test_row_ids(tmp_path: Path) -> None:
    protocol = _named("rowTracking", "domainMetadata")
    tracked = add("a", baseRowId=0, defaultRowCommitVersion=3)
    _snapshot(tmp_path / "a", protocol, tracked).check_replaceable()
    for number, file in enumerate((add("b"), add("b", baseRowId=3))):
        snapshot = _snapshot(tmp_path / f"b{number}", protocol, tracked, file)
        with pytest.raises(UnsupportedTable, match="rowTracking: the file b has no row ids yet"):
            snapshot.check_replaceable()
    suspended = _snapshot(
        tmp_path / "c", protocol, add("b"), properties={"rowTrackingSuspended": "true"}
    )
    suspended.check_replaceable()


@pytest.mark.parametrize("stats", [None, "{", "[]", "{}", '{"numRecords":null}'])
def test_deleted_rows_need_a_count(tmp_path: Path, stats: str | None) -> None:
    vector = {"storageType": "i", "pathOrInlineDv": "x", "sizeInBytes": 1, "cardinality": 1}
    protocol = _named(reader=("deletionVectors",))
    file = add("a", deletionVector=vector, stats=stats)
    with pytest.raises(UnsupportedTable, match="how many rows the file a has"):
        _snapshot(tmp_path / "a", protocol, file).check_replaceable()
    _snapshot(tmp_path / "b", protocol, add("a", stats=stats)).check_replaceable()
