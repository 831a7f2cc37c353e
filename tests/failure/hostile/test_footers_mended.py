"""Lies in a footer that once led to a wrong file, a refusal without need, or too much memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from campaigns.hostile.bases import Base, bases
from campaigns.hostile.replacing import Part, header, replaced, zigzag
from parquet_bloomwriter import MalformedFile, Status, bloomify, inspect, read_table, strip
from parquet_bloomwriter.metadata.fields import ChunkField
from tests.support.rewriting import PLACEMENTS
from tests.verbs.files import footer_of, with_number

if TYPE_CHECKING:
    from campaigns.hostile.fields import Shape
    from parquet_bloomwriter.predicate import Filters
    from parquet_bloomwriter.rewrite.plan import Placement

ROW_GROUP_FILE_OFFSET, DATA_PAGE_OFFSET = (4, 5), (4, 1, 3, 9)
OFFSET_INDEX_OFFSET = (4, 1, 4)
LARGEST = 2**63 - 1
DATA_PAGE = b"\x2c\x15\x04\x15\x00\x15\x06\x15\x06\x00\x00"
"""The end of a page header: DataPageHeader, as the header's fifth field."""


def base_named(name: str) -> Base:
    return next(base for base in bases() if base.name == name)


def lying(base: Base, shape: Shape, which: int, number: int, body: bytes | None = None) -> bytes:
    """The file with another number in one field; `which` counts those of the shape."""
    field = base.fields.by_shape[shape][which]
    footer = replaced(base.footer, [Part(field.start, field.stop, zigzag(number))])
    return whole(body or base.body, footer)


def whole(body: bytes, footer: bytes) -> bytes:
    return body + footer + len(footer).to_bytes(4, "little") + b"PAR1"


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("number", [LARGEST, LARGEST - 46])
def test_an_offset_that_would_overflow_is_refused(placement: Placement, number: int) -> None:
    old = lying(base_named("pyarrow/no_statistics.parquet"), ROW_GROUP_FILE_OFFSET, 0, number)
    with pytest.raises(MalformedFile, match=f"the offset {number} is beyond any file"):
        bloomify(old, ["#0"], placement=placement, jobs=1)


def test_a_large_offset_that_can_be_moved_is_restored() -> None:
    old = lying(
        base_named("pyarrow/no_statistics.parquet"), ROW_GROUP_FILE_OFFSET, 0, LARGEST - 4096
    )
    new = bloomify(old, ["#0"], jobs=1).data
    assert new is not None
    assert strip(new).data == old


def test_the_length_of_a_filter_that_is_not_there_is_no_place_for_one() -> None:
    base = base_named("duckdb/bloom.parquet")
    offset, length = (base.fields.by_shape[4, 1, 3, field_id][1] for field_id in (14, 15))
    parts = [
        Part(offset.header, offset.stop, b""),
        Part(length.header, length.start, header(offset.before, length.id, length.wire)),
    ]
    old = whole(base.body, replaced(base.footer, parts))
    report = bloomify(old, ["#1"], placement="row-group", jobs=1, replace=True)
    skipped = report.columns[0].chunks[0]
    assert skipped.status is Status.SKIPPED
    assert skipped.reason == "the metadata has the length of a Bloom filter, but not its offset"


@pytest.mark.parametrize(
    ("unpacked", "packed", "reason"),
    [
        (100, 2**31 - 1, "a page claims 2147483647 bytes, more than the file has behind it"),
        (2**31 - 1, 100, "a page claims 2147483647 bytes, all pages together 1892"),
    ],
)
def test_a_page_that_claims_too_much_is_not_read(unpacked: int, packed: int, reason: str) -> None:
    base = base_named("pyarrow/codec_snappy.parquet")
    start = base.fields.by_shape[DATA_PAGE_OFFSET][0].number
    page = b"\x15\x00\x15" + zigzag(unpacked) + b"\x15" + zigzag(packed) + DATA_PAGE
    body = base.body[:start] + page + base.body[start + len(page) :]
    report = bloomify(lying(base, DATA_PAGE_OFFSET, 0, start, body), ["#0"], jobs=1)
    assert report.columns[0].chunks[0].reason == reason


def test_a_schema_whose_root_is_a_column_is_refused() -> None:
    base = base_named("pyarrow/all_null.parquet")
    schema = next(one for one in base.fields.lists if one.shape == (2,))
    leaf = base.footer[slice(*schema.items[1])]
    footer = replaced(base.footer, [Part(schema.start, schema.items[-1][1], b"\x1c" + leaf)])
    with pytest.raises(MalformedFile, match="the schema's root is a column, not a group"):
        bloomify(whole(base.body, footer))


@pytest.mark.parametrize("filters", ["id = 5", [("id", "=", 5)]])
def test_a_table_is_read_although_a_name_is_no_text(filters: Filters) -> None:
    base = base_named("pyarrow/no_arrow_schema.parquet")
    city = base.fields.by_shape[2, 4][3]
    footer = replaced(base.footer, [Part(city.start, city.stop, b"\x02\xff\xfe")])
    old = whole(base.body, footer)
    expected = pq.read_table(pa.BufferReader(old), filters=[("id", "=", 5)])
    assert read_table(old, filters=filters).num_rows == expected.num_rows


