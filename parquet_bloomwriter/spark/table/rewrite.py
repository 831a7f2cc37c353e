"""The work of one task of `bloomify_table`: rewrite files one after the other.

An error in one file does not stop the others. A file without one of the columns gets filters for
the other columns, because tables grow columns. A name without an exact match means the only column
that matches when case is ignored, as in Spark.
"""

# ruff: noqa: PTH103, PTH105, PTH118, PTH120, PTH123  paths stay spelled as they were given
from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from parquet_bloomwriter.column_names import EVERY_COLUMN, listed_name, select_columns
from parquet_bloomwriter.errors import BloomwriterError, ColumnNotFound, NotParquet, raise_if_final
from parquet_bloomwriter.metadata.encodings import is_fully_dictionary_encoded
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.replace.temporary import remove_stale, temporary_beside
from parquet_bloomwriter.rewrite.report import Status
from parquet_bloomwriter.source.open import opened_with_footer, read_footer
from parquet_bloomwriter.spark.table.checksums import Sidecar
from parquet_bloomwriter.spark.table.journal import Journal, Line, digest, state_of
from parquet_bloomwriter.verbs.add import bloomify

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from parquet_bloomwriter.metadata import Footer, Leaf
    from parquet_bloomwriter.rewrite.plan import Placement
    from parquet_bloomwriter.rewrite.report import AddReport
    from parquet_bloomwriter.sbbf import Sizing
    from parquet_bloomwriter.spark.table.files import TableFile

T = TypeVar("T")
LARGE_DICTIONARY = 1 << 16
"""Size of a dictionary page in bytes from which reading it takes longer than asking a filter."""


class FileStatus(StrEnum):
    """The result for one file of a table."""

    REWRITTEN = "rewritten"
    """The file has a new version with new filters."""

    COPIED = "copied"
    """The file was copied unchanged: it needs no filters, or is not Parquet."""

    UNCHANGED = "unchanged"
    """The file needs no change."""

    SKIPPED = "skipped"
    """The file was not looked at: an earlier run wrote it, or it is not Parquet."""

    STALE = "stale"
    """The output has the file, but the table does not."""

    FAILED = "failed"
    """An error occurred, and the file was not changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteOptions:
    """The options of `bloomify` for every file. Can be pickled."""

    columns: tuple[str, ...] | None
    fpp: Mapping[str, float] | float
    ndv: Mapping[str, int] | int | None
    max_bytes: int
    sizing: Sizing
    placement: Placement
    replace: bool
    force: bool
    regenerate_crc: bool
    keep_time: bool = False
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TableTask:
    """The files of one task. Can be pickled."""

    files: tuple[TableFile, ...]
    output: str | None
    """Folder or prefix of the new files; None rewrites in place."""

    options: RewriteOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class FileResult:
    """The result for one file, in counts of column chunks. Can be pickled."""

    path: str
    output: str | None
    status: FileStatus
    built: int = 0
    """Number of chunks with a new filter."""

    kept: int = 0
    """Number of chunks whose old filter holds all values."""

    empty: int = 0
    """Number of chunks without values."""

    skipped: int = 0
    """Number of chunks without a filter; `notes` has the reasons."""

    bytes_before: int = 0
    bytes_after: int = 0
    notes: tuple[str, ...] = ()
    error: str | None = None


def rewrite_files(task: TableTask) -> tuple[FileResult, ...]:
    """Rewrite the files of a task. Errors become results with the status `FAILED`."""
    output = task.output
    on_store = any(file.is_on_store for file in task.files)
    journal = None if output is None or on_store else Journal(output)
    return tuple(_attempt(file, task, journal) for file in task.files)


def target_of(file: TableFile, output: str | None) -> str | None:
    """Return the path of a file's new version; None in place."""
    if output is not None and file.is_on_store:
        return f"{output}/{file.name}"
    return None if output is None else os.path.join(output, *file.name.split("/"))


