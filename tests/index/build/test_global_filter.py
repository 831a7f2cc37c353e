"""Filters of all values: joined from partial ones, extended by new ones, folded, or none."""

from __future__ import annotations

import math
import zlib
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parquet_bloomwriter.errors import IndexProblem
from parquet_bloomwriter.index.build.global_filter import (
    Merged,
    Partial,
    merge_partials,
)
from parquet_bloomwriter.index.format.filter_file import read_global
from parquet_bloomwriter.sbbf import MAX_BYTES, Sbbf
from parquet_bloomwriter.sbbf.union import FilterUnion

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from parquet_bloomwriter.index.entry import IndexFile


def hashes(count: int, seed: int) -> NDArray[np.uint64]:
    return np.random.default_rng(seed).integers(0, 2**64 - 1, count, dtype=np.uint64)


def filter_of(values: NDArray[np.uint64], num_blocks: int) -> Sbbf:
    bits = Sbbf.empty(num_blocks)
    bits.insert_hashes(values)
    return bits


def partial_file(folder: Path, values: NDArray[np.uint64], num_blocks: int) -> IndexFile:
    partial = Partial(num_blocks)
    if len(values):
        partial.insert(values)
    return partial.write(str(folder), "x").file


@pytest.fixture
def version(tmp_path: Path) -> Path:
    folder = tmp_path / "ix" / "v__=0"
    folder.mkdir(parents=True)
    return folder


def merged(
    version: Path, paths: Sequence[IndexFile | Sbbf], fpp: float = 0.01
) -> tuple[Merged, Sbbf]:
    found = merge_partials(paths, fpp, version_folder=str(version), column="x")
    assert isinstance(found, Merged)
    return found, read(version, found)


def read(version: Path, found: Merged) -> Sbbf:
    data = (version.parent / found.file.path).read_bytes()
    assert len(data) == found.file.size
    assert zlib.crc32(data) == found.file.crc
    return read_global(str(version.parent), found.file)


@settings(max_examples=25)
@given(
    parts=st.lists(
        st.tuples(st.integers(0, 200), st.sampled_from([1, 2, 3, 6, 7, 64, 100, 256])), max_size=6
    )
)
def test_a_union_contains_what_its_parts_do(parts: list[tuple[int, int]]) -> None:
    union = FilterUnion(MAX_BYTES)
    for seed, (count, num_blocks) in enumerate(parts):
        union.add(filter_of(hashes(count, seed), num_blocks).blocks)
    ndv = union.estimated_ndv()
    joined = union.joined()
    assert joined.num_blocks & (joined.num_blocks - 1) == 0
    for seed, (count, _) in enumerate(parts):
        assert joined.contains_all(hashes(count, seed))
    assert ndv >= 0.5 * max((count for count, _ in parts), default=0) or math.isinf(ndv)


def test_a_union_of_one_size_is_the_filter_of_all() -> None:
    union = FilterUnion(MAX_BYTES)
    for seed in range(3):
        union.add(filter_of(hashes(500, seed), 128).blocks)
    every = np.concatenate([hashes(500, seed) for seed in range(3)])
    assert union.joined() == filter_of(every, 128)


def test_repeating_blocks_keeps_the_rate() -> None:
    small = filter_of(hashes(50, 1), 8)
    union = FilterUnion(MAX_BYTES)
    union.add(small.blocks)
    union.add(Sbbf.empty(64).blocks)
    joined = union.joined()
    assert joined.num_blocks == 64
    assert joined.exact_fpp() == small.exact_fpp()
    absent = hashes(20_000, 2)
    assert np.array_equal(joined.check_hashes(absent), small.check_hashes(absent))


def test_the_first_filter_of_its_size_that_is_taken_is_not_copied() -> None:
    one, other, small = (filter_of(hashes(10, seed), n) for seed, n in ((1, 8), (2, 8), (3, 4)))
    union = FilterUnion()
    for taken in (one, other, small):
        union.take(taken.blocks)
    joined = union.joined()
    assert joined.blocks is one.blocks
    assert all(joined.contains_all(hashes(10, seed)) for seed in (1, 2, 3))


