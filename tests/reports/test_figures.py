"""Columns summed over row groups and files."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_bloomwriter.reports.inspection import LookupCost, figures_of, share_of_bytes
from parquet_bloomwriter.reports.summary import mean
from tests.reports.samples import column, facts, file

rates = st.lists(st.one_of(st.none(), st.floats(min_value=0, max_value=1)), min_size=1, max_size=30)


@given(rates)
def test_a_lookup_reads_what_filters_let_pass_and_what_has_none(
    row_groups: list[float | None],
) -> None:
    filters = [facts(i, fpp=fpp) for i, fpp in enumerate(row_groups) if fpp is not None]
    (figures,) = figures_of([file([column("id", filters)], num_row_groups=len(row_groups))])
    expected = [1.0 if fpp is None else fpp for fpp in row_groups]
    assert figures.absent.row_groups == pytest.approx(math.fsum(expected))
    assert figures.read_share == pytest.approx(math.fsum(expected) / len(expected))
    assert 0 <= figures.read_share <= 1 + 1e-12


def test_filters_that_must_not_be_trusted_spare_nothing() -> None:
    filters = [facts(0, fpp=0.0, problem="all zero"), facts(1, fpp=None), facts(2, fpp=0.01)]
    (figures,) = figures_of([file([column("id", filters)], num_row_groups=4)])
    assert figures.absent.row_groups == pytest.approx(3.01)
    assert figures.num_problems == 1
    assert (figures.mean_fpp, figures.worst_fpp) == (0.01, 0.01)


def test_the_cost_of_a_lookup_by_enumeration() -> None:
    """The formula equals the mean over all row groups that may hold the value."""
    filters = [facts(0, fpp=0.25, length=100), facts(1, fpp=0.0, problem="all zero"), facts(3)]
    own = file([column("id", filters)], num_row_groups=4)
    sizes = [1_000, 2_000, 4_000, 8_000]
    spans = [replace(one, num_bytes=b) for one, b in zip(own.row_groups, sizes, strict=True)]
    (figures,) = figures_of([replace(own, row_groups=tuple(spans))])
    passes = [0.25, 1, 1, 0.01]
    read_filters = 100 + 1_024 + 19
    assert figures.without_filters == LookupCost(row_groups=4, num_bytes=15_000)
    assert figures.absent.row_groups == pytest.approx(math.fsum(passes))
    by_mistake = math.fsum(p * b for p, b in zip(passes, sizes, strict=True))
    assert figures.absent.num_bytes == pytest.approx(read_filters + by_mistake)
    cases = [[1 if i == held else p for i, p in enumerate(passes)] for held in range(4)]
    groups = [math.fsum(case) for case in cases]
    read = [math.fsum(p * b for p, b in zip(case, sizes, strict=True)) for case in cases]
    assert figures.present.row_groups == pytest.approx(mean(groups))
    assert figures.present.num_bytes == pytest.approx(read_filters + (mean(read) or 0))


def test_a_lookup_in_no_row_group_reads_nothing() -> None:
    (figures,) = figures_of([file([column("id", [])], num_row_groups=0)])
    nothing = LookupCost(row_groups=0, num_bytes=0)
    assert (figures.without_filters, figures.present, figures.absent) == (nothing,) * 3


def test_files_are_put_one_after_the_other() -> None:
    files = [
        file([column("id", [facts(1)])], num_row_groups=2),
        file([column("other", [facts(0)])], num_row_groups=3),
        file([column("other", [facts(0)]), column("id", [facts(1), facts(0)])], num_row_groups=2),
    ]
    figures = {one.name: one for one in figures_of(files)}
    assert [one.position for one in figures["id"].filters] == [1, 5, 6]
    assert [one.file for one in figures["id"].filters] == [0, 2, 2]
    assert [one.position for one in figures["other"].filters] == [2, 5]
    assert {one.num_row_groups for one in figures.values()} == {7}


def test_equal_names_in_one_file_are_two_columns() -> None:
    twice = [column("id", [facts(0, fpp=0.1)]), column("id", [facts(0, fpp=0.2)], ordinal=1)]
    figures = figures_of([file(twice, num_row_groups=1), file(twice, num_row_groups=1)])
    assert [one.worst_fpp for one in figures] == [0.1, 0.2]
    assert [len(one.filters) for one in figures] == [2, 2]


def test_unreadable_and_full_filters_do_not_spoil_the_sums() -> None:
    filters = [
        facts(0),
        facts(1, ndv=math.inf, fill=1.0, fpp=1.0),
        facts(2, length=None, num_bytes=None, ndv=None, fill=None, fpp=None, problem="cut short"),
    ]
    (figures,) = figures_of([file([column("id", filters)], num_row_groups=3)])
    assert figures.num_filter_bytes == 2 * (1_024 + 19)
    assert figures.ndv == math.inf
    assert figures.bits_per_value == 8 * 1_024 / 800
    assert figures.mean_fill == pytest.approx(0.71)
    assert figures.worst_fpp == 1.0


def test_no_bytes_have_no_share() -> None:
    assert share_of_bytes([]) == 0
    assert share_of_bytes([file([], num_row_groups=0)]) == 0
    assert share_of_bytes([file([column("id", [facts(0)])], num_row_groups=1)]) == 1_043 / 1e6


def test_means_are_of_what_is_known() -> None:
    assert mean([None, 0.25, math.nan, math.inf, 0.75]) == 0.5
    assert mean([None]) is None
