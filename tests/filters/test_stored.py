"""Filters that are there already: every writer's are read, broken ones are not trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from parquet_bloomwriter import bloomify, strip, verify
from parquet_bloomwriter.filters.stored import SHARED, UNCONFIRMED, shared_offsets
from parquet_bloomwriter.kernels.layout import ABSENT
from parquet_bloomwriter.metadata import PhysicalType
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.rewrite.extents import OVERLAPS
from parquet_bloomwriter.sbbf import Sbbf, decode_header
from tests.verbs.files import (
    created_by,
    filter_bytes,
    footer_of,
    layout,
    with_filter_at,
    with_number,
    without_length,
    written,
)

if TYPE_CHECKING:
    from pathlib import Path

    from parquet_bloomwriter.filters.stored import StoredFilter

CHUNK = (0, 0)


@pytest.mark.parametrize(
    "name",
    ["chdb/bloom", "datafusion/bloom", "datafusion/nested", "duckdb/bloom", "duckdb/types",
     "pyarrow/bloom", "pyarrow/bloom_page_index", "spark/bloom", "spark/bloom_dictionary"],
)  # fmt: skip
def test_filters_of_every_writer(fixtures_dir: Path, name: str) -> None:
    data = (fixtures_dir / f"{name}.parquet").read_bytes()
    footer = footer_of(data)
    existing = layout(data).existing
    assert len(existing) == footer.chunks.has(ChunkField.BLOOM_FILTER_OFFSET).sum() > 0
    for old in existing:
        assert old.length == old.footer_length
        leaf = footer.leaves[old.column]
        distrusted = leaf.physical_type == PhysicalType.BOOLEAN or leaf.is_interval
        assert (old.problem is not None) == distrusted
        Sbbf.from_bytes(data[old.offset : old.stop])


def with_filter() -> bytes:
    return written(bloom_filter_options={"id": {"ndv": 500, "fpp": 0.01}})


def first(data: bytes) -> StoredFilter:
    return next(f for f in layout(data).existing if (f.row_group, f.column) == CHUNK)


def changed_at(data: bytes, place: int, new: bytes) -> bytes:
    return data[:place] + new + data[place + len(new) :]


def test_a_sound_one() -> None:
    data = with_filter()
    old = first(data)
    assert data[old.offset : old.stop] == filter_bytes(data, CHUNK)
    assert old.problem is None


def test_without_length() -> None:
    data = without_length(with_filter(), CHUNK)
    old = first(data)
    assert (old.footer_length, old.problem) == (None, None)
    assert old.length == first(with_filter()).length


@pytest.mark.parametrize("offset", [0, -1, -(2**63) + 1, 2**40, 2**63 - 1])
def test_offsets_outside_the_file(offset: int) -> None:
    old = first(with_number(with_filter(), ChunkField.BLOOM_FILTER_OFFSET, offset))
    assert (old.length, old.stop) == (None, offset)
    assert "outside the file's data" in (old.problem or "")


def test_an_offset_into_the_footer() -> None:
    data = with_filter()
    old = first(with_filter_at(data, CHUNK, (footer_of(data).start + 1, 47)))
    assert "outside" in (old.problem or "")


def shared() -> bytes:
    """A file whose two row groups lead to one filter, that of the second."""
    data = with_filter()
    second = layout(data).existing[1]
    return with_filter_at(data, CHUNK, (second.offset, second.length or 0))


def test_a_filter_of_two_column_chunks_is_none_of_either() -> None:
    existing = layout(shared()).existing
    assert [old.problem for old in existing] == [SHARED, SHARED]
    assert existing[0].length == existing[0].footer_length
    assert [check.reason for check in verify(shared()).checks] == [SHARED, SHARED]


def test_filters_of_two_column_chunks_are_built_anew() -> None:
    mended = bloomify(shared(), ["id"]).data
    assert mended is not None
    assert [old.problem for old in layout(mended).existing] == [None, None]
    assert verify(mended).passed


@pytest.mark.parametrize("column", ["id", "email"])
def test_a_filter_that_was_shared_is_not_left_to_the_wrong_column(column: str) -> None:
    data = written(bloom_filter_options={name: {"ndv": 500} for name in ("id", "email")})
    email = layout(data).existing[1]
    data = with_filter_at(data, CHUNK, (email.offset, email.length or 0))
    for new in (bloomify(data, [column]).data, strip(data, [column]).data):
        assert new is not None
        assert [check.reason for check in verify(new).checks if check.column != column] == [""]
        assert verify(new).passed


def test_shared_offsets_in_any_order() -> None:
    offsets = np.array([[30, ABSENT, 10], [20, 30, ABSENT]])
    assert shared_offsets(offsets).tolist() == [[True, False, False], [False, True, False]]
    assert not shared_offsets(np.array([[30, 10], [20, ABSENT]])).any()


def test_an_unusual_header_without_a_length_is_not_trusted() -> None:
    data = with_filter()
    head = bytearray(filter_bytes(data, CHUNK))
    start = head.index(b"\x1c\x1c\x00\x00\x1c") - 1
    unusual = bytes(head[: start + 1]) + b"\x1c\x1c\x00\x00" * 3 + b"\x58\x00\x00"
    assert decode_header(unusual).num_bytes
    assert not decode_header(unusual).is_usual
    data = changed_at(data, layout(data).existing[0].offset, unusual)
    problem = first(without_length(data, CHUNK)).problem
    assert problem == "its header is unusual, and the footer gives no length to confirm it"
    assert "the footer gives it" in (first(data).problem or "")


@pytest.mark.parametrize("difference", [-1, 1, 32, -32])
def test_lengths_that_disagree(difference: int) -> None:
    data = with_filter()
    length = first(data).length
    assert length is not None
    old = first(with_number(data, ChunkField.BLOOM_FILTER_LENGTH, length + difference))
    assert old.length == length
    assert "its header" in (old.problem or "")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (b"\x15\x42", "numBytes = 33"),
        (b"\x00", "no numBytes"),
        (b"\xff" * 64, ""),
        (b"PAR1", ""),
    ],
)
def test_headers_that_are_none(change: bytes, words: str) -> None:
    data = with_filter()
    if words == "numBytes = 33":
        change += data[first(data).offset + 3 :][:16]  # The size takes 3 bytes there.
    old = first(changed_at(data, first(data).offset, change))
    assert old.length == (15 + 33 if words == "numBytes = 33" else None)
    assert old.problem
    assert words in old.problem


def test_unknown_hashes() -> None:
    data = with_filter()
    place = data.index(bytes.fromhex("1c1c00001c1c00001c1c0000"), first(data).offset)
    old = first(changed_at(data, place + 4, b"\x1c\x2c"))
    assert "hash" in (old.problem or "")
    assert old.length == old.footer_length == len(filter_bytes(data, CHUNK))


def test_bitsets_that_reach_into_the_footer() -> None:
    data = with_filter()
    header = Sbbf.empty(1 << 20).to_bytes()[: len(Sbbf.empty(1 << 20).to_bytes()) - (1 << 25)]
    old = first(changed_at(data, first(data).offset, header))
    assert "reaches into the footer" in (old.problem or "")


def test_headers_of_the_drafts() -> None:
    data = with_filter()
    draft = Sbbf.empty(2, dialect="murmur3").to_bytes()
    old = first(changed_at(data, first(data).offset, draft))
    assert "draft" in (old.problem or "")


@pytest.mark.parametrize("num_bytes", [256, 480, 544, 768, 1024])
def test_a_missing_length_must_be_confirmed_by_what_follows(num_bytes: int) -> None:
    """Bits that flip in the header would otherwise make another filter of it."""
    data = written(bloom_filter_options={name: {"ndv": 500} for name in ("id", "email")})
    data = without_length(data, *((row, column) for row in (0, 1) for column in (0, 1)))
    assert {old.problem for old in layout(data).existing} == {None}
    header = Sbbf.empty(num_bytes // 32).to_bytes()[:-num_bytes]
    data = changed_at(data, first(data).offset, header)
    old = first(data)
    assert old.length == len(header) + num_bytes
    assert old.problem == UNCONFIRMED
    by_impala = created_by(data, b"impala version 4.4.0-RELEASE (build 1234)")
    overlaps = old.stop > layout(data).existing[1].offset
    # Impala puts copies of metadata between filters.
    assert first(by_impala).problem == (OVERLAPS if overlaps else None)
    assert strip(data).left_bytes >= old.length
