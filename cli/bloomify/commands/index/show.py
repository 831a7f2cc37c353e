"""`bloomify index show`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import click

from bloomify.commands.index.options import NamedOptions, named_options, table_argument
from bloomify.commands.index.runner import IndexRun, Shown, name_of
from bloomify.console.help import Reading

if TYPE_CHECKING:
    from parquet_bloomwriter.index.report import IndexInfo


@click.command("show", cls=Reading, short_help="Show an index, and what a refresh would do.")
@table_argument
@named_options
@click.pass_context
def show(ctx: click.Context, /, table: str, **options: Unpack[NamedOptions]) -> None:
    """Show an index of DIR: its columns, sizes and state, and what has changed in DIR since."""
    from bloomify.views.index.info import InfosText, info_document

    run = IndexRun.of(ctx, table, options)
    name = name_of(run)

    def work() -> IndexInfo:
        from parquet_bloomwriter import index

        return index.index(table, name=name, home=options["home"], changes=True)

    text = InfosText(table=table, home=options["home"], columns=run.console.columns)
    run.show(run.attempt(work), Shown(text=text.of_one, document=info_document))
