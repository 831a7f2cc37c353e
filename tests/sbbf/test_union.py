"""One filter out of several of any sizes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_bloomwriter.sbbf import Sbbf
from parquet_bloomwriter.sbbf.union import united
from tests.index.support import filled, hashes

SIZES = st.sampled_from([1, 2, 3, 4, 6, 8, 15, 16, 64])


@given(st.lists(st.tuples(SIZES, st.integers(0, 20)), max_size=6), SIZES)
def test_nothing_is_lost(filters: list[tuple[int, int]], num_blocks: int) -> None:
    values = [hashes(seed, count) for seed, (_, count) in enumerate(filters)]
    one = [filled(size, of).blocks for (size, _), of in zip(filters, values, strict=True)]
    union = united(one, num_blocks, limit=2.0)
    assert union is not None
    assert union.shape == (num_blocks, 8)
    assert all(Sbbf(union).contains_all(of) for of in values)


@given(st.integers(0, 5), st.integers(0, 5), st.integers(0, 40))
def test_folding_is_as_if_built_afresh(large: int, small: int, count: int) -> None:
    small, large = sorted((small, large))
    values = hashes(7, count)
    union = united([filled(1 << large, values).blocks], 1 << small, limit=2.0)
    assert union is not None
    assert Sbbf(union) == filled(1 << small, values)


@given(st.integers(0, 5), st.integers(0, 5), st.integers(0, 40))
def test_repeating_keeps_the_rate_and_folds_back(large: int, small: int, count: int) -> None:
    small, large = sorted((small, large))
    before = filled(1 << small, hashes(7, count))
    union = united([before.blocks], 1 << large, limit=2.0)
    assert union is not None
    assert Sbbf(union).exact_fpp() == before.exact_fpp()
    assert Sbbf(union).fold(1 << (large - small)) == before


def test_filters_given_are_left_as_they_are() -> None:
    one, other = filled(2, hashes(1, 9)), filled(2, hashes(2, 9))
    expected = one.blocks.copy()
    one.blocks.flags.writeable = False
    union = united([one.blocks, other.blocks], 2)
    assert union is not None
    assert np.array_equal(one.blocks, expected)
    assert np.array_equal(union, expected | other.blocks)


def test_too_full_a_union_is_none() -> None:
    full = filled(2, hashes(1, 5000)).blocks
    assert full.all()
    assert united([filled(2, hashes(2, 1)).blocks, full], 2) is None
    assert united([full], 2, limit=1.5) is not None


@pytest.mark.parametrize("limit", [0.5, 1.0])
def test_a_union_of_nothing_contains_nothing(limit: float) -> None:
    union = united([], 4, limit=limit)
    assert union is not None
    assert not union.any()
