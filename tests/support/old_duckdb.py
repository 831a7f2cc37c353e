"""A Python whose DuckDB is 1.5.5, which loses rows of BLOB columns that have filters."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

HOME = Path(sys.prefix) / "duckdb-1.5"


def write_python(folder: Path) -> Path:
    """Write a program that runs this Python, with that DuckDB; return its path."""
    path = folder / "python"
    command = f'PYTHONPATH={shlex.quote(str(HOME))} exec {shlex.quote(sys.executable)} "$@"'
    path.write_text(f"#!/bin/sh\n{command}\n", encoding="utf-8")
    path.chmod(0o755)
    return path
