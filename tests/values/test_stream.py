"""Values as they are stored, for every type, nesting, encoding, page kind and codec."""

from __future__ import annotations

import decimal
import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parquet_bloomwriter.metadata import PhysicalType, Repetition, parse_footer
from parquet_bloomwriter.metadata.encodings import is_fully_dictionary_encoded
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.source import BufferSource, FileSource
from parquet_bloomwriter.values import LeafReader, stream
from parquet_bloomwriter.values.second_footer import physical_metadata
from tests.metadata.synthetic import column_chunk, column_metadata, file_metadata
from tests.values.stored import physical, stored
from tests.verbs.files import created_by, footer_of, people, with_num_rows, with_number, written

FIXTURES = sorted((Path(__file__).resolve().parents[2] / "fixtures").glob("*/*.parquet"))
CODECS = ("none", "snappy", "gzip", "brotli", "lz4", "zstd")
ARROW_TYPES = {
    PhysicalType.INT32: pa.int32(),
    PhysicalType.INT64: pa.int64(),
    PhysicalType.FLOAT: pa.float32(),
    PhysicalType.DOUBLE: pa.float64(),
    PhysicalType.BYTE_ARRAY: pa.large_binary(),
    PhysicalType.INT96: pa.binary(12),
}


def arrays(data: bytes, ordinal: int, row_group: int = 0) -> list[pa.Array]:
    footer = footer_of(data)
    reader = LeafReader(BufferSource(data), footer, footer.leaves[ordinal])
    return list(reader.batches(row_group))


def values(data: bytes, ordinal: int, row_group: int = 0) -> list[bytes]:
    return [value for array in arrays(data, ordinal, row_group) for value in physical(array)]


# ---------------------------------------------------------------- every writer's flat columns


@pytest.mark.parametrize(
    "path", FIXTURES, ids=[f"{path.parent.name}/{path.stem}" for path in FIXTURES]
)
def test_flat_columns_of_every_writer(path: Path) -> None:
    data = path.read_bytes()
    footer = footer_of(data)
    file = pq.ParquetFile(io.BytesIO(data))
    compared = 0
    for leaf in footer.leaves:
        convertible = not leaf.is_interval and leaf.physical_type != PhysicalType.BOOLEAN
        if len(leaf.path) > 1 or Repetition.REPEATED in leaf.repetitions or not convertible:
            continue
        for row_group in range(footer.num_row_groups):
            column = file.read_row_group(row_group).column(file.schema_arrow.names.index(leaf.name))
            expected = [v for chunk in column.chunks for v in stored(chunk, leaf)]
            found = values(data, leaf.ordinal, row_group)
            from_dictionary = is_fully_dictionary_encoded(footer, row_group, leaf.ordinal)
            if from_dictionary:
                assert set(found) == set(expected)
            else:
                assert found == expected
            compared += 1
            is_text = leaf.physical_type == PhysicalType.BYTE_ARRAY
            fixed = pa.binary(leaf.type_length or 0)
            kind = ARROW_TYPES.get(leaf.physical_type, fixed)
            for array in arrays(data, leaf.ordinal, row_group):
                assert array.type == (pa.binary() if is_text and from_dictionary else kind)
    assert compared or not footer.num_row_groups


def test_bit_patterns_of_floats(fixtures_dir: Path) -> None:
    path = fixtures_dir / "pyarrow/odd_floats.parquet"
    table = pq.read_table(path)
    data = path.read_bytes()
    for leaf in footer_of(data).leaves:
        column = table.column(leaf.name).combine_chunks()
        assert set(values(data, leaf.ordinal)) == set(physical(column))
    assert len(set(values(data, 0))) == 9


