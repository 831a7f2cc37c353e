"""`bloomify index optimize`, `delete`, `restore`, `vacuum` and `cancel`."""

from __future__ import annotations

from functools import partial
from typing import Unpack

import click

from bloomify.commands.index.options import NamedOptions, named_options, table_argument
from bloomify.commands.index.runner import IndexRun, change
from bloomify.console.help import Verb
from parquet_bloomwriter import index


class OptimizeOptions(NamedOptions):
    """The options of `optimize`."""

    slices: bool | None


@click.command("optimize", cls=Verb, short_help="Make few parts of the many of refreshes.")
@table_argument
@named_options
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
    action = partial(index.optimize, slices=options["slices"])
    change(IndexRun.of(ctx, table, options), action)


@click.command("delete", cls=Verb, short_help="Stop using an index; its files stay.")
@table_argument
@named_options
@click.pass_context
def delete(ctx: click.Context, /, table: str, **options: Unpack[NamedOptions]) -> None:
    """Stop lookups from using an index of DIR.

    Its files stay: `restore` brings it back, and `vacuum` removes it for good.
    """
    change(IndexRun.of(ctx, table, options), index.delete)


@click.command("restore", cls=Verb, short_help="Use a deleted index again.")
@table_argument
@named_options
@click.pass_context
def restore(ctx: click.Context, /, table: str, **options: Unpack[NamedOptions]) -> None:
    """Let lookups use a deleted index of DIR again."""
    change(IndexRun.of(ctx, table, options), index.restore)


@click.command("vacuum", cls=Verb, short_help="Remove files that the index needs no more.")
@table_argument
@named_options
@click.pass_context
def vacuum(ctx: click.Context, /, table: str, **options: Unpack[NamedOptions]) -> None:
    """Remove the files of an index of DIR that its newest version does not need.

    Of a deleted index that is everything, for good. No data file is touched.
    """
    change(IndexRun.of(ctx, table, options), index.vacuum)


@click.command("cancel", cls=Verb, short_help="Clean up after a command that was killed.")
@table_argument
@named_options
@click.pass_context
def cancel(ctx: click.Context, /, table: str, **options: Unpack[NamedOptions]) -> None:
    """End what somebody has begun on an index of DIR, and remove what it has written.

    For a command that was killed, or a machine that went down: the last stable version was in force
    all the time, and now others may change the index again. If the command is still at work, it
    fails when it ends.
    """
    change(IndexRun.of(ctx, table, options), index.cancel)