def matching_name(leaves: Sequence[Leaf], name: str) -> str:
    """Return the file's spelling of a column's name.

    Raises:
        ColumnNotFound: If the name matches no column, or is ambiguous.
    """
    try:
        select_columns(leaves, [name])
    except ColumnNotFound:
        same = [leaf.name for leaf in leaves if leaf.name.lower() == name.lower()]
        if len(same) != 1 or same == [name]:
            raise
        return same[0]
    return name


def find_columns(leaves: Sequence[Leaf], names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the names of columns that the file has, and error messages about the others."""
    found: list[str] = []
    problems: list[str] = []
    for name in names:
        try:
            found.append(matching_name(leaves, name))
        except ColumnNotFound as error:
            problems.append(error.problem)
    return found, problems


def _attempt(file: TableFile, task: TableTask, journal: Journal | None) -> FileResult:
    result = FileResult(
        path=file.path,
        output=target_of(file, task.output),
        status=FileStatus.SKIPPED,
        bytes_before=file.size,
        bytes_after=file.size,
        notes=(file.why_not,) if file.why_not else (),
    )
    try:
        if file.is_on_store:
            return result if file.why_not else _on_store(file, task.options, result)
        if result.output is None:
            return result if file.why_not else _in_place(file, task.options, result)
        before = state_of(file.path)
        os.makedirs(os.path.dirname(result.output), exist_ok=True)
        result = (
            _copied(file, result.output, result)
            if file.why_not
            else _written(file, result.output, task.options, result)
        )
        if journal is not None:
            journal.append(
                Line(
                    name=file.name,
                    asked=digest(task.options),
                    source=before,
                    written=state_of(result.output or file.path),
                )
            )
    except BaseException as error:  # noqa: BLE001  one bad file does not stop the others
        raise_if_final(error)
        known = isinstance(error, BloomwriterError | OSError)
        text = str(error) if known else f"{type(error).__name__}: {error}"
        return replace(result, status=FileStatus.FAILED, error=text)
    return result


def _on_store(file: TableFile, options: RewriteOptions, result: FileResult) -> FileResult:
    """Rewrite an object on a store, where there are no checksum files."""
    try:
        return _bloomified(file, result.output, options, result, None)
    except NotParquet:
        if result.output is not None:  # else the output would silently lack the file
            raise
        return replace(result, notes=("not a Parquet file",))


@contextmanager
def opened_file(file: TableFile) -> Iterator[Footer]:
    """Yield the footer of a file or an object.

    Raises:
        FileProblem: If it is no Parquet file, or cannot be read.
        OSError: If reading fails.
    """
    if file.is_on_store:
        from parquet_bloomwriter.stores.open import open_source

        with open_source(file.path) as source:
            yield read_footer(source)
        return
    with opened_with_footer(file.path) as (_, footer):
        yield footer


def _in_place(file: TableFile, options: RewriteOptions, result: FileResult) -> FileResult:
    sidecar = Sidecar(path=file.path, gives_way=options.regenerate_crc, trusted=options.force)
    try:
        result = _bloomified(file, None, options, result, sidecar)
    finally:
        sidecar.come_back()
    return result


def _written(
    file: TableFile, target: str, options: RewriteOptions, result: FileResult
) -> FileResult:
    sidecar = Sidecar(path=file.path, gives_way=False, trusted=options.force)
    return _bloomified(file, target, options, result, sidecar)


def _copied(file: TableFile, target: str, result: FileResult) -> FileResult:
    copy_whole(file.path, target)
    return replace(result, status=FileStatus.COPIED)


def copy_whole(source: str, target: str) -> None:
    """Copy a file atomically; the permissions of the copy are at most those of the file."""
    remove_stale(target)
    with (
        open(source, "rb") as old,
        temporary_beside(target, permissions=os.fstat(old.fileno()).st_mode) as temporary,
    ):
        with os.fdopen(os.dup(temporary.fd), "wb") as new:
            shutil.copyfileobj(old, new)
        if hasattr(os, "fchmod"):
            os.fchmod(temporary.fd, temporary.granted)
        os.fsync(temporary.fd)
        os.replace(temporary.path, target)


def _bloomified(
    file: TableFile,
    target: str | None,
    options: RewriteOptions,
    result: FileResult,
    sidecar: Sidecar | None,
) -> FileResult:
    with opened_file(file) as footer:
        leaves = footer.leaves
        columns, notes = _columns_of(leaves, options)
        excluded, _ = find_columns(leaves, options.exclude)
        in_dictionaries = frozenset(_large_dictionaries(footer))
    report = bloomify(
        file.path,
        columns,
        exclude=excluded if columns is None else (),
        output=target,
        fpp=_by_name(leaves, options.fpp),
        ndv=None if options.ndv is None else _by_name(leaves, options.ndv),
        max_bytes=options.max_bytes,
        sizing=options.sizing,
        placement=options.placement,
        replace=options.replace,
        overwrite=target is not None,
        force=options.force,
        regenerate_crc=options.regenerate_crc and sidecar is not None,
        keep_time=options.keep_time,
        jobs=1,
        progress=sidecar,
    )
    return replace(
        result,
        status=_status(report, in_place=target is None),
        built=_count(report, Status.BUILT),
        kept=_count(report, Status.KEPT),
        empty=_count(report, Status.EMPTY),
        skipped=_count(report, Status.SKIPPED),
        bytes_before=report.size_before,
        bytes_after=report.size_after,
        notes=(*notes, *_notes(report, in_dictionaries)),
    )


def _columns_of(
    leaves: Sequence[Leaf], options: RewriteOptions
) -> tuple[list[str] | None, list[str]]:
    """Return the names of a file's columns that get filters, and error messages about other names.

    None stands for all columns. The list has none that is excluded, and may be empty.
    """
    if options.columns is None:
        return None, []
    columns, problems = find_columns(leaves, options.columns)
    if options.exclude:
        excluded = select_columns(leaves, find_columns(leaves, options.exclude)[0])
        kept = [one for one in select_columns(leaves, columns) if one not in excluded]
        columns = [listed_name(leaf) for leaf in kept]
    return columns, problems


def _by_name(leaves: Sequence[Leaf], given: Mapping[str, T] | T) -> Mapping[str, T] | T:
    """Return values by a file's spellings of column names, without names that it lacks."""
    if not isinstance(given, Mapping):
        return given
    every = {name: value for name, value in given.items() if name == EVERY_COLUMN}
    named = {name: value for name, value in given.items() if name != EVERY_COLUMN}
    known = {
        spelling: value
        for name, value in named.items()
        for spelling in find_columns(leaves, [name])[0]
    }
    return every | known


def _status(report: AddReport, *, in_place: bool) -> FileStatus:
    if report.num_built:
        return FileStatus.REWRITTEN
    return FileStatus.UNCHANGED if in_place else FileStatus.COPIED


def _count(report: AddReport, status: Status) -> int:
    return sum(column.count(status) for column in report.columns)


def _notes(report: AddReport, in_dictionaries: frozenset[int]) -> Iterator[str]:
    if report.fallback:
        yield report.fallback
    if report.caution:
        yield f"the placement moves bytes of the file: {report.caution}"
    for column in report.columns:
        for text in (*column.reasons, *column.notes):
            yield f"{column.name}: {text}"
        has_filters = column.count(Status.BUILT) + column.count(Status.KEPT)
        if has_filters and column.ordinal in in_dictionaries:
            yield (
                f"{column.name}: dictionary-encoded throughout, and Spark reads large dictionaries "
                "before filters unless parquet.filter.dictionary.enabled is false"
            )


def _large_dictionaries(footer: Footer) -> Iterator[int]:
    """Yield the ordinals of columns with a large dictionary that Spark would read in vain."""
    for leaf in footer.leaves:
        for row_group in range(footer.num_row_groups):
            chunk = footer.chunks.values[row_group, leaf.ordinal]
            start = int(chunk[ChunkField.DICTIONARY_PAGE_OFFSET])
            size = int(chunk[ChunkField.DATA_PAGE_OFFSET]) - start
            if (
                start > 0
                and size >= LARGE_DICTIONARY
                and is_fully_dictionary_encoded(footer, row_group, leaf.ordinal)
            ):
                yield leaf.ordinal
                break
