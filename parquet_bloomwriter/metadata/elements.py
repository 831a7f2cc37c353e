"""Find the leaf columns of the elements of lists, and of the keys and values of maps.

    list   tags { repeated list { element } }    also without `list`, or a repeated leaf alone
    map    m { repeated key_value { key, value } }

A leaf is named here by its list or map, and by its part: the element, the key or the value. That
is the same in the files of all writers, which name the groups in between in several ways. A leaf
has a part only if each of its values belongs to just one list or map of a row: leaves below two
repeated groups, and fields of structs in lists, have none.

Footers do not keep in `Leaf` whether a group is annotated as LIST or MAP, so a leaf may have
several parts. All readers agree on what a column is that they read as a list or a map at all.

Source: Parquet format, "LogicalTypes" ("Lists", "Maps", and their backward compatibility rules).
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Literal, TypeAlias

from parquet_bloomwriter.metadata.schema import Repetition

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from parquet_bloomwriter.metadata.schema import Leaf

Part: TypeAlias = Literal["element", "key", "value"]
"""The part of a list or map that a leaf holds."""

MOST_INSIDE = 2
"""Most names of a leaf from the repeated field on, as in `list.element` and `key_value.key`."""

_ENTRY: tuple[Part, Part] = ("key", "value")


def holds_parts(leaf: Leaf) -> bool:
    """Return whether a leaf's values are parts of lists or maps, at most one of them in a row."""
    if leaf.repetitions.count(Repetition.REPEATED) != 1:
        return False
    return leaf.repetitions.index(Repetition.REPEATED) >= len(leaf.repetitions) - MOST_INSIDE


def leaves_by_part(leaves: Iterable[Leaf]) -> dict[tuple[str, Part], list[Leaf]]:
    """Return the leaves that hold parts of lists and maps, by dotted path and part.

    Args:
        leaves: All leaf columns of a file.
    """
    found: defaultdict[tuple[str, Part], list[Leaf]] = defaultdict(list)
    for group, below in _below_repeated(leaves).items():
        for leaf in below:
            if holds_parts(leaf):
                for path, part in _parts(leaf, group, below):
                    found[".".join(path), part].append(leaf)
    return dict(found)


def _below_repeated(leaves: Iterable[Leaf]) -> dict[tuple[str, ...], list[Leaf]]:
    """Return the leaves in lists and maps, by the group with the outermost repeated field."""
    found: defaultdict[tuple[str, ...], list[Leaf]] = defaultdict(list)
    for leaf in leaves:
        if Repetition.REPEATED in leaf.repetitions:
            found[leaf.path[: leaf.repetitions.index(Repetition.REPEATED)]].append(leaf)
    return found


def _parts(
    leaf: Leaf, group: tuple[str, ...], siblings: Sequence[Leaf]
) -> Iterator[tuple[tuple[str, ...], Part]]:
    inside = leaf.path[len(group) + 1 :]
    if not inside:
        yield leaf.path, "element"
    if not group:
        return
    if len(siblings) == 1:
        yield group, "element"
    # A map's columns go by position in some readers, by name in others.
    names = list(dict.fromkeys(sibling.path[len(group) + 1 :][:1] for sibling in siblings))
    for part, name in zip(_ENTRY, names, strict=False):
        if (part,) == inside and (part,) == name:
            yield group, part
