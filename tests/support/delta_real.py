"""Real Delta tables of many writers, and what other engines read of tables."""

from __future__ import annotations

import csv
import os
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

ROOT = Path(__file__).parents[2]

Row = dict[str, Any]
Spelled = tuple[tuple[str, Any], ...]
"""A row, such that NaN equals NaN, and 0.0 not -0.0 (`spelled_row`)."""


def folder() -> Path:
    """Return the folder of real tables: `BLOOMIFY_TABLES`, or the one beside the project."""
    return Path(os.environ.get("BLOOMIFY_TABLES", ROOT / "../shared/tables")).resolve()


@cache
def names() -> list[str]:
    """Return the names of all Delta tables, by the manifest; none if there is no such folder."""
    manifest = folder() / "manifest.csv"
    if not manifest.exists():
        return []
    with manifest.open(newline="", encoding="utf-8") as file:
        return [row["table"] for row in csv.DictReader(file) if row["format"] == "delta"]


def by_deltalake(root: Path, version: int | None = None) -> list[Row]:
    """Read a table by delta-rs.

    Raises:
        Exception: Of deltalake, if it cannot.
    """
    rows: list[Row] = table_by_deltalake(root, version).to_pylist()
    return rows


def table_by_deltalake(root: Path, version: int | None = None) -> pa.Table:
    """Read a table by delta-rs; raise what deltalake raises, if it cannot."""
    import deltalake
    import pyarrow as pa

    table = deltalake.DeltaTable(str(root), version=version)
    found = deltalake.QueryBuilder().register("t", table).execute("SELECT * FROM t").read_all()
    return pa.table(found)


def spelled(value: Any) -> Any:  # noqa: ANN401  of any column
    """Return a form of a value that is equal for equal values only, NaN and zeros included."""
    if value is None or isinstance(value, str | bytes):
        return value
    if isinstance(value, float):
        return ("float", repr(value))
    if isinstance(value, dict):
        return tuple((key, spelled(one)) for key, one in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(spelled, value))
    if isinstance(value, memoryview | bytearray):
        return bytes(value)
    return (type(value).__name__, str(value))


def bag(rows: Iterable[Row]) -> Counter[Spelled]:
    """Return a multiset of rows, whatever the order of rows and columns."""
    return Counter(map(spelled_row, rows))


def spelled_row(row: Row) -> Spelled:
    """Return a form of a row that is equal for equal rows only, whatever the order of columns."""
    return tuple((name, spelled(row[name])) for name in sorted(row))
