"""Literals against columns of every type: found where they are stored, else clearly so or not."""

from __future__ import annotations

import datetime as dt
import io
import math
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter.metadata import PhysicalType
from parquet_bloomwriter.predicate.bind import Domains, bind
from parquet_bloomwriter.predicate.bound import AlwaysFalse, InSet, Unknown
from parquet_bloomwriter.predicate.expression import Comparison, Instant, IsIn, TimeOfDay
from tests.support.binding import bare_leaf, leaf_of, leaves_in, written
from tests.support.plain import leaf_arrays, plain_values

if TYPE_CHECKING:
    from pathlib import Path

    from parquet_bloomwriter.metadata import Leaf
    from parquet_bloomwriter.predicate.bound import Bound

D = Decimal
T = PhysicalType
ID = UUID("00112233-4455-6677-8899-aabbccddeeff")
DAY = dt.date(2024, 1, 31)
BEFORE = dt.date(1901, 2, 3)
CLOCK = dt.time(10, 20, 30, 123_000)
WHEN = dt.datetime.combine(DAY, CLOCK)
EARLY = dt.datetime.combine(BEFORE, CLOCK)
WHEN_UTC = WHEN.replace(tzinfo=dt.UTC)
IN_TOKYO = WHEN_UTC.astimezone(dt.timezone(dt.timedelta(hours=9)))
NANOS = (WHEN_UTC - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1) * 1000
FINE = pa.scalar(NANOS + 7, pa.timestamp("ns"))
FINE_UTC = pa.scalar(NANOS + 7, pa.timestamp("ns", "UTC"))
NAIVE = [
    WHEN,
    "2024-01-31 10:20:30.123",
    "2024-01-31T10:20:30.123000",
    Instant(NANOS, is_zoned=False),
]
ZONED = [
    WHEN_UTC,
    IN_TOKYO,
    "2024-01-31 10:20:30.123Z",
    "2024-01-31T19:20:30.123+09:00",
    Instant(NANOS, is_zoned=True),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A type, and the literals that mean each of some values."""

    kind: pa.DataType
    forms: tuple[tuple[Any, tuple[Any, ...]], ...]
    """Stored value, literals."""

    options: tuple[tuple[str, Any], ...] = ()
    """For pyarrow's writer."""


def case(kind: pa.DataType, *forms: tuple[Any, Any], **options: Any) -> Case:  # noqa: ANN401  pyarrow's own options
    return Case(
        kind=kind,
        forms=tuple((value, tuple(literals)) for value, literals in forms),
        options=tuple(options.items()),
    )


DECIMALS = (
    (D("1.23"), [D("1.23"), D("1.230"), "1.23"]),
    (D("-5.00"), [-5, D(-5), D("-5.0"), -5.0, "-5"]),
    (D("0.00"), [0, D("-0.0"), 0.0, "0.00"]),
)
WIDE_DECIMALS = (
    (D("1.23"), [D("1.23"), D("1.2300")]),
    (D("-5.00"), [-5, D("-5.00")]),
    (D("12345678901234567890.00"), [12345678901234567890, D(12345678901234567890)]),
)
CASES = [
    case(pa.int8(), (-128, [-128, -128.0, D(-128), "-128"]), (127, [127, D("127.0")])),
    case(pa.int16(), (-300, [-300]), (300, [300, 300.0])),
    case(pa.int32(), (-(2**31), [-(2**31), float(-(2**31))]), (0, [0, -0.0, D("-0"), "0"])),
    case(pa.int64(), (2**63 - 1, [2**63 - 1, str(2**63 - 1)]), (42, [42, 42.0, D("42.00"), "42"])),
    case(pa.uint8(), (255, [255, 255.0, "255"])),
    case(pa.uint16(), (65535, [65535])),
    case(pa.uint32(), (2**32 - 1, [2**32 - 1, float(2**32 - 1)])),
    case(pa.uint64(), (2**64 - 1, [2**64 - 1, str(2**64 - 1)]), (1, [1, 1.0])),
    case(
        pa.float16(),
        (np.float16(1.5), [1.5, D("1.5")]),
        (np.float16(-0.0), [0, 0.0, -0.0]),
        (np.float16(0.1), [0.1, D("0.1"), float(np.float16(0.1))]),
    ),
    case(
        pa.float32(),
        (1.5, [1.5, D("1.5")]),
        (-0.0, [0, 0.0, -0.0, D(0)]),
        (0.0, [0, 0.0, -0.0, D("-0.0")]),
        (0.1, [0.1, D("0.1"), float(np.float32(0.1))]),
        (52.520008, [52.520008, D("52.520008")]),
        (math.inf, [math.inf, 1e40]),
        (-(2.0**24), [-(2**24), -(2**24) - 1]),
    ),
    case(
        pa.float64(),
        (0.1, [0.1, D("0.1"), D("0.10")]),
        (-0.0, [0, 0.0, -0.0]),
        (-math.inf, [-math.inf]),
        (2.0**53 - 1, [2**53 - 1]),
    ),
    case(pa.string(), ("Łódź", ["Łódź"]), ("", [""]), ("\\x41", ["\\x41"])),
    case(pa.large_string(), ("a", ["a"])),
    case(pa.binary(), (b"\x00\xff", [b"\x00\xff"]), (b"abc", [b"abc", "abc"])),
    case(pa.binary(3), (b"a\x00\xff", [b"a\x00\xff"]), (b"abc", [b"abc", "abc"])),
    case(
        pa.uuid(),
        (ID.bytes, [ID, str(ID), str(ID).upper(), ID.hex, f"{{{ID}}}", ID.bytes]),
    ),
    case(
        pa.date32(),
        (DAY, [DAY, "2024-01-31", dt.datetime.combine(DAY, dt.time()), "2024-01-31 00:00:00"]),
        (BEFORE, [BEFORE, "1901-02-03", "1901-02-03 23:00:00"]),
    ),
    case(pa.time32("ms"), (CLOCK, [CLOCK, "10:20:30.123", TimeOfDay(37_230_123_000_000)])),
    case(pa.time64("us"), (CLOCK, [CLOCK, "10:20:30.123000"])),
    case(pa.time64("us"), (CLOCK, [CLOCK, "10:20:30.123"]), write_time_adjusted_to_utc=True),
    case(pa.time64("ns"), (pa.scalar(7, pa.time64("ns")), [TimeOfDay(7), "00:00:00.000000007"])),
    case(pa.timestamp("ms"), (WHEN, NAIVE), (EARLY, [EARLY, "1901-02-03 10:20:30.1230001"])),
    case(
        pa.timestamp("us"),
        (WHEN, [*NAIVE, "2024-01-31 10:20:30.123000999"]),
        (dt.datetime.combine(DAY, dt.time()), [DAY, "2024-01-31"]),
    ),
    case(
        pa.timestamp("ns"),
        (WHEN, NAIVE),
        (FINE, [Instant(NANOS + 7, is_zoned=False), "2024-01-31 10:20:30.123000007"]),
    ),
    case(pa.timestamp("ms", "UTC"), (WHEN_UTC, ZONED)),
    case(pa.timestamp("us", "Asia/Tokyo"), (WHEN_UTC, ZONED)),
    case(
        pa.timestamp("ns", "UTC"),
        (WHEN_UTC, ZONED),
        (FINE_UTC, ["2024-01-31 10:20:30.123000007Z"]),
    ),
    case(
        pa.timestamp("ns"),
        (WHEN, ZONED),
        (FINE, [*ZONED, "2024-01-31 10:20:30.123000009Z"]),
        use_deprecated_int96_timestamps=True,
    ),
    case(pa.decimal128(9, 2), *DECIMALS),
    case(pa.decimal128(9, 2), *DECIMALS, store_decimal_as_integer=True),
    case(pa.decimal128(15, 2), *DECIMALS, store_decimal_as_integer=True),
    case(pa.decimal128(15, 2), *DECIMALS),
    case(pa.decimal128(38, 2), *WIDE_DECIMALS),
    case(pa.decimal256(76, 2), *WIDE_DECIMALS),
    case(pa.decimal128(38, 18), (D("1.500000000000000000"), [D("1.5")]), (D("0.1"), [D("0.1")])),
]


def equal_to(leaf: Leaf, literal: Any) -> Bound:  # noqa: ANN401  any literal
    return bind(Comparison(leaf.name, "=", literal), Domains.of([leaf]))


def stored_in(file: bytes) -> list[bytes]:
    """PLAIN bytes of the first column's values."""
    (array,) = leaf_arrays(pq.read_table(io.BytesIO(file)).column(0).combine_chunks())
    values = plain_values(array, pq.ParquetFile(io.BytesIO(file)).schema.column(0))
    assert values is not None
    return values


@pytest.mark.parametrize(
    "case", CASES, ids=[f"{one.kind} {dict(one.options) or ''}" for one in CASES]
)
def test_every_form_of_a_literal_finds_the_stored_value(case: Case) -> None:
    values = [getattr(value, "value", value) for value, _ in case.forms]
    file = written(pa.table({"x": pa.array(values, case.kind)}), **dict(case.options))
    (leaf,) = leaves_in(file)
    for plain, (value, literals) in zip(stored_in(file), case.forms, strict=True):
        for literal in literals:
            for bound in (equal_to(leaf, literal), bind(IsIn("x", (literal,)), Domains.of([leaf]))):
                assert isinstance(bound, InSet), (value, literal, bound)
                assert bound.plains is not None
                assert plain in {way for ways in bound.plains for way in ways}, (value, literal)


@pytest.mark.parametrize(
    ("sql", "literals"),
    [
        ("5::UTINYINT", [5]),
        ("18446744073709551615::UBIGINT", [2**64 - 1]),
        ("'00112233-4455-6677-8899-aabbccddeeff'::UUID", [ID]),
        ("'[1]'::JSON", ["[1]"]),
        ("'b'::ENUM('a', 'b')", ["b"]),
        ("TIMESTAMPTZ '2024-01-31 10:20:30.123+00'", ZONED),
        ("TIMESTAMP_S '2024-01-31 10:20:30'", [WHEN.replace(microsecond=0)]),
        ("TIMESTAMP_MS '2024-01-31 10:20:30.123'", NAIVE),
        ("TIMESTAMP_NS '2024-01-31 10:20:30.123'", NAIVE),
        ("TIMETZ '10:20:30.123+00'", [CLOCK]),
        ("1.5::DECIMAL(4, 1)", [D("1.5")]),
        ("1.5::DECIMAL(18, 1)", [D("1.5")]),
        ("1.5::DECIMAL(38, 1)", [D("1.5")]),
        ("7::HUGEINT", [7]),
    ],
)
def test_values_as_duckdb_stores_them(sql: str, literals: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "one.parquet"
    duckdb.sql(f"COPY (SELECT {sql} AS x) TO '{path}' (FORMAT parquet)")
    file = path.read_bytes()
    (leaf,) = leaves_in(file)
    for literal in literals:
        bound = equal_to(leaf, literal)
        assert isinstance(bound, InSet)
        assert bound.plains is not None
        assert stored_in(file)[0] in {way for ways in bound.plains for way in ways}


@pytest.mark.parametrize(
    ("leaf", "literal", "plains"),
    [
        (leaf_of(pa.int8()), -1, {b"\xff\xff\xff\xff"}),
        (leaf_of(pa.uint32()), 2**32 - 1, {b"\xff\xff\xff\xff"}),
        (leaf_of(pa.float64()), 0, {bytes(8), bytes(7) + b"\x80"}),
        (leaf_of(pa.float32()), 0.1, {b"\xcd\xcc\xcc\x3d"}),
        (leaf_of(pa.decimal128(9, 2)), D("-0.01"), {b"\xff\xff\xff\xff"}),
        (leaf_of(pa.string()), "ü", {b"\xc3\xbc"}),
    ],
)
def test_plain_bytes_are_no_others(leaf: Leaf, literal: Any, plains: set[bytes]) -> None:  # noqa: ANN401  any literal
    bound = equal_to(leaf, literal)
    assert isinstance(bound, InSet)
    assert bound.plains is not None
    assert {way for ways in bound.plains for way in ways} == plains


def test_int96_is_the_nanoseconds_of_a_microsecond_and_without_order() -> None:
    leaf = bare_leaf(T.INT96)
    bound = equal_to(leaf, dt.datetime(1970, 1, 2, 0, 0, 0, 1, tzinfo=dt.UTC))
    assert isinstance(bound, InSet)
    assert bound.keys is None
    assert bound.plains is not None
    stored = [way for (way,) in bound.plains]
    assert stored == [
        (1000 + i).to_bytes(8, "little") + (2_440_589).to_bytes(4, "little") for i in range(1000)
    ]


def test_decimals_as_byte_arrays_have_keys_but_no_bytes() -> None:
    leaf = bare_leaf(T.BYTE_ARRAY, converted_type=5, precision=20, scale=2)
    bound = equal_to(leaf, D("1.23"))
    assert isinstance(bound, InSet)
    assert (bound.keys, bound.plains) == ((123,), None)


def test_half_precision_may_be_rounded_twice() -> None:
    """To FLOAT and then to FLOAT16, a little more than half way up becomes half way, and even."""
    bound = equal_to(leaf_of(pa.float16()), 1 + 2**-11 + 2**-40)
    assert isinstance(bound, InSet)
    assert bound.keys == (1.0, 1 + 2**-10)


def test_long_decimals_among_floats_may_be_neighbours() -> None:
    """DuckDB divides two numbers that are rounded themselves."""
    near = np.float32(0.123456789)
    up, down = np.nextafter(near, np.float32(1)), np.nextafter(near, np.float32(0))
    bound = equal_to(leaf_of(pa.float32()), D("0.123456789"))
    assert isinstance(bound, InSet)
    assert bound.keys is not None
    assert bound.keys[1:4] == (float(down), float(near), float(up))
    assert len(bound.keys) == 5
    for text, is_exact in (("1677721.5", True), ("1677721.6", False)):  # 2**24 tenths are too many
        bound = equal_to(leaf_of(pa.float32()), D(text))
        assert isinstance(bound, InSet)
        assert (text, len(bound.keys or ()) <= 2) == (text, is_exact)


def test_a_literal_that_spark_cuts_is_either_neighbour() -> None:
    bound = equal_to(leaf_of(pa.decimal128(38, 2)), D("-1.234"))
    assert isinstance(bound, InSet)
    assert bound.keys == (-124, -123)


def test_booleans_have_keys_but_no_bytes() -> None:
    bounds = [equal_to(leaf_of(pa.bool_()), value) for value in (False, True)]
    assert [(one.keys, one.plains) for one in bounds if isinstance(one, InSet)] == [
        ((0,), None),
        ((1,), None),
    ]


BYTE_DECIMAL = bare_leaf(T.FIXED_LEN_BYTE_ARRAY, type_length=1, converted_type=5, precision=9)


UUID_AS_TEXT = (
    "the column's values are 16 bytes without the type UUID, and the literal is the text of a "
    "UUID; to look for these bytes, write x = X'5bc8fbbcbde5c0994164d8399f767c45'"
)


@pytest.mark.parametrize(
    ("leaf", "literal", "reason"),
    [
        (leaf_of(pa.int8()), 300, "the column holds -128 to 127"),
        (leaf_of(pa.int8()), "300", "the column holds -128 to 127"),
        (leaf_of(pa.uint8()), -1, "the column holds 0 to 255"),
        (leaf_of(pa.int32()), 2**31, f"the column holds {-(2**31)} to {2**31 - 1}"),
        (leaf_of(pa.int32()), 1e10, f"the column holds {-(2**31)} to {2**31 - 1}"),
        (leaf_of(pa.int64()), 2**70, f"the column holds {-(2**63)} to {2**63 - 1}"),
        (leaf_of(pa.uint64()), -5000, f"the column holds 0 to {2**64 - 1}"),
        (leaf_of(pa.int32()), 5.5, "5.5 is no integer"),
        (leaf_of(pa.int64()), D("-0.1"), "-0.1 is no integer"),
        (leaf_of(pa.decimal128(9, 2)), D("1.234"), "the column has 2 decimal places"),
        (leaf_of(pa.decimal128(9, 2)), 99_999_999, "the column has 9 digits"),
        (BYTE_DECIMAL, 200, "the column has 9 digits"),
        (leaf_of(pa.binary(3)), b"ab", "the column's values have 3 bytes, the literal 2"),
        (leaf_of(pa.binary(3)), "abcd", "the column's values have 3 bytes, the literal 4"),
        (
            leaf_of(pa.binary(16)),
            "{5bc8fbbc-bde5-c099-4164-d8399f767c45}",
            UUID_AS_TEXT,
        ),
        (leaf_of(pa.uuid()), b"ab", "the column's values have 16 bytes, the literal 2"),
        (leaf_of(pa.int64()), None, "nothing equals null, nor is it less or greater"),
    ],
)
def test_what_no_column_of_the_type_holds(leaf: Leaf, literal: Any, reason: str) -> None:  # noqa: ANN401  any literal
    bound = equal_to(leaf, literal)
    assert isinstance(bound, AlwaysFalse)
    assert (bound.reason, bound.column) == (reason, "x")


INTERVAL = bare_leaf(T.FIXED_LEN_BYTE_ARRAY, type_length=12, converted_type=21)


@pytest.mark.parametrize(
    ("leaf", "literal", "reason"),
    [
        (leaf_of(pa.int64()), 2.0**53, "floating-point"),
        (leaf_of(pa.int64()), D(2**53), "floating-point"),
        (leaf_of(pa.int64()), 2**63, "floating-point"),
        (leaf_of(pa.uint64()), 2**64, "floating-point"),
        (leaf_of(pa.int64()), math.inf, "infinite"),
        (leaf_of(pa.int32()), math.nan, "NaN"),
        (leaf_of(pa.int32()), D("1e999999"), "infinite"),
        (leaf_of(pa.int32()), D("NaN"), "NaN"),
        (leaf_of(pa.int64()), True, "booleans"),
        (leaf_of(pa.int64()), "42.0", "texts"),
        (leaf_of(pa.int64()), " 42", "texts"),
        (leaf_of(pa.int64()), "0x2a", "texts"),
        (leaf_of(pa.int64()), "4٢", "texts"),
        (leaf_of(pa.int64()), DAY, "none"),
        (leaf_of(pa.float64()), 2**53, "floating-point"),
        (leaf_of(pa.float64()), math.nan, "NaN"),
        (leaf_of(pa.float64()), D("sNaN"), "NaN"),
        (leaf_of(pa.float64()), D("Infinity"), "infinite"),
        (leaf_of(pa.float64()), D("0.12345678901234567890"), "floating-point"),
        (leaf_of(pa.float64()), D("1e30"), "floating-point"),
        (leaf_of(pa.float64()), "0.5", "texts"),
        (leaf_of(pa.float64()), False, "booleans"),
        (leaf_of(pa.float64()), b"", "none"),
        (leaf_of(pa.decimal128(9, 2)), 1.5, "floating-point"),
        (leaf_of(pa.decimal128(38, 2)), 5.0, "floating-point"),
        (leaf_of(pa.decimal128(38, 2)), D("12345678901234567.89"), "15 digits"),
        (leaf_of(pa.decimal128(38, 15)), D("1.2345678901234567"), "15 digits"),
        (leaf_of(pa.decimal128(38, 20)), 10**18, "floating-point"),
        (leaf_of(pa.decimal128(38, 18)), D("123456789.123"), "15 digits"),
        (leaf_of(pa.decimal128(9, 2)), "1.234", "texts"),
        (leaf_of(pa.decimal128(38, 2)), "1.23", "texts"),
        (leaf_of(pa.decimal128(9, 2)), True, "booleans"),
        (leaf_of(pa.decimal128(9, 2)), math.inf, "infinite"),
        (leaf_of(pa.decimal128(9, 2)), ID, "none"),
        (leaf_of(pa.string()), 5, "other types"),
        (leaf_of(pa.string()), b"a", "escaped"),
        (leaf_of(pa.string()), "\ud800", "Unicode"),
        (leaf_of(pa.binary()), "\ud800", "Unicode"),
        (leaf_of(pa.binary()), "\\x41", "escaped"),
        (leaf_of(pa.binary()), "0x41", "escaped"),
        (leaf_of(pa.binary()), 5, "others"),
        (leaf_of(pa.binary(16)), ID, "others"),
        (leaf_of(pa.uuid()), "00112233", "spelled"),
        (leaf_of(pa.uuid()), 5, "spelled"),
        (leaf_of(pa.bool_()), 1, "booleans"),
        (leaf_of(pa.bool_()), "true", "booleans"),
        (leaf_of(pa.date32()), "2024-1-31", "texts"),
        (leaf_of(pa.date32()), "2024-02-30", "texts"),
        (leaf_of(pa.date32()), WHEN_UTC, "has a time zone"),
        (leaf_of(pa.date32()), 19_000, "none"),
        (leaf_of(pa.timestamp("us")), WHEN_UTC, "has a time zone"),
        (leaf_of(pa.timestamp("us")), "2024-01-31 00:00:00Z", "has a time zone"),
        (leaf_of(pa.timestamp("us", "UTC")), WHEN, "no time zone"),
        (leaf_of(pa.timestamp("us", "UTC")), "2024-01-31 00:00:00", "no time zone"),
        (leaf_of(pa.timestamp("us", "UTC")), DAY, "no time zone"),
        (leaf_of(pa.timestamp("us")), "yesterday", "texts"),
        (leaf_of(pa.timestamp("ns")), "9999-12-31", "beyond"),
        (leaf_of(pa.timestamp("us")), 0, "none"),
        (leaf_of(pa.date32()), Instant(10**27, is_zoned=False), "beyond"),
        (leaf_of(pa.timestamp("ns")), Instant(-(2**63), is_zoned=False), "beyond"),
        (leaf_of(pa.time64("ns")), TimeOfDay(10**30), "beyond"),
        (leaf_of(pa.time64("us")), CLOCK.replace(tzinfo=dt.UTC), "has a time zone"),
        (leaf_of(pa.time64("us")), "10 o'clock", "texts"),
        (leaf_of(pa.time64("us")), 5, "none"),
        (bare_leaf(T.INT96), WHEN, "no time zone"),
        (bare_leaf(T.INT96), "noon", "texts"),
        (bare_leaf(T.INT96), Instant(-(10**24), is_zoned=True), "beyond"),
        (INTERVAL, b"\x00" * 12, "no equality is known"),
        (leaf_of(pa.null()), 5, "no equality is known"),
    ],
)
def test_where_readers_differ_nothing_is_said(leaf: Leaf, literal: Any, reason: str) -> None:  # noqa: ANN401  any literal
    for bound in (equal_to(leaf, literal), bind(IsIn("x", (literal,)), Domains.of([leaf]))):
        assert isinstance(bound, Unknown)
        assert reason in bound.reason
        assert bound.column == "x"


@pytest.mark.parametrize(("literal", "key"), [("127.5", 127), ("-127.5", -127)])
def test_of_two_neighbours_only_the_one_that_fits_the_column_is_a_key(
    literal: str, key: int
) -> None:
    """A decimal of so many digits that Spark cuts the literal's, in one byte."""
    leaf = bare_leaf(T.FIXED_LEN_BYTE_ARRAY, type_length=1, converted_type=5, precision=38)
    bound = equal_to(leaf, D(literal))
    assert isinstance(bound, InSet)
    assert bound.keys == (key,)
    assert bound.plains == ((key.to_bytes(1, "big", signed=True),),)
