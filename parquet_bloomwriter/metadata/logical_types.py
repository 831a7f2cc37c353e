"""The meaning of a leaf column's values: its logical type, or the older converted type.

Where both types are given, the logical type counts. If it does not fit the physical type, or is not
known here, the kind is `Kind.UNDEFINED`, and nothing is concluded about the column's values.

Source: parquet.thrift, LogicalType and ConvertedType; LogicalTypes.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from parquet_bloomwriter.metadata.fields import LogicalTypeField
from parquet_bloomwriter.metadata.schema import (
    ConvertedType,
    LogicalType,
    PhysicalType,
    logical_type_fields,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parquet_bloomwriter.metadata import Leaf

_MILLIS, _MICROS = 1_000_000, 1000
_UNITS: Final = {
    LogicalTypeField.MILLIS: _MILLIS,
    LogicalTypeField.MICROS: _MICROS,
    LogicalTypeField.NANOS: 1,
}
"""Nanoseconds of one unit, by member of the union TimeUnit."""


class Kind(Enum):
    """Kinds of types whose values compare with literals in the same way."""

    INTEGER = auto()
    DECIMAL = auto()
    FLOATING = auto()
    BOOLEAN = auto()
    TEXT = auto()
    """The logical types STRING, ENUM and JSON."""
    BINARY = auto()
    """BYTE_ARRAY and FIXED_LEN_BYTE_ARRAY without a logical type, BSON."""
    UUID = auto()
    DATE = auto()
    TIME = auto()
    TIMESTAMP = auto()
    INT96 = auto()
    UNDEFINED = auto()
    """No equality of values is defined or known here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnType:
    """The type of the values of a column."""

    kind: Kind
    bits: int = 0
    """Width of INTEGER and FLOATING values, bits."""

    is_signed: bool = True
    """Whether INTEGER values are signed."""

    scale: int = 0
    """Digits of DECIMAL values after the point."""

    precision: int = 0
    """Digits of DECIMAL values in all."""

    unit: int = 1
    """Nanoseconds of one unit of TIME and TIMESTAMP values."""

    is_adjusted: bool = False
    """Whether TIME and TIMESTAMP values are in UTC, or else of a local clock."""


Types = dict[PhysicalType, ColumnType]

_UNDEFINED = ColumnType(kind=Kind.UNDEFINED)
_UNANNOTATED: Types = {
    PhysicalType.BOOLEAN: ColumnType(kind=Kind.BOOLEAN),
    PhysicalType.INT32: ColumnType(kind=Kind.INTEGER, bits=32),
    PhysicalType.INT64: ColumnType(kind=Kind.INTEGER, bits=64),
    PhysicalType.INT96: ColumnType(kind=Kind.INT96),
    PhysicalType.FLOAT: ColumnType(kind=Kind.FLOATING, bits=32),
    PhysicalType.DOUBLE: ColumnType(kind=Kind.FLOATING, bits=64),
    PhysicalType.BYTE_ARRAY: ColumnType(kind=Kind.BINARY),
    PhysicalType.FIXED_LEN_BYTE_ARRAY: ColumnType(kind=Kind.BINARY),
}
_TEXT: Types = {PhysicalType.BYTE_ARRAY: ColumnType(kind=Kind.TEXT)}
_BSON: Types = {PhysicalType.BYTE_ARRAY: ColumnType(kind=Kind.BINARY)}
_DATE: Types = {PhysicalType.INT32: ColumnType(kind=Kind.DATE)}


def _integer(bits: int, *, is_signed: bool) -> Types:
    if bits not in (8, 16, 32, 64):
        return {}
    stored = PhysicalType.INT64 if bits == 64 else PhysicalType.INT32  # noqa: PLR2004  bits
    return {stored: ColumnType(kind=Kind.INTEGER, bits=bits, is_signed=is_signed)}


def _time(unit: int, *, is_adjusted: bool) -> Types:
    stored = PhysicalType.INT32 if unit == _MILLIS else PhysicalType.INT64
    return {stored: ColumnType(kind=Kind.TIME, unit=unit, is_adjusted=is_adjusted)}


