"""What holds for any filter: nothing is lost, folds and unions equal fresh builds."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_bloomwriter.errors import InvalidArgument, MalformedFilter
from parquet_bloomwriter.sbbf import Sbbf, block_index, check_block
from parquet_bloomwriter.sbbf.block import SALT, mask

if TYPE_CHECKING:
    from numpy.typing import NDArray

HASH = st.integers(0, 2**64 - 1)
HASHES = st.lists(HASH, max_size=200)
# Blocks beyond this count are asked for ahead, by another path through the kernels.
FAR = (1 << 15) + 1


def array(hashes: list[int]) -> NDArray[np.uint64]:
    """Make what the kernels take."""
    return np.array(hashes, dtype=np.uint64)


def build(num_blocks: int, hashes: list[int]) -> Sbbf:
    """Make a filter one hash at a time, without kernels."""
    built = Sbbf.empty(num_blocks)
    for h in hashes:
        built.insert_hash(h)
    return built


@given(st.integers(1, 300), HASHES, HASHES)
def test_kernels_do_what_single_steps_do(
    num_blocks: int, hashes: list[int], others: list[int]
) -> None:
    one_by_one = build(num_blocks, hashes)
    at_once = Sbbf.empty(num_blocks)
    at_once.insert_hashes(array(hashes))
    assert at_once == one_by_one
    expected = [one_by_one.check_hash(h) for h in others]
    assert at_once.check_hashes(array(others)).tolist() == expected
    assert at_once.contains_all(array(others)) == all(expected)


def test_a_filter_beyond_the_cache_is_the_same() -> None:
    hashes = np.random.default_rng(3).integers(0, 2**64, 1000, dtype=np.uint64)
    filled = Sbbf.empty(FAR)
    filled.insert_hashes(hashes)
    assert filled == build(FAR, hashes.tolist())
    absent = np.random.default_rng(4).integers(0, 2**64, 1000, dtype=np.uint64)
    expected = [filled.check_hash(h) for h in absent.tolist()]
    assert filled.check_hashes(absent).tolist() == expected
    assert filled.contains_all(hashes)
    assert not filled.contains_all(absent)


@given(st.integers(1, 100), HASHES)
def test_no_false_negatives(num_blocks: int, hashes: list[int]) -> None:
    built = Sbbf.empty(num_blocks)
    built.insert_hashes(array(hashes))
    assert built.contains_all(array(hashes))
    assert built.check_hashes(array(hashes)).all()
    assert all(built.check_hash(h) for h in hashes)


def test_an_empty_filter_contains_nothing() -> None:
    empty = Sbbf.empty(4)
    hashes = np.random.default_rng(0).integers(0, 2**64, 100, dtype=np.uint64)
    assert not empty.check_hashes(hashes).any()
    assert empty.contains_all(array([]))


@given(HASH)
def test_the_mask_has_one_bit_in_each_word(h: int) -> None:
    words = mask(h)
    assert [word.bit_count() for word in words] == [1] * 8
    bits = [word.bit_length() - 1 for word in words]
    assert bits == [(h % 2**32 * salt % 2**32) >> 27 for salt in SALT]


@given(HASH, st.integers(1, 2**31 - 1), st.integers(1, 2**31 - 1))
def test_the_mask_does_not_depend_on_the_size(h: int, one: int, other: int) -> None:
    # The block number uses the upper half only, the mask the lower half only.
    assert block_index(h ^ 0xFFFFFFFF, one) == block_index(h, one)
    assert mask(h ^ (0xFFFFFFFF << 32)) == mask(h)
    assert 0 <= block_index(h, other) < other


@given(HASH, st.integers(1, 2**20), st.integers(1, 2**10))
def test_the_index_divides_like_the_size(h: int, quotient: int, factor: int) -> None:
    assert block_index(h, quotient * factor) // factor == block_index(h, quotient)


@given(st.integers(1, 40), st.integers(1, 90), HASHES)
def test_a_fold_equals_a_fresh_filter(quotient: int, factor: int, hashes: list[int]) -> None:
    assert build(quotient * factor, hashes).fold(factor) == build(quotient, hashes)


def test_folding_in_steps_equals_folding_at_once() -> None:
    hashes = np.random.default_rng(5).integers(0, 2**64, 2000, dtype=np.uint64)
    filled = Sbbf.empty(7200)
    filled.insert_hashes(hashes)
    assert filled.fold(2).fold(3).fold(100) == filled.fold(600)


@pytest.mark.parametrize("factor", [0, -1, 5, 24])
def test_only_divisors_fold(factor: int) -> None:
    with pytest.raises(InvalidArgument, match="does not divide the filter's 12 blocks"):
        Sbbf.empty(12).fold(factor)


@given(st.integers(1, 30), st.integers(1, 8), HASHES, HASHES)
def test_a_merge_equals_a_filter_of_both(
    num_blocks: int, factor: int, some: list[int], others: list[int]
) -> None:
    small, big = build(num_blocks, some), build(num_blocks * factor, others)
    union = build(num_blocks, some + others)
    assert small.merge(big) == union
    assert big.merge(small) == union
    assert small == build(num_blocks, some), "merging changes neither filter"
    assert big == build(num_blocks * factor, others)


def test_unrelated_sizes_do_not_merge() -> None:
    with pytest.raises(InvalidArgument, match="filters of 4 and 6 blocks"):
        Sbbf.empty(4).merge(Sbbf.empty(6))


@given(st.integers(1, 60), HASHES, HASH)
def test_bytes_round_trip(num_blocks: int, hashes: list[int], h: int) -> None:
    built = build(num_blocks, hashes)
    raw = built.to_bytes()
    again = Sbbf.from_bytes(raw)
    assert again == built
    assert again.contains_all(array(hashes))
    start = len(raw) - built.num_bytes + 32 * block_index(h, num_blocks)
    assert check_block(raw[start : start + 32], h) == built.check_hash(h)


def test_a_filter_read_from_bytes_is_a_view() -> None:
    buffer = bytearray(Sbbf.empty(2).to_bytes())
    Sbbf.from_bytes(buffer).insert_hashes(array([1, 2, 3]))
    assert bytes(buffer) == build(2, [1, 2, 3]).to_bytes()


def test_a_view_of_read_only_memory_is_never_written() -> None:
    raw = Sbbf.empty(2).to_bytes()
    with pytest.raises(InvalidArgument, match="read-only"):
        Sbbf.from_bytes(raw).insert_hash(1)
    with pytest.raises(InvalidArgument, match="read-only"):
        Sbbf.from_bytes(raw).insert_hashes(array([1]))
    assert raw == Sbbf.empty(2).to_bytes()


@pytest.mark.parametrize("wrong", [b"", b"\x00", bytes(31), bytes(33)])
def test_the_bitset_must_fill_the_rest_exactly(wrong: bytes) -> None:
    raw = Sbbf.empty(1).to_bytes()
    with pytest.raises(MalformedFilter, match="asks for 32 bytes of bitset"):
        Sbbf.from_bytes(raw[:-32] + wrong)


def test_wrapping_does_not_copy() -> None:
    blocks = np.zeros((3, 8), dtype=np.uint32)
    Sbbf(blocks).insert_hash(0)
    assert blocks.any()


@pytest.mark.parametrize(
    "blocks",
    [
        np.zeros((3, 8), dtype=np.int32),
        np.zeros((3, 4), dtype=np.uint32),
        np.zeros(24, dtype=np.uint32),
        np.zeros((0, 8), dtype=np.uint32),
        np.zeros((6, 8), dtype=np.uint32)[::2],
    ],
    ids=["int32", "4 words", "flat", "no blocks", "strided"],
)
def test_what_is_no_block_array_is_refused(blocks: NDArray[np.uint32]) -> None:
    with pytest.raises(InvalidArgument):
        Sbbf(blocks)


@pytest.mark.parametrize("num_blocks", [0, -1, 2**31])
def test_sizes_that_cannot_be(num_blocks: int) -> None:
    with pytest.raises(InvalidArgument, match="cannot have"):
        Sbbf.empty(num_blocks)


@pytest.mark.parametrize(
    "hashes", [np.zeros(3), np.zeros(3, dtype=np.int64), np.zeros((3, 1), dtype=np.uint64)]
)
def test_hashes_of_another_kind_are_refused(hashes: NDArray[np.uint64]) -> None:
    with pytest.raises(InvalidArgument, match="is not a 1-d array of uint64"):
        Sbbf.empty(4).insert_hashes(hashes)
    with pytest.raises(InvalidArgument, match="is not a 1-d array of uint64"):
        Sbbf.empty(4).contains_all(hashes)


def test_strided_hashes_are_taken_as_they_are() -> None:
    hashes = np.random.default_rng(6).integers(0, 2**64, 100, dtype=np.uint64)
    strided = Sbbf.empty(50)
    strided.insert_hashes(hashes[::3])
    assert strided == build(50, hashes[::3].tolist())


def test_filters_are_built_in_parallel_threads() -> None:
    rng = np.random.default_rng(8)
    batches = [rng.integers(0, 2**64, 20_000, dtype=np.uint64) for _ in range(4)]
    filters = [Sbbf.empty(4096) for _ in batches]
    threads = [
        threading.Thread(target=built.insert_hashes, args=(batch,))
        for built, batch in zip(filters, batches, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for built, batch in zip(filters, batches, strict=True):
        alone = Sbbf.empty(4096)
        alone.insert_hashes(batch)
        assert built == alone


def test_equality_is_of_size_and_bits() -> None:
    assert Sbbf.empty(2) == Sbbf.empty(2)
    assert Sbbf.empty(2) != Sbbf.empty(4)
    assert Sbbf.empty(2) != build(2, [1])
    assert Sbbf.empty(2) != "Sbbf"


def test_a_filter_has_fewer_than_two_to_the_31_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    class Allocated(Exception):
        """The memory was asked for."""

    def refuse(*_: object, **__: object) -> None:
        raise Allocated

    monkeypatch.setattr(np, "zeros", refuse)
    for num_blocks in (1, 2**31 - 1):
        with pytest.raises(Allocated):
            Sbbf.empty(num_blocks)
    for num_blocks in (-1, 0, 2**31):
        with pytest.raises(InvalidArgument, match="cannot have"):
            Sbbf.empty(num_blocks)


@pytest.mark.parametrize("h", [-1, 1 << 64])
def test_a_hash_has_64_bits(h: int) -> None:
    built = Sbbf.empty(1)
    for use in (built.insert_hash, built.check_hash):
        with pytest.raises(InvalidArgument, match="unsigned 64-bit integer"):
            use(h)
