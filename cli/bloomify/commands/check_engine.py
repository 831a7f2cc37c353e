"""The command `bloomify check-engine`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import click

from bloomify.console.console import Console
from bloomify.console.help import Reading, complete_path, section
from bloomify.exits import ExitCode
from bloomify.options import all_of, printing_options, split_columns
from bloomify.views.base import document_of, json_text
from parquet_bloomwriter.text import count, listed_names, safe

if TYPE_CHECKING:
    from bloomify.options import Options
    from parquet_bloomwriter.verbs.engines.report import EngineCheck, EngineReport

_COLORS = {"USED": "green", "NOT_USED": "red", "WRONG": "red", "UNDECIDED": "yellow"}

_asked = section("What is asked")

_asked_options = all_of(
    _asked(
        "--engine",
        "engines",
        metavar="NAME,...",
        multiple=True,
        callback=split_columns,
        help="duckdb, datafusion, clickhouse (chdb), spark, polars, pyarrow, pandas, bloomify. "
        "[default: of the first four, those that are installed beside bloomify]",
    ),
    _asked(
        "--command",
        metavar="COMMAND",
        help="Ask another engine by this command of the shell. In it, {file}, {column} and {value} "
        "stand for the file, the column, and a value as SQL writes it. It must fail if the query "
        "does.",
    ),
    _asked(
        "--python",
        metavar="PATH",
        shell_complete=complete_path,
        help="Ask the engines of another environment, by its Python, as in ENV/bin/python: so you "
        "can compare versions.",
    ),
    _asked(
        "-c",
        "--column",
        metavar="NAME",
        help="Ask for values of this column only. [default: for an absent value of the first one "
        "of integers, text or bytes that will do, and for present values of all]",
    ),
    _asked(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        default=300,
        show_default=True,
        help="How long one answer may take.",
    ),
)


@click.command("check-engine", cls=Reading, short_help="Prove which engines use the filters.")
@click.argument("file", metavar="FILE", shell_complete=complete_path)
@_asked_options
@printing_options
@click.pass_context
def check_engine(ctx: click.Context, /, file: str, **options: Unpack[Options]) -> None:
    """Prove which engines use the Bloom filters of a FILE, and that they lose no rows by them.

    Each engine is asked for a value that is in no row, in a copy of FILE whose data pages are
    destroyed. An engine that answers has used the filters; an engine that fails has not. A second
    copy, without filters, shows that nothing else could have answered. Then each engine is asked
    for values that are there, with filters and without: an engine that finds fewer rows with them
    is WRONG, and the exit code is 7. FILE is not changed.
    """
    from parquet_bloomwriter.verbs.check_engine import check_engine

    console = Console.open(options)
    report = check_engine(
        file,
        options["engines"] or None,
        column=options["column"],
        command=options["command"],
        python=options["python"],
        timeout_s=options["timeout"],
        progress=None
        if options["as_json"]
        else lambda one: console.result(_line(one, has_error=options["verbose"])),
    )
    if options["as_json"]:
        text = json_text("check-engine", seconds=console.seconds, **document_of(report))
        console.result(text)
    else:
        groups = count(report.num_row_groups, "row group")
        console.note(
            f"asked for {report.column} = {report.value!r}, a value made up, which only the "
            f"filters of {groups} exclude, and for values that are in "
            f"{listed_names(report.present_columns)}."
        )
        if not (options["engines"] or options["python"]) and (others := _others(report)):
            console.note(f"not asked: {', '.join(others)}; --engine NAME asks one.")
    if report.has_wrong:
        ctx.exit(ExitCode.ENGINE_WRONG)
    ctx.exit(ExitCode.OK if report.all_use else ExitCode.CHECK_FAILED)


def _others(report: EngineReport) -> list[str]:
    """Return the names of the installed engines that were not asked."""
    from parquet_bloomwriter.verbs.engines.queries import installed_engines

    asked = {one.engine for one in report.checks} | {"bloomify"}
    return [name for name in installed_engines() if name not in asked]


def _line(check: EngineCheck, *, has_error: bool) -> str:
    name = safe(f"{check.engine} {check.version}".rstrip())
    use = str(check.use)
    verdict = safe(check.verdict).replace(use, click.style(use, _COLORS[check.use.name]), 1)
    error = f": {safe(check.error)}" if has_error and check.error else ""
    return "\n".join([f"{name}{verdict}{error}", *(f"  known: {one}" for one in check.hazards)])
