"""The scanner finds what Thrift's own reader finds, and names what is wrong.

That kernel and reference agree on any bytes is shown in `tests/kernels/test_thrift.py`.
"""

from __future__ import annotations

import tracemalloc
from contextlib import contextmanager
from typing import TYPE_CHECKING
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parquet_bloomwriter import kernels
from parquet_bloomwriter.compact.scan import StructKind, StructSchema, Table, scan
from parquet_bloomwriter.errors import MalformedFile, UnsupportedFile
from parquet_bloomwriter.kernels import reference
from parquet_bloomwriter.kernels.layout import (
    ABSENT,
    BINARY,
    HEADER,
    I32,
    I64,
    LIST,
    START,
    STOP,
    STRUCT,
)
from parquet_bloomwriter.metadata.fields import FOOTER
from parquet_bloomwriter.metadata.footer import locate_footer, parse_footer
from tests.compact.structs import (
    DOUBLE,
    FALSE,
    GRAMMAR,
    ITEM,
    MAP,
    MARK,
    PART_UNKNOWN,
    ROOT,
    TRUE,
    UNKNOWN,
    UUID,
    Fields,
    Referee,
    encode_struct,
    structs,
    varint,
    zigzag,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOOPS = (False, True)


@contextmanager
def loop(*, compiled: bool) -> Iterator[None]:
    """Force one of the two kernels."""
    if compiled and not kernels.COMPILED:
        pytest.skip("the kernels are not compiled")
    with patch.object(kernels, "scan", kernels.scan if compiled else reference.scan):
        yield


def outcome(data: bytes, grammar: StructSchema, *, compiled: bool) -> tuple[object, ...]:
    """All that `scan` says: the whole table, or the problem and where it is."""
    with loop(compiled=compiled):
        try:
            table = scan(data, grammar)
        except MalformedFile as error:
            return error.problem, error.byte
    return table.stop, table.kinds.tolist(), table.values.tolist(), table.spans.tolist()


def agreed(data: bytes, grammar: StructSchema = GRAMMAR) -> tuple[object, ...]:
    plain, compiled = (outcome(data, grammar, compiled=compiled) for compiled in LOOPS)
    assert plain == compiled
    return plain


def found(table: Table) -> list[tuple[int, dict[int, tuple[int, ...]]]]:
    """Kind and filled slots of each row: slot -> integer, header, start, stop."""
    return [
        (
            int(kind),
            {
                slot: (int(value), *span.tolist())
                for slot, (value, span) in enumerate(zip(row, spans, strict=True))
                if span[HEADER] >= 0
            },
        )
        for kind, row, spans in zip(table.kinds, table.values, table.spans, strict=True)
    ]


# ---------------------------------------------------------------- written out by hand


def test_the_example_of_the_module_head() -> None:
    #       1: i32 -1 | 2: i64 300 | 3: "ab" | 4: list of 1 struct {1: i64 5} | stop
    data = bytes.fromhex("150116d80418026162191c160a0000")  # fmt: skip
    table = scan(data, GRAMMAR)
    root = {
        0: (ABSENT, 0, 0, 15),
        1: (-1, 0, 1, 2),
        2: (300, 2, 3, 5),
        3: (2, 5, 6, 9),
        4: (1, 9, 10, 14),
        MARK: (4, 14, -1, -1),
    }
    item = {0: (ABSENT, 11, 11, 14), 1: (5, 11, 12, 13)}
    assert found(table) == [(ROOT, root), (ITEM, item)]


@pytest.mark.parametrize("compiled", LOOPS)
def test_integers_of_64_bits(compiled: bool) -> None:  # noqa: FBT001  a parameter of the test
    for number in (-(2**63), 2**63 - 1, -(2**62), 2**62, -1, 0, 63, 64, -64, -65):
        data = b"\x26" + zigzag(number) + b"\x00"
        with loop(compiled=compiled):
            assert scan(data, GRAMMAR).values[0, 2] == number


WRONG = [
    (b"", "ends in the middle"),
    (b"\x15", "ends in the middle"),
    (b"\x16\x80", "ends in the middle"),
    (b"\x18\x05abc\x00", "ends in the middle"),
    *(
        (b"\x18" + varint(size) + b"\x00" * 20, "ends in the middle")
        for size in (21, 2**31, 2**62, 2**63 - 11, 2**63 - 10, 2**63 - 1, 2**63, 2**64 - 1)
    ),
    (bytes([0x70 | DOUBLE]) + b"1234567", "ends in the middle"),
    (bytes([0x70 | UUID]) + b"123456789012345", "ends in the middle"),
    (b"\x1e\x00", "does not exist"),
    (b"\x10\x00", "does not exist"),
    (b"\x19\x1f\x00\x00", "does not exist"),
    (b"\x15\x02\x05\x02\x04\x00", "same field twice"),
    (b"\x16" + b"\xff" * 10 + b"\x01\x00", "more than 64 bits"),
    (b"\x16" + b"\xff" * 9 + b"\x02\x00", "more than 64 bits"),
    (b"\x05\xff\xff\xff\x01\x00", "more than 64 bits"),
    (b"\x49\xfc" + varint(2**31) + b"\x00", "more elements"),
    (b"\x49\xfc" + varint(2**63 - 1) + b"\x00", "more elements"),
    (b"\x49\xf5" + varint(2**64 - 1) + b"\x00", "more elements"),
    *(
        (bytes([0x70 | MAP]) + varint(size) + b"\x55" + b"\x00" * 20, "more elements")
        for size in (11, 2**62, 2**63 - 1, 2**63, 2**63 + 1, 2**63 + 2**32, 2**64 - 1)
    ),
    (b"\x7c" * 70 + b"\x00" * 71, "nested too deeply"),
    (b"\x79" + b"\x19" * 70 + b"\x00" * 71, "nested too deeply"),
]


@pytest.mark.parametrize("compiled", LOOPS)
def test_what_is_wrong_is_named(compiled: bool) -> None:  # noqa: FBT001
    for data, problem in WRONG:
        with loop(compiled=compiled), pytest.raises(MalformedFile, match=problem):
            pytest.fail(f"{data!r}: {scan(data, GRAMMAR)}")


@pytest.mark.parametrize("compiled", LOOPS)
def test_nesting_up_to_the_limit(compiled: bool) -> None:  # noqa: FBT001
    data = b"\x7c" * 63 + b"\x00" * 64
    with loop(compiled=compiled):
        assert scan(data, GRAMMAR).stop == len(data)
        with pytest.raises(MalformedFile, match="nested"):
            scan(b"\x7c" * 64 + b"\x00" * 65, GRAMMAR)


@pytest.mark.parametrize("compiled", LOOPS)
@pytest.mark.parametrize("head", [b"\x49\xfc", b"\x79\xf1", bytes([0x70 | MAP])])
def test_claims_allocate_nothing(head: bytes, compiled: bool) -> None:  # noqa: FBT001
    data = head + varint(2**31 - 1) + b"\x00" * 100
    agreed(data)
    with loop(compiled=compiled):
        tracemalloc.start()
        try:
            with pytest.raises(MalformedFile):
                scan(data, GRAMMAR)
            assert tracemalloc.get_traced_memory()[1] < 256 * 1024
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("compiled", LOOPS)
def test_empty_structs_take_their_minimum(compiled: bool) -> None:  # noqa: FBT001
    #      schema: a list of 2000 SchemaElements of one byte each, then row groups: an empty list
    data = b"\x29\xfc" + varint(2000) + b"\x00" * 2000 + b"\x29\x0c\x00"
    with loop(compiled=compiled), pytest.raises(MalformedFile, match="too short"):
        scan(data, FOOTER)


ELEMENTS = StructSchema.of(
    {
        "Root": StructKind(
            slots={1: (1, LIST), 2: (2, I32)},
            ignored=(3,),
            elements={1: I32, 3: STRUCT},
        )
    }
)


@pytest.mark.parametrize(
    ("data", "is_right"),
    [
        (b"\x19\x15\x02\x00", True),
        (b"\x19\x16\x02\x00", True),  # all integers are alike
        (b"\x19\x14\x02\x00", True),
        (b"\x19\x08\x00", True),  # it has no elements
        (b"\x19\x18\x01\x00", False),
        (b"\x19\x13\x01\x00", False),  # a byte is no varint
        (b"\x19\xf8" + varint(15) + b"\x00" * 16, False),
        (b"\x1a\x18\x01a\x00", True),  # a set, and so another field
        (b"\x39\x1c\x00\x00", True),
        (b"\x39\x15\x02\x00", False),
        (b"\x39\x19\x15\x02\x00", False),
        (b"\x79\x18\x01a\x00", True),  # nobody knows this field
        (b"\x2c\x19\x18\x01a\x00\x00", True),  # nor this struct
    ],
)
def test_lists_have_elements_of_their_type(data: bytes, is_right: bool) -> None:  # noqa: FBT001
    result = agreed(data, ELEMENTS)
    expected = "the metadata has a list whose elements are of another type than Parquet's"
    assert (result[0] == len(data)) if is_right else (result == (expected, 1))


@pytest.mark.parametrize("compiled", LOOPS)
def test_tables_grow(compiled: bool) -> None:  # noqa: FBT001
    data = b"\x49\xfc" + varint(5000) + b"\x16\x02\x00" * 5000 + b"\x00"
    with loop(compiled=compiled):
        table = scan(data, GRAMMAR)
    assert len(table.kinds) == 5001
    assert (table.values[1:, 1] == 1).all()
    assert (np.diff(table.spans[1:, 0, START]) == 3).all()


def test_a_field_of_another_type_is_unknown() -> None:
    #               1: i64 instead of i32 | 4: set instead of list
    table = scan(bytes.fromhex("16023a1c16020000"), GRAMMAR)  # fmt: skip
    ((kind, slots),) = found(table)
    assert kind == ROOT
    assert slots[UNKNOWN][:2] == (1, 0)
    assert {1, 4}.isdisjoint(slots)


def test_unknown_fields_count_as_there() -> None:
    """The planner asks for them as it asks for any other field."""
    table = scan(b"\x08" + zigzag(32767) + b"\x03abc\x00", GRAMMAR)
    assert table.values[0, UNKNOWN] == 32767
    assert table.spans[0, UNKNOWN, START] == 4
    within = scan(b"\x5c\x36\x02\x00\x00", GRAMMAR)
    assert within.values[0, PART_UNKNOWN] == 3
    assert within.spans[0, PART_UNKNOWN, START] >= 0


# ---------------------------------------------------------------- against Thrift's own reader


@given(structs())
@settings(max_examples=50)
def test_thrift_s_reader_finds_the_same(fields: Fields) -> None:
    data = encode_struct(fields)
    referee = Referee(data)
    assert referee.stop == len(data)
    agreed(data)
    table = scan(data, GRAMMAR)
    assert table.stop == len(data)
    rows = [(row.kind, row.slots) for row in referee.rows]
    assert found(table) == rows


@given(structs(), st.binary(max_size=9), st.binary(max_size=9))
@settings(max_examples=25)
def test_positions_are_relative_to_the_data(fields: Fields, before: bytes, behind: bytes) -> None:
    data = encode_struct(fields)
    alone, within = scan(data, GRAMMAR), scan(before + data + behind, GRAMMAR, start=len(before))
    assert within.stop == alone.stop + len(before)
    assert np.array_equal(within.values, alone.values)
    moved = np.where(alone.spans >= 0, alone.spans + len(before), -1)
    assert np.array_equal(within.spans, moved)


# ---------------------------------------------------------------- broken bytes


@given(structs(3))
@settings(max_examples=10)
def test_both_loops_agree_on_every_truncation(fields: Fields) -> None:
    data = encode_struct(fields)
    for length in range(len(data)):
        problem, byte = agreed(data[:length])
        assert "ends in the middle" in str(problem) or "more elements" in str(problem)
        assert isinstance(byte, int)
        assert byte <= length


def footer_bytes(path: Path) -> bytes:
    file = path.read_bytes()
    start = locate_footer(file[:4], file[-8:], len(file))
    return file[start:-8]


REAL = ("pyarrow/bloom_page_index", "spark/bloom", "duckdb/types", "datafusion/nested")


@pytest.mark.parametrize("name", REAL)
def test_broken_footers_raise_nothing_else(fixtures_dir: Path, name: str) -> None:
    footer = footer_bytes(fixtures_dir / f"{name}.parquet")
    rng = np.random.default_rng(11)
    refused = 0
    with loop(compiled=True):
        for length in rng.integers(0, len(footer), 40).tolist():
            with pytest.raises(MalformedFile):
                parse_footer(footer[:length], start=4)
        for place in rng.integers(0, len(footer), 500).tolist():
            broken = bytearray(footer)
            broken[place] ^= 1 << int(rng.integers(0, 8))
            try:
                parse_footer(bytes(broken), start=4)
            except (MalformedFile, UnsupportedFile):
                refused += 1
    assert 0 < refused < 500


def test_wire_types_have_their_numbers() -> None:
    assert (I32, I64, BINARY, LIST, STRUCT, TRUE, FALSE) == (5, 6, 8, 9, 12, 1, 2)
    assert (HEADER, START, STOP) == (0, 1, 2)


@pytest.mark.parametrize("compiled", LOOPS)
def test_booleans(compiled: bool) -> None:  # noqa: FBT001  a parameter of the test
    """A field of booleans has one of two wire types, and no bytes of its own."""
    grammar = StructSchema.of(
        {"Root": StructKind(slots={1: (1, TRUE), 2: (2, TRUE)}, unknown_slot=3)}
    )
    with loop(compiled=compiled):
        table = scan(bytes.fromhex("111200"), grammar)
        other = scan(bytes.fromhex("150200"), grammar)
    assert found(table) == [(1, {0: (ABSENT, 0, 0, 3), 1: (1, 0, 1, 1), 2: (0, 1, 2, 2)})]
    assert found(other) == [(1, {0: (ABSENT, 0, 0, 3), 3: (1, 0, 1, -1)})]
