"""Read rewritten files with pyarrow, and look up the values it sees in the new filters.

Runs in a process of its own, `python -m tests.support.reading`, as `support.workers` has it,
because pyarrow aborts on some files. Nothing of the package under test is imported. A task has
the old file's `path`, its `new` versions by placement, and the chunks that were `built`.
"""

from __future__ import annotations

import json
import resource
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.support import compact
from tests.support.plain import leaf_arrays, plain_values
from tests.support.split_block import ReferenceFilter
from tests.support.workers import tell

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

_MAX_LOOKUPS = 1000
"""Values of one chunk that are looked up, evenly spread."""

_MEMORY_BYTES = 3 << 30


@dataclass(kw_only=True)
class Reading:
    """What pyarrow said to one file."""

    path: str
    readable: bool = False
    """Whether it reads the old file."""

    num_filters: int = 0
    """New filters whose values could be told."""

    num_lookups: int = 0
    problems: list[str] = field(default_factory=list)


def read(path: Path, new: dict[str, str], built: list[tuple[int, int]]) -> Reading:
    """Compare what pyarrow reads of the old file and of each new version."""
    result = Reading(path=str(path))
    before = _table(path)
    tell({"passes": str(path)})
    result.readable = isinstance(before, pa.Table)
    for placement, name in new.items():
        after = _table(Path(name))
        if not _same(before, after):
            result.problems.append(f"{placement}: {_brief(before)} became {_brief(after)}")
    if result.readable and new:
        _look_up(path, Path(next(iter(new.values()))), built, result)
    return result


def _table(path: Path) -> pa.Table | str:
    try:
        return pq.read_table(path, partitioning=None, use_threads=False)
    except Exception as error:  # noqa: BLE001  any refusal is an answer
        return type(error).__name__


def _same(before: pa.Table | str, after: pa.Table | str) -> bool:
    if isinstance(before, str) or isinstance(after, str):
        return isinstance(before, str) and isinstance(after, str) and before == after
    if not before.schema.equals(after.schema, check_metadata=True):
        return False
    return before.equals(after) or _encoded(before) == _encoded(after)


def _encoded(table: pa.Table) -> bytes:
    """Its bytes: NaN is not equal to itself, its bits are."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table.combine_chunks())
    encoded: bytes = sink.getvalue().to_pybytes()
    return encoded


def _brief(answer: pa.Table | str) -> str:
    return answer if isinstance(answer, str) else f"a table of {answer.num_rows} rows"


def _look_up(path: Path, new: Path, built: list[tuple[int, int]], result: Reading) -> None:
    data = new.read_bytes()
    places = compact.filters_of(compact.footer_of(data))
    with (
        pq.ParquetFile(path) as file,
        pq.ParquetFile(path, coerce_int96_timestamp_unit="s") as coarse,
    ):
        for row_group in sorted({place[0] for place in built}):
            for column, plain in _plain_columns(file, coarse, row_group):
                if (row_group, column) not in built:
                    continue
                offset, length = places[row_group, column]
                filter_ = ReferenceFilter.parse(data[offset : offset + (length or 0)])
                missing = [value for value in plain if not filter_.contains(value)]
                result.num_filters += 1
                result.num_lookups += len(plain)
                if missing:
                    result.problems.append(
                        f"row group {row_group}, leaf {column}: {len(missing)} of {len(plain)} "
                        f"values are not in the filter, such as {missing[0][:40]!r}"
                    )


def _plain_columns(
    file: pq.ParquetFile, coarse: pq.ParquetFile, row_group: int
) -> Iterator[tuple[int, list[bytes]]]:
    """PLAIN bytes of some values of each leaf whose values can be told."""
    leaves, wrapped = _leaves(file, row_group), None
    if len(leaves) != len(file.schema):
        return
    for ordinal, leaf in enumerate(leaves):
        column = file.schema.column(ordinal)
        values = leaf
        if column.physical_type == "INT96":
            wrapped = wrapped or _leaves(coarse, row_group)  # nanoseconds wrap around
            values = leaf.filter(pa.array(_seconds(leaf, 10**9) == _seconds(wrapped[ordinal], 1)))
        plain = plain_values(values[:: 1 + len(values) // _MAX_LOOKUPS], column)
        if plain is not None:
            yield ordinal, list(dict.fromkeys(plain))


def _leaves(file: pq.ParquetFile, row_group: int) -> list[pa.Array]:
    table = file.read_row_group(row_group, use_threads=False)
    return [leaf for column in table.columns for leaf in leaf_arrays(_whole(column))]


def _seconds(array: pa.Array, per_second: int) -> NDArray[np.int64]:
    numbers: NDArray[np.int64] = array.cast(pa.int64()).to_numpy()
    return numbers // per_second


def _whole(column: pa.ChunkedArray) -> pa.Array:
    whole = column.combine_chunks()
    return whole if isinstance(whole, pa.Array) else pa.concat_arrays(whole.chunks)


def main() -> None:
    """Work on one task per line of the standard input."""
    # Not the address space: allocators reserve more of that than they use.
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY_BYTES, _MEMORY_BYTES))
    for line in sys.stdin:
        task: dict[str, Any] = json.loads(line)
        tell({"begins": task["path"]})
        built = [tuple(place) for place in task["built"]]
        tell(asdict(read(Path(task["path"]), task["new"], built)))


if __name__ == "__main__":
    main()
