"""Decide which columns can have filters, and what readers of their filters should know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloomwriter.filters.hazards import notes_of_hazards
from parquet_bloomwriter.metadata import PhysicalType, Repetition
from parquet_bloomwriter.metadata.elements import holds_parts

if TYPE_CHECKING:
    from parquet_bloomwriter.metadata import Leaf


def why_no_filter(leaf: Leaf) -> str | None:
    """Return why columns of this type get no filter; None if they can have filters."""
    if leaf.physical_type == PhysicalType.BOOLEAN:
        return "BOOLEAN columns get no filters: readers and writers disagree on them"
    if leaf.is_interval:
        return "INTERVAL columns get no filters: readers hash them differently"
    if leaf.is_float16:
        return "FLOAT16 columns get no filters: DuckDB looks them up as FLOAT, and would lose rows"
    if leaf.is_decimal and leaf.physical_type == PhysicalType.BYTE_ARRAY:
        return "decimals as BYTE_ARRAY get no filters: equal ones may differ in their bytes"
    if leaf.has_unknown_logical_type:
        return "columns of unknown logical types get no filters: equality may not be that of bytes"
    return None


def why_not_looked_up(leaf: Leaf) -> str | None:
    """Return why no engine looks values of this column up; None if some engines do."""
    if Repetition.REPEATED not in leaf.repetitions:
        return None
    if holds_parts(leaf):
        return (
            "in lists and maps, readers look up no values; this library and its index do, for "
            "list_contains(...) or map_contains(...)"
        )
    return "in lists and maps, readers look up no values (`bloomify probe` does not either)"


def notes_on(leaf: Leaf, *, is_adjacent: bool = False, is_exact: bool = False) -> tuple[str, ...]:
    """Return notes for readers of this column's filters.

    Args:
        leaf: The column.
        is_adjacent: Whether a filter of the column lies next to another filter.
        is_exact: Whether the size of a filter of the column is no power of two.
    """
    unused = why_not_looked_up(leaf)
    if unused is not None:
        return (unused,)
    return tuple(notes_of_hazards(leaf, is_adjacent=is_adjacent, is_exact=is_exact))
