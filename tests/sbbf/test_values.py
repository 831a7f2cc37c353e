"""Values are inserted and checked by their type, one by one and as arrays."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.hashing import HashKind, hash_plain
from parquet_bloomwriter.sbbf import Sbbf, num_blocks_for
from tests.hashing.test_plain import SINGLES

KINDS: tuple[Any, ...] = (
    {},
    {"dialect": "murmur3"},
    {"dialect": "murmur3", "murmur3_seed": 1361930890},
)
NAN_OF_ANOTHER_KIND = struct.unpack("<d", bytes.fromhex("010000000000f8ff"))[0]
FLOATS = [("FLOAT", pa.float32(), "<f"), ("DOUBLE", pa.float64(), "<d")]


def one_hash(plain: bytes, options: dict[str, Any]) -> Sbbf:
    """Return a filter with the hash of just these bytes."""
    made = Sbbf.empty(64, **options)
    made.insert_hash(hash_plain(plain, HashKind(**options)))
    return made


@given(SINGLES, st.sampled_from(KINDS))
def test_one_value_and_an_array_of_it_set_the_same_bits(
    typed: tuple[str, pa.DataType, float | str | bytes], options: dict[str, Any]
) -> None:
    physical_type, kind, value = typed
    single, whole, chunked = (Sbbf.empty(64, **options) for _ in range(3))
    single.insert(value, physical_type)
    whole.insert_array(pa.array([None, value], kind))
    chunked.insert_array(pa.chunked_array([[], [value], [None, value]], kind))
    assert single == whole == chunked
    assert single.fill() > 0
    assert single.check(value, physical_type)
    assert single.check_array(pa.array([value, None], kind)).tolist() == [True, True]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), unique=True, max_size=200))
def test_arrays_are_checked_value_by_value(values: list[int]) -> None:
    filter_ = Sbbf.with_ndv_fpp(100, 0.1)
    filter_.insert_array(pa.array(values[::2], pa.int64()))
    found = filter_.check_array(pa.array(values, pa.int64()))
    assert found.shape == (len(values),)
    assert found[::2].all()
    assert found.tolist() == [filter_.check(value, "INT64") for value in values]


@pytest.mark.parametrize("options", KINDS)
def test_the_type_is_part_of_the_value(options: dict[str, Any]) -> None:
    filter_ = Sbbf.empty(64, **options)
    filter_.insert(42, "INT64")
    assert filter_ == one_hash(struct.pack("<q", 42), options)
    assert not filter_.check(42, "INT32")
    assert not filter_.check(42, "DOUBLE")
    filter_.insert(42, "INT32")
    assert filter_.check(42, "INT32")


def test_text_and_bytes_need_no_type() -> None:
    filter_ = Sbbf.empty(64)
    filter_.insert("Blüte")
    assert filter_.check("Blüte".encode())
    assert filter_.check("Blüte", "BYTE_ARRAY")
    assert not filter_.check("Blute")
    for number in (42, 4.2, np.int64(42)):
        for call in (filter_.insert, filter_.check):
            with pytest.raises(InvalidArgument, match=r"type of .* Name its physical type"):
                call(number)


def test_scalars_of_numpy() -> None:
    filter_ = Sbbf.empty(64)
    filter_.insert(np.int32(7), "INT32")
    filter_.insert(np.float32(0.1), "FLOAT")
    assert filter_.check(7, "INT32")
    assert filter_.check(0.1, "FLOAT")
    assert not filter_.check(8, "INT32")


@pytest.mark.parametrize(("physical_type", "kind", "layout"), FLOATS)
@pytest.mark.parametrize("options", KINDS)
def test_either_zero_stands_for_both(
    physical_type: str, kind: pa.DataType, layout: str, options: dict[str, Any]
) -> None:
    for zero in (0.0, -0.0):
        for filter_ in (Sbbf.empty(64, **options), one_hash(struct.pack(layout, zero), options)):
            if not filter_.fill():
                filter_.insert(zero, physical_type)
                array = Sbbf.empty(64, **options)
                array.insert_array(pa.array([zero, 1.0], kind))
                array_of_one = Sbbf.empty(64, **options)
                array_of_one.insert(1.0, physical_type)
                assert array == filter_.merge(array_of_one)
            assert filter_.check(0.0, physical_type)
            assert filter_.check(-0.0, physical_type)
            assert filter_.check(0, physical_type)
            assert filter_.check_array(pa.array([0.0, -0.0, 5.0], kind)).tolist() == [
                True,
                True,
                False,
            ]


@pytest.mark.parametrize(("physical_type", "kind", "layout"), FLOATS)
def test_nans_might_always_be_contained(physical_type: str, kind: pa.DataType, layout: str) -> None:
    empty = Sbbf.empty(4)
    for nan in (float("nan"), -float("nan"), np.float32("nan")):
        assert empty.check(nan, physical_type)
    assert empty.check_array(pa.array([1.0, float("nan"), None], kind)).tolist() == [
        False,
        True,
        True,
    ]
    canonical = hash_plain(struct.pack(layout, float("nan")))
    filter_ = Sbbf.empty(64)
    filter_.insert(NAN_OF_ANOTHER_KIND, physical_type)
    assert filter_.check_hash(canonical)
    filter_ = Sbbf.empty(64)
    filter_.insert_array(pa.array([NAN_OF_ANOTHER_KIND], kind))
    assert filter_.check_hash(canonical)


def test_a_dictionary_puts_in_what_its_rows_hold() -> None:
    rows = pa.DictionaryArray.from_arrays(pa.array([0, 2, None]), pa.array(["a", "b", "c"]))
    filter_ = Sbbf.empty(64)
    filter_.insert_array(rows)
    assert filter_.check_array(pa.array(["a", "b", "c"])).tolist() == [True, False, True]
    assert filter_.check_array(rows).all()


@pytest.mark.parametrize(
    ("value", "physical_type"),
    [
        (2**31, "UINT32"),
        (2**32, "INT32"),
        (True, "INT32"),
        ("x", "INT64"),
        (b"x", "INT96"),
        (1.5, "INT64"),
    ],
)
def test_values_that_no_such_column_stores(value: Any, physical_type: str) -> None:  # noqa: ANN401
    for call in (Sbbf.empty(2).insert, Sbbf.empty(2).check):
        with pytest.raises(InvalidArgument):
            call(value, physical_type)
    with pytest.raises(InvalidArgument, match="has 2 bytes, the column 3"):
        Sbbf.empty(2).insert(b"xy", "FIXED_LEN_BYTE_ARRAY", type_length=3)


def test_arrays_that_are_none_of_stored_values() -> None:
    for call in (Sbbf.empty(2).insert_array, Sbbf.empty(2).check_array):
        for given_ in ([1, 2], np.arange(3), "text"):
            with pytest.raises(InvalidArgument, match="is not an Arrow array"):
                call(given_)
        with pytest.raises(InvalidArgument, match="as Parquet stores them"):
            call(pa.array([1], pa.int8()))


# ---------------------------------------------------------------- sizes


@given(st.integers(0, 10**7), st.floats(1e-6, 0.9), st.sampled_from(["pow2", "exact"]))
def test_made_from_ndv_and_fpp(ndv: int, fpp: float, sizing: Any) -> None:  # noqa: ANN401
    made = Sbbf.with_ndv_fpp(ndv, fpp, sizing=sizing, max_bytes=2**20)
    assert made.num_blocks == num_blocks_for(ndv, fpp, sizing=sizing, max_bytes=2**20)
    assert made.fill() == 0


@pytest.mark.parametrize("options", KINDS)
@pytest.mark.parametrize("fpp", [0.2, 0.01, 0.001])
def test_the_rate_asked_for_is_kept(options: dict[str, Any], fpp: float) -> None:
    made = Sbbf.with_ndv_fpp(30_000, fpp, **options)
    made.insert_array(pa.array(np.arange(30_000)))
    absent = made.check_array(pa.array(np.arange(10**6, 10**6 + 60_000)))
    spread = 5 * (made.exact_fpp() / 60_000) ** 0.5
    assert made.exact_fpp() <= fpp
    assert absent.mean() == pytest.approx(made.exact_fpp(), abs=spread)


def test_impossible_sizes() -> None:
    for options in ({"ndv": -1}, {"fpp": 0}, {"fpp": 1}, {"max_bytes": 8}, {"sizing": "huge"}):
        with pytest.raises(InvalidArgument):
            Sbbf.with_ndv_fpp(**{"ndv": 10, "fpp": 0.1, **options})  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="sizes of powers of two"):
        Sbbf.with_ndv_fpp(10, 0.1, sizing="exact", dialect="murmur3")


# ---------------------------------------------------------------- the hash function


def test_folds_and_unions_keep_the_hash_function() -> None:
    words = [f"word {i}" for i in range(50)]
    options = KINDS[2]
    one, other = (Sbbf.empty(256, **options) for _ in range(2))
    one.insert_array(pa.array(words[:25]))
    other.insert_array(pa.array(words[25:]))
    both = one.merge(other).fold(2).fold_to_target_fpp(0.01)
    again = Sbbf.from_bytes(both.to_bytes(), **options)
    for made in (both, again):
        assert (made.dialect, made.murmur3_seed) == ("murmur3", 1361930890)
        assert all(made.check(word) for word in words)
    assert not all(Sbbf.from_bytes(both.to_bytes(), "murmur3").check(word) for word in words)


@pytest.mark.parametrize(("one", "other"), [(0, 1), (1, 2), (2, 0)])
def test_filters_of_different_hash_functions_are_kept_apart(one: int, other: int) -> None:
    filters = [Sbbf.empty(4, **KINDS[which]) for which in (one, other)]
    assert filters[0] != filters[1]
    with pytest.raises(InvalidArgument, match="different hash functions"):
        filters[0].merge(filters[1])


def test_a_physical_type_that_does_not_exist() -> None:
    for act in (Sbbf.empty(64).insert, Sbbf.empty(64).check):
        with pytest.raises(InvalidArgument, match="no physical type 'INT46'") as caught:
            act(4, "INT46")
        assert caught.value.remedy.startswith("Name one of INT32, INT64, INT96, FLOAT,")
