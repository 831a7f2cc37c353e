"""The columns of an index: finding the leaf column in a file by name, and storing its type as JSON.

An indexed column has a name, its dotted path. Readers differ in whether case matters in names: a
name that matches two leaf columns when case is ignored is ambiguous, and no column is chosen; a
leaf column that differs from the name in case only is chosen.

The elements of a list, and the keys and the values of a map, can be indexed as well: by the name of
the leaf column, `tags.list.element` or `m.key_value.key`, or, for elements, by that of the list.
Writers name these leaf columns differently: any of their names finds the column in each file.
Conditions are about the list or the map (`list_contains(tags, 'x')`); `columns_holding` finds the
indexed columns.

The parts of an index store the type of the column in each file as JSON. Literals are hashed by it,
so it holds everything that the footer says about a leaf column except the positions of its column
chunks. Equal types have equal text.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING

from parquet_bloomwriter.caches import register
from parquet_bloomwriter.filters.columns import why_no_filter
from parquet_bloomwriter.iceberg.schema import leaves_by_id
from parquet_bloomwriter.metadata import Leaf, PhysicalType, Repetition
from parquet_bloomwriter.metadata.elements import MOST_INSIDE, leaves_by_part
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.metadata.tree import column_tree, has_ids

if TYPE_CHECKING:
    from collections.abc import Iterable

    from parquet_bloomwriter.metadata import Footer
    from parquet_bloomwriter.metadata.elements import Part


_SPELLINGS: dict[Part, tuple[str, ...]] = {
    "element": ("list.element", "list.item", "bag.array_element", "bag.array", "element", "array"),
    "key": ("key_value.key", "map.key", "key"),
    "value": ("key_value.value", "map.value", "value"),
}
"""The paths by which writers name the leaf column of a part of a list or map; the files of a table
may differ."""

_SHOWN = 5
"""Maximum number of names that a reason lists."""


def resolve_column(leaves: tuple[Leaf, ...], name: str) -> Leaf | str:
    """Find the leaf column of a file for the name of an indexed column.

    Args:
        leaves: All leaf columns of the file.
        name: The indexed column's dotted path.

    Returns:
        The leaf; or why it cannot be indexed, a clause.
    """
    lower = name.lower()
    found = [leaf for leaf in leaves if leaf.name.lower() == lower]
    if len(found) > 1:
        return f'{len(found)} columns are named "{name}" if case does not matter'
    if not found:
        found = _parts(leaves, lower)
        if len(found) != 1:
            return _why_missing(leaves, name)
    return _indexable(found[0], leaves)


def columns_holding(names: Iterable[str], list_or_map: str, part: Part) -> list[str]:
    """Return the indexed columns that hold a part (elements, keys or values) of a list or a map.

    Args:
        names: Names of the indexed columns.
        list_or_map: Dotted path of the list or map.
        part: The part: elements, keys or values.
    """
    above = f"{list_or_map}."
    return [
        name
        for name in names
        if (name == list_or_map and part == "element")
        or (
            name.startswith(above)
            and len(inside := name.removeprefix(above).split(".")) <= MOST_INSIDE
            and part in ("element", inside[-1])
        )
    ]


def _parts(leaves: tuple[Leaf, ...], lower: str) -> list[Leaf]:
    """Return the leaf columns of parts of a list or map, by a name in lower case.

    The name is that of a list, or one that another writer gives to the leaf column.
    """
    return [
        leaf
        for (name, part), several in leaves_by_part(leaves).items()
        for leaf in several
        if (part == "element" and lower == name.lower())
        or lower in {f"{name.lower()}.{spelled}" for spelled in _SPELLINGS[part]}
    ]


def _indexable(leaf: Leaf, leaves: tuple[Leaf, ...]) -> Leaf | str:
    if Repetition.REPEATED in leaf.repetitions:
        if not any(leaf in several for several in leaves_by_part(leaves).values()):
            return "its values are parts of elements of a list or map, which no condition is about"
        if any("." in name for name in leaf.path):
            return "it lies in a list or map, and a name on the way to it has a dot"
    if leaf.physical_type == PhysicalType.INT96:
        return "INT96 timestamps are not indexed: readers do not look them up"
    return why_no_filter(leaf) or leaf


def find_column(footer: Footer, name: str, field_id: int | None) -> Leaf | str:
    """Find the leaf column of a file for an indexed column, by name or by field id.

    Args:
        footer: The file's footer.
        name: The indexed column's dotted path.
        field_id: By which a table knows the column, whatever its name is in the file; None: by
            name.

    Returns:
        The leaf; or why it cannot be indexed, a clause.
    """
    if field_id is None:
        return resolve_column(footer.leaves, name)
    root = column_tree(footer)
    if not has_ids(root):
        return "the file has no field ids, by which an index knows columns of an Iceberg table"
    leaf = leaves_by_id(root).get(field_id)
    return missing(name) if leaf is None else _indexable(leaf, footer.leaves)


def missing(name: str) -> str:
    """Return the reason that `resolve_column` gives if there is no such column."""
    return f'there is no column "{name}"'


def why_unreadable(footer: Footer, leaf: Leaf) -> str | None:
    """Return why the values of a column cannot be read from a file, or None if they can."""
    chunks = footer.chunks
    if chunks.has(ChunkField.FILE_PATH).any():
        return "this is a summary file: its column chunks lie in other files"
    if footer.encrypted[:, leaf.ordinal].any():
        return "the column is encrypted"
    return None


@lru_cache(maxsize=256)
def column_type(leaf: Leaf) -> str:
    """Return the type of a leaf column as JSON."""
    return json.dumps(
        {
            "path": leaf.path,
            "repetitions": [repetition.name for repetition in leaf.repetitions],
            "physical_type": leaf.physical_type.name,
            "type_length": leaf.type_length,
            "converted_type": leaf.converted_type,
            "scale": leaf.scale,
            "precision": leaf.precision,
            "logical_type": leaf.logical_type.hex(),
        },
        separators=(",", ":"),
    )


@lru_cache(maxsize=256)
def leaf_of(text: str) -> Leaf:
    """Return a leaf column of the type that `column_type` wrote; its ordinal is 0.

    Raises:
        ValueError: If the text is anything else.
    """
    try:
        fields = json.loads(text)
        return Leaf(
            ordinal=0,
            path=tuple(map(_text, fields["path"])),
            repetitions=tuple(Repetition[name] for name in fields["repetitions"]),
            physical_type=PhysicalType[fields["physical_type"]],
            type_length=_number(fields["type_length"]),
            converted_type=_number(fields["converted_type"]),
            scale=_number(fields["scale"]),
            precision=_number(fields["precision"]),
            logical_type=bytes.fromhex(fields["logical_type"]),
        )
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"{text[:80]!r} is not the type of a column") from error


register(column_type.cache_clear)
register(leaf_of.cache_clear)


def _why_missing(leaves: tuple[Leaf, ...], name: str) -> str:
    prefix = f"{name}.".lower()
    inside = [leaf.name for leaf in leaves if leaf.name.lower().startswith(prefix)]
    if not inside:
        return missing(name)
    more = ", ..." if len(inside) > _SHOWN else ""
    return f"it is a group, of the columns {', '.join(inside[:_SHOWN])}{more}"


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a name is not text")
    return value


def _number(value: object) -> int | None:
    if value is not None and type(value) is not int:
        raise TypeError("a number is not an integer")
    return value
