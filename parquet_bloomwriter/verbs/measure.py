"""The verb `measure`: an engine counts the rows of a condition without filters, and with them.

Two folders are made in a temporary one, with the files at the same places below them: `before` has
links to the files, or copies without the filters, if a file has some; `after` has copies with the
filters. So the engine sees two folders that differ in nothing but filters, and the files themselves
are not written. A copy shares blocks with its file where the file system can (`replace.copying`).

Both folders are asked in turn, in one process, after a first time that does not count: then all
bytes are in the disk's cache for both. Engines that find other rows with the filters are wrong:
filters that were built here lack no value.
"""

# ruff: noqa: PTH100, PTH118, PTH119  paths are strings, as in reports
from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from bisect import bisect_right
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from parquet_bloomwriter.advising.queries import uses_of_columns
from parquet_bloomwriter.arguments import names_of
from parquet_bloomwriter.column_names import choose_columns
from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.source.filesystems import check_local
from parquet_bloomwriter.source.open import opened_with_footer
from parquet_bloomwriter.table_files.find import is_table_name
from parquet_bloomwriter.text import listed_names, size
from parquet_bloomwriter.verbs.add import bloomify
from parquet_bloomwriter.verbs.engines.measurement import (
    Effort,
    EngineMeasurement,
    MeasureReport,
    sentence_of,
)
from parquet_bloomwriter.verbs.engines.queries import (
    ENGINES,
    MEASURED,
    Runs,
    engine_of,
    installed_engines,
    missing_engine,
    nothing_to_ask,
)
from parquet_bloomwriter.verbs.engines.queries import measure as measure_engine
from parquet_bloomwriter.verbs.for_each_file import find_files, missing
from parquet_bloomwriter.verbs.strip import strip

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from parquet_bloomwriter.arguments import Rate
    from parquet_bloomwriter.source.filesystems import StrPath
    from parquet_bloomwriter.verbs.for_each_file import InputFile

_SUFFIX = ".parquet"
"""The ending of names by which all engines take a file in a folder for Parquet."""

LIMIT_BYTES = 4 << 30
"""Bytes that are copied at most, by default."""


def measure(  # noqa: PLR0913  all but two by keyword
    source: StrPath,
    condition: str,
    columns: str | Sequence[str] | None = None,
    *,
    engines: str | Sequence[str] | None = None,
    fpp: Rate | Mapping[str, Rate] = 0.01,
    repeats: int = 5,
    limit: int = LIMIT_BYTES,
    folder: StrPath | None = None,
    python: StrPath | None = None,
    timeout_s: float = 300.0,
    progress: Callable[[EngineMeasurement], None] | None = None,
) -> MeasureReport:
    """Measure what filters save an engine on a condition, and what they cost.

    Args:
        source: Path of a Parquet file or a folder of files, which are not written.
        condition: What the engine is asked for, as in a WHERE clause; in the engine's own SQL.
        columns: Columns to have filters, as for `bloomify`; None for those that the condition
            compares with values by `=` or `IN`.
        engines: duckdb, datafusion, clickhouse, spark, polars or bloomify; None for the first of
            the first four that is installed.
        fpp: As for `bloomify`; filters that are there already stay as they are.
        repeats: Runs of each query; the report has their medians.
        limit: Bytes to copy at most: of a folder, so many files are measured.
        folder: Where copies go for the time of the call; None for the system's temporary folder.
            On the file system of the files, copies may share blocks with them.
        python: As for `check_engine`.
        timeout_s: Seconds for one run.
        progress: Called with the result of each engine.

    Raises:
        InvalidArgument: If the condition cannot be understood, or compares no column by `=` or
            `IN`; if an engine is not known, not installed or takes no SQL; if there is no file, or
            not room enough; if the source is a table.
        ColumnNotFound: If there is no such column.
        FileProblem: If a file cannot be read.
        OSError: If reading fails, or writing copies.
    """
    check_local(source)
    path = os.path.abspath(os.fsdecode(source))
    if repeats < 1:
        raise InvalidArgument(f"{repeats} runs are too few", remedy="One is the least.")
    home = None if python is None else os.path.abspath(os.fsdecode(python))
    names = _engines(engines, home)
    every = _files(os.fsdecode(source), path)
    chosen = _within(every, limit, None if folder is None else os.fsdecode(folder))
    asked = _columns(chosen[0].path, condition, columns)
    with tempfile.TemporaryDirectory(prefix="bloomify-", dir=folder) as home_of_copies:
        folders = [os.path.join(home_of_copies, name) for name in ("before", "after")]
        build_seconds = sum(_place(one, folders, asked, fpp) for one in chosen)
        sizes = [_size_of(one) for one in folders]
        if sizes[0] == sizes[1]:
            raise InvalidArgument(
                f"no filter can be added to {listed_names(asked)}",
                path=path,
                remedy="bloomify with --dry-run says why.",
            )
        report = MeasureReport(
            path=path,
            condition=condition,
            columns=tuple(asked),
            num_files=len(chosen),
            num_all_files=len(every),
            size_before=sizes[0],
            size_after=sizes[1],
            build_seconds=build_seconds,
            copied_bytes=sum(_size_of(one, follows=False) for one in folders),
            repeats=repeats,
            engines=(),
        )
        found = []
        for name in names:
            runs = measure_engine(
                ENGINES[name],
                folders=folders,
                condition=condition,
                repeats=repeats,
                timeout_s=timeout_s,
                python=home,
            )
            one = _measured(name, runs, report)
            found.append(one)
            if progress is not None:
                progress(one)
    return replace(report, engines=tuple(found))


