"""Ranges of objects: in pieces, and whole whatever the store sends of them."""

from __future__ import annotations

import pytest

from parquet_bloomwriter.errors import FileChanged
from parquet_bloomwriter.stores import reader
from parquet_bloomwriter.stores.reader import ObjectReader

DATA = bytes(range(200))


class Served(ObjectReader):
    """Bytes here, of which one answer may be short."""

    def __init__(self, *, short_at: int | None = None, forever: bool = False) -> None:
        super().__init__(len(DATA), name="x")
        self.short_at = short_at
        self.forever = forever
        self.asked: list[tuple[int, int]] = []

    def _request(self, start: int, stop: int) -> bytes:
        self.asked.append((start, stop))
        if start == self.short_at:
            self.short_at = start if self.forever else None
            return b"" if self.forever else DATA[start : stop - 3]
        return DATA[start:stop]


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "PIECE_BYTES", 10)
    monkeypatch.setattr(ObjectReader, "gap", 0)


def test_long_ranges_are_cut_and_all_pieces_are_asked_for_at_once() -> None:
    source = Served()
    assert source.read_ranges([(0, 5), (20, 45), (100, 110)]) == [
        DATA[:5],
        DATA[20:45],
        DATA[100:110],
    ]
    assert sorted(source.asked) == [(0, 5), (20, 30), (30, 40), (40, 45), (100, 110)]


@pytest.mark.parametrize("short", [20, 30, 40])
def test_a_piece_that_came_short_moves_no_byte(short: int) -> None:
    assert Served(short_at=short).read_at(20, 45) == DATA[20:45]


def test_what_never_comes_is_an_error() -> None:
    with pytest.raises(FileChanged, match="the file became shorter"):
        Served(short_at=30, forever=True).read_at(20, 45)