@pytest.mark.parametrize("placement", ["column-chunk", "row-group"])
def test_a_page_is_not_cut_where_its_chunk_seems_to_start(placement: Placement) -> None:
    base = base_named("polars/people.parquet")
    start = base.fields.by_shape[DATA_PAGE_OFFSET][5].number
    old = lying(base, DATA_PAGE_OFFSET, 5, start + 1)
    report = bloomify(old, ["id"], placement=placement, jobs=1)
    assert report.fallback == "a column chunk seems to start within a page"
    assert report.data is not None
    assert strip(report.data).data == old


@pytest.mark.parametrize("shape", [(2,), (4,), (4, 1), (4, 1, 3, 2), (4, 1, 3, 3), (4, 1, 3, 13)])
def test_a_list_of_other_elements_is_refused(shape: Shape) -> None:
    """Generated readers read on as if they were of the right type."""
    base = base_named("pyarrow/all_null.parquet")
    start = next(one.start for one in base.fields.lists if one.shape == shape)
    size, double = base.footer[start] & 0xF0, 7
    footer = replaced(base.footer, [Part(start, start + 1, bytes([size | double]))])
    with pytest.raises(MalformedFile, match="a list whose elements are of another type"):
        bloomify(whole(base.body, footer))


def test_a_page_index_that_a_column_chunk_claims_too_is_not_rewritten() -> None:
    base = base_named("spark/v2.parquet")
    index = base.fields.by_shape[OFFSET_INDEX_OFFSET][8].number
    old = lying(base, DATA_PAGE_OFFSET, 15, index)
    report = bloomify(old, ["#6"], placement="column-chunk", jobs=1)
    assert report.fallback == "a page index and something else overlap"
    assert report.data is not None
    assert strip(report.data).data == old


@pytest.mark.parametrize("has_length", [True, False])
def test_a_filter_that_reached_too_far_is_not_right_in_a_longer_file(has_length: bool) -> None:  # noqa: FBT001
    base = base_named("duckdb/bloom.parquet")
    offset, length = (base.fields.by_shape[4, 1, 3, field_id][-2] for field_id in (14, 15))
    start = offset.number
    num_bytes = zigzag(1024)
    assert base.body[start + 1 : start + 3] == num_bytes
    body = base.body[: start + 1] + zigzag(8128) + base.body[start + 3 :]
    footer = replaced(base.footer, [] if has_length else [Part(length.header, length.stop, b"")])
    old = whole(body, footer)
    before = inspect(old, columns=["#0"]).filters[-1]
    assert before.problem == "its bitset reaches into the footer"
    new = bloomify(old, ["#2"], placement="end", jobs=1, fpp=0.0001).data
    assert new is not None
    assert [one.row_group for one in inspect(new, columns=["#0"]).filters] == [0]


def test_a_page_header_that_is_none_is_not_left_to_pyarrow() -> None:
    """It would take 64 MiB to look for the header's end."""
    base = base_named("pyarrow/codec_snappy.parquet")
    start = base.fields.by_shape[DATA_PAGE_OFFSET][0].number
    body = base.body[:start] + b"\x15\x00\x1e" + base.body[start + 3 :]
    before = pa.default_memory_pool().max_memory()
    report = bloomify(whole(body, base.footer), ["#0"], jobs=1)
    skipped = report.columns[0].chunks[0]
    assert (
        skipped.reason
        == "a page has no header: the metadata uses a Thrift type that does not exist"
    )
    assert pa.default_memory_pool().max_memory() <= max(before, 1 << 20)


def test_a_long_page_header_is_one() -> None:
    table = pa.table({"name": ["a" * 3000, "b" * 3000]})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, use_dictionary=False, compression="none")
    report = bloomify(sink.getvalue().to_pybytes(), ["name"], jobs=1)
    assert report.columns[0].chunks[0].status is Status.BUILT


def test_a_row_group_without_bytes_has_no_pages_in_the_way() -> None:
    """Its offset may be where the next thing was written: a page index."""
    schema = pa.schema([("id", pa.int64())])
    sink = pa.BufferOutputStream()
    options = {"write_page_index": True, "use_dictionary": False, "write_statistics": False}
    with pq.ParquetWriter(sink, schema, **options) as writer:
        writer.write_table(pa.table({"id": range(100)}, schema))
        writer.write_table(schema.empty_table())
    data = sink.getvalue().to_pybytes()
    chunks = footer_of(data).chunks
    index = int(chunks.values[0, 0, ChunkField.OFFSET_INDEX_OFFSET])
    data = with_number(data, ChunkField.DATA_PAGE_OFFSET, index, chunk=(1, 0))
    assert bloomify(data, ["id"]).fallback is None
