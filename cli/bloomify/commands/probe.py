"""`bloomify probe`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from bloomify.console.console import Console, complain
from bloomify.console.help import Reading, section
from bloomify.console.interruption import interruptible
from bloomify.console.messages import Failures, describe
from bloomify.exits import ExitCode, exit_code_of, exit_code_of_run
from bloomify.options import (
    all_of,
    dialect_options,
    printing_options,
    sources_argument,
    split_pairs,
)
from bloomify.runner import find, is_single
from bloomify.views.documents import failure_document, run_document

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bloomify.views.documents import Document
    from parquet_bloomwriter.hashing import Dialect
    from parquet_bloomwriter.predicate.expression import Expression
    from parquet_bloomwriter.probing.report import ProbeReport
    from parquet_bloomwriter.source import Location

_asked = section("What is asked for")
_shown = section("What is printed")

_condition_options = all_of(
    _asked(
        "--where",
        metavar="SQL",
        multiple=True,
        help="Condition as in a WHERE clause: \"id = 42 AND kind IN ('a', 'b')\". Of several, all "
        "must hold.",
    ),
    _asked(
        "--eq",
        metavar="COLUMN=VALUE",
        multiple=True,
        callback=split_pairs,
        help="The same as COLUMN = 'VALUE', whatever characters are in VALUE: for scripts. "
        "Repeatable.",
    ),
    dialect_options(
        "What is asked for",
        help_="'murmur3' asks filters whose headers do not name their hash as those of the Murmur3 "
        "drafts. Say so only of files written so: of early files with XXH64, which have the same "
        "headers, rows would be missed. 'xxhash' does not ask such filters.",
    ),
)

_listing_options = all_of(
    _shown(
        "--files",
        is_flag=True,
        help="Print just the paths that might match, one per line, also those of files that "
        "cannot be read.",
    ),
    _shown(
        "-0",
        "--null",
        is_flag=True,
        help="With --files: end each path with a zero byte, for xargs -0.",
    ),
    _shown("--row-groups", is_flag=True, help="List all row groups, however many there are."),
)


class ProbeOptions(TypedDict):
    """All options."""

    where: tuple[str, ...]
    eq: tuple[tuple[str, str], ...]
    dialect: Dialect
    murmur3_seed: int
    files: bool
    null: bool
    row_groups: bool
    as_json: bool
    quiet: bool


@click.command("probe", cls=Reading, short_help="Say which files and row groups might match.")
@sources_argument
@_condition_options
@_listing_options
@printing_options
@click.pass_context
def probe(ctx: click.Context, /, inputs: tuple[str, ...], **options: Unpack[ProbeOptions]) -> None:
    """Say which files and row groups of each INPUT might hold rows that pass a condition.

    Only footers are read, and of Bloom filters and dictionaries what is needed. An INPUT is a
    Parquet file, a folder, a glob pattern or a URL of these.

    The exit code is 0 if something might match and 1 if nothing can. Files that cannot be read
    might match, and --files lists them: then the code is 3, or that of the first if none can be
    read.
    """
    if options["null"] and not options["files"]:
        raise click.UsageError("--null goes with --files", ctx)
    if options["files"] and options["as_json"]:
        raise click.UsageError("--files and --json exclude each other", ctx)
    if not (options["where"] or options["eq"]):
        _ask_for_condition(ctx, inputs)
    console = Console.open(is_quiet=options["quiet"])
    with interruptible(console.bar):
        condition = _condition(options)
        locations = find(inputs)
        report = _probe(locations, condition, options)
    failures, failed = _complain_of(report, console)
    _print(report, failed, inputs, locations, options, console)
    might = any(file.error is None for file in report.might_match)
    ctx.exit(exit_code_of_run(failures, num_files=len(report.files), passed=might))


def _condition(options: ProbeOptions) -> Expression:
    """All conditions together.

    Raises:
        InvalidArgument: If one cannot be understood.
    """
    from parquet_bloomwriter.predicate import parse
    from parquet_bloomwriter.predicate.expression import And, Comparison

    conditions = [
        *map(parse, options["where"]),
        *(Comparison(column, "=", value) for column, value in options["eq"]),
    ]
    return conditions[0] if len(conditions) == 1 else And(tuple(conditions))


def _probe(
    locations: Sequence[Location], condition: Expression, options: ProbeOptions
) -> ProbeReport:
    """Probe; also a single file that cannot be read is an entry of the report.

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


def _complain_of(report: ProbeReport, console: Console) -> tuple[list[ExitCode], list[Document]]:
    """Print why files could not be read."""
    codes, documents, told = [], [], Failures()
    for file in report.failed:
        error = file.error
        if error is None:
            continue
        code = exit_code_of(error)
        message = describe(error, path=file.path, reads_only=True)
        if told.add(error, file.path or ""):
            console.error(message if len(report.files) == 1 else f"{message} It might match.")
        codes.append(code)
        documents.append(
            failure_document(file.path or "", None, error, message=message, exit_code=code)
        )
    for line in told.others():
        console.error(line)
    return codes, documents


def _print(  # noqa: PLR0913, PLR0917  the parts of one sentence
    report: ProbeReport,
    failed: list[Document],
    inputs: Sequence[str],
    locations: Sequence[Location],
    options: ProbeOptions,
    console: Console,
) -> None:
    if options["as_json"]:
        console.result(_document(report, failed))
    elif options["quiet"]:
        return
    elif options["files"]:
        paths = (file.path or "" for file in report.might_match)
        console.paths(paths, end=b"\0" if options["null"] else b"\n")
    elif len(report.failed) < len(report.files):
        _print_text(report, console, options, is_one=is_single(inputs, locations))


def _print_text(
    report: ProbeReport, console: Console, options: ProbeOptions, *, is_one: bool
) -> None:
    from bloomify.views.probe import ProbeText

    text = ProbeText(
        report=report,
        glyphs=console.glyphs,
        columns=console.columns,
        every_row_group=options["row_groups"],
    )
    console.result(text.of_one() if is_one else text.of_many())


def _document(report: ProbeReport, failed: list[Document]) -> str:
    from bloomify.views.documents import probe_document, probed_file_document

    return run_document(
        "probe",
        files=[probed_file_document(file) for file in report.files if file.error is None],
        failed=failed,
        totals=probe_document(report),
    )


def _ask_for_condition(ctx: click.Context, inputs: Sequence[str]) -> None:
    """Show what there is to ask for."""
    from bloomify.commands.columns import choice_of_conditions
    from parquet_bloomwriter.errors import FileProblem

    location, *_ = find(inputs)
    try:
        choice = choice_of_conditions(location, inputs)
    except (FileProblem, OSError) as error:
        complain(describe(error, path=str(location), reads_only=True))
        ctx.exit(exit_code_of(error))
    complain("say what to look for with --where or --eq.")
    click.echo(choice, err=True)
    ctx.exit(ExitCode.USAGE)
