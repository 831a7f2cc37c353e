"""`bloomify index lookup`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import click

from bloomify.commands.index.options import (
    ConditionOptions,
    condition_of,
    condition_options,
    insist_on_condition,
    table_argument,
)
from bloomify.commands.index.runner import IndexRun, Shown
from bloomify.console.help import Reading, section
from bloomify.exits import ExitCode
from bloomify.options import all_of, printing_options

if TYPE_CHECKING:
    from parquet_bloomwriter.index.report import LookupReport
    from parquet_bloomwriter.predicate.expression import Expression

_EPILOG = """\b
Examples:
  bloomify index lookup warehouse/ --where "id = 42 AND email IN ('a@x.example', 'b@x.example')"
  bloomify index lookup warehouse/ --eq "email=$ADDRESS" --files -0 | xargs -0 -r ls -l
"""

_shown = section("What is printed")

_listing_options = all_of(
    _shown("--files", is_flag=True, help="Print just the paths that might match, one per line."),
    _shown(
        "-0",
        "--null",
        is_flag=True,
        help="With --files: end each path with a zero byte, for xargs -0.",
    ),
)


class LookupOptions(ConditionOptions):
    """All options."""

    files: bool
    null: bool


@click.command(
    "lookup", cls=Reading, epilog=_EPILOG, short_help="Say which files can hold a value."
)
@table_argument
@condition_options
@_listing_options
@printing_options
@click.pass_context
def lookup(ctx: click.Context, /, table: str, **options: Unpack[LookupOptions]) -> None:
    """Say which files below DIR might hold rows that pass a condition, by its indexes.

    No data file is opened. Files that no index knows might match, and so might all if no index can
    be used: standard error says so then.

    The exit code is 0 if some file might match and 1 if none can.
    """
    from bloomify.views.index_lookup import warnings

    if options["null"] and not options["files"]:
        raise click.UsageError("--null goes with --files", ctx)
    if options["files"] and options["as_json"]:
        raise click.UsageError("--files and --json exclude each other", ctx)
    insist_on_condition(ctx, options)
    run = IndexRun.of(ctx, table, options)
    condition = run.attempt(lambda: condition_of(options))
    report = run.attempt(lambda: _lookup(table, condition, options))
    for text in warnings(report, condition, table=table, home=options["home"]):
        run.console.note(text)
    _print(run, report, options)


def _lookup(table: str, condition: Expression, options: ConditionOptions) -> LookupReport:
    from parquet_bloomwriter import index

    return index.lookup(table, condition, name=options["name"], home=options["home"])


def _print(run: IndexRun, report: LookupReport, options: LookupOptions) -> None:
    from bloomify.views.index_lookup import LookupText, lookup_document, paths_as_given

    code = ExitCode.OK if report.paths else ExitCode.CHECK_FAILED
    if options["files"] and not options["quiet"]:
        end = b"\0" if options["null"] else b"\n"
        run.console.paths(paths_as_given(report, run.table), end=end)
        run.ctx.exit(code)
    text = LookupText(table=run.table, columns=run.console.columns)
    run.show(report, Shown(text=text.of, document=lookup_document, code=lambda _: code))
