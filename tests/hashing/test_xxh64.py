"""Whole arrays hash as the `xxhash` package hashes each value's stored bytes."""

from __future__ import annotations

import decimal
import struct

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from hypothesis import example, given
from hypothesis import strategies as st

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.hashing import HashKind, hash_array, xxh64

# Of xxHash's own sanity checks, and of the digests that its specification prints.
SPEC_VECTORS = {
    b"": 0xEF46DB3751D8E999,
    b"a": 0xD24EC4F1A98C6E5B,
    b"abc": 0x44BC2CF5AD770999,
    b"Nobody inspects the spammish repetition": 0xFBCEA83C8A378BF1,
}

INTEGERS = [0, 1, -1, 7, 2**31 - 1, -(2**31)]
FLOATS = [0.0, -0.0, 1.5, float("inf"), float("nan")]
WORDS = ["", "a", "hello", "parquet", "x" * 31, "y" * 32, "z" * 33, "Blüte"]


def digests(plain: list[bytes]) -> list[int]:
    """Hash each by the referee."""
    return [xxhash.xxh64_intdigest(value) for value in plain]


@pytest.mark.parametrize("plain", SPEC_VECTORS)
def test_single_values_match_the_published_digests(plain: bytes) -> None:
    assert xxh64(plain) == SPEC_VECTORS[plain]


def test_arrays_match_the_published_digests() -> None:
    assert hash_array(pa.array(list(SPEC_VECTORS))).tolist() == list(SPEC_VECTORS.values())


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()])
def test_every_length_from_0_to_300(kind: pa.DataType) -> None:
    noise = np.random.default_rng(7).bytes(600)
    values = [noise[start : start + length] for length in range(301) for start in (0, 1, 7)]
    assert hash_array(pa.array(values, kind)).tolist() == digests(values)


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 31, 32, 33, 63, 64, 100])
def test_every_fixed_width(width: int) -> None:
    noise = np.random.default_rng(width).bytes(9 * width)
    values = [noise[i * width : (i + 1) * width] for i in range(9)]
    assert hash_array(pa.array(values, pa.binary(width))).tolist() == digests(values)


def test_values_of_no_bytes() -> None:
    expected = digests([b"", b""])
    assert hash_array(pa.array([b"", b""], pa.binary(0))).tolist() == expected
    assert hash_array(pa.array(["", ""])).tolist() == expected


@pytest.mark.parametrize(
    ("kind", "layout", "values"),
    [
        (pa.int32(), "<i", INTEGERS),
        (pa.int64(), "<q", [*INTEGERS, 2**63 - 1, -(2**63)]),
        (pa.float32(), "<f", FLOATS),
        (pa.float64(), "<d", FLOATS),
    ],
)
def test_numbers_hash_as_little_endian(kind: pa.DataType, layout: str, values: list[float]) -> None:
    expected = digests([struct.pack(layout, value) for value in values])
    assert hash_array(pa.array(values, kind)).tolist() == expected


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_text_hashes_as_utf8_without_its_length(kind: pa.DataType) -> None:
    expected = digests([word.encode() for word in WORDS])
    assert hash_array(pa.array(WORDS, kind)).tolist() == expected


@pytest.mark.parametrize("indices", [pa.int8(), pa.int32(), pa.uint16()])
def test_of_a_dictionary_array_only_the_dictionary_is_hashed(indices: pa.DataType) -> None:
    rows = pa.array([2, 2, None, 0], indices)
    array = pa.DictionaryArray.from_arrays(rows, pa.array(["a", "b", None, "c"]))
    assert hash_array(array).tolist() == digests([b"a", b"b", b"c"])


def plain_values(array: pa.Array) -> list[bytes]:
    """Encode the non-null values one by one."""
    layouts = {pa.int32(): "<i", pa.int64(): "<q", pa.float64(): "<d"}
    present = [value for value in array.to_pylist() if value is not None]
    if array.type in layouts:
        return [struct.pack(layouts[array.type], value) for value in present]
    return [value.encode() if isinstance(value, str) else value for value in present]