def _timestamp(unit: int, *, is_adjusted: bool) -> Types:
    return {PhysicalType.INT64: ColumnType(kind=Kind.TIMESTAMP, unit=unit, is_adjusted=is_adjusted)}


def _decimal(scale: int, precision: int) -> Types:
    if not 0 <= scale <= precision or not precision:
        return {}
    column_type = ColumnType(kind=Kind.DECIMAL, scale=scale, precision=precision)
    stored = (
        PhysicalType.INT32,
        PhysicalType.INT64,
        PhysicalType.BYTE_ARRAY,
        PhysicalType.FIXED_LEN_BYTE_ARRAY,
    )
    return dict.fromkeys(stored, column_type)


_CONVERTED: Final[dict[int, Types]] = {
    ConvertedType.UTF8: _TEXT,
    ConvertedType.ENUM: _TEXT,
    ConvertedType.DATE: _DATE,
    ConvertedType.TIME_MILLIS: _time(_MILLIS, is_adjusted=True),
    ConvertedType.TIME_MICROS: _time(_MICROS, is_adjusted=True),
    ConvertedType.TIMESTAMP_MILLIS: _timestamp(_MILLIS, is_adjusted=True),
    ConvertedType.TIMESTAMP_MICROS: _timestamp(_MICROS, is_adjusted=True),
    ConvertedType.UINT_8: _integer(8, is_signed=False),
    ConvertedType.UINT_16: _integer(16, is_signed=False),
    ConvertedType.UINT_32: _integer(32, is_signed=False),
    ConvertedType.UINT_64: _integer(64, is_signed=False),
    ConvertedType.INT_8: _integer(8, is_signed=True),
    ConvertedType.INT_16: _integer(16, is_signed=True),
    ConvertedType.INT_32: _integer(32, is_signed=True),
    ConvertedType.INT_64: _integer(64, is_signed=True),
    ConvertedType.JSON: _TEXT,
    ConvertedType.BSON: _BSON,
}
"""Column types by converted type and physical type. DECIMAL is missing because it has a scale and a
precision; of MAP, LIST and INTERVAL no equality is known here."""

_PLAIN_LOGICAL: Final[dict[int, Types]] = {
    LogicalType.STRING: _TEXT,
    LogicalType.ENUM: _TEXT,
    LogicalType.DATE: _DATE,
    LogicalType.JSON: _TEXT,
    LogicalType.BSON: _BSON,
}
"""Column types by members of LogicalType without fields."""

_FIXED: Final[dict[int, tuple[int, ColumnType]]] = {
    LogicalType.UUID: (16, ColumnType(kind=Kind.UUID)),
    LogicalType.FLOAT16: (2, ColumnType(kind=Kind.FLOATING, bits=16)),
}
"""Length in bytes, and column type, of members of LogicalType that are FIXED_LEN_BYTE_ARRAY."""


def type_of(leaf: Leaf) -> ColumnType:
    """Return the type of a column's values."""
    if leaf.physical_type == PhysicalType.FIXED_LEN_BYTE_ARRAY and not leaf.type_length:
        return _UNDEFINED
    if leaf.logical_type:
        return _logical(leaf)
    if leaf.converted_type is None:
        return _UNANNOTATED[leaf.physical_type]
    if leaf.converted_type == ConvertedType.DECIMAL:
        types = _decimal(leaf.scale or 0, leaf.precision or 0)
    else:
        types = _CONVERTED.get(leaf.converted_type, {})
    return types.get(leaf.physical_type, _UNDEFINED)


def _logical(leaf: Leaf) -> ColumnType:
    member = leaf.logical_type_id
    if member in _FIXED:
        length, column_type = _FIXED[member]
        is_fixed = leaf.physical_type == PhysicalType.FIXED_LEN_BYTE_ARRAY
        return column_type if is_fixed and leaf.type_length == length else _UNDEFINED
    types = _PLAIN_LOGICAL.get(member)
    if types is None:
        types = _parametrized(*logical_type_fields(leaf.logical_type))
    return types.get(leaf.physical_type, _UNDEFINED)


