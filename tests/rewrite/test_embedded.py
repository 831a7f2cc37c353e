"""Indexes that other programs have built into a file: they stay where they are."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from parquet_bloomwriter import bloomify, strip
from parquet_bloomwriter.rewrite.embedded import leads_to_index, why_not_shift
from parquet_bloomwriter.rewrite.old_layout import layout_of
from parquet_bloomwriter.source import BufferSource, read_footer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

KEY = b"distinct_index_offset"
VALUES = ["apple", "pear", "plum"]


def with_index(
    value: Callable[[int], object] = int, index: bytes | None = None, rows: int = 3000
) -> bytes:
    """Write a file with an index behind its data pages, as DataFusion's example does.

    Source of the layout: apache/datafusion, `parquet_embedded_index.rs`: "IDX1", the length as a
    little-endian 8-byte integer, distinct values in lines; its position as text in the key-value
    metadata of the file.

    Args:
        value: What the metadata has instead of the position.
        index: The bytes of the index.
        rows: Of the file.
    """
    text = "\n".join(VALUES).encode()
    index = b"IDX1" + struct.pack("<Q", len(text)) + text if index is None else index
    table = pa.table({"id": range(rows), "name": [VALUES[i % 3] for i in range(rows)]})
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, table.schema) as writer:
        for start in (0, rows // 2):
            writer.write_table(table.slice(start, rows // 2))
        position = sink.tell()
        sink.write(index)
        writer.add_key_value_metadata({KEY: str(value(position)).encode()})
    return bytes(sink.getvalue())


def _always(value: str) -> Callable[[int], object]:
    return lambda _: value


def read_index(data: bytes) -> list[str]:
    """Read the index as DataFusion's example does."""
    at = int(pq.ParquetFile(pa.BufferReader(data)).metadata.metadata[KEY])
    assert data[at : at + 4] == b"IDX1"
    (length,) = struct.unpack("<Q", data[at + 4 : at + 12])
    return data[at + 12 : at + 12 + length].decode().split("\n")


def test_the_position_of_an_index_still_leads_to_it() -> None:
    data = with_index()
    report = bloomify(data, ["id", "name"])
    assert report.num_built == 4
    assert (report.placement, report.warnings) == ("end", ())
    assert "belong to no part of the file" in (report.fallback or "")
    assert "filters go to the end" in str(report.summary())
    new = report.data
    assert new is not None
    assert read_index(new) == VALUES
    assert pq.read_table(pa.BufferReader(new)).equals(pq.read_table(pa.BufferReader(data)))
    assert strip(new).data == data


def test_an_explicit_placement_goes_on_with_a_warning() -> None:
    data = with_index()
    for placement in ("column-chunk", "row-group"):
        report = bloomify(data, ["id"], placement=placement)
        assert (report.placement, report.fallback) == (placement, None)
        (warning,) = report.warnings
        assert "moves bytes of the file" in warning
        assert report.data is not None
        assert strip(report.data).data == data
        again = bloomify(report.data, ["name"], placement=placement)
        assert strip(again.data or b"").data == data
    report = bloomify(data, ["id"], placement="end")
    assert (report.fallback, report.warnings) == (None, ())


def test_numbers_that_lead_behind_the_first_moved_byte() -> None:
    start = pq.ParquetFile(pa.BufferReader(with_index(index=b""))).metadata.row_group(1).column(0)
    page = start.dictionary_page_offset
    for value, is_position in (
        ("0", False),
        ("3", False),
        ("4", True),
        (str(page), True),
        (str(page + 1), True),
        ("99999999", False),
        ("-5", False),
        (f"{page}.5", False),
        (f'{{"row_groups": [4, {page}]}}', True),
        (f'{{"rows": {page + 1}, "time": "2026-11-26T10:04:47"}}', False),
        ("not a number", False),
    ):
        data = with_index(_always(value), index=b"")
        report = bloomify(data, ["id"])
        assert (report.fallback is not None) == is_position, value
        assert ("may be a position" in str(report.fallback)) == is_position
        assert strip(report.data or b"").data == data


def test_padding_and_copies_of_metadata_are_no_index() -> None:
    """Zeros, and the ColumnChunk or ColumnMetaData that writers put behind their chunks."""
    chunk = bytes.fromhex("2608 1c 1502 1925 0006 1918026964 1500 1606 1610 1610 2608 00 00")
    meta = chunk[3:-1]
    for index, is_index in (
        (b"", False),
        (b"\0" * 5000, False),
        (chunk, False),
        (meta, False),
        (chunk + meta + b"\0" * 7, False),
        (chunk[:-1], True),
        (chunk + b"IDX1", True),
        (b"\0" * 5000 + b"\1", True),
        (b"\x15\x02\x00", True),  # a struct, but of no column chunk
        (b"IDX1", True),
    ):
        data = with_index(lambda _: "", index=index)
        report = bloomify(data, ["id"])
        assert (report.fallback is not None) == is_index, index
        assert strip(report.data or b"").data == data


def test_filters_before_an_index_stay_if_the_metadata_leads_to_it() -> None:
    """A writer has put filters before its index: taking them out would move it."""
    text = "\n".join(VALUES).encode()
    index = b"IDX1" + struct.pack("<Q", len(text)) + text
    for before in (b"", b"\0" * 16, b"another index"):
        data = with_index(lambda _: f"{0:08}", before + index)
        old = bloomify(data, ["id"], placement="row-group").data
        assert old is not None
        value = f"{old.index(b'IDX1'):08}"
        data = with_index(_always(value), before + index)
        old = bloomify(data, ["id"], placement="row-group").data
        assert old is not None
        assert read_index(old) == VALUES
        stripped = strip(old)
        replaced = bloomify(old, ["id"], fpp=0.1, replace=True)
        for one in (stripped, replaced):
            assert read_index(one.data or b"") == VALUES, before
            assert one.left_bytes > 0
        assert stripped.num_filters == replaced.num_built == 2
        assert "nothing may move" in str(stripped.summary())
        assert strip(replaced.data or b"").data == stripped.data


def test_strip_keeps_an_index_that_a_hexadecimal_position_leads_to() -> None:
    for spelling in (hex, "{:x}".format, "{:08X}".format):
        data = with_index(spelling)
        forced = bloomify(data, ["id"], placement="column-chunk").data
        assert forced is not None
        moved = forced.index(b"IDX1") - data.index(b"IDX1")
        assert moved > 0
        # A file of another writer, whose filters lie before the index to which its metadata lead.
        at = data.index(b"IDX1")
        old, new = (str(spelling(one)).encode() for one in (at, at + moved))
        foreign = forced.replace(old, new)
        stripped = strip(foreign).data
        assert stripped is not None
        assert stripped.index(b"IDX1") == at + moved


def test_gaps_of_a_file_on_a_store_are_read_at_once() -> None:
    data = with_index(rows=60)
    source = BufferSource(data)
    footer = read_footer(source)
    asked: list[list[tuple[int, int]]] = []

    def read_ranges(ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        asked.append(list(ranges))
        return source.read_ranges(ranges)

    def read_at(start: int, stop: int) -> bytes:
        raise AssertionError((start, stop))

    near = layout_of(footer, source.read_at)
    far = layout_of(footer, read_at, read_ranges=read_ranges)
    for find in (why_not_shift, leads_to_index):
        assert find(far, 4) == find(near, 4)
    assert len(asked) == 2
