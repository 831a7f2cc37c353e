"""Estimates from samples, held against the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_bloomwriter.advising.column_profile import (
    SKETCH_HASHES,
    ColumnProfile,
    RowGroupSample,
    merge_profiles,
)
from parquet_bloomwriter.advising.sample import take_sample
from parquet_bloomwriter.hashing import hash_array
from parquet_bloomwriter.predicate.bound import Order
from parquet_bloomwriter.source import BufferSource
from parquet_bloomwriter.values import LeafReader
from tests.verbs.files import footer_of, written

if TYPE_CHECKING:
    from collections.abc import Iterator


def sample_of(
    values: pa.Array, *, most: int = 10**9, nulls: int = 0, **options: object
) -> RowGroupSample | None:
    data = written(pa.table({"x": values}), row_group_size=max(1, len(values)), **options)
    footer = footer_of(data)
    (leaf,) = footer.leaves
    return take_sample(
        LeafReader(BufferSource(data), footer, leaf),
        leaf,
        0,
        most=most,
        order=Order.SIGNED if pa.types.is_integer(values.type) else Order.BYTES,
        num_values=len(values),
        num_nulls=nulls,
    )


def taken(values: pa.Array, **options: Any) -> RowGroupSample:  # noqa: ANN401  of sample_of
    sample = sample_of(values, **options)
    assert sample is not None
    return sample


def numbers(low: int, high: int) -> pa.Array:
    return pa.array(np.arange(low, high))


def evidence(**facts: Any) -> ColumnProfile:  # noqa: ANN401  its fields
    usual: dict[str, Any] = {
        "unsupported": None,
        "is_floating": False,
        "unreadable": None,
        "notes": (),
        "order": Order.SIGNED,
        "num_values": np.array([], np.int64),
        "num_compressed_bytes": 0,
        "has_filter": np.array([], np.bool_),
        "num_dictionaries": 0,
        "lows": (),
        "highs": (),
        "samples": (),
    }
    return ColumnProfile(**(usual | facts))


# ---------------------------------------------------------------- one sample


@given(st.lists(st.integers(-50, 50) | st.none(), min_size=1, max_size=300))
def test_what_was_read_whole_is_counted(values: list[int | None]) -> None:
    present = [value for value in values if value is not None]
    nulls = len(values) - len(present)
    sample = sample_of(pa.array(values, pa.int64()), nulls=nulls, use_dictionary=False)
    if not present:
        assert sample is None
        return
    assert sample is not None
    distinct = set(present)
    assert (sample.num_read, sample.num_distinct) == (len(present), len(distinct))
    assert sample.ndv() == len(distinct)
    hashes = sorted(set(hash_array(pa.array(present, pa.int64())).tolist()))
    assert sample.sketch.tolist() == hashes[:SKETCH_HASHES]
    assert set(sample.keys) <= distinct
    assert len(set(sample.keys)) == len(sample.keys) == min(16, len(distinct))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("distinct", "factor"), [(10, 1.01), (1000, 1.05), (100_000, 1.6), (10**9, 1.05)]
)
def test_the_rest_is_extrapolated(distinct: int, factor: float, seed: int) -> None:
    values = np.random.default_rng(seed).integers(0, distinct, 100_000)
    sample = taken(pa.array(values), most=10_000, use_dictionary=False)
    assert sample.num_read == 10_000
    truth = len(np.unique(values))
    assert truth / factor <= sample.ndv() <= truth * factor


@pytest.mark.parametrize("seed", range(3))
def test_values_that_repeat_at_random_are_not_counted_twice(seed: int) -> None:
    """A power law, carried on from 30,000 rows, finds 240,000 distinct values among these."""
    values = np.random.default_rng(seed).integers(0, 200_000, 300_000)
    sample = taken(pa.array(values), most=30_000, use_dictionary=False)
    assert sample.ndv() == pytest.approx(len(np.unique(values)), rel=0.08)


def test_frequent_values_do_not_hide_the_rare_ones() -> None:
    values = np.random.default_rng(1).zipf(1.5, 300_000)
    sample = taken(pa.array(values), most=30_000, use_dictionary=False)
    assert sample.num_equal is None
    assert sample.ndv() == pytest.approx(len(np.unique(values)), rel=0.5)


@pytest.mark.parametrize(
    ("values", "is_sorted"),
    [
        (np.arange(1000), True),
        (np.arange(1000)[::-1].copy(), True),
        (np.arange(1000) // 7, True),
        (np.arange(1000) * 7 % 1009, False),
        (np.arange(50), False),
        ([f"{n:05}" for n in range(1000)], True),
        ([f"{n * 7 % 1009}" for n in range(1000)], False),
    ],
)
def test_order_is_noticed(values: Any, is_sorted: bool) -> None:  # noqa: ANN401, FBT001  a list or an array
    for use_dictionary in (False, True):
        assert taken(pa.array(values), use_dictionary=use_dictionary).is_sorted is is_sorted


def test_runs_of_equal_values_grow_with_the_rows() -> None:
    sample = taken(pa.array(np.arange(100_000) // 100), most=10_000, use_dictionary=False)
    assert sample.ndv() == pytest.approx(1000)


def test_reading_ends_early(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: list[int] = []
    batches = LeafReader.batches

    def counted(self: LeafReader, row_group: int, *, max_rows: int) -> Iterator[pa.Array]:
        for array in batches(self, row_group, max_rows=max_rows):
            lengths.append(len(array))
            yield array

    monkeypatch.setattr(LeafReader, "batches", counted)
    sample = taken(numbers(0, 400_000), most=140_000, use_dictionary=False)
    assert sample.num_read == 140_000
    assert len(lengths) == 2
    assert sum(lengths) < 300_000


@pytest.mark.parametrize(("most", "read"), [(10, 10), (10_000, 700)])
def test_dictionaries_are_counted_whole_though_few_of_their_values_are_hashed(
    most: int, read: int
) -> None:
    texts = pa.array([f"text {i % 700}" for i in range(5000)])
    sample = taken(texts, most=most)
    assert (sample.num_distinct, sample.num_values) == (read, 5000)
    assert sample.ndv() == pytest.approx(700)


def test_nulls_that_nobody_counted_are_estimated() -> None:
    values = pa.array([i if i % 4 == 0 else None for i in range(10_000)])
    sample = taken(values, most=1000, nulls=-1, use_dictionary=False)
    assert (sample.num_read, sample.num_values) == (250, 2500)


def test_keys_are_those_of_statistics() -> None:
    high = pa.array([2**32 - 1], pa.uint32())
    data = written(pa.table({"x": high}))
    footer = footer_of(data)
    (leaf,) = footer.leaves
    reader = LeafReader(BufferSource(data), footer, leaf)
    for order, keys in ((Order.UNSIGNED, (2**32 - 1,)), (Order.SIGNED, (-1,)), (None, ())):
        sample = take_sample(reader, leaf, 0, most=9, order=order, num_values=1, num_nulls=0)
        assert sample is not None
        assert sample.keys == keys


# ---------------------------------------------------------------- two samples


@given(start=st.integers(0, 3000), length=st.integers(1, 3000), other=st.integers(1, 3000))
def test_the_share_of_common_values(start: int, length: int, other: int) -> None:
    one, two = numbers(start, start + length), numbers(0, other)
    truth = max(0, min(start + length, other) - start) / length
    share = taken(one).share_in(taken(two))
    if length <= SKETCH_HASHES and other <= SKETCH_HASHES:
        assert share == pytest.approx(truth)
    elif share is not None:
        compared = min(1.0, length / max(length, other)) * SKETCH_HASHES
        assert abs(share - truth) <= 5 * (truth * (1 - truth) / compared) ** 0.5 + 6 / compared


def test_what_was_not_read_counts_as_if_it_was_alike() -> None:
    rng = np.random.default_rng(3)
    one, two = (pa.array(rng.integers(0, 50_000, 100_000)) for _ in range(2))
    parts = [taken(values, most=20_000, use_dictionary=False) for values in (one, two)]
    whole = [taken(values, use_dictionary=False) for values in (one, two)]
    assert parts[0].share_in(parts[1]) == pytest.approx(whole[0].share_in(whole[1]), abs=0.2)


# ---------------------------------------------------------------- a column


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)).map(sorted), max_size=12),
    st.lists(st.integers(0, 50), min_size=1, max_size=5),
    st.integers(0, 3),
)
def test_row_groups_within_bounds(bounds: list[list[int]], keys: list[int], unbounded: int) -> None:
    sample = RowGroupSample(
        num_read=1,
        num_distinct=1,
        growth=0.0,
        num_values=1,
        sketch=np.array([1], np.uint64),
        keys=tuple(keys),
    )
    column = evidence(
        num_values=np.ones(len(bounds) + unbounded, np.int64),
        lows=tuple(sorted(low for low, _ in bounds)),
        highs=tuple(sorted(high for _, high in bounds)),
        samples=(sample,),
    )
    counts = [sum(low <= key <= high for low, high in bounds) + unbounded for key in keys]
    assert column.num_within_bounds() == pytest.approx(sum(counts) / len(counts))


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.integers(0, 30))
def test_merging_adds_up(sizes: list[int], num_samples: int) -> None:
    sample = taken(numbers(0, 3))
    parts = [
        evidence(
            num_values=np.arange(1, size + 1),
            has_filter=np.zeros(size, np.bool_),
            num_compressed_bytes=size,
            num_dictionaries=1,
            lows=tuple(range(size)),
            highs=tuple(range(size, 2 * size)),
            samples=(sample,) * num_samples,
        )
        for size in sizes
    ]
    whole = merge_profiles(parts)
    assert whole.num_row_groups == whole.num_compressed_bytes == sum(sizes)
    assert whole.num_dictionaries == len(sizes)
    assert list(whole.lows) == sorted(low for part in parts for low in part.lows)
    assert list(whole.highs) == sorted(high for part in parts for high in part.highs)
    assert len(whole.samples) == min(24, num_samples * len(sizes))


def test_statistics_of_another_order_are_left_out() -> None:
    one = evidence(num_values=np.ones(1, np.int64), lows=(1,), highs=(2,))
    other = evidence(
        num_values=np.ones(1, np.int64), lows=(b"a",), highs=(b"b",), order=Order.BYTES
    )
    whole = merge_profiles([one, other])
    assert (whole.num_row_groups, whole.lows, whole.highs) == (2, (1,), (2,))
    empty = evidence(order=Order.BYTES)
    assert merge_profiles([empty, one]).lows == (1,)
