"""Filters as they stand: every figure recounted, every place told, nothing refused."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

from parquet_bloomwriter import ColumnNotFound, NotParquet, Sbbf, UnsupportedFile, bloomify
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.reports.inspection import FilterFacts, FilterPlace
from parquet_bloomwriter.sbbf.header import encode_header
from parquet_bloomwriter.source import BufferSource
from parquet_bloomwriter.verbs.inspect import ALL_ZERO, ALL_ZERO_PERHAPS, inspect
from tests.support import compact
from tests.verbs.broken_filters import bitset_span, with_filter, with_zeros
from tests.verbs.files import (
    filter_bytes,
    footer_of,
    people,
    with_filter_at,
    with_number,
    without_length,
    written,
)

if TYPE_CHECKING:
    from pathlib import Path

    from parquet_bloomwriter.rewrite.plan import Placement

WRITERS = (
    "chdb/bloom",
    "datafusion/bloom",
    "datafusion/nested",
    "duckdb/bloom",
    "duckdb/types",
    "pyarrow/bloom",
    "pyarrow/bloom_page_index",
    "spark/bloom",
    "spark/bloom_dictionary",
)
SIZE = {"id": {"ndv": 500, "fpp": 0.01}}


def plain() -> bytes:
    """Two row groups; a filter on `id` in each."""
    return written(bloom_filter_options=SIZE)


@pytest.mark.parametrize("placement", ["column-chunk", "row-group", "end"])
def test_row_groups_lie_where_pyarrow_finds_them(placement: Placement) -> None:
    data = bloomify(plain(), ["id", "email"], placement=placement).data
    assert data is not None
    report, metadata = inspect(data), pq.read_metadata(io.BytesIO(data))
    assert report.footer_start + metadata.serialized_size + 8 == len(data)
    assert len(report.row_groups) == metadata.num_row_groups == 2
    for ordinal, span in enumerate(report.row_groups):
        row_group = metadata.row_group(ordinal)
        columns = [row_group.column(i) for i in range(row_group.num_columns)]
        starts = [c.dictionary_page_offset or c.data_page_offset for c in columns]
        sizes = [c.total_compressed_size for c in columns]
        assert span.start == min(starts)
        assert span.stop == max(a + b for a, b in zip(starts, sizes, strict=True))
        assert (span.num_bytes, span.num_rows) == (sum(sizes), row_group.num_rows)


def test_row_groups_are_kept_within_the_file() -> None:
    data = with_number(plain(), ChunkField.TOTAL_COMPRESSED_SIZE, 2**62, chunk=(1, 0))
    report = inspect(data)
    assert [one.stop <= report.footer_start for one in report.row_groups] == [True, True]
    assert report.row_groups[1].num_bytes < 2**40


def facts(data: bytes, row_group: int = 0, column: str = "id") -> FilterFacts:
    """The one filter."""
    found = inspect(data).filters
    (one,) = [f for f in found if (f.row_group, f.column) == (row_group, column)]
    return one


def rate_of(bitset: bytes) -> float:
    """The exact rate, one block after the other."""
    blocks = [bitset[i : i + 32] for i in range(0, len(bitset), 32)]
    chances = (
        math.prod(
            int.from_bytes(block[i : i + 4], "little").bit_count() / 32 for i in range(0, 32, 4)
        )
        for block in blocks
    )
    return math.fsum(chances) / len(blocks)


# ---------------------------------------------------------------- figures


@pytest.mark.parametrize("name", WRITERS)
def test_every_figure_is_what_the_bytes_say(fixtures_dir: Path, name: str) -> None:
    path = fixtures_dir / f"{name}.parquet"
    data = path.read_bytes()
    footer = compact.footer_of(data)
    report = inspect(path)
    found = {(one.row_group, one.ordinal): one for one in report.filters}
    places = compact.filters_of(footer)
    assert found.keys() == places.keys()
    for chunk, (offset, length) in places.items():
        one = found[chunk]
        start, stop = bitset_span(data, chunk)
        bitset = data[start:stop]
        bits = int.from_bytes(bitset, "little").bit_count()
        assert (one.offset, one.length, one.num_bytes) == (offset, length, stop - start)
        assert one.fill == bits / (8 * len(bitset))
        assert one.fpp == pytest.approx(rate_of(bitset), rel=1e-12)
    assert report.num_filter_bytes == sum(length or 0 for _, length in places.values())
    assert report.share == report.num_filter_bytes / len(data)
    assert (report.path, report.size) == (str(path), len(data))
    assert report.num_rows == pq.read_metadata(path).num_rows
    assert report.created_by == pq.read_metadata(path).created_by


def test_distinct_values_are_estimated(fixtures_dir: Path) -> None:
    path = fixtures_dir / "spark/bloom.parquet"
    file = pq.ParquetFile(path)
    checked = 0
    for one in inspect(path, ["id", "email", "number"]).filters:
        table = file.read_row_group(one.row_group, columns=[one.column])
        column = table.column(0).drop_null()
        assert one.num_values == len(column)
        assert one.ndv == pytest.approx(len(column.unique()), rel=0.06)
        assert one.bits_per_value == pytest.approx(8 * (one.num_bytes or 0) / (one.ndv or 1))
        checked += 1
    assert checked == 6


def test_a_full_filter_has_no_finite_number_of_values() -> None:
    full = encode_header(64) + b"\xff" * 64
    one = facts(with_filter(plain(), (0, 0), full))
    assert (one.ndv, one.fill, one.fpp, one.bits_per_value) == (math.inf, 1.0, 1.0, None)


def test_columns() -> None:
    data = written(bloom_filter_options={"id": {}, "city": {}})
    assert [column.name for column in inspect(data).columns] == ["id", "city"]
    named = inspect(data, ["city", "email"]).columns
    assert [(column.name, len(column.filters)) for column in named] == [("email", 0), ("city", 2)]
    assert [column.num_row_groups for column in named] == [2, 2]
    sizes = footer_of(data).chunks.value(ChunkField.TOTAL_COMPRESSED_SIZE)
    assert [c.num_compressed_bytes for c in named] == sizes[:, 1:].sum(axis=0).tolist()
    with pytest.raises(ColumnNotFound):
        inspect(data, ["nosuch"])
    assert inspect(written()).columns == ()


# ---------------------------------------------------------------- places


@pytest.mark.parametrize("placement", ["column-chunk", "row-group", "end"])
@pytest.mark.parametrize("num_row_groups", [2, 5])
def test_places_are_told(placement: Placement, num_row_groups: int) -> None:
    old = written(row_group_size=1000 // num_row_groups)
    data = bloomify(old, ["id", "city"], placement=placement).data
    found = [one.place for one in inspect(data or b"").filters]
    assert found == [FilterPlace(placement)] * (2 * num_row_groups)


def test_a_place_among_other_chunks_is_elsewhere() -> None:
    data = bloomify(written(), ["email"], placement="column-chunk").data or b""
    email = facts(data, column="email")
    moved = with_filter_at(data, (0, 0), (email.offset, email.length or 0))
    assert facts(moved).place is FilterPlace.ELSEWHERE
    assert facts(moved, column="email").place is FilterPlace.COLUMN_CHUNK


def test_filters_of_one_row_group_behind_the_next_are_elsewhere() -> None:
    data = bloomify(written(row_group_size=250), ["id"], placement="row-group").data or b""
    third = facts(data, row_group=2)
    moved = with_filter_at(data, (0, 0), (third.offset, third.length or 0))
    assert facts(moved).place is FilterPlace.ELSEWHERE
    assert facts(moved, row_group=3).place is FilterPlace.ROW_GROUP


# ---------------------------------------------------------------- problems


def test_a_sound_filter_has_none() -> None:
    assert {(one.problem, one.oddities) for one in inspect(plain()).filters} == {(None, ())}


@pytest.mark.parametrize(
    ("field", "number", "problem"),
    [
        (ChunkField.BLOOM_FILTER_OFFSET, 4, "header"),
        (ChunkField.BLOOM_FILTER_OFFSET, 1 << 40, "is outside the file's data"),
        (ChunkField.BLOOM_FILTER_OFFSET, -5, "is outside the file's data"),
        (ChunkField.BLOOM_FILTER_LENGTH, 1039, "the footer gives it 1039 bytes, its header 1040"),
    ],
)
def test_wrong_positions(field: ChunkField, number: int, problem: str) -> None:
    broken = inspect(with_number(plain(), field, number)).filters
    assert problem in (broken[0].problem or "")
    assert broken[1].problem is None
    is_lost = field is ChunkField.BLOOM_FILTER_OFFSET
    assert (broken[0].length is None) == (broken[0].fpp is None) == is_lost
    assert (broken[0].place is FilterPlace.ELSEWHERE) == is_lost


def test_a_bitset_that_reaches_into_the_footer() -> None:
    one = facts(with_filter(plain(), (0, 0), encode_header(1024) + bytes(100)))
    assert one.problem == "its bitset reaches into the footer"
    assert (one.length, one.num_bytes, one.fpp) == (None, None, None)


def test_all_zero() -> None:
    assert facts(with_zeros(plain(), (0, 0))).problem == ALL_ZERO
    unknown = written(write_statistics=False, bloom_filter_options=SIZE)
    assert facts(with_zeros(unknown, (0, 0))).problem == ALL_ZERO_PERHAPS
    assert facts(unknown).problem is None


def test_all_zero_is_right_where_there_are_no_values() -> None:
    nothing = written(pa.table({"id": pa.nulls(10, pa.int64())}))
    one = facts(with_filter(nothing, (0, 0), Sbbf.empty(2).to_bytes()))
    assert (one.num_values, one.problem, one.ndv) == (0, None, 0.0)
    assert str(one.ndv) == "0.0"


def test_boolean_filters_of_spark_are_a_problem(fixtures_dir: Path) -> None:
    report = inspect(fixtures_dir / "spark/bloom.parquet")
    assert {one.column for one in report.filters if one.problem} == {"flag"}


def test_drafts_are_described_but_not_trusted() -> None:
    new = bloomify(written(), ["id"], dialect="murmur3").data or b""
    one = facts(new)
    assert "draft" in (one.problem or "")
    assert one.length == len(filter_bytes(new, (0, 0)))
    start, stop = bitset_span(new, (0, 0))
    assert one.fpp == pytest.approx(rate_of(new[start:stop]))
    assert one.ndv == pytest.approx(500, rel=0.05)


def test_unknown_algorithms_are_a_problem() -> None:
    header = encode_header(64).replace(b"\x1c\x1c\x00\x00\x00", b"\x1c\x2c\x00\x00\x00")
    one = facts(with_filter(plain(), (0, 0), header + b"\x01" * 64))
    assert "unknown" in (one.problem or "")
    assert one.num_bytes == 64


# ---------------------------------------------------------------- oddities


def test_a_missing_length_is_odd() -> None:
    one = facts(without_length(plain(), (0, 0)))
    assert (one.problem, one.oddities) == (None, ("the footer does not give its length",))
    assert one.length == facts(plain()).length


@pytest.mark.parametrize(
    ("num_blocks", "says"), [(1, "single block"), (2, None), (3, "no power of two"), (8, None)]
)
def test_unusual_sizes_are_odd(num_blocks: int, says: str | None) -> None:
    blocks = Sbbf.empty(num_blocks)
    blocks.insert_hash(5)
    one = facts(with_filter(plain(), (0, 0), blocks.to_bytes()))
    assert one.problem is None
    assert [says in oddity for oddity in one.oddities if says] == ([True] if says else [])


def test_an_unusual_header_is_odd() -> None:
    usual = encode_header(64)
    long_form = b"\x05\x02" + usual[1:]
    one = facts(with_filter(plain(), (0, 0), long_form + b"\x01" * 64))
    assert (one.problem, one.length) == (None, len(long_form) + 64)
    assert one.oddities == ("its header is encoded in an unusual way",)


# ---------------------------------------------------------------- files


def test_summary_files_are_refused() -> None:
    metadata = pq.read_metadata(io.BytesIO(plain()))
    metadata.set_file_path("part-0.parquet")
    sink = io.BytesIO()
    metadata.write_metadata_file(sink)
    with pytest.raises(UnsupportedFile, match="summary file"):
        inspect(sink.getvalue())


def test_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "no.parquet"
    path.write_bytes(b"no Parquet file at all")
    with pytest.raises(NotParquet) as caught:
        inspect(path)
    assert caught.value.path == str(path)


def test_thousands_of_filters_are_read_in_few_requests() -> None:
    table = people(2000).select(["id"])
    source = BufferSource(written(table, row_group_size=1, bloom_filter_options={"id": {"ndv": 8}}))
    report = inspect(source)
    assert len(report.filters) == 2000
    assert {one.problem for one in report.filters} == {None}
    assert source.traffic.requests < 20


def test_files_on_file_systems(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(plain())
    folder = SubTreeFileSystem(str(tmp_path), LocalFileSystem())
    on_folder = inspect("a.parquet", filesystem=folder)
    local = inspect(tmp_path / "a.parquet")
    assert on_folder.columns == local.columns != ()
