"""Columns of an Arrow schema by dotted name, fields of structs included; families of types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import ColumnNotFound, InvalidArgument
from parquet_bloomwriter.text import suggestion

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    import pyarrow.compute as pc

    from parquet_bloomwriter.metadata.elements import Part


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of an Arrow schema, or a field of a struct in it."""

    path: tuple[str, ...]
    """Names from the top level down; they may contain dots."""

    type: pa.DataType

    @property
    def name(self) -> str:
        """Dotted path of the column."""
        return ".".join(self.path)

    @property
    def field(self) -> pc.Expression:
        """Expression of pyarrow that refers to the column."""
        import pyarrow.compute as pc

        return pc.field(*self.path)


def column_at(schema: pa.Schema, path: str | tuple[str, ...]) -> Column:
    """Find a column by its dotted name, or by a tuple of names.

    A top-level column with exactly this name comes first; else dots lead into structs.

    Raises:
        ColumnNotFound: If no column has the name, or several.
        InvalidArgument: If the column lies in a list or a map: a row may have many values.
    """
    if isinstance(path, str):
        found = list(_by_name(schema, path, ()))
        exact = [column for column in found if column.path == (path,)]
        found = exact or found
    else:
        found = list(_by_path(schema, path))
    name = path if isinstance(path, str) else ".".join(path)
    if not found:
        _refuse_repeated(schema, name)
        remedy = suggestion(name, _names(schema))
        raise ColumnNotFound(f'there is no column "{name}"', remedy=remedy)
    if len(found) > 1:
        raise ColumnNotFound(
            f'{len(found)} columns are named "{name}"',
            remedy="Conditions need columns with names of their own.",
        )
    return found[0]


def _fields(parent: pa.Schema | pa.DataType) -> Iterator[pa.Field]:
    """Yield the children of a schema or a struct whose names are UTF-8."""
    import pyarrow as pa

    if isinstance(parent, pa.Schema):
        yield from filter(has_name, parent)
    elif pa.types.is_struct(parent):
        yield from filter(has_name, (parent.field(index) for index in range(parent.num_fields)))


def has_name(field: pa.Field) -> bool:
    """Return whether a field's name is UTF-8; another name, which is invalid, cannot be used."""
    try:
        return isinstance(field.name, str)
    except UnicodeDecodeError:
        return False


def _by_name(parent: pa.Schema | pa.DataType, name: str, above: Sequence[str]) -> Iterator[Column]:
    for field in _fields(parent):
        path = (*above, field.name)
        if field.name == name:
            yield Column(path=path, type=field.type)
        elif name.startswith(f"{field.name}."):
            yield from _by_name(field.type, name[len(field.name) + 1 :], path)


def _by_path(schema: pa.Schema, path: tuple[str, ...]) -> Iterator[Column]:
    parents: list[pa.Schema | pa.DataType] = [schema]
    for name in path:
        parents = [
            field.type for parent in parents for field in _fields(parent) if field.name == name
        ]
    yield from (Column(path=path, type=type_) for type_ in parents)


def _refuse_repeated(schema: pa.Schema, name: str) -> None:
    import pyarrow as pa

    parts = name.split(".")
    for length in range(1, len(parts)):
        for column in _by_name(schema, ".".join(parts[:length]), ()):
            if pa.types.is_nested(column.type) and not pa.types.is_struct(column.type):
                raise InvalidArgument(
                    f"the column lies in {column.name}, which has many values in a row",
                    column=name,
                    remedy="Conditions are about columns with one value in a row.",
                )


def _names(parent: pa.Schema | pa.DataType, above: str = "") -> Iterator[str]:
    for field in _fields(parent):
        inner = list(_names(field.type, f"{above}{field.name}."))
        yield from inner or [f"{above}{field.name}"]


def type_of_part(column: Column, part: Part) -> pa.DataType:
    """Return the type of the elements of a list, or of the keys or values of a map.

    Raises:
        InvalidArgument: If the column is no such list or map.
    """
    import pyarrow as pa

    types, type_ = pa.types, column.type
    if part != "element" and types.is_map(type_):
        return type_.key_type if part == "key" else type_.item_type
    is_list = types.is_list(type_) or types.is_large_list(type_) or types.is_fixed_size_list(type_)
    if part == "element" and is_list:
        return type_.value_type
    kind = "list" if part == "element" else "map"
    raise InvalidArgument(f"it is no {kind}, but of type {type_}", column=column.name)


def is_text(type_: pa.DataType) -> bool:
    """Return whether values are text, in any of Arrow's layouts."""
    import pyarrow as pa

    types = pa.types
    return bool(
        types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_)
    )


def is_uuid(type_: pa.DataType) -> bool:
    """Return whether values are UUIDs: 16 bytes that text means in its usual spelling."""
    return getattr(type_, "extension_name", "") == "arrow.uuid"


def is_binary(type_: pa.DataType) -> bool:
    """Return whether values are bytes, in any of Arrow's layouts."""
    import pyarrow as pa

    types = pa.types
    is_sized = types.is_binary(type_) or types.is_large_binary(type_) or types.is_binary_view(type_)
    return bool(is_sized or types.is_fixed_size_binary(type_))
