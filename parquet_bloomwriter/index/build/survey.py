"""The survey of a table before an index of it is built: its files, its columns, the index's size.

    every file      can it be read? how many rows has it?
    every column    is it in some file, with a type that can be indexed? how many values has it?
    all together    will the index be larger than is allowed?

Footers are read in threads. A file that cannot be read, or lacks a column, is no error as long as
there are other files: it gets no filters, and lookups always keep it. Sizes are upper estimates, as
if all values were different.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from parquet_bloomwriter.column_names import select_columns
from parquet_bloomwriter.errors import InvalidArgument, Proposal, Way, raise_if_final
from parquet_bloomwriter.index.build.file_filters import clause
from parquet_bloomwriter.index.build.global_filter import MAX_USEFUL_RATE
from parquet_bloomwriter.index.contract import contract_of
from parquet_bloomwriter.index.files import location
from parquet_bloomwriter.index.format.columns import find_column, missing, why_unreadable
from parquet_bloomwriter.index.report import LeftOut
from parquet_bloomwriter.index.storage.base import storage_of
from parquet_bloomwriter.index.table.data_files import open_data_file
from parquet_bloomwriter.metadata.fields import ChunkField, FileField
from parquet_bloomwriter.parallel import WorkerPool, default_jobs
from parquet_bloomwriter.sbbf import expected_fpp, initial_num_blocks
from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK
from parquet_bloomwriter.sbbf.sizing import MIN_BYTES
from parquet_bloomwriter.source import read_footer
from parquet_bloomwriter.source.folders import Why, passed_over_text
from parquet_bloomwriter.text import count, size

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parquet_bloomwriter.index.config import IndexConfig
    from parquet_bloomwriter.index.entry import IndexedColumn
    from parquet_bloomwriter.index.files import FileId
    from parquet_bloomwriter.index.table.metadata import MetadataTable
    from parquet_bloomwriter.metadata import Footer, Leaf
    from parquet_bloomwriter.source.folders import Leftovers

    _Column = tuple[str, int | None]
    """A name, and the id by which a table knows the column in files, if it does."""

_FILES_AT_ONCE = 32
_LATENCY = 4
"""Number of threads for each core: reading footers from a mounted disk is mostly waiting."""

_REMOTE_THREADS = 32
"""Number of footers that are read from a store at the same time."""

_HEADER_BYTES = 20
"""Upper bound for the size of a filter's header, bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnSurvey:
    """Facts about one column in all data files."""

    name: str
    num_files: int
    """Number of data files in which the column can be indexed."""

    num_values: int
    """Number of the column's values in these files, nulls included."""

    ndv: int
    """Number of distinct values that the filter of all values is sized for: the expected number, or
    `num_values`."""

    global_blocks: int | None
    """Number of blocks of the filter of all values while it is built; None: it is not built,
    because there would be too many values."""

    file_bytes: int
    """Upper estimate of the size of the filters of all data files, bytes."""

    @property
    def total_bytes(self) -> int:
        """Upper estimate of the size of all filters of the column, bytes."""
        return self.file_bytes + (self.global_blocks or 0) * BYTES_PER_BLOCK


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """The files of a table, as their footers describe them."""

    files: tuple[tuple[FileId, int], ...]
    """The data files that can be read, with their numbers of rows."""

    left_out: tuple[LeftOut, ...]
    """The data files that cannot be read. The version does not know these files: the next refresh
    looks at them again."""

    columns: tuple[ColumnSurvey, ...]
    """The columns, in the order of the configuration."""

    names: frozenset[str]
    """Dotted names of all leaf columns in the files that can be read; an index knows no other
    columns."""

    @property
    def total_bytes(self) -> int:
        """Upper estimate of the size of the whole index, bytes."""
        return sum(column.total_bytes for column in self.columns)


