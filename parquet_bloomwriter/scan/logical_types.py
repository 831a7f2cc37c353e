"""The columns of a Delta table as Arrow types, and the conversion of a file's columns to them.

Files store what was true when they were written: physical names instead of the table's (column
mapping), narrower types (type widening), no columns that were added later. `LogicalField` makes an
array of the table's type of what a file has. No value is rounded or shifted: a cast that would do
so is refused.

Source: Delta protocol, "Schema Serialization Format", "Column Mapping", "Type Widening".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.errors import UnsupportedTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pyarrow as pa

_DECIMAL = re.compile(r"decimal\((\d+), *(-?\d+)\)")
_FIELD_ID = b"PARQUET:field_id"
_MOST_DIGITS_OF_LONG = 19

PHYSICAL_NAME = "delta.columnMapping.physicalName"
ID = "delta.columnMapping.id"


def _simple_types() -> dict[str, pa.DataType]:
    import pyarrow as pa

    return {
        "string": pa.string(),
        "long": pa.int64(),
        "integer": pa.int32(),
        "short": pa.int16(),
        "byte": pa.int8(),
        "float": pa.float32(),
        "double": pa.float64(),
        "boolean": pa.bool_(),
        "binary": pa.binary(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", "UTC"),
        "timestamp_ntz": pa.timestamp("us"),
        "void": pa.null(),
    }


@dataclass(frozen=True, eq=False)
class LogicalField:
    """A column of a table, or a field, element, key or value in one."""

    raw: Mapping[str, Any]
    """Field in the table's schema: name, type, nullable, metadata."""

    mapping: str
    """The table's mode of column mapping: none, name or id."""

    top: str
    """Name of the table's column that contains the field, for messages."""

    @property
    def name(self) -> str:
        """Logical name of the field."""
        return str(self.raw["name"])

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Metadata of the field in the schema."""
        return self.raw.get("metadata") or {}

    @property
    def physical_name(self) -> str:
        """Name of the field in files, and of its partition values in the log."""
        return self.name if self.mapping == "none" else str(self.metadata[PHYSICAL_NAME])

    @cached_property
    def children(self) -> tuple[LogicalField, ...]:
        """Fields of a struct, the element of a list, or key and value of a map."""
        type_ = self.raw["type"]
        if not isinstance(type_, dict):
            return ()
        match type_["type"]:
            case "struct":
                parts = type_["fields"]
            case "array":
                nullable = type_.get("containsNull", True)
                parts = [{"name": "element", "type": type_["elementType"], "nullable": nullable}]
            case "map":
                nullable = type_.get("valueContainsNull", True)
                parts = [
                    {"name": "key", "type": type_["keyType"], "nullable": False},
                    {"name": "value", "type": type_["valueType"], "nullable": nullable},
                ]
            case _:
                parts = []
        return tuple(LogicalField(part, self.mapping, self.top) for part in parts)

    @cached_property
    def type(self) -> pa.DataType:
        """The Arrow type of the column.

        Raises:
            UnsupportedTable: If there is none: of variants, intervals and types not known here.
        """
        import pyarrow as pa

        raw = self.raw["type"]
        if isinstance(raw, str):
            if found := _DECIMAL.fullmatch(raw):
                return pa.decimal128(int(found[1]), int(found[2]))
            if raw in (simple := _simple_types()):
                return simple[raw]
        fields = [one.arrow for one in self.children]
        match raw["type"] if isinstance(raw, dict) else raw:
            case "struct":
                return pa.struct(fields)
            case "array":
                return pa.list_(fields[0])
            case "map":
                return pa.map_(fields[0].type, fields[1])
            case other:
                raise UnsupportedTable(
                    f'the column "{self.top}" cannot be returned: it is of type {other}',
                    remedy="Name the other columns.",
                )

    @cached_property
    def arrow(self) -> pa.Field:
        """The Arrow field of the column."""
        import pyarrow as pa

        return pa.field(self.name, self.type, nullable=bool(self.raw.get("nullable", True)))

    def index_in(self, fields: Iterable[pa.Field]) -> int | None:
        """Return the index of this field among a file's fields; None if the file lacks it.

        Raises:
            UnsupportedTable: If several are.
        """
        several = list(fields)
        if self.mapping == "id":
            wanted = str(self.metadata[ID]).encode()
            places = [
                place
                for place, one in enumerate(several)
                if (one.metadata or {}).get(_FIELD_ID) == wanted
            ]
        else:
            name = self.physical_name
            places = [place for place, one in enumerate(several) if one.name == name]
        if len(places) > 1:
            raise UnsupportedTable(f'a file has several columns "{self.top}"')
        return places[0] if places else None

    def nulls(self, length: int) -> pa.Array:
        """Return an array of nulls of this type."""
        import pyarrow as pa

        return pa.nulls(length, self.type)

    def of_file(self, array: pa.Array) -> pa.Array:
        """Return a file's array converted to the table's type.

        Raises:
            UnsupportedTable: If values would change.
        """
        import pyarrow as pa

        types = pa.types
        type_, given = self.type, array.type
        if isinstance(given, pa.BaseExtensionType):
            array, given = array.storage, given.storage_type
        if types.is_struct(type_) and types.is_struct(given):
            return self._struct(array)
        if types.is_map(type_) and types.is_map(given):
            array = _unsliced(array)
            key, value = self.children
            return pa.MapArray.from_arrays(
                array.offsets,
                key.of_file(array.keys),
                value.of_file(array.items),
                type_,
                mask=_mask(array),
            )
        if types.is_list(type_) and (types.is_list(given) or types.is_large_list(given)):
            array = _unsliced(array)
            (element,) = self.children
            offsets = array.offsets.cast(pa.int32())
            values = element.of_file(array.values)
            return pa.ListArray.from_arrays(offsets, values, type=type_, mask=_mask(array))
        return self._cast(array)

    def _struct(self, array: pa.StructArray) -> pa.StructArray:
        import pyarrow as pa

        stored = [array.type.field(place) for place in range(array.type.num_fields)]
        parts = []
        for child in self.children:
            place = child.index_in(stored)
            found = child.nulls(len(array)) if place is None else array.field(place)
            parts.append(found if place is None else child.of_file(found))
        fields = [self.type.field(place) for place in range(self.type.num_fields)]
        if not fields:
            return pa.StructArray.from_buffers(self.type, len(array), [None], children=[])
        return pa.StructArray.from_arrays(parts, fields=fields, mask=array.is_null())

    def _cast(self, array: pa.Array) -> pa.Array:
        import pyarrow as pa

        types = pa.types
        type_, given = self.type, array.type
        if type_ == given:
            return array
        if types.is_dictionary(given):
            return self._cast(array.dictionary_decode())
        if not _may_become(given, type_):
            raise self._not_readable(given)
        try:
            if types.is_decimal(type_) and types.is_integer(given):
                array = array.cast(pa.decimal128(_MOST_DIGITS_OF_LONG, 0))
            if types.is_timestamp(type_) and types.is_timestamp(given):
                array = array.cast(pa.timestamp("us", given.tz))
            return array.cast(type_)
        except pa.ArrowException as error:
            raise self._not_readable(given) from error

    def _not_readable(self, given: pa.DataType) -> UnsupportedTable:
        return UnsupportedTable(
            f'the column "{self.top}" cannot be returned: a file has {given}, '
            f"of which {self.raw['type']} cannot be made without changing values",
            remedy="Name the other columns.",
        )


def _may_become(given: pa.DataType, type_: pa.DataType) -> bool:  # noqa: PLR0911  a kind each
    """Return whether a file's type may be read as the table's: of one kind, or widened."""
    import pyarrow as pa

    types = pa.types
    if types.is_integer(type_):
        return bool(types.is_integer(given))
    if types.is_floating(type_):
        return bool(types.is_floating(given) or types.is_integer(given))
    if types.is_decimal(type_):
        return bool(types.is_decimal(given) or types.is_integer(given))
    if types.is_timestamp(type_):
        return bool(types.is_timestamp(given) or (types.is_date(given) and type_.tz is None))
    if types.is_string(type_) or types.is_binary(type_):
        return any(
            check(given)
            for check in (
                types.is_string, types.is_large_string, types.is_string_view,
                types.is_binary, types.is_large_binary, types.is_binary_view,
                types.is_fixed_size_binary,
            )
        )  # fmt: skip
    if types.is_date(type_):
        return bool(types.is_date(given))
    return bool(types.is_null(given))


def _mask(array: pa.Array) -> pa.Array | None:
    return array.is_null() if array.null_count else None


def _unsliced(array: pa.Array) -> pa.Array:
    """Return a list or map whose offsets begin at its own first value."""
    import pyarrow as pa

    return array if array.offset == 0 else pa.concat_arrays([array, array.slice(0, 0)])


def fields_of(schema: Mapping[str, Any], mapping: str) -> tuple[LogicalField, ...]:
    """Return the columns of a table, partition columns included, in order.

    Args:
        schema: The table's ("Schema Serialization Format").
        mapping: The mode of column mapping.
    """
    return tuple(LogicalField(one, mapping, str(one["name"])) for one in schema["fields"])
