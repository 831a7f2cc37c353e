"""The columns of parts, and how parts are written."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parquet_bloomwriter.compact.scan import StructKind, StructSchema, scan
from parquet_bloomwriter.index.files import FileId
from parquet_bloomwriter.index.format import part_writer
from parquet_bloomwriter.index.format.columns import column_type, leaf_of
from parquet_bloomwriter.index.format.part_writer import PartRow, PartWriter, column_folder
from parquet_bloomwriter.kernels.layout import I32, STRUCT
from parquet_bloomwriter.metadata import PhysicalType
from parquet_bloomwriter.sbbf import encode_header
from tests.support.binding import bare_leaf

if TYPE_CHECKING:
    from parquet_bloomwriter.index.engine import PartInfo


def with_header(bits: bytes) -> bytes:
    """Return a filter with these bits."""
    return encode_header(len(bits)) + bits


FILTER = with_header(bytes(range(32)))

INT64 = st.integers(-(2**63), 2**63 - 1)
INT32 = st.integers(-(2**31), 2**31 - 1)
ROWS = st.lists(
    st.builds(
        PartRow,
        file_id=INT64,
        file=st.builds(FileId, path=st.text(), size=INT64, modified_ms=INT64),
        row_group=INT32,
        column_type=st.sampled_from(["{}", '{"path":["a"]}', "ü"]),
        num_values=INT64,
        ndv=INT64,
        data=st.one_of(
            st.just(b""),
            st.integers(1, 9).flatmap(
                lambda z: st.binary(min_size=32 * z, max_size=32 * z).map(with_header)
            ),
        ),
    ),
    max_size=60,
)

GARBLED = column_type(bare_leaf(PhysicalType.INT32)).replace("INT32", "INT3")

PAGE_HEADER = StructSchema.of(
    {
        "PageHeader": StructKind(
            slots={1: (1, I32), 2: (2, I32), 3: (3, I32), 5: (4, STRUCT)},
            children={5: "DataPageHeader"},
        ),
        "DataPageHeader": StructKind(slots={1: (5, I32), 2: (6, I32)}, shares_row=True),
    }
)


def row(number: int, data: bytes = FILTER) -> PartRow:
    return PartRow(
        file_id=number,
        file=FileId(f"f{number}", 1, 2),
        row_group=-1,
        column_type="{}",
        num_values=3,
        ndv=2,
        data=data,
    )


def written(folder: Path, rows: list[PartRow], column: str = "id") -> PartInfo | None:
    with PartWriter(str(folder), column) as writer:
        for one in rows:
            writer.append(one)
        return writer.close()


@pytest.fixture
def small_row_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part_writer, "_ROW_GROUP_BYTES", 1000)
    monkeypatch.setattr(part_writer, "_ROW_GROUP_ROWS", 16)


@settings(max_examples=25)
@given(rows=ROWS)
@pytest.mark.usefixtures("small_row_groups")
def test_what_is_appended_is_read(
    rows: list[PartRow], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("ix") / "v__=3"
    info = written(folder, rows)
    if info is None:
        assert not rows
        return
    path = folder.parent / info.file.path
    assert (info.column, info.num_rows, info.file.size) == ("id", len(rows), path.stat().st_size)
    found = pq.read_table(path).to_pylist()
    assert [tuple(one.values())[:-1] for one in found] == [
        (
            one.file.path,
            one.data,
            one.file_id,
            one.file.size,
            one.file.modified_ms,
            one.row_group,
            one.column_type,
            len(one.data),
            one.num_values,
            one.ndv,
        )
        for one in rows
    ]


@settings(max_examples=25)
@given(rows=ROWS)
@pytest.mark.usefixtures("small_row_groups")
def test_every_filter_lies_where_the_lengths_say(
    rows: list[PartRow], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("ix") / "v__=0"
    info = written(folder, rows)
    if info is None:
        return
    path = folder.parent / info.file.path
    assert walk(path.read_bytes(), pq.read_metadata(path)) == [one.data for one in rows]


def walk(data: bytes, metadata: pq.FileMetaData) -> list[bytes]:
    """All values of BFBinary, page by page, without a Parquet reader."""
    values: list[bytes] = []
    for number in range(metadata.num_row_groups):
        chunk = metadata.row_group(number).column(1)
        assert chunk.path_in_schema == "BFBinary"
        assert (chunk.compression, chunk.has_dictionary_page) == ("UNCOMPRESSED", False)
        assert chunk.statistics is None
        start = chunk.data_page_offset
        page = data[start : start + chunk.total_compressed_size]
        header = scan(page[:200], PAGE_HEADER)
        kind, size, stored, _, count, encoding = header.values[0, 1:7].tolist()
        assert (kind, encoding) == (0, 0)  # DATA_PAGE, PLAIN
        assert count == metadata.row_group(number).num_rows
        assert header.stop + size == len(page) == header.stop + stored
        at = header.stop
        for _ in range(count):
            length = int.from_bytes(page[at : at + 4], "little")
            values.append(page[at + 4 : at + 4 + length])
            at += 4 + length
        assert at == len(page)
    return values


def test_many_small_filters_have_one_page_in_each_row_group(tmp_path: Path) -> None:
    rows = [row(number, with_header(number.to_bytes(32, "big"))) for number in range(150_000)]
    info = written(tmp_path / "v__=0", rows)
    assert info is not None
    path = tmp_path / info.file.path
    metadata = pq.read_metadata(path)
    assert walk(path.read_bytes(), metadata) == [one.data for one in rows]
    assert metadata.num_row_groups == 3


def test_row_groups_are_of_bounded_size(tmp_path: Path) -> None:
    sizes = [12 << 20, 3 << 20, 3 << 20, 20 << 20, 32]
    rows = [row(number, with_header(bytes(size))) for number, size in enumerate(sizes)]
    info = written(tmp_path / "v__=0", rows)
    assert info is not None
    path = tmp_path / info.file.path
    metadata = pq.read_metadata(path)
    counts = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
    assert counts == [2, 1, 1, 1]
    assert walk(path.read_bytes(), metadata) == [one.data for one in rows]


def test_anyone_can_read_it(tmp_path: Path) -> None:
    info = written(tmp_path / "v__=0", [row(1)])
    assert info is not None
    found = pq.read_table(tmp_path / info.file.path)
    assert found.schema.names[:2] == ["fileName", "BFBinary"]
    assert found.schema == part_writer.schema()
    assert [field.name for field in found.schema if field.nullable] == ["BFChecks"]


def test_names_are_those_of_an_index(tmp_path: Path) -> None:
    info = written(tmp_path / "v__=12", [row(1)], column="s.x")
    assert info is not None
    pattern = r"v__=12/column=s\.x/part-[0-9a-f-]{36}\.bfindex"
    assert re.fullmatch(pattern, info.file.path)


@pytest.mark.parametrize("column", ["a/b", "..", "a\\b:*", "é" * 300, "x" * 500, "\x00", "a b"])
def test_any_name_of_a_column_makes_a_folder(column: str, tmp_path: Path) -> None:
    info = written(tmp_path / "v__=0", [row(1)], column=column)
    assert info is not None
    assert info.column == column
    assert (tmp_path / info.file.path).parent.parent == tmp_path / "v__=0"
    assert pq.read_table(tmp_path / info.file.path).num_rows == 1


def test_long_names_that_begin_alike_make_different_folders() -> None:
    assert column_folder("v", "x" * 300) != column_folder("v", "x" * 301)


def test_nothing_is_written_of_nothing(tmp_path: Path) -> None:
    assert written(tmp_path / "v__=0", []) is None
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.usefixtures("small_row_groups")
def test_a_part_that_is_not_closed_is_removed(tmp_path: Path) -> None:
    with PartWriter(str(tmp_path / "v__=0"), "id") as writer:
        for number in range(40):
            writer.append(row(number))
        assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_full_disk_is_an_error_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "v__=0" / "column=id").mkdir(parents=True)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        written(tmp_path / "v__=0", [row(1)])
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_parts_are_on_the_disk_before_they_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    real = os.fsync

    def record(fd: int) -> None:
        synced.append(str(Path(f"/proc/self/fd/{fd}").readlink()))
        real(fd)

    monkeypatch.setattr(os, "fsync", record)
    info = written(tmp_path / "v__=0", [row(1)])
    assert info is not None
    path = tmp_path / info.file.path
    assert synced[-2:] == [str(path), str(path.parent)]
    assert str(path.parent.parent) in synced


def test_types_of_columns_round_trip() -> None:
    leaves = [
        bare_leaf(kind, name=name, converted_type=converted)
        for kind in PhysicalType
        for name in ("a", "ü.x", "\\xff")
        for converted in (None, 5)
    ]
    for leaf in leaves:
        assert leaf_of(column_type(leaf)) == leaf


@pytest.mark.parametrize("text", ["", "{}", "[]", "1", '{"path":1}', GARBLED])
def test_garbage_is_no_type(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  no more is promised
        leaf_of(text)


def test_the_schema_is_what_the_head_of_the_module_says() -> None:
    kinds = {field.name: field.type for field in part_writer.schema()}
    assert kinds == {
        "fileName": pa.string(),
        "BFBinary": pa.binary(),
        "fileId": pa.int64(),
        "size": pa.int64(),
        "modificationTime": pa.int64(),
        "rowGroup": pa.int32(),
        "columnType": pa.string(),
        "numBytes": pa.int32(),
        "numValues": pa.int64(),
        "ndv": pa.int64(),
        "BFChecks": pa.binary(),
    }
