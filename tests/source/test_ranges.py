"""Lemmas of merging: every range lies in its request, and nothing more is read than is allowed."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from parquet_bloomwriter.source.base import merge

RANGES = st.lists(
    st.tuples(st.integers(0, 5000), st.integers(0, 300)).map(lambda r: (r[0], r[0] + r[1])),
    max_size=40,
)


@given(ranges=RANGES, gap=st.integers(0, 500), max_waste=st.integers(0, 1000))
def test_lemmas(ranges: list[tuple[int, int]], gap: int, max_waste: int) -> None:
    requests, homes = merge(ranges, gap=gap, max_waste=max_waste)
    for (start, stop), home in zip(ranges, homes, strict=True):
        assert requests[home][0] <= start <= stop <= requests[home][1]
    wanted = {byte for start, stop in ranges for byte in range(start, stop)}
    for first, last in requests:
        assert last - first - len(wanted & set(range(first, last))) <= max_waste
    assert set(homes) == set(range(len(requests)))
    assert all(left[1] < right[0] for left, right in pairwise(requests))


@given(ranges=RANGES, gap=st.integers(0, 500))
def test_what_is_close_is_one_request(ranges: list[tuple[int, int]], gap: int) -> None:
    requests, _ = merge(ranges, gap=gap, max_waste=10**9)
    assert all(right[0] - left[1] > gap for left, right in pairwise(requests))


def test_the_gap_that_is_just_allowed() -> None:
    assert merge([(0, 10), (14, 20)], gap=4, max_waste=4) == ([(0, 20)], [0, 0])
    assert merge([(0, 10), (15, 20)], gap=4, max_waste=9) == ([(0, 10), (15, 20)], [0, 1])


def test_waste_adds_up() -> None:
    chain = [(10 * i, 10 * i + 6) for i in range(5)]
    assert merge(chain, gap=4, max_waste=8)[0] == [(0, 26), (30, 46)]


def test_a_range_inside_another() -> None:
    assert merge([(50, 60), (0, 100), (99, 101)], gap=0, max_waste=0) == ([(0, 101)], [0, 0, 0])