def _engines(engines: str | Sequence[str] | None, python: str | None) -> list[str]:
    """Return the names of the engines to measure.

    Raises:
        InvalidArgument: If one is not known, takes no SQL, or is not installed; if none is.
    """
    installed = installed_engines(python)
    if engines is None:
        first = next((one for one in installed if ENGINES[one].is_asked), None)
        if first is None:
            raise nothing_to_ask({}, python)
        return [first]
    names = list(names_of(engines))
    for name in names:
        if engine_of(name).name not in MEASURED:
            raise InvalidArgument(
                f'"{name}" takes no condition in SQL, and asks no filters',
                remedy='Measure "bloomify": its read_table returns what pyarrow returns.',
            )
    lacking = {name: missing_engine(name, python) for name in names if name not in installed}
    if lacking:
        raise nothing_to_ask(lacking, python)
    return names


def _files(given: str, path: str) -> list[InputFile]:
    """Return the files of the source.

    Raises:
        InvalidArgument: If it is a table, or has no files.
        FileNotFoundError: If there is no such file.
    """
    if is_table_name(given):
        raise InvalidArgument(
            "this is a table, whose metadata say which files it has",
            path=path,
            remedy="Name one of its files, or a folder of files.",
        )
    for error in missing([given]):
        raise error
    return find_files([given])


def _within(every: Sequence[InputFile], limit: int, folder: str | None) -> Sequence[InputFile]:
    """Return the first files, so many that their copies keep within the limit.

    Raises:
        InvalidArgument: If not even one file does, or there is no room for the copies.
    """
    ends = [*accumulate(one.size for one in every)]
    chosen = every[: bisect_right(ends, limit)]
    if not chosen:
        raise InvalidArgument(
            f"a copy would have {size(every[0].size)}, more than the limit of {size(limit)}",
            path=every[0].path,
            remedy="Raise the limit.",
        )
    place = tempfile.gettempdir() if folder is None else folder
    free, needed = shutil.disk_usage(place).free, ends[len(chosen) - 1]
    if free < needed and Path(place).stat().st_dev != Path(chosen[0].path).stat().st_dev:
        raise InvalidArgument(
            f'copies take {size(needed)}, and {size(free)} are free in "{place}"',
            remedy="Name a folder with more room, or a lower limit.",
        )
    return chosen


def _columns(path: str, condition: str, columns: str | Sequence[str] | None) -> list[str]:
    """Return the names of the columns with filters in a file.

    Raises:
        InvalidArgument: If the condition cannot be read, or compares no column by equality.
        ColumnNotFound: If there is no such column.
    """
    with opened_with_footer(path) as (_, footer):
        leaves = footer.leaves
    if columns is not None:
        return [leaf.name for leaf in choose_columns(leaves, columns, ())]
    uses = uses_of_columns([condition], [leaf.name for leaf in leaves])
    found = [name for name, use in uses.items() if use.num_equal]
    if not found:
        raise InvalidArgument(
            "the condition compares no column of the file with values by = or IN, and filters "
            "answer nothing else",
            remedy=f"The columns are: {listed_names(leaf.name for leaf in leaves)}.",
        )
    return found


def _place(
    one: InputFile, folders: Sequence[str], columns: Sequence[str], fpp: Rate | Mapping[str, Rate]
) -> float:
    """Put a file without and with filters into the two folders; return the seconds of building."""
    inner = one.place if one.is_found else os.path.basename(one.path)
    while not inner.endswith(_SUFFIX) or os.path.lexists(os.path.join(folders[0], inner)):
        inner += _SUFFIX
    before, after = (os.path.join(folder, inner) for folder in folders)
    for path in (before, after):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    source = os.path.realpath(one.path)
    with opened_with_footer(source) as (_, footer):
        known = [leaf for leaf in footer.leaves if leaf.name in columns]
        has = footer.chunks.has(ChunkField.BLOOM_FILTER_OFFSET)[:, [x.ordinal for x in known]]
    names = [leaf.name for leaf in known]
    if has.any():
        strip(source, names, output=before)
    else:
        Path(before).symlink_to(source)
    if not names:  # a file that lacks the columns is the same in both folders
        Path(after).symlink_to(source)
        return 0.0
    began = time.perf_counter()
    report = bloomify(source, names, fpp=fpp, output=after)
    return time.perf_counter() - began if report.num_built else 0.0


def _size_of(folder: str, *, follows: bool = True) -> int:
    """Return the bytes of the files below a folder, of links only if they are followed."""
    paths = [Path(way, name) for way, _, names in os.walk(folder) for name in names]
    return sum(path.stat().st_size for path in paths if follows or not path.is_symlink())


def _measured(name: str, runs: Runs, report: MeasureReport) -> EngineMeasurement:
    """Return the result for an engine."""
    if runs.problem:
        return EngineMeasurement(
            engine=name, version=runs.version, before=None, after=None, problem=runs.problem
        )
    before, after = (_effort(runs, place) for place in range(2))
    sentence = sentence_of(
        engine=name,
        version=runs.version,
        before=before,
        after=after,
        condition=report.condition,
        cost=report.cost,
    )
    return EngineMeasurement(
        engine=name, version=runs.version, before=before, after=after, sentence=sentence
    )


def _effort(runs: Runs, place: int) -> Effort:
    """Return the medians of the runs on one of the two folders."""
    some = runs.runs[place::2]
    row_groups = runs.row_groups[place]
    read = [one["bytes"] for one in some]
    return Effort(
        num_rows=some[0]["rows"],
        row_groups_read=None if row_groups is None else row_groups[0],
        num_row_groups=None if row_groups is None else row_groups[1],
        bytes_read=None if None in read else round(statistics.median(read)),
        cpu_seconds=statistics.median(one["cpu"] for one in some),
        seconds=statistics.median(one["seconds"] for one in some),
    )
