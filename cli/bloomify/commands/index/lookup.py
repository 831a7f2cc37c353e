"""The commands `bloomify index lookup` and `explain`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import click

from bloomify.commands.index.runner import IndexRun, Shown
from bloomify.console.help import TABLES, Reading, section
from bloomify.exits import ExitCode, exit_code_of_search
from bloomify.options import (
    all_of,
    check_paths_options,
    condition_of,
    condition_options,
    home_option,
    name_option,
    path_end,
    paths_options,
    printing_options,
    table_argument,
)
from bloomify.runner import note_passed_over

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bloomify.options import Options
    from bloomify.views.index.explain import Explanation
    from parquet_bloomwriter.index.report import LookupReport
    from parquet_bloomwriter.predicate.expression import Expression

_table = section(TABLES)

_asked_options = all_of(
    condition_options,
    name_option("Ask this index only.  [default: all of the table]"),
    home_option,
)

_EPILOG = """\b
Examples:
  bloomify index lookup warehouse/ --where "id = 42 AND kind IN ('a', 'b')"
  bloomify index lookup warehouse/ --eq "id=$ID" --files -0 | xargs -0 -r ls
"""


@click.command(
    "lookup", cls=Reading, epilog=_EPILOG, short_help="Say which files can hold a value."
)
@table_argument
@_asked_options
@_table(
    "--version",
    type=click.IntRange(0),
    metavar="N",
    help="Of a Delta table: the version asked about.  [default: the last]",
)
@_table(
    "--snapshot",
    type=click.IntRange(1),
    metavar="ID",
    help="Of an Iceberg table: the snapshot asked about.  [default: the last]",
)
@_table(
    "--branch",
    metavar="NAME",
    help="Of an Iceberg table: the branch asked about.  [default: main]",
)
@paths_options(help_="Print just the paths that might match, one per line.")
@printing_options
@click.pass_context
def lookup(ctx: click.Context, /, table: str, **options: Unpack[Options]) -> None:
    """Say which files below DIR might hold rows that pass a condition, by its indexes.

    No data file is opened but those whose names do not say that they are Parquet, and some to look
    for a column that no index has: all of them if none has it, which is an error. A file that no
    index knows might match. If no index can be used, all files might match, and standard error says
    why.

    The exit code is 0 if some file might match and 1 if none can; 3 instead of 1 if symbolic links
    were passed over that lead nowhere.
    """
    from bloomify.views.index.lookup import warnings

    check_paths_options(options, ctx)
    _check_condition(options, ctx)
    run = IndexRun.of(ctx, table, options)
    condition = run.attempt(lambda: condition_of(options))

    def look_up() -> LookupReport:
        from parquet_bloomwriter import index

        return index.lookup(
            table,
            condition,
            name=options["name"],
            home=options["home"],
            version=options["version"],
            snapshot=options["snapshot"],
            branch=options["branch"],
        )

    report = run.attempt(look_up)
    is_of_past = options["version"] is not None or options["snapshot"] is not None
    notes = warnings(report, condition, table=table, home=options["home"], is_of_past=is_of_past)
    for text in notes:
        run.console.note(text)
    _print(run, report, options)


def _print(run: IndexRun, report: LookupReport, options: Options) -> None:
    from bloomify.views.index.lookup import LookupText, paths_as_given

    note_passed_over(report.passed_over, run.console)
    code = ExitCode.OK if report.paths else ExitCode.CHECK_FAILED
    code = exit_code_of_search(code, report.passed_over)
    if options["files"] and not options["quiet"]:
        run.console.paths(paths_as_given(report, run.table), end=path_end(options))
        run.ctx.exit(code)
    text = LookupText(table=run.table, columns=run.console.columns)
    run.show(report, Shown(text=text.of, code=lambda _: code))


_EXPLAIN_EPILOG = """\b
Example:
  bloomify index explain warehouse/ --where "id = 42 AND kind = 'a'"
"""


@click.command(
    "explain",
    cls=Reading,
    epilog=_EXPLAIN_EPILOG,
    short_help="Say what an index makes of a condition.",
)
@table_argument
@_asked_options
@printing_options
@click.pass_context
def explain(ctx: click.Context, /, table: str, **options: Unpack[Options]) -> None:
    """Say which index of DIR a lookup uses, how many files each condition excludes, and why not.

    Reasons have codes, as in Hyperspace: docs/reference/output.md. The exit code is 0 if the
    table can be read and has the columns.
    """
    from bloomify.views.index.explain import ExplanationText, explanation_document
    from bloomify.views.index.lookup import warnings

    _check_condition(options, ctx)
    run = IndexRun.of(ctx, table, options)
    condition = run.attempt(lambda: condition_of(options))
    explanation = run.attempt(lambda: _explain(table, condition, options))
    for one in warnings(explanation.whole, condition, table=table, home=options["home"]):
        run.console.note(one)
    note_passed_over(explanation.whole.passed_over, run.console)
    text = ExplanationText(columns=run.console.columns)
    run.show(explanation, Shown(text=text.of, document=explanation_document))


def _explain(table: str, condition: Expression, options: Options) -> Explanation:
    """Look up a condition, and each comparison in it by itself.

    Raises:
        BloomwriterError: If the table cannot be read.
    """
    from bloomify.views.index.explain import Explanation
    from parquet_bloomwriter.index import lookup

    atoms = list(dict.fromkeys(_atoms(condition)))
    whole, *parts = (
        lookup(table, one, name=options["name"], home=options["home"])
        for one in (condition, *(atoms if len(atoms) > 1 else ()))
    )
    return Explanation(whole=whole, parts=tuple(parts))


def _atoms(expression: Expression) -> Iterator[Expression]:
    """Yield the comparisons of a condition, in order."""
    from parquet_bloomwriter.predicate.expression import And, Or

    if isinstance(expression, And | Or):
        for operand in expression.operands:
            yield from _atoms(operand)
    else:
        yield expression


def _check_condition(options: Options, ctx: click.Context) -> None:
    """Check that there is a condition.

    Raises:
        click.UsageError: If there is none.
    """
    if not (options["where"] or options["eq"]):
        example = '--where "id = 42"'
        raise click.UsageError(f"say what to look for, as in {example} or --eq id=42", ctx)
