"""What other readers make of mutated files, in processes of their own that may crash or hang.

What a reader does to a file without the package's help is its own affair: a try says `passes` once
it is through with that. Then the reader must do the same to

- `pyarrow`: the rewritten file, read whole; and what it reads must be in the new filters,
- `duckdb`: the rewritten file, read whole,
- `read_table`: the same file, when the package chooses what pyarrow reads. Here the package comes
  first, and must not hang or crash, even if pyarrow does so by itself.
"""

from __future__ import annotations

import resource
import signal
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

import parquet_bloomwriter as pb
from campaigns.harness import Result
from campaigns.hostile.footers import mutant
from campaigns.hostile.holding import decoded
from campaigns.hostile.limits import in_memory
from campaigns.hostile.verbs import choice_of, faults_of, is_foreign
from tests.readers.engines import DuckDB
from tests.support.reading import read
from tests.support.workers import tell

if TYPE_CHECKING:
    from collections.abc import Callable

    from campaigns.hostile.footers import Mutant

    Condition: TypeAlias = list[tuple[str, str, object]]

_SECONDS = 20
"""Of the clock, because pyarrow hangs without computing; a try takes milliseconds."""

_MEMORY_BYTES = 3 << 30
_OF_PYARROW = (OSError, pa.ArrowException)


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """A mutant, rewritten."""

    old: Path
    new: Path
    built: list[tuple[int, int]]
    """Row group and leaf of each chunk that got a filter which the independent reader knows."""


class SecondReaders:
    """Reads one file after the other; a process ends if one takes too long."""

    def __init__(self) -> None:
        """Keep the process within its bounds."""
        resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY_BYTES, _MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def attempt(self, name: str, number: int, show: Callable[[str], None]) -> Result:
        """Have one mutant read, if it can be rewritten."""
        reader = name.partition("/")[0]
        made = mutant(number)
        show(f"{made.base.name}, {made.how}")
        with tempfile.TemporaryDirectory(dir=in_memory()) as folder:
            versions = None if reader == "read_table" else _versions(made, Path(folder))
            if reader != "read_table" and versions is None:
                return Result(name=name, tried=0)
            signal.alarm(_SECONDS)
            problems = READERS[reader](name, made, versions)
            signal.alarm(0)
        return Result(name=name, problems=tuple(problems))


def _versions(made: Mutant, folder: Path) -> Versions | None:
    """Rewrite a mutant; None if it is refused, or Thrift's own classes cannot read its footer."""
    choice = choice_of(made.number, made.base)
    try:
        report = pb.bloomify(made.data, choice.columns, **choice.options)
    except pb.BloomwriterError:
        return None
    if not report.written or decoded(made.data) is None:
        return None
    old, new = folder / "old.parquet", folder / "new.parquet"
    old.write_bytes(made.data)
    new.write_bytes(report.data or b"")
    built = [(one.row_group, column.ordinal) for column in report.columns for one in column.built]
    return Versions(old=old, new=new, built=[] if is_foreign(choice) else built)


def with_pyarrow(_: str, __: Mutant, versions: Versions) -> list[str]:
    """Read both versions as `support.reading` does, unless pyarrow makes an invalid table."""
    if not _is_sound(versions.old):
        return []
    return read(versions.old, {"bloomify": str(versions.new)}, versions.built).problems


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


def with_duckdb(name: str, _: Mutant, versions: Versions) -> list[str]:
    """Read both versions, if pyarrow reads the old one.

    Where pages end too early, DuckDB reads on in whatever lies behind their column chunk.
    """
    try:
        pq.read_table(versions.old, partitioning=None, use_threads=False)
    except Exception:  # noqa: BLE001  any refusal is an answer
        return []
    before = DuckDB().rows(versions.old)
    tell({"passes": name})
    after = DuckDB().rows(versions.new)  # an internal error of one spoils all of it
    return [] if before == after else [f"DuckDB read {before[:80]!r}, and now {after[:80]!r}"]


def with_read_table(name: str, made: Mutant, _: None) -> list[str]:
    """Read a mutated file with a condition, by the package and then by pyarrow.

    The package must neither hang nor crash, also where pyarrow does so by itself.
    """
    condition = choice_of(made.number, made.base).condition
    problems: list[str] = []
    ends: list[Exception] = []
    tell({"passes": name})
    for verb, read_rows in _OURS.items():
        try:
            read_rows(made.data, condition)
        except pb.BloomwriterError as error:
            problems += [f"{verb}: {fault}" for fault in faults_of(error)]
        except Exception as error:  # noqa: BLE001  it may be pyarrow's own
            ends.append(error)
    tell({"begins": name})
    foreign = [error for error in ends if not isinstance(error, _OF_PYARROW)]
    if not foreign:
        return problems
    try:
        pq.read_table(pa.BufferReader(made.data), filters=condition)
    except Exception as error:  # noqa: BLE001  pyarrow raises what it likes
        foreign = [one for one in foreign if type(one) is not type(error)]
    return problems + [f"{type(error).__name__}: {error}" for error in foreign]


def _read_dataset(data: bytes, condition: Condition | None) -> None:
    """Let pyarrow filter the rows of a dataset, as other engines do."""
    rows = None if condition is None else pq.filters_to_expression(condition)
    pb.dataset(data, filters=condition).to_table()
    pb.dataset(data, filters=condition, filter_rows=False).to_table(filter=rows)


_OURS: dict[str, Callable[[bytes, Condition | None], object]] = {
    "read_table": lambda data, condition: pb.read_table(data, filters=condition),
    "iter_batches": lambda data, condition: list(pb.iter_batches(data, filters=condition)),
    "dataset": _read_dataset,
}
"""The verbs that give files to pyarrow together with a condition."""


READERS: dict[str, Callable[[str, Mutant, Any], list[str]]] = {
    "pyarrow": with_pyarrow,
    "duckdb": with_duckdb,
    "read_table": with_read_table,
}
"""Each takes the name of the try, the mutant and its versions, and returns what is wrong."""
