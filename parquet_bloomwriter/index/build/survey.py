"""What is known before any work is done: rows, columns and their types, and how large it will be.

    every file      can it be read? how many rows has it?
    every column    is it in some file, with a type that can be indexed? how many values has it?
    all together    will the index be larger than is allowed?

A file that cannot be read, or lacks a column, is no error as long as there are others: it gets no
filters, and is always kept. Sizes are estimated from above, as if all values were different.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.column_names import select_columns
from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.index.footers import facts_of
from parquet_bloomwriter.index.indexable import missing
from parquet_bloomwriter.index.build.table_filter import MAX_USEFUL_RATE
from parquet_bloomwriter.sbbf import expected_fpp, initial_num_blocks
from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK
from parquet_bloomwriter.sbbf.sizing import MIN_BYTES
from parquet_bloomwriter.text import count, size

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from parquet_bloomwriter.index.engine import Origin
    from parquet_bloomwriter.index.log.entry import IndexedColumn
    from parquet_bloomwriter.index.files import FileId
    from parquet_bloomwriter.index.footers import ColumnFacts, FileFacts

_HEADER_BYTES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What an index may take."""

    max_file_bytes: int
    """Largest filter of one file and column, bytes."""

    max_total_bytes: int
    """Largest index, bytes, as estimated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnSurvey:
    """One column in all files."""

    name: str
    num_files: int
    """Files that it can be indexed in."""

    num_values: int
    """Its values in these files, nulls included."""

    ndv: int
    """Distinct values that the filter of all values is made for: expected ones, or `num_values`."""

    global_blocks: int | None
    """Blocks of that filter while it is being built; None: there will be too many values."""

    file_bytes: int
    """Filters of files, estimated from above."""

    @property
    def global_bytes(self) -> int:
        """Filter of all values, estimated from above."""
        return (self.global_blocks or 0) * BYTES_PER_BLOCK


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Survey:
    """What is known of n files."""

    num_rows: NDArray[np.int64]
    """By their footers, shape (n,); -1 for a file that cannot be read."""

    unreadable: Mapping[FileId, str]
    """Files that cannot be read, and why: a clause."""

    columns: tuple[ColumnSurvey, ...]
    """In the order asked for."""

    @property
    def total_bytes(self) -> int:
        """The whole index, estimated from above."""
        return sum(column.file_bytes + column.global_bytes for column in self.columns)


def survey(  # noqa: PLR0913  all by keyword
    root: str,
    files: Sequence[FileId],
    columns: Sequence[IndexedColumn],
    *,
    limits: Limits,
    origin: Origin = "auto",
    strict: bool = True,
) -> Survey:
    """Read the footers of all files, and check that the columns can be indexed.

    Args:
        root: What paths of files are relative to, absolute.
        files: The files.
        columns: The columns, with their rates and expected numbers of distinct values.
        limits: What the index may take.
        origin: Where filters come from.
        strict: Whether each column must be one that can be indexed in some file, at least.

    Raises:
        InvalidArgument: If no file can be read, a column cannot be indexed in any of them, or the
            index would be too large.
    """
    facts = facts_of(root, files, [column.name for column in columns])
    found = Survey(
        num_rows=np.array([one.num_rows for one in facts], np.int64),
        unreadable={
            file: one.problem for file, one in zip(files, facts, strict=True) if one.problem
        },
        columns=tuple(
            _in_all(column, [one.columns[at] for one in facts if one.columns], limits, origin)
            for at, column in enumerate(columns)
        ),
    )
    if strict:
        _check_files(files, facts)
        for at, column in enumerate(columns):
            _check_column(column.name, [one for one in facts if one.columns], at)
    _check_size(found, limits, num_files=len(files))
    return found


def _in_all(
    column: IndexedColumn, facts: Sequence[ColumnFacts], limits: Limits, origin: Origin
) -> ColumnSurvey:
    usable = [one for one in facts if not one.problem]
    num_values = sum(one.num_values for one in usable)
    ndv = column.expected_num_items or num_values
    blocks: int | None = initial_num_blocks(ndv, column.fpp)
    if column.expected_num_items and expected_fpp(ndv, blocks or 1) > MAX_USEFUL_RATE:
        blocks = None
    return ColumnSurvey(
        name=column.name,
        num_files=len(usable),
        num_values=num_values,
        ndv=ndv,
        global_blocks=blocks,
        file_bytes=sum(_bytes_in_file(column, one, limits, origin) for one in usable),
    )


def _bytes_in_file(
    column: IndexedColumn, facts: ColumnFacts, limits: Limits, origin: Origin
) -> int:
    """Bytes of a file's filters, at most."""
    if origin != "values" and facts.filter_bytes is not None:
        smallest = facts.num_row_groups * (MIN_BYTES["pow2"] + _HEADER_BYTES)
        return min(facts.filter_bytes, limits.max_file_bytes + smallest)
    if origin == "embedded" or not facts.num_values:
        return 0
    ndv = min(facts.num_values, column.expected_num_items or facts.num_values)
    blocks = initial_num_blocks(ndv, column.fpp, max_bytes=limits.max_file_bytes)
    return blocks * BYTES_PER_BLOCK + _HEADER_BYTES


def _check_files(files: Sequence[FileId], facts: Sequence[FileFacts]) -> None:
    if not files:
        raise InvalidArgument("there are no Parquet files to index")
    if all(one.problem for one in facts):
        some = "the file" if len(files) == 1 else f"none of the {count(len(files), 'file')}"
        verb = "cannot" if len(files) == 1 else "can"
        problem = f"{some} {verb} be read; {files[0].path}: {facts[0].problem}"
        raise InvalidArgument(problem, remedy="Check that they are Parquet files, and whole.")


def _check_column(name: str, facts: Sequence[FileFacts], at: int) -> None:
    """Raise if a column can be indexed in no file, for what is so in most that have it."""
    problems = [one.columns[at].problem for one in facts]
    if not all(problems):
        return
    known = [problem for problem in problems if problem != missing(name)]
    if not known:
        select_columns(facts[0].leaves, [name])
    commonest = max(known or problems, key=(known or problems).count)
    leaves = facts[problems.index(commonest)].leaves
    inside = [leaf.name for leaf in leaves if leaf.name.startswith(f"{name}.")]
    raise InvalidArgument(
        f'the column "{name}" cannot be indexed: {commonest}',
        remedy=f"Name one of its columns, as in {inside[0]}." if inside else "",
    )


def _check_size(found: Survey, limits: Limits, *, num_files: int) -> None:
    if found.total_bytes <= limits.max_total_bytes:
        return
    each = ", ".join(
        f"{column.name} {size(column.file_bytes + column.global_bytes)}" for column in found.columns
    )
    raise InvalidArgument(
        f"the index of {count(num_files, 'file')} may have up to {size(found.total_bytes)} "
        f"({each}), and {size(limits.max_total_bytes)} are allowed",
        remedy="Say how many distinct values to expect, ask for a higher false positive "
        "probability, index fewer columns, or allow more.",
    )
