"""The command `bloomify get`: rows are printed batch by batch, as they are found.

All inputs are opened, and their files are probed, before the first row is printed: a name that is
wrong prints nothing else. A pipe that is closed ends the command as the last row does.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from bloomify.console.console import Console, discard
from bloomify.console.help import OTHER_OPTIONS, Reading, complete_path, section
from bloomify.console.interruption import interruptible
from bloomify.console.messages import describe
from bloomify.exits import ExitCode
from bloomify.options import (
    all_of,
    as_of,
    columns_option,
    condition_of,
    condition_options,
    local_output,
    one,
    parse_count,
    sources_argument,
    state_options,
)
from bloomify.views.rows import FORMS
from parquet_bloomwriter.text import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from typing import BinaryIO

    import pyarrow as pa

    from bloomify.options import Options
    from parquet_bloomwriter.index.report import LookupReport
    from parquet_bloomwriter.predicate.expression import Expression
    from parquet_bloomwriter.table_files.files import Table
    from parquet_bloomwriter.verbs.read import AskIndex, Rows

_BATCH_ROWS = 8192
_SUFFIXES = {".parquet": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_NO_TERMINAL = 80
"""Columns of a table that is not printed on a terminal."""

_EPILOG = """\b
Examples:
  bloomify get warehouse/ --where "id = 42"
  bloomify get warehouse/ --where "id = 42" --columns id,email --format jsonl
  bloomify get warehouse/ --where @ids.sql -o found.parquet
  seq -s, 1 20000 | sed 's/.*/id IN (&)/' | bloomify get warehouse/ --where -
