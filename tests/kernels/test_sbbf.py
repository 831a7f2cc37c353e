"""Filters: every kernel does what the scalar functions of the specification do."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parquet_bloomwriter.sbbf.block import block_index, check_block, mask

Kernels: TypeAlias = Any
"""The reference or the compiled module, which carries no types."""

EVERY_RUN = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
HASHES = st.lists(st.integers(0, 2**64 - 1), max_size=60)
NEAR = 1 << 15
"""Blocks up to which a filter is not prefetched."""


def blocks_of(num_blocks: int, hashes: list[int]) -> np.ndarray:
    """Insert one by one."""
    blocks = np.zeros((num_blocks, 8), np.uint32)
    for h in hashes:
        blocks[block_index(h, num_blocks)] |= np.array(mask(h), np.uint32)
    return blocks


def words(hashes: list[int]) -> np.ndarray:
    return np.array(hashes, np.uint64)


@EVERY_RUN
@given(st.integers(1, 40), HASHES, HASHES)
def test_insert_and_check(
    kernels: Kernels, num_blocks: int, inserted: list[int], asked: list[int]
) -> None:
    blocks = np.zeros((num_blocks, 8), np.uint32)
    kernels.insert(blocks, words(inserted))
    assert np.array_equal(blocks, blocks_of(num_blocks, inserted))
    asked += inserted
    flags = np.full(len(asked) + 1, 9, np.uint8)
    expected = [check_block(blocks[block_index(h, num_blocks)].tobytes(), h) for h in asked]
    assert kernels.check(blocks, words(asked), flags) == sum(expected)
    assert flags.tolist() == [*expected, 9]
    assert kernels.check(blocks, words(asked), None) == sum(expected)


@pytest.mark.parametrize("num_blocks", [NEAR, NEAR + 1])
def test_filters_that_exceed_the_cache(kernels: Kernels, num_blocks: int) -> None:
    for count in (0, 1, 127, 128, 129, 1000):
        hashes = np.random.default_rng(count).integers(0, 2**64, 2 * count, np.uint64)
        blocks = np.zeros((num_blocks, 8), np.uint32)
        kernels.insert(blocks, hashes[:count])
        assert np.array_equal(blocks, blocks_of(num_blocks, hashes[:count].tolist())), count
        flags = np.empty(2 * count, np.bool_)
        found = kernels.check(blocks, hashes, flags)
        assert flags[:count].all(), count
        assert found == np.count_nonzero(flags) < count + 10, count


def test_a_block_at_any_address(kernels: Kernels) -> None:
    hashes = np.random.default_rng(1).integers(0, 2**64, 100, np.uint64)
    expected = blocks_of(5, hashes.tolist())
    for shift in range(1, 33):
        memory = np.zeros(5 * 32 + 33, np.uint8)
        blocks = memory[shift : shift + 160]
        kernels.insert(blocks, hashes)
        assert blocks.tobytes() == expected.tobytes()
        assert kernels.check(blocks, hashes, None) == 100
        assert not memory[:shift].any()
        assert not memory[shift + 160 :].any()


NOISE = np.random.default_rng(2).integers(0, 2**32, (360, 8), np.uint32)


def test_fold_and_unite(kernels: Kernels) -> None:
    for factor in (1, 2, 3, 5, 60, 64, 72, 120, 360):
        count = 360 - 360 % factor
        folded = np.full((count // factor + 1, 8), 5, np.uint32)
        kernels.fold(NOISE[:count], factor, folded[:-1])
        runs = NOISE[:count].reshape(-1, factor, 8)
        assert np.array_equal(folded[:-1], np.bitwise_or.reduce(runs, axis=1))
        assert (folded[-1] == 5).all()
        union = np.vstack([NOISE[:count][::-1], NOISE[:1]])
        before = union.copy()
        kernels.unite(union[:-1], folded[:-1])
        expected = before[:-1] | np.repeat(folded[:-1], factor, axis=0)
        assert np.array_equal(union[:-1], expected)
        assert np.array_equal(union[-1], before[-1])


@pytest.mark.parametrize("num_blocks", [1, 2, 7, 360])
def test_counts(kernels: Kernels, num_blocks: int) -> None:
    blocks = NOISE[:num_blocks].copy()
    blocks[0] = 0xFFFFFFFF
    bits = [[word.bit_count() for word in block] for block in blocks.tolist()]
    assert kernels.count_bits(blocks) == sum(map(sum, bits))
    assert kernels.sum_products(blocks) == sum(map(math.prod, bits)) >= 2**40


GUARDED = """
import ctypes, mmap
import numpy as np
from parquet_bloomwriter.kernels import _compiled as kernels

AHEAD, NEAR_BLOCKS = 128, 1 << 15
page = mmap.PAGESIZE
memory = mmap.mmap(-1, 2 * page)
start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(start + page), page, 0) == 0
hashes = np.frombuffer(memory, np.uint64, 2 * AHEAD, page - 16 * AHEAD)
assert start + page == hashes.ctypes.data + hashes.nbytes
blocks = np.zeros((NEAR_BLOCKS + 1, 8), np.uint32)
for variant in kernels.variants():
    kernels.choose_variant(variant)
    kernels.insert(blocks, hashes)
    assert kernels.check(blocks, hashes, None) == len(hashes)
    for width in (1, 4, 8, 12, 16, 17, 100):
        some = hashes.view(np.uint8)[-(2000 // width) * width:]
        out = np.empty(len(some) // width, np.uint64)
        assert kernels.xxh64_fixed(some, width, 0, len(out), None, out) == len(out)
    out = np.empty(1000, np.uint64)
    bits = hashes.view(np.uint8)[-126:]
    kernels.xxh64_fixed(bytes(8080), 8, 3, 1000, bits, out)
print("nothing behind the page was read")
"""


def test_no_kernel_reads_behind_its_buffers() -> None:
    """The next page cannot be read, and the filter is so large that blocks are asked for ahead."""
    done = subprocess.run(
        [sys.executable, "-c", GUARDED], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "nothing behind the page was read\n"), done.stderr
