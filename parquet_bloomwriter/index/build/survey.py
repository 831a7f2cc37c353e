"""What is known before any work is done: rows, columns and their types, and how large it will be.

    every file      can it be read? how many rows has it?
    every column    is it in some file, with a type that can be indexed? how many values has it?
    all together    will the index be larger than is allowed?

A file that cannot be read, or lacks a column, is no error as long as there are others: it gets no
filters, and is always kept. Sizes are estimated from above, as if all values were different.

What the footer of each file says about the columns to be indexed, read in threads.

From the files of a table to the work on them: what their footers say, tasks, the plan.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.column_names import select_columns
from parquet_bloomwriter.errors import InvalidArgument, Proposal, Way
from parquet_bloomwriter.index.build.file_filters import clause
from parquet_bloomwriter.index.build.table_filter import MAX_USEFUL_RATE
from parquet_bloomwriter.index.engine import BuildPlan, ColumnPlan, FileTask
from parquet_bloomwriter.index.files import location
from parquet_bloomwriter.index.format.columns import missing, resolve_column, why_unreadable
from parquet_bloomwriter.index.report import LeftOut
from parquet_bloomwriter.metadata.fields import ChunkField, FileField
from parquet_bloomwriter.parallel import default_jobs
from parquet_bloomwriter.sbbf import expected_fpp, initial_num_blocks
from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK
from parquet_bloomwriter.sbbf.sizing import MIN_BYTES
from parquet_bloomwriter.source import read_footer
from parquet_bloomwriter.source.local import open_local
from parquet_bloomwriter.text import count, size

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from parquet_bloomwriter.index.config import IndexConfig
    from parquet_bloomwriter.index.engine import Origin
    from parquet_bloomwriter.index.files import FileId
    from parquet_bloomwriter.index.log.entry import IndexedColumn
    from parquet_bloomwriter.metadata import Footer, Leaf

_FILES_AT_ONCE = 32
_LATENCY = 4
"""Threads for each core: a mounted disk makes them wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFacts:
    """One column in one file."""

    problem: str
    """Why it cannot be indexed, a clause; empty if it can."""

    num_values: int = 0
    """Nulls included."""

    filter_bytes: int | None = None
    """Bytes of its filters with their headers; None if not all row groups have one."""

    num_row_groups: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """One file."""

    problem: str
    """Why it cannot be read, a clause; empty if it can."""

    num_rows: int = -1
    leaves: tuple[Leaf, ...] = ()
    columns: tuple[ColumnFacts, ...] = ()
    """In the order asked for; empty if the file cannot be read."""


def facts_of(root: str, files: Sequence[FileId], columns: Sequence[str]) -> list[FileFacts]:
    """Read the footers of files, in threads; a file that cannot be read is no error.

    Args:
        root: What their paths are relative to, absolute.
        files: The files.
        columns: Names of the columns to tell about.
    """
    batches = [files[at : at + _FILES_AT_ONCE] for at in range(0, len(files), _FILES_AT_ONCE)]
    read = partial(_read_all, root, columns)
    with ThreadPoolExecutor(_LATENCY * default_jobs(), thread_name_prefix="bloomify") as pool:
        return [one for batch in pool.map(read, batches) for one in batch]


def _read_all(root: str, columns: Sequence[str], files: Sequence[FileId]) -> list[FileFacts]:
    return [_read(location(root, file), columns) for file in files]


def _read(path: str, columns: Sequence[str]) -> FileFacts:
    try:
        path.encode()
        with open_local(path) as source:
            footer = read_footer(source)
            return _facts(footer, columns)
    except UnicodeEncodeError:
        return FileFacts(problem="its name is no UTF-8")
    except Exception as error:  # noqa: BLE001  whatever it is, the others can be indexed
        return FileFacts(problem=clause(error))


def _facts(footer: Footer, columns: Sequence[str]) -> FileFacts:
    return FileFacts(
        problem="",
        num_rows=max(int(footer.file.value(FileField.NUM_ROWS)[0]), 0),
        leaves=footer.leaves,
        columns=tuple(_column(footer, name) for name in columns),
    )


