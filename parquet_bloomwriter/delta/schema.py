"""The columns of a Delta table, and the leaf columns of its files that store them.

A table's schema has fields, each with a logical name; files have a tree of columns. The table's
property delta.columnMapping.mode says which column of a file a field is:

    none    the one of the field's name
    name    the one of the field's physical name, delta.columnMapping.physicalName
    id      the one whose field_id is delta.columnMapping.id

on every level of structs. Fields that a file lacks were added later. The schema has no names for
the inner levels of lists and maps. Writers call them list.element, bag.array, array or list.item;
here they are list.element, key_value.key and key_value.value.

Source: Delta protocol, "Column Mapping", "Schema Serialization Format"; Parquet format,
"LogicalTypes" ("Lists", "Maps", and their backward compatibility rules).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.column_names import LEAVE_OUT, TableColumn, TableColumns
from parquet_bloomwriter.errors import TableProblem, UnsupportedFile
from parquet_bloomwriter.metadata.tree import column_tree, has_ids, is_repeated, list_element
from parquet_bloomwriter.text import clipped, safe

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parquet_bloomwriter.delta.actions import Metadata
    from parquet_bloomwriter.metadata import Footer, Leaf
    from parquet_bloomwriter.metadata.tree import ColumnNode

MODE = "delta.columnMapping.mode"
_PHYSICAL = "delta.columnMapping.physicalName"
_ID = "delta.columnMapping.id"

_MODES = ("none", "name", "id")
_LIST, _MAP = ("list", "element"), "key_value"
_NO_LEAVES = {
    "variant": "is a variant column, which has no values that could be looked up",
    "void": "is a void column: no file stores it",
}
_PARTITION = (
    "is a partition column: no file stores it",
    "Leave it out; files are chosen by the table's partitions anyway.",
)


class DeltaColumns(TableColumns[TableColumn]):
    """The leaf columns of a Delta table; stored names are dotted paths of physical names."""

    def __init__(self, metadata: Metadata) -> None:
        """Read the schema.

        Raises:
            TableProblem: If it is damaged.
        """
        self.mode = metadata.properties.get(MODE, "none").lower()
        if self.mode not in _MODES:
            raise TableProblem(f'the table\'s property {MODE} is "{safe(self.mode)}"')
        partitions = metadata.partition_columns
        try:
            # The schema may be any text: missing parts raise these errors.
            self._fields = [
                one for one in metadata.schema["fields"] if one["name"] not in partitions
            ]
            paths = enumerate(self._paths(self._fields, (), ()))
            super().__init__(
                TableColumn(ordinal=ordinal, name=".".join(path), stored_name=".".join(stored))
                for ordinal, (path, stored) in paths
            )
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise TableProblem(
                f"the table's schema is damaged: {clipped(safe(repr(error)))}",
                remedy="Restore the log from a backup.",
            ) from error
        self._without |= dict.fromkeys(partitions, _PARTITION)

    def _leaves_of(self, footer: Footer) -> Mapping[str, Leaf]:
        root = column_tree(footer)
        if self.mode == "id" and footer.leaves and not has_ids(root):
            raise UnsupportedFile(
                "the table finds columns by their ids, but the file has none",
                remedy="Write the file anew with Delta Lake.",
            )
        return dict(self._match(self._fields, root, ()))

    def _stored(self, one: Mapping[str, Any]) -> str:
        """Return the physical name of a field."""
        name = one["name"] if self.mode == "none" else _metadata(one).get(_PHYSICAL, one["name"])
        if not isinstance(name, str):
            raise TypeError(f"a field's name is {name!r}")
        return name

    def _paths(
        self, fields: Sequence[Mapping[str, Any]], path: tuple[str, ...], stored: tuple[str, ...]
    ) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
        for field in fields:
            logical, physical = (*path, str(field["name"])), (*stored, self._stored(field))
            yield from self._paths_in(field["type"], logical, physical)

    def _paths_in(
        self,
        kind: Any,  # noqa: ANN401  JSON
        path: tuple[str, ...],
        stored: tuple[str, ...],
    ) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
        if isinstance(kind, str):
            if kind in _NO_LEAVES:
                self._without[".".join(path)] = _NO_LEAVES[kind], LEAVE_OUT
            else:
                yield path, stored
        elif kind["type"] == "struct":
            yield from self._paths(kind["fields"], path, stored)
        elif kind["type"] == "array":
            yield from self._paths_in(kind["elementType"], (*path, *_LIST), (*stored, *_LIST))
        elif kind["type"] == "map":
            for which, inner in (("key", kind["keyType"]), ("value", kind["valueType"])):
                level = (_MAP, which)
                yield from self._paths_in(inner, (*path, *level), (*stored, *level))
        else:
            raise ValueError(f"a type is {kind['type']!r}")

    def _match(
        self, fields: Sequence[Mapping[str, Any]], group: ColumnNode, path: tuple[str, ...]
    ) -> Iterator[tuple[str, Leaf]]:
        for field in fields:
            node = self._child(field, group)
            if node is not None:
                yield from self._match_in(field["type"], node, (*path, field["name"]))

    def _child(self, one: Mapping[str, Any], group: ColumnNode) -> ColumnNode | None:
        """Return the column of a file for a field; None if no column or several columns match."""
        if self.mode == "id":
            wanted = _metadata(one).get(_ID)
            found = [node for node in group.children if node.field_id == wanted]
        else:
            name = self._stored(one)
            found = [node for node in group.children if node.name == name]
        return found[0] if len(found) == 1 else None

    def _match_in(
        self,
        kind: Any,  # noqa: ANN401  JSON
        node: ColumnNode,
        path: tuple[str, ...],
    ) -> Iterator[tuple[str, Leaf]]:
        if isinstance(kind, str):
            if node.leaf is not None and kind not in _NO_LEAVES and not is_repeated(node):
                yield ".".join(path), node.leaf
        elif kind["type"] == "struct":
            if not is_repeated(node):
                yield from self._match(kind["fields"], node, path)
        elif kind["type"] == "array":
            element = list_element(node)
            if element is not None:
                yield from self._match_in(kind["elementType"], element, (*path, *_LIST))
        elif len(node.children) == 1:
            entries = node.children[0].children
            # By position: writers of old called them otherwise, and the value may be missing.
            for which, inner, entry in zip(
                ("key", "value"), (kind["keyType"], kind["valueType"]), entries, strict=False
            ):
                yield from self._match_in(inner, entry, (*path, _MAP, which))


def _metadata(one: Mapping[str, Any]) -> Mapping[str, Any]:
    return one.get("metadata") or {}
