"""What other readers make of mutated files, in processes of their own that may crash or hang.

`python -m tests.torture.hostile.second_readers WHAT`, as `support.workers` has it. What a reader
does to a file without the package's help is its own affair: it says `passes` once it is through
with that. Then it must do the same to

- `pyarrow`: the rewritten file, read whole; and what it reads must be in the new filters,
- `duckdb`: the rewritten file, read whole,
- `read_table`: the same file, when the package's `read_table` chooses what pyarrow reads.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

import parquet_bloomwriter as pb
from tests.readers.engines import DuckDB
from tests.support.reading import read
from tests.support.workers import tell
from tests.torture.hostile.footers import mutant
from tests.torture.hostile.verbs import choice_of, faults_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.workers import Task

_SECONDS = 20
"""Of the clock, because pyarrow hangs without computing; a try takes milliseconds."""

_MEMORY_BYTES = 3 << 30
_OF_PYARROW = (OSError, pa.ArrowException)


def with_pyarrow(task: Task) -> list[str]:
    """Read both versions as `support.reading` does, unless pyarrow makes an invalid table."""
    old = Path(task["old"])
    if not _is_sound(old):
        return []
    found = read(old, {"bloomify": task["new"]}, [(row, leaf) for row, leaf in task["built"]])
    return found.problems


def _is_sound(path: Path) -> bool:
    """Whether pyarrow refuses the file, or makes a valid table of it, with names that are text."""
    try:
        table = pq.read_table(path, partitioning=None, use_threads=False)
    except Exception:  # noqa: BLE001  any refusal is an answer
        return True
    try:
        table.validate(full=True)
        str(table.schema)
        with pq.ParquetFile(path) as file:
            str(file.schema)
    except (OSError, pa.ArrowException, UnicodeDecodeError):
        return False
    return True


def with_duckdb(task: Task) -> list[str]:
    """Read both versions, if pyarrow reads the old one.

    Where pages end too early, DuckDB reads on in whatever lies behind their column chunk.
    """
    try:
        pq.read_table(task["old"], partitioning=None, use_threads=False)
    except Exception:  # noqa: BLE001  any refusal is an answer
        return []
    before = DuckDB().rows(Path(task["old"]))
    tell({"passes": task["path"]})
    after = DuckDB().rows(Path(task["new"]))  # an internal error of one spoils all of it
    return [] if before == after else [f"DuckDB read {before[:80]!r}, and now {after[:80]!r}"]


def with_read_table(task: Task) -> list[str]:
    """Read a mutated file with a condition, by pyarrow and by the package."""
    made = mutant(int(task["path"]))
    condition = choice_of(made.number, made.base).condition
    try:
        expected = pq.read_table(pa.BufferReader(made.data), filters=condition)
    except Exception as error:  # noqa: BLE001  pyarrow raises what it likes
        expected = error
    tell({"passes": task["path"]})
    try:
        pb.read_table(made.data, filters=condition)
    except pb.BloomwriterError as error:
        return faults_of(error)
    except Exception as error:  # noqa: BLE001  it may be pyarrow's own
        both_refuse = isinstance(expected, Exception) and isinstance(error, _OF_PYARROW)
        if not both_refuse and type(error) is not type(expected):
            return [f"{type(error).__name__}: {error}; pyarrow: {type(expected).__name__}"]
    return []


_READERS: dict[str, Callable[[Task], list[str]]] = {
    "pyarrow": with_pyarrow,
    "duckdb": with_duckdb,
    "read_table": with_read_table,
}


def main() -> None:
    """Work on one task per line of the standard input; end if one takes too long."""
    read = _READERS[sys.argv[1]]
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for line in sys.stdin:
        task = json.loads(line)
        tell({"begins": task["path"]})
        signal.alarm(_SECONDS)
        problems = read(task)
        signal.alarm(0)
        tell({"path": task["path"], "problems": problems})
    os._exit(0)  # How a reader takes itself down is its own affair.


if __name__ == "__main__":
    main()
