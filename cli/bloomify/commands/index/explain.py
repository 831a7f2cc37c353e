"""`bloomify index explain`."""

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
from bloomify.options import condition_of, printing_options

if TYPE_CHECKING:
    from bloomify.views.index.explain import Explanation


_EPILOG = """\b
Example:
  bloomify index explain warehouse/ --where "id = 42 AND email = 'ada@mail.example'"
"""


@click.command(
    "explain", cls=Reading, epilog=_EPILOG, short_help="Say what an index makes of a condition."
)
@table_argument
@condition_options
@printing_options
@click.pass_context
def explain(ctx: click.Context, /, table: str, **options: Unpack[IndexConditionOptions]) -> None:
    """Say which index of DIR a lookup uses, how many files each condition excludes, and why not.

    Reasons have codes, which are those of Hyperspace where it has one: docs/command.md. The exit
    code is 0 whatever can match.
    """
    from bloomify.views.index.explain import ExplanationText, explanation_document
    from bloomify.views.index.explain import explain as find_out
    from bloomify.views.index.lookup import quote_hints

    check_condition(options, ctx)
    run = IndexRun.of(ctx, table, options)
    condition = run.attempt(lambda: condition_of(options))

    def work() -> Explanation:
        return find_out(table, condition, name=options["name"], home=options["home"])

    explanation = run.attempt(work)
    for hint in quote_hints(explanation.whole.indexes, condition, table=table):
        run.console.note(hint)
    text = ExplanationText(columns=run.console.columns)
    run.show(explanation, Shown(text=text.of, document=explanation_document))
