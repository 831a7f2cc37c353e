"""The filter of all values of a column, of a version: new, or that of the last version and more."""

# ruff: noqa: PTH118  paths are strings, as in the log
from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from parquet_bloomwriter.index.log.entry import GlobalFilter
from parquet_bloomwriter.text import percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_bloomwriter.index.log.entry import DataFile, IndexedColumn
    from parquet_bloomwriter.index.log.transaction import Work

MAX_EXCESS = 10
"""How many times the rate asked for a filter may reach by being given more values. One that is new
is kept as long as it is of any use."""


def with_values(
    work: Work, column: IndexedColumn, partials: Sequence[DataFile], *, stop: int
) -> IndexedColumn:
    """Add values to a column's filter of all files, or make it.

    Args:
        work: The action.
        column: With the filter of the last version, or without any.
        partials: Filters of the new files' values.
        stop: The filter covers all files whose id is below, then.

    Raises:
        IndexProblem: If the last version's filter is no filter.
        OSError: If one cannot be read, or the new one not be written.
    """
    from parquet_bloomwriter.index.build.table_filter import merge_partials

    old = column.global_filter
    files = partials if old is None else [old.file, *partials]
    merged = merge_partials(
        [os.path.join(work.log.folder, file.path) for file in files],
        column.fpp,
        version_folder=work.folder,
        column=column.name,
    )
    if isinstance(merged, str):
        return replace(column, global_filter=None, no_global=merged)
    if old is not None and merged.fpp > MAX_EXCESS * column.fpp:
        why = f"with the new values it would let {percent(merged.fpp)} of all absent ones pass"
        return replace(column, global_filter=None, no_global=f"{why}; refresh it in full")
    whole = GlobalFilter(file=merged.file, fpp=merged.fpp, ndv=merged.ndv, stop=stop)
    return replace(column, global_filter=whole, no_global="")
