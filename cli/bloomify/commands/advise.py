"""The command `bloomify advise`."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Unpack

import click

from bloomify.console.console import Console
from bloomify.console.help import Reading, section
from bloomify.console.messages import describe
from bloomify.exits import ExitCode, exit_code_of
from bloomify.options import (
    all_of,
    columns_option,
    one,
    parse_rate,
    read_conditions,
    reading_options,
    sources_argument,
)
from bloomify.runner import guarded, read_files, shown
from parquet_bloomwriter.errors import BloomwriterError, InvalidArgument
from parquet_bloomwriter.text import listed_names, safe

if TYPE_CHECKING:
    from bloomify.options import Options
    from bloomify.views.advise import AdviseView
    from parquet_bloomwriter.advising.report import AdviseReport
    from parquet_bloomwriter.progress import FileProgress
    from parquet_bloomwriter.source import Location


def _queries(
    context: click.Context, parameter: click.Parameter, given: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the texts of queries, once they are known to be SQL."""
    texts = read_conditions(context, parameter, given)
    if texts:
        from parquet_bloomwriter.advising.queries import uses_of_columns

        try:
            uses_of_columns(texts, ())
        except InvalidArgument as error:
            raise click.BadParameter(str(error)) from error
    return texts


_NO_FOLDER = "--write goes with one folder, or one Delta or Iceberg table"

_judged_options = all_of(
    columns_option(section_="What is judged", help_="Only these columns.", default="all"),
    section("What is judged")(
        "--fpp",
        "rate",
        metavar="P",
        callback=one(parse_rate),
        default="0.01",
        show_default=True,
        help="False positive probability of the filters to come.",
    ),
    section("What is judged")(
        "--engine",
        type=click.Choice(
            ("any", "duckdb", "spark", "datafusion", "clickhouse", "trino", "polars")
        ),
        default="any",
        show_default=True,
        help="The engine that looks up values; with 'any', advice says where they differ.",
    ),
    section("What is judged")(
        "--where",
        metavar="SQL",
        multiple=True,
        callback=_queries,
        help="A condition or query as you ask it, @FILE with many, separated by semicolons, or - "
        "for standard input: only columns that they compare with values deserve filters.",
    ),
)


@click.command("advise", cls=Reading, short_help="Say which columns deserve filters.")
@sources_argument
@_judged_options
@section("What is done with it")(
    "--write",
    is_flag=True,
    help="Write the advice down, so that 'bloomify INPUT' knows the columns: of a folder into its "
    "file _bloomify.toml, of a table by a commit into its properties. These are bloomify.columns "
    "and bloomify.fpp for Delta, and write.parquet.bloom-filter-enabled.column.NAME for Iceberg.",
)
@section("What is done with it")(
    "--overwrite",
    is_flag=True,
    help="With --write: replace other columns and rates in a file _bloomify.toml.",
)
@reading_options
@click.pass_context
def advise(ctx: click.Context, /, inputs: tuple[str, ...], **options: Unpack[Options]) -> None:
    """Say which columns of all INPUTs deserve Bloom filters, what they cost, and what they save.

    The last line is the command that adds them. Figures come from footers and a sample of values.
    An INPUT is a Parquet file, a folder, a Delta or Iceberg table, a glob pattern or a URL.
    """
    from bloomify.views.advise import AdviseView

    console = Console.open(options)
    view = AdviseView(inputs=tuple(map(shown, inputs)))
    if options["overwrite"] and not options["write"]:
        raise click.UsageError("--overwrite goes with --write", ctx)
    if options["write"]:
        _check_writable(ctx, inputs)

    def judge(location: Location, jobs: int, _: FileProgress) -> AdviseReport:
        from parquet_bloomwriter.verbs.advise import advise

        return advise(
            location,
            options["columns"] or None,
            fpp=options["rate"],
            engine=options["engine"],
            queries=options["where"] or None,
            jobs=jobs,
        )

    code = read_files(inputs, judge, view, options, console, is_together=True)
    if options["where"] and view.reports and code == ExitCode.OK:
        _check_queries(view, options["where"])
    if view.reports and not (options["quiet"] or options["as_json"]):
        _print_command(view, console)
    if options["write"] and code == ExitCode.OK:
        code = _write(inputs[0], view, options, console)
    elif options["write"]:
        console.error("the advice is not written down, as it is not on all files.")
    ctx.exit(code)