def survey_files(
    root: str,
    files: Sequence[FileId],
    config: IndexConfig,
    *,
    strict: bool = True,
    table: MetadataTable | None = None,
) -> Survey:
    """Read the footers of all files, and check that they can be indexed.

    Args:
        root: The folder that paths of files are relative to, absolute.
        files: The files.
        config: The columns, and limits.
        strict: Whether each column must be one that can be indexed in some file, at least.
        table: The table, if it has metadata that describe the columns of its files.

    Raises:
        InvalidArgument: If no file can be read, a column cannot be indexed in any of them, the
            index would be too large, or some file cannot be read though the contract asks for all.
    """
    columns = [(name, config.field_id(name)) for name in config.names]
    facts = _facts_of(root, files, columns, table)
    whole = [one for one in facts if one.columns]
    pairs = list(zip(files, facts, strict=True))
    found = Survey(
        files=tuple((file, one.num_rows) for file, one in pairs if not one.problem),
        left_out=tuple(
            LeftOut(path=file.path, reason=one.problem)
            for file, one in sorted(pairs, key=_file)
            if one.problem
        ),
        columns=tuple(
            _in_all(column, [one.columns[at] for one in whole], config)
            for at, column in enumerate(config.columns)
        ),
        names=frozenset(leaf.name for one in facts if not one.problem for leaf in one.leaves),
    )
    if strict:
        _check_files(files, facts)
        for at, name in enumerate(config.names):
            _check_column(name, whole, at, is_known=config.field_id(name) is not None)
    _check_size(found, config, num_files=len(files))
    check_complete(config, found.left_out)
    return found


def check_complete(config: IndexConfig, left_out: Sequence[LeftOut]) -> None:
    """Check that a version knows all files of the table, if the contract is "immutable".

    Lookups by such an index list nothing: they would miss the files that it does not know.

    Raises:
        InvalidArgument: If files were left out.
    """
    lists_nothing = config.contract == "immutable" and config.state is None
    if not (lists_nothing and left_out):
        return
    first = left_out[0]
    raise InvalidArgument(
        "lookups by an immutable index find only files that it knows, and "
        f"{count(len(left_out), 'file')} cannot be indexed; {first.path}: {first.reason}",
        remedy="Leave such files out of the table, or create the index with the contract checked.",
    )


