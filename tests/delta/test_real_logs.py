"""The logs of real tables, against a reader of JSON entries and against delta-rs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from parquet_bloomwriter.delta.place import place_of
from parquet_bloomwriter.delta.schema import DeltaColumns
from parquet_bloomwriter.delta.snapshot import read_snapshot
from parquet_bloomwriter.errors import UnsupportedTable
from parquet_bloomwriter.source import open_for_reading, read_footer
from tests.support import delta_log, delta_real

if TYPE_CHECKING:
    from parquet_bloomwriter.delta.actions import Add

UNREADABLE = {
    "catalog-owned-preview": "catalogManaged",
    "catalog_managed_0": "catalogManaged",
    "basic_catalog_managed/delta": "catalogManaged",
    "simple_table_features": "reader version 5",
}
"""Tables that are refused, by the end of their names, and what the refusal names. delta-rs refuses
the same."""

UNCHANGEABLE = {
    "partitioned_with_materialize_feature": "materializePartitionColumns",
    "table-with-icebegCompatV2Enabled": "icebergCompatV2",
}
"""Tables that are read, but whose files must not be replaced, and what the refusal names."""

STRUCTS_ONLY = "struct-stats-only"
"""Tables whose checkpoints have statistics as columns only."""

CONTRADICTORY = "parquet_row_group_skipping"
"""A table whose checkpoint was made of another table; the checkpoint counts."""

MISSING_IN_FILES = {
    "external-table-different-nullability": {"j", "k"},
    "parquet_row_group_skipping": {"missing"},
    "log-replay-latest-metadata-protocol": {"col2"},
}
"""Columns that were added after files were written."""

NAMES = delta_real.names()


def test_there_are_tables() -> None:
    if not NAMES:
        pytest.skip("BLOOMIFY_TABLES names no folder of tables")
    assert len(NAMES) == 106


def _named(table: str, among: dict[str, Any]) -> Any:  # noqa: ANN401  as in the mapping
    return next((found for end, found in among.items() if table.endswith(end)), None)


def _readable() -> list[str]:
    return [one for one in NAMES if _named(one, UNREADABLE) is None]


@pytest.mark.parametrize("table", [one for one in NAMES if _named(one, UNREADABLE)])
def test_refused_by_name(table: str) -> None:
    root = delta_real.folder() / table
    with pytest.raises(UnsupportedTable, match=_named(table, UNREADABLE)):
        read_snapshot(place_of(root))
    with pytest.raises(Exception, match="Kernel error"):
        DeltaTable(str(root))


@pytest.mark.parametrize("table", _readable())
def test_a_real_log(table: str) -> None:
    _check_against_entries(table)
    _check_versions_against_entries(table)
    _check_against_delta_rs(table)
    _check_whether_replaceable(table)
    _check_columns_in_files(table)


def _check_against_entries(table: str) -> None:
    root = delta_real.folder() / table
    expected = delta_log.replay(root)
    if expected is None or table.endswith(CONTRADICTORY):
        return  # the first entries are gone, or belong to another table
    found = read_snapshot(place_of(root))
    assert found.version == expected.version
    files = {key: _parsed(raw) for key, raw in expected.files.items()}
    assert {tuple(key): _plain(add) for key, add in found.files.items()} == files
    assert _metadata(found.metadata.raw) == _metadata(expected.metadata)
    protocol = expected.protocol
    assert found.protocol.reader_version == protocol["minReaderVersion"]
    assert found.protocol.writer_version == protocol["minWriterVersion"]
    assert found.protocol.reader_features == set(protocol.get("readerFeatures") or ())
    assert found.protocol.writer_features == set(protocol.get("writerFeatures") or ())


def _check_versions_against_entries(table: str) -> None:
    root = delta_real.folder() / table
    last = read_snapshot(place_of(root)).version
    for version in range(last):
        expected = delta_log.replay(root, version)
        if expected is not None and expected.protocol.get("minReaderVersion", 9) <= 3:
            found = read_snapshot(place_of(root), version)
            assert {tuple(key) for key in found.files} == expected.files.keys(), version


def _plain(add: Add) -> dict[str, Any]:
    return _parsed(dict(add.raw))


def _parsed(raw: dict[str, Any]) -> dict[str, Any]:
    """Without what checkpoints change; statistics as what they say, in whatever order."""
    kept = {name: value for name, value in raw.items() if name not in ("dataChange", "stats")}
    if raw.get("stats"):
        kept["stats"] = json.loads(raw["stats"])
    return {name: value for name, value in kept.items() if value != {} or name != "tags"}


def _metadata(raw: Any) -> dict[str, Any]:  # noqa: ANN401  as JSON
    return {name: value for name, value in raw.items() if value is not None}


def _check_against_delta_rs(table: str) -> None:
    root = delta_real.folder() / table
    expected = DeltaTable(str(root))
    found = read_snapshot(place_of(root))
    assert found.version == expected.version()
    assert sorted(_facts(add) for add in found.files.values()) == sorted(_facts_of(expected))
    metadata = expected.metadata()
    assert found.metadata.id == str(metadata.id)
    assert found.metadata.properties == metadata.configuration
    assert list(found.metadata.partition_columns) == metadata.partition_columns
    names = [one["name"] for one in found.metadata.schema["fields"]]
    assert names == [one.name for one in expected.schema().fields]
    protocol = expected.protocol()
    assert found.protocol.reader_version == protocol.min_reader_version
    assert found.protocol.writer_version == protocol.min_writer_version


def _facts(add: Add) -> tuple[str, int, int, int]:
    num_records = json.loads(add.stats or "{}").get("numRecords", -1)
    return unquote(add.path), add.size, add.modified_ms, num_records


def _facts_of(table: DeltaTable) -> list[tuple[str, int, int, int]]:
    rows = pa.table(table.get_add_actions()).to_pylist()
    return [
        (
            unquote(one["path"]),
            one["size_bytes"],
            one["modification_time"],
            -1 if one.get("num_records") is None else one["num_records"],
        )
        for one in rows
    ]


def _check_whether_replaceable(table: str) -> None:
    snapshot = read_snapshot(place_of(delta_real.folder() / table))
    feature = _named(table, UNCHANGEABLE)
    if feature is None:
        snapshot.check_replaceable()
        return
    with pytest.raises(UnsupportedTable, match=feature):
        snapshot.check_replaceable()


def _check_columns_in_files(table: str) -> None:
    snapshot = read_snapshot(place_of(delta_real.folder() / table))
    columns = DeltaColumns(snapshot.metadata)
    may_miss = _named(table, MISSING_IN_FILES) or set()
    for add in snapshot.files.values():
        with open_for_reading(snapshot.place.locate(add.path)) as source:
            footer = read_footer(source)
        found = columns.in_file(footer)
        assert set(columns.select(None)) - found.keys() <= may_miss
        assert len({leaf.ordinal for leaf in found.values()}) == len(found)
        if columns.mode == "name":
            physical = {columns.stored_name(name): leaf for name, leaf in found.items()}
            assert {name.split(".")[0] for name in physical} <= {
                leaf.path[0] for leaf in footer.leaves
            }


@pytest.mark.parametrize("table", [one for one in NAMES if STRUCTS_ONLY in one])
def test_statistics_are_rebuilt(table: str) -> None:
    snapshot = read_snapshot(place_of(delta_real.folder() / table))
    assert snapshot.files
    for add in snapshot.files.values():
        assert add.stats is not None
        assert json.loads(add.stats)["numRecords"] > 0
        assert "stats_parsed" not in add.raw
        assert "partitionValues_parsed" not in add.raw
