"""Taking filters out: the file is as it was, or as near to it as is certain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from parquet_bloomwriter import ColumnNotFound, bloomify, strip
from parquet_bloomwriter.metadata.fields import ChunkField
from tests.verbs.files import (
    filter_bytes,
    footer_of,
    layout,
    listing,
    people,
    read,
    with_number,
    with_unknown_field,
    without_length,
    written,
)

if TYPE_CHECKING:
    from pathlib import Path


def with_filters(before: bytes) -> bytes:
    after = bloomify(before).data
    assert after is not None
    return after


def test_in_place_elsewhere_and_in_memory(tmp_path: Path) -> None:
    before = written(write_page_index=True)
    after = with_filters(before)
    path, other = tmp_path / "a.parquet", tmp_path / "b.parquet"
    path.write_bytes(after)
    assert strip(path, dry_run=True).size_after == len(before)
    assert listing(tmp_path) == {"a.parquet": after}
    assert strip(path, output=other).num_filters == 6
    assert listing(tmp_path) == {"a.parquet": after, "b.parquet": before}
    other.unlink()
    report = strip(path, backup_suffix=".old")
    assert listing(tmp_path) == {"a.parquet": before, "a.parquet.old": after}
    assert (report.written, report.left_bytes, report.size_after) == (True, 0, len(before))
    assert report.columns == ("id", "email", "city")
    assert strip(after).data == before


def test_some_columns() -> None:
    after = with_filters(written())
    report = strip(after, ["email"])
    assert report.data is not None
    assert (report.num_filters, report.columns) == (2, ("email",))
    assert report.data == bloomify(written(), ["id", "city"]).data
    with pytest.raises(ColumnNotFound):
        strip(after, ["nothing"])


def test_nothing_to_take_out(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(written())
    report = strip(path)
    assert (report.written, report.num_filters, report.output) == (False, 0, None)
    other = tmp_path / "b.parquet"
    assert strip(path, output=other).written
    assert listing(tmp_path) == dict.fromkeys(("a.parquet", "b.parquet"), written())


def test_every_writer_s_filters_go(fixtures_dir: Path) -> None:
    for path in sorted(fixtures_dir.glob("*/*bloom*.parquet")):
        before = path.read_bytes()
        report = strip(before)
        assert report.data is not None
        assert not footer_of(report.data).chunks.has(ChunkField.BLOOM_FILTER_OFFSET).any()
        assert report.left_bytes == 0
        assert report.size_after == len(report.data) < len(before)
        assert read(report.data).equals(read(before))
        assert strip(report.data).num_filters == 0


def test_bytes_that_are_not_certain_are_counted() -> None:
    before = written(bloom_filter_options={"id": {"ndv": 500, "fpp": 0.01}})
    length = len(filter_bytes(before, (0, 0)))
    unsure = with_number(before, ChunkField.BLOOM_FILTER_LENGTH, length - 1)
    report = strip(unsure)
    assert report.data is not None
    assert (report.num_filters, report.left_bytes) == (2, length)
    assert read(report.data).equals(people())


def test_unknown_fields_leave_what_lies_before_something() -> None:
    """Filters before the page index cannot be cut out without moving it."""
    options = {"id": {"ndv": 500, "fpp": 0.01}}
    before = written(bloom_filter_options=options, write_page_index=True)
    unknown = with_unknown_field(before, "FileMetaData")
    report = strip(unknown)
    footer = footer_of(unknown)
    offsets = footer.chunks.value(ChunkField.BLOOM_FILTER_OFFSET)
    indexes = footer.chunks.value(ChunkField.OFFSET_INDEX_OFFSET)
    assert report.data is not None
    assert (report.left_bytes > 0) == bool((indexes > offsets.max()).any())
    assert read(report.data).equals(people())


@pytest.mark.parametrize("where", [None, "ColumnChunk"])
def test_filters_without_a_length_stay_confirmed(where: str | None) -> None:
    """Of what confirms where they end, the offset is gone; if nothing may move, the bytes stay."""
    options = {"id": {"ndv": 500}, "email": {"ndv": 500}}
    before = written(bloom_filter_options=options, write_page_index=True)
    before = without_length(before, (0, 0), (1, 0))
    before = before if where is None else with_unknown_field(before, where)
    report = strip(bloomify(before, ["city"]).data or b"", ["email"])
    assert bool(report.left_bytes) == (where is not None)
    kept = {old.column: old for old in layout(report.data or b"").existing if old.row_group == 1}
    assert [(old.problem, column) for column, old in kept.items()] == [(None, 0), (None, 2)]
    assert (kept[0].footer_length is None) == (where is None)
    assert where or strip(report.data or b"", ["city"]).data == strip(before, ["email"]).data
