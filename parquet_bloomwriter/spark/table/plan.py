"""Plan a run of `bloomify_table`: list the files of a table, and make all checks that need no data.

Planning runs where the files can be reached: in the driver or, on Spark Connect, in a task.
"""

# ruff: noqa: PTH113, PTH114, PTH118, PTH120  paths stay spelled as they were given
from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloomwriter.column_names import EVERY_COLUMN, select_columns, settle_per_column
from parquet_bloomwriter.errors import BloomwriterError, ColumnNotFound, InvalidArgument
from parquet_bloomwriter.index.storage.base import storage_of
from parquet_bloomwriter.sbbf.sizing import initial_num_blocks
from parquet_bloomwriter.spark.table import store_files
from parquet_bloomwriter.spark.table.checksums import remove_leftovers
from parquet_bloomwriter.spark.table.files import check_is_plain, names_in, table_files
from parquet_bloomwriter.spark.table.journal import Journal, Line, digest, state_of
from parquet_bloomwriter.spark.table.rewrite import (
    FileResult,
    FileStatus,
    RewriteOptions,
    copy_whole,
    find_columns,
    matching_name,
    opened_file,
)
from parquet_bloomwriter.spark.table.store_files import check_output, table_objects

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from parquet_bloomwriter.metadata import Leaf
    from parquet_bloomwriter.spark.table.files import TableFile

_MARKER = "_SUCCESS"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRequest:
    """One table to rewrite. Can be pickled."""

    path: str
    """Absolute path of a folder or a file, or URL of a prefix or an object."""

    output: str | None
    """Absolute path of a folder, or URL of a prefix; None to rewrite in place."""

    options: RewriteOptions

    @property
    def is_on_store(self) -> bool:
        """Whether the table is on a store, not on a disk."""
        return storage_of(self.path).is_remote


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePlan:
    """The files to rewrite. Can be pickled."""

    files: tuple[TableFile, ...]
    settled: tuple[FileResult, ...]
    """Results of files that need no rewriting."""


def plan_table(request: TableRequest) -> TablePlan:
    """List the files, and check what can be checked without reading any data.

    Raises:
        InvalidArgument: If there are no files, an option is out of range, or the output cannot take
            the table.
        ColumnNotFound: If no file has a column of that name.
        UnsafeTarget: If something else keeps a record of the files.
        OSError: If a folder cannot be listed.
    """
    if request.is_on_store:
        return _plan_on_store(request)
    if request.output is not None and storage_of(request.output).is_remote:
        raise InvalidArgument(
            f'the table is on a disk, and the output "{request.output}" is not',
            remedy="Name a folder on a disk, and copy it then.",
        )
    root, files = table_files(request.path)
    in_place = request.output is None
    if request.output is not None:
        _check_apart(request.output, request.path, root)
    if not request.options.force:
        check_is_plain(root, files, in_place=in_place)
    _check_options(files, request.options)
    output = request.output
    if output is None:
        remove_leftovers({os.path.dirname(file.path) for file in files})
    settled = tuple(_links(files) if output is None else _settled(files, request, output))
    paths = {result.path for result in settled}
    return TablePlan(files=tuple(file for file in files if file.path not in paths), settled=settled)


def _plan_on_store(request: TableRequest) -> TablePlan:
    if request.output is not None:
        check_output(request.output, request.path)
    table = table_objects(request.path)
    if not request.options.force:
        store_files.check_is_plain(table, in_place=request.output is None)
    _check_options(table.files, request.options)
    return TablePlan(files=table.files, settled=())


def finish_table(request: TableRequest) -> None:
    """Copy the marker `_SUCCESS` to the output, if the table has one; on a store, do nothing."""
    if request.is_on_store:
        return
    marker = os.path.join(request.path, _MARKER)
    if request.output is not None and os.path.isfile(marker):
        copy_whole(marker, os.path.join(request.output, _MARKER))


def _check_apart(output: str, path: str, root: str) -> None:
    new, old = os.path.realpath(output), os.path.realpath(path)
    if new == os.path.realpath(root) or os.path.commonpath([new, old]) in {new, old}:
        raise InvalidArgument(
            f'the output "{output}" and the table "{path}" are not apart',
            remedy="Name a folder elsewhere.",
        )


def _check_options(files: Iterable[TableFile], options: RewriteOptions) -> None:
    """Check that numbers are in range, and that every name is a column of some file."""
    given = (options.fpp, options.ndv)
    rates, counts = (tuple(g.values()) if isinstance(g, Mapping) else (g,) for g in given)
    for rate, count in itertools.product(rates, counts):
        initial_num_blocks(
            1 if count is None else int(count),
            float(rate or 0),
            sizing=options.sizing,
            max_bytes=options.max_bytes,
        )
    names = {name for g in given if isinstance(g, Mapping) for name in g}
    unseen = {*(options.columns or ()), *options.exclude, *names} - {EVERY_COLUMN}
    problem: ColumnNotFound | None = None
    for leaves in _schemas(files) if unseen else ():
        for name in sorted(unseen):
            try:
                spelling = matching_name(leaves, name)
                if name not in options.exclude:
                    _check_chosen(leaves, spelling, options.columns)
                unseen.remove(name)
            except ColumnNotFound as error:
                problem = problem or error
        if not unseen:
            return
    if problem is not None:
        raise problem


def _check_chosen(leaves: Sequence[Leaf], name: str, columns: tuple[str, ...] | None) -> None:
    """Check that a column for which a value is given is among the chosen columns."""
    if columns is not None:
        chosen = select_columns(leaves, find_columns(leaves, columns)[0])
        settle_per_column(leaves, chosen, {name: 0}, default=0)


def _schemas(files: Iterable[TableFile]) -> Iterator[Sequence[Leaf]]:
    """Yield the schemas of the files that can be read; the report explains the other files."""
    for file in files:
        if not file.why_not:
            with contextlib.suppress(BloomwriterError, OSError):
                with opened_file(file) as footer:
                    leaves = footer.leaves
                yield leaves


def _links(files: Iterable[TableFile]) -> Iterator[FileResult]:
    """Yield results of files that are symbolic links to other files of the table."""
    seen: dict[str, str] = {}
    for file in sorted(files, key=lambda file: os.path.islink(file.path)):
        place = os.path.realpath(file.path)
        if place in seen:
            yield FileResult(
                path=file.path,
                output=None,
                status=FileStatus.SKIPPED,
                bytes_before=file.size,
                bytes_after=file.size,
                notes=(f"it is the same file as {seen[place]}",),
            )
        seen.setdefault(place, file.name)


def _settled(
    files: Sequence[TableFile], request: TableRequest, output: str
) -> Iterator[FileResult]:
    """Yield results of files that an earlier run wrote, and of files that only the output has."""
    journal = Journal(output)
    journal.begin()
    asked = digest(request.options)
    lines = journal.done(asked)
    for file in files:
        target = os.path.join(output, file.name)
        source, written = _state(file.path), _state(target)
        if source and written and Line(file.name, asked, source, written) in lines:
            yield FileResult(
                path=file.path,
                output=target,
                status=FileStatus.SKIPPED,
                bytes_before=source[0],
                bytes_after=written[0],
                notes=("an earlier run has written it",),
            )
    for name in sorted(set(names_in(output)) - {file.name for file in files}):
        target = os.path.join(output, name)
        yield FileResult(
            path=os.path.join(request.path, name),
            output=target,
            status=FileStatus.STALE,
            error=f"the table has no such file any more: remove {target}",
        )


def _state(path: str) -> tuple[int, int] | None:
    try:
        return state_of(path)
    except OSError:
        return None
