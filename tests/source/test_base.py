"""What holds for every source: whole answers or an error, each read counted, the tail kept."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_bloomwriter.errors import FileChanged, MalformedFile
from parquet_bloomwriter.source import BufferSource
from parquet_bloomwriter.source.base import RangeReader

DATA = bytes(i * 31 % 251 for i in range(3000))


class Logged(RangeReader):
    """Bytes that come in pieces of at most `most` bytes, with a log of what was asked for."""

    gap: ClassVar[int] = 16

    def __init__(self, data: bytes = DATA, *, size: int | None = None, most: int = 10**9) -> None:
        super().__init__(len(data) if size is None else size, name="logged")
        self.data = data
        self.most = most
        self.log: list[tuple[int, int]] = []

    def _fetch(self, start: int, stop: int) -> bytes:
        self.log.append((start, stop))
        return self.data[start : min(stop, start + self.most)]

    def for_arrow(self) -> object:
        """Not wanted here."""
        raise AssertionError


@st.composite
def bounds(draw: st.DrawFn) -> tuple[int, int]:
    start = draw(st.integers(0, len(DATA)))
    return start, draw(st.integers(start, len(DATA)))


@given(
    ranges=st.lists(bounds(), max_size=12),
    tail=st.integers(0, len(DATA) + 10),
    most=st.integers(1, len(DATA)),
)
def test_ranges_are_slices(ranges: list[tuple[int, int]], tail: int, most: int) -> None:
    source = Logged(most=most)
    assert source.read_tail(tail) == DATA[max(0, len(DATA) - tail) :]
    assert source.read_ranges(ranges) == [DATA[start:stop] for start, stop in ranges]
    assert [source.read_at(*one) for one in ranges] == [DATA[slice(*one)] for one in ranges]
    assert source.traffic.requests == len(source.log)
    fetched = sum(min(stop, start + most) - start for start, stop in source.log)
    assert source.traffic.bytes == fetched


def test_what_needs_no_request() -> None:
    source = Logged()
    assert source.read_tail(100) == DATA[-100:]
    assert source.read_at(2950, 2960) == DATA[2950:2960]
    assert source.read_tail(50) == DATA[-50:]
    assert source.read_at(7, 7) == b""
    assert source.read_ranges([(2900, 3000), (5, 5)]) == [DATA[-100:], b""]
    assert source.log == [(2900, 3000)]
    assert source.read_ranges([(2990, 2995), (10, 20)]) == [DATA[2990:2995], DATA[10:20]]
    assert source.log == [(2900, 3000), (10, 20)]
    assert source.read_tail(101) == DATA[-101:]
    assert source.log[2:] == [(2899, 3000)]


def test_close_ranges_are_one_request() -> None:
    source = Logged()
    assert source.read_ranges([(526, 530), (500, 510), (547, 550)]) == [
        DATA[526:530],
        DATA[500:510],
        DATA[547:550],
    ]
    assert source.log == [(500, 530), (547, 550)]
    assert (source.traffic.requests, source.traffic.bytes) == (2, 33)


@pytest.mark.parametrize("outside", [(-1, 5), (5, 4), (2999, 3001), (3001, 3001), (2**62, 2**63)])
def test_no_such_bytes(outside: tuple[int, int]) -> None:
    for source in (Logged(), BufferSource(DATA, name="logged")):
        with pytest.raises(MalformedFile, match="there are no bytes") as caught:
            source.read_at(*outside)
        assert caught.value.path == "logged"
        with pytest.raises(MalformedFile, match="there are no bytes"):
            source.read_ranges([(0, 10), outside])
        assert source.traffic.requests == 0


@pytest.mark.parametrize("most", [10**9, 7])
def test_shorter_than_it_was(most: int) -> None:
    source = Logged(DATA[:1000], size=3000, most=most)
    assert source.read_at(990, 1000) == DATA[990:1000]
    with pytest.raises(FileChanged, match="the file became shorter") as caught:
        source.read_at(990, 1001)
    assert (caught.value.path, caught.value.byte) == ("logged", 1000)
    with pytest.raises(FileChanged):
        source.read_ranges([(0, 5), (990, 1001)])
    with pytest.raises(FileChanged):
        source.read_tail(8)


def test_more_than_was_asked_for() -> None:
    class Generous(Logged):
        def _fetch(self, start: int, stop: int) -> bytes:
            return self.data[start : stop + 1]

    with pytest.raises(OSError, match="11 bytes came where 10 were asked for"):
        Generous().read_at(0, 10)


def test_threads_count_together() -> None:
    source = Logged()

    def read(thread: int) -> None:
        for i in range(200):
            start = (thread * 200 + i) % 2900
            assert source.read_at(start, start + 10) == DATA[start : start + 10]
            if i % 50 == 0:
                source.read_tail(10 + i % 40)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(read, range(8)))
    assert source.traffic.requests == len(source.log)
    assert source.traffic.bytes == sum(stop - start for start, stop in source.log)
