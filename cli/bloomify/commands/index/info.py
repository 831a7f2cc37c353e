"""The commands `bloomify index list` and `show`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import click

from bloomify.commands.index.runner import IndexRun, Shown, index_document, name_of
from bloomify.console.help import Reading
from bloomify.options import (
    home_option,
    named_options,
    printing_options,
    table_argument,
)
from bloomify.views.base import document_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bloomify.options import Options
    from parquet_bloomwriter.index.report import IndexInfo


@click.command("list", cls=Reading, short_help="List the indexes of a folder.")
@table_argument
@home_option
@printing_options
@click.pass_context
def list_(ctx: click.Context, /, table: str, **options: Unpack[Options]) -> None:
    """List the indexes of DIR, deleted ones included."""
    from bloomify.views.index.info import InfosText, nothing_there

    run = IndexRun.of(ctx, table, options)

    def work() -> Sequence[IndexInfo]:
        from parquet_bloomwriter import index

        return index.indexes(table, home=options["home"])

    infos = run.attempt(work)
    if not infos:
        run.console.note(run.attempt(lambda: nothing_there(table, options["home"])))
    text = InfosText(table=table, home=options["home"], columns=run.console.columns)
    run.show(
        infos,
        Shown(text=text.of_all, document=lambda infos: {"indexes": list(map(document_of, infos))}),
    )


@click.command("show", cls=Reading, short_help="Show an index, and what a refresh would do.")
@table_argument
@named_options
@click.pass_context
def show(ctx: click.Context, /, table: str, **options: Unpack[Options]) -> None:
    """Show an index of DIR: its columns, sizes and state, and what has changed in DIR since."""
    from bloomify.views.index.info import InfosText

    run = IndexRun.of(ctx, table, options)
    name = name_of(run)

    def work() -> IndexInfo:
        from parquet_bloomwriter import index

        return index.index(table, name=name, home=options["home"], changes=True)

    text = InfosText(table=table, home=options["home"], columns=run.console.columns)
    run.show(run.attempt(work), Shown(text=text.of_one, document=index_document))
