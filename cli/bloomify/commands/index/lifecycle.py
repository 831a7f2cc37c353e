"""`bloomify index optimize`, `delete`, `restore`, `vacuum` and `cancel`."""

from __future__ import annotations

from functools import partial
from typing import Unpack

import click

from bloomify.commands.index.options import ChangeOptions, change_options, table_argument
from bloomify.commands.index.runner import IndexRun, change
from bloomify.console.help import Verb
from parquet_bloomwriter import index


def _command(verb: str, short_help: str, help_: str) -> click.Command:
    """Return the command that calls the function of `parquet_bloomwriter.index` of its name."""

    @click.command(verb, cls=Verb, short_help=short_help, help=help_)
    @table_argument
    @change_options
    @click.pass_context
    def command(ctx: click.Context, /, table: str, **options: Unpack[ChangeOptions]) -> None:
        action = partial(getattr(index, verb), one_writer=options["one_writer"])
        change(IndexRun.of(ctx, table, options), action)

    return command


class OptimizeOptions(ChangeOptions):
    """The options of `optimize`."""

    slices: bool | None


@click.command("optimize", cls=Verb, short_help="Make few parts of the many of refreshes.")
@table_argument
@change_options
@click.option(
    "--slices/--no-slices",
    default=None,
    help="Whether the index has slices from now on.  [default: as before]",
)
@click.pass_context
def optimize(ctx: click.Context, /, table: str, **options: Unpack[OptimizeOptions]) -> None:
    """Write the parts of an index of DIR into few, without filters of files that are gone.

    Slices that are missing, damaged or too old are written anew. No data is read. The old parts
    stay until `vacuum`, for lookups that are under way.
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
    "Remove files that the index needs no more.",
    """Remove the files of an index of DIR that its newest version does not need.

    Of a deleted index that is everything, for good. No data file is touched.
    """,
)

cancel = _command(
    "cancel",
    "Clean up after a command that was killed.",
    """End an action on an index of DIR that another process began, and remove what it has written.

    For a command that was killed, or a machine that went down: the last stable version was in force
    all the time, and the index can be changed again afterwards. If the command is still at work, it
    fails when it ends.
    """,
)
