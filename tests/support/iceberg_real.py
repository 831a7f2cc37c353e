"""Real Iceberg tables, of other writers: copied, and given the paths of the copy.

Their metadata name files as they were where they were written. In a copy all names are changed: in
metadata, manifest lists, manifests, position deletes and Puffin files. Readers that are not asked
for a table are those that cannot read it even before anything is done to it.
"""

from __future__ import annotations

import csv
import gzip
import json
import shutil
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.delta_real import folder
from tests.support.iceberg_avro import rewrite_avro
from tests.support.iceberg_readers import READERS, SPECIFICATION

if TYPE_CHECKING:
    from collections.abc import Callable

    from _pytest.mark import ParameterSet
    from pyiceberg.table import Table

    from tests.support.iceberg_tables import Warehouse

PATH_ID = 2147483546
"""Field id of the column file_path of position deletes."""


ROWS = {
    "add_columns_with_defaults": 3,
    "add_columns_with_defaults_in_struct": 2,
    "t": 2,
    "mytable": 2,
    "hive_partitioned_table": 6,
    "lineitem_iceberg": 51793,
    "lineitem_iceberg_gz": 111968,
    "lineitem_iceberg_no_hint": 51793,
    "is_null_is_not_null": 8,
    "t1": 10000,
    "test_nulls": 9,
    "partition_bool": 2,
    "partition_decimal_bigint": 10,
    "partition_decimal_hugeint": 15,
    "partition_decimal_integer": 3,
    "partition_double": 2,
    "partition_fixed_length_binary": 2,
    "partition_float": 2,
    "partition_time": 2,
    "partition_timestamp": 2,
    "partition_timestamptz": 2,
    "uuid": 10,
}
"""Rows of each table that can be read, by its short name."""

_PARTITIONS_NOT_IN_FILES = ("pyiceberg", SPECIFICATION)
"""pyiceberg takes values of partitions for required columns from files only."""

UNREADABLE = {
    "legacy_bare_deletion_vector": READERS,  # a vector that is no Puffin file
    "mytable": ("pyiceberg", "Polars"),  # equality deletes
    "t": ("pyiceberg", "Polars"),
    "t1": ("Polars",),  # its metadata are not those of files
    "partition_fixed_length_binary": _PARTITIONS_NOT_IN_FILES,
    "partition_time": _PARTITIONS_NOT_IN_FILES,
    "partition_timestamp": _PARTITIONS_NOT_IN_FILES,
    "partition_timestamptz": _PARTITIONS_NOT_IN_FILES,
}
"""Readers that cannot read a table, before anything is done to it."""


@cache
def names() -> list[str]:
    """Return the names of all Iceberg tables, by the manifest; none if there is none."""
    manifest = folder() / "manifest.csv"
    if not manifest.exists():
        return []
    with manifest.open(newline="", encoding="utf-8") as file:
        return [row["table"] for row in csv.DictReader(file) if row["format"] == "iceberg"]


def parameters() -> list[ParameterSet]:
    """Return the names as parameters of tests; those of large tables are among the slow tests.

    One of two tables with the same files is enough, of which one has no hint of its version.
    """
    return [
        pytest.param(one, id=short(one), marks=[pytest.mark.shares] if is_large(one) else [])
        for one in names()
        if short(one) != "lineitem_iceberg"
    ]


def is_large(name: str) -> bool:
    """Return whether a table has 50,000 rows and more."""
    return "lineitem" in name


def short(name: str) -> str:
    """Return the last part of a table's name, which no two tables share."""
    return Path(name).name


def readers(name: str) -> tuple[str, ...]:
    """Return the readers that can read a table."""
    cannot = UNREADABLE.get(short(name), ())
    return tuple(one for one in READERS if one not in cannot)


def copy(name: str, warehouse: Warehouse) -> Table:
    """Copy a table, change all names of files, and register it in a catalog by its short name."""
    root = warehouse.folder / "warehouse" / short(name)
    shutil.copytree(folder() / name, root)
    location = _Rewriting(root).rewrite()
    catalog = warehouse.open()
    catalog.create_namespace_if_not_exists("db")
    return catalog.register_table(("db", short(name)), f"file://{location}")


