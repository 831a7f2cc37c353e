"""Delta tables, made by deltalake, and what its readers see in them."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from tests.support.duckdb_tables import delta_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path


def make_table(
    path: Path,
    *,
    num_files: int = 3,
    rows: int = 1000,
    partition_by: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
) -> Path:
    """Write a table of files by as many appends; `id` counts all rows, `day` the files."""
    for number in range(num_files):
        append(path, number, rows=rows, partition_by=partition_by, properties=properties)
    return path


def append(
    path: Path,
    number: int,
    *,
    rows: int = 1000,
    partition_by: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
) -> None:
    """Append one file."""
    ids = range(number * rows, (number + 1) * rows)
    data = pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "email": [f"user{one}@example.org" for one in ids],
            "day": pa.array([number] * rows, pa.int32()),
            "place": pa.array([{"city": f"c{one % 7}", "zip": one} for one in ids]),
        }
    )
    write_deltalake(
        os.fspath(path),
        data,
        mode="append",
        partition_by=list(partition_by) or None,
        configuration=dict(properties) if properties and number == 0 else None,
    )


def rows_of(path: Path, *, version: int | None = None) -> list[str]:
    """Return the rows that deltalake reads, as text, sorted."""
    table = DeltaTable(os.fspath(path), version=version).to_pyarrow_table()
    return sorted(map(repr, table.to_pylist()))


def rows_by_duckdb(path: Path, where: str = "true") -> list[str]:
    """Return the rows that DuckDB reads, as text, sorted."""
    found = delta_rows(path, where)
    assert not isinstance(found, str), found
    return sorted(map(repr, found))


def entry(path: Path, version: int) -> list[dict[str, Any]]:
    """Return the actions of one entry of the log."""
    text = (path / "_delta_log" / f"{version:020}.json").read_text()
    return [json.loads(line) for line in text.splitlines() if line]


def actions(path: Path, version: int, name: str) -> list[dict[str, Any]]:
    """Return the actions of one kind of one entry of the log."""
    return [one[name] for one in entry(path, version) if name in one]


def write_entry(path: Path, version: int, entries: Iterable[Mapping[str, Any]]) -> None:
    """Write an entry of the log as another program would."""
    log = path / "_delta_log"
    log.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(one) + "\n" for one in entries)
    with (log / f"{version:020}.json").open("x") as file:
        file.write(text)


def versions(path: Path) -> list[int]:
    """Return the numbers of the log's entries."""
    return sorted(int(one.stem) for one in (path / "_delta_log").glob("*.json"))


def listing(path: Path) -> dict[str, bytes]:
    """Return all files below a folder, with their bytes."""
    return {
        os.fspath(one.relative_to(path)): one.read_bytes()
        for one in sorted(path.rglob("*"))
        if one.is_file()
    }
