"""Pieces of many files: the right bytes of the right file, however they are read, or a failure."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.fs as pafs
import pytest

from parquet_bloomwriter import kernels
from parquet_bloomwriter.errors import MalformedFile
from parquet_bloomwriter.probing.batch_reader import BatchReader
from parquet_bloomwriter.source import BufferSource, Source, open_for_reading
from tests.source.stores import CountingHandler

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SIZE = 32
CONTENTS = [np.random.default_rng(seed).bytes(1000 + seed) for seed in range(5)]


@pytest.fixture(params=["local, by a kernel", "local, one by one", "memory", "store", "mixed"])
def sources(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[Source]]:
    """Open the contents in one way or another."""
    kind = request.param
    monkeypatch.setattr(kernels, "HAS_PREAD", kernels.HAS_PREAD and kind != "local, one by one")
    store = CountingHandler({f"folder/{i}": data for i, data in enumerate(CONTENTS)})
    filesystem = pafs.PyFileSystem(store)
    with ExitStack() as stack:
        opened: list[Source] = []
        for number, data in enumerate(CONTENTS):
            if kind == "memory" or (kind == "mixed" and number % 3 == 0):
                opened.append(BufferSource(data))
            elif kind == "store" or (kind == "mixed" and number % 3 == 1):
                path = f"folder/{number}"
                opened.append(stack.enter_context(open_for_reading(path, filesystem=filesystem)))
            else:
                place = tmp_path / str(number)
                place.write_bytes(data)
                opened.append(stack.enter_context(open_for_reading(place)))
        yield opened


def places(seed: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 5, count), rng.integers(0, 1000 - SIZE, count)


def test_all_pieces_come_from_where_they_are(sources: list[Source]) -> None:
    for seed, count in ((1, 200), (2, 1), (3, 0)):
        file_of, starts = places(seed, count)
        reader = BatchReader(sources)
        found = reader.read(file_of, starts, SIZE)
        expected = [
            CONTENTS[file][start : start + SIZE]
            for file, start in zip(file_of.tolist(), starts.tolist(), strict=True)
        ]
        assert [row.tobytes() for row in found] == expected
        assert reader.failures == {}


def test_every_read_is_counted(sources: list[Source]) -> None:
    file_of, starts = np.arange(5), np.full(5, 100)
    BatchReader(sources).read(file_of, starts, SIZE)
    assert [source.traffic.requests for source in sources] == [1] * 5
    assert [source.traffic.bytes for source in sources] == [SIZE] * 5


@pytest.mark.parametrize("start", [-1, -(2**62), 1000 - SIZE + 5, 2000, 2**62])
def test_places_outside_a_file_fail_it_and_no_other(sources: list[Source], start: int) -> None:
    file_of, starts = places(4, 60)
    starts[file_of == 2] = 10
    file_of = np.concatenate([file_of, [0], file_of])
    starts = np.concatenate([starts, [start], starts])
    reader = BatchReader(sources)
    found = reader.read(file_of, starts, SIZE)
    assert set(reader.failures) == {0}
    assert isinstance(reader.failures[0], MalformedFile)
    for row, file, begin in zip(found, file_of.tolist(), starts.tolist(), strict=True):
        if file:
            assert row.tobytes() == CONTENTS[file][begin : begin + SIZE]


def test_a_file_that_was_cut_meanwhile_fails(tmp_path: Path) -> None:
    path = tmp_path / "x"
    for has_pread in (True, False):
        path.write_bytes(bytes(1000))
        with open_for_reading(path) as source, pytest.MonkeyPatch.context() as patch:
            patch.setattr(kernels, "HAS_PREAD", kernels.HAS_PREAD and has_pread)
            path.write_bytes(bytes(110))
            reader = BatchReader([source])
            found = reader.read(np.zeros(3, np.int64), np.array([0, 50, 100]), SIZE)
            assert not found.any()
            assert "shorter" in str(reader.failures[0])
