"""The filters of one file, all of them from one and the same state of it.

    is it what it was listed as?  ->  read  ->  is it still?

If not, nothing is said about it. Whatever goes wrong while it is read is a reason why it has no
filter, not an error: a file of which an index knows nothing is read by every query, and missed by
none.
"""

# ruff: noqa: PTH116  paths are strings, as in the entries
from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import BloomwriterError
from parquet_bloomwriter.index.embedded import Filter, embedded_filters
from parquet_bloomwriter.index.files import FileId, identity, settled
from parquet_bloomwriter.index.indexable import find_leaf, why_unreadable
from parquet_bloomwriter.index.value_filters import value_filter
from parquet_bloomwriter.source import read_footer
from parquet_bloomwriter.source.local import open_local

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parquet_bloomwriter.metadata import Footer, Leaf
    from parquet_bloomwriter.index.engine import ColumnPlan, Origin
    from parquet_bloomwriter.index.build.table_filter import Partial
    from parquet_bloomwriter.source import Source


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FileFilters:
    """What a file has in one column."""

    leaf: Leaf
    filters: tuple[Filter, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is wanted of a file."""

    columns: tuple[ColumnPlan, ...]
    origin: Origin
    partials: Mapping[str, Partial]
    """By column: what gets the values too."""

    folder: str | None
    """Where the index is written, absolute; None: only memory is."""


def read_filters_of(
    path: str, file: FileId | None, wanted: Wanted
) -> dict[str, FileFilters | str] | None:
    """Read or build the filters of a file.

    Args:
        path: Absolute.
        file: What it must be; None: whatever it is now.
        wanted: Which columns, and how.

    Returns:
        By column: the filters, or why there are none, a clause. None if the file is not, or no
        longer, what it must be, or if a later change of it might not show.
    """
    before: os.stat_result | None = None
    found: dict[str, FileFilters | str]
    try:
        with open_local(path) as source:
            before = settled(source.fd, path, wanted.folder)
            if before is None or before.st_size != source.size or not _is_as_listed(before, file):
                return None
            found = _read(source, wanted)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except Exception as error:  # noqa: BLE001  see the head of the module
        found = dict.fromkeys((column.name for column in wanted.columns), clause(error))
    return found if _is_unchanged(path, before) else None


def clause(error: Exception) -> str:
    """Say what went wrong, without where."""
    if isinstance(error, BloomwriterError):
        return error.problem
    if isinstance(error, OSError) and error.strerror and error.errno:
        return error.strerror
    return " ".join(str(error).split()) or type(error).__name__


def _is_as_listed(found: os.stat_result, file: FileId | None) -> bool:
    return file is None or identity(file.path, found) == file


def _is_unchanged(path: str, before: os.stat_result | None) -> bool:
    """Whether a path still leads to the same file in the same state."""
    if before is None:
        return True  # It could not be opened, so that nothing was read.
    try:
        now = os.stat(path)
    except OSError:
        return False
    same = (now.st_size, now.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    return same and os.path.samestat(now, before)


def _read(source: Source, wanted: Wanted) -> dict[str, FileFilters | str]:
    footer = read_footer(source)
    return {column.name: _column(source, footer, column, wanted) for column in wanted.columns}


def _column(source: Source, footer: Footer, plan: ColumnPlan, wanted: Wanted) -> FileFilters | str:
    leaf = find_leaf(footer.leaves, plan.name)
    if isinstance(leaf, str):
        return leaf
    problem = why_unreadable(footer, leaf)
    if problem is not None:
        return problem
    try:
        found = _filters(source, footer, leaf, plan, wanted)
    except Exception as error:  # noqa: BLE001  as above
        return clause(error)
    return found if isinstance(found, str) else FileFilters(leaf=leaf, filters=tuple(found))


def _filters(
    source: Source, footer: Footer, leaf: Leaf, plan: ColumnPlan, wanted: Wanted
) -> Sequence[Filter] | str:
    partial = wanted.partials.get(plan.name)
    if wanted.origin != "values":
        found = embedded_filters(source, footer, leaf, plan, partial)
        if wanted.origin == "embedded" or not isinstance(found, str):
            return found
    return [value_filter(source, footer, leaf, plan, partial)]
