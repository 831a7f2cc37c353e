"""Groups of files built for a test; the result is read back by pyarrow."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from parquet_bloomwriter.hashing import xxh64
from parquet_bloomwriter.index.build.group import build_group
from parquet_bloomwriter.index.engine import (
    BuildPlan,
    ColumnPlan,
    FileTask,
    GroupResult,
    PartialFilter,
)
from parquet_bloomwriter.index.table.data_files import list_files
from parquet_bloomwriter.sbbf import Sbbf

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from parquet_bloomwriter.index.engine import Origin
    from parquet_bloomwriter.index.entry import IndexFile
    from parquet_bloomwriter.index.files import FileId

GLOBAL_BLOCKS = 1 << 12

PLAIN: dict[pa.DataType, Callable[[Any], bytes]] = {
    pa.int32(): lambda value: struct.pack("<i", value),
    pa.int64(): lambda value: struct.pack("<q", value),
    pa.float64(): lambda value: struct.pack("<d", value),
    pa.string(): lambda value: value.encode(),
}
POOLS = {
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float64(): st.floats(),
    pa.string(): st.text(max_size=8),
}


def hash_of(kind: pa.DataType, value: object) -> int:
    return xxh64(PLAIN[kind](value))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Built:
    """The files that were built."""

    folder: Path
    """The version's."""

    tasks: tuple[FileTask, ...]
    result: GroupResult

    def rows(self, column: str) -> list[dict[str, Any]]:
        """The rows of a column's part, by file and row group."""
        rows: list[dict[str, Any]] = []
        for part in self.result.parts:
            if part.column == column:
                table = pq.read_table(self.path_of(part.file.path))
                rows += table.drop_columns("BFChecks").to_pylist()
        return sorted(rows, key=lambda row: (row["fileName"], row["rowGroup"]))

    def filters(self, column: str) -> dict[str, list[Sbbf | None]]:
        """By file: its filters."""
        filters: dict[str, list[Sbbf | None]] = {}
        for row in self.rows(column):
            data = row["BFBinary"]
            filters.setdefault(row["fileName"], []).append(Sbbf.from_bytes(data) if data else None)
        return filters

    def partial(self, column: str) -> Sbbf:
        """The partial filter of all values."""
        (part,) = [part for part in self.result.partials if part.column == column]
        if isinstance(part, PartialFilter):
            return part.bits
        return Sbbf.from_bytes(self.path_of(part.file.path).read_bytes())

    def partials(self, column: str) -> list[IndexFile | Sbbf]:
        """Partial filters that are in memory, and the files of the others."""
        return [
            part.bits if isinstance(part, PartialFilter) else part.file
            for part in self.result.partials
            if part.column == column
        ]

    def reasons(self) -> dict[tuple[str, str], str]:
        """By file and column: why there is no filter."""
        return {(one.path, one.column): one.reason for one in self.result.unindexed}

    def path_of(self, relative: str) -> Path:
        """Where a file of the index is."""
        return self.folder.parent / relative


def write(folder: Path, files: Mapping[str, pa.Table], **options: Any) -> None:  # noqa: ANN401
    """Write the files of a table."""
    for name, table in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path, **options)


def build(  # noqa: PLR0913  what a test varies
    root: Path,
    out: Path,
    *columns: str,
    origin: Origin = "values",
    fpp: float = 0.01,
    max_bytes: int = 1 << 20,
    global_blocks: int | None = GLOBAL_BLOCKS,
    files: Sequence[FileId] | None = None,
    done: Callable[[FileTask], None] | None = None,
) -> Built:
    """Build the filters of all files of a folder, as one group."""
    tasks, plan = planned(
        root,
        out,
        [
            ColumnPlan(name=name, fpp=fpp, max_bytes=max_bytes, global_blocks=global_blocks)
            for name in columns
        ],
        origin=origin,
        files=files,
    )
    return Built(folder=out / "ix" / "v__=0", tasks=tasks, result=build_group(tasks, plan, done))


def planned(
    root: Path,
    out: Path,
    columns: Sequence[ColumnPlan],
    *,
    origin: Origin = "values",
    files: Sequence[FileId] | None = None,
) -> tuple[tuple[FileTask, ...], BuildPlan]:
    """Plan to build."""
    folder = out / "ix" / "v__=0"
    folder.mkdir(parents=True, exist_ok=True)
    tasks = tuple(
        FileTask(file_id=10 + number, file=file, num_rows=-1)
        for number, file in enumerate(list_files(str(root)) if files is None else files)
    )
    plan = BuildPlan(root=str(root), folder=str(folder), columns=tuple(columns), origin=origin)
    return tasks, plan


@st.composite
def tables(draw: st.DrawFn) -> dict[str, pa.Table]:
    """Files of one table with a column `x`."""
    kind = draw(st.sampled_from(list(PLAIN)))
    values = st.lists(st.none() | POOLS[kind], max_size=200)
    files = draw(st.lists(values, min_size=1, max_size=4))
    return {
        f"f{number}.parquet": pa.table({"x": pa.array(column, kind)})
        for number, column in enumerate(files)
    }


def overwrite(path: Path, at: int, data: bytes) -> None:
    content = bytearray(path.read_bytes())
    content[at : at + len(data)] = data
    path.write_bytes(content)
