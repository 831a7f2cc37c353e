"""The manifest is read as it was written, or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_bloomwriter.errors import IndexProblem
from parquet_bloomwriter.index.format.manifest import FileTable, read_manifest, write_manifest

if TYPE_CHECKING:
    from pathlib import Path

INT64 = st.integers(-(2**63), 2**63 - 1)
ROWS = st.lists(st.tuples(INT64, st.text(), INT64, INT64, INT64))


def table_of(rows: list[tuple[int, str, int, int, int]]) -> FileTable:
    columns = list(zip(*rows, strict=True)) or [()] * 5
    numbers = [np.array(column, np.int64) for at, column in enumerate(columns) if at != 1]
    return FileTable(
        ids=numbers[0],
        paths=pa.array(columns[1], pa.string()),
        sizes=numbers[1],
        modified_ms=numbers[2],
        num_rows=numbers[3],
    )


def rows_of(table: FileTable) -> list[tuple[int, str, int, int, int]]:
    columns = [
        table.ids.tolist(),
        table.paths.to_pylist(),
        table.sizes.tolist(),
        table.modified_ms.tolist(),
        table.num_rows.tolist(),
    ]
    return list(zip(*columns, strict=True))


@given(rows=ROWS)
def test_round_trip(rows: list[tuple[int, str, int, int, int]], tmp_path_factory: object) -> None:
    path = tmp_path_factory.mktemp("m") / "manifest.bfindex"  # type: ignore[attr-defined]
    written = write_manifest(str(path), table_of(rows))
    assert written.size == path.stat().st_size
    for crc in (None, written.first_crc):
        assert rows_of(read_manifest(str(path), written.size, crc)) == rows


def test_anyone_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "manifest.bfindex"
    write_manifest(str(path), table_of([(7, "a=1/b.parquet", 100, 123456, 9)]))
    found = pq.read_table(path)
    assert found.schema == pa.schema(
        [
            pa.field("fileId", pa.int64(), nullable=False),
            pa.field("fileName", pa.string(), nullable=False),
            pa.field("size", pa.int64(), nullable=False),
            pa.field("modificationTime", pa.int64(), nullable=False),
            pa.field("numRows", pa.int64(), nullable=False),
        ]
    )
    assert [tuple(row.values()) for row in found.to_pylist()] == [
        (7, "a=1/b.parquet", 100, 123456, 9)
    ]


def test_a_manifest_is_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "manifest.bfindex"
    path.write_bytes(b"somebody's")
    with pytest.raises(FileExistsError):
        write_manifest(str(path), table_of([]))
    assert path.read_bytes() == b"somebody's"


@pytest.mark.parametrize("kept", [0, 3, 100, -1])
def test_what_is_cut_is_no_manifest(kept: int, tmp_path: Path) -> None:
    path = tmp_path / "manifest.bfindex"
    write_manifest(str(path), table_of([(1, "a", 2, 3, 4)]))
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(IndexProblem) as error:
        read_manifest(str(path))
    assert error.value.path == str(path)


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"fileId": [1]}),
        pa.table({name: [None] for name in ("fileId", "fileName", "size")}),
        pa.table(
            {
                "fileId": [1],
                "fileName": [b"a"],
                "size": [1],
                "modificationTime": [1],
                "numRows": [1],
            }
        ),
        pa.table(
            {
                "fileId": [1],
                "fileName": ["a"],
                "size": pa.array([None], pa.int64()),
                "modificationTime": [1],
                "numRows": [1],
            }
        ),
    ],
)
def test_another_parquet_file_is_no_manifest(table: pa.Table, tmp_path: Path) -> None:
    path = tmp_path / "manifest.bfindex"
    pq.write_table(table, path)
    with pytest.raises(IndexProblem):
        read_manifest(str(path))