@pytest.mark.parametrize(("num_blocks", "size"), [(64, 2), (6, 2), (2, 2), (3, 1)])
def test_what_is_taken_is_no_larger_than_allowed(num_blocks: int, size: int) -> None:
    union = FilterUnion(max_bytes=100)
    union.take(filter_of(hashes(10, 1), num_blocks).blocks)
    assert union.joined() == filter_of(hashes(10, 1), size)


def test_a_union_is_no_larger_than_allowed() -> None:
    union = FilterUnion(max_bytes=100)
    union.add(filter_of(hashes(10, 1), 64).blocks)
    assert union.joined() == filter_of(hashes(10, 1), 2)


@pytest.mark.parametrize("in_memory", [(), (0,), (1,), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("fpp", [0.1, 0.01, 0.0001])
def test_partials_make_the_filter_of_all_values(
    fpp: float, in_memory: tuple[int, ...], version: Path
) -> None:
    parts = [hashes(3000, seed) for seed in range(3)]
    partials = [
        filter_of(part, 1 << 12) if number in in_memory else partial_file(version, part, 1 << 12)
        for number, part in enumerate(parts)
    ]
    found, bits = merged(version, partials, fpp)
    every = np.concatenate(parts)
    assert bits == filter_of(every, bits.num_blocks)
    assert bits.exact_fpp() == found.fpp <= fpp
    assert bits.fold(2).exact_fpp() > fpp
    assert abs(found.ndv - 9000) < 200
    assert found.file.path.startswith("v__=0/column=x/_global-")


def test_partials_that_are_too_small_stay_as_large_as_they_are(version: Path) -> None:
    found, bits = merged(version, [partial_file(version, hashes(3000, 1), 64)], 0.001)
    assert bits.num_blocks == 64
    assert 0.001 < found.fpp < 0.5


def test_partials_without_values_add_nothing(version: Path) -> None:
    paths = [partial_file(version, hashes(count, 1), 1 << 10) for count in (0, 2000, 0)]
    found, bits = merged(version, paths)
    assert bits == filter_of(hashes(2000, 1), bits.num_blocks)
    assert abs(found.ndv - 2000) < 100


def test_no_values_make_no_filter(version: Path) -> None:
    paths = [partial_file(version, hashes(0, 1), 1 << 10)]
    found = merge_partials(paths, 0.01, version_folder=str(version), column="x")
    assert found == "the column has no values"
    assert merge_partials([], 0.01, version_folder=str(version), column="x") == found
    assert list(version.rglob("_global-*")) == []


def test_a_useless_filter_is_none(version: Path) -> None:
    paths = [partial_file(version, hashes(3000, 1), 8)]
    found = merge_partials(paths, 0.01, version_folder=str(version), column="x")
    assert isinstance(found, str)
    assert found.startswith("made of the files' own filters, it would let ")
    assert list(version.rglob("_global-*")) == []


@pytest.mark.parametrize("old_blocks", [1 << 8, 1 << 12, 1 << 14])
def test_a_filter_is_extended_by_new_values(old_blocks: int, version: Path) -> None:
    first, _ = merged(version, [partial_file(version, hashes(1500, 1), old_blocks)])
    old_path = version.parent / first.file.path
    before = old_path.read_bytes()
    new = [partial_file(version, hashes(300, seed), 1 << 11) for seed in (2, 3)]
    found = merge_partials([first.file, *new], 0.01, version_folder=str(version), column="x")
    assert isinstance(found, Merged)
    bits = read(version, found)
    assert all(bits.contains_all(hashes(n, seed)) for n, seed in ((1500, 1), (300, 2), (300, 3)))
    assert bits.exact_fpp() == found.fpp < 0.05
    assert abs(found.ndv - 2100) < 200
    assert old_path.read_bytes() == before
    assert bits.num_blocks <= 1 << 11


@pytest.mark.parametrize("kept", [0, 10, 100, -1])
def test_a_file_that_is_cut_is_no_filter(kept: int, version: Path) -> None:
    file_ = partial_file(version, hashes(100, 1), 64)
    path = str(version.parent / file_.path)
    with open(path, "r+b") as file:  # noqa: PTH123
        file.truncate(kept if kept >= 0 else 64 * 32)
    with pytest.raises(IndexProblem) as error:
        merge_partials([file_], 0.01, version_folder=str(version), column="x")
    assert error.value.path == path
