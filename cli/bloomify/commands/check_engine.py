"""`bloomify check-engine`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from bloomify.console.console import Console
from bloomify.console.help import Reading, complete_path, section
from bloomify.exits import ExitCode
from bloomify.options import all_of, printing_options, split_columns
from bloomify.views.base import json_text
from parquet_bloomwriter.text import count, safe

if TYPE_CHECKING:
    from parquet_bloomwriter.reports.engines import EngineCheck, EngineReport

_COLORS = {"USED": "green", "NOT_USED": "red", "UNDECIDED": "yellow"}

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
        "-c",
        "--column",
        metavar="NAME",
        help="The column to ask for, of integers or text. [default: the first that will do]",
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


class CheckEngineOptions(TypedDict):
    """All options."""

    engines: tuple[str, ...]
    command: str | None
    column: str | None
    timeout: float
    as_json: bool
    quiet: bool
    verbose: bool


@click.command("check-engine", cls=Reading, short_help="Prove which engines use the filters.")
@click.argument("file", metavar="FILE", shell_complete=complete_path)
@_asked_options
@printing_options
@click.pass_context
def check_engine(ctx: click.Context, /, file: str, **options: Unpack[CheckEngineOptions]) -> None:
    """Prove which engines use the Bloom filters of a FILE.

    Each engine is asked for a value that is in no row, in a copy of FILE whose data pages are
    destroyed. An engine that answers has used the filters; an engine that fails has not. A second
    copy, without filters, shows that nothing else could have answered. FILE is not changed.
    """
    from parquet_bloomwriter.verbs.check_engine import check_engine

    console = Console.open(options)
    report = check_engine(
        file,
        options["engines"] or None,
        column=options["column"],
        command=options["command"],
        timeout_s=options["timeout"],
        progress=None
        if options["as_json"]
        else lambda one: console.result(_line(one, has_error=options["verbose"])),
    )
    if options["as_json"]:
        facts = {
            "path": report.path,
            "column": report.column,
            "value": report.value,
            "row_groups": report.num_row_groups,
            "engines": [
                {
                    "engine": one.engine,
                    "version": one.version,
                    "use": one.use.name,
                    "reason": one.reason,
                    "error": one.error,
                }
                for one in report.checks
            ],
        }
        console.result(json_text("check-engine", seconds=console.seconds, **facts))
    else:
        groups = count(report.num_row_groups, "row group")
        console.note(
            f"asked for {report.column} = {report.value!r}, a value made up, which only the "
            f"filters of {groups} exclude."
        )
        if not options["engines"] and (others := _others(report)):
            console.note(f"not asked: {', '.join(others)}; --engine NAME asks one.")
    ctx.exit(ExitCode.OK if report.all_use else ExitCode.CHECK_FAILED)


def _others(report: EngineReport) -> list[str]:
    """Return the engines that are installed and were not asked."""
    from parquet_bloomwriter.verbs.engine_queries import ENGINES

    asked = {one.engine for one in report.checks}
    others = [one for one in ENGINES.values() if one.name not in asked and one.is_installed]
    return [one.name for one in others if one.name != "bloomify"]


def _line(check: EngineCheck, *, has_error: bool) -> str:
    name = safe(f"{check.engine} {check.version}".rstrip())
    use = str(check.use)
    verdict = safe(check.verdict).replace(use, click.style(use, _COLORS[check.use.name]), 1)
    return f"{name}{verdict}" + (f": {safe(check.error)}" if has_error and check.error else "")
