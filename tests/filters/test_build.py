"""Filters from real chunks: nothing missing, as small as asked, and never a partial one."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parquet_bloomwriter import Sbbf, Status, bloomify
from parquet_bloomwriter.filters.build import (
    SAMPLED_HASHES,
    BuiltFilter,
    FilterOptions,
    build_filter,
)
from parquet_bloomwriter.hashing import hash_array, xxh64
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.sbbf.sizing import num_blocks_for
from parquet_bloomwriter.source import BufferSource
from parquet_bloomwriter.values import LeafReader
from tests.values.stored import stored
from tests.verbs.files import (
    filter_bytes,
    footer_of,
    read,
    with_num_rows,
    with_number,
    written,
)

if TYPE_CHECKING:
    from pathlib import Path

ABSENT = np.random.default_rng(5).integers(0, 2**63, 200_000).astype(np.uint64)
ABSENT *= np.uint64(2)


def built(data: bytes, ordinal: int = 0, row_group: int = 0, **options: Any) -> BuiltFilter:  # noqa: ANN401
    footer = footer_of(data)
    leaf = footer.leaves[ordinal]
    reader = LeafReader(BufferSource(data), footer, leaf)
    found = build_filter(reader, footer, leaf, row_group, FilterOptions(**options))
    assert found is not None
    return found


def of_numbers(count: int, **options: Any) -> bytes:  # noqa: ANN401
    numbers = np.random.default_rng(1).permutation(count) * 7
    return written(pa.table({"x": numbers}), row_group_size=max(count, 1), **options)


def contains(data: bytes, plain: bytes) -> bool:
    return Sbbf.from_bytes(data).check_hash(xxh64(plain))


# ---------------------------------------------------------------- nothing is missing


TYPES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "int8": (pa.int8(), st.integers(-128, 127)),
    "uint32": (pa.uint32(), st.integers(0, 2**32 - 1)),
    "int64": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "float": (pa.float32(), st.floats(width=32)),
    "double": (pa.float64(), st.floats()),
    "text": (pa.string(), st.text(max_size=12)),
    "bytes": (pa.binary(), st.binary(max_size=40)),
    "fixed": (pa.binary(5), st.binary(min_size=5, max_size=5)),
    "time": (pa.timestamp("us"), st.integers(-(2**55), 2**55)),
    "decimal": (pa.decimal128(20, 3), st.decimals(-(10**9), 10**9, places=3)),
}


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    rows = draw(st.integers(1, 60))
    columns = {}
    for name in draw(st.lists(st.sampled_from(sorted(TYPES)), min_size=1, max_size=4, unique=True)):
        kind, value = TYPES[name]
        values = draw(st.lists(st.none() | value, min_size=rows, max_size=rows))
        columns[name] = pa.array(values, kind)
    return pa.table(columns)


@given(tables(), st.booleans(), st.sampled_from([7, 100]), st.sampled_from([0.5, 0.01, 1e-6]),
       st.sampled_from(["pow2", "exact"]))  # fmt: skip
@settings(max_examples=30)
def test_no_false_negatives(
    table: pa.Table,
    dictionary: bool,  # noqa: FBT001
    size: int,
    fpp: float,
    sizing: str,
) -> None:
    data = written(table, use_dictionary=dictionary, row_group_size=size)
    new = bloomify(data, fpp=fpp, sizing=sizing, jobs=1).data or data  # type: ignore[arg-type]
    for leaf in footer_of(new).leaves:
        for row_group, start in enumerate(range(0, len(table), size)):
            values = table.column(leaf.name).slice(start, size).combine_chunks()
            expected = set(stored(values, leaf))
            filter_ = filter_bytes(new, (row_group, leaf.ordinal))
            assert bool(filter_) == bool(expected)
            assert all(contains(filter_, plain) for plain in expected)


# ---------------------------------------------------------------- zeros and NaNs


def plains(dtype: type[np.floating[Any]]) -> dict[str, bytes]:
    return {
        name: np.array(value, dtype).tobytes()
        for name, value in (("plus", 0.0), ("minus", -0.0), ("nan", np.nan))
    }


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.5, 0.0], {"plus", "minus"}),
        ([1.5, -0.0], {"plus", "minus"}),
        ([1.5, "negative nan"], {"nan"}),
        ([-0.0, "negative nan"], {"plus", "minus", "nan"}),
        ([1.5, -2.0], set()),
        ([1.5, None, 3.0], set()),
    ],
)
def test_zeros_and_nans(
    dtype: type[np.floating[Any]], values: list[Any], expected: set[str]
) -> None:
    negative_nan = -np.array(np.nan, dtype)
    assert negative_nan.tobytes() != plains(dtype)["nan"]
    array = pa.array([dtype(negative_nan if v == "negative nan" else v) if v is not None else None
                      for v in values], pa.from_numpy_dtype(dtype))  # fmt: skip
    data = written(pa.table({"x": array}), use_dictionary=False)
    filter_ = built(data, fpp=1e-6).data
    assert {n for n, plain in plains(dtype).items() if contains(filter_, plain)} == expected


def test_nulls_are_no_zeros() -> None:
    """What stands in memory in the place of a null is no value."""
    data = written(pa.table({"x": pa.array([None, None], pa.float64())}))
    report = bloomify(data)
    assert [chunk.status for chunk in report.columns[0].chunks] == [Status.EMPTY]
    assert not report.written


# ---------------------------------------------------------------- rates and sizes


@pytest.mark.parametrize("fpp", [0.1, 0.01, 0.001, 1e-5])
@pytest.mark.parametrize("sizing", ["pow2", "exact"])
@pytest.mark.parametrize("count", [1, 1000, 30_000])
def test_the_rate_asked_for(fpp: float, sizing: str, count: int) -> None:
    found = built(of_numbers(count), fpp=fpp, sizing=sizing)
    filter_ = Sbbf.from_bytes(found.data)
    assert found.fpp == filter_.exact_fpp() <= fpp
    assert found.num_bytes == filter_.num_bytes
    passed = filter_.check_hashes(ABSENT).mean()
    assert passed <= fpp * 1.3 + 1e-4
    expected = 32 * num_blocks_for(count, fpp, sizing=sizing)  # type: ignore[arg-type]
    slack = 2.0 if sizing == "pow2" else 1.25
    assert found.num_bytes <= max(expected * slack, 64)
    assert abs(found.ndv - count) <= max(1, 0.03 * count)


@pytest.mark.parametrize("ndv", [1, 20, 5_000, 10**6, 10**8])
def test_wrong_hints_change_nothing(ndv: int) -> None:
    data = of_numbers(5_000)
    hinted = built(data, ndv=ndv)
    assert hinted.fpp <= 0.01
    assert hinted.data == built(data).data
    assert hinted.ndv == pytest.approx(5_000, rel=0.03)


def test_many_rows_of_few_values() -> None:
    data = written(pa.table({"x": np.arange(100_000) % 50}), row_group_size=100_000)
    found = built(data)
    assert found.num_bytes <= 128
    assert found.ndv == 50


@pytest.mark.parametrize("sizing", ["pow2", "exact"])
@pytest.mark.parametrize("max_bytes", [64, 1000, 4096])
def test_the_largest_size_wins(sizing: str, max_bytes: int) -> None:
    found = built(of_numbers(30_000), sizing=sizing, max_bytes=max_bytes, fpp=0.001)
    assert found.num_bytes <= max_bytes
    assert found.num_bytes > max_bytes // 4
    if sizing == "pow2":
        assert found.num_bytes.bit_count() == 1
    assert found.fpp > 0.001
    hashes = hash_array(pa.array(np.arange(30_000) * 7))
    assert Sbbf.from_bytes(found.data).contains_all(hashes)


def test_the_sample_is_of_the_values() -> None:
    found = built(of_numbers(30_000))
    everything = set(hash_array(pa.array(np.arange(30_000) * 7)).tolist())
    assert 0 < len(found.sample) <= SAMPLED_HASHES + 3
    assert set(found.sample.tolist()) <= everything


# ---------------------------------------------------------------- lies and damage


@pytest.mark.parametrize("number", [1, 100, 501, 10**6, 2**40, 2**62])
def test_counts_that_lie(number: int) -> None:
    """No filter is better than one that may be partial; other chunks get theirs."""
    data = written(use_dictionary=False, data_page_size=512, write_batch_size=64)
    data = with_number(data, ChunkField.NUM_VALUES, number)
    report = bloomify(data, jobs=1)
    first, *others = (chunk for column in report.columns for chunk in column.chunks)
    assert first.status is Status.SKIPPED
    assert f"the metadata counts {number}" in first.reason
    assert {chunk.status for chunk in others} == {Status.BUILT}


def test_row_counts_that_lie() -> None:
    data = with_num_rows(written(), 100)
    chunks = [chunk for column in bloomify(data, jobs=1).columns for chunk in column.chunks]
    assert [chunk.status for chunk in chunks] == [Status.SKIPPED, Status.BUILT] * 3


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_corrupted_page_costs_its_own_filter_only(jobs: int) -> None:
    data = bytearray(written(write_page_checksum=True, data_page_size=512, write_batch_size=64))
    start = int(footer_of(bytes(data)).chunk_starts()[1, 0])
    data[start + 400] ^= 1
    report = bloomify(bytes(data), jobs=jobs)
    status = {
        (chunk.row_group, column.name): (chunk.status, "CRC" in chunk.reason)
        for column in report.columns
        for chunk in column.chunks
    }
    expected: dict[tuple[int, str], tuple[Status, bool]] = {
        (i, name): (Status.BUILT, False) for i in (0, 1) for name in ("id", "email", "city")
    }
    expected[1, "id"] = (Status.SKIPPED, True)
    assert status == expected
    assert report.data is not None
    assert filter_bytes(report.data, (1, 0)) == b""
    assert all(filter_bytes(report.data, chunk) for chunk in ((0, 0), (0, 1), (1, 1), (1, 2)))


def test_chunks_without_values(fixtures_dir: Path) -> None:
    def statuses(name: str) -> list[Status]:
        data = (fixtures_dir / f"pyarrow/{name}.parquet").read_bytes()
        report = bloomify(data)
        if report.data is not None:
            assert read(report.data).equals(read(data))
        return [chunk.status for chunk in report.columns[0].chunks]

    full, empty = Status.BUILT, Status.EMPTY
    assert statuses("all_null") == [full, empty, full]
    assert statuses("empty_row_groups") == [empty, full, empty, full, empty]
    assert statuses("no_rows") in ([], [empty])


@pytest.mark.parametrize("fpp", [0.3, 0.1, 0.01, 0.001])
def test_exact_sizes_are_settled_for_any_number_of_values(fpp: float) -> None:
    """Sizes that chance makes too small grow, and are not shrunk again."""
    for distinct in (*range(1, 40), 100, 333):
        table = pa.table({"x": [f"value {i % distinct}" for i in range(3 * distinct)]})
        buffer = io.BytesIO()
        pq.write_table(table, buffer, use_dictionary=False)
        (column,) = bloomify(buffer.getvalue(), fpp=fpp, sizing="exact").columns
        assert column.achieved_fpp is not None
        assert column.achieved_fpp <= fpp
        assert abs(column.ndv - distinct) <= 1 + distinct // 10
