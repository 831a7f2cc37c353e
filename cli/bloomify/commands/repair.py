"""`bloomify repair`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import click

from bloomify.console.console import Console
from bloomify.console.help import Verb
from bloomify.options import destination_options, inputs_argument, running_options
from bloomify.runner import FileOptions, destination, rewrite_files, writing

if TYPE_CHECKING:
    from parquet_bloomwriter import RepairReport
    from parquet_bloomwriter.progress import FileProgress


@click.command("repair", cls=Verb, short_help="Fill in lengths that other writers left out.")
@inputs_argument
@destination_options
@running_options
@click.pass_context
def repair(ctx: click.Context, /, inputs: tuple[str, ...], **options: Unpack[FileOptions]) -> None:
    """Fill in the missing `bloom_filter_length` of filters in each INPUT.

    parquet-mr wrote none before 1.14, and without it parquet-java 1.14.0 to 1.15.2 loses rows on
    remote stores. Only the footer changes. Filters that cannot be trusted are named, and the exit
    code is 1.
    """
    from bloomify.views.rewriting import RepairView

    console = Console.open(is_quiet=options["quiet"])

    def fill_in(
        path: str,
        output: str | None,
        _jobs: int,
        /,
        *,
        progress: FileProgress,
        backup_dir: str | None,
    ) -> RepairReport:
        from parquet_bloomwriter import repair

        return repair(
            path,
            output=output,
            progress=writing(path, progress),
            **destination(options, backup_dir),
        )

    ctx.exit(
        rewrite_files(inputs, fill_in, RepairView(with_plan=options["plan"]), options, console)
    )
