"""The command `bloomify strip`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import click

from bloomify.console.console import Console
from bloomify.console.help import Verb
from bloomify.options import (
    destination_options,
    inputs_argument,
    names_option,
    running_options,
)
from bloomify.runner import begin_writing, rewrite_files
from bloomify.table_runner import (
    commit_options,
    limits_of,
    table_among,
    write_table,
)

if TYPE_CHECKING:
    from bloomify.options import DestinationOptions, Options
    from parquet_bloomwriter import StripReport, TableReport
    from parquet_bloomwriter.progress import Bar, FileProgress


@click.command("strip", cls=Verb, short_help="Take filters out again, byte for byte.")
@inputs_argument
@names_option(
    "-c",
    "--columns",
    section_="Which filters",
    help_="Only those of these columns. Repeatable.  [default: all filters, also those of the "
    "writer]",
)
@destination_options
@commit_options
@running_options
@click.pass_context
def strip(ctx: click.Context, /, inputs: tuple[str, ...], **options: Unpack[Options]) -> None:
    """Take the Bloom filters out of each INPUT.

    If a file had no filters before `bloomify` added some, it is again what it was, byte for byte.
    All filters are taken out, also those of the writer (DuckDB and Spark write some); --columns
    names only those that you added. The files of a Delta or Iceberg table get new versions without
    filters, by commits.
    """
    from bloomify.views.new_file import StripView

    console = Console.open(options)
    table = table_among(inputs, options)
    if table is not None:
        limits = limits_of(options["commit_every"])

        def strip_all(bar: Bar) -> TableReport:
            from parquet_bloomwriter import strip_table

            return strip_table(
                table,
                options["columns"] or None,
                branch=options["branch"],
                limits=limits,
                jobs=options["jobs"],
                dry_run=options["dry_run"],
                progress=bar,
            )

        ctx.exit(write_table(table, strip_all, "strip", options, console))

    def take_out(
        path: str,
        progress: FileProgress,
        _jobs: int,
        /,
        **destination: Unpack[DestinationOptions],
    ) -> StripReport:
        from parquet_bloomwriter import strip

        columns = options["columns"] or None
        return strip(path, columns, progress=begin_writing(path, progress), **destination)

    view = StripView(with_plan=options["plan"])
    ctx.exit(rewrite_files(inputs, take_out, view, options, console))
