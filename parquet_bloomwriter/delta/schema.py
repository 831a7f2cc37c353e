"""The table's columns, and the columns of files that they are.

A table may rename columns without a change of its files (column mapping). Then each field of its
schema has a physical name, and perhaps an id: by these its column is found in a file.

    none    the file has the table's names
    name    the file has the physical names
    id      the file has the ids (`field_id` in its schema)

Names of leaves are dotted paths as in Parquet: `address.city`, `items.list.element.sku`,
`tags.key_value.value`. Writers name the levels within lists and maps in different ways, so these are
passed over where a leaf is looked for.

Source: Delta protocol, "Column Mapping", "Schema Serialization Format".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from parquet_bloomwriter.arguments import names_of
from parquet_bloomwriter.metadata import Repetition
from parquet_bloomwriter.errors import ColumnNotFound, InvalidArgument, UnsupportedTable
from parquet_bloomwriter.text import suggestion

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parquet_bloomwriter.delta.actions import Metadata
    from parquet_bloomwriter.metadata import Footer, Leaf, Schema

_MODE = "delta.columnMapping.mode"
_PHYSICAL = "delta.columnMapping.physicalName"
_ID = "delta.columnMapping.id"
_NO_LEAVES = frozenset({"variant", "void"})


class Step(NamedTuple):
    """One step on the way to a leaf."""

    kind: Literal["field", "list", "key", "value"]
    name: str = ""
    """Of a field, as files have it."""

    id: int | None = None
    """Of a field, where columns are mapped by ids."""


@dataclass(frozen=True, slots=True)
class TableLeaf:
    """A leaf of the table's schema."""

    name: str
    """Logical, dotted."""

    stored: str
    """The same with the names that files have."""

    steps: tuple[Step, ...]
    type: Any
    """As the schema spells it: a string."""


class TableColumns:
    """The columns of a table."""

    def __init__(self, metadata: Metadata) -> None:
        """Read the schema.

        Raises:
            UnsupportedTable: If columns are mapped in an unknown way.
        """
        self.mode = metadata.properties.get(_MODE, "none").lower()
        if self.mode not in {"none", "name", "id"}:
            raise UnsupportedTable(f"the table maps columns by {self.mode!r}, which is not known")
        partitions = {name.casefold() for name in metadata.partition_columns}
        fields = metadata.schema["fields"]
        self.partitions = {
            field["name"]: _stored_name(field, self.mode)
            for field in fields
            if field["name"].casefold() in partitions
        }
        """Stored names of the partition columns, by logical name."""
        self.leaves = tuple(
            leaf
            for field in fields
            if field["name"] not in self.partitions
            for leaf in _leaves(field, self.mode, (), ())
        )
        self._by_name = {leaf.name: leaf for leaf in self.leaves}
        self._inside: dict[Schema, dict[str, Leaf]] = {}

    def select(self, names: str | Sequence[str] | None) -> tuple[str, ...]:
        """Find leaves by their names, or by the names of groups for all leaves in them.

        Args:
            names: Logical, dotted; None for all leaves.

        Raises:
            ColumnNotFound: If the table has no such column.
            InvalidArgument: If it is a partition column, which no file stores.
        """
        if names is None:
            return tuple(self._by_name)
        return tuple(dict.fromkeys(leaf for name in names_of(names) for leaf in self._named(name)))

    def stored_name(self, name: str) -> str:
        """Return the name of a leaf in files, which stays when the table renames it."""
        return self._by_name[name].stored

    def in_file(self, footer: Footer) -> Mapping[str, Leaf]:
        """Return the leaves of a file by logical names; those that it lacks are missing."""
        found = self._inside.get(footer.schema)
        if found is None:
            found = self._find(footer.leaves)
            self._inside[footer.schema] = found
        return found

    def _find(self, leaves: Sequence[Leaf]) -> dict[str, Leaf]:
        inside: dict[str, Leaf] = {}
        for own in self.leaves:
            matching = [leaf for leaf in leaves if _leads_to(own.steps, leaf, 0)]
            if len(matching) == 1:
                inside[own.name] = matching[0]
        return inside

    def _named(self, name: str) -> list[str]:
        if name in self._by_name:
            return [name]
        inside = [leaf for leaf in self._by_name if leaf.startswith(f"{name}.")]
        if inside:
            return inside
        if name in self.partitions:
            raise InvalidArgument(
                f'"{name}" is a partition column: no file stores it', remedy="Leave it out."
            )
        raise ColumnNotFound(
            f'the table has no column "{name}" that files could have filters of',
            name=name,
            remedy=suggestion(name, self._by_name, typed={}),
        )


def _leaves(
    field: Mapping[str, Any], mode: str, names: tuple[str, ...], steps: tuple[Step, ...]
) -> Iterator[TableLeaf]:
    """Yield the leaves of a field of the schema.

    Args:
        field: Of a struct.
        mode: Of the mapping.
        names: Logical names on the way to it.
        steps: The way to it.
    """
    number = field.get("metadata", {}).get(_ID) if mode == "id" else None
    step = Step("field", _stored_name(field, mode), number)
    yield from _within(field["type"], mode, (*names, field["name"]), (*steps, step))


def _within(
    kind: Any,  # noqa: ANN401  a string, or an object, as in the schema
    mode: str,
    names: tuple[str, ...],
    steps: tuple[Step, ...],
) -> Iterator[TableLeaf]:
    if not isinstance(kind, dict):
        if kind not in _NO_LEAVES:
            yield TableLeaf(".".join(names), ".".join(map(_spelled, steps)), steps, kind)
    elif kind["type"] == "struct":
        for field in kind["fields"]:
            yield from _leaves(field, mode, names, steps)
    elif kind["type"] == "array":
        inner = (*names, "list", "element")
        yield from _within(kind["elementType"], mode, inner, (*steps, Step("list")))
    elif kind["type"] == "map":
        for part in ("key", "value"):
            inner = (*names, "key_value", part)
            yield from _within(kind[f"{part}Type"], mode, inner, (*steps, Step(part)))


def _stored_name(field: Mapping[str, Any], mode: str) -> str:
    metadata = field.get("metadata", {})
    return str(metadata.get(_PHYSICAL, field["name"]) if mode != "none" else field["name"])


def _spelled(step: Step) -> str:
    words = {"list": "list.element", "key": "key_value.key", "value": "key_value.value"}
    return words.get(step.kind, step.name)


def _leads_to(steps: Sequence[Step], leaf: Leaf, at: int) -> bool:
    """Return whether steps lead to a leaf of a file, from node `at` of its path on.

    A list is a repeated group with one member, or, in old files, the repeated member itself. A map is
    a repeated group with a key and a value.
    """
    if not steps:
        return at == len(leaf.path)
    if at >= len(leaf.path):
        return False
    step, rest = steps[0], steps[1:]
    is_repeated = leaf.repetitions[at] is Repetition.REPEATED
    if step.kind == "field":
        return not is_repeated and _is_field(step, leaf, at) and _leads_to(rest, leaf, at + 1)
    if not is_repeated:
        return False
    if step.kind == "list":
        return _leads_to(rest, leaf, at + 2) or _leads_to(rest, leaf, at + 1)
    return (
        at + 1 < len(leaf.path)
        and leaf.path[at + 1].casefold() == step.kind
        and _leads_to(rest, leaf, at + 2)
    )


def _is_field(step: Step, leaf: Leaf, at: int) -> bool:
    if step.id is not None and leaf.field_ids and leaf.field_ids[at] is not None:
        return leaf.field_ids[at] == step.id
    return leaf.path[at] == step.name