def test_decimals_on_four_physical_types() -> None:
    numbers = [decimal.Decimal(n).scaleb(-2) for n in (0, 1, -1, 255, -256, 9999, -9999)]
    table = pa.table({str(d): pa.array(numbers, pa.decimal128(d, 2)) for d in (4, 9, 18, 38)})
    whole = [int(n.scaleb(2)) for n in numbers]
    as_integers = written(table, store_decimal_as_integer=True, use_dictionary=False)
    widths = {0: 4, 1: 4, 2: 8}
    for ordinal, width in widths.items():
        expected = [n.to_bytes(width, "little", signed=True) for n in whole]
        assert values(as_integers, ordinal) == expected
    as_bytes = written(table, use_dictionary=False)
    for ordinal, width in ((0, 2), (1, 4), (2, 8), (3, 16)):
        assert values(as_bytes, ordinal) == [n.to_bytes(width, "big", signed=True) for n in whole]
    # The fourth: decimals as BYTE_ARRAY are plain bytes whatever the annotation says.
    leaf = footer_of(as_bytes).leaves[3]
    assert (leaf.physical_type.name, leaf.is_decimal) == ("FIXED_LEN_BYTE_ARRAY", True)


# ---------------------------------------------------------------- nested columns


POINT = pa.struct([("x", pa.int32()), ("deep", pa.struct([("y", pa.string())]))])
_LISTS = [[[1], [], None, [2, None]], None, [], [[3]]]
_MAPS = [[("a", 1), ("b", None)], [], None, [("c", 2)]]
_STRUCTS = [
    {"x": 1, "deep": {"y": "p"}},
    {"x": None, "deep": None},
    None,
    {"x": 2, "deep": {"y": None}},
]
_LISTS_OF_STRUCTS = [
    [{"x": 7, "deep": {"y": "q"}}, None],
    None,
    [],
    [{"x": None, "deep": {"y": "r"}}],
]
NESTED = pa.table(
    {
        "list": pa.array([[1, None, 2], [], None, [3]], pa.list_(pa.int32())),
        "lists": pa.array(_LISTS, pa.list_(pa.list_(pa.int64()))),
        "map": pa.array(_MAPS, pa.map_(pa.string(), pa.int64())),
        "struct": pa.array(_STRUCTS, POINT),
        "structs": pa.array(_LISTS_OF_STRUCTS, pa.list_(POINT)),
    }
)
LEAVES: dict[str, list[int] | list[str]] = {
    "list.list.element": [1, 2, 3],
    "lists.list.element.list.element": [1, 2, 3],
    "map.key_value.key": ["a", "b", "c"],
    "map.key_value.value": [1, 2],
    "struct.x": [1, 2],
    "struct.deep.y": ["p"],
    "structs.list.element.x": [7],
    "structs.list.element.deep.y": ["q", "r"],
}


def as_stored(value: int | str, physical_type: PhysicalType) -> bytes:
    if isinstance(value, str):
        return value.encode()
    return value.to_bytes(4 if physical_type == PhysicalType.INT32 else 8, "little")


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("dictionary", [False, True])
@pytest.mark.parametrize("row_group_size", [1, 4])
def test_leaves_of_nested_columns(version: str, dictionary: bool, row_group_size: int) -> None:  # noqa: FBT001
    data = written(
        NESTED,
        data_page_version=version,
        use_dictionary=dictionary,
        row_group_size=row_group_size,
    )
    footer = footer_of(data)
    assert [leaf.name for leaf in footer.leaves] == list(LEAVES)
    for leaf, expected in zip(footer.leaves, LEAVES.values(), strict=True):
        found = [
            value
            for row_group in range(footer.num_row_groups)
            for value in values(data, leaf.ordinal, row_group)
        ]
        assert found == [as_stored(value, leaf.physical_type) for value in expected]


_INNER = st.none() | st.lists(st.none() | st.integers(-9, 9), max_size=4)
_ROWS = st.lists(st.none() | st.lists(_INNER, max_size=4), min_size=1, max_size=30)


@given(_ROWS, st.booleans())
@settings(max_examples=20)
def test_lists_of_lists(rows: list[Any], dictionary: bool) -> None:  # noqa: FBT001
    table = pa.table({"x": pa.array(rows, pa.list_(pa.list_(pa.int64())))})
    data = written(table, use_dictionary=dictionary)
    flat = [n for row in rows for inner in row or [] for n in inner or [] if n is not None]
    assert values(data, 0) == [n.to_bytes(8, "little", signed=True) for n in flat]