def _check_queries(view: AdviseView, queries: tuple[str, ...]) -> None:
    """Check that queries ask for some column of the files.

    Raises:
        ColumnNotFound: If every name in their conditions is unknown.
    """
    from parquet_bloomwriter.advising.queries import unknown_columns
    from parquet_bloomwriter.errors import ColumnNotFound
    from parquet_bloomwriter.text import suggestion

    known = list(dict.fromkeys(one.name for report in view.reports for one in report.columns))
    unknown = unknown_columns(queries, known)
    if unknown:
        names = ", ".join(f'"{safe(name)}"' for name in unknown[:3])
        raise ColumnNotFound(
            f"no query asks for a column of these files: there is no {names}",
            remedy=suggestion(unknown[0], known),
        )


def _check_writable(ctx: click.Context, inputs: tuple[str, ...]) -> None:
    """Check that the inputs are one folder or table.

    Raises:
        click.UsageError: If not.
    """
    from parquet_bloomwriter.table_files.find import is_table_name
    from parquet_bloomwriter.verbs.folder_file import is_folder

    if len(inputs) != 1 or not (is_table_name(inputs[0]) or is_folder(inputs[0])):
        raise click.UsageError(_NO_FOLDER, ctx)


def _write(given: str, view: AdviseView, options: Options, console: Console) -> ExitCode:
    """Let a folder or a table ask for the columns that deserve filters, or have them already."""
    from parquet_bloomwriter.advising.report import Advice
    from parquet_bloomwriter.table_files.find import is_table_name

    report, wanted = view.together(), (Advice.ADD, Advice.HAS_FILTER)
    chosen = [one for one in report.ranked if one.verdict in wanted]
    is_table = is_table_name(given)
    if not is_table and report.num_files == 1 and view.reports[0].paths == (shown(given),):
        raise click.UsageError(_NO_FOLDER, click.get_current_context())  # an object of a store
    names = [one.name for one in chosen] if is_table else [*filter(None, map(report.typed, chosen))]
    if not names:
        stays = "the table's properties stay as they are" if is_table else "no file is written"
        console.note(f"no column surely deserves filters: {stays}.")
        return ExitCode.OK

    def write() -> str:
        if is_table:
            return _set_properties(given, names, options["rate"])
        return _write_file(given, names, any(one.missing_from for one in chosen), options)

    try:
        console.note(guarded(write, path=given))
    except (BloomwriterError, OSError) as error:
        console.error(describe(error, path=given))
        return exit_code_of(error)
    return ExitCode.OK


def _set_properties(table: str, names: list[str], fpp: float) -> str:
    """Set the table's properties; return a sentence on them."""
    from parquet_bloomwriter.iceberg.names import is_iceberg
    from parquet_bloomwriter.tables.request import ask_for_filters

    version = ask_for_filters(table, names, fpp=fpp)
    if version is None:
        return "the table's properties say so already."
    since = "now on" if is_iceberg(table) else f"version {version:,} on"
    return f"the table asks for {', '.join(names)} from {since}."


def _write_file(
    folder: str,
    names: list[str],
    lacks: bool,  # noqa: FBT001  whether some files lack some columns
    options: Options,
) -> str:
    """Write the folder's file; return a sentence on it."""
    from parquet_bloomwriter.verbs.folder_file import write_folder_file

    rate, overwrite = options["rate"], options["overwrite"]
    path = write_folder_file(folder, names, fpp=rate, skip_missing=lacks, overwrite=overwrite)
    if path is None:
        return "the folder's file says so already."
    words = shlex.join(["bloomify", shown(folder)])
    return f"{path} asks for {listed_names(names)}. To add the filters, type: {words}"


def _print_command(view: AdviseView, console: Console) -> None:
    from bloomify.views.advise import names_file_urls

    report = view.together()
    words = report.command
    if words is None:
        others = report.command_for(report.considered)
        if others is not None:
            console.note(f"to add those that might pay, type: {safe(others)}")
        return
    if names_file_urls(view.inputs):
        console.note("name local files by their paths, not by URLs, to add filters to them.")
    console.result(f"\n{safe(words)}")
