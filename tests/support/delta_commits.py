"""Replacements of files of Delta tables, as the verbs make them, and entries made by hand."""

from __future__ import annotations

import json
import os
import shutil
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from deltalake import DeltaTable

from parquet_bloomwriter import bloomify
from parquet_bloomwriter.delta.commit import AddReplacement, new_add
from parquet_bloomwriter.delta.place import place_of
from parquet_bloomwriter.delta.snapshot import read_snapshot
from tests.support.delta_tables import rows_by_duckdb, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from parquet_bloomwriter.delta.actions import Add
    from parquet_bloomwriter.delta.commit import LogCommit
    from parquet_bloomwriter.delta.snapshot import Snapshot

VECTOR = {
    "storageType": "i",
    "pathOrInlineDv": "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L",
    "sizeInBytes": 44,
    "cardinality": 6,
}
"""Rows 3, 4, 7, 11, 18 and 29."""


def open_table(path: Path, version: int | None = None) -> Snapshot:
    """Read a table as of a version."""
    return read_snapshot(place_of(path), version)


def replacements_of(
    snapshot: Snapshot, files: Iterable[Add] | None = None, *, filters: bool = True
) -> list[AddReplacement]:
    """Write a new file for each file of a table, on a disk.

    Args:
        snapshot: The table.
        files: Which files; all by default.
        filters: Whether the new files have filters, or are plain copies.
    """
    place = snapshot.place
    found = []
    for file in snapshot.files.values() if files is None else files:
        uri = place.new_uri(file.path)
        old, new = place.locate(file.path), place.locate(uri)
        if filters:
            bloomify(old, ["id"], output=new)
        else:
            shutil.copyfile(old, new)
        size = os.stat(new).st_size  # noqa: PTH116
        now = int(time.time() * 1000)
        found.append(AddReplacement(file, new_add(file, uri=uri, size=size, modified_ms=now)))
    return found


def add_by_hand(snapshot: Snapshot, *actions: Mapping[str, Any], info: bool = True) -> int:
    """Commit actions as another program would; return the version."""
    version = snapshot.version + 1
    while (log_of(snapshot) / f"{version:020}.json").exists():
        version += 1
    first = [{"commitInfo": {"operation": "BY HAND", "timestamp": 1}}] if info else []
    text = "".join(json.dumps(one) + "\n" for one in [*first, *actions])
    with (log_of(snapshot) / f"{version:020}.json").open("x") as file:
        file.write(text)
    return version


def log_of(snapshot: Snapshot) -> Path:
    """Return the folder of a table's log."""
    from pathlib import Path

    return Path(snapshot.place.root) / "_delta_log"


def data_files(path: Path) -> set[str]:
    """Return the names of all data files below a table's folder, in the log or not."""
    return {os.fspath(one.relative_to(path)) for one in path.rglob("*.parquet")} - {
        os.fspath(one.relative_to(path)) for one in (path / "_delta_log").rglob("*")
    }


def active_files(path: Path) -> list[str]:
    """Return the paths of the files of a table's last version as deltalake has them, sorted."""
    adds = DeltaTable(os.fspath(path)).get_add_actions(flatten=True)
    return sorted(unquote(one) for one in adds.column("path").to_pylist())


def metadata_with(snapshot: Snapshot, **properties: str) -> dict[str, Any]:
    """Return the table's metadata with more properties."""
    now = {**snapshot.metadata.properties, **properties}
    return {"metaData": {**snapshot.metadata.raw, "configuration": now}}


def protocol_with(*features: str, reads: bool = False) -> dict[str, Any]:
    """Return a protocol with features."""
    return {
        "protocol": {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": list(features) if reads else [],
            "writerFeatures": list(features),
        }
    }


def check_committed(
    path: Path, rows: list[str], committed: LogCommit, *, by_duckdb: bool = True
) -> None:
    """Check that readers see these rows, and the snapshot the files that the log has."""
    assert rows_of(path) == rows
    if by_duckdb:
        assert len(rows_by_duckdb(path)) == len(rows)
    again = open_table(path, committed.version)
    assert committed.snapshot.files.keys() == again.files.keys()
    for key, file in committed.snapshot.files.items():
        assert dict(file.raw) == dict(again.files[key].raw)
    assert committed.snapshot.timestamp_ms == again.timestamp_ms
