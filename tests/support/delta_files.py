"""Writes Delta tables file by file, with whatever a file may store for the table's columns."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.delta_vectors import inline

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

Field = dict[str, Any]


def column(name: str, type_: Any, number: int = 0, **metadata: Any) -> Field:  # noqa: ANN401
    """Return a field of a schema; with a number, its id and physical name for column mapping."""
    if number:
        metadata |= {
            "delta.columnMapping.id": number,
            "delta.columnMapping.physicalName": f"col-{number}",
        }
    return {"name": name, "type": type_, "nullable": True, "metadata": metadata}


def struct(*fields: Field) -> dict[str, Any]:
    """Return the type of a struct."""
    return {"type": "struct", "fields": list(fields)}


def array(element: Any) -> dict[str, Any]:  # noqa: ANN401  JSON
    """Return the type of an array."""
    return {"type": "array", "elementType": element, "containsNull": True}


def map_of(key: Any, value: Any) -> dict[str, Any]:  # noqa: ANN401  JSON
    """Return the type of a map."""
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


@dataclass
class Writer:
    """Writes one table, all in its version 0, or more versions by `commit`."""

    root: Path
    fields: Sequence[Field]
    partition_columns: Sequence[str] = ()
    mapping: str = "none"
    properties: Mapping[str, str] = field(default_factory=dict)
    version: int = 0
    actions: list[dict[str, Any]] = field(default_factory=list)
    count: int = 0

    def __post_init__(self) -> None:
        (self.root / "_delta_log").mkdir(parents=True)
        features = ["columnMapping", "deletionVectors", "timestampNtz", "typeWidening"]
        properties = {**self.properties, "delta.columnMapping.mode": self.mapping}
        self.actions += [
            {
                "protocol": {
                    "minReaderVersion": 3,
                    "minWriterVersion": 7,
                    "readerFeatures": features,
                    "writerFeatures": features,
                }
            },
            {
                "metaData": {
                    "id": "0",
                    "format": {"provider": "parquet", "options": {}},
                    "schemaString": json.dumps(struct(*self.fields)),
                    "partitionColumns": list(self.partition_columns),
                    "configuration": properties,
                }
            },
        ]

    def add(
        self,
        rows: pa.Table,
        *,
        partition: Mapping[str, str | None] | None = None,
        deleted: Collection[int] = (),
        folder: str = "",
        **options: Any,  # noqa: ANN401  pyarrow's own
    ) -> Path:
        """Write a file with logical names, under those that the table has for files.

        Args:
            rows: With the types that are to be stored.
            partition: Texts of the log, by logical names.
            deleted: Positions of deleted rows.
            folder: Where the file goes, below the root.
            **options: Of `pyarrow.parquet.write_table`.
        """
        by_name = {one["name"]: one for one in self.fields}
        columns = [
            self._stored(rows.schema.field(name), by_name[name]) for name in rows.schema.names
        ]
        arrays = [
            pa.chunked_array(
                [_renamed(chunk, one.type) for chunk in rows.column(place).chunks], one.type
            )
            for place, one in enumerate(columns)
        ]
        self.count += 1
        inner = f"{folder}part-{self.count:05}.parquet"
        path = self.root / inner
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(arrays, pa.schema(columns)), path, **options)
        names = {name: self._name(by_name[name]) for name in self.partition_columns}
        action: dict[str, Any] = {
            "path": quote(inner),
            "partitionValues": {names[one]: text for one, text in (partition or {}).items()},
            "size": path.stat().st_size,
            "modificationTime": 0,
            "dataChange": True,
            "stats": json.dumps({"numRecords": rows.num_rows}),
        }
        if deleted:
            action["deletionVector"] = inline(deleted)
        self.actions.append({"add": action})
        return path

    def commit(self) -> Path:
        """Write the next entry of the log, and return the table's folder."""
        text = "".join(json.dumps(one) + "\n" for one in self.actions)
        entry = self.root / "_delta_log" / f"{self.version:020}.json"
        entry.write_text(text, encoding="utf-8")
        self.version += 1
        self.actions.clear()
        return self.root

    def _name(self, one: Field) -> str:
        plain = self.mapping == "none"
        return str(one["name"] if plain else one["metadata"]["delta.columnMapping.physicalName"])

    def _stored(self, given: pa.Field, one: Field) -> pa.Field:
        """Return the field as the file has it."""
        type_ = self._stored_type(given.type, one["type"])
        number = one["metadata"].get("delta.columnMapping.id")
        metadata = {"PARQUET:field_id": str(number)} if number else None
        name = f"stored{number}" if self.mapping == "id" else self._name(one)
        return pa.field(name, type_, metadata=metadata)

    def _stored_type(self, given: pa.DataType, type_: Any) -> pa.DataType:  # noqa: ANN401  JSON
        if pa.types.is_struct(given):
            by_name = {one["name"]: one for one in type_["fields"]}
            return pa.struct([self._stored(one, by_name[one.name]) for one in given])
        if pa.types.is_list(given):
            return pa.list_(self._stored_type(given.value_type, type_["elementType"]))
        if pa.types.is_map(given):
            key = self._stored_type(given.key_type, type_["keyType"])
            return pa.map_(key, self._stored_type(given.item_type, type_["valueType"]))
        return given


def _renamed(values: pa.Array, type_: pa.DataType) -> pa.Array:
    """Return the same values under other names."""
    if values.type == type_:
        return values
    mask = values.is_null()
    if pa.types.is_struct(type_):
        parts = [
            _renamed(values.field(place), type_.field(place).type)
            for place in range(type_.num_fields)
        ]
        return pa.StructArray.from_arrays(parts, fields=list(type_), mask=mask)
    if pa.types.is_map(type_):
        return pa.MapArray.from_arrays(
            values.offsets,
            _renamed(values.keys, type_.key_type),
            _renamed(values.items, type_.item_type),
            type_,
            mask=mask,
        )
    inner = _renamed(values.values, type_.value_type)
    return pa.ListArray.from_arrays(values.offsets, inner, type_, mask=mask)
