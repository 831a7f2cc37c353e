"""The view of every writer's footer, with pyarrow's metadata as referee; and what is no footer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter.errors import MalformedFile, NotParquet, UnsupportedFile
from parquet_bloomwriter.kernels.layout import BINARY, I32, I64, LIST, STRUCT
from parquet_bloomwriter.metadata import Footer, Leaf, PhysicalType, Repetition, parse_footer
from parquet_bloomwriter.metadata.encodings import is_fully_dictionary_encoded
from parquet_bloomwriter.metadata.fields import ChunkField, FileField, RowGroupField
from parquet_bloomwriter.metadata.footer import distinct_rows
from parquet_bloomwriter.source import BufferSource, read_footer
from tests.compact.structs import encode_struct
from tests.metadata.synthetic import column_chunk, column_metadata, file_metadata, plain

if TYPE_CHECKING:
    from collections.abc import Callable

FIXTURES = sorted((Path(__file__).resolve().parents[2] / "fixtures").glob("*/*.parquet"))
every_fixture = pytest.mark.parametrize(
    "path", FIXTURES, ids=[f"{path.parent.name}/{path.stem}" for path in FIXTURES]
)


def view(path: Path) -> Footer:
    return read_footer(BufferSource(path.read_bytes()))


def test_there_are_fixtures_of_every_writer() -> None:
    writers = {path.parent.name for path in FIXTURES}
    assert writers == {
        "chdb", "datafusion", "duckdb", "fastparquet", "polars", "pyarrow", "spark",
    }  # fmt: skip


@every_fixture
def test_numbers_of_every_chunk(path: Path) -> None:
    footer, referee = view(path), pq.read_metadata(path)
    assert footer.num_row_groups == referee.num_row_groups
    assert len(footer.leaves) == referee.num_columns
    assert int(footer.file.value(FileField.NUM_ROWS)[0]) == referee.num_rows
    assert len(footer.data) == referee.serialized_size
    assert footer.file_size == path.stat().st_size
    assert footer.created_by.decode() == (referee.created_by or "")
    for i in range(referee.num_row_groups):
        group = referee.row_group(i)
        assert int(footer.row_groups.value(RowGroupField.NUM_ROWS)[i]) == group.num_rows
        assert int(footer.row_groups.value(RowGroupField.TOTAL_BYTE_SIZE)[i]) == (
            group.total_byte_size
        )
        for j in range(referee.num_columns):
            _compare_chunk(footer, i, j, group.column(j))


def _compare_chunk(
    footer: Footer, row_group: int, column: int, referee: pq.ColumnChunkMetaData
) -> None:
    def number(field: ChunkField) -> int:
        return int(footer.chunks.value(field)[row_group, column])

    assert number(ChunkField.FILE_OFFSET) == referee.file_offset
    assert number(ChunkField.NUM_VALUES) == referee.num_values
    assert number(ChunkField.TOTAL_COMPRESSED_SIZE) == referee.total_compressed_size
    assert number(ChunkField.TOTAL_UNCOMPRESSED_SIZE) == referee.total_uncompressed_size
    assert number(ChunkField.DATA_PAGE_OFFSET) == referee.data_page_offset
    assert PhysicalType(number(ChunkField.TYPE)).name == referee.physical_type
    has = footer.chunks.has(ChunkField.DICTIONARY_PAGE_OFFSET)[row_group, column]
    assert (has and number(ChunkField.DICTIONARY_PAGE_OFFSET) > 0) == (referee.has_dictionary_page)
    if referee.has_dictionary_page:
        assert number(ChunkField.DICTIONARY_PAGE_OFFSET) == referee.dictionary_page_offset
    assert bool(footer.chunks.has(ChunkField.OFFSET_INDEX_OFFSET)[row_group, column]) == (
        referee.has_offset_index
    )
    assert bool(footer.chunks.has(ChunkField.COLUMN_INDEX_OFFSET)[row_group, column]) == (
        referee.has_column_index
    )


@every_fixture
def test_names_and_types_of_every_leaf(path: Path) -> None:
    footer, schema = view(path), pq.read_metadata(path).schema
    for ordinal, leaf in enumerate(footer.leaves):
        referee = schema.column(ordinal)
        assert leaf.ordinal == ordinal
        assert leaf.name == referee.path
        assert leaf.path[-1] == referee.name
        assert leaf.physical_type.name == referee.physical_type
        if leaf.physical_type == PhysicalType.FIXED_LEN_BYTE_ARRAY:
            assert leaf.type_length == referee.length
        repeated = leaf.repetitions.count(Repetition.REPEATED)
        optional = leaf.repetitions.count(Repetition.OPTIONAL)
        assert repeated == referee.max_repetition_level
        assert repeated + optional == referee.max_definition_level
        logical = referee.logical_type.type
        assert leaf.is_decimal == (logical == "DECIMAL")
        assert leaf.is_float16 == (logical == "FLOAT16")
        assert leaf.is_interval == (referee.converted_type == "INTERVAL")


@every_fixture
def test_full_dictionary_encoding_is_never_claimed_falsely(path: Path) -> None:
    """Arrow tells of encodings only as a set: a data page in PLAIN shows as PLAIN besides RLE."""
    footer, metadata = view(path), pq.read_metadata(path)
    for i in range(metadata.num_row_groups):
        for j in range(metadata.num_columns):
            chunk = metadata.row_group(i).column(j)
            if is_fully_dictionary_encoded(footer, i, j):
                assert chunk.has_dictionary_page


def test_dictionaries_and_fallback(fixtures_dir: Path) -> None:
    def encoded(name: str) -> list[bool]:
        footer = view(fixtures_dir / f"{name}.parquet")
        return [is_fully_dictionary_encoded(footer, 0, j) for j in range(len(footer.leaves))]

    assert encoded("pyarrow/codec_none") == [True] * 5
    assert encoded("pyarrow/no_dictionary") == [False] * 5
    assert encoded("pyarrow/dictionary_fallback") == [False, False, True, False, False]


@pytest.mark.parametrize("none", [0, -1])
def test_an_offset_of_no_page_is_not_where_a_chunk_starts(none: int) -> None:
    """Writers give a chunk without a dictionary or index page an offset of 0, or of -1."""
    without = [*column_metadata(), *plain((10, I64, none), (11, I64, none))]
    footer = parse_footer(file_metadata([column_chunk(without)]), start=12)
    assert footer.chunk_starts().tolist() == [[4]]


# ---------------------------------------------------------------- the ends of the file


@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("rows", [0, 1, 2, 200])
def test_distinct_rows_are_those_of_numpy(rows: int, columns: int) -> None:
    drawn = np.random.default_rng(rows).integers(-3, 3, (rows, columns))
    found = distinct_rows(drawn)
    assert found.shape == (len(found), columns)
    assert np.array_equal(found, np.unique(drawn, axis=0))


def whole(footer: bytes) -> bytes:
    return b"PAR1" + b"datadata" + footer + len(footer).to_bytes(4, "little") + b"PAR1"


GOOD = file_metadata([column_chunk(column_metadata())])


def test_the_smallest_file_of_its_kind() -> None:
    footer = read_footer(BufferSource(whole(GOOD)))
    assert (footer.start, footer.data, footer.num_row_groups) == (12, GOOD, 1)
    assert [leaf.name for leaf in footer.leaves] == ["x"]
    assert footer.chunk_starts().tolist() == [[4]]


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda _: b"", NotParquet, "0 bytes"),
        (lambda _: b"PAR1PAR1", NotParquet, "8 bytes"),
        (lambda f: f[:-1], NotParquet, "last four bytes"),
        (lambda f: b"PAR2" + f[4:], NotParquet, "first four bytes"),
        (lambda f: b"\x1f\x8b" + f[2:], NotParquet, "gzip"),
        (lambda f: b"PARE" + f[4:], UnsupportedFile, "encrypted"),
        (lambda f: f[:-4] + b"PARE", UnsupportedFile, "encrypted"),
        (lambda f: f[:-8] + bytes(4) + b"PAR1", MalformedFile, "claims 0 bytes"),
        (lambda f: f[:-8] + b"\xff\xff\xff\xff" + b"PAR1", MalformedFile, "claims 4294967295"),
        (lambda f: f[:-8] + (len(f) - 11).to_bytes(4, "little") + b"PAR1", MalformedFile, "claims"),
        (lambda f: f[:-8] + (len(GOOD) - 1).to_bytes(4, "little") + b"PAR1",
         MalformedFile, "38 bytes follow"),
        (lambda f: f[:-9] + b"\x00\x00" + (len(GOOD) + 1).to_bytes(4, "little") + b"PAR1",
         MalformedFile, "1 bytes follow"),
    ],
)  # fmt: skip
def test_no_parquet_file(
    change: Callable[[bytes], bytes], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        read_footer(BufferSource(change(whole(GOOD))))


@pytest.mark.parametrize("signature", [0, 27, 29])
def test_signed_footers_have_a_signature_of_28_bytes(signature: int) -> None:
    data = file_metadata([column_chunk(column_metadata())], (8, STRUCT, plain((1, STRUCT, []))))
    assert parse_footer(data + bytes(28), start=4).is_signed
    with pytest.raises(MalformedFile, match="instead of a signature"):
        parse_footer(data + bytes(signature), start=4)


# ---------------------------------------------------------------- schemas


def leaves(*elements: list[tuple[int, int, object]]) -> tuple[Leaf, ...]:
    schema = [plain(*element) for element in elements]
    data = encode_struct(
        plain((1, I32, 1), (2, LIST, (STRUCT, schema)), (3, I64, 0), (4, LIST, (STRUCT, [])))
    )
    return parse_footer(data, start=4).leaves


def group(name: bytes, children: int, repetition: int = 0) -> list[tuple[int, int, object]]:
    return [(3, I32, repetition), (4, BINARY, name), (5, I32, children)]


def leaf(name: bytes, *more: tuple[int, int, object]) -> list[tuple[int, int, object]]:
    return sorted([(1, I32, 2), (3, I32, 1), (4, BINARY, name), *more], key=lambda f: f[0])


def test_trees() -> None:
    found = leaves(
        group(b"root", 4),
        group(b"a", 2, 1),
        leaf(b"b"),
        group(b"c", 1, 2),
        leaf(b"d.e"),
        group(b"empty", 0),
        leaf(b"a"),
        leaf(b"\xff"),
    )
    assert [x.path for x in found] == [("a", "b"), ("a", "c", "d.e"), ("a",), ("\\xff",)]
    assert [x.name for x in found] == ["a.b", "a.c.d.e", "a", "\\xff"]
    assert [x.repetitions for x in found] == [(1, 1), (1, 2, 1), (1,), (1,)]
    assert [x.ordinal for x in found] == [0, 1, 2, 3]


def test_logical_types_in_either_spelling() -> None:
    short = (10, STRUCT, [(5, STRUCT, plain((1, I32, 2), (2, I32, 9)), False)])
    long = (10, STRUCT, [(5, STRUCT, plain((1, I32, 2), (2, I32, 9)), True)])
    converted = (6, I32, 5)
    found = leaves(
        group(b"", 4), *(leaf(b"x", field) for field in (short, long, converted)), leaf(b"x")
    )
    assert [x.is_decimal for x in found] == [True, True, True, False]
    assert [x.logical_type_id for x in found] == [5, 5, 0, 0]


def test_half_precision_needs_two_bytes() -> None:
    float16 = (10, STRUCT, plain((15, STRUCT, [])))
    fixed = [(3, I32, 1), (4, BINARY, b"x"), float16]
    found = leaves(
        group(b"", 3),
        [(1, I32, 7), (2, I32, 2), *fixed],
        [(1, I32, 7), (2, I32, 3), *fixed],
        [(1, I32, 6), *fixed],
    )
    assert [x.logical_type_id for x in found] == [15, 15, 15]
    assert [x.is_float16 for x in found] == [True, False, False]


@pytest.mark.parametrize(
    ("elements", "words"),
    [
        ([group(b"root", 1)], "before its tree is complete"),
        ([group(b"root", 1), leaf(b"a"), leaf(b"b")], "outside its tree"),
        ([group(b"root", 2**30), leaf(b"a")], "before its tree is complete"),
        ([*[group(b"g", 1)] * 70, leaf(b"a")], "levels deep"),
        ([group(b"root", 1), [(1, I32, 9), (3, I32, 0), (4, BINARY, b"a")]], "physical type 9"),
        ([group(b"root", 1), [(1, I32, 1), (3, I32, 3), (4, BINARY, b"a")]], "repetition type 3"),
    ],
)
def test_no_tree(elements: list[list[tuple[int, int, object]]], words: str) -> None:
    with pytest.raises(MalformedFile, match=words):
        leaves(*elements)


def test_row_groups_with_other_columns_than_the_schema() -> None:
    chunk = column_chunk(column_metadata())
    both = plain((1, LIST, (STRUCT, [chunk, chunk])), (2, I64, 8), (3, I64, 1))
    root = plain((4, BINARY, b"root"), (5, I32, 1))
    x = plain((1, I32, 2), (3, I32, 0), (4, BINARY, b"x"))
    data = encode_struct(
        plain(
            (1, I32, 1),
            (2, LIST, (STRUCT, [root, x])),
            (3, I64, 1),
            (4, LIST, (STRUCT, [both])),
        )
    )
    with pytest.raises(MalformedFile, match="2 column chunks, the schema 1 leaf"):
        parse_footer(data, start=4)


def wide(name: bytes) -> bytes:
    """A footer without row groups, with one column of this name."""
    root, x = (
        plain((4, BINARY, b"r"), (5, I32, 1)),
        plain((1, I32, 2), (3, I32, 0), (4, BINARY, name)),
    )
    return encode_struct(
        plain((1, I32, 1), (2, LIST, (STRUCT, [root, x])), (3, I64, 0), (4, LIST, (STRUCT, [])))
    )


def test_equal_schemas_are_viewed_once_unless_they_are_large() -> None:
    small, large = (wide(b"x" * size) for size in (60_000, 70_000))
    assert parse_footer(small, start=4).leaves is parse_footer(small, start=9).leaves
    one, other = parse_footer(large, start=4).leaves, parse_footer(large, start=4).leaves
    assert one is not other
    assert one == other
