"""The type that a column has in one file, as the parts of an index keep it: JSON.

Literals are hashed by it, so it says everything that the footer says about a leaf but where its
column chunks stand. Files of equal types have equal text.

Which leaf of a file an indexed column is, or why it is none that can be indexed.

Readers differ in whether case matters in names. A name that is there in two spellings is nobody's;
one that is there in another spelling only is taken.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING

from parquet_bloomwriter.column_names import why_no_filter
from parquet_bloomwriter.metadata import Leaf, PhysicalType, Repetition
from parquet_bloomwriter.metadata.fields import ChunkField

if TYPE_CHECKING:
    from parquet_bloomwriter.metadata import Footer


@lru_cache(maxsize=256)
def column_type(leaf: Leaf) -> str:
    """Write a leaf's type."""
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
    """Read a leaf's type; its ordinal is 0.

    Raises:
        ValueError: If the text is no type of a leaf.
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
        raise ValueError(f"{text[:80]!r} is no type of a column") from error


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a name is no text")
    return value


def _number(value: object) -> int | None:
    if value is not None and type(value) is not int:
        raise TypeError("a number is none")
    return value


_MAX_KNOWN = 1024
_SHOWN = 5

_known: dict[tuple[int, str], tuple[tuple[Leaf, ...], Leaf | str]] = {}
"""Answers; the leaves are kept with them, so that their address is nobody else's."""


def resolve_column(leaves: tuple[Leaf, ...], name: str) -> Leaf | str:
    """Find the leaf column of a name.

    Args:
        leaves: All of a file.
        name: Its dotted path.

    Returns:
        The leaf; or why it cannot be indexed, a clause.
    """
    key = (id(leaves), name)
    known = _known.get(key)
    if known is None:
        if len(_known) >= _MAX_KNOWN:
            _known.clear()
        known = _known[key] = (leaves, _find(leaves, name))
    return known[1]


def missing(name: str) -> str:
    """Say that there is no such column: the reason that `resolve_column` gives."""
    return f'there is no column "{name}"'


def why_unreadable(footer: Footer, leaf: Leaf) -> str | None:
    """Why the values of a column are not to be had from this file; None if they are."""
    chunks = footer.chunks
    if chunks.has(ChunkField.FILE_PATH).any():
        return "this is a summary file: its column chunks lie in other files"
    if footer.encrypted[:, leaf.ordinal].any():
        return "the column is encrypted"
    return None


def _find(leaves: tuple[Leaf, ...], name: str) -> Leaf | str:
    lower = name.lower()
    found = [leaf for leaf in leaves if leaf.name.lower() == lower]
    if len(found) > 1:
        return f'{len(found)} columns are named "{name}" if case does not matter'
    if not found:
        return _why_missing(leaves, name)
    (leaf,) = found
    if Repetition.REPEATED in leaf.repetitions:
        return "lists and maps are not indexed: its values repeat"
    if leaf.physical_type == PhysicalType.INT96:
        return "INT96 timestamps are not indexed: readers do not look them up"
    return why_no_filter(leaf) or leaf


def _why_missing(leaves: tuple[Leaf, ...], name: str) -> str:
    prefix = f"{name}.".lower()
    inside = [leaf.name for leaf in leaves if leaf.name.lower().startswith(prefix)]
    if not inside:
        return missing(name)
    more = ", ..." if len(inside) > _SHOWN else ""
    return f"it is a group, of the columns {', '.join(inside[:_SHOWN])}{more}"
