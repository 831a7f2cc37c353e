"""The columns of an Iceberg table, and the leaf columns of its files that store them.

A table's schema has fields, each with an id that stays when the field is renamed or moved. A leaf
column of a file is the field whose id it carries as its field_id. Files that carry no ids at all,
as those that `add_files` took over, are read by the table's name mapping: its property
schema.name-mapping.default has the names under which a field stands in such files. Fields that are
not found were added after the file was written.

Names of columns are those of Iceberg: a list's element is `tags.element`, a map's parts are
`counts.key` and `counts.value`.

Source: Iceberg specification, "Column Projection", "Name Mapping Serialization", and
Appendix A, "Parquet" (field ids); `ParquetSchemaUtil.hasIds` and `ApplyNameMapping` of Iceberg.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloomwriter.arguments import names_of
from parquet_bloomwriter.column_names import select_columns
from parquet_bloomwriter.errors import ColumnNotFound
from parquet_bloomwriter.kernels.layout import ABSENT
from parquet_bloomwriter.metadata.tree import (
    column_tree,
    has_ids,
    is_repeated,
    list_element,
    nodes_below,
)
from parquet_bloomwriter.text import safe

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyiceberg.schema import Schema as IcebergSchema
    from pyiceberg.table.name_mapping import MappedField, NameMapping
    from pyiceberg.types import IcebergType, NestedField

    from parquet_bloomwriter.metadata import Footer, Leaf, Schema
    from parquet_bloomwriter.metadata.tree import ColumnNode

_MAX_KNOWN = 64
"""Maximum number of file schemas that are cached; the files of a table have few."""

_STORED = "#"
"""Prefix of the stored name of a column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergColumn:
    """One leaf column of a table."""

    ordinal: int
    """0-based position of the column among the leaf columns."""

    name: str
    """Dotted path of names."""

    field_id: int


class IcebergColumns:
    """The leaf columns of a table. Safe in threads."""

    def __init__(self, schema: IcebergSchema, name_mapping: NameMapping | None) -> None:
        """Read the schema.

        Args:
            schema: Schema of the table.
            name_mapping: Names of fields in files without ids, if the table has such a mapping.
        """
        self._name_mapping = name_mapping
        self._without: dict[str, str] = {}
        self._known: dict[Schema, Mapping[str, Leaf]] = {}
        self.columns = tuple(
            IcebergColumn(ordinal=ordinal, name=name, field_id=field_id)
            for ordinal, (name, field_id) in enumerate(self._leaves(schema.fields, ""))
        )
        self._by_name = {one.name: one for one in self.columns}
        self._by_id = {one.field_id: one for one in self.columns}

    def select(self, names: str | Sequence[str] | None) -> tuple[str, ...]:
        """Find leaf columns by one or several names; return them in this order, without duplicates.

        Args:
            names: Dotted paths; those of structs, lists and maps stand for all leaves in them. None
                for all leaf columns.

        Returns:
            Names of the leaves.

        Raises:
            ColumnNotFound: If a name matches nothing, two leaves of the same path, or a column
                whose type has no values that could be looked up.
        """
        if names is None:
            return tuple(one.name for one in self.columns)
        listed = tuple(names_of(names))
        for name in listed:
            if name in self._without:
                raise ColumnNotFound(
                    f'"{safe(name)}" {self._without[name]}',
                    name=name,
                    column=name,
                    remedy="Leave it out.",
                )
        return tuple(one.name for one in select_columns(self.columns, listed))

    def stored_name(self, name: str) -> str:
        """Return the stored name of a leaf column: `#` and its field id, which stays on renaming.

        Args:
            name: The name of a leaf, as `select` returns it.
        """
        return f"{_STORED}{self._by_name[name].field_id}"

    def named(self, stored_name: str) -> str | None:
        """Return the name of the leaf column with a stored name; None if the column was dropped."""
        field_id = stored_name.removeprefix(_STORED)
        column = self._by_id.get(int(field_id)) if field_id.isdecimal() else None
        return None if column is None else column.name

    def in_file(self, footer: Footer) -> Mapping[str, Leaf]:
        """Find the leaf columns of a file that store columns of the table.

        A leaf may be narrower than the table's type, if that was promoted since.

        Returns:
            Leaves by the names of the table; those that the file lacks are missing.
        """
        found = self._known.get(footer.schema)
        if found is None:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            root = column_tree(footer)
            if has_ids(root):
                by_id = leaves_by_id(root)
            elif self._name_mapping is not None:
                by_id = _once(_mapped(root, self._name_mapping.root))
            else:
                by_id = {}
            found = {one.name: by_id[one.field_id] for one in self.columns if one.field_id in by_id}
            self._known[footer.schema] = found
        return found

    def _leaves(self, fields: Sequence[NestedField], path: str) -> Iterator[tuple[str, int]]:
        for one in fields:
            yield from self._leaves_in(one.field_type, one.field_id, f"{path}{one.name}")

    def _leaves_in(self, kind: IcebergType, field_id: int, name: str) -> Iterator[tuple[str, int]]:
        from pyiceberg.types import ListType, MapType, PrimitiveType, StructType, UnknownType

        if isinstance(kind, StructType):
            yield from self._leaves(kind.fields, f"{name}.")
        elif isinstance(kind, ListType):
            yield from self._leaves_in(kind.element_type, kind.element_id, f"{name}.element")
        elif isinstance(kind, MapType):
            yield from self._leaves_in(kind.key_type, kind.key_id, f"{name}.key")
            yield from self._leaves_in(kind.value_type, kind.value_id, f"{name}.value")
        elif isinstance(kind, PrimitiveType) and not isinstance(kind, UnknownType):
            yield name, field_id
        else:
            self._without[name] = f"is of type {kind}: no file stores values of it to look up"


def leaves_by_id(root: ColumnNode) -> dict[int, Leaf]:
    """Return the leaf columns of a file by field id, without ids that occur twice."""
    return _once(
        (node.field_id, node.leaf if not is_repeated(node) else None)
        for node in nodes_below(root)
        if node.field_id != ABSENT
    )


def _once(found: Iterator[tuple[int, Leaf | None]]) -> dict[int, Leaf]:
    leaves: dict[int, Leaf | None] = {}
    for field_id, leaf in found:
        leaves[field_id] = None if field_id in leaves else leaf
    return {field_id: leaf for field_id, leaf in leaves.items() if leaf is not None}


def _mapped(group: ColumnNode, fields: Sequence[MappedField]) -> Iterator[tuple[int, Leaf | None]]:
    """Yield field ids and leaf columns of a file without ids, by the table's name mapping."""
    for child in group.children:
        yield from _mapped_in(child, child.name, fields)


def _mapped_in(
    node: ColumnNode, name: str, fields: Sequence[MappedField]
) -> Iterator[tuple[int, Leaf | None]]:
    mapped = next((one for one in fields if name in one.names), None)
    if mapped is None:
        return
    if node.leaf is not None:
        if mapped.field_id is not None:
            yield mapped.field_id, None if is_repeated(node) else node.leaf
        return
    element = list_element(node)
    if element is None or not _has_name(mapped.fields, "element"):
        if len(node.children) == 1 and is_repeated(node.children[0]):
            entries = node.children[0].children
            # By position: writers of old called them otherwise.
            for which, entry in zip(("key", "value"), entries, strict=False):
                yield from _mapped_in(entry, which, mapped.fields)
            return
        yield from _mapped(node, mapped.fields)
        return
    yield from _mapped_in(element, "element", mapped.fields)


def _has_name(fields: Sequence[MappedField], name: str) -> bool:
    return any(name in one.names for one in fields)
