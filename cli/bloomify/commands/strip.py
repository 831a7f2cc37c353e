"""`bloomify strip`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack, cast

import click

from bloomify.console.console import Console
from bloomify.console.help import Verb, section
from bloomify.options import destination_options, inputs_argument, running_options, split_columns
from bloomify.runner import FileOptions, destination, rewrite_files, writing

if TYPE_CHECKING:
    from parquet_bloomwriter import StripReport
    from parquet_bloomwriter.progress import FileProgress


class StripOptions(FileOptions):
    """All options."""

    columns: tuple[str, ...]


@click.command("strip", cls=Verb, short_help="Take filters out again, byte for byte.")
@inputs_argument
@section("Which filters")(
    "--columns",
    metavar="NAME,...",
    multiple=True,
    callback=split_columns,
    help="Only those of these columns. Repeatable.  [default: all filters]",
)
@destination_options
@running_options
@click.pass_context
def strip(ctx: click.Context, /, inputs: tuple[str, ...], **options: Unpack[StripOptions]) -> None:
    """Take the Bloom filters out of each INPUT.

    A file that `bloomify` added filters to is afterwards what it was before, byte for byte.
    """
    from bloomify.views.rewriting import StripView

    console = Console.open(is_quiet=options["quiet"])

    def take_out(
        path: str,
        output: str | None,
        _jobs: int,
        /,
        *,
        progress: FileProgress,
        backup_dir: str | None,
    ) -> StripReport:
        from parquet_bloomwriter import strip

        return strip(
            path,
            options["columns"] or None,
            output=output,
            progress=writing(path, progress),
            **destination(options, backup_dir),
        )

    ctx.exit(
        rewrite_files(
            inputs,
            take_out,
            StripView(with_plan=options["plan"]),
            cast("FileOptions", options),
            console,
        )
    )