def _column(footer: Footer, name: str) -> ColumnFacts:
    leaf = resolve_column(footer.leaves, name)
    if isinstance(leaf, str):
        return ColumnFacts(problem=leaf)
    problem = why_unreadable(footer, leaf)
    if problem is not None:
        return ColumnFacts(problem=problem)
    chunks = footer.chunks.values[:, leaf.ordinal]
    lengths = chunks[:, ChunkField.BLOOM_FILTER_LENGTH]
    return ColumnFacts(
        problem="",
        num_values=int(chunks[:, ChunkField.NUM_VALUES].clip(0).sum()),
        filter_bytes=int(lengths.sum()) if (lengths > 0).all() else None,
        num_row_groups=len(chunks),
    )


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
        remedy=(
            "Say ",
            Proposal(Way.EXPECTED_ITEMS, "how many distinct values to expect"),
            ", ask for ",
            Proposal(Way.FPP, "a higher false positive probability"),
            ", index fewer columns, or ",
            Proposal(Way.INDEX_SIZE, "allow more"),
            ".",
        ),
    )


TOO_MANY = "more values are expected than the largest Bloom filter can tell apart"


@dataclass(frozen=True, slots=True, kw_only=True)
class Surveyed:
    """Files of a table, and what their footers say."""

    files: tuple[tuple[FileId, int], ...]
    """Those that can be read, with their rows."""

    left_out: tuple[LeftOut, ...]
    """The others. No version knows them, so that the next refresh looks at them again."""

    num_values: Mapping[str, int]
    """Of each column in all these files, nulls included."""

    has_global: Mapping[str, bool]
    """By column, whether a filter of all values could be of any use."""


def surveyed(
    root: str, files: Sequence[FileId], config: IndexConfig, *, strict: bool = True
) -> Surveyed:
    """Look at files, and check that an index of them can be made.

    Args:
        root: What their paths are relative to, absolute.
        files: The files.
        config: The columns, and limits.
        strict: Whether there must be a file with each column.

    Raises:
        InvalidArgument: If that is not so, the index would be too large, or a file cannot be read
            though the contract asks for all of them.
    """
    limits = Limits(max_file_bytes=config.max_file_bytes, max_total_bytes=config.max_total_bytes)
    found = survey(root, files, config.columns, limits=limits, origin=config.origin, strict=strict)
    rows = zip(files, found.num_rows.tolist(), strict=True)
    left_out = tuple(
        LeftOut(path=file.path, reason=why) for file, why in sorted(found.unreadable.items())
    )
    check_complete(config, left_out)
    return Surveyed(
        files=tuple((file, num_rows) for file, num_rows in rows if file not in found.unreadable),
        left_out=left_out,
        num_values={column.name: column.num_values for column in found.columns},
        has_global={column.name: column.global_blocks is not None for column in found.columns},
    )


def check_complete(config: IndexConfig, left_out: Sequence[LeftOut]) -> None:
    """Check that a version knows all files, if lookups take the table for what it knows.

    Raises:
        InvalidArgument: If that is not so.
    """
    if config.contract != "immutable" or not left_out:
        return
    first = left_out[0]
    raise InvalidArgument(
        "lookups by an immutable index find only files that it knows, and "
        f"{count(len(left_out), 'file')} cannot be indexed; {first.path}: {first.reason}",
        remedy="Leave such files out of the table, or create the index with the contract checked.",
    )


def tasks_of(found: Surveyed, first_id: int) -> list[FileTask]:
    """Give files their ids, from the first on."""
    return [
        FileTask(file_id=file_id, file=file, num_rows=num_rows)
        for file_id, (file, num_rows) in enumerate(found.files, first_id)
    ]


def plan_of(
    config: IndexConfig, num_distinct: Mapping[str, int], *, root: str, folder: str
) -> BuildPlan:
    """Make the plan of a version.

    Args:
        config: How the index is made.
        num_distinct: By column, the distinct values that partial filters of all files are made
            for; columns that are not named get none.
        root: Of the table, absolute.
        folder: The version's, absolute.
    """
    columns = tuple(
        ColumnPlan(
            name=column.name,
            fpp=column.fpp,
            max_bytes=config.max_file_bytes,
            global_blocks=(
                initial_num_blocks(num_distinct[column.name], column.fpp)
                if column.name in num_distinct
                else None
            ),
        )
        for column in config.columns
    )
    return BuildPlan(root=root, folder=folder, columns=columns, origin=config.origin)