# ---------------------------------------------------------------- pages, encodings, codecs


TEXTS = [None if i % 5 == 2 else f"text {i * 7919 % 300}" for i in range(2000)]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_codecs_and_page_versions(codec: str, version: str) -> None:
    table = pa.table({"text": TEXTS, "number": range(2000)})
    data = written(
        table, compression=codec, data_page_version=version, data_page_size=512,
        write_batch_size=64, row_group_size=2000, use_dictionary=["text"],
        write_page_checksum=True,
    )  # fmt: skip
    assert set(values(data, 0)) == {text.encode() for text in TEXTS if text}
    assert values(data, 1) == [n.to_bytes(8, "little") for n in range(2000)]


def test_dictionaries_come_once() -> None:
    many = pa.table({"text": [f"v{i % 100}" for i in range(200_000)]})
    data = written(many, row_group_size=200_000)
    (array,) = arrays(data, 0)
    assert sorted(array.to_pylist()) == sorted(f"v{i}".encode() for i in range(100))


def test_fallback_gives_every_value() -> None:
    texts = [f"text {i}" for i in range(3000)]
    data = written(
        pa.table({"text": texts}), row_group_size=3000, dictionary_pagesize_limit=2048,
        data_page_size=1024, write_batch_size=64,
    )  # fmt: skip
    assert not is_fully_dictionary_encoded(footer_of(data), 0, 0)
    assert values(data, 0) == [text.encode() for text in texts]


