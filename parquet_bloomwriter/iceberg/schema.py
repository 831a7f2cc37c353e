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

from parquet_bloomwriter.column_names import LEAVE_OUT, TableColumn, TableColumns
from parquet_bloomwriter.kernels.layout import ABSENT
from parquet_bloomwriter.metadata.tree import (
    column_tree,
    has_ids,
    is_repeated,
    list_element,
    nodes_below,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyiceberg.schema import Schema as IcebergSchema
    from pyiceberg.table.name_mapping import MappedField, NameMapping
    from pyiceberg.types import IcebergType, NestedField

    from parquet_bloomwriter.metadata import Footer, Leaf
    from parquet_bloomwriter.metadata.tree import ColumnNode


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergColumn(TableColumn):
    """One leaf column of a table; its stored name is `#` and its field id."""

    field_id: int


class IcebergColumns(TableColumns[IcebergColumn]):
    """The leaf columns of an Iceberg table."""

    def __init__(self, schema: IcebergSchema, name_mapping: NameMapping | None) -> None:
        """Read the schema.

        Args:
            schema: Schema of the table.
            name_mapping: Names of fields in files without ids, if the table has such a mapping.
        """
        self._name_mapping = name_mapping
        leaves = enumerate(self._leaves(schema.fields, ""))
        super().__init__(
            IcebergColumn(ordinal=ordinal, name=name, stored_name=f"#{number}", field_id=number)
            for ordinal, (name, number) in leaves
        )

    def _leaves_of(self, footer: Footer) -> Mapping[str, Leaf]:
        root = column_tree(footer)
        if has_ids(root):
            by_id = leaves_by_id(root)
        elif self._name_mapping is not None:
            by_id = _once(_mapped(root, self._name_mapping.root))
        else:
            by_id = {}
        return {one.name: by_id[one.field_id] for one in self.columns if one.field_id in by_id}

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
            why = f"is of type {kind}: no file stores values of it to look up"
            self._without[name] = why, LEAVE_OUT


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
