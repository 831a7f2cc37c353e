"""Bounds and null counts are taken only where the specification, and writers' habits, allow it."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_bloomwriter.kernels.layout import ABSENT, BINARY, I32, I64, LIST, STRUCT
from parquet_bloomwriter.metadata import Leaf, PhysicalType, Repetition
from parquet_bloomwriter.predicate.literals.domain import order_of
from parquet_bloomwriter.probing.statistics import (
    Bounds,
    decode_bounds,
    may_count_too_few_nulls,
    null_counts,
    type_ordered,
)
from parquet_bloomwriter.verbs.probe import probe
from parquet_bloomwriter.verbs.read import read_table
from tests.compact.structs import encode
from tests.metadata.synthetic import column_chunk, column_metadata, file_metadata, plain
from tests.support.binding import bare_leaf

if TYPE_CHECKING:
    from pathlib import Path

    from tests.compact.structs import Fields

T = PhysicalType
UTF8, DECIMAL, UINT_8, UINT_32, UINT_64 = 0, 5, 11, 13, 14
FLOAT16 = bytes.fromhex("fc0000")
"""LogicalType: field 15, an empty struct; stop."""

TYPE_ORDER: Fields = plain((1, STRUCT, []))
SIGNED, TEXT = bare_leaf(T.INT64), bare_leaf(T.BYTE_ARRAY, converted_type=UTF8)
UNSIGNED = bare_leaf(T.INT64, converted_type=UINT_64)
DOUBLE = bare_leaf(T.DOUBLE)
WIDE = bare_leaf(T.FIXED_LEN_BYTE_ARRAY, type_length=4, converted_type=DECIMAL, precision=9)
LOOSE = bare_leaf(T.BYTE_ARRAY, converted_type=DECIMAL, precision=9, scale=2)

Pair = tuple[bytes | None, bytes | None]
NOTHING: Pair = (None, None)


def decoded(
    leaf: Leaf,
    *new: Pair,
    old: Pair = NOTHING,
    created_by: bytes = b"",
    has_type_order: bool = True,
) -> list[tuple[Any, Any] | None]:
    """Bounds of one chunk for each pair, None where they are not known."""
    data, stops, lengths = b"footer", [], []
    for pair in new:
        for one in (*pair, *old):
            data += one or b""
            stops.append(len(data))
            lengths.append(ABSENT if one is None else len(one))
    bounds = decode_bounds(
        leaf,
        order_of(leaf),
        data,
        np.array(stops, np.int64).reshape(-1, 4),
        np.array(lengths, np.int64).reshape(-1, 4),
        created_by=created_by,
        has_type_order=has_type_order,
    )
    return as_pairs(bounds)


def as_pairs(bounds: Bounds) -> list[tuple[Any, Any] | None]:
    return [
        (low, high) if known else None
        for low, high, known in zip(
            bounds.low.tolist(), bounds.high.tolist(), bounds.known.tolist(), strict=True
        )
    ]


def q(number: int) -> bytes:
    return struct.pack("<q", number)


def d(*numbers: float) -> tuple[bytes, ...]:
    return tuple(struct.pack("<d", number) for number in numbers)


STORED = [
    (bare_leaf(T.INT32), "<i", (-(2**31), 2**31 - 1)),
    (bare_leaf(T.INT64), "<q", (-(2**63), 2**63 - 1)),
    (bare_leaf(T.INT32, converted_type=UINT_32), "<I", (2**31, 2**32 - 1)),
    (bare_leaf(T.INT32, converted_type=UINT_8), "<I", (0, 255)),
    (UNSIGNED, "<Q", (2**63, 2**64 - 1)),
    (bare_leaf(T.FLOAT), "<f", (-1.5, float("inf"))),
    (DOUBLE, "<d", (-1e300, 0.1)),
    (bare_leaf(T.FIXED_LEN_BYTE_ARRAY, type_length=2, logical_type=FLOAT16), "<e", (-2.5, 6.0)),
    (bare_leaf(T.BOOLEAN), "<B", (0, 1)),
    (bare_leaf(T.INT32, converted_type=DECIMAL, precision=9, scale=2), "<i", (-5, 7)),
    (WIDE, ">i", (-70000, 70000)),
    (LOOSE, ">h", (-300, 200)),
]


@pytest.mark.parametrize(("leaf", "layout", "pair"), STORED)
def test_bounds_of_every_type(leaf: Leaf, layout: str, pair: tuple[Any, Any]) -> None:
    low, high = (struct.pack(layout, one) for one in pair)
    assert decoded(leaf, (low, high), NOTHING, (high, low)) == [pair, None, None]


@pytest.mark.parametrize(("leaf", "layout", "pair"), STORED)
def test_bounds_of_a_wrong_length_say_nothing(
    leaf: Leaf, layout: str, pair: tuple[Any, Any]
) -> None:
    low, high = (struct.pack(layout, one) for one in pair)
    if leaf.physical_type == T.BYTE_ARRAY:
        assert decoded(leaf, (b"", high), (low, b"")) == [None, None]
        return
    cases = [(low[:-1], high), (low, high + b"\0"), (b"", b""), (b"\0" + low, b"\0" + high)]
    assert decoded(leaf, *cases) == [None] * 4


def test_text_is_compared_byte_by_byte() -> None:
    assert decoded(TEXT, (b"", b"\xff"), (b"a", b"\xc5\x81"), (b"b", b"a")) == [
        (b"", b"\xff"),
        (b"a", b"\xc5\x81"),
        None,
    ]


@pytest.mark.parametrize("leaf", [SIGNED, DOUBLE, bare_leaf(T.BOOLEAN)])
def test_clear_orders_need_no_column_orders(leaf: Leaf) -> None:
    width = 1 if leaf.physical_type == T.BOOLEAN else 8
    low, high = bytes(width), bytes(width)
    assert decoded(leaf, (low, high), has_type_order=False) == [(0, 0)]
    assert decoded(leaf, NOTHING, old=(low, high), has_type_order=False) == [(0, 0)]


@pytest.mark.parametrize("leaf", [UNSIGNED, TEXT, WIDE, LOOSE])
def test_other_orders_need_column_orders_and_new_fields(leaf: Leaf) -> None:
    low, high = bytes(8), bytes(7) + b"\1"
    if leaf is WIDE:
        low, high = low[-4:], high[-4:]
    assert decoded(leaf, (low, high)) != [None]
    assert decoded(leaf, (low, high), has_type_order=False) == [None]
    assert decoded(leaf, NOTHING, old=(low, high)) == [None]
    assert decoded(leaf, (low, None), old=(low, high)) == [None]


def test_new_fields_are_taken_first_and_never_mixed_with_old_ones() -> None:
    old = (q(-9), q(9))
    cases: list[Pair] = [(q(1), q(2)), (q(1), None), (None, q(2)), NOTHING]
    assert decoded(SIGNED, *cases, old=old) == [(1, 2), (-9, 9), (-9, 9), (-9, 9)]


def test_nan_and_wrong_order_say_nothing() -> None:
    nan = float("nan")
    low, high = d(1.0, 2.0)
    (bad,) = d(nan)
    cases = [(low, high), (bad, high), (low, bad), (bad, bad), (high, low)]
    assert decoded(DOUBLE, *cases) == [(1.0, 2.0), None, None, None, None]


def test_zeros_are_equal() -> None:
    minus, plus = d(-0.0, 0.0)
    assert decoded(DOUBLE, (plus, minus), (minus, plus)) == [(0.0, 0.0)] * 2


@pytest.mark.parametrize(
    ("created_by", "is_believed"),
    [
        (b"parquet-rs version 0.4.0 (build x)", False),
        (b"parquet-rs version 19.0.0", False),
        (b"parquet-rs version 20.0.0", True),
        (b"parquet-rs version 55.1.0", True),
        (b"parquet-cpp-arrow version 8.0.0", True),
    ],
)
def test_early_parquet_rs_compared_unsigned_as_signed(
    created_by: bytes, *, is_believed: bool
) -> None:
    (found,) = decoded(UNSIGNED, (q(1), q(2)), created_by=created_by)
    assert (found is not None) is is_believed
    assert decoded(SIGNED, (q(1), q(2)), created_by=created_by) == [(1, 2)]


def test_statistics_of_dictionary_arrays_by_early_pyarrow() -> None:
    """Those of pyarrow 6 to 10 are of the first batch; before 6 they count no null."""
    versions = {
        b"parquet-cpp version 1.5.1-SNAPSHOT": (True, False),
        b"parquet-cpp-arrow version 5.0.0": (True, False),
        b"parquet-cpp-arrow version 6.0.1": (False, False),
        b"parquet-cpp-arrow version 10.0.1": (False, False),
        b"parquet-cpp-arrow version 11.0.0": (True, True),
        b"parquet-cpp-arrow version 26.0.0": (True, True),
        b"parquet-mr version 1.13.1 (build x)": (True, True),
    }
    for writer, (has_bounds, counts_nulls) in versions.items():
        (bounds,) = decoded(TEXT, (b"a", b"z"), created_by=writer)
        assert (writer, bounds is not None) == (writer, has_bounds)
        assert (writer, may_count_too_few_nulls(TEXT, writer)) == (writer, not counts_nulls)
        assert decoded(SIGNED, (q(1), q(2)), created_by=writer) == [(1, 2)]
        assert not may_count_too_few_nulls(SIGNED, writer)


def test_no_row_of_a_later_batch_is_lost(fixtures_dir: Path) -> None:
    path = fixtures_dir / "pyarrow" / "categories_by_version_10.parquet"
    conditions = {
        "id = 'a'": ["a"],
        "id > 'y'": ["z"],
        "id <> 'm'": ["a", "z"],
        "id IS NULL": [None],
        "plain = 'z'": ["z"],
    }
    rows = {
        condition: read_table(path, filters=condition)["id"].to_pylist() for condition in conditions
    }
    assert rows == conditions


@pytest.mark.parametrize(
    "leaf",
    [
        bare_leaf(T.INT96),
        bare_leaf(T.FIXED_LEN_BYTE_ARRAY, type_length=12, converted_type=21),  # INTERVAL
        bare_leaf(T.BYTE_ARRAY, logical_type=bytes.fromhex("0c200000")),  # of the future
    ],
)
def test_types_without_an_order_have_no_bounds(leaf: Leaf) -> None:
    assert decoded(leaf, (bytes(12), bytes(12)), NOTHING) == [None, None]


@given(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))))
def test_bounds_of_many_chunks(pairs: list[tuple[int, int]]) -> None:
    stored = [(q(low), q(high)) for low, high in pairs]
    assert decoded(SIGNED, *stored) == [pair if pair[0] <= pair[1] else None for pair in pairs]


@given(st.lists(st.tuples(st.binary(max_size=5), st.binary(max_size=5))))
def test_bounds_of_many_texts(pairs: list[tuple[bytes, bytes]]) -> None:
    assert decoded(TEXT, *pairs) == [pair if pair[0] <= pair[1] else None for pair in pairs]


def test_column_orders_are_read_leaf_by_leaf() -> None:
    unknown: Fields = plain((2, STRUCT, []))
    orders = encode(LIST, (STRUCT, [TYPE_ORDER, unknown, [], TYPE_ORDER]))
    assert type_ordered(orders) == (True, False, False, True)


@pytest.mark.parametrize(
    "data", [b"", encode(LIST, (I32, [1, 2])), encode(LIST, (BINARY, [b"x"])), b"\x1c\x15"]
)
def test_no_column_orders(data: bytes) -> None:
    assert not any(type_ordered(data))


def test_null_counts_that_are_absent_or_impossible() -> None:
    counts = np.array([ABSENT, -1, 0, 7, 10, 11, 2**62])
    found = null_counts(np.full(7, 10), counts)
    assert found.tolist() == [-1, -1, 0, 7, 10, -1, -1]


# ---------------------------------------------------------------- whole files


def file_of(statistics: Fields, *more: tuple[int, int, Any], num_values: int = 1) -> bytes:
    """A file of one optional INT64 column, with statistics in its one chunk."""
    metadata = [f for f in column_metadata() if f[0] != 5]
    metadata = sorted([*metadata, *plain((5, I64, num_values), (12, STRUCT, statistics))])
    footer = file_metadata([column_chunk(metadata)], *more)
    footer = footer.replace(b"\x15\x04\x25\x00\x18\x01x", b"\x15\x04\x25\x02\x18\x01x")
    return b"PAR1" + bytes(8) + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def is_possible(data: bytes, condition: str) -> bool:
    (found,) = probe(data, condition).files
    return found.surviving == (0,)


def test_the_file_s_fields_are_where_they_are_looked_for() -> None:
    fields = plain((1, BINARY, q(50)), (2, BINARY, q(-50)), (5, BINARY, q(9)), (6, BINARY, q(3)))
    both = file_of(fields)
    assert [is_possible(both, f"x = {n}") for n in (2, 3, 9, 10)] == [False, True, True, False]
    old = file_of(fields[:2])
    assert [is_possible(old, f"x = {n}") for n in (-51, -50, 50, 51)] == [False, True, True, False]


@pytest.mark.parametrize(
    ("null_count", "num_values", "nulls", "values"),
    [
        (None, 3, True, True),
        (0, 3, False, True),
        (1, 3, True, True),
        (3, 3, True, False),
        (4, 3, True, True),
        (-1, 3, True, True),
        (None, -1, True, True),
        (-1, -1, True, True),
        (0, 0, False, False),
    ],
)
def test_null_counts_decide_on_nulls_and_on_values(
    null_count: int | None, num_values: int, *, nulls: bool, values: bool
) -> None:
    statistics = plain() if null_count is None else plain((3, I64, null_count))
    data = file_of(statistics, num_values=num_values)
    assert is_possible(data, "x IS NULL") is nulls
    for condition in ("x IS NOT NULL", "x = 5", "x > 5"):
        assert is_possible(data, condition) is values
    assert is_possible(data, "x <> 5")


def test_required_columns_have_no_nulls() -> None:
    assert bare_leaf(T.INT64, repetition=Repetition.REQUIRED).repetitions == (0,)
    footer = file_metadata([column_chunk(column_metadata())])
    data = b"PAR1" + bytes(8) + footer + len(footer).to_bytes(4, "little") + b"PAR1"
    assert not is_possible(data, "x IS NULL")
    assert is_possible(data, "x IS NOT NULL")


@pytest.mark.parametrize("is_dictionary", [False, True])
@pytest.mark.parametrize("mask", [[False, False], [False, True], [True, True]])
@pytest.mark.parametrize("values", [["a", "a"], ["a", None]])
def test_nulls_of_the_fields_above_are_found(
    tmp_path: Path, values: list[str | None], mask: list[bool], *, is_dictionary: bool
) -> None:
    """They are not in pyarrow's `null_count` where the array is a dictionary."""
    texts = pa.array(values)
    below = texts.dictionary_encode() if is_dictionary else texts
    above = pa.StructArray.from_arrays([below], names=["text"], mask=pa.array(mask))
    path = tmp_path / "below.parquet"
    pq.write_table(pa.table({"above": above, "n": range(len(values))}), path)
    is_null = [value is None or hidden for value, hidden in zip(values, mask, strict=True)]
    expected = [n for n, found in enumerate(is_null) if found]
    assert read_table(path, filters="above.text IS NULL")["n"].to_pylist() == expected
