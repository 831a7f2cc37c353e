"""Checksums of filters: no bit that a lookup reads can change unnoticed, and answers stay right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parquet_bloomwriter import kernels
from parquet_bloomwriter.errors import IndexProblem
from parquet_bloomwriter.index.files import FileId
from parquet_bloomwriter.index.format import part_writer
from parquet_bloomwriter.index.format.block_checks import bundles_of
from parquet_bloomwriter.index.format.checked_bits import ranges_of
from parquet_bloomwriter.index.format.filter_file import might_hold, read_global, write_filter
from parquet_bloomwriter.index.format.manifest import FileTable
from parquet_bloomwriter.index.format.part_reader import read_part
from parquet_bloomwriter.index.format.part_writer import PartRow, PartWriter
from parquet_bloomwriter.index.query import probe
from parquet_bloomwriter.index.query.column_filters import gather_filters
from parquet_bloomwriter.index.query.probe import ColumnProbe, read_filters
from tests.index.support import filled, hashes

if TYPE_CHECKING:
    from pathlib import Path

    from parquet_bloomwriter.index.entry import IndexFile
    from parquet_bloomwriter.sbbf import Sbbf

WAYS = ["kernel", "without", "whole"]
SIZES = st.lists(st.sampled_from([0, 1, 3, 9, 64]), min_size=1, max_size=99)


def filter_of(number: int, num_blocks: int) -> Sbbf:
    return filled(num_blocks, hashes(number, 8))


def written(folder: Path, sizes: list[int]) -> IndexFile:
    """Write a part, in several row groups, of filters of so many blocks; 0: without values."""
    with PartWriter(str(folder / "v__=0"), "id") as writer:
        for number, size in enumerate(sizes):
            writer.append(
                PartRow(
                    file_id=number,
                    file=FileId(f"f{number}", number, number),
                    row_group=-1,
                    column_type="{}",
                    num_values=8 if size else 0,
                    ndv=8 if size else 0,
                    data=filter_of(number, size).to_bytes() if size else b"",
                )
            )
        info = writer.close()
    assert info is not None
    return info.file


def opened(folder: Path, file: IndexFile, num_files: int) -> ColumnProbe:
    part = read_part(str(folder / file.path), file)
    numbers = np.arange(num_files)
    names = [FileId(f"f{number}", number, number) for number in range(num_files)]
    return ColumnProbe(gather_filters([part], FileTable.of_identities(numbers, names)))


def take(way: str, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(part_writer, "_ROW_GROUP_ROWS", 70)
    if way == "without":
        patch.setattr(kernels, "HAS_PREAD", False)
    patch.setattr(probe, "_MANY", 1 if way == "whole" else 1 << 30)
    patch.setattr(probe, "_WORTH_BYTES", 1 << 20)


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=15)
@given(sizes=SIZES, gone=st.sets(st.integers(0, 98)), asked=st.sets(st.integers(0, 98)))
def test_answers_are_those_of_the_filters(
    tmp_path_factory: pytest.TempPathFactory,
    way: str,
    sizes: list[int],
    gone: set[int],
    asked: set[int],
) -> None:
    """Also if some files of a group are gone, or not asked about."""
    folder = tmp_path_factory.mktemp("ix")
    with pytest.MonkeyPatch.context() as patch:
        take(way, patch)
        file = written(folder, sizes)
        part = read_part(str(folder / file.path), file)
        alive = [number for number in range(len(sizes)) if number not in gone]
        names = [FileId(f"f{number}", number, number) for number in alive]
        filters = gather_filters([part], FileTable.of_identities(np.array(alive, int), names))
        rows = np.array([i for i, number in enumerate(alive) if number in asked], np.int64)
        wanted = np.unique(np.concatenate([hashes(number, 1) for number in range(9)]))
        found = ColumnProbe(filters).might_contain(rows, wanted)
        blocks = dict(read_filters(filters, rows[filters.has_values[rows]]))
    for row, answer in zip(rows.tolist(), found.tolist(), strict=True):
        number = alive[filters.owners[row]]
        if not sizes[number]:
            assert not answer
            continue
        one = filter_of(number, sizes[number])
        assert answer == bool(one.check_hashes(wanted).any())
        assert np.array_equal(blocks[row], one.blocks)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("sizes", [[1], [64], [21] * 3, [9] * 20, [2, 64, 2, 64, 3, 8] * 6])
def test_a_changed_bit_is_noticed_by_who_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, sizes: list[int]
) -> None:
    take(way, monkeypatch)
    file = written(tmp_path, sizes)
    path = tmp_path / file.path
    column, rows, wanted = opened(tmp_path, file, len(sizes)), np.arange(len(sizes)), hashes(3, 1)
    assert column.might_contain(rows, wanted).tolist() == [
        bool(filter_of(number, size).check_hashes(wanted)[0]) for number, size in enumerate(sizes)
    ]
    data = path.read_bytes()
    for row in rows.tolist():
        filters = column.filters
        num_blocks = sizes[row]
        block = (int(wanted[0] >> np.uint64(32)) * num_blocks) >> 32
        stop = int(filters.starts[row] + filters.num_bytes[row])
        start = stop - 32 * (num_blocks - block)
        for place in (start, start + 31):
            _overwrite(path, data, place, bytes([data[place] ^ 1]))
            with pytest.raises(IndexProblem, match="not as they were written"):
                opened(tmp_path, file, len(sizes)).might_contain(rows, wanted)
            with pytest.raises(IndexProblem, match="not as they were written"):
                list(read_filters(opened(tmp_path, file, len(sizes)).filters, rows))
    chunk = pq.ParquetFile(path).metadata.row_group(0).column(10)
    assert chunk.path_in_schema == "BFChecks"
    end = chunk.data_page_offset + chunk.total_compressed_size
    total = 4 * sum(one.num_checks for one in bundles_of(column.filters.num_bytes[:70]))
    _overwrite(path, data, end - total, bytes(total))
    with pytest.raises(IndexProblem, match="not as they were written"):
        opened(tmp_path, file, len(sizes)).might_contain(rows, wanted)


def _overwrite(path: Path, data: bytes, place: int, new: bytes) -> None:
    path.write_bytes(data[:place] + new + data[place + len(new) :])


def test_swapped_filters_are_noticed(tmp_path: Path) -> None:
    file = written(tmp_path, [8] * 4)
    path, column = tmp_path / file.path, opened(tmp_path, file, 4)
    data, (one, other) = path.read_bytes(), column.filters.starts[1:3].tolist()
    length = int(column.filters.num_bytes[1])
    swapped = bytearray(data)
    swapped[one : one + length], swapped[other : other + length] = (
        data[other : other + length],
        data[one : one + length],
    )
    path.write_bytes(swapped)
    with pytest.raises(IndexProblem, match="not as they were written"):
        opened(tmp_path, file, 4).might_contain(np.arange(4), hashes(3, 1))


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 9, 15, 16, 17, 100])
def test_a_lookup_reads_hardly_more_for_checksums(tmp_path: Path, count: int) -> None:
    column = opened(tmp_path, written(tmp_path, [64] * count), count)
    groups = column.filters.groups
    _, ranges = ranges_of(groups, np.arange(len(groups.words)), hashes(1, 1))
    num_bytes = int((ranges[:, 1] - ranges[:, 0]).sum())
    assert num_bytes - 32 * count <= max(4, 0.02 * 32 * count)


@pytest.mark.parametrize("has_kernel", [True, False])
@pytest.mark.parametrize("num_blocks", [1, 2, 4, 8, 256])
def test_filters_of_all_values(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    num_blocks: int,
    has_kernel: bool,  # noqa: FBT001
) -> None:
    monkeypatch.setattr(kernels, "HAS_PREAD", kernels.HAS_PREAD and has_kernel)
    bits = filter_of(1, num_blocks)
    file = write_filter(str(tmp_path / "v__=0"), "id", bits, is_kept=True)
    path, wanted = tmp_path / file.path, np.concatenate([hashes(1, 8), hashes(2, 8)])
    assert might_hold(str(tmp_path), file, wanted).tolist() == bits.check_hashes(wanted).tolist()
    assert read_global(str(tmp_path), file) == bits
    data = path.read_bytes()
    header = len(bits.to_bytes()) - 32 * num_blocks
    for h in wanted:
        place = header + 32 * ((int(h >> np.uint64(32)) * num_blocks) >> 32)
        _overwrite(path, data, place + 5, bytes([data[place + 5] ^ 4]))
        with pytest.raises(IndexProblem, match="not as they were written"):
            might_hold(str(tmp_path), file, wanted)
        with pytest.raises(IndexProblem, match="not those that were written"):
            read_global(str(tmp_path), file)
