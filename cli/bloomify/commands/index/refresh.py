"""The command `bloomify index refresh`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Unpack, cast

import click

from bloomify.commands.index.options import (
    ChangeOptions,
    home_option,
    name_option,
    one_writer_option,
    table_argument,
)
from bloomify.commands.index.runner import IndexRun, change
from bloomify.console.help import Verb, section
from bloomify.options import jobs_option, printing_options

if TYPE_CHECKING:
    from parquet_bloomwriter.index.report import IndexReport

    Mode = Literal["incremental", "full", "quick"]


_EPILOG = """\b
Examples:
  bloomify index refresh warehouse/ --name ids
  bloomify index refresh warehouse/ --name ids --mode full
"""


class RefreshOptions(ChangeOptions):
    """All options of `index refresh`."""

    mode: str
    jobs: int | None


@click.command(
    "refresh", cls=Verb, epilog=_EPILOG, short_help="Index files that were added or changed."
)
@table_argument
@name_option()
@section("Which index")(
    "--mode",
    type=click.Choice(["incremental", "full", "quick"]),
    default="incremental",
    show_default=True,
    help="incremental: index new files, and merge them into the filter of all values that joins "
    "use; quick: index new files only; full: build everything anew.",
)
@home_option
@one_writer_option
@jobs_option
@printing_options
@click.pass_context
def refresh(ctx: click.Context, /, table: str, **options: Unpack[RefreshOptions]) -> None:
    """Bring an index of DIR up to date with its files.

    Lookups are right without a refresh, but slower: files that an index does not know are always
    among the answers. If files cannot be indexed, they are named, and the exit code is 3.
    """
    run = IndexRun.of(ctx, table, options)

    def bring_up_to_date(table: str, /, *, name: str, home: str | None) -> IndexReport:
        from parquet_bloomwriter import index
        from parquet_bloomwriter.index.build.threads import ThreadEngine

        mode, engine = cast("Mode", options["mode"]), ThreadEngine(options["jobs"])
        return index.refresh(
            table,
            name=name,
            mode=mode,
            home=home,
            one_writer=options["one_writer"],
            engine=engine,
            progress=run.progress,
        )

    change(run, bring_up_to_date)
