"""DuckDB 1.5, whose extensions for Delta and Iceberg are on PyPI for no later one.

It is another DuckDB than the environment's, and so cannot be imported beside it. To start it takes
longer than most questions: one process answers all questions about a format until the tests end. It
keeps nothing of a file from one question to the next.
"""

from __future__ import annotations

import atexit
import json
import os
import pickle
import subprocess
import sys
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

HOME = Path(sys.prefix) / "duckdb-1.5"

_PROGRAM = """
import json, os, pickle, sys
out = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)  # DuckDB draws a bar for what takes long, such as LOAD on a busy machine
import duckdb
home, *extensions = sys.argv[1:]
connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
for name in extensions:
    folder = f"{home}/duckdb_extension_{name}/extensions/v{duckdb.__version__}"
    connection.execute(f"LOAD '{folder}/{name}.duckdb_extension'")
connection.execute("SET TimeZone = 'UTC'; SET enable_external_file_cache = false")
for line in sys.stdin:
    try:
        found = connection.execute(json.loads(line)).fetch_arrow_table().to_pylist()
    except Exception as error:
        found = str(error)
    data = pickle.dumps(found)
    out.write(len(data).to_bytes(8) + data)
    out.flush()
"""


def delta_rows(root: str | os.PathLike[str], where: str = "true") -> list[dict[str, Any]] | str:
    """Return the rows that DuckDB reads of a Delta table, or why it cannot.

    Args:
        root: The table's folder.
        where: A condition, in SQL.
    """
    scan = f"delta_scan('{os.fspath(root)}')"
    return _duckdb("delta").ask(f"SELECT * FROM {scan} WHERE {where}")  # noqa: S608


def iceberg_rows(
    metadata: str, *, snapshot_id: int | None = None, where: str = "true"
) -> list[dict[str, Any]] | str:
    """Return the rows that DuckDB reads of an Iceberg table, or why it cannot.

    Args:
        metadata: The location of the table's metadata.
        snapshot_id: Of the snapshot; the current one by default.
        where: A condition, in SQL.
    """
    option = f", snapshot_from_id={snapshot_id}" if snapshot_id is not None else ""
    scan = f"iceberg_scan('{metadata}'{option})"
    return _duckdb("avro", "iceberg").ask(f"SELECT * FROM {scan} WHERE {where}")  # noqa: S608


class _Process:
    """A DuckDB that answers one question after the other."""

    def __init__(self, extensions: Sequence[str]) -> None:
        self._lock = Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, os.fspath(HOME), *extensions],
            env={**os.environ, "PYTHONPATH": os.fspath(HOME)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        atexit.register(self.end)

    def ask(self, query: str) -> list[dict[str, Any]] | str:
        """Return the rows of a query, or the words of an error.

        Raises:
            RuntimeError: If DuckDB does not live through it.
        """
        source, sink = self._process.stdout, self._process.stdin
        assert source is not None
        assert sink is not None
        with self._lock:
            sink.write(json.dumps(query).encode() + b"\n")
            sink.flush()
            head = source.read(8)
            if len(head) < 8:
                _duckdb.cache_clear()
                raise RuntimeError(f"DuckDB ended with {self._process.wait()} at {query}")
            answer: list[dict[str, Any]] | str = pickle.loads(  # noqa: S301  of the program above
                source.read(int.from_bytes(head))
            )
        return answer

    def end(self) -> None:
        """End the process."""
        with self._process:
            self._process.terminate()


@cache
def _duckdb(*extensions: str) -> _Process:
    return _Process(extensions)
