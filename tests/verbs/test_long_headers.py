"""Headers with unknown fields, as long as these may be, are read whole by everything that asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.fs as pafs
import pytest

from parquet_bloomwriter import BloomFile, Status, bloomify, inspect, probe, strip, verify
from parquet_bloomwriter.errors import MalformedFilter
from parquet_bloomwriter.filters.stored import FilterReader
from parquet_bloomwriter.sbbf import Sbbf, decode_header
from tests.source.stores import CountingHandler
from tests.support import compact
from tests.verbs.broken_filters import with_filter
from tests.verbs.files import filter_bytes, footer_of, without_length, written

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CHUNKS = ((0, 0), (1, 0))
LONG = (65, 66, 100, 1000, 20_000, 64 * 1024)
PLAIN = written(write_statistics=False, use_dictionary=False)
FILTERED = bloomify(PLAIN, ["id"]).data or b""
BITS = [Sbbf.from_bytes(filter_bytes(FILTERED, chunk)) for chunk in CHUNKS]


def varint(number: int) -> bytes:
    """The unsigned varint of two or three bytes."""
    groups = [number & 0x7F, number >> 7 & 0x7F, *([number >> 14] if number >> 14 else [])]
    return bytes([*(group | 0x80 for group in groups[:-1]), groups[-1]])


def with_long_headers(length: int) -> bytes:
    """The sample with headers of so many bytes: field 5 is a binary that nobody knows."""
    data = PLAIN
    for chunk, bits in zip(CHUNKS, BITS, strict=True):
        old = bits.to_bytes()
        usual = old[: -bits.num_bytes]
        room = length - len(usual) - 1
        size = next(room - n for n in (1, 2, 3) if _varint_bytes(room - n) == n)
        extra = b"\x18" + (bytes([size]) if size < 0x80 else varint(size)) + b"?" * size
        header = usual[:-1] + extra + b"\x00"
        assert len(header) == length
        data = with_filter(data, chunk, header + old[-bits.num_bytes :])
    return data


def _varint_bytes(number: int) -> int:
    return 1 if number < 1 << 7 else 2 if number < 1 << 14 else 3


def as_buffer(data: bytes, _folder: Path) -> dict[str, Any]:
    return {"source": data}


def as_local_file(data: bytes, folder: Path) -> dict[str, Any]:
    path = folder / "a.parquet"
    path.write_bytes(data)
    return {"source": path}


def as_remote_file(data: bytes, _folder: Path) -> dict[str, Any]:
    store = pafs.PyFileSystem(CountingHandler({"bucket/a.parquet": data}))
    return {"source": "bucket/a.parquet", "filesystem": store}


every_source = pytest.mark.parametrize("opened_as", [as_buffer, as_local_file, as_remote_file])
every_length = pytest.mark.parametrize("length", LONG)


@every_source
@every_length
def test_lookups(opened_as: Callable[..., dict[str, Any]], length: int, tmp_path: Path) -> None:
    where = opened_as(with_long_headers(length), tmp_path)
    for value, expected in ((3, [True, False]), (900, [False, True])):
        report = probe(where["source"], f"id = {value}", filesystem=where.get("filesystem"))
        assert report.files[0].surviving == (expected.index(True),)
    with BloomFile(**where) as file:
        assert [file.filter(row_group, "id") for row_group in (0, 1)] == BITS
        found = file.might_contain("id", [3, 900, 77_777])
        assert np.array_equal(found, [True, True, False])


@every_source
@every_length
def test_checks(opened_as: Callable[..., dict[str, Any]], length: int, tmp_path: Path) -> None:
    where = opened_as(with_long_headers(length), tmp_path)
    assert verify(**where).passed
    filters = inspect(**where).filters
    assert [one.problem for one in filters] == [None, None]
    assert [one.num_bytes for one in filters] == [bits.num_bytes for bits in BITS]


@every_length
def test_rewriting(length: int) -> None:
    data = with_long_headers(length)
    for each in (data, without_length(data, *CHUNKS)):
        stripped = strip(each)
        assert (stripped.data, stripped.left_bytes) == (PLAIN, 0)
    (column,) = bloomify(data, ["id"]).columns
    assert column.count(Status.KEPT) == len(CHUNKS)


@pytest.mark.parametrize(
    ("data", "requests"),
    [(FILTERED, 1), (with_long_headers(64), 1), (with_long_headers(65), 2)],
    ids=["usual", "64 bytes", "65 bytes"],
)
def test_only_long_headers_are_read_again(data: bytes, requests: int) -> None:
    asked = []

    def read_at(start: int, stop: int) -> bytes:
        asked.append(start)
        return data[start:stop]

    offset, length = compact.filters_of(compact.footer_of(data))[0, 0]
    assert length is not None
    footer = footer_of(data)
    reader = FilterReader(limit=footer.start, edges=footer.edges, read_at=read_at)
    stored = reader.read(footer.leaves[0], 0, offset=offset, length=length)
    assert stored.problem is None
    assert asked == [offset] * requests


@every_source
def test_headers_without_an_end_are_distrusted(
    opened_as: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    endless = with_filter(FILTERED, (0, 0), b"\x15\x80\x01" + b"\x58" * 70_000)
    where = opened_as(endless, tmp_path)
    report = probe(where["source"], "id = 77777", filesystem=where.get("filesystem"))
    assert report.files[0].surviving == (0,)
    assert not verify(**where).passed


@every_length
def test_cut_anywhere_it_is_no_header(length: int) -> None:
    data = with_long_headers(length)
    whole = filter_bytes(data, (0, 0))[:length]
    assert decode_header(whole).length == length
    for kept in {0, 1, 14, 64, length // 2, length - 1}:
        with pytest.raises(MalformedFilter):
            decode_header(whole[:kept])
