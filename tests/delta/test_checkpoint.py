"""Files as checkpoints hold them: what an entry in JSON would say of them."""

from __future__ import annotations

import datetime as dt
import json
import pickle
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from parquet_bloomwriter.delta.place import place_of
from parquet_bloomwriter.delta.snapshot import read_snapshot
from parquet_bloomwriter.errors import TableProblem, UnsupportedTable
from tests.support.delta_checkpoints import add, metadata, write_checkpoint, write_entry

if TYPE_CHECKING:
    from pathlib import Path

    from parquet_bloomwriter.delta.actions import Add

PROTOCOL = {
    "minReaderVersion": 3,
    "minWriterVersion": 7,
    "readerFeatures": ["deletionVectors"],
    "writerFeatures": ["deletionVectors"],
}
VECTOR = {
    "storageType": "u",
    "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
    "offset": 4,
    "sizeInBytes": 40,
    "cardinality": 6,
}


def _write(root: Path, *adds: dict[str, Any]) -> None:
    actions = [{"protocol": PROTOCOL}, {"metaData": metadata()}, *({"add": one} for one in adds)]
    write_checkpoint(root, 7, actions, "classic")


def _read(root: Path, *adds: dict[str, Any]) -> list[Add]:
    _write(root, *adds)
    return list(read_snapshot(place_of(root)).files.values())


def test_every_field_carries_over(tmp_path: Path) -> None:
    whole = add(
        "day=1/part-0.parquet",
        stats='{"numRecords":7}',
        tags={"a": "b", "": ""},
        deletionVector=VECTOR,
        baseRowId=0,
        defaultRowCommitVersion=3,
        clusteringProvider="liquid",
        unheardOf={"a": 1, "b": ["x", None], "c": {"k": "v", "n": None}},
        partitionValues={"day": None},
    )
    found, other = _read(tmp_path, whole, add("f"))
    assert dict(found.raw) == whole
    assert found.raw == whole
    assert {**found.raw, "size": 3} == {**whole, "size": 3}
    assert json.loads(json.dumps(found.raw, default=dict)) == whole
    assert len(found.raw) == len(whole)
    assert found.key == ("day=1/part-0.parquet", "uab^-aqEH.-t@S}K{vb[*k^@4")
    assert found.partition_values == {"day": None}
    assert "baseRowId" in found.raw
    assert "baseRowId" not in other.raw
    assert other.raw.get("baseRowId", 5) == 5
    with pytest.raises(KeyError):
        other.raw["neverHeardOf"]
    assert pickle.loads(pickle.dumps(found)).raw == whole  # noqa: S301  ours
    assert repr(other.raw) == repr(dict(other.raw))
    assert other.tags == {}
    assert other.deletion_vector is None


def test_parsed_columns_are_no_fields(tmp_path: Path) -> None:
    (found,) = _read(
        tmp_path,
        add("f", stats='{"numRecords":7}', partitionValues_parsed={"day": 1}, stats_parsed=BOUNDS),
    )
    assert dict(found.raw) == add("f", stats='{"numRecords":7}')


_AT = dt.datetime(2024, 2, 29, 12, 30, 0, 5000)  # noqa: DTZ001  of no zone
BOUNDS = {
    "numRecords": 7,
    "minValues": {
        "id": -5,
        "day": dt.date(1, 1, 1),
        "at": _AT.replace(tzinfo=dt.UTC),
        "local": _AT,
        "price": Decimal("12345678901234567.890"),
        "name": 'ä"\n',
        "rate": -0.5,
        "inner": {"x": 3},
    },
    "maxValues": {
        "id": 2**62,
        "day": dt.date(9999, 12, 31),
        "at": (_AT + dt.timedelta(microseconds=7)).replace(tzinfo=dt.UTC),
        "local": _AT.replace(1969, 12, 31, 23, 59, 59, 999000),
        "price": Decimal("0.001"),
        "rate": float("nan"),
        "inner": {},
    },
    "nullCount": {"id": 0, "day": 7},
}


def test_statistics_are_spelled_as_in_entries(tmp_path: Path) -> None:
    (found,) = _read(tmp_path, add("f", stats_parsed=BOUNDS))
    assert found.stats == (
        '{"numRecords":7,"minValues":{"id":-5,"day":"0001-01-01","at":"2024-02-29T12:30:00.005Z",'
        '"local":"2024-02-29T12:30:00.005","price":12345678901234567.890,"name":"ä\\"\\n",'
        '"rate":-0.5,"inner":{"x":3}},"maxValues":{"id":4611686018427387904,"day":"9999-12-31",'
        '"at":"2024-02-29T12:30:00.005007Z","local":"1969-12-31T23:59:59.999","price":0.001,'
        '"inner":{}},"nullCount":{"id":0,"day":7}}'
    )
    assert found.raw["stats"] == found.stats
    assert found.num_records == 7


