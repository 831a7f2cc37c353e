"""Runs of row groups, the places they are named by, and scales."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from parquet_bloomwriter.reports.inspection import figures_of
from parquet_bloomwriter.reports.page.strips import (
    Places,
    Scale,
    rate_scale,
    runs_of,
    share_scale,
    size_scale,
)
from tests.reports.samples import column, facts, file


@given(st.integers(1, 300), st.integers(1, 96), st.sets(st.integers(0, 299), min_size=1))
def test_runs_hold_every_row_group_once(num_row_groups: int, most: int, having: set[int]) -> None:
    filters = [facts(ordinal) for ordinal in having if ordinal < num_row_groups]
    assume(filters)
    (figures,) = figures_of([file([column("id", filters)], num_row_groups=num_row_groups)])
    runs = runs_of(figures, most=most)
    assert len(runs) <= most
    assert runs[0].start == 0
    assert runs[-1].stop == num_row_groups
    assert all(one.stop == other.start for one, other in itertools.pairwise(runs))
    for run in runs:
        inside = {one.position for one in run.filters}
        assert inside == {x for x in having if run.start <= x < run.stop}
        assert run.num_missing == run.stop - run.start - len(inside)


def places(*num_row_groups: int) -> Places:
    return Places.of([file([], num_row_groups=number) for number in num_row_groups])


def test_row_groups_are_named_as_their_files_count_them() -> None:
    assert places(3).name(1, 2) == "row group 1"
    assert places(3000).name(0, 3000) == "row groups 0-2,999"
    several = places(3, 0, 2)
    assert several.name(2, 3) == "file 1 row group 2"
    assert several.name(2, 4) == "file 1 row group 2 to file 3 row group 0"
    assert several.extent() == "5 row groups of 3 files"
    assert several.rules == (3,)


def test_too_many_files_are_not_parted() -> None:
    assert len(places(*[2] * 25).rules) == 24
    assert places(*[2] * 26).rules == ()


@given(st.lists(st.floats(min_value=1e-12, max_value=1), min_size=1))
def test_rates_lie_within_their_scale(rates: list[float]) -> None:
    scale = rate_scale(rates)
    assert scale.ticks[-1][0] <= 1
    check_scale(scale, rates)


@given(st.lists(st.floats(min_value=32, max_value=2**40), min_size=1))
def test_sizes_lie_within_their_scale(sizes: list[float]) -> None:
    check_scale(size_scale(sizes), sizes)


def check_scale(scale: Scale, values: list[float]) -> None:
    assert 2 <= len(scale.ticks) <= 4
    low, high = scale.ticks[0][0], scale.ticks[-1][0]
    assert low * (1 - 1e-6) <= min(values)
    assert max(values) <= high * (1 + 1e-6)
    heights = [scale.height(value) for value in sorted(values)]
    assert heights == sorted(heights)
    assert (scale.height(low), scale.height(high)) == pytest.approx((0, 1))


def test_zero_stands_at_the_bottom() -> None:
    assert rate_scale([0.01]).height(0) == 0
    assert size_scale([]).height(0) == 0
    assert [share_scale().height(share) for share in (0, 0.25, 1)] == [0, 0.25, 1]


def test_labels_are_short() -> None:
    assert [label for _, label in rate_scale([1e-12, 1.0]).ticks] == ["10⁻¹²", "10⁻⁸", "10⁻⁴", "1"]
    assert [label for _, label in rate_scale([0.01]).ticks] == ["0.001", "0.01", "0.1"]
    sizes = [label for _, label in size_scale([64, 128 * 2**20]).ticks]
    assert sizes == ["64 B", "8 KiB", "1 MiB", "128 MiB"]