def check_nothing_unknown(options: Mapping[str, str], leftovers: Leftovers) -> None:
    """Check that a listing skipped no unknown file, if lookups by the index list nothing.

    Args:
        options: Options of the index's log entry.
        leftovers: The files that the listing skipped.

    Raises:
        InvalidArgument: If the contract is "immutable", and links lead nowhere.
    """
    unknown = [one for one in leftovers.groups() if one.why is Why.DEAD]
    if unknown and contract_of(options) == "immutable":
        raise InvalidArgument(
            "lookups by an immutable index find only files that it knows, and its listing "
            f"{passed_over_text(unknown)}",
            remedy="Remove such links, or create the index with the contract checked.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _ColumnFacts:
    """Facts about one column in one data file."""

    problem: str
    """The reason why the column cannot be indexed, a clause; empty if it can be indexed."""

    num_values: int = 0
    """Number of the column's values, nulls included."""

    filter_bytes: int | None = None
    """Size of the column's filters with their headers, bytes; None if some row group has no
    filter."""

    num_row_groups: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _FileFacts:
    """Facts about one data file, from its footer."""

    problem: str
    """The reason why the file cannot be read, a clause; empty if it can be read."""

    num_rows: int = -1
    leaves: tuple[Leaf, ...] = ()
    columns: tuple[_ColumnFacts, ...] = ()
    """The columns, in the order of the configuration; empty if the file cannot be read."""


def _file(pair: tuple[FileId, _FileFacts]) -> FileId:
    return pair[0]


def _facts_of(
    root: str, files: Sequence[FileId], columns: Sequence[_Column], table: MetadataTable | None
) -> list[_FileFacts]:
    """Read the footers of files, in threads; a file that cannot be read is no error."""
    is_remote = storage_of(root).is_remote
    step = 1 if is_remote else _FILES_AT_ONCE
    batches = [files[at : at + step] for at in range(0, len(files), step)]
    read = partial(_read_all, root, columns, table)
    jobs = _REMOTE_THREADS if is_remote else _LATENCY * default_jobs()
    with WorkerPool(jobs, thread_name_prefix="bloomify") as pool:
        return [one for batch in pool.map(read, batches) for one in batch]


def _read_all(
    root: str, columns: Sequence[_Column], table: MetadataTable | None, files: Sequence[FileId]
) -> list[_FileFacts]:
    return [_read(location(root, file), columns, table) for file in files]


def _read(path: str, columns: Sequence[_Column], table: MetadataTable | None) -> _FileFacts:
    try:
        path.encode()
        with open_data_file(path) as source:
            footer = read_footer(source)
            return _facts(footer, columns, table)
    except UnicodeEncodeError:
        return _FileFacts(problem="its name is no UTF-8")
    except BaseException as error:  # noqa: BLE001  whatever it is, other files can be indexed
        raise_if_final(error)
        return _FileFacts(problem=clause(error))


def _facts(footer: Footer, columns: Sequence[_Column], table: MetadataTable | None) -> _FileFacts:
    return _FileFacts(
        problem="" if table is None else _why_unlike(table, footer, columns),
        num_rows=max(int(footer.file.value(FileField.NUM_ROWS)[0]), 0),
        leaves=footer.leaves,
        columns=tuple(_column(footer, one) for one in columns),
    )


def _why_unlike(table: MetadataTable, footer: Footer, columns: Sequence[_Column]) -> str:
    """Return why lookups could misread the values of a file, so that it gets no filters; or ""."""
    for name, field_id in columns:
        leaf = find_column(footer, name, field_id)
        if not isinstance(leaf, str) and (why := table.table.why_unlike(footer, name, leaf)):
            return why
    return ""


def _column(footer: Footer, column: _Column) -> _ColumnFacts:
    leaf = find_column(footer, *column)
    if isinstance(leaf, str):
        return _ColumnFacts(problem=leaf)
    problem = why_unreadable(footer, leaf)
    if problem is not None:
        return _ColumnFacts(problem=problem)
    chunks = footer.chunks.values[:, leaf.ordinal]
    lengths = chunks[:, ChunkField.BLOOM_FILTER_LENGTH]
    return _ColumnFacts(
        problem="",
        num_values=int(chunks[:, ChunkField.NUM_VALUES].clip(0).sum()),
        filter_bytes=int(lengths.sum()) if (lengths > 0).all() else None,
        num_row_groups=len(chunks),
    )


def _in_all(
    column: IndexedColumn, facts: Sequence[_ColumnFacts], config: IndexConfig
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
        file_bytes=sum(_bytes_in_file(column, one, config) for one in usable),
    )


def _bytes_in_file(column: IndexedColumn, facts: _ColumnFacts, config: IndexConfig) -> int:
    """Return the maximum size of a file's filters of one column, bytes."""
    if config.origin != "values" and facts.filter_bytes is not None:
        smallest = facts.num_row_groups * (MIN_BYTES["pow2"] + _HEADER_BYTES)
        return min(facts.filter_bytes, config.max_file_bytes + smallest)
    if config.origin == "embedded" or not facts.num_values:
        return 0
    ndv = min(facts.num_values, column.expected_num_items or facts.num_values)
    blocks = initial_num_blocks(ndv, column.fpp, max_bytes=config.max_file_bytes)
    return blocks * BYTES_PER_BLOCK + _HEADER_BYTES


def _check_files(files: Sequence[FileId], facts: Sequence[_FileFacts]) -> None:
    if not files:
        raise InvalidArgument("there are no Parquet files to index")
    if all(one.problem for one in facts):
        some = "the file" if len(files) == 1 else f"none of the {count(len(files), 'file')}"
        verb = "cannot" if len(files) == 1 else "can"
        problem = f"{some} {verb} be read; {files[0].path}: {facts[0].problem}"
        raise InvalidArgument(problem, remedy="Check that they are Parquet files, and whole.")


def _check_column(name: str, facts: Sequence[_FileFacts], at: int, *, is_known: bool) -> None:
    """Raise if no file has a column that can be indexed, with the reason that most files give.

    Args:
        name: Name of the column.
        facts: Facts about all files that can be read.
        at: The column's position among those of the index.
        is_known: Whether the table has the column, for certain.
    """
    problems = [one.columns[at].problem for one in facts]
    if not all(problems):
        return
    known = [problem for problem in problems if problem != missing(name)]
    if not known and is_known:
        raise InvalidArgument(f'no file has the column "{name}" yet', remedy="Leave it out.")
    if not known:
        select_columns(facts[0].leaves, [name])
    commonest = max(known or problems, key=(known or problems).count)
    leaves = facts[problems.index(commonest)].leaves
    inside = [leaf.name for leaf in leaves if leaf.name.startswith(f"{name}.")]
    raise InvalidArgument(
        f'the column "{name}" cannot be indexed: {commonest}',
        remedy=f"Name one of its columns, as in {inside[0]}." if inside else "",
    )


def _check_size(found: Survey, config: IndexConfig, *, num_files: int) -> None:
    if found.total_bytes <= config.max_total_bytes:
        return
    each = ", ".join(f"{column.name} {size(column.total_bytes)}" for column in found.columns)
    raise InvalidArgument(
        f"the index of {count(num_files, 'file')} may have up to {size(found.total_bytes)} "
        f"({each}), and {size(config.max_total_bytes)} are allowed",
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