def test_statistics_by_rows(tmp_path: Path) -> None:
    """Some files have JSON, some columns, some both, some nothing; across blocks of rows."""
    kinds: list[dict[str, Any]] = [
        {"stats": '{"numRecords":1}'},
        {"stats_parsed": {"numRecords": 2, "tightBounds": False}},
        {"stats": '{"numRecords":3}', "stats_parsed": {"numRecords": 4}},
        {},
    ]
    files = [add(f"f{number}", **kinds[number % 4]) for number in range(3000)]
    found = _read(tmp_path, *files)
    expected = ['{"numRecords":1}', '{"numRecords":2,"tightBounds":false}', '{"numRecords":3}']
    assert {one.path: one.stats for one in found} == {
        f"f{number}": [*expected, None][number % 4] for number in range(3000)
    }
    assert "stats" not in found[3].raw


def test_deleted_rows_need_a_count_to_be_replaced(tmp_path: Path) -> None:
    _write(tmp_path, add("f", deletionVector=VECTOR, stats_parsed={"numRecords": 9}))
    read_snapshot(place_of(tmp_path)).check_replaceable()
    _write(tmp_path, add("f", deletionVector=VECTOR, stats_parsed={"tightBounds": True}))
    with pytest.raises(UnsupportedTable, match=r"deletionVectors.* how many rows the file f has"):
        read_snapshot(place_of(tmp_path)).check_replaceable()


def test_checkpoint_of_delta_rs(tmp_path: Path) -> None:
    for number in range(3):
        data = pa.table({"id": [number, None], "day": [f"{number} %/é", "b"]})
        write_deltalake(tmp_path, data, mode="append", partition_by=["day"])
    before = {key: dict(one.raw) for key, one in read_snapshot(place_of(tmp_path)).files.items()}
    DeltaTable(tmp_path).create_checkpoint()
    for path in (tmp_path / "_delta_log").glob("*.json"):
        path.unlink()
    after = {key: dict(one.raw) for key, one in read_snapshot(place_of(tmp_path)).files.items()}
    for one in (*before.values(), *after.values()):
        one.pop("dataChange")
        one["stats"] = json.loads(one["stats"])
        one.setdefault("tags", {})
    assert after == before
    assert len(after) == 6


def test_empty_checkpoint(tmp_path: Path) -> None:
    _write(tmp_path)
    assert read_snapshot(place_of(tmp_path)).files == {}
    write_entry(tmp_path, 8, [{"add": add("f")}])
    assert len(read_snapshot(place_of(tmp_path)).files) == 1


def test_nulls_inside_of_actions_that_are_not_there(tmp_path: Path) -> None:
    """Some writers have no null structs, but structs of nulls."""
    _write(tmp_path, add("a", stats_parsed={"numRecords": 3}), add("b", tags={}))
    path = tmp_path / "_delta_log" / f"{7:020}.checkpoint.parquet"
    table = pq.read_table(path)
    columns = {}
    for name in table.schema.names:
        rows = table.column(name).combine_chunks()
        columns[name] = pa.StructArray.from_arrays(rows.flatten(), fields=list(rows.type))
        assert columns[name].null_count == 0
    expected = read_snapshot(place_of(tmp_path))
    pq.write_table(pa.table(columns), path)
    found = read_snapshot(place_of(tmp_path))
    assert {key: dict(one.raw) for key, one in found.files.items()} == {
        key: dict(one.raw) for key, one in expected.files.items()
    }
    assert found.protocol == expected.protocol
    assert dict(found.metadata.raw) == dict(expected.metadata.raw)


def test_file_without_a_size(tmp_path: Path) -> None:
    _write(tmp_path, add("a"))
    path = tmp_path / "_delta_log" / f"{7:020}.checkpoint.parquet"
    table = pq.read_table(path)
    rows = table.column("add").combine_chunks()
    column = pa.StructArray.from_arrays([rows.field("path")], ["path"])
    pq.write_table(table.set_column(0, "add", column), path)
    with pytest.raises(TableProblem, match=r"checkpoint\.parquet is damaged"):
        read_snapshot(place_of(tmp_path))
