"""The type that a column has in one file, as the parts of an index keep it: JSON.

Literals are hashed by it, so it says everything that the footer says about a leaf but where its
column chunks stand. Files of equal types have equal text.
"""

from __future__ import annotations

import json
from functools import lru_cache

from parquet_bloomwriter.metadata import Leaf, PhysicalType, Repetition


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
