"""The rate asked for is the rate measured, and no filter is bigger than it must be.

The absent hashes are uniform, as the hash function's are. A measured rate is a mean over two
draws: of the inserted hashes, which decides the filter's exact rate, and of the absent ones.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.sbbf import (
    Sbbf,
    Sizing,
    expected_fpp,
    initial_num_blocks,
    num_blocks_for,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

RATES = [0.1, 0.01, 0.001, 0.0001]
SIZINGS: tuple[Sizing, ...] = ("pow2", "exact")
ABSENT = 1_000_000
SIGMAS = 6
"""Standard deviations allowed: a correct filter fails once in a thousand million."""


def draw(count: int, seed: int) -> NDArray[np.uint64]:
    """Draw uniform hashes."""
    return np.random.default_rng(seed).integers(0, 2**64, count, dtype=np.uint64)


def filled(num_blocks: int, hashes: NDArray[np.uint64]) -> Sbbf:
    """Build a filter."""
    built = Sbbf.empty(num_blocks)
    built.insert_hashes(hashes)
    return built


@pytest.mark.parametrize("fpp", RATES)
@pytest.mark.parametrize("sizing", SIZINGS)
@pytest.mark.parametrize("ndv", [3_000, 200_000])
def test_absent_values_pass_as_rarely_as_asked(fpp: float, sizing: Sizing, ndv: int) -> None:
    built = filled(initial_num_blocks(ndv, fpp, sizing=sizing), draw(ndv, 1))
    measured = built.check_hashes(draw(ABSENT, 2)).mean()
    # Number of absent hashes that pass: binomial. Exact rate: a mean over z blocks, each with
    # a standard deviation of about 1.7 times the mean (at 0.01 %, 3 times).
    spread = math.sqrt(fpp / ABSENT) + 3 * fpp / math.sqrt(built.num_blocks)
    assert measured <= fpp + SIGMAS * spread


@pytest.mark.parametrize("fpp", RATES)
@pytest.mark.parametrize("sizing", SIZINGS)
def test_a_fold_is_within_the_rate_and_the_next_is_not(fpp: float, sizing: Sizing) -> None:
    first = filled(initial_num_blocks(500_000, fpp, sizing=sizing), draw(40_000, 3))
    folded = first.fold_to_target_fpp(fpp, sizing=sizing)
    assert folded.exact_fpp() <= fpp
    assert folded.contains_all(draw(40_000, 3))
    steps = (2,) if sizing == "pow2" else range(2, folded.num_blocks + 1)
    smaller = next(k for k in steps if folded.num_blocks % k == 0)
    assert folded.fold(smaller).exact_fpp() > fpp
    measured = folded.check_hashes(draw(ABSENT, 4)).mean()
    assert measured <= fpp + SIGMAS * math.sqrt(fpp / ABSENT)


@pytest.mark.parametrize("fpp", RATES)
@pytest.mark.parametrize("ndv", [1, 100, 5_000, 60_000])
def test_a_fold_is_never_beyond_the_next_power_of_two(fpp: float, ndv: int) -> None:
    first = filled(initial_num_blocks(1_000_000, fpp), draw(ndv, 5))
    folded = first.fold_to_target_fpp(fpp)
    # The exact rate scatters around the expected one, so near a boundary one step more is due.
    needed = num_blocks_for(math.ceil(ndv * 1.05), fpp)
    assert folded.num_blocks <= needed
    assert folded.num_blocks.bit_count() == 1


@pytest.mark.parametrize("fpp", RATES)
@pytest.mark.parametrize("ndv", [500, 5_000, 33_333, 60_000])
def test_an_exact_fold_comes_near_the_need(fpp: float, ndv: int) -> None:
    first = filled(initial_num_blocks(1_000_000, fpp, sizing="exact"), draw(ndv, 6))
    folded = first.fold_to_target_fpp(fpp, sizing="exact")
    needed = num_blocks_for(ndv, fpp, sizing="exact")
    assert folded.num_blocks <= max(needed * 1.2, needed + 3)


@given(st.lists(st.integers(0, 2**64 - 1), max_size=60), st.integers(1, 12))
def test_the_exact_rate_is_the_mean_of_products(hashes: list[int], num_blocks: int) -> None:
    built = filled(num_blocks, np.array(hashes, dtype=np.uint64))
    products = [math.prod(int(word).bit_count() / 32 for word in block) for block in built.blocks]
    assert built.exact_fpp() == pytest.approx(math.fsum(products) / num_blocks, rel=1e-12)
    bits = sum(int(word).bit_count() for word in built.blocks.flat)
    assert built.fill() == bits / (256 * num_blocks)


def test_the_exact_rate_counts_every_slab() -> None:
    built = Sbbf.empty(100_000)
    built.blocks[::1000] = 0xFFFFFFFF
    assert built.exact_fpp() == 0.001
    assert built.fill() == 0.001
    assert Sbbf.empty(7).exact_fpp() == 0


def test_the_exact_rate_agrees_with_the_expected_one() -> None:
    built = filled(10_000, draw(240_000, 7))
    assert built.exact_fpp() == pytest.approx(expected_fpp(240_000, 10_000), rel=0.05)


@pytest.mark.parametrize("ndv", [100, 10_000, 250_000])
def test_the_number_of_distinct_values_is_estimated(ndv: int) -> None:
    hashes = draw(ndv, 8)
    built = filled(10_000, np.concatenate([hashes, hashes]))
    assert built.estimated_ndv() == pytest.approx(ndv, rel=0.02)


def test_estimates_at_both_ends() -> None:
    assert Sbbf.empty(3).estimated_ndv() == 0
    assert Sbbf(np.full((3, 8), 0xFFFFFFFF, dtype=np.uint32)).estimated_ndv() == math.inf


@pytest.mark.parametrize("sizing", SIZINGS)
def test_the_rate_is_met_to_the_last_digit(sizing: Sizing) -> None:
    first = filled(2520, draw(2_000, 11))
    for factor in (2, 4, 8):
        rate = first.fold(factor).exact_fpp()
        assert first.fold_to_target_fpp(rate, sizing=sizing).num_blocks == 2520 // factor
        below = first.fold_to_target_fpp(math.nextafter(rate, 0), sizing=sizing)
        assert below.num_blocks > 2520 // factor


def test_a_filter_that_cannot_be_folded_is_kept() -> None:
    built = filled(64, draw(1_000, 9))
    assert built.fold_to_target_fpp(0.001) is built
    assert built.fold_to_target_fpp(0.001, sizing="exact") is built


def test_folding_stops_at_the_smallest_size() -> None:
    assert Sbbf.empty(64).fold_to_target_fpp(0.01).num_blocks == 2
    assert Sbbf.empty(64).fold_to_target_fpp(0.01, sizing="exact").num_blocks == 1
    assert Sbbf.empty(1).fold_to_target_fpp(0.01).num_blocks == 1
    assert Sbbf.empty(12).fold_to_target_fpp(0.01).num_blocks == 3


def test_the_largest_size_wins_over_the_rate() -> None:
    built = filled(4200, draw(100_000, 10))
    assert built.fold_to_target_fpp(0.001, sizing="exact", max_bytes=40_000).num_blocks == 1050
    assert built.fold_to_target_fpp(0.001, max_bytes=40_000).num_blocks == 1050
    few = filled(4200, draw(32_500, 12))
    limited = few.fold_to_target_fpp(0.01, sizing="exact", max_bytes=4200 * 32 // 2)
    assert limited == few.fold_to_target_fpp(0.01, sizing="exact")
    assert limited.num_blocks == 1400, "3 is no multiple of the first divisor allowed, 2"
    with pytest.raises(InvalidArgument, match="no fold of 4200 blocks"):
        built.fold_to_target_fpp(0.001, max_bytes=10_000)
    with pytest.raises(InvalidArgument, match="fpp is a number between 0 and 1"):
        built.fold_to_target_fpp(0)


@pytest.mark.parametrize("sizing", ["pow2", "exact"])
def test_a_fold_may_have_just_the_bytes_that_are_allowed(sizing: Sizing) -> None:
    """The rate forbids to fold at all; only the limit asks for it."""
    built = Sbbf.empty(64)
    built.insert_hashes(np.random.default_rng(1).integers(0, 2**64, 2000, dtype=np.uint64))
    for num_blocks in (64, 32, 16):
        limit = num_blocks * 32
        folded = built.fold_to_target_fpp(1e-9, sizing=sizing, max_bytes=limit)
        assert folded.num_blocks == num_blocks
        folded = built.fold_to_target_fpp(1e-9, sizing=sizing, max_bytes=limit - 1)
        assert folded.num_blocks == num_blocks // 2
