"""Shares and lists of row groups in words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_bloomwriter import text


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0.0, "0 %"),
        (1.2e-9, "1.2e-07 %"),
        (0.00981, "0.98 %"),
        (0.01, "1 %"),
        (0.123456, "12.3 %"),
        (0.99999, "99.9 %"),
        (1.0, "100 %"),
        (1.25, "125 %"),
    ],
)
def test_shares(share: float, shown: str) -> None:
    assert text.percent(share) == shown


@given(st.floats(min_value=0, max_value=1, exclude_max=True))
def test_only_all_is_a_hundred_per_cent(share: float) -> None:
    assert text.percent(share) != "100 %"


@given(st.floats(min_value=0, max_value=1))
def test_rates_are_true_to_two_digits(probability: float) -> None:
    shown = text.rate(probability)
    assert float(shown) == pytest.approx(probability, rel=0.051)
    assert not shown.endswith(".")


@pytest.mark.parametrize(
    ("ordinals", "shown"),
    [
        ([3], "row group 3"),
        ([0, 1, 2, 5], "row groups 0-2, 5"),
        (range(2_000), "row groups 0-1999"),
        (range(0, 40, 2), "row groups 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22 and 8 more"),
    ],
)
def test_row_groups(ordinals: list[int], shown: str) -> None:
    assert text.row_groups(ordinals) == shown
