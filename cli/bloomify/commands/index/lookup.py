"""`bloomify index lookup`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import click

from bloomify.commands.index.options import (
    IndexConditionOptions,
    check_condition,
    condition_options,
    table_argument,
)
from bloomify.commands.index.runner import IndexRun, Shown
from bloomify.console.help import Reading
from bloomify.exits import ExitCode
from bloomify.options import (
    PathsOptions,
    check_paths_options,
    condition_of,
    path_end,
    paths_options,
    printing_options,
)

if TYPE_CHECKING:
    from parquet_bloomwriter.index.report import LookupReport

_EPILOG = """\b
Examples:
  bloomify index lookup warehouse/ --where "id = 42 AND email IN ('a@x.example', 'b@x.example')"
  bloomify index lookup warehouse/ --eq "email=$ADDRESS" --files -0 | xargs -0 -r ls -l
"""


class LookupOptions(IndexConditionOptions, PathsOptions):
    """All options."""


@click.command(
    "lookup", cls=Reading, epilog=_EPILOG, short_help="Say which files can hold a value."
)
@table_argument
@condition_options
@paths_options(help_="Print just the paths that might match, one per line.")
@printing_options
@click.pass_context
def lookup(ctx: click.Context, /, table: str, **options: Unpack[LookupOptions]) -> None:
    """Say which files below DIR might hold rows that pass a condition, by its indexes.

    No data file is opened. Files that no index knows might match, and so might all if no index can
    be used: standard error says so then.

    The exit code is 0 if some file might match and 1 if none can.
    """
    from bloomify.views.index.lookup import warnings

    check_paths_options(options, ctx)
    check_condition(options, ctx)
    run = IndexRun.of(ctx, table, options)
    condition = run.attempt(lambda: condition_of(options))

    def look_up() -> LookupReport:
        from parquet_bloomwriter import index

        return index.lookup(table, condition, name=options["name"], home=options["home"])

    report = run.attempt(look_up)
    for text in warnings(report, condition, table=table, home=options["home"]):
        run.console.note(text)
    _print(run, report, options)


def _print(run: IndexRun, report: LookupReport, options: LookupOptions) -> None:
    from bloomify.views.index.lookup import LookupText, lookup_document, paths_as_given

    code = ExitCode.OK if report.paths else ExitCode.CHECK_FAILED
    if options["files"] and not options["quiet"]:
        run.console.paths(paths_as_given(report, run.table), end=path_end(options))
        run.ctx.exit(code)
    text = LookupText(table=run.table, columns=run.console.columns)
    run.show(report, Shown(text=text.of, document=lookup_document, code=lambda _: code))
