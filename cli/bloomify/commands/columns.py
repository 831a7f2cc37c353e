"""The columns of a file, listed for somebody who has named none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bloomify.console.text import name, safe, width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_bloomwriter.metadata import Leaf
    from parquet_bloomwriter.source import Location

_SHOWN = 40

_CONVERTED = (
    *("UTF8", "MAP", "MAP_KEY_VALUE", "LIST", "ENUM", "DECIMAL", "DATE", "TIME_MILLIS"),
    *("TIME_MICROS", "TIMESTAMP_MILLIS", "TIMESTAMP_MICROS", "UINT_8", "UINT_16", "UINT_32"),
    *("UINT_64", "INT_8", "INT_16", "INT_32", "INT_64", "JSON", "BSON", "INTERVAL"),
)
"""parquet.thrift, ConvertedType, from 0."""

_WHOLE_NUMBERS = ("INT32", "INT64", "INT32 INTEGER", "INT64 INTEGER")

_LOGICAL = {
    1: "STRING",
    4: "ENUM",
    5: "DECIMAL",
    6: "DATE",
    7: "TIME",
    8: "TIMESTAMP",
    10: "INTEGER",
    11: "UNKNOWN",
    12: "JSON",
    13: "BSON",
    14: "UUID",
    15: "FLOAT16",
    16: "VARIANT",
    17: "GEOMETRY",
    18: "GEOGRAPHY",
}
"""parquet.thrift, union LogicalType, by field id."""


def read_leaves(path: str) -> tuple[Leaf, ...]:
    """Read the leaf columns of a file.

    Raises:
        FileProblem: If it cannot be worked on.
        OSError: If it cannot be read.
    """
    from parquet_bloomwriter.rewrite.session import rewrite_session

    with rewrite_session(path) as session:
        return session.layout.footer.leaves


def type_name(leaf: Leaf) -> str:
    """The physical type, and what it stands for."""
    physical = leaf.physical_type.name
    if leaf.type_length:
        physical += f"({leaf.type_length})"
    logical = _LOGICAL.get(leaf.logical_type_id)
    converted = leaf.converted_type
    if logical is None and converted is not None and 0 <= converted < len(_CONVERTED):
        logical = _CONVERTED[converted]
    return f"{physical} {logical}" if logical else physical


def choice_of_columns(path: str, inputs: Sequence[str]) -> str:
    """The columns of `path`, and a command line that would name one of them.

    Raises:
        FileProblem, OSError: As `read_leaves`.
    """
    import shlex

    leaves = read_leaves(path)
    example = listed_example_of(leaves)
    words = shlex.join(["bloomify", *inputs[:1], "--columns", example])
    parts = [f"The columns of {safe(path)}:", list_columns(leaves, with_ordinals=True)]
    return "\n\n".join(parts + ([f"For example: {safe(words)}"] if example else []))


def choice_of_conditions(location: Location, inputs: Sequence[str]) -> str:
    """The columns of a file, and a command line that would ask for a value of one of them.

    Raises:
        FileProblem, OSError: If the footer cannot be read.
    """
    import shlex

    from bloomify.runner import shown
    from parquet_bloomwriter.predicate.to_sql import spell_name
    from parquet_bloomwriter.source.open import opened_with_footer

    with opened_with_footer(location) as (_, footer):
        leaves = footer.leaves
    example = next((leaf for leaf in leaves if leaf.name == example_of(leaves)), None)
    parts = [f"The columns of {safe(str(location))}:", list_columns(leaves)]
    if example is not None:
        value = "42" if type_name(example) in _WHOLE_NUMBERS else "'value'"
        condition = f"{spell_name(example.name)} = {value}"
        is_plain = not set(condition) & set('"$`\\!')
        quoted = f'"{condition}"' if is_plain else shlex.quote(condition)
        words = f"{shlex.join(['bloomify', 'probe', *map(shown, inputs[:1])])} --where {quoted}"
        parts.append(f"For example: {safe(words)}")
    return "\n\n".join(parts)


def list_columns(leaves: Sequence[Leaf], *, with_ordinals: bool = False) -> str:
    """One line per column: name, type, and whether it can have filters.

    Args:
        leaves: The columns.
        with_ordinals: Say what to type for names that cannot be typed as they are.
    """
    from parquet_bloomwriter.column_names import can_be_listed, listed_name, why_no_filter

    named = [(leaf, name(leaf.name)) for leaf in leaves[:_SHOWN]]
    space = max((width(shown) for _, shown in named), default=0)
    lines = [
        f"  {shown}{' ' * (space - width(shown))}  {type_name(leaf)}"
        + ("  (no filters)" if why_no_filter(leaf) else "")
        + (
            f"  (type '{listed_name(leaf)}')"
            if with_ordinals and not can_be_listed(leaf.name)
            else ""
        )
        for leaf, shown in named
    ]
    if len(leaves) > len(named):
        lines.append(f"  ... and {len(leaves) - len(named):,} more")
    return "\n".join(lines)


def example_of(leaves: Sequence[Leaf]) -> str:
    """The name of a column that can have filters and be typed; "" if there is none."""
    from parquet_bloomwriter.column_names import why_no_filter

    names = (leaf.name for leaf in leaves if leaf.name and not why_no_filter(leaf))
    return next((one for one in names if one.isprintable() and "," not in one), "")


def listed_example_of(leaves: Sequence[Leaf]) -> str:
    """The same for a list of columns: if no name can be typed, an ordinal."""
    from parquet_bloomwriter.column_names import listed_name, why_no_filter

    others = (listed_name(leaf) for leaf in leaves if not why_no_filter(leaf))
    return example_of(leaves) or next(others, "")
