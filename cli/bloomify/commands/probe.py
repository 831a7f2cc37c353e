"""The command `bloomify probe`."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from bloomify.console.console import Console
from bloomify.console.help import Reading, section
from bloomify.console.interruption import interruptible
from bloomify.exits import exit_code_of_inputs, exit_code_of_run, exit_code_of_search
from bloomify.options import (
    all_of,
    as_of,
    check_paths_options,
    condition_of,
    condition_options,
    dialect_options,
    many_printing_options,
    path_end,
    paths_options,
    sources_argument,
    state_options,
)
from bloomify.runner import (
    FailureLog,
    find,
    is_single,
    note_passed_over,
    passed_over_documents,
    table_documents,
    table_headline,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bloomify.options import Options
    from parquet_bloomwriter.predicate.expression import Expression
    from parquet_bloomwriter.probing.report import ProbeReport
    from parquet_bloomwriter.source import Location
    from parquet_bloomwriter.table_files.find import AsOf, FoundFiles

_CONDITION = re.compile(r"[=<>]|\s(in|is|between)\s", re.IGNORECASE)

_asked_options = all_of(
    condition_options,
    dialect_options(
        "What is asked for",
        help_="What to do with filters whose headers do not name a hash. 'xxhash' ignores them. "
        "'murmur3' reads them as filters of the Murmur3 drafts: only for files that were written "
        "like that. Early files with XXH64 have the same headers, and rows would be missed.",
    ),
)

_shown_options = all_of(
    paths_options(
        help_="Print just the paths that might match, one per line, also those of files that "
        "cannot be read.",
    ),
    section("What is printed")(
        "--row-groups", is_flag=True, help="List all row groups, however many there are."
    ),
)


@click.command("probe", cls=Reading, short_help="Say which files and row groups might match.")
@sources_argument
@_asked_options
@_shown_options
@state_options
@many_printing_options
@click.pass_context
def probe(ctx: click.Context, /, inputs: tuple[str, ...], **options: Unpack[Options]) -> None:
    """Say which files and row groups of each INPUT might hold rows that pass a condition.

    Footers are read, and the parts of Bloom filters and dictionaries that are needed. An INPUT is a
    Parquet file, a folder, a Delta or Iceberg table, a glob pattern or a URL of these.

    The exit code is 0 if something might match and 1 if nothing can. Files that cannot be read
    might match, and --files lists them: then the code is 3, or that of the first if none can be
    read. It is 3 instead of 1 also if symbolic links were passed over that lead nowhere.
    """
    check_paths_options(options, ctx)
    if not (options["where"] or options["eq"]):
        from bloomify.commands.columns import show_conditions

        for word in inputs:
            if _CONDITION.search(word) and not Path(word).exists():
                problem = (
                    f'there is no file "{word}"; if it is a condition, write --where before it'
                )
                raise click.UsageError(problem, ctx)
        show_conditions(ctx, _first(inputs, as_of(options)), given=inputs[0])
    console = Console.open(options)
    with interruptible(console.bar):
        condition = condition_of(options)
        found = find(inputs, as_of(options))
        report = _probe(found.files, condition, options)
    failures = FailureLog(console=console, reads_only=True)
    _take_failures(report, failures)
    _print(report, failures, options, console, found=found, inputs=inputs)
    note_passed_over(found.passed_over, console)
    might = any(file.error is None for file in report.might_match)
    code = exit_code_of_run(failures.codes, num_files=len(report.files), passed=might)
    ctx.exit(exit_code_of_inputs(exit_code_of_search(code, found.passed_over), inputs))


def _probe(locations: Sequence[Location], condition: Expression, options: Options) -> ProbeReport:
    """Return the report of probing; a single unreadable file is an entry of it, too.

    Raises:
        InvalidArgument: If the condition does not fit the files.
    """
    from parquet_bloomwriter.errors import BloomwriterError, InvalidArgument
    from parquet_bloomwriter.probing.report import FileProbe, ProbeReport
    from parquet_bloomwriter.verbs.probe import probe

    try:
        return probe(
            locations,
            condition,
            dialect=options["dialect"],
            murmur3_seed=options["murmur3_seed"],
        )
    except (BloomwriterError, OSError) as error:
        if isinstance(error, InvalidArgument) or len(locations) != 1:
            raise
        file = FileProbe(path=str(locations[0]), known=None, findings=None, error=error)
        return ProbeReport(expression=condition, files=(file,), num_filters=0)


def _first(inputs: tuple[str, ...], state: AsOf) -> Location:
    """Return the first file, whose columns are shown.

    Raises:
        InvalidArgument: If there is none.
    """
    from parquet_bloomwriter.errors import InvalidArgument

    files = find(inputs, state).files
    if not files:
        raise InvalidArgument("the table has no files")
    return files[0]


def _take_failures(report: ProbeReport, failures: FailureLog) -> None:
    """Print why files could not be read, and add them to the failures."""
    consequence = "It might match." if len(report.files) > 1 else ""
    for file in report.failed:
        if file.error is not None:
            failures.add(file.error, path=file.path or "", consequence=consequence)
    failures.print_others()


def _print(  # noqa: PLR0913  what was found, and how it is shown
    report: ProbeReport,
    failures: FailureLog,
    options: Options,
    console: Console,
    *,
    found: FoundFiles,
    inputs: tuple[str, ...],
) -> None:
    from bloomify.views.probe import ProbeText, print_probe

    if options["as_json"]:
        facts = table_documents(found.tables) | passed_over_documents(found.passed_over)
        print_probe(report, failures.documents, console, form=options["as_json"], **facts)
    elif options["quiet"]:
        return
    elif options["files"]:
        console.paths((file.path or "" for file in report.might_match), end=path_end(options))
    elif len(report.failed) < len(report.files) or not report.files:
        text = ProbeText(
            report=report,
            glyphs=console.glyphs,
            columns=console.columns,
            every_row_group=options["row_groups"],
            excluded_by="partitions" if found.tables else "paths",
            source=shlex.quote(inputs[0]) if len(inputs) == 1 else "",
        )
        for table in found.tables:
            console.result(table_headline(table))
        if report.files:
            is_one = is_single(inputs, found.files)
            console.result(text.of_one() if is_one else text.of_many())
