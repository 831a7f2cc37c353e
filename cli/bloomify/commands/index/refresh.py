"""`bloomify index refresh`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Unpack, cast

import click

from bloomify.commands.index.options import (
    NamedOptions,
    home_option,
    jobs_option,
    name_option,
    table_argument,
)
from bloomify.commands.index.runner import change
from bloomify.console.help import Verb, section
from bloomify.options import printing_options

if TYPE_CHECKING:
    from bloomify.commands.index.runner import IndexRun
    from parquet_bloomwriter.index.report import IndexReport

    Mode = Literal["incremental", "full", "quick"]


_EPILOG = """\b
Examples:
  bloomify index refresh warehouse/ --name ids
  bloomify index refresh warehouse/ --name ids --mode full
"""


class RefreshOptions(NamedOptions):
    """All options."""

    mode: str
    jobs: int | None


@click.command(
    "refresh", cls=Verb, epilog=_EPILOG, short_help="Index what was added or changed since."
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
@jobs_option
@printing_options
@click.pass_context
def refresh(ctx: click.Context, /, table: str, **options: Unpack[RefreshOptions]) -> None:
    """Bring an index of DIR up to date with its files.

    Lookups are right without it: files that an index does not know are always among the answers,
    which is what a refresh saves. Those that cannot be indexed are named; the exit code is 3 then.
    """

    def work(run: IndexRun, name: str) -> IndexReport:
        from parquet_bloomwriter import index
        from parquet_bloomwriter.index.build.threads import ThreadEngine

        return index.refresh(
            table,
            name=name,
            mode=cast("Mode", options["mode"]),
            home=options["home"],
            engine=ThreadEngine(options["jobs"]),
            progress=run.progress,
        )

    change(ctx, table, options, work)
