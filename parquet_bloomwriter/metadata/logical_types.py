"""What the values of a leaf column mean: its logical type, or the older converted type.

The union LogicalType comes as it stands in the footer, Thrift compact bytes:

    field = (delta << 4 | type) value          id = previous id + delta, delta 1..15
          | (0 << 4 | type) zigzag-varint(id) value
    types: 1 true, 2 false, 3 byte, 5 zigzag varint, 12 struct

Where both types are given, the logical one counts. Where it does not fit the physical type, or is
not known here, the kind is `Kind.UNDEFINED`, and nothing is concluded about the column's values.

Source: parquet.thrift, LogicalType and ConvertedType; LogicalTypes.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from parquet_bloomwriter.metadata import PhysicalType

if TYPE_CHECKING:
    from parquet_bloomwriter.metadata import Leaf

_TRUE, _FALSE, _BYTE, _I32, _STRUCT = 1, 2, 3, 5, 12
_NANOS: Final = {1: 1_000_000, 2: 1000, 3: 1}
"""Field id in the union TimeUnit -> nanoseconds."""


class Kind(Enum):
    """Families of types that compare with literals in the same way."""

    INTEGER = auto()
    DECIMAL = auto()
    FLOATING = auto()
    BOOLEAN = auto()
    TEXT = auto()
    """STRING, ENUM, JSON."""
    BINARY = auto()
    """BYTE_ARRAY and FIXED_LEN_BYTE_ARRAY without a logical type, BSON."""
    UUID = auto()
    DATE = auto()
    TIME = auto()
    TIMESTAMP = auto()
    INT96 = auto()
    UNDEFINED = auto()
    """No equality of values is defined, or none that is known here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnType:
    """The type of a column's values."""

    kind: Kind
    bits: int = 0
    """INTEGER and FLOATING: width of the values."""

    is_signed: bool = True
    """INTEGER: whether the values are."""

    scale: int = 0
    """DECIMAL: digits behind the point."""

    precision: int = 0
    """DECIMAL: digits in all."""

    unit: int = 1
    """TIME and TIMESTAMP: nanoseconds."""

    is_adjusted: bool = False
    """TIME and TIMESTAMP: whether they are of UTC, else of an unnamed clock."""


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
    stored = PhysicalType.INT32 if unit == _NANOS[1] else PhysicalType.INT64
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
    0: _TEXT,  # UTF8
    4: _TEXT,  # ENUM
    6: _DATE,
    7: _time(_NANOS[1], is_adjusted=True),
    8: _time(_NANOS[2], is_adjusted=True),
    9: _timestamp(_NANOS[1], is_adjusted=True),
    10: _timestamp(_NANOS[2], is_adjusted=True),
    **{11 + i: _integer(8 << i, is_signed=False) for i in range(4)},
    **{15 + i: _integer(8 << i, is_signed=True) for i in range(4)},
    19: _TEXT,  # JSON
    20: _BSON,
}
"""ConvertedType -> what it makes of each physical type. MAP, LIST and INTERVAL have no equality
that is known here; DECIMAL has fields of its own."""

_CONVERTED_DECIMAL = 5
_PLAIN_LOGICAL: Final[dict[int, Types]] = {1: _TEXT, 4: _TEXT, 6: _DATE, 12: _TEXT, 13: _BSON}
"""Members of LogicalType without fields: STRING, ENUM, DATE, JSON, BSON."""

_DECIMAL, _TIME, _TIMESTAMP, _INTEGER, _UUID, _FLOAT16 = 5, 7, 8, 10, 14, 15
"""Field ids in the union LogicalType."""

_FIXED: Final = {
    _UUID: (16, ColumnType(kind=Kind.UUID)),
    _FLOAT16: (2, ColumnType(kind=Kind.FLOATING, bits=16)),
}
"""Members of LogicalType that are FIXED_LEN_BYTE_ARRAY of one length, bytes."""


def type_of(leaf: Leaf) -> ColumnType:
    """What the column's values mean."""
    if leaf.physical_type == PhysicalType.FIXED_LEN_BYTE_ARRAY and not leaf.type_length:
        return _UNDEFINED
    if leaf.logical_type:
        return _logical(leaf)
    if leaf.converted_type is None:
        return _UNANNOTATED[leaf.physical_type]
    if leaf.converted_type == _CONVERTED_DECIMAL:
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
        try:
            types = _parametrized(member, leaf.logical_type)
        except (KeyError, IndexError, ValueError):
            return _UNDEFINED
    return types.get(leaf.physical_type, _UNDEFINED)


def _parametrized(member: int, data: bytes) -> Types:
    """Types of the members of LogicalType that have fields.

    Raises:
        KeyError: If a field is missing or has an unknown type.
        IndexError: If the bytes end early.
        ValueError: If a union has more than one member.
    """
    if member not in (_DECIMAL, _TIME, _TIMESTAMP, _INTEGER):
        return {}
    fields = _struct(data, 0)[0][member].fields
    if member == _DECIMAL:
        return _decimal(fields[1].number, fields[2].number)
    if member == _INTEGER:
        return _integer(fields[1].number, is_signed=bool(fields[2].number))
    (unit,) = fields[2].fields
    make = _time if member == _TIME else _timestamp
    return make(_NANOS[unit], is_adjusted=bool(fields[1].number))


@dataclass(frozen=True, slots=True)
class _Field:
    number: int
    """An integer's or a boolean's value, 0 for a struct."""

    fields: dict[int, _Field]
    """A struct's fields by id."""


def _struct(data: bytes, at: int) -> tuple[dict[int, _Field], int]:
    """The fields of the struct at a position, and the position past it."""
    fields: dict[int, _Field] = {}
    field_id = 0
    while data[at]:
        delta, wire = data[at] >> 4, data[at] & 15
        at += 1
        if delta:
            field_id += delta
        else:
            field_id, at = _integer_at(data, at)
        fields[field_id], at = _field(data, at, wire)
    return fields, at + 1


def _field(data: bytes, at: int, wire: int) -> tuple[_Field, int]:
    if wire in (_TRUE, _FALSE):
        return _Field(int(wire == _TRUE), {}), at
    if wire == _BYTE:
        return _Field(data[at], {}), at + 1
    if wire == _I32:
        number, at = _integer_at(data, at)
        return _Field(number, {}), at
    if wire == _STRUCT:
        fields, at = _struct(data, at)
        return _Field(0, fields), at
    raise KeyError(wire)


def _integer_at(data: bytes, at: int) -> tuple[int, int]:
    """The zigzag varint at a position, and the position past it."""
    number = shift = 0
    while data[at] & 0x80:
        number |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
    number |= data[at] << shift
    return number >> 1 ^ -(number & 1), at + 1