"""

_shown = section("What is printed")
_file = section("Where the result goes")

_shown_options = all_of(
    columns_option(
        help_="Print only these columns, in this order.",
        default="all",
        section_="What is printed",
    ),
    _shown(
        "--limit",
        metavar="N",
        callback=one(parse_count),
        help="Print the first N rows that pass, and read no further.",
    ),
    _shown(
        "--format",
        "form",
        type=click.Choice(FORMS),
        help="How rows are printed.  [default: table on a terminal, by the ending of PATH with -o, "
        "otherwise csv]",
        brief="[default: table on a terminal, otherwise csv]",
    ),
)

_file_options = all_of(
    _file(
        "-o",
        "--output",
        metavar="PATH",
        callback=local_output,
        shell_complete=complete_path,
        help="Write the rows to a file, which appears once it is whole.",
    ),
    _file("--overwrite", is_flag=True, help="Replace what exists at PATH of --output."),
)

_other = section(OTHER_OPTIONS)
_other_options = all_of(
    _other(
        "--home",
        metavar="PATH",
        is_rare=True,
        help="Folder or URL where indexes of the table are kept.",
    ),
    state_options,
    _other("-q", "--quiet", is_flag=True, is_rare=True, help="Print rows and errors only."),
    _other("-v", "--verbose", is_flag=True, help="Say how long it took, too."),
)


@click.command(
    "get", cls=Reading, epilog=_EPILOG, short_help="Print the rows that pass a condition."
)
@sources_argument
@condition_options
@_shown_options
@_file_options
@_other_options
@click.pass_context
def get(ctx: click.Context, /, inputs: tuple[str, ...], **options: Unpack[Options]) -> None:
    """Print the rows of each INPUT that pass a condition.

    Only the row groups are read that can hold such rows, by statistics, Bloom filters and
    dictionaries. If an INPUT is a folder or table that has an index, the files that it excludes are
    not opened. An INPUT is a Parquet file, a folder, a Delta or Iceberg table, a glob pattern or a
    URL of these. Values are spelled as DuckDB spells them, with times in UTC.

    The exit code is 0 if a row was found and 1 if none was.
    """
    if not (options["where"] or options["eq"] or options["limit"]):
        from bloomify.commands.columns import show_conditions
        from bloomify.runner import find

        show_conditions(ctx, find(inputs, as_of(options)).files[0], given=inputs[0])
    form = _form_of(options, ctx)
    quiet, verbose = options["quiet"], options["verbose"]
    console = Console.open({"as_json": None, "quiet": quiet, "verbose": verbose})
    has_condition = options["where"] or options["eq"]
    condition = condition_of(options) if has_condition else None
    with interruptible(console.bar), _errors_of_files(inputs, options):
        if options["overwrite"] and options["output"] is not None:
            _check_is_no_input(options["output"], inputs, options)
        found = _open(inputs, condition, options, console)
        num_rows = _print(found, form, options, console)
    ctx.exit(ExitCode.OK if num_rows else ExitCode.CHECK_FAILED)


def _form_of(options: Options, ctx: click.Context) -> str:
    """Return the form of the rows.

    Raises:
        click.UsageError: If options do not go together, or a terminal would get a Parquet file.
    """
    form, output = options["form"], options["output"]
    if options["overwrite"] and output is None:
        raise click.UsageError("--overwrite goes with --output", ctx)
    if form is None and output is not None:
        return _SUFFIXES.get(Path(output).suffix.lower(), "csv")
    if form == "parquet" and output is None and sys.stdout.isatty():
        raise click.UsageError("a terminal cannot show a Parquet file; name a file with -o", ctx)
    return form or ("table" if sys.stdout.isatty() else "csv")


@contextmanager
def _errors_of_files(inputs: tuple[str, ...], options: Options) -> Iterator[None]:
    """Turn errors of pyarrow into those of the inputs, as `probe` has them.

    Raises:
        InvalidArgument: If a folder has no files.
        FileProblem: If a file is no Parquet file, or its footer cannot be read.
        MalformedFile: If only pyarrow cannot read a file.
    """
    import pyarrow as pa

    from parquet_bloomwriter.errors import ColumnNotFound, MalformedFile
    from parquet_bloomwriter.text import words_of

    try:
        yield
    except ColumnNotFound:
        _check_files(inputs, options)
        raise
    except pa.ArrowException as error:
        said = words_of(error)
        _check_files(inputs, options, said)
        problem = MalformedFile(f"pyarrow cannot read it: {said}")
        problem.outcome = ""
        raise problem from error


def _check_files(inputs: tuple[str, ...], options: Options, said: str = "") -> None:
    """Check that the inputs have files, and that those that an error names are Parquet files.

    Raises:
        InvalidArgument: If a folder has no files.
        FileProblem: If a file is no Parquet file, or its footer cannot be read.
    """
    from bloomify.runner import find
    from parquet_bloomwriter.source.open import opened_with_footer

    files = find(inputs, as_of(options)).files
    for file in files:
        if file.path in said or len(files) == 1:
            with opened_with_footer(file):
                continue


def _open(
    inputs: tuple[str, ...],
    condition: Expression | None,
    options: Options,
    console: Console,
) -> list[Rows]:
    """Open the inputs, files that were named one by one as one table.

    Raises:
        InvalidArgument: If they have different columns.
    """
    from parquet_bloomwriter.errors import InvalidArgument
    from parquet_bloomwriter.source.listing import is_pattern
    from parquet_bloomwriter.verbs.read import open_rows

    are_files = len(inputs) > 1 and all(Path(given).is_file() for given in inputs)
    found: list[Rows] = []
    for source in inputs[:1] if are_files else inputs:
        is_file = is_pattern(source) or Path(source).is_file()
        ask_index = None
        if condition is not None and not is_file:
            ask_index = _asker(source, condition, options, console)
        rows = open_rows(
            list(inputs) if are_files else source,
            columns=options["columns"] or None,
            filters=condition,
            as_of=as_of(options),
            ask_index=ask_index,
        )
        found.append(rows)
        names = [one.no_rows().schema.names for one in (found[0], rows)]
        if names[0] != names[1]:
            raise InvalidArgument(
                f'"{source}" has other columns than "{inputs[0]}"',
                remedy="Name the columns that both have, with --columns.",
            )
    if not names[0]:
        _check_files(inputs, options)
    return found


def _asker(source: str, condition: Expression, options: Options, console: Console) -> AskIndex:
    """Return a function that asks the indexes of a folder or table which files might match."""

    def ask(table: Table | None, paths: Sequence[str]) -> Iterable[str] | None:
        from parquet_bloomwriter import index
        from parquet_bloomwriter.errors import BloomwriterError, IndexNotFound, IndexProblem
        from parquet_bloomwriter.index.homes import find_homes
        from parquet_bloomwriter.table_files.files import DELTA

        home = options["home"]
        if home is None and Path(source).exists() and not find_homes(str(Path(source).absolute())):
            return None
        state = None if table is None else table.version or None
        is_delta = table is not None and table.kind == DELTA
        look_up = partial(
            index.lookup,
            source,
            condition,
            home=home,
            version=table.version if table is not None and is_delta else None,
            snapshot=None if is_delta else state,
        )
        try:
            report = look_up()
            if table is None and not report.was_listed:  # by contract; new files are not in it
                report = look_up(files=_as_named(paths, source))
        except IndexNotFound:
            if home is not None:
                raise
            return None
        except IndexProblem as error:
            console.note(f"{describe(error, reads_only=True)} All files are looked at.")
            return None
        except BloomwriterError:  # Opening the files says what is wrong, or nothing is.
            return None
        for text in _index_notes(report, condition, source, options):
            console.note(text)
        return report.paths

    return ask


def _as_named(paths: Sequence[str], source: str) -> list[str]:
    """Return the paths of a folder's files as an index takes them: on a store, URLs."""
    scheme, sign, _ = source.partition("://")
    return [one if os.path.isabs(one) or not sign else f"{scheme}://{one}" for one in paths]  # noqa: PTH117  as in the index


