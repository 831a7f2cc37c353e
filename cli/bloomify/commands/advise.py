"""`bloomify advise`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack, cast

import click

from bloomify.console.console import Console
from bloomify.console.help import Reading, section
from bloomify.options import (
    ReadingOptions,
    all_of,
    columns_option,
    one,
    parse_rate,
    reading_options,
    sources_argument,
)
from bloomify.runner import read_files, shown
from parquet_bloomwriter.text import safe

if TYPE_CHECKING:
    from bloomify.views.advise import AdviseView
    from parquet_bloomwriter.progress import FileProgress
    from parquet_bloomwriter.reports.advice import AdviseReport
    from parquet_bloomwriter.source import Location

_judged_options = all_of(
    columns_option(section_="What is judged", help_="Only these columns.", default="all"),
    section("What is judged")(
        "--fpp",
        metavar="P",
        callback=one(parse_rate),
        default="0.01",
        show_default=True,
        help="False positive probability of the filters to come.",
    ),
)


class AdviseOptions(ReadingOptions):
    """All options."""

    columns: tuple[str, ...]
    fpp: float


@click.command("advise", cls=Reading, short_help="Say which columns deserve filters.")
@sources_argument
@_judged_options
@reading_options
@click.pass_context
def advise(
    ctx: click.Context, /, inputs: tuple[str, ...], **options: Unpack[AdviseOptions]
) -> None:
    """Say which columns of all INPUTs deserve Bloom filters, what they cost, and what they save.

    The last line is the command that adds them. Figures come from footers and a sample of values.
    An INPUT is a Parquet file, a folder, a Delta table, a glob pattern or a URL of these.
    """
    from bloomify.views.advise import AdviseView

    console = Console.open(is_quiet=options["quiet"])
    view = AdviseView(inputs=tuple(map(shown, inputs)))

    def judge(location: Location, jobs: int, _: FileProgress) -> AdviseReport:
        from parquet_bloomwriter.verbs.advise import advise

        return advise(location, options["columns"] or None, fpp=options["fpp"], jobs=jobs)

    code = read_files(
        inputs, judge, view, cast("ReadingOptions", options), console, is_together=True
    )
    if view.reports and not (options["quiet"] or options["as_json"]):
        _print_command(view, console)
    ctx.exit(code)


def _print_command(view: AdviseView, console: Console) -> None:
    from bloomify.views.advise import names_file_urls

    words = view.together().command
    if words is None:
        return
    if names_file_urls(view.inputs):
        console.note("name local files by their paths, not by URLs, to add filters to them.")
    console.result(f"\n{safe(words)}")
