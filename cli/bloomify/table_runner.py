"""The frame of verbs that write to a table: one table, its report, its errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bloomify.console.help import TABLES, section
from bloomify.console.interruption import interruptible
from bloomify.console.messages import describe
from bloomify.exits import ExitCode, exit_code_of
from bloomify.options import all_of, one, parse_count
from bloomify.runner import guarded, note_indexes
from bloomify.views.base import document_of, failure_document, print_json
from parquet_bloomwriter.arguments import parse_size
from parquet_bloomwriter.errors import BloomwriterError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bloomify.console.console import Console
    from bloomify.options import Options
    from bloomify.views.base import Document
    from parquet_bloomwriter import TableReport
    from parquet_bloomwriter.progress import Bar
    from parquet_bloomwriter.tables.replacement import Limits

_table = section(TABLES)


commit_options = all_of(
    _table(
        "--branch",
        metavar="NAME",
        help="Of an Iceberg table: the branch that is changed.  [default: main]",
    ),
    _table(
        "--commit-every",
        metavar="N|SIZE",
        multiple=True,
        help="Commit after N files, such as 100, or after SIZE bytes, such as 5GiB; give it twice "
        "for both.  [default: 500 and 20GiB]",
    ),
)

budget_options = all_of(
    _table(
        "--max-files",
        metavar="N",
        callback=one(parse_count),
        help="Work on at most N files; the next run does the rest.",
    ),
    _table(
        "--max-bytes-rewritten",
        metavar="SIZE",
        callback=one(parse_size),
        help="Work on files of at most SIZE bytes in all.",
    ),
    _table("--newest-first", is_flag=True, help="Begin with the newest files."),
)

_FILES_ONLY = {
    "output": "-o",
    "overwrite": "--overwrite",
    "backup": "--backup",
    "backup_dir": "--backup-dir",
    "force": "--force",
    "regenerate_crc": "--regenerate-crc",
    "keep_time": "--keep-time",
    "plan": "--plan",
    "skip_missing": "--skip-missing",
}
"""Options of files that have no meaning for a table."""

_TABLES_ONLY = {
    "branch": "--branch",
    "commit_every": "--commit-every",
    "max_files": "--max-files",
    "max_bytes_rewritten": "--max-bytes-rewritten",
    "newest_first": "--newest-first",
}


def table_among(inputs: tuple[str, ...], options: Mapping[str, object]) -> str | None:
    """Return the table that the inputs name; None if they name files and folders of files.

    Raises:
        click.UsageError: If there are others beside it, or options that do not go with it.
    """
    from parquet_bloomwriter.table_files.find import is_table_name

    ctx = click.get_current_context()
    tables = [given for given in inputs if is_table_name(given)]
    wrong = _FILES_ONLY if tables else _TABLES_ONLY
    given = [option for name, option in wrong.items() if options.get(name)]
    if not tables:
        if given:
            kinds = "an Iceberg table" if given[0] == "--branch" else "a Delta or Iceberg table"
            raise click.UsageError(f"{given[0]} goes with {kinds} only", ctx)
        return None
    if len(inputs) > 1:
        raise click.UsageError(f'"{tables[0]}" is a table: give one at a time', ctx)
    if given:
        raise click.UsageError(
            f'"{tables[0]}" is a table, whose files get new names by commits: '
            f"{given[0]} says nothing there",
            ctx,
        )
    return tables[0]


def limits_of(given: tuple[str, ...]) -> Limits:
    """Return the limits in the values of `--commit-every`.

    Raises:
        click.UsageError: If one is no number of files or bytes.
    """
    from parquet_bloomwriter.tables.replacement import Limits

    found: dict[str, int] = {}
    for text in given:
        try:
            if text.replace("_", "").replace(",", "").isdecimal():
                found["num_files"] = parse_count(text)
            else:
                found["num_bytes"] = parse_size(text)
        except ValueError as error:
            raise click.UsageError(
                f"--commit-every: {error}", click.get_current_context()
            ) from None
    return Limits(**found)


def write_table(
    table: str,
    verb: Callable[[Bar], TableReport],
    command: str,
    options: Options,
    console: Console,
) -> ExitCode:
    """Apply a verb to a table, print the result, and return the exit code."""
    try:
        with interruptible(console.bar):
            report = guarded(lambda: verb(console.bar), path=table)
    except KeyboardInterrupt as error:
        _show(getattr(error, "report", None), [], command, options, console)
        raise
    except (BloomwriterError, OSError) as error:
        message = describe(error, path=table)
        failed = [failure_document(error, path=table, message=message)]
        _show(getattr(error, "report", None), failed, command, options, console)
        console.error(message)
        return exit_code_of(error)
    _show(report, [], command, options, console)
    if report.commits:
        note_indexes(table, console)
    return ExitCode.SOME_FAILED if report.num_failed else ExitCode.OK


def _show(
    report: TableReport | None,
    failed: list[Document],
    command: str,
    options: Options,
    console: Console,
) -> None:
    """Print a report; if the run failed, the report of what was done before."""
    from bloomify.views.table import table_text

    if options["as_json"]:
        document = None if report is None else document_of(report)
        lists = {"failed": failed}
        print_json(command, {"table": document}, lists, console, form=options["as_json"])
    elif report is not None and not options["quiet"]:
        console.result(table_text(report, columns=console.columns))
