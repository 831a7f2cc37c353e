"""Looking hashes up in many filters, whichever way they are read."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parquet_bloomwriter import kernels
from parquet_bloomwriter.errors import BloomwriterError, IndexProblem
from parquet_bloomwriter.index.entry import IndexFile
from parquet_bloomwriter.index.format.manifest import read_manifest
from parquet_bloomwriter.index.format.part_reader import read_part
from parquet_bloomwriter.index.query import probe
from parquet_bloomwriter.index.query.column_filters import gather_filters
from parquet_bloomwriter.index.query.probe import ColumnProbe, read_filters
from parquet_bloomwriter.kernels.layout import ODD
from parquet_bloomwriter.source import local
from tests.index.built import overwrite
from tests.index.support import Column, Row, filled, hashes, make

if TYPE_CHECKING:
    from parquet_bloomwriter.index.query.column_filters import ColumnFilters

SIZES = [1, 2, 16, 64, 3, 512]
NUM_PARTS, NUM_FILES = 4, 40
ROWS = [
    Row(file_id=i, filter=None if i % 7 == 3 else filled(SIZES[i % 6], hashes(i, 4 * SIZES[i % 6])))
    for i in range(NUM_FILES)
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home") / "ids"
    parts = [[ROWS[k::NUM_PARTS][:5], ROWS[k::NUM_PARTS][5:]] for k in range(NUM_PARTS)]
    make(folder, {"id": Column(parts=parts)}, file_ids=range(NUM_FILES))
    return folder


def opened(folder: Path) -> ColumnFilters:
    """The filters, none of them looked at so far."""
    paths = sorted(folder.glob("v__=0/column=id/part-*"))
    parts = [
        read_part(str(path), IndexFile(path=path.name, size=path.stat().st_size)) for path in paths
    ]
    return gather_filters(parts, read_manifest(str(folder / "v__=0/manifest.bfindex")))


def expected(filters: ColumnFilters, rows: list[int], wanted: np.ndarray) -> list[bool]:
    owners = [ROWS[filters.owners[row]].filter for row in rows]
    return [one is not None and bool(one.check_hashes(wanted).any()) for one in owners]


WAYS = {
    "kernel": {"_MANY": 10**9},
    "kernel, few parts at once": {"_MANY": 10**9, "_MAX_OPEN": 1},
    "whole": {"_MANY": 1, "_WORTH_BYTES": 1 << 20},
    "whole, small slabs": {"_MANY": 1, "_WORTH_BYTES": 600, "_SLAB_BYTES": 900, "_MAX_OPEN": 2},
    "whole, far apart": {"_MANY": 1, "_WORTH_BYTES": 1 << 20, "_GAP_BYTES": 0},
    "without kernel": {"_MANY": 10**9},
}


def take(way: str, patch: pytest.MonkeyPatch) -> None:
    """Have filters read in one way."""
    for name, value in WAYS[way].items():
        patch.setattr(probe, name, value)
    if way == "without kernel":
        patch.setattr(kernels, "HAS_PREAD", False)


@pytest.mark.parametrize("way", WAYS)
@given(
    rows=st.sets(st.integers(0, NUM_FILES - 1)),
    seeds=st.sets(st.integers(0, 400), max_size=20),
)
@settings(max_examples=15)
def test_answers_are_those_of_the_filters(
    index: Path, way: str, rows: set[int], seeds: set[int]
) -> None:
    """Seeds below the number of files give hashes that are in a filter."""
    filters, asked = opened(index), sorted(rows)
    wanted = np.unique([hashes(seed, 1)[0] for seed in seeds]).astype(np.uint64)
    with pytest.MonkeyPatch.context() as patch:
        take(way, patch)
        column = ColumnProbe(filters)
        for _ in range(2):  # The second time no header is looked at.
            found = column.might_contain(np.array(asked, np.int64), wanted)
            assert found.tolist() == expected(filters, asked, wanted)


def test_blocks_are_those_of_the_filters(index: Path) -> None:
    filters = opened(index)
    rows = np.flatnonzero(filters.has_values)
    found = dict(read_filters(filters, rows))
    assert sorted(found) == rows.tolist()
    for row, blocks in found.items():
        one = ROWS[filters.owners[row]].filter
        assert one is not None
        assert np.array_equal(blocks, one.blocks)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("byte", [0, 1, 5, 14])
def test_what_has_another_header_is_no_filter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, byte: int
) -> None:
    folder = tmp_path / "ids"
    make(folder, {"id": Column(parts=[[ROWS[:3]]])}, file_ids=range(3))
    before = opened(folder)
    path = Path(before.paths[0])
    data = bytearray(path.read_bytes())
    data[int(before.starts[1]) + byte] ^= 1
    path.write_bytes(data)
    filters = opened(folder)
    take(way, monkeypatch)
    everything, wanted = np.arange(3), hashes(0, 2)
    with pytest.raises(IndexProblem, match="header"):
        ColumnProbe(filters).might_contain(everything, np.unique(wanted))
    with pytest.raises(IndexProblem, match="header"):
        list(read_filters(filters, everything))


@pytest.mark.parametrize("way", WAYS)
def test_parts_that_are_gone_or_cut_are_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    folder = tmp_path / "ids"
    make(folder, {"id": Column(parts=[[ROWS[:2]], [ROWS[4:6]]])}, file_ids=range(6))
    filters = opened(folder)
    column = ColumnProbe(filters)
    everything, wanted = np.arange(4), np.unique(hashes(0, 2))
    take(way, monkeypatch)
    assert column.might_contain(everything, wanted)[0]
    path = Path(filters.paths[1])
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(BloomwriterError, match="changed"):
        column.might_contain(everything, wanted)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        column.might_contain(everything, wanted)
    assert column.might_contain(everything[:2], wanted)[0]


def refuse_pieces(patch: pytest.MonkeyPatch) -> None:
    """Have the kernels read nothing, as if every read were interrupted."""

    def probe_usual(tasks: np.ndarray) -> int:
        tasks[:, 7] = ODD
        return len(tasks)

    for name, kernel in {"probe_usual": probe_usual, "read_pieces": lambda *_: 0}.items():
        patch.setattr(kernels, name, kernel, raising=False)  # the reference has neither


def test_reads_that_a_kernel_does_not_complete_are_done_again(
    index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_pieces(monkeypatch)
    filters, rows = opened(index), list(range(NUM_FILES))
    wanted = np.unique([hashes(seed, 1)[0] for seed in (0, 5, 300)])
    found = ColumnProbe(filters).might_contain(np.array(rows), wanted)
    assert found.tolist() == expected(filters, rows, wanted)


def test_a_read_that_fails_is_no_malformed_header(
    index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pread(*_: object) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    column = ColumnProbe(opened(index))
    refuse_pieces(monkeypatch)
    monkeypatch.setattr(local, "_pread", pread)
    with pytest.raises(OSError, match="Input/output"):
        column.might_contain(np.arange(NUM_FILES), hashes(0, 1))


def test_no_file_stays_open(index: Path) -> None:
    column = ColumnProbe(opened(index))
    before = sorted(os.listdir("/proc/self/fd"))  # noqa: PTH208
    column.might_contain(np.arange(NUM_FILES), np.unique(hashes(0, 20)))
    column.might_contain(np.arange(NUM_FILES), hashes(0, 1))
    assert sorted(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


@pytest.mark.parametrize("way", WAYS)
def test_each_filter_is_looked_at_when_it_is_asked_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """That one header was in order says nothing about the others."""
    folder = tmp_path / "ids"
    make(folder, {"id": Column(parts=[[ROWS[:3]]])}, file_ids=range(3))
    before = opened(folder)
    overwrite(Path(before.paths[0]), int(before.starts[1]) + 1, b"\x01")
    column = ColumnProbe(opened(folder))
    take(way, monkeypatch)
    wanted = np.unique(hashes(0, 2))
    for _ in range(2):
        assert column.might_contain(np.array([0, 2]), wanted).tolist() == [True, False]
    with pytest.raises(IndexProblem, match="header"):
        column.might_contain(np.array([1]), wanted)
