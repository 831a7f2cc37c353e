"""Where the line is drawn, with evidence made to measure."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from parquet_bloomwriter.advising.column_profile import ColumnProfile, RowGroupSample
from parquet_bloomwriter.advising.cost_model import judge
from parquet_bloomwriter.advising.report import Advice
from parquet_bloomwriter.predicate.bound import Order


def sample(first: int, *, common: int, key: int) -> RowGroupSample:
    """100 distinct hashes, of which `common` are the same in all samples."""
    hashes = [*range(1, 1 + common), *range(first, first + 100 - common)]
    return RowGroupSample(
        num_read=1000,
        num_distinct=100,
        growth=0.0,
        num_values=1000,
        sketch=np.array(hashes, np.uint64),
        keys=(key,),
    )


def column(*, count: int, common: int, width: int) -> ColumnProfile:
    """`count` row groups; number i has the bounds [i, i + width)."""
    return ColumnProfile(
        unsupported=None,
        unreadable=None,
        notes=(),
        is_floating=False,
        order=Order.SIGNED,
        num_values=np.full(count, 1000),
        num_compressed_bytes=10**9,
        has_filter=np.zeros(count, np.bool_),
        num_dictionaries=0,
        lows=tuple(range(count)),
        highs=tuple(range(width - 1, width - 1 + count)),
        samples=tuple(sample(1000 * i, common=common, key=count - 1) for i in (1, 2)),
    )


@pytest.mark.parametrize(
    ("common", "verdict"),
    [(0, Advice.ADD), (50, Advice.ADD), (75, Advice.CONSIDER), (85, Advice.SKIP)],
)
def test_a_fifth_must_be_saved_and_two_to_be_recommended(common: int, verdict: Advice) -> None:
    found = judge(column(count=100, common=common, width=200), fpp=0.01)
    assert found.verdict is verdict
    holding = (1 + 99 * common / 100) / 100
    assert found.holding == pytest.approx(holding)
    assert found.skipped_present == pytest.approx(1 - holding, abs=0.01)


@pytest.mark.parametrize(
    ("width", "keys", "left", "verdict"),
    [
        (1, (49,), 1, Advice.SKIP),
        (2, (49, 50), 1.5, Advice.SKIP),
        (2, (49, 49, 50), 5 / 3, Advice.CONSIDER),
        (2, (49,), 2, Advice.ADD),
    ],
)
def test_half_a_row_group_must_be_saved(
    width: int, keys: tuple[int, ...], left: float, verdict: Advice
) -> None:
    evidence = column(count=50, common=0, width=width)
    samples = tuple(dataclasses.replace(one, keys=keys) for one in evidence.samples)
    found = judge(dataclasses.replace(evidence, samples=samples), fpp=0.01)
    assert found.verdict is verdict
    assert found.read_by_statistics == pytest.approx(left / 50)
    assert (found.reason.startswith("sorted")) is (verdict is Advice.SKIP)


def test_no_more_row_groups_hold_a_value_than_statistics_leave() -> None:
    found = judge(column(count=50, common=100, width=1), fpp=0.01)
    assert (found.holding, found.read_by_statistics) == (1 / 50, 1 / 50)
    assert found.skipped_present == pytest.approx(49 / 50)


def test_more_filters_at_a_lower_rate_skip_more() -> None:
    evidence = column(count=50, common=10, width=100)
    rates = (0.2, 0.01, 1e-4, 1e-6)
    found = [judge(evidence, fpp=fpp) for fpp in rates]
    sizes = [one.num_filter_bytes or 0 for one in found]
    skipped = [one.skipped_absent or 0 for one in found]
    assert sizes == sorted(set(sizes))
    assert skipped == sorted(set(skipped))
    assert all(1 - one <= fpp for one, fpp in zip(skipped, rates, strict=True))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"is_floating": True}, "floating-point numbers are rarely looked up"),
        ({"num_compressed_bytes": 5_000}, "more bytes than the column"),
    ],
)
def test_what_is_doubtful_is_to_be_considered(changes: dict[str, object], says: str) -> None:
    sound = column(count=50, common=0, width=100)
    assert judge(sound, fpp=0.01).verdict is Advice.ADD
    found = judge(dataclasses.replace(sound, **changes), fpp=0.01)  # type: ignore[arg-type]
    assert found.verdict is Advice.CONSIDER
    assert found.reason.startswith("a lookup reads 2 % of the row groups instead of 100 %, but ")
    assert says in found.reason


def test_a_note_says_that_spark_reads_dictionaries_first() -> None:
    plain = column(count=50, common=0, width=100)
    half, most = (judge(dataclasses.replace(plain, num_dictionaries=n), fpp=0.01) for n in (25, 26))
    assert (half.verdict, most.verdict) == (Advice.ADD, Advice.ADD)
    assert half.notes == ()
    assert "which Spark reads before it asks filters" in most.notes[0]


def test_fractions_are_not_looked_up() -> None:
    sound = column(count=50, common=0, width=100)
    samples = tuple(dataclasses.replace(one, has_fractions=True) for one in sound.samples)
    found = judge(dataclasses.replace(sound, samples=samples), fpp=0.01)
    assert (found.verdict, found.ndv) == (Advice.SKIP, None)
