"""Sizes against the tables of the specification and of parquet-rs, and against each other."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.sbbf import (
    Sizing,
    classic_num_bits,
    classic_num_bytes,
    expected_fpp,
    initial_num_blocks,
    num_blocks_for,
)

# "Sizing an SBBF" in the Parquet specification: bits per value -> false positives.
SPEC_TABLE = [(6.0, 0.1), (10.5, 0.01), (16.9, 0.001), (26.4, 0.0001), (41.0, 0.00001)]

# Module documentation of parquet-rs: NDV, FPP -> blocks.
CLASSIC_TABLE = [
    (10_000, 0.1, 256),
    (10_000, 0.01, 512),
    (10_000, 0.001, 1_024),
    (10_000, 0.0001, 1_024),
    (100_000, 0.1, 4_096),
    (100_000, 0.01, 4_096),
    (100_000, 0.001, 8_192),
    (100_000, 0.0001, 16_384),
    (100_000, 0.00001, 16_384),
    (1_000_000, 0.1, 32_768),
    (1_000_000, 0.01, 65_536),
    (1_000_000, 0.001, 65_536),
    (1_000_000, 0.0001, 131_072),
    (1_000_000, 0.00001, 131_072),
    (1_000_000, 0.000001, 262_144),
]

SIZINGS: tuple[Sizing, ...] = ("pow2", "exact")
RATES = st.sampled_from([0.5, 0.1, 0.05, 0.01, 1e-3, 1e-4, 1e-5, 1e-7])


@pytest.mark.parametrize(("bits", "fpp"), SPEC_TABLE)
def test_the_rate_at_the_specification_s_bits_per_value(bits: float, fpp: float) -> None:
    num_blocks = 100_000
    assert expected_fpp(num_blocks * 256 / bits, num_blocks) == pytest.approx(fpp, rel=0.02)


@pytest.mark.parametrize(("bits", "fpp"), SPEC_TABLE)
def test_the_bits_per_value_at_the_specification_s_rates(bits: float, fpp: float) -> None:
    ndv = 10_000_000
    num_blocks = num_blocks_for(ndv, fpp, sizing="exact", max_bytes=1 << 30)
    assert num_blocks * 256 / ndv == pytest.approx(bits, abs=0.1)


@pytest.mark.parametrize(("ndv", "fpp"), [(26_214, 0.0126), (52_428, 0.18), (13_107, 0.0004)])
def test_the_specification_s_worked_example(ndv: int, fpp: float) -> None:
    assert expected_fpp(ndv, 1024) == pytest.approx(fpp, rel=0.06)


def brute_rate(load: float) -> float:
    """The Poisson sum as written, each term by logarithms, no term left out."""
    terms = (
        math.exp(i * math.log(load) - load - math.lgamma(i + 1)) * (1 - (31 / 32) ** i) ** 8
        for i in range(1, 4000)
    )
    return math.fsum(terms)


@pytest.mark.parametrize("load", [0.01, 0.5, 3.0, 20.0, 63.9, 64.0, 64.1, 200.0, 1000.0])
def test_the_rate_equals_the_sum_term_by_term(load: float) -> None:
    assert expected_fpp(load, 1) == pytest.approx(brute_rate(load), rel=1e-9)


def test_limits_of_the_rate() -> None:
    assert expected_fpp(0, 10) == 0
    assert expected_fpp(10**12, 1) == pytest.approx(1)


@given(st.integers(1, 3_000_000), RATES)
def test_exact_sizes_are_the_smallest_within_the_rate(ndv: int, fpp: float) -> None:
    num_blocks = num_blocks_for(ndv, fpp, sizing="exact", max_bytes=2**31 - 1)
    assert expected_fpp(ndv, num_blocks) <= fpp
    if num_blocks > 1:
        assert expected_fpp(ndv, num_blocks - 1) > fpp


@given(st.integers(1, 3_000_000), RATES)
def test_powers_of_two_are_the_smallest_within_the_rate(ndv: int, fpp: float) -> None:
    num_blocks = num_blocks_for(ndv, fpp, max_bytes=2**31 - 1)
    assert num_blocks.bit_count() == 1
    assert expected_fpp(ndv, num_blocks) <= fpp
    if num_blocks > 2:
        assert expected_fpp(ndv, num_blocks // 2) > fpp


def test_sizes_are_bounded() -> None:
    assert num_blocks_for(0, 0.01) == 2
    assert num_blocks_for(0, 0.01, sizing="exact") == 1
    assert num_blocks_for(10**12, 0.01) == 4 * 1024 * 1024
    assert num_blocks_for(10**12, 0.01, sizing="exact") == 4 * 1024 * 1024
    assert num_blocks_for(10**6, 0.01, max_bytes=1_000_000) == 16_384
    assert num_blocks_for(10**6, 0.01, max_bytes=1_000_000, sizing="exact") == 31_250
    assert num_blocks_for(1, 0.01, min_bytes=1000) == 32
    assert num_blocks_for(1, 0.01, min_bytes=1000, sizing="exact") == 32


@given(st.integers(0, 100_000_000), RATES, st.sampled_from(SIZINGS))
def test_the_first_size_is_hardly_above_the_need(ndv: int, fpp: float, sizing: Sizing) -> None:
    needed = num_blocks_for(ndv, fpp, sizing=sizing)
    first = initial_num_blocks(ndv, fpp, sizing=sizing)
    assert needed <= first <= max(needed, needed * 1.02)
    assert sizing == "exact" or first == needed


@pytest.mark.parametrize(
    ("ndv", "divisor"), [(20_000, 12), (100_000, 60), (1_000_000, 1260), (10_000_000, 5040)]
)
def test_the_first_exact_size_has_many_divisors(ndv: int, divisor: int) -> None:
    first = initial_num_blocks(ndv, 0.01, sizing="exact")
    assert first % divisor == 0


def test_the_first_size_stays_within_the_limit() -> None:
    assert initial_num_blocks(10**7, 0.01, sizing="exact", max_bytes=1_000_000) == 31_250
    assert initial_num_blocks(10**9, 0.01) == 4 * 1024 * 1024


@pytest.mark.parametrize(("ndv", "fpp", "num_blocks"), CLASSIC_TABLE)
def test_the_classic_formula_gives_the_table_of_parquet_rs(
    ndv: int, fpp: float, num_blocks: int
) -> None:
    assert classic_num_bytes(ndv, fpp) == num_blocks * 32


def test_the_classic_formula_asks_for_too_little() -> None:
    for fpp, real in ((0.01, 0.0146), (0.00001, 0.000055)):
        num_blocks = classic_num_bits(10**7, fpp) / 256
        assert expected_fpp(10**7, round(num_blocks)) == pytest.approx(real, rel=0.01)


@pytest.mark.parametrize("fpp", [0, 1, -0.1, 1.5, math.nan])
def test_rates_that_are_no_probabilities(fpp: float) -> None:
    for sized in (num_blocks_for, initial_num_blocks, classic_num_bits, classic_num_bytes):
        with pytest.raises(InvalidArgument, match="fpp is a number between 0 and 1"):
            sized(10, fpp)


def test_other_impossible_requests() -> None:
    with pytest.raises(InvalidArgument, match="not a number of distinct values"):
        num_blocks_for(-1, 0.01)
    with pytest.raises(InvalidArgument, match="not a sizing"):
        num_blocks_for(1, 0.01, sizing="round")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="The smallest has 64 bytes"):
        num_blocks_for(1, 0.01, max_bytes=32)
    for sizing in SIZINGS:
        for least in (0, -32):
            with pytest.raises(InvalidArgument, match=f"at least {least} and at most"):
                num_blocks_for(1, 0.01, min_bytes=least, sizing=sizing)
