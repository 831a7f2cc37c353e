"""DuckDB's reader of Delta tables, in a process of its own: a path a line, and its rows as JSON.

DuckDB 1.5 stands in a folder beside the environment, which has no extension for Delta.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import duckdb


def main() -> None:
    """Answer until there are no more lines."""
    folder = Path(sys.argv[1]) / "duckdb_extension_delta" / "extensions"
    connection: Any = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    connection.execute(f"LOAD '{folder}/v{duckdb.__version__}/delta.duckdb_extension'")
    for line in sys.stdin:
        query = f"SELECT id, email, day FROM delta_scan('{json.loads(line)}')"  # noqa: S608
        try:
            answer = sorted(map(repr, connection.execute(query).fetchall()))
        except Exception as error:  # noqa: BLE001  told to who asked
            answer = [f"{type(error).__name__}: {error}"]
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