def test_batches_hold_few_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of a list count with all their values."""
    monkeypatch.setattr(stream, "_BATCH_BYTES", 64 * 1024)
    rng = np.random.default_rng(3)
    flat = pa.array(rng.integers(0, 2**60, 200_000))
    lists = pa.ListArray.from_arrays(pa.array(range(0, 200_001, 1000), pa.int32()), flat)
    for table in (pa.table({"x": flat}), pa.table({"x": lists})):
        data = written(table, use_dictionary=False, row_group_size=200_000)
        found = arrays(data, 0)
        assert sum(map(len, found)) == 200_000
        assert max(array.get_total_buffer_size() for array in found) < 256 * 1024


def test_huge_values_are_not_read() -> None:
    data = with_number(written(), ChunkField.TOTAL_UNCOMPRESSED_SIZE, 2**40)
    with pytest.raises(OSError, match="too large to be read"):
        values(data, 0)


# ---------------------------------------------------------------- names


def test_names_do_not_matter() -> None:
    names = ["x", "x", "a.b", "", "list", "leaf", "group0"]
    columns = [pa.array([i, i + 100]) for i in range(len(names))]
    data = written(pa.Table.from_arrays(columns, names=names))
    for ordinal in range(len(names)):
        expected = [n.to_bytes(8, "little") for n in (ordinal, ordinal + 100)]
        assert values(data, ordinal) == expected


# ---------------------------------------------------------------- broken chunks


def small_pages(**options: Any) -> bytes:  # noqa: ANN401  of pyarrow
    return written(
        use_dictionary=False, data_page_size=512, write_batch_size=64, compression="none", **options
    )


def test_checksums_are_checked() -> None:
    data = bytearray(small_pages(write_page_checksum=True))
    start = int(footer_of(bytes(data)).chunk_starts()[0, 0])
    data[start + 300] ^= 1
    with pytest.raises(OSError, match="CRC"):
        values(bytes(data), 0)
    assert values(bytes(data), 0, 1) == [n.to_bytes(8, "little") for n in range(500, 1000)]
    unchecked = bytearray(small_pages())
    unchecked[int(footer_of(bytes(unchecked)).chunk_starts()[0, 0]) + 300] ^= 1
    assert len(values(bytes(unchecked), 0)) == 500


@pytest.mark.parametrize("number", [1, 100, 499, 501, 1000, 10**9, 2**62])
def test_counts_of_values_that_lie(number: int) -> None:
    """Rows that nobody read could be missing from a filter."""
    with pytest.raises(OSError, match=f"the metadata counts {number}"):
        values(with_number(small_pages(), ChunkField.NUM_VALUES, number), 0)


@pytest.mark.parametrize("number", [0, 1, 100, 499])
def test_counts_of_rows_that_are_too_small(number: int) -> None:
    with pytest.raises(OSError, match=f"{number} rows can be read, but the metadata counts 500"):
        values(with_num_rows(small_pages(), number), 0)


@pytest.mark.parametrize("number", [501, 10**9])
def test_counts_of_rows_that_are_too_large(number: int) -> None:
    """All of the column is there, as its own metadata says."""
    assert len(values(with_num_rows(small_pages(), number), 0)) == 500


def test_dictionaries_are_counted_too() -> None:
    data = written(data_page_size=64, write_batch_size=16)
    assert is_fully_dictionary_encoded(footer_of(data), 0, 2)
    with pytest.raises(OSError, match="more pages follow"):
        values(with_number(data, ChunkField.NUM_VALUES, 20, chunk=(0, 2)), 2)


@pytest.mark.parametrize(
    ("field", "number"),
    [
        (ChunkField.CODEC, 99),
        (ChunkField.CODEC, 3),
        (ChunkField.CODEC, 2**40),
        (ChunkField.CODEC, -(2**50)),
        (ChunkField.DATA_PAGE_OFFSET, 2**60),
        (ChunkField.TOTAL_COMPRESSED_SIZE, 10),
        (ChunkField.TOTAL_COMPRESSED_SIZE, -5),
    ],
)
def test_metadata_that_makes_no_sense(field: ChunkField, number: int) -> None:
    with pytest.raises((OSError, pa.ArrowException)):
        values(with_number(small_pages(), field, number), 0)


def test_files_of_any_name(tmp_path: Path) -> None:
    """Also of names that are no text."""
    data = small_pages()
    for name in (b"plain", b"with space%20#?", b"\xff\xfe"):
        path = tmp_path / name.decode(errors="surrogateescape")
        path.write_bytes(data)
        footer = footer_of(data)
        with path.open("rb") as file:
            source = FileSource(str(path), file.fileno(), len(data))
            found = list(LeafReader(source, footer, footer.leaves[0]).batches(0))
        assert sum(map(len, found)) == 500


def test_pyarrow_is_told_the_writer_of_the_file() -> None:
    """Its workarounds for the bugs of known writers go by the name."""
    data = created_by(written(), b"parquet-mr version 1.8.1")
    footer = footer_of(data)
    told = {physical_metadata(footer, leaf).created_by for leaf in footer.leaves}
    assert told == {"parquet-mr version 1.8.1"}


def test_values_larger_than_a_batch_are_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    data = written(people(20), row_group_size=20)
    expected = [values(data, ordinal) for ordinal in range(3)]
    monkeypatch.setattr(stream, "_BATCH_BYTES", 1)
    assert [values(data, ordinal) for ordinal in range(3)] == expected
    assert {len(array) for array in arrays(data, 0)} == {1}


def test_pyarrow_is_told_the_encodings_of_the_file() -> None:
    """Some writers leave them out, although they are required."""
    data = written(use_dictionary=["city"], column_encoding={"id": "DELTA_BINARY_PACKED"})
    footer, referee = footer_of(data), pq.read_metadata(io.BytesIO(data)).row_group(0)
    for leaf in footer.leaves:
        told = physical_metadata(footer, leaf).row_group(0).column(0).encodings
        assert set(told) == set(referee.column(leaf.ordinal).encodings) != set()
    metadata = [field for field in column_metadata() if field[0] != 2]
    bare = parse_footer(file_metadata([column_chunk(metadata)]), start=12)
    told = physical_metadata(bare, bare.leaves[0]).row_group(0).column(0).encodings
    assert told == ()
