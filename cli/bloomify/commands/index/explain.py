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
    from collections.abc import Iterator

    from bloomify.views.index.explain import Explanation
    from parquet_bloomwriter.predicate.expression import Expression


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
    from bloomify.views.index.lookup import quote_hints

    check_condition(options, ctx)
    run = IndexRun.of(ctx, table, options)
    condition = run.attempt(lambda: condition_of(options))
    explanation = run.attempt(lambda: _explain(table, condition, options))
    for hint in quote_hints(explanation.whole.indexes, condition, table=table):
        run.console.note(hint)
    text = ExplanationText(columns=run.console.columns)
    run.show(explanation, Shown(text=text.of, document=explanation_document))


def _explain(table: str, condition: Expression, options: IndexConditionOptions) -> Explanation:
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
    """Yield the comparisons that a condition consists of, in order."""
    from parquet_bloomwriter.predicate.expression import And, Or

    if isinstance(expression, And | Or):
        for operand in expression.operands:
            yield from _atoms(operand)
    else:
        yield expression
