"""One value -> the bytes that a column of its type stores."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.hashing import XXHASH, HashKind, hash_array, hash_plain, plain_bytes


@pytest.mark.parametrize(
    ("value", "physical_type", "plain"),
    [
        (1, "INT32", "01000000"),
        (-1, "INT32", "ffffffff"),
        (2**32 - 1, "INT32", "ffffffff"),
        (-2, "INT64", "feffffffffffffff"),
        (2**64 - 1, "INT64", "ffffffffffffffff"),
        (1.5, "FLOAT", "0000c03f"),
        (0.1, "FLOAT", "cdcccc3d"),
        (-0.0, "FLOAT", "00000080"),
        (1, "DOUBLE", "000000000000f03f"),
        (math.inf, "DOUBLE", "000000000000f07f"),
        ("ü", "BYTE_ARRAY", "c3bc"),
        (b"", "BYTE_ARRAY", ""),
        (b"\x00\x01", "FIXED_LEN_BYTE_ARRAY", "0001"),
        (bytes(12), "INT96", "00" * 12),
    ],
)
def test_bytes(value: float | str | bytes, physical_type: str, plain: str) -> None:
    assert plain_bytes(value, physical_type).hex() == plain


@pytest.mark.parametrize(
    ("value", "physical_type"),
    [
        (2**32, "INT32"),
        (-(2**31) - 1, "INT32"),
        (2**64, "INT64"),
        (1.0, "INT32"),
        (True, "INT32"),
        (True, "BOOLEAN"),
        (True, "DOUBLE"),
        ("\ud800", "BYTE_ARRAY"),
        (1e40, "FLOAT"),
        (10**400, "DOUBLE"),
        ("1", "DOUBLE"),
        (1, "BYTE_ARRAY"),
        (b"short", "INT96"),
        (b"x", "NO_SUCH_TYPE"),
    ],
)
def test_values_that_the_column_cannot_hold(value: float | str | bytes, physical_type: str) -> None:
    with pytest.raises(InvalidArgument):
        plain_bytes(value, physical_type)


def test_the_length_of_a_fixed_column_is_checked() -> None:
    assert plain_bytes(b"ab", "FIXED_LEN_BYTE_ARRAY", type_length=2) == b"ab"
    with pytest.raises(InvalidArgument, match="has 2 bytes, the column 3"):
        plain_bytes(b"ab", "FIXED_LEN_BYTE_ARRAY", type_length=3)


KINDS = (XXHASH, HashKind("murmur3"), HashKind("murmur3", 1361930890))
SINGLES = st.one_of(
    st.tuples(st.just("INT32"), st.just(pa.int32()), st.integers(-(2**31), 2**31 - 1)),
    st.tuples(st.just("INT64"), st.just(pa.int64()), st.integers(-(2**63), 2**63 - 1)),
    st.tuples(st.just("FLOAT"), st.just(pa.float32()), st.floats(width=32, allow_nan=False)),
    st.tuples(st.just("DOUBLE"), st.just(pa.float64()), st.floats(allow_nan=False)),
    st.tuples(st.just("BYTE_ARRAY"), st.just(pa.string()), st.text()),
    st.tuples(st.just("BYTE_ARRAY"), st.just(pa.binary()), st.binary()),
    st.tuples(st.just("INT96"), st.just(pa.binary(12)), st.binary(min_size=12, max_size=12)),
)


@given(SINGLES, st.sampled_from(KINDS))
def test_one_value_hashes_like_an_array_of_it(
    typed: tuple[str, pa.DataType, float | str | bytes], hash_kind: HashKind
) -> None:
    physical_type, kind, value = typed
    single = hash_plain(plain_bytes(value, physical_type), hash_kind)
    array = pa.array([value], kind)
    assert hash_array(array, hash_kind).tolist() == [single]