class _Rewriting:
    """Changes the names of files, in a table's copy."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._bases = (f"/{root.name}/", f"/{root.name.removesuffix('_no_hint')}/")

    def rewrite(self) -> Path:
        """Change all files; return the path of the current metadata."""
        avro = sorted(self._root.rglob("*.avro"))
        for path in self._root.rglob("*.puffin"):
            path.write_bytes(_rewrite_puffin(path.read_bytes(), self._moved))
        for path in avro:
            if not path.name.startswith("snap-"):
                self._change(path, self._entry)
        for path in avro:
            if path.name.startswith("snap-"):
                self._change(path, self._listed)
        for path in self._root.glob("metadata/*.metadata.json"):
            is_gzip = path.name.endswith(".gz.metadata.json")
            data = path.read_bytes()
            metadata = json.loads(gzip.decompress(data) if is_gzip else data)
            text = json.dumps(self._strings(metadata)).encode()
            path.write_bytes(gzip.compress(text) if is_gzip else text)
        return _current(self._root)

    @staticmethod
    def _change(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
        path.write_bytes(rewrite_avro(path.read_bytes(), change))

    def _moved(self, name: str) -> str:
        """Return the new name of a file of the table."""
        base = next(one for one in self._bases if one in f"/{name}/")
        inner = f"/{name}/".rpartition(base)[2].strip("/")
        return f"file://{self._root / inner}" if inner else f"file://{self._root}"

    def _strings(self, value: Any) -> Any:  # noqa: ANN401  JSON
        if isinstance(value, dict):
            return {key: self._strings(one) for key, one in value.items()}
        if isinstance(value, list):
            return [self._strings(one) for one in value]
        is_name = isinstance(value, str) and "/" in value and "{" not in value
        if is_name and any(one in f"/{value}/" for one in self._bases):
            return self._moved(value)
        return value

    def _listed(self, manifest: dict[str, Any]) -> None:
        manifest["manifest_path"] = self._moved(manifest["manifest_path"])
        manifest["manifest_length"] = _local(manifest["manifest_path"]).stat().st_size

    def _entry(self, entry: dict[str, Any]) -> None:
        file = entry["data_file"]
        file["file_path"] = self._moved(file["file_path"])
        _, referenced = file.get("referenced_data_file", (0, None))
        if referenced is not None:
            file["referenced_data_file"] = (1, self._moved(referenced))
        path = _local(file["file_path"])
        if file.get("content", 0) != 1 or not path.exists():
            return
        if path.suffix == ".parquet":
            self._position_deletes(path)
            for bounds in ("lower_bounds", "upper_bounds"):
                _, pairs = file.get(bounds, (0, None))
                for pair in pairs or ():
                    if pair["key"] == PATH_ID:
                        pair["value"] = self._moved(pair["value"].decode()).encode()
        file["file_size_in_bytes"] = path.stat().st_size

    def _position_deletes(self, path: Path) -> None:
        data = pq.read_table(path, partitioning=None)
        if data.num_rows == 0 or str(data["file_path"][0]).startswith("file:"):
            return  # of several snapshots' manifests each names the file
        place = data.schema.get_field_index("file_path")
        moved = pa.array([self._moved(one.as_py()) for one in data["file_path"]])
        pq.write_table(data.set_column(place, data.schema.field(place), moved), path)


def _local(name: str) -> Path:
    return Path(name.removeprefix("file://"))


def _current(root: Path) -> Path:
    """Return the path of the current metadata: by the hint, or the last by name."""
    hint = root / "metadata/version-hint.text"
    if hint.exists():
        text = hint.read_text().strip()
        for name in (
            f"v{text}.metadata.json",
            f"v{text}.gz.metadata.json",
            f"{text}.metadata.json",
        ):
            if (root / "metadata" / name).exists():
                return root / "metadata" / name
    return max(root.glob("metadata/*.metadata.json"))


def _rewrite_puffin(data: bytes, moved: Callable[[str], str]) -> bytes:
    size = int.from_bytes(data[-12:-8], "little")
    if data[-4:] != b"PFA1" or data[:4] != b"PFA1":
        return data
    footer = json.loads(data[-12 - size : -12])
    for blob in footer["blobs"]:
        properties = blob["properties"]
        properties["referenced-data-file"] = moved(properties["referenced-data-file"])
    text = json.dumps(footer).encode()
    return data[: -12 - size] + text + len(text).to_bytes(4, "little") + data[-8:]
