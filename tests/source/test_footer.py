"""How many requests a footer takes, and which bytes."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter.errors import NotParquet, UnsupportedFile
from parquet_bloomwriter.source import BufferSource, Location, read_footer
from parquet_bloomwriter.source.base import REMOTE_BYTES
from tests.source.stores import CountingHandler
from tests.verbs.files import footer_of, written

SMALL = written()


def wide() -> bytes:
    """A file whose footer is longer than the tail that is read at once."""
    sink = io.BytesIO()
    pq.write_table(pa.table({f"column number {i}": [i] * 9000 for i in range(900)}), sink)
    return sink.getvalue()


def large() -> bytes:
    """A file larger than the tail, with a footer inside the tail."""
    return written(pa.table({"id": pa.array(range(50_000), pa.int64())}), compression="none")


def reads(data: bytes, *, check_head: bool) -> tuple[list[tuple[int, int]], tuple[int, int]]:
    """The reads of a store, and what was counted."""
    handler = CountingHandler({"f": data})
    location = Location(path="f", filesystem=pafs.PyFileSystem(handler))
    with location.open() as source:
        handler.log.clear()
        footer = read_footer(source, check_head=check_head)
        assert footer.data == footer_of(data).data
        assert footer.start == footer_of(data).start
        return handler.log, (source.traffic.requests, source.traffic.bytes)


def test_a_small_remote_file_is_one_request() -> None:
    whole = [(0, len(SMALL))]
    assert len(SMALL) < REMOTE_BYTES
    assert reads(SMALL, check_head=True) == (whole, (1, len(SMALL)))
    assert reads(SMALL, check_head=False) == (whole, (1, len(SMALL)))


def test_a_large_remote_file_is_one_request() -> None:
    data = large()
    tail = (len(data) - REMOTE_BYTES, REMOTE_BYTES)
    assert tail[0] > 4
    assert reads(data, check_head=False) == ([tail], (1, REMOTE_BYTES))
    assert reads(data, check_head=True) == ([tail, (0, 4)], (2, REMOTE_BYTES + 4))


def test_a_long_footer_is_two_requests_without_overlap() -> None:
    data = wide()
    start = footer_of(data).start
    tail_start = len(data) - REMOTE_BYTES
    assert start < tail_start
    log, counted = reads(data, check_head=False)
    assert log == [(tail_start, REMOTE_BYTES), (start, tail_start - start)]
    assert counted == (2, len(data) - start)


def test_a_buffer_is_read_exactly() -> None:
    source = BufferSource(SMALL)
    footer = read_footer(source, check_head=False)
    assert (source.traffic.requests, source.traffic.bytes) == (2, 8 + len(footer.data))


def test_the_first_four_bytes() -> None:
    broken = BufferSource(b"PAX1" + SMALL[4:])
    assert read_footer(broken, check_head=False).data == footer_of(SMALL).data
    with pytest.raises(NotParquet, match="the first four bytes"):
        read_footer(BufferSource(b"PAX1" + SMALL[4:]))


@pytest.mark.parametrize("check_head", [True, False])
def test_what_is_no_parquet_file(*, check_head: bool) -> None:
    for data in (b"", b"PAR1", b"PAR1PAR1", b"PAR1" + bytes(7), b"x" * 100):
        with pytest.raises(NotParquet):
            read_footer(BufferSource(data), check_head=check_head)
    with pytest.raises(UnsupportedFile, match="encrypted"):
        read_footer(BufferSource(b"PARE" + bytes(40) + b"PARE"), check_head=check_head)
