"""Logs of Delta tables written by hand: entries, and checkpoints of every kind."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    Action = Mapping[str, Any]

Kind = Literal["classic", "parts", "v2-json", "v2-parquet", "v2-json-sidecars", "v2-sidecars"]
KINDS: tuple[Kind, ...] = (
    "classic",
    "parts",
    "v2-json",
    "v2-parquet",
    "v2-json-sidecars",
    "v2-sidecars",
)

_TEXTS = pa.map_(pa.string(), pa.string())
_BOUNDS = pa.struct(
    [
        ("id", pa.int64()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("local", pa.timestamp("us")),
        ("price", pa.decimal128(20, 3)),
        ("name", pa.string()),
        ("rate", pa.float64()),
        ("inner", pa.struct([("x", pa.int32())])),
    ]
)
_COUNTS = pa.struct([(one.name, pa.int64()) for one in _BOUNDS if one.name != "inner"])
STATS = pa.struct(
    [
        ("numRecords", pa.int64()),
        ("minValues", _BOUNDS),
        ("maxValues", _BOUNDS),
        ("nullCount", _COUNTS),
        ("tightBounds", pa.bool_()),
    ]
)
ADD = pa.struct(
    [
        ("path", pa.string()),
        ("partitionValues", _TEXTS),
        ("size", pa.int64()),
        ("modificationTime", pa.int64()),
        ("dataChange", pa.bool_()),
        ("stats", pa.string()),
        ("tags", _TEXTS),
        (
            "deletionVector",
            pa.struct(
                [
                    ("storageType", pa.string()),
                    ("pathOrInlineDv", pa.string()),
                    ("offset", pa.int32()),
                    ("sizeInBytes", pa.int32()),
                    ("cardinality", pa.int64()),
                ]
            ),
        ),
        ("baseRowId", pa.int64()),
        ("defaultRowCommitVersion", pa.int64()),
        ("clusteringProvider", pa.string()),
        # A field that no protocol knows.
        ("unheardOf", pa.struct([("a", pa.int64()), ("b", pa.list_(pa.string())), ("c", _TEXTS)])),
        ("stats_parsed", STATS),
        ("partitionValues_parsed", pa.struct([("day", pa.int32())])),
    ]
)
_SCHEMAS = {
    "add": ADD,
    "remove": pa.struct(
        [
            ("path", pa.string()),
            ("deletionTimestamp", pa.int64()),
            ("dataChange", pa.bool_()),
            ("deletionVector", ADD.field("deletionVector").type),
        ]
    ),
    "protocol": pa.struct(
        [
            ("minReaderVersion", pa.int32()),
            ("minWriterVersion", pa.int32()),
            ("readerFeatures", pa.list_(pa.string())),
            ("writerFeatures", pa.list_(pa.string())),
        ]
    ),
    "metaData": pa.struct(
        [
            ("id", pa.string()),
            ("name", pa.string()),
            ("format", pa.struct([("provider", pa.string()), ("options", _TEXTS)])),
            ("schemaString", pa.string()),
            ("partitionColumns", pa.list_(pa.string())),
            ("configuration", _TEXTS),
            ("createdTime", pa.int64()),
        ]
    ),
    "checkpointMetadata": pa.struct([("version", pa.int64())]),
    "sidecar": pa.struct(
        [("path", pa.string()), ("sizeInBytes", pa.int64()), ("modificationTime", pa.int64())]
    ),
    "txn": pa.struct([("appId", pa.string()), ("version", pa.int64())]),
}


def schema_string(*columns: tuple[str, Any]) -> str:
    """Return a table's schema."""
    fields = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in columns
    ]
    return json.dumps({"type": "struct", "fields": fields})


def metadata(**changes: Any) -> dict[str, Any]:  # noqa: ANN401  as JSON
    """Return the fields of an action `metaData`."""
    return {
        "id": "7f10249f-e3ff-4fe4-967a-05637934a7e9",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": schema_string(("id", "long"), ("day", "integer")),
        "partitionColumns": ["day"],
        "configuration": {},
        "createdTime": 1685559511124,
        **changes,
    }


def add(path: str, **changes: Any) -> dict[str, Any]:  # noqa: ANN401  as JSON
    """Return the fields of an action `add`."""
    return {
        "path": path,
        "partitionValues": {"day": "1"},
        "size": 1000,
        "modificationTime": 1685559512000,
        "dataChange": False,
        **changes,
    }


def write_entry(root: Path, version: int, actions: Iterable[Action]) -> Path:
    """Write an entry of the log."""
    return _write_json(root / "_delta_log" / f"{version:020}.json", actions)


def write_checkpoint(root: Path, version: int, actions: Sequence[Action], kind: Kind) -> list[Path]:
    """Write a checkpoint.

    Args:
        root: Of the table.
        version: That it is of.
        actions: All of them.
        kind: How it is written.

    Returns:
        The files, those that others name first.
    """
    log = root / "_delta_log"
    stem = f"{version:020}.checkpoint"
    if kind == "classic":
        return [_write_parquet(log / f"{stem}.parquet", actions)]
    if kind == "parts":
        shares = [actions[start::3] for start in range(3)]
        return [
            _write_parquet(log / f"{stem}.{number:010}.{len(shares):010}.parquet", share)
            for number, share in enumerate(shares, 1)
        ]
    written: list[Path] = []
    head: list[Action] = [{"checkpointMetadata": {"version": version}}]
    if kind.endswith("sidecars"):
        in_files = [one for one in actions if "add" in one or "remove" in one]
        head += [one for one in actions if one not in in_files]
        for share in (in_files[0::2], in_files[1::2]):
            path = log / "_sidecars" / f"{uuid.uuid4()}.parquet"
            written.append(_write_parquet(path, share))
            sidecar = {"path": path.name, "sizeInBytes": path.stat().st_size, "modificationTime": 1}
            head.append({"sidecar": sidecar})
    else:
        head += actions
    is_json = kind.startswith("v2-json")
    path = log / f"{stem}.{uuid.uuid4()}.{'json' if is_json else 'parquet'}"
    return [*written, _write_json(path, head) if is_json else _write_parquet(path, head)]


def _write_json(path: Path, actions: Iterable[Action]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in actions), "utf-8")
    return path


def _write_parquet(path: Path, actions: Sequence[Action]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = {
        kind: pa.array([_arrow(one.get(kind), schema) for one in actions], schema)
        for kind, schema in _SCHEMAS.items()
    }
    pq.write_table(pa.table(columns), path, row_group_size=max(len(actions) // 2, 1))
    return path


def _arrow(value: Any, kind: pa.DataType) -> Any:  # noqa: ANN401  as pyarrow takes it
    """Return a value as pyarrow takes it: a map is a list of pairs."""
    if value is None:
        return None
    if pa.types.is_map(kind):
        return list(value.items())
    if pa.types.is_struct(kind):
        return {one.name: _arrow(value.get(one.name), one.type) for one in kind}
    return value
