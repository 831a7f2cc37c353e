"""The commands `bloomify index refresh`, `optimize`, `delete`, `restore`, `vacuum` and `cancel`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Unpack

import click

from bloomify.commands.index.runner import IndexRun, change
from bloomify.console.help import Verb, section
from bloomify.options import (
    change_options,
    home_option,
    jobs_option,
    name_option,
    one_writer_option,
    printing_options,
    table_argument,
)
from parquet_bloomwriter import index

if TYPE_CHECKING:
    from bloomify.options import Options


def _command(verb: str, short_help: str, help_: str) -> click.Command:
    """Return the command that calls the function of its name in `parquet_bloomwriter.index`."""

    @click.command(verb, cls=Verb, short_help=short_help, help=help_)
    @table_argument
    @change_options
    @click.pass_context
    def command(ctx: click.Context, /, table: str, **options: Unpack[Options]) -> None:
        action = partial(getattr(index, verb), one_writer=options["one_writer"])
        change(IndexRun.of(ctx, table, options), action)

    return command


_REFRESH_EPILOG = """\b
Examples:
  bloomify index refresh warehouse/ --name ids
  bloomify index refresh warehouse/ --name ids --mode full
"""


@click.command(
    "refresh",
    cls=Verb,
    epilog=_REFRESH_EPILOG,
    short_help="Index files that were added or changed.",
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
def refresh(ctx: click.Context, /, table: str, **options: Unpack[Options]) -> None:
    """Bring an index of DIR up to date with its files.

    Lookups are right without a refresh, but slower: files that an index does not know are always
    among the answers. If files cannot be indexed, they are named, and the exit code is 3.
    """
    from parquet_bloomwriter.index.build.threads import ThreadEngine

    run = IndexRun.of(ctx, table, options)
    action = partial(
        index.refresh,
        mode=options["mode"],
        one_writer=options["one_writer"],
        engine=ThreadEngine(options["jobs"]),
        progress=run.progress,
    )
    change(run, action)


@click.command("optimize", cls=Verb, short_help="Join the parts that refreshes leave.")
@table_argument
@change_options
@click.option(
    "--slices/--no-slices",
    default=None,
    help="Whether the index has slices from now on.  [default: as before]",
)
@click.pass_context
def optimize(ctx: click.Context, /, table: str, **options: Unpack[Options]) -> None:
    """Join the many parts of an index of DIR into few, and drop filters of files that are gone.

    Slices that are missing, damaged or too old are written anew. No data file is read. The old
    parts stay until `vacuum`, because running lookups may need them.
    """
    action = partial(index.optimize, slices=options["slices"], one_writer=options["one_writer"])
    change(IndexRun.of(ctx, table, options), action)


delete = _command(
    "delete",
    "Stop using an index; its files stay.",
    """Stop lookups from using an index of DIR.

    Its files stay: `restore` brings it back, and `vacuum` removes it for good.
    """,
)

restore = _command(
    "restore",
    "Use a deleted index again.",
    "Let lookups use a deleted index of DIR again.",
)

vacuum = _command(
    "vacuum",
    "Remove files that the index no longer needs.",
    """Remove the files of an index of DIR that its newest version does not need.

    If the index was deleted, all its files are removed for good. No data file is touched.
    """,
)

cancel = _command(
    "cancel",
    "Clean up after a command that was killed.",
    """End an action on an index of DIR that another process began, and remove what it has written.

    Use it if a command was killed, or a machine went down. Lookups have used the last stable
    version all the time; afterwards the index can be changed again. If the command still runs, it
    fails when it ends.
    """,
)
