"""The verb `check_engine`: proof that an engine uses Bloom filters, or does not, or loses rows.

Two copies of a file are made, in which every data page is destroyed. One has the filters, the other
has none. The engine is asked for a value that is in no row, although it lies between minimum and
maximum of some row group, so that the filter alone can exclude it:

    asked of        the file      the copy with filters      the copy without filters
    uses them       0 rows        0 rows                     fails
    does not        0 rows        fails
    undecided       0 rows        0 rows                     0 rows

Dictionaries are destroyed as well, and the copies' footers say that not all values are in
dictionaries: readers that trust them must not answer by them. A copy is sparse, where the file
system can: it takes the room of footer, indexes and filters.

Then the engine is asked for values that are in the file, of each column with filters. The answers
must be those that it gives about a third copy, which has the data of these columns, and no filters.
An engine that counts fewer rows with the filters is wrong, whatever it counts: filters exclude no
value that is there, which `verify` checks.

Source: parquet.thrift, PageEncodingStats; the released specification, BloomFilter.md.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import InvalidArgument, UnsupportedFile
from parquet_bloomwriter.filters.hazards import hazards_of_engine
from parquet_bloomwriter.metadata.encodings import without_dictionaries
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.metadata.patch import apply_edits, bloom_edit
from parquet_bloomwriter.source.filesystems import check_local
from parquet_bloomwriter.source.open import opened_with_footer
from parquet_bloomwriter.text import count
from parquet_bloomwriter.verbs.engines.queries import (
    ENGINES,
    Question,
    Reply,
    ask,
    ask_command,
    engine_of,
    installed_engines,
    missing_engine,
    nothing_to_ask,
)
from parquet_bloomwriter.verbs.engines.questions import (
    absent_question,
    columns_with_filters,
    present_questions,
)
from parquet_bloomwriter.verbs.engines.report import EngineCheck, EngineReport, LostRows, Use

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from typing import TypeAlias

    from parquet_bloomwriter.metadata.footer import Footer
    from parquet_bloomwriter.metadata.patch import Edit
    from parquet_bloomwriter.metadata.schema import Leaf
    from parquet_bloomwriter.source.base import Range, Source
    from parquet_bloomwriter.source.filesystems import StrPath

    Asking: TypeAlias = Callable[[Sequence[Question]], list[Reply]]

_READS_PAGES = (
    "it tried to read data pages, which are destroyed in the copy that was asked (your file is "
    "untouched)"
)

_PIECE_BYTES = 8 << 20
_MAGIC_BYTES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """A file, its copies, and the values that engines are asked for."""

    absent: Question
    present: Sequence[Question]
    leaves: Sequence[Leaf]
    """Leaf columns with filters."""

    footer: Footer
    plain: Path
    """Path of a link to the file."""

    with_filters: Path
    without: Path
    """Paths of the copies without data."""

    intact: Path
    """Path of the copy with the data of the columns, and without filters."""


def check_engine(  # noqa: PLR0913  all but two by keyword
    source: StrPath,
    engines: str | Sequence[str] | None = None,
    *,
    column: str | None = None,
    command: str | None = None,
    python: StrPath | None = None,
    timeout_s: float = 300.0,
    progress: Callable[[EngineCheck], None] | None = None,
) -> EngineReport:
    """Find out which engines use the Bloom filters of a file, and which lose rows by them.

    Args:
        source: Path of a Parquet file that has filters.
        engines: duckdb, datafusion, clickhouse, spark, polars, pyarrow, pandas or bloomify; None,
            if no command is given, for those of the first four that are installed. An engine that
            is not installed is reported as undecided, if another one is installed.
        column: A column with filters; None for the first one of integers, text or bytes that will
            do, and present values of all columns with filters.
        command: A command of the shell that asks another engine. `{file}`, `{column}` and `{value}`
            in it stand for a path, the name, and a literal of SQL, without characters that shells
            know; it must fail if the query does.
        python: Path of the Python of another environment, whose engines are asked, to compare
            versions; None for the engines beside this library.
        timeout_s: Seconds for one answer.
        progress: Called with what became of each engine.

    Raises:
        InvalidArgument: If an engine is not known, none is installed, or no column will do.
        ColumnNotFound: If there is no such column.
        FileProblem: If the file cannot be read.
        OSError: If reading fails, or there is no room for the copies: one of them has the data of
            the columns with filters.
    """
    check_local(source)
    path = os.path.abspath(os.fsdecode(source))  # noqa: PTH100  a string
    if os.path.isdir(path):  # noqa: PTH112  a string
        raise InvalidArgument("this is a folder", path=path, remedy="Name one of its files.")
    home = None if python is None else os.path.abspath(os.fsdecode(python))  # noqa: PTH100
    asked, missing = _askings(engines, command, home, timeout_s)
    with (
        opened_with_footer(path) as (file, footer),
        tempfile.TemporaryDirectory(prefix="bloomify-") as folder,
    ):
        if footer.is_signed or footer.encrypted.any():
            raise UnsupportedFile("the file is encrypted", path=path)
        leaves = columns_with_filters(footer, column)
        for_shell = command is not None
        absent, num_row_groups = absent_question(path, footer, leaves, for_shell=for_shell)
        names = ("plain", "with_filters", "without", "intact")
        case = _Case(
            absent=absent,
            present=present_questions(path, leaves, for_shell=for_shell),
            leaves=leaves,
            footer=footer,
            **{name: Path(folder, f"{name}.parquet") for name in names},
        )
        _write_files(path, file, case)
        checks = []
        for check in (*missing, *(_checked(who, how, case) for who, how in asked.items())):
            checks.append(check)
            if progress is not None:
                progress(check)
    (value,) = absent.values
    assert isinstance(value, int | str | bytes)  # noqa: S101  for mypy
    return EngineReport(
        path=path,
        column=absent.column[0],
        value=value,
        num_row_groups=num_row_groups,
        present_columns=tuple(dict.fromkeys(".".join(one.column) for one in case.present)),
        checks=tuple(checks),
    )


def _askings(
    engines: str | Sequence[str] | None, command: str | None, python: str | None, timeout_s: float
) -> tuple[dict[str, Asking], list[EngineCheck]]:
    """Return by name the functions that ask the engines, and the outcome for missing engines.

    Raises:
        InvalidArgument: If one is not known, or none is installed.
    """
    installed = installed_engines(python)
    if engines is None:
        names = [one for one in installed if ENGINES[one].is_asked and not command]
    else:
        names = [engines] if isinstance(engines, str) else list(engines)
    missing = [
        EngineCheck(engine=name, version="", use=Use.UNDECIDED, reason=missing_engine(name, python))
        for name in names
        if engine_of(name).name not in installed
    ]
    names = [name for name in names if name in installed]
    if not (names or command):
        raise nothing_to_ask({one.engine: one.reason for one in missing}, python)
    found: dict[str, Asking] = {
        name: partial(ask, ENGINES[name], timeout_s=timeout_s, python=python) for name in names
    }
    if command is not None:
        if "{file}" not in command:
            raise InvalidArgument(
                "the command does not say where the file goes",
                remedy='Write {file}, {column} and {value} in it, as in: duckdb -c "SELECT count(*)'
                " FROM '{file}' WHERE {column} = {value}\".",
            )
        found[command] = partial(ask_command, command, timeout_s=timeout_s)
    return found, missing


def _checked(who: str, asking: Asking, case: _Case) -> EngineCheck:
    """Ask one engine about the file itself, and about its copies."""
    about_file = [replace(one, path=str(case.plain)) for one in (case.absent, *case.present)]
    about_intact = [replace(one, path=str(case.intact)) for one in case.present]
    plain, *others = asking([*about_file, *about_intact])
    found, known = others[: len(case.present)], others[len(case.present) :]
    compared = [
        (question, here.count, there.count)
        for question, here, there in zip(case.present, found, known, strict=True)
        if here.count is not None and there.count is not None
    ]
    lost = tuple(
        LostRows(column=".".join(one.column), value=one.values[0], count=here, expected=there)
        for one, here, there in compared
        if here < there
    )
    use, reason, error = _use(plain, asking, case)
    if lost:
        use, reason, error = Use.WRONG, _words_of(lost), ""
    hazards = hazards_of_engine(who, plain.version, case.footer, case.leaves)
    return EngineCheck(
        engine=who,
        version=plain.version,
        use=use,
        reason=reason,
        error=error,
        num_compared=len(compared),
        lost=lost,
        hazards=tuple(str(hazard) for hazard in hazards),
    )


def _words_of(lost: Sequence[LostRows]) -> str:
    more = len(lost) - 1
    return f"{lost[0]}" + (f", and {count(more, 'other value')}" if more else "")


def _use(plain: Reply, asking: Asking, case: _Case) -> tuple[Use, str, str]:
    """Return whether the engine finds out by the filters alone that a value is absent."""
    if plain.has_failed:
        return Use.UNDECIDED, f"it cannot read the file itself: {plain.problem}", ""
    if plain.count:
        reason = f"it counts {plain.count:,} rows of the file where there is none"
        return Use.UNDECIDED, reason, ""
    (answer,) = asking([replace(case.absent, path=str(case.with_filters))])
    if answer.has_failed:
        return Use.NOT_USED, _READS_PAGES, answer.problem
    (answer,) = asking([replace(case.absent, path=str(case.without))])
    if answer.has_failed:
        return Use.USED, "", ""
    reason = "it answered without filters as well. Try a file with more row groups"
    return Use.UNDECIDED, reason, ""


# The copies.


def _write_files(path: str, source: Source, case: _Case) -> None:
    footer, edits = case.footer, list(_without_filters(case.footer))
    case.plain.symlink_to(path)
    empty = without_dictionaries(footer)
    _write_copy(source, footer, case.with_filters, empty)
    _write_copy(source, footer, case.without, apply_edits(empty, edits))
    ordinals = {leaf.ordinal for leaf in case.leaves}
    _write_copy(source, footer, case.intact, apply_edits(footer.data, edits), ordinals)


def _write_copy(
    source: Source, footer: Footer, path: Path, new: bytes, columns: Collection[int] = ()
) -> None:
    """Write a copy with the data pages of only these columns, and with a new footer."""
    with path.open("wb") as file:
        for start, stop in _kept(footer, columns):
            for at in range(start, stop, _PIECE_BYTES):
                file.seek(at)
                file.write(source.read_at(at, min(at + _PIECE_BYTES, stop)))
        file.seek(footer.start)
        file.write(new)
        file.write(len(new).to_bytes(4, "little") + source.read_at(source.size - 4, source.size))


def _kept(footer: Footer, columns: Collection[int]) -> Iterator[Range]:
    """Yield the ranges before the footer that are in no column chunk of other columns."""
    others = [ordinal for ordinal in range(len(footer.leaves)) if ordinal not in columns]
    starts = footer.chunk_starts()[:, others].ravel()
    sizes = footer.chunks.value(ChunkField.TOTAL_COMPRESSED_SIZE)[:, others].ravel()
    position = 0
    for start, size in sorted(zip(starts.tolist(), sizes.tolist(), strict=True)):
        if size > 0 and start >= _MAGIC_BYTES:
            if start > position:
                yield position, start
            position = max(position, start + size)
    if position < footer.start:
        yield position, footer.start


def _without_filters(footer: Footer) -> Iterator[Edit]:
    """Yield edits of the footer that take all filters out."""
    for row_group, column in zip(
        *footer.chunks.has(ChunkField.BLOOM_FILTER_OFFSET).nonzero(), strict=True
    ):
        yield bloom_edit(footer, int(row_group), int(column), None)
