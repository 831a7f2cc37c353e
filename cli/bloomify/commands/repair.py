"""The command `bloomify repair`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import click

from bloomify.console.console import Console
from bloomify.console.help import Verb
from bloomify.options import destination_options, inputs_argument, running_options
from bloomify.runner import begin_writing, rewrite_files
from parquet_bloomwriter.text import safe

if TYPE_CHECKING:
    from bloomify.options import DestinationOptions, Options
    from parquet_bloomwriter import RepairReport
    from parquet_bloomwriter.progress import FileProgress


@click.command("repair", cls=Verb, short_help="Fill in lengths that other writers left out.")
@inputs_argument
@destination_options
@running_options
@click.pass_context
def repair(ctx: click.Context, /, inputs: tuple[str, ...], **options: Unpack[Options]) -> None:
    """Fill in the missing `bloom_filter_length` of filters in each INPUT.

    parquet-mr before 1.14 left this field out, and parquet-java 1.14.0 to 1.15.2 loses rows on
    remote stores if it is missing. Only the footer changes. If filters cannot be trusted, they are
    named, and the exit code is 1. Files of a Delta table cannot be changed in place: build their
    filters anew, by "bloomify TABLE --columns NAME,... --replace".
    """
    if options["output"] is None and not options["force"]:
        _refuse_tables(ctx, inputs)
    from bloomify.views.new_file import RepairView

    def fill_in(
        path: str,
        progress: FileProgress,
        _jobs: int,
        /,
        **destination: Unpack[DestinationOptions],
    ) -> RepairReport:
        from parquet_bloomwriter import repair

        return repair(path, progress=begin_writing(path, progress), **destination)

    view = RepairView(with_plan=options["plan"])
    console = Console.open(options)
    ctx.exit(rewrite_files(inputs, fill_in, view, options, console))


def _refuse_tables(ctx: click.Context, inputs: tuple[str, ...]) -> None:
    from parquet_bloomwriter.delta.place import is_table

    for given in filter(is_table, inputs):
        raise click.UsageError(
            f'"{safe(given)}" is a Delta table, whose files cannot be changed in place. Filters '
            "that are built anew have their lengths: bloomify TABLE --columns NAME,... --replace",
            ctx,
        )