def _index_notes(
    report: LookupReport, condition: Expression, source: str, options: Options
) -> Iterator[str]:
    """Yield that files are not known to the indexes that have a column of the condition."""
    from bloomify.views.index.lookup import warnings
    from parquet_bloomwriter.predicate import columns_of

    asked = set(columns_of(condition))
    if report.num_unknown and any(asked & set(use.columns) for use in report.indexes):
        is_of_past = options["version"] is not None or options["snapshot"] is not None
        yield from warnings(
            report, condition, table=source, home=options["home"], is_of_past=is_of_past
        )


def _print(found: Sequence[Rows], form: str, options: Options, console: Console) -> int:
    """Print the rows, or write them to a file, and return their number."""
    output = options["output"]
    if output is not None:
        with _new_file(output, overwrite=options["overwrite"]) as stream:
            return _write(found, form, options, console, stream=stream)
    try:
        return _write(found, form, options, console, stream=console.stream())
    except BrokenPipeError:
        discard(sys.stdout.fileno())
        return 1


def _check_is_no_input(path: str, inputs: Sequence[str], options: Options) -> None:
    """Refuse to replace a file by some of its own rows.

    Raises:
        UnsafeTarget: If the path is that of a file of an input.
    """
    from bloomify.runner import find
    from parquet_bloomwriter.errors import UnsafeTarget

    if not Path(path).is_file():
        return
    target = os.path.realpath(path)
    for file in find(inputs, as_of(options)).files:
        if file.filesystem is None and os.path.realpath(file.path) == target:
            raise UnsafeTarget(
                "this is a file of an INPUT, whose other rows would be lost",
                path=path,
                remedy="Choose another name.",
            )


def _new_file(path: str, *, overwrite: bool) -> AbstractContextManager[BinaryIO]:
    """Return a file that appears under its name once it is whole.

    Raises:
        UnsafeTarget: If the name is taken, and must not be overwritten.
        OSError: If its folder is missing.
    """
    from parquet_bloomwriter.durable import new_file
    from parquet_bloomwriter.replace.target import choose_target

    target = choose_target(None, path, overwrite=overwrite)
    return new_file(target.path, name=target.name, overwrite=overwrite)


def _write(
    found: Sequence[Rows], form: str, options: Options, console: Console, *, stream: BinaryIO
) -> int:
    """Write the rows in a form, and return their number."""
    from bloomify.views.rows import TableForm, new_form, rows_note

    schema = found[0].no_rows().schema
    is_watched = console.columns is not None and options["output"] is None
    writer = new_form(
        form, schema, stream, columns=console.columns or _NO_TERMINAL, is_watched=is_watched
    )
    num_rows = 0
    try:
        for batch in _batches(found, schema, limit=options["limit"]):
            writer.write(batch)
            num_rows += batch.num_rows
        writer.finish()
        stream.flush()
    except BaseException as error:
        is_file = options["output"] is not None
        printed = f"{count(num_rows, 'row')} {'was' if num_rows == 1 else 'were'} printed"
        if isinstance(error, KeyboardInterrupt):
            error.add_note("No file was written" if is_file else printed)
        elif num_rows and not is_file and not isinstance(error, BrokenPipeError):
            console.error(f"{printed}, and these are not all, because of an error:")
        writer.abandon()
        raise
    if isinstance(writer, TableForm) and options["output"] is None:
        console.note(rows_note(num_rows, writer.num_hidden))
    return num_rows


def _batches(
    found: Sequence[Rows], schema: pa.Schema, *, limit: int | None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of all inputs, with the types of the first; up to the limit."""
    left = limit
    for rows in found:
        for batch in rows.batches(batch_size=_BATCH_ROWS):
            if left is not None and left <= batch.num_rows:
                yield batch.slice(0, left).cast(schema)
                return
            left = None if left is None else left - batch.num_rows
            yield batch if batch.schema == schema else batch.cast(schema)
