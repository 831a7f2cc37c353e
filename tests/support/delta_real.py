"""Real Delta tables of many writers, and what other engines read of tables."""

from __future__ import annotations

import csv
import json
import os
import pickle
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ROOT = Path(__file__).parents[2]

Row = dict[str, Any]


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
    import deltalake
    import pyarrow as pa

    table = deltalake.DeltaTable(str(root), version=version)
    found = deltalake.QueryBuilder().register("t", table).execute("SELECT * FROM t").read_all()
    rows: list[Row] = pa.table(found).to_pylist()
    return rows


_DUCKDB = """
import json, pickle, sys
import duckdb
extension, out, roots = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
con = duckdb.connect(config={"allow_unsigned_extensions": "true"})
con.execute(f"LOAD '{extension}'")
con.execute("SET TimeZone = 'UTC'")
found = {}
for root in roots:
    try:
        found[root] = con.execute(f"FROM delta_scan('{root}')").fetch_arrow_table().to_pylist()
    except Exception as error:
        found[root] = str(error)
with open(out, "wb") as file:
    pickle.dump(found, file)
"""


def by_duckdb(roots: Sequence[Path], scratch: Path) -> list[list[Row] | str]:
    """Read tables by DuckDB's extension for Delta, in a process of its own.

    Returns:
        For each table its rows, or why it cannot be read.
    """
    home = Path(sys.prefix) / "duckdb-1.5"
    (extension,) = home.glob("duckdb_extension_delta/extensions/*/delta.duckdb_extension")
    out = scratch / "duckdb.pickle"
    given = json.dumps([str(root) for root in roots])
    subprocess.run(
        [sys.executable, "-c", _DUCKDB, str(extension), str(out), given],
        check=True,
        env={**os.environ, "PYTHONPATH": str(home)},
    )
    found = pickle.loads(out.read_bytes())  # noqa: S301  written by the line above
    return [found[str(root)] for root in roots]


def spelled(value: Any) -> Any:  # noqa: ANN401  of any column
    """Return a form of a value that is equal for equal values only, NaN and zeros included."""
    if isinstance(value, float):
        return ("float", repr(value))
    if isinstance(value, dict):
        return tuple((key, spelled(one)) for key, one in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(spelled, value))
    if isinstance(value, memoryview | bytearray):
        return bytes(value)
    return (type(value).__name__, str(value)) if not isinstance(value, bytes) else value


def bag(rows: Iterable[Row]) -> Counter[str]:
    """Return a multiset of rows, whatever the order of rows and columns."""
    return Counter(repr(sorted((name, spelled(one)) for name, one in row.items())) for row in rows)
