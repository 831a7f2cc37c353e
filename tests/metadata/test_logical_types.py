"""Logical and converted types of leaf columns."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_bloomwriter.metadata import PhysicalType
from parquet_bloomwriter.metadata.logical_types import ColumnType, Kind, type_name, type_of
from tests.support.binding import bare_leaf, leaf_of

T = PhysicalType
MS, US, NS = 1_000_000, 1_000, 1


def integer(bits: int, *, is_signed: bool = True) -> ColumnType:
    return ColumnType(kind=Kind.INTEGER, bits=bits, is_signed=is_signed)


def time(unit: int, *, is_adjusted: bool) -> ColumnType:
    return ColumnType(kind=Kind.TIME, unit=unit, is_adjusted=is_adjusted)


def timestamp(unit: int, *, is_adjusted: bool) -> ColumnType:
    return ColumnType(kind=Kind.TIMESTAMP, unit=unit, is_adjusted=is_adjusted)


def decimal(precision: int, scale: int) -> ColumnType:
    return ColumnType(kind=Kind.DECIMAL, precision=precision, scale=scale)


WRITTEN = [
    (pa.bool_(), ColumnType(kind=Kind.BOOLEAN)),
    (pa.int8(), integer(8)),
    (pa.int16(), integer(16)),
    (pa.int32(), integer(32)),
    (pa.int64(), integer(64)),
    (pa.uint8(), integer(8, is_signed=False)),
    (pa.uint16(), integer(16, is_signed=False)),
    (pa.uint32(), integer(32, is_signed=False)),
    (pa.uint64(), integer(64, is_signed=False)),
    (pa.float16(), ColumnType(kind=Kind.FLOATING, bits=16)),
    (pa.float32(), ColumnType(kind=Kind.FLOATING, bits=32)),
    (pa.float64(), ColumnType(kind=Kind.FLOATING, bits=64)),
    (pa.string(), ColumnType(kind=Kind.TEXT)),
    (pa.json_(), ColumnType(kind=Kind.TEXT)),
    (pa.binary(), ColumnType(kind=Kind.BINARY)),
    (pa.binary(5), ColumnType(kind=Kind.BINARY)),
    (pa.uuid(), ColumnType(kind=Kind.UUID)),
    (pa.date32(), ColumnType(kind=Kind.DATE)),
    (pa.time32("ms"), time(MS, is_adjusted=False)),
    (pa.time64("us"), time(US, is_adjusted=False)),
    (pa.time64("ns"), time(NS, is_adjusted=False)),
    (pa.timestamp("ms"), timestamp(MS, is_adjusted=False)),
    (pa.timestamp("us"), timestamp(US, is_adjusted=False)),
    (pa.timestamp("ns"), timestamp(NS, is_adjusted=False)),
    (pa.timestamp("ms", "UTC"), timestamp(MS, is_adjusted=True)),
    (pa.timestamp("us", "Asia/Tokyo"), timestamp(US, is_adjusted=True)),
    (pa.timestamp("ns", "UTC"), timestamp(NS, is_adjusted=True)),
    (pa.decimal128(9, 2), decimal(9, 2)),
    (pa.decimal128(38, 0), decimal(38, 0)),
    (pa.decimal256(76, 76), decimal(76, 76)),
    (pa.null(), ColumnType(kind=Kind.UNDEFINED)),
]


NAMES = [
    (pa.bool_(), "BOOLEAN"),
    (pa.int8(), "INT8"),
    (pa.int64(), "INT64"),
    (pa.uint32(), "UINT32"),
    (pa.float16(), "FLOAT16"),
    (pa.float32(), "FLOAT"),
    (pa.float64(), "DOUBLE"),
    (pa.string(), "STRING"),
    (pa.json_(), "JSON"),
    (pa.binary(), "BYTE_ARRAY"),
    (pa.binary(5), "FIXED_LEN_BYTE_ARRAY(5)"),
    (pa.uuid(), "UUID"),
    (pa.date32(), "DATE"),
    (pa.time32("ms"), "TIME(MILLIS)"),
    (pa.timestamp("us"), "TIMESTAMP(MICROS)"),
    (pa.timestamp("ns", "UTC"), "TIMESTAMP(NANOS,UTC)"),
    (pa.decimal128(9, 2), "DECIMAL(9,2)"),
    (pa.decimal256(76, 76), "DECIMAL(76,76)"),
    (pa.null(), "UNKNOWN"),
]


@pytest.mark.parametrize(("kind", "expected"), NAMES, ids=[name for _, name in NAMES])
def test_names_of_types(kind: pa.DataType, expected: str) -> None:
    assert type_name(leaf_of(kind)) == expected


@pytest.mark.parametrize(
    ("converted_type", "physical_type", "expected"),
    [
        (0, T.BYTE_ARRAY, "STRING"),
        (0, T.INT64, "INT64"),
        (4, T.BYTE_ARRAY, "ENUM"),
        (20, T.BYTE_ARRAY, "BSON"),
        (10, T.INT64, "TIMESTAMP(MICROS,UTC)"),
        (13, T.INT32, "UINT32"),
        (3, T.INT32, "INT32"),
        (99, T.INT32, "INT32"),
        (None, T.INT96, "INT96"),
    ],
)
def test_names_of_converted_types(
    converted_type: int | None, physical_type: PhysicalType, expected: str
) -> None:
    leaf = replace(bare_leaf(physical_type), converted_type=converted_type)
    assert type_name(leaf) == expected


def test_names_of_types_that_do_not_fit() -> None:
    interval = replace(bare_leaf(T.FIXED_LEN_BYTE_ARRAY), type_length=12, converted_type=21)
    assert type_name(interval) == "INTERVAL"
    assert type_name(replace(leaf_of(pa.string()), physical_type=T.INT32)) == "INT32"
    assert type_name(replace(leaf_of(pa.string()), logical_type=b"\xff")) == "BYTE_ARRAY"


@pytest.mark.parametrize(("kind", "expected"), WRITTEN, ids=[str(kind) for kind, _ in WRITTEN])
def test_types_as_pyarrow_writes_them(kind: pa.DataType, expected: ColumnType) -> None:
    assert type_of(leaf_of(kind)) == expected


@pytest.mark.parametrize("precision", [9, 18, 19])
def test_decimals_of_every_physical_type(precision: int) -> None:
    leaf = leaf_of(pa.decimal128(precision, 2), store_decimal_as_integer=True)
    assert type_of(leaf) == decimal(precision, 2)
    assert type_of(replace(leaf, physical_type=T.BYTE_ARRAY)) == decimal(precision, 2)


def test_times_of_utc() -> None:
    leaf = leaf_of(pa.time64("us"), write_time_adjusted_to_utc=True)
    assert type_of(leaf) == time(US, is_adjusted=True)


@pytest.mark.parametrize(
    ("converted_type", "physical_type", "expected"),
    [
        (0, T.BYTE_ARRAY, ColumnType(kind=Kind.TEXT)),  # UTF8
        (4, T.BYTE_ARRAY, ColumnType(kind=Kind.TEXT)),  # ENUM
        (6, T.INT32, ColumnType(kind=Kind.DATE)),
        (7, T.INT32, time(MS, is_adjusted=True)),
        (8, T.INT64, time(US, is_adjusted=True)),
        (9, T.INT64, timestamp(MS, is_adjusted=True)),
        (10, T.INT64, timestamp(US, is_adjusted=True)),
        (11, T.INT32, integer(8, is_signed=False)),
        (12, T.INT32, integer(16, is_signed=False)),
        (13, T.INT32, integer(32, is_signed=False)),
        (14, T.INT64, integer(64, is_signed=False)),
        (15, T.INT32, integer(8)),
        (16, T.INT32, integer(16)),
        (17, T.INT32, integer(32)),
        (18, T.INT64, integer(64)),
        (19, T.BYTE_ARRAY, ColumnType(kind=Kind.TEXT)),  # JSON
        (20, T.BYTE_ARRAY, ColumnType(kind=Kind.BINARY)),  # BSON
        (None, T.INT96, ColumnType(kind=Kind.INT96)),
    ],
)
def test_converted_types(
    converted_type: int | None, physical_type: PhysicalType, expected: ColumnType
) -> None:
    assert type_of(bare_leaf(physical_type, converted_type=converted_type)) == expected


def test_field_ids_may_be_written_out() -> None:
    """TIMESTAMP, in which `unit` comes with its id instead of the difference to the last one."""
    leaf = bare_leaf(T.INT64, logical_type=bytes.fromhex("8c110c042c00000000"))
    assert type_of(leaf) == timestamp(US, is_adjusted=True)


def test_a_decimal_by_its_converted_type() -> None:
    leaf = bare_leaf(T.INT32, converted_type=5, scale=2, precision=7)
    assert type_of(leaf) == decimal(7, 2)


UNIT_UNKNOWN = bytes.fromhex("8c111c4c00000000")
"""TIMESTAMP in the fourth unit, which parquet.thrift does not have."""


@pytest.mark.parametrize(
    "leaf",
    [
        bare_leaf(T.FIXED_LEN_BYTE_ARRAY, type_length=12, converted_type=21),  # INTERVAL
        bare_leaf(T.BYTE_ARRAY, converted_type=1),  # MAP
        bare_leaf(T.BYTE_ARRAY, converted_type=99),
        bare_leaf(T.INT64, converted_type=0),  # UTF8
        bare_leaf(T.INT32, converted_type=18),  # INT_64
        bare_leaf(T.INT32, converted_type=9),  # TIMESTAMP_MILLIS
        bare_leaf(T.INT32, converted_type=5),  # DECIMAL without precision
        bare_leaf(T.INT32, converted_type=5, precision=2, scale=3),
        bare_leaf(T.DOUBLE, converted_type=5, precision=2, scale=1),
        bare_leaf(T.FIXED_LEN_BYTE_ARRAY),
        bare_leaf(T.FIXED_LEN_BYTE_ARRAY, type_length=15, logical_type=b"\xec\x00\x00"),  # UUID
        bare_leaf(T.FIXED_LEN_BYTE_ARRAY, type_length=4, logical_type=b"\xfc\x00\x00"),  # FLOAT16
        bare_leaf(T.BYTE_ARRAY, logical_type=b"\x0c\x20\x00\x00"),  # VARIANT
        bare_leaf(T.BYTE_ARRAY, logical_type=b"\x0c\x22\x00\x00"),  # GEOMETRY
        bare_leaf(T.BYTE_ARRAY, logical_type=b"\x0c\x28\x00\x00"),  # 20: unknown
        bare_leaf(T.INT64, converted_type=9, logical_type=UNIT_UNKNOWN),
        bare_leaf(T.INT32, logical_type=bytes.fromhex("5c150115120000")),  # DECIMAL of scale -1
        bare_leaf(T.INT32, logical_type=bytes.fromhex("ac1318110000")),  # INTEGER of 24 bits
        bare_leaf(T.INT64, logical_type=bytes.fromhex("8c111c2c000c02000000")),  # two units
        bare_leaf(T.INT32, logical_type=bytes.fromhex("ac132000")),  # INTEGER that is cut short
    ],
)
def test_what_is_not_known_is_undefined(leaf: object) -> None:
    assert type_of(leaf) == ColumnType(kind=Kind.UNDEFINED)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("encoded", "member"),
    [
        ("", 0),
        ("00", 0),
        ("1c0000", 1),
        ("0c1c0000", 14),
        ("0c280000", 20),
        ("0c050000", -3),
        ("1c004c150215040000", -1),  # STRING and DECIMAL
        ("5c15", -1),  # cut short
    ],
)
def test_the_member_that_is_set(encoded: str, member: int) -> None:
    leaf = bare_leaf(T.BYTE_ARRAY, logical_type=bytes.fromhex(encoded))
    assert leaf.logical_type_id == member
    assert leaf.has_unknown_logical_type == (member not in range(19))


@given(st.sampled_from([kind for kind, _ in WRITTEN]), st.data())
def test_no_bytes_are_too_strange(kind: pa.DataType, data: st.DataObject) -> None:
    """What was cut short, or altered, has another type or none, and is no error."""
    leaf = leaf_of(kind)
    if leaf.logical_type:
        encoded = bytearray(leaf.logical_type)
        encoded[data.draw(st.integers(0, len(encoded) - 1))] = data.draw(st.integers(0, 255))
        encoded = encoded[: data.draw(st.integers(1, len(encoded)))]
        leaf = replace(leaf, logical_type=bytes(encoded))
    assert isinstance(type_of(leaf), ColumnType)
