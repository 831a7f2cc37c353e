"""The positions of filters in a part, and broken parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_bloomwriter.compact.varint import encode_zigzag
from parquet_bloomwriter.errors import BloomwriterError, IndexProblem
from parquet_bloomwriter.index.entry import IndexFile
from parquet_bloomwriter.index.format.columns import column_type
from parquet_bloomwriter.index.format.part_reader import read_part
from tests.index.support import INT32, INT64, Row, filled, hashes, part_table, write_part

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from parquet_bloomwriter.index.format.part_reader import Part

ROWS = [
    Row(file_id=4, filter=filled(2, hashes(0, 5)), ndv=5),
    Row(file_id=2, filter=None, leaf=INT32, ndv=0),
    Row(file_id=9, filter=filled(300, hashes(1, 50)), row_group=0),
    Row(file_id=9, filter=filled(1, hashes(2, 1)), row_group=1),
]


def written(
    folder: Path,
    row_groups: Sequence[Sequence[Row]] = (ROWS,),
    **options: Any,  # noqa: ANN401  pyarrow's own
) -> Path:
    path = folder / "part.bfindex"
    write_part(str(path), [part_table(rows) for rows in row_groups], **options)
    return path


def read(path: Path) -> Part:
    return read_part(str(path), IndexFile(path=path.name, size=path.stat().st_size))


def filters_in(path: Path) -> list[bytes]:
    """Return the bytes at the positions."""
    part, data = read(path), path.read_bytes()
    places = zip(part.starts.tolist(), part.num_bytes.tolist(), strict=True)
    return [data[start : start + length] for start, length in places]


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@given(groups=st.lists(st.lists(st.sampled_from(ROWS), max_size=6), max_size=4))
def test_every_filter_lies_where_it_is_said_to(
    tmp_path_factory: pytest.TempPathFactory, version: str, groups: list[list[Row]]
) -> None:
    path = written(tmp_path_factory.mktemp("part"), groups, data_page_version=version)
    assert filters_in(path) == [row.data for rows in groups for row in rows]


def test_all_else_is_read_as_it_is(tmp_path: Path) -> None:
    part = read(written(tmp_path, [ROWS[:3], ROWS[3:]]))
    assert part.path == str(tmp_path / "part.bfindex")
    assert part.file_ids.tolist() == [4, 2, 9, 9]
    assert part.sizes.tolist() == [1004, 1002, 1009, 1009]
    assert part.modified_ms.tolist() == [5004, 5002, 5009, 5009]
    assert part.row_groups.tolist() == [-1, -1, 0, 1]
    kinds = [part.types[one] for one in part.type_of.tolist()]
    assert kinds == [column_type(leaf) for leaf in (INT64, INT32, INT64, INT64)]
    assert part.num_values.tolist() == [5, 0, 1, 1]
    assert part.ndv.tolist() == [5, 0, -1, -1]
    assert part.starts[1] == 0


def test_large_filters_have_pages_of_their_own(tmp_path: Path) -> None:
    large = Row(file_id=1, filter=filled(1 << 16, hashes(3, 10)))
    assert filters_in(written(tmp_path, [[large], [large, ROWS[0]]])) == [
        large.data,
        large.data,
        ROWS[0].data,
    ]


@pytest.mark.parametrize(
    "options",
    [
        {"compression": "zstd"},
        {"use_dictionary": True},
        {"data_page_size": 40, "write_batch_size": 1},
        {"use_dictionary": [], "column_encoding": {"BFBinary": "DELTA_BYTE_ARRAY"}},
        {"use_dictionary": [], "column_encoding": {"BFBinary": "DELTA_LENGTH_BYTE_ARRAY"}},
    ],
)
def test_other_encodings_are_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    path = written(tmp_path, **options)
    with pytest.raises(IndexProblem) as caught:
        read(path)
    assert caught.value.path == str(path)


@pytest.mark.parametrize("name", ["BFBinary", "fileId", "numBytes"])
def test_columns_that_may_be_null_are_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "part.bfindex"
    table = part_table(ROWS)
    place = table.schema.get_field_index(name)
    values = [None, *table[name].to_pylist()[1:]]
    schema = table.schema.set(place, table.schema.field(name).with_nullable(True))  # noqa: FBT003
    table = table.set_column(place, schema.field(name), pa.array(values, schema.field(name).type))
    write_part(str(path), [table], schema=schema)
    with pytest.raises(IndexProblem):
        read(path)


@pytest.mark.parametrize("name", [*part_table(ROWS).schema.names])
def test_missing_columns_are_refused(tmp_path: Path, name: str) -> None:
    table = part_table(ROWS).drop_columns([name])
    path = tmp_path / "part.bfindex"
    write_part(str(path), [table], schema=table.schema, compression="none")
    if name == "fileName":
        assert len(read(path).starts) == len(ROWS)
    else:
        with pytest.raises(BloomwriterError):
            read(path)


def test_types_that_are_no_text_are_refused(tmp_path: Path) -> None:
    table, path = part_table(ROWS), tmp_path / "part.bfindex"
    place = table.schema.get_field_index("columnType")
    table = table.set_column(place, "columnType", pa.array(range(len(ROWS))))
    write_part(str(path), [table], schema=table.schema)
    with pytest.raises(IndexProblem, match="columnType is not text"):
        read(path)


@pytest.mark.parametrize("wrong", [0, -1, 1, 79, 1 << 30])
def test_wrong_lengths_are_refused(tmp_path: Path, wrong: int) -> None:
    path = tmp_path / "part.bfindex"
    table = part_table(ROWS)
    lengths = table["numBytes"].to_pylist()
    place = table.schema.get_field_index("numBytes")
    other = pa.array([wrong, *lengths[1:]], pa.int32())
    write_part(str(path), [table.set_column(place, table.schema.field(place), other)])
    with pytest.raises(IndexProblem):
        read(path)


def test_swapped_lengths_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "part.bfindex"
    table = part_table(ROWS)
    place = table.schema.get_field_index("numBytes")
    other = pa.array(table["numBytes"].to_pylist()[::-1], pa.int32())
    write_part(str(path), [table.set_column(place, table.schema.field(place), other)])
    with pytest.raises(IndexProblem):
        read(path)


def test_another_size_than_was_written_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path)
    with pytest.raises(IndexProblem, match="bytes, and"):
        read_part(str(path), IndexFile(path=path.name, size=path.stat().st_size + 1))


def test_cut_files_are_refused_even_if_their_size_was_written(tmp_path: Path) -> None:
    path = written(tmp_path)
    data = path.read_bytes()
    for stop in range(0, len(data), 97):
        path.write_bytes(data[:stop])
        with pytest.raises(BloomwriterError):
            read(path)


def test_no_flipped_bit_of_a_page_header_moves_a_filter(tmp_path: Path) -> None:
    path = written(tmp_path)
    data, expected = path.read_bytes(), read(path).starts
    chunk = pq.read_metadata(path).row_group(0).column(1)
    header = range(chunk.data_page_offset, int(expected[0]))
    outcomes = set()
    for byte in header:
        for bit in range(8):
            flipped = bytearray(data)
            flipped[byte] ^= 1 << bit
            path.write_bytes(flipped)
            try:
                found = read(path).starts
            except IndexProblem as error:
                outcomes.add("refused" if error.path == str(path) else "refused without its path")
            else:
                outcomes.add("same")
                assert np.array_equal(found, expected)
    assert "refused" in outcomes
    assert outcomes <= {"refused", "same"}


@pytest.mark.parametrize("which", ["uncompressed", "compressed"])
@pytest.mark.parametrize("wrong", [-1, 1])
def test_a_page_of_another_size_than_its_filters_is_refused(
    tmp_path: Path, which: str, wrong: int
) -> None:
    path = written(tmp_path)
    data, size = path.read_bytes(), sum(4 + len(row.data) for row in ROWS)
    field, changed = (b"\x15" + encode_zigzag(number) for number in (size, size + wrong))
    assert data.count(2 * field) == 1
    new = changed + field if which == "uncompressed" else field + changed
    path.write_bytes(data.replace(2 * field, new))
    with pytest.raises(IndexProblem, match="a page has"):
        read(path)


@pytest.mark.parametrize(
    ("version", "before", "after"),
    [
        ("1.0", "2c 1508 1500", "2c 1506 1500"),
        ("1.0", "2c 1508 1500", "2c 150a 1500"),
        ("1.0", "2c 1508 1500", "2c 1508 1504"),
        ("1.0", "1500 15c0", "1504 15c0"),
        ("2.0", "5c 1508 1500 1508 1500", "5c 1506 1500 1508 1500"),
        ("2.0", "5c 1508 1500 1508 1500", "5c 150a 1500 1508 1500"),
        ("2.0", "5c 1508 1500 1508 1500", "5c 1508 1500 1508 1504"),
        ("2.0", "1508 1500 1500 1500", "1508 1500 1502 1500"),
        ("2.0", "1508 1500 1500 1500", "1508 1500 1500 1502"),
        ("2.0", "1506 15c0", "1504 15c0"),
    ],
)
def test_a_page_of_another_kind_is_refused(
    tmp_path: Path, version: str, before: str, after: str
) -> None:
    """Fewer rows, more rows, another encoding, levels, or no data page at all."""
    path = written(tmp_path, data_page_version=version)
    start = pq.read_metadata(path).row_group(0).column(1).data_page_offset
    data, old = path.read_bytes(), bytes.fromhex(before)
    assert data[start : start + 40].count(old) == 1
    path.write_bytes(data[:start] + data[start:].replace(old, bytes.fromhex(after), 1))
    with pytest.raises(IndexProblem, match="a page is not PLAIN, or holds other rows"):
        read(path)


@pytest.mark.parametrize("is_missing", [False, True])
def test_values_without_a_filter_are_refused(tmp_path: Path, is_missing: bool) -> None:  # noqa: FBT001
    path = tmp_path / "part.bfindex"
    table = part_table(ROWS)
    place = table.schema.get_field_index("numValues")
    other = pa.array([5, int(is_missing), 1, 1], pa.int64())
    write_part(str(path), [table.set_column(place, table.schema.field(place), other)])
    if is_missing:
        with pytest.raises(IndexProblem, match="a filter is missing"):
            read(path)
    else:
        assert read(path).num_values.tolist() == [5, 0, 1, 1]
