"""Slices of indexes that were written by hand."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from parquet_bloomwriter.index.build.slices import plan_slices, write_slices
from parquet_bloomwriter.index.changes import known_files
from parquet_bloomwriter.index.log.log import IndexLog
from tests.index.support import Made

if TYPE_CHECKING:
    from parquet_bloomwriter.index.entry import Entry, IndexedColumn, SliceFile


def slices_of(folder: str, entry: Entry, column: IndexedColumn) -> SliceFile | None:
    """Write the slices of a column."""
    plan = plan_slices(folder, column.parts, known_files(entry, folder))
    if plan is None:
        return None
    version = os.path.join(folder, f"v__={entry.version}")  # noqa: PTH118
    return write_slices(version, column.name, plan, stop=entry.next_file_id)


def with_slices(index: Made) -> Made:
    """Write the slices of all columns, and the entry that names them."""
    columns = tuple(
        replace(column, slices=slices_of(index.folder, index.entry, column))
        for column in index.entry.columns
    )
    entry = replace(index.entry, id=index.entry.id + 1, columns=columns)
    assert IndexLog(index.folder).write(entry)
    return Made(folder=index.folder, entry=entry)