def _parametrized(member: int, fields: Mapping[int, int]) -> Types:
    """Return the types of a member of LogicalType with fields; empty if a field is wrong."""
    try:
        if member == LogicalType.DECIMAL:
            return _decimal(fields[LogicalTypeField.SCALE], fields[LogicalTypeField.PRECISION])
        if member == LogicalType.INTEGER:
            is_signed = bool(fields[LogicalTypeField.IS_SIGNED])
            return _integer(fields[LogicalTypeField.BIT_WIDTH], is_signed=is_signed)
        make = {LogicalType.TIME: _time, LogicalType.TIMESTAMP: _timestamp}[LogicalType(member)]
        (unit,) = (unit for unit in (*_UNITS, LogicalTypeField.OTHER_UNIT) if unit in fields)
        return make(_UNITS[unit], is_adjusted=bool(fields[LogicalTypeField.IS_ADJUSTED_TO_UTC]))
    except (KeyError, ValueError):
        return {}


_UNIT_NAMES: Final = {_MILLIS: "MILLIS", _MICROS: "MICROS", 1: "NANOS"}
_FLOATING_NAMES: Final = {16: "FLOAT16", 32: "FLOAT", 64: "DOUBLE"}
_ANNOTATED: Final[dict[int, str]] = {
    ConvertedType.UTF8: "STRING",
    ConvertedType.ENUM: "ENUM",
    ConvertedType.JSON: "JSON",
    ConvertedType.BSON: "BSON",
    ConvertedType.INTERVAL: "INTERVAL",
}
"""Names of converted types that have no `ColumnType` of their own."""


def type_name(leaf: Leaf) -> str:
    """Return the name of a column's type as schemas are usually written.

    Such as `STRING`, `UINT8`, `DECIMAL(9,2)` or `TIMESTAMP(MICROS,UTC)`. The physical type, such as
    `BYTE_ARRAY` or `FIXED_LEN_BYTE_ARRAY(16)`, stands for columns without a logical type, and for
    those whose logical type does not fit it.
    """
    column_type = type_of(leaf)
    name = ""
    match column_type.kind:
        case Kind.INTEGER:
            name = f"{'' if column_type.is_signed else 'U'}INT{column_type.bits}"
        case Kind.DECIMAL:
            name = f"DECIMAL({column_type.precision},{column_type.scale})"
        case Kind.FLOATING:
            name = _FLOATING_NAMES[column_type.bits]
        case Kind.TIME | Kind.TIMESTAMP:
            clock = ",UTC" if column_type.is_adjusted else ""
            name = f"{column_type.kind.name}({_UNIT_NAMES[column_type.unit]}{clock})"
        case Kind.UUID | Kind.DATE:
            name = column_type.kind.name
        case Kind.TEXT | Kind.BINARY:
            name = _annotation(leaf)
        case Kind.UNDEFINED if _has_no_equality(leaf):
            name = _annotation(leaf)
    return name or _physical_name(leaf)


def _annotation(leaf: Leaf) -> str:
    """Return the name of the logical or converted type; "" if the column has none."""
    if leaf.logical_type:
        return LogicalType(leaf.logical_type_id).name
    return "" if leaf.converted_type is None else _ANNOTATED[leaf.converted_type]


def _has_no_equality(leaf: Leaf) -> bool:
    """Return whether the logical type is known, but defines no equality of values."""
    if leaf.logical_type:
        return leaf.logical_type_id in (
            LogicalType.UNKNOWN,
            LogicalType.VARIANT,
            LogicalType.GEOMETRY,
            LogicalType.GEOGRAPHY,
        )
    return leaf.is_interval


def _physical_name(leaf: Leaf) -> str:
    length = f"({leaf.type_length})" if leaf.type_length else ""
    return f"{leaf.physical_type.name}{length}"
