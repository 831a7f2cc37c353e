"""The command `bloomify verify`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import click

from bloomify.console.console import Console
from bloomify.console.help import Reading, section
from bloomify.exits import ExitCode
from bloomify.options import (
    all_of,
    columns_option,
    dialect_options,
    one,
    parse_sample,
    reading_options,
    sources_argument,
)
from bloomify.runner import read_files

if TYPE_CHECKING:
    from bloomify.options import Options
    from parquet_bloomwriter.progress import FileProgress
    from parquet_bloomwriter.reports.verification import VerifyReport
    from parquet_bloomwriter.source import Location

_checked = section("What is checked")

_checked_options = all_of(
    columns_option(
        section_="What is checked", help_="Only the filters of these columns.", default="all"
    ),
    _checked(
        "--sample",
        metavar="N|N%",
        callback=one(parse_sample),
        help="Look up the values of only N row groups of each file, or of N % of them, spread "
        "evenly.  [default: all]",
    ),
    dialect_options(
        "What is checked",
        help_="What to do with filters whose headers do not name a hash: 'murmur3' checks them as "
        "filters of the Murmur3 drafts, 'xxhash' leaves them unchecked.",
    ),
)


@click.command("verify", cls=Reading, short_help="Hold filters against the values of the file.")
@sources_argument
@_checked_options
@reading_options
@click.pass_context
def verify(ctx: click.Context, /, inputs: tuple[str, ...], **options: Unpack[Options]) -> None:
    """Look up every value of each INPUT in its Bloom filters, and measure their rates.

    A filter that lacks a value makes readers lose rows. The exit code is 1 if any filter fails,
    even if some files could not be read. An INPUT is a Parquet file, a folder, a Delta or
    Iceberg table, a glob pattern or a URL of these.
    """
    from bloomify.views.verify import VerifyView

    console = Console.open(options)
    view = VerifyView()

    def check(location: Location, jobs: int, progress: FileProgress) -> VerifyReport:
        from parquet_bloomwriter.verbs.verify import verify

        return verify(
            location,
            options["columns"] or None,
            sample=options["sample"],
            dialect=options["dialect"],
            murmur3_seed=options["murmur3_seed"],
            jobs=jobs,
            progress=progress,
        )

    code = read_files(inputs, check, view, options, console)
    ctx.exit(code if view.passed else ExitCode.CHECK_FAILED)
