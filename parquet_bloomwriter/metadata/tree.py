"""The column tree of a file, with names and field ids, as table formats look for columns.

Table formats find a column by the ids or names of the groups and leaves on its way; `Schema` has
the leaves alone.

Source: Parquet format, "LogicalTypes" ("Lists", "Maps", and their backward compatibility rules).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from parquet_bloomwriter.compact.scan import scan
from parquet_bloomwriter.kernels.layout import ABSENT, STOP
from parquet_bloomwriter.metadata.fields import FOOTER, SchemaField
from parquet_bloomwriter.metadata.schema import Repetition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parquet_bloomwriter.metadata.footer import Footer
    from parquet_bloomwriter.metadata.schema import Leaf


@dataclass(frozen=True, slots=True)
class ColumnNode:
    """A leaf column or group of a file."""

    name: str
    field_id: int
    """Field id; ABSENT if the node has none."""

    repetition: Repetition
    leaf: Leaf | None = None
    children: list[ColumnNode] = field(default_factory=list)


def column_tree(footer: Footer) -> ColumnNode:
    """Return the root of a file's column tree, with field ids."""
    table = scan(footer.data, FOOTER, origin=footer.start)
    elements = table.kinds == FOOTER.names.index("SchemaElement")
    values, spans = table.values[elements].tolist(), table.spans[elements]
    ends = spans[:, SchemaField.NAME, STOP].tolist()
    leaves = iter(footer.leaves)
    root = ColumnNode("", ABSENT, Repetition.REQUIRED)
    groups = [(root, max(values[0][SchemaField.NUM_CHILDREN], 0))] if values else []
    for row, stop in zip(values[1:], ends[1:], strict=True):
        while groups[-1][1] == 0:
            groups.pop()
        group, num_left = groups[-1]
        groups[-1] = group, num_left - 1
        name = footer.data[stop - max(row[SchemaField.NAME], 0) : stop]
        repetition = row[SchemaField.REPETITION_TYPE]
        num_children = max(row[SchemaField.NUM_CHILDREN], 0)
        is_leaf = row[SchemaField.TYPE] != ABSENT and not num_children
        node = ColumnNode(
            name.decode(errors="backslashreplace"),
            row[SchemaField.FIELD_ID],
            Repetition.REQUIRED if repetition == ABSENT else Repetition(repetition),
            next(leaves) if is_leaf else None,
        )
        group.children.append(node)
        groups.append((node, num_children))
    return root


def nodes_below(node: ColumnNode) -> Iterator[ColumnNode]:
    """Yield all columns and groups in a group; each group comes before its contents."""
    for child in node.children:
        yield child
        yield from nodes_below(child)


def has_ids(node: ColumnNode) -> bool:
    """Return whether any node below this one has a field id."""
    return any(one.field_id != ABSENT or has_ids(one) for one in node.children)


def is_repeated(node: ColumnNode) -> bool:
    """Return whether a node may occur several times in its group."""
    return node.repetition == Repetition.REPEATED


def list_element(node: ColumnNode) -> ColumnNode | None:
    """Return the element of a list, or None if the node is no list."""
    if len(node.children) != 1:
        return None
    repeated = node.children[0]
    if not is_repeated(repeated):
        return None
    is_element = (
        repeated.leaf is not None
        or len(repeated.children) > 1
        or repeated.name in ("array", f"{node.name}_tuple")
    )
    if not is_element:
        return repeated.children[0]
    # The element itself is repeated here, as the list; inside, it is not a list again.
    return ColumnNode(
        repeated.name, repeated.field_id, Repetition.REQUIRED, repeated.leaf, repeated.children
    )
