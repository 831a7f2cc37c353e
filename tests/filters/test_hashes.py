"""Values of any library become the hashes of what is stored, one by one or all together."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_bloomwriter.filters.hashes import Lookups, is_collection, lookups_of
from parquet_bloomwriter.hashing import hash_array, xxh64
from tests.support.binding import leaf_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from parquet_bloomwriter.metadata import Leaf

NOON = dt.datetime(2020, 5, 17, 12)  # noqa: DTZ001  a clock without a zone
DAY = NOON.date()
UTC_NOON = NOON.replace(tzinfo=dt.UTC)
TOKYO = UTC_NOON.astimezone(dt.timezone(dt.timedelta(hours=9)))

KINDS = {
    "int8": pa.int8(),
    "int64": pa.int64(),
    "uint32": pa.uint32(),
    "uint64": pa.uint64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "fixed": pa.binary(3),
    "uuid": pa.uuid(),
    "date": pa.date32(),
    "clock": pa.timestamp("us"),
    "instant": pa.timestamp("us", "UTC"),
    "millis": pa.timestamp("ms"),
    "decimal": pa.decimal128(9, 2),
    "wide decimal": pa.decimal128(30, 2),
    "bool": pa.bool_(),
}
LEAVES = {name: leaf_of(kind) for name, kind in KINDS.items()}

LISTS: dict[str, list[Any]] = {
    "integers": [0, 1, -1, 127, 128, -129, 2**31, 2**32 - 1, 2**32, -(2**63)],
    "large integers": [2**63, 2**64 - 1, 1],
    "larger integers": [2**64, 1, -(2**64)],
    "integers and nulls": [None, 1, None],
    "numbers": [1, 2.0, 0.5, -0.0, 0.0, float("nan"), float("inf"), 1e300, None],
    "large numbers": [2**53 + 1, 2.5],
    "decimals": [Decimal("1.10"), Decimal("1.1"), Decimal("1.101"), Decimal(10) ** 30, Decimal(2)],
    "decimals and integers": [Decimal("0.5"), 1, 2],
    "texts": ["", "a", "abc", "Łódź", "2020-05-17", "1", str(uuid.UUID(int=7)), None],
    "odd texts": ["\ud800", "a"],
    "bytes": [b"", b"a", b"abc", b"\xff\xfe", bytes(16), None],
    "texts and bytes": ["a", b"a", "abc", b"\xff"],
    "booleans": [True, False, None],
    "booleans and integers": [True, 1, 0],
    "dates": [DAY, dt.date(1, 1, 1), dt.date(9999, 12, 31)],
    "dates and times": [DAY, NOON, NOON + dt.timedelta(microseconds=1)],
    "times and dates": [NOON, DAY],
    "times": [NOON, NOON.replace(microsecond=1), dt.datetime(9999, 12, 31)],  # noqa: DTZ001
    "instants": [UTC_NOON, TOKYO, TOKYO + dt.timedelta(hours=1)],
    "times and instants": [NOON, UTC_NOON, TOKYO],
    "instants and times": [TOKYO, NOON],
    "uuids": [uuid.UUID(int=7), uuid.UUID(int=2**127)],
    "anything": [1, "a", b"a", None, DAY, Decimal(1), 1.5],
    "what has no meaning": [object(), 1, [1], {}],
    "nothing": [],
    "nulls": [None, None],
}


def apart(leaf: Leaf, values: list[Any]) -> list[tuple[list[int], bool]]:
    """Hashes of each value, and whether it is unclear, each value by itself."""
    found = []
    for value in values:
        ((hashes, unclear),) = together(lookups_of([value], leaf))
        found.append((hashes, unclear))
    return found


def together(lookups: Lookups) -> list[tuple[list[int], bool]]:
    assert len(lookups.firsts) == lookups.num_values + 1
    assert lookups.firsts[-1] == len(lookups.hashes)
    return [
        (lookups.hashes[first:last].tolist(), unclear)
        for first, last, unclear in zip(
            lookups.firsts[:-1].tolist(),
            lookups.firsts[1:].tolist(),
            lookups.unclear.tolist(),
            strict=True,
        )
    ]


@pytest.mark.parametrize("leaf", LEAVES.values(), ids=LEAVES)
def test_a_list_says_what_its_values_say_one_by_one(leaf: Leaf) -> None:
    for name, values in LISTS.items():
        expected = apart(leaf, values)
        series = pd.Series(values, dtype=object)
        for form in (values, np.array(values, object), series):
            assert (name, together(lookups_of(form, leaf))) == (name, expected), type(form)


ARRAYS: dict[str, Callable[[], Any]] = {
    "int64": lambda: pa.array([1, None, -1, 2**40, 0]),
    "chunks": lambda: pa.chunked_array([[1, 2], [], [None, 3]]),
    "no chunks": lambda: pa.chunked_array([], pa.int64()),
    "slice": lambda: pa.array([9, 9, None, 1, 2, 9])[2:5],
    "int8": lambda: pa.array([1, -1], pa.int8()),
    "uint64": lambda: pa.array([1, 2**64 - 1, 2**63], pa.uint64()),
    "strings": lambda: pa.array(["a", None, "", "abc"]),
    "large strings": lambda: pa.array(["a", None], pa.large_string()),
    "string views": lambda: pa.array(["a", None, "abc"], pa.string_view()),
    "bytes": lambda: pa.array([b"a", None, b"abc"]),
    "fixed": lambda: pa.array([b"abc", None], pa.binary(3)),
    "dictionary": lambda: pa.array(["a", None, "a", "b"]).dictionary_encode(),
    "chunks of dictionaries": lambda: pa.chunked_array(
        [pa.array(["a", None]).dictionary_encode(), pa.array(["b", "a"]).dictionary_encode()]
    ),
    "uuids": lambda: pa.array([uuid.UUID(int=7), None], pa.uuid()),
    "doubles": lambda: pa.array([0.0, -0.0, None, float("nan"), 1.5]),
    "halves": lambda: pa.array(np.array([0.5, 2.0], np.float16)),
    "decimals": lambda: pa.array([Decimal("1.10"), None]),
    "dates": lambda: pa.array([DAY, None]),
    "nanoseconds": lambda: pa.array([1_589_716_800_000_000_001, None], pa.timestamp("ns")),
    "instants": lambda: pa.array([UTC_NOON, None]),
    "durations": lambda: pa.array([5, None], pa.duration("us")),
    "nulls": lambda: pa.nulls(3),
    "lists": lambda: pa.array([[1], None]),
    "numpy": lambda: np.arange(-2, 3),
    "numpy every other": lambda: np.arange(10)[::2],
    "numpy big-endian": lambda: np.arange(3, dtype=">i4"),
    "numpy unsigned": lambda: np.array([0, 2**64 - 1], np.uint64),
    "numpy floats": lambda: np.array([0.0, -0.0, np.nan, 0.1]),
    "numpy texts": lambda: np.array(["a", "abc", ""]),
    "numpy bytes": lambda: np.array([b"a", b"abc"]),
    "numpy days": lambda: np.array(["2020-05-17", "NaT"], "datetime64[D]"),
    "numpy months": lambda: np.array(["2020-05", "NaT"], "datetime64[M]"),
    "numpy times": lambda: np.array(["2020-05-17T12:00", "NaT"], "datetime64[us]"),
    "numpy spans": lambda: np.array([5], "timedelta64[us]"),
    "numpy booleans": lambda: np.array([True, False]),
    "numpy scalars": lambda: [np.int64(1), np.int8(-1), np.uint64(2**64 - 1)],
    "pandas": lambda: pd.Series([1, 2, 3], index=[5, 6, 7]),
    "pandas with gaps": lambda: pd.Series([1.0, np.nan, 3.0]),
    "pandas nullable": lambda: pd.Series([1, None, 3], dtype="Int64"),
    "pandas texts": lambda: pd.Series(["a", None, "abc"]),
    "pandas categories": lambda: pd.Series(["a", "b", "a"], dtype="category"),
    "pandas times": lambda: pd.Series([NOON, None]),
    "pandas instants": lambda: pd.Series([UTC_NOON, None]),
    "pandas index": lambda: pd.Index([1, 2]),
    "polars": lambda: pl.Series([1, None, 3]),
    "polars texts": lambda: pl.Series(["a", None, "abc"]),
    "polars times": lambda: pl.Series([NOON, None]),
}


@pytest.mark.parametrize("leaf", LEAVES.values(), ids=LEAVES)
def test_an_array_says_what_its_values_say_one_by_one(leaf: Leaf) -> None:
    for name, make in ARRAYS.items():
        array = make()
        assert is_collection(array), name
        expected = apart(leaf, list(array))
        assert (name, together(lookups_of(array, leaf))) == (name, expected)


@given(
    st.lists(st.none() | st.integers(-(2**65), 2**65) | st.integers(-300, 300)),
    st.sampled_from(["int8", "int64", "uint32", "uint64"]),
)
def test_integers(values: list[int | None], name: str) -> None:
    leaf = LEAVES[name]
    assert together(lookups_of(values, leaf)) == apart(leaf, values)


@pytest.mark.parametrize(
    ("name", "value", "plains"),
    [
        ("int8", -1, [b"\xff\xff\xff\xff"]),
        ("int8", 128, []),
        ("uint32", 2**32 - 1, [b"\xff" * 4]),
        ("uint32", -1, []),
        ("uint64", 2**64 - 1, [b"\xff" * 8]),
        ("double", 0, [bytes(8), bytes(7) + b"\x80"]),
        ("double", -0.0, [bytes(8), bytes(7) + b"\x80"]),
        ("string", "Ł", [b"\xc5\x81"]),
        ("fixed", b"abc", [b"abc"]),
        ("date", dt.date(1970, 1, 2), [b"\1\0\0\0"]),
        ("millis", dt.datetime(1970, 1, 1, 0, 0, 1), [b"\xe8\3" + bytes(6)]),  # noqa: DTZ001
        ("decimal", Decimal("-0.01"), [b"\xff" * 4]),
        ("wide decimal", Decimal("2.56"), [bytes(11) + b"\1\0"]),
    ],
)
def test_hashes_are_those_of_what_is_stored(name: str, value: object, plains: list[bytes]) -> None:
    ((hashes, unclear),) = together(lookups_of([value], LEAVES[name]))
    if name == "wide decimal":
        plains = [plain.rjust(LEAVES[name].type_length or 0, b"\0") for plain in plains]
    if name == "decimal":
        plains = [b"\xff" * (LEAVES[name].type_length or 4)]
    assert (hashes, unclear) == ([xxh64(plain) for plain in plains], False)


@pytest.mark.parametrize("name", ["int64", "string", "double", "date", "uuid"])
def test_nulls_and_unknown_kinds_are_unclear(name: str) -> None:
    values = [None, object(), pd.NA, pd.NaT, np.datetime64("NaT")]
    for value in values:
        assert together(lookups_of([value], LEAVES[name])) == [([], True)]


def test_text_is_hashed_together() -> None:
    values = pa.array(["a", None, "b"] * 1000)
    lookups = lookups_of(values, LEAVES["string"])
    assert lookups.hashes.tolist() == hash_array(values.drop_null()).tolist()


@given(st.lists(st.integers(0, 3), max_size=20), st.integers(0, 2**20))
def test_any_of(counts: list[int], bits: int) -> None:
    firsts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    found = np.array([bits >> i & 1 for i in range(int(firsts[-1]))], np.bool_)
    unclear = np.array([i % 5 == 0 for i in range(len(counts))], np.bool_)
    lookups = Lookups(np.zeros(len(found), np.uint64), firsts, unclear)
    expected = [
        bool(found[first:last].any()) or i % 5 == 0
        for i, (first, last) in enumerate(pairwise(firsts.tolist()))
    ]
    assert lookups.any_of(found).tolist() == expected


@pytest.mark.parametrize(
    "value", ["abc", b"abc", bytearray(3), 5, None, 1.5, DAY, np.int64(5), np.array(5), NOON]
)
def test_one_value_is_no_collection(value: object) -> None:
    assert not is_collection(value)
    assert not is_collection(pa.scalar("abc"))


@pytest.mark.parametrize("values", [[], (), {1}, np.arange(0), pa.array([1]), pd.Series([1])])
def test_collections(values: object) -> None:
    assert is_collection(values)