ARRAYS = st.one_of(
    st.tuples(st.just(pa.int32()), st.lists(st.none() | st.integers(-(2**31), 2**31 - 1))),
    st.tuples(st.just(pa.int64()), st.lists(st.none() | st.integers(-(2**63), 2**63 - 1))),
    st.tuples(st.just(pa.float64()), st.lists(st.none() | st.floats(allow_nan=False))),
    st.tuples(st.just(pa.binary()), st.lists(st.none() | st.binary(max_size=80))),
    st.tuples(st.just(pa.large_string()), st.lists(st.none() | st.text(max_size=20))),
    st.tuples(st.just(pa.binary(12)), st.lists(st.none() | st.binary(min_size=12, max_size=12))),
)


SLICED = [
    (pa.int32(), [1, None, 3, None, 5]),
    (pa.float64(), [1.5, None, 3.5, None, 5.5]),
    (pa.string(), ["one", None, "three", None, "five"]),
    (pa.large_binary(), [b"one", None, b"three", None, b"five"]),
    (pa.binary(12), [b"one of twelve"[:12], None, b"two of twelve"[:12], None, bytes(12)]),
]
"""Arrays of which a slice from 2 on has other values, and other nulls, than their beginning."""


@given(ARRAYS, st.integers(0, 20), st.integers(0, 20))
@example(SLICED[0], 2, 3)
@example(SLICED[1], 2, 3)
@example(SLICED[2], 2, 3)
@example(SLICED[3], 2, 3)
@example(SLICED[4], 2, 3)
@example((pa.string(), ["one", "two", "three"]), 1, 2)
def test_nulls_and_slices_of_any_array(
    typed: tuple[pa.DataType, list[object]], start: int, length: int
) -> None:
    kind, values = typed
    array = pa.array(values, kind).slice(start, length)
    hashes = hash_array(array)
    assert hashes.dtype == np.uint64
    assert hashes.tolist() == digests(plain_values(array))


@given(st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), min_size=60), st.integers(0, 20))
def test_long_arrays_with_nulls(values: list[int | None], start: int) -> None:
    array = pa.array(values * 7, pa.int64()).slice(start)
    assert hash_array(array).tolist() == digests(plain_values(array))


def test_an_array_of_nulls_has_no_hashes() -> None:
    assert hash_array(pa.nulls(5, pa.int64())).tolist() == []
    assert hash_array(pa.nulls(5, pa.string())).tolist() == []
    assert hash_array(pa.array([], pa.binary(3))).tolist() == []


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_string(), pa.int64(), pa.binary(3)])
def test_an_array_without_values_needs_no_memory(kind: pa.DataType) -> None:
    """Others may hand over arrays of length 0 that have no buffer of offsets, or of numbers."""
    texts = [] if kind in (pa.int64(), pa.binary(3)) else [pa.py_buffer(b"")]
    buffers = [None, None, *texts]
    empty = pa.Array.from_buffers(kind, 0, buffers)
    assert hash_array(empty).tolist() == hash_array(empty, HashKind("murmur3")).tolist() == []


@pytest.mark.parametrize(
    "array",
    [
        pa.array([True]),
        pa.array([1], pa.int16()),
        pa.array([1.0], pa.float16()),
        pa.array([decimal.Decimal(1)], pa.decimal128(9, 0)),
        pa.array([[1]]),
        pa.array([None]),
        pa.array([1], pa.timestamp("us")),
        pa.array([True]).dictionary_encode(),
    ],
    ids=lambda array: str(array.type),
)
def test_arrays_that_hold_no_physical_values_are_refused(array: pa.Array) -> None:
    with pytest.raises(InvalidArgument, match="as Parquet stores them"):
        hash_array(array)
