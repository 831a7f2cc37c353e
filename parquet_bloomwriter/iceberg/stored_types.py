"""The relation between the types in files and the column types of an Iceberg table.

A column's type may be promoted after a file was written, int to long for example, and files that
were not written by Iceberg may store times in other units, or integers without a sign.

Source: Iceberg specification, "Schema Evolution", and Appendix A, "Parquet".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from parquet_bloomwriter.metadata import PhysicalType
from parquet_bloomwriter.metadata.logical_types import Kind, type_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyiceberg.schema import Schema
    from pyiceberg.types import IcebergType, NestedField

    from parquet_bloomwriter.metadata import Leaf
    from parquet_bloomwriter.metadata.elements import Part

_BYTES = (Kind.TEXT, Kind.BINARY)
_KINDS: Mapping[type[IcebergType], tuple[Kind, ...]] = {
    BooleanType: (Kind.BOOLEAN,),
    IntegerType: (Kind.INTEGER,),
    LongType: (Kind.INTEGER,),
    FloatType: (Kind.FLOATING,),
    DoubleType: (Kind.FLOATING,),
    DecimalType: (Kind.DECIMAL,),
    DateType: (Kind.DATE,),
    TimeType: (Kind.TIME,),
    TimestampType: (Kind.TIMESTAMP,),
    TimestamptzType: (Kind.TIMESTAMP,),
    TimestampNanoType: (Kind.TIMESTAMP,),
    TimestamptzNanoType: (Kind.TIMESTAMP,),
    StringType: _BYTES,
    BinaryType: _BYTES,
    FixedType: _BYTES,
    UUIDType: (Kind.UUID,),
}
"""The kinds of stored values that literals for a column of a table's type equal alike, by type."""

_OF_UTC = (TimestamptzType, TimestamptzNanoType)
_OF_MICROSECONDS = (TimeType, TimestampType, TimestamptzType)
_MICROSECOND = 1000
"""A microsecond, in nanoseconds."""


def plain_fields(schema: Schema) -> dict[str, list[NestedField]]:
    """Return the fields that have one value in each row, by dotted name."""
    found: dict[str, list[NestedField]] = {}
    for name, one in _plain(schema.fields, ""):
        found.setdefault(name, []).append(one)
    return found


def _plain(fields: Iterable[NestedField], above: str) -> Iterator[tuple[str, NestedField]]:
    for one in fields:
        name = f"{above}{one.name}"
        if one.field_type.is_primitive:
            yield name, one
        elif isinstance(one.field_type, StructType):
            yield from _plain(one.field_type.fields, f"{name}.")


def part_fields(schema: Schema) -> dict[str, list[tuple[str, Part, NestedField]]]:
    """Return the parts of lists and maps that are single values.

    Returns:
        By the dotted name of the leaf column, such as `tags.element`: the dotted name of the list
        or map, the part, and its field.
    """
    found: dict[str, list[tuple[str, Part, NestedField]]] = {}
    for name, kind in _lists_and_maps(schema.fields, ""):
        parts: dict[Part, NestedField] = (
            {"element": kind.element_field}
            if isinstance(kind, ListType)
            else {"key": kind.key_field, "value": kind.value_field}
        )
        for part, one in parts.items():
            if one.field_type.is_primitive:
                found.setdefault(f"{name}.{part}", []).append((name, part, one))
    return found


def _lists_and_maps(
    fields: Iterable[NestedField], above: str
) -> Iterator[tuple[str, ListType | MapType]]:
    for one in fields:
        name, kind = f"{above}{one.name}", one.field_type
        if isinstance(kind, StructType):
            yield from _lists_and_maps(kind.fields, f"{name}.")
        elif isinstance(kind, ListType | MapType):
            yield name, kind


def is_kept(leaf: Leaf, type_: IcebergType) -> bool:
    """Return whether the same literals equal a column's values in the file and in the table."""
    stored = type_of(leaf)
    if stored.kind not in _KINDS.get(type(type_), ()):
        return False
    if stored.kind is Kind.INTEGER:
        return stored.is_signed
    if isinstance(type_, DecimalType):
        return stored.scale == type_.scale
    if stored.kind is Kind.TIMESTAMP and stored.is_adjusted is not isinstance(type_, _OF_UTC):
        return False
    return not isinstance(type_, _OF_MICROSECONDS) or stored.unit >= _MICROSECOND


def is_unchanged(leaf: Leaf, type_: IcebergType) -> bool:
    """Return whether a file stores values in the table's type, neither narrower nor finer."""
    if isinstance(type_, LongType) and leaf.physical_type != PhysicalType.INT64:
        return False
    if isinstance(type_, DoubleType) and leaf.physical_type != PhysicalType.DOUBLE:
        return False
    if isinstance(type_, DecimalType) and type_of(leaf).precision != type_.precision:
        return False
    return is_kept(leaf, type_)
