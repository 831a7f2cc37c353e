"""The command `bloomify inspect`."""

from __future__ import annotations

import shlex
from datetime import datetime
from typing import TYPE_CHECKING, Unpack

import click

from bloomify.console.console import Console
from bloomify.console.help import Reading, complete_path, section
from bloomify.options import (
    all_of,
    columns_option,
    local_output,
    reading_options,
    sources_argument,
)
from bloomify.runner import read_files, shown
from parquet_bloomwriter.text import safe, size

if TYPE_CHECKING:
    from bloomify.options import Options
    from parquet_bloomwriter.progress import FileProgress
    from parquet_bloomwriter.reports.inspection import FileFilters
    from parquet_bloomwriter.source import Location

_shown = section("What is shown")

_shown_options = all_of(
    columns_option(
        section_="What is shown",
        help_="Only these columns, also if they have no filters.",
        default="all columns with filters",
    ),
    _shown("--row-groups", is_flag=True, help="List every filter, however many there are."),
    _shown(
        "--html",
        metavar="FILE",
        callback=local_output,
        shell_complete=complete_path,
        help="Write a page with tables and plots.",
    ),
    _shown("--overwrite", is_flag=True, help="Replace what exists at FILE of --html."),
)


@click.command("inspect", cls=Reading, short_help="Show the filters that are there.")
@sources_argument
@_shown_options
@reading_options
@click.pass_context
def inspect(ctx: click.Context, /, inputs: tuple[str, ...], **options: Unpack[Options]) -> None:
    """Show the Bloom filters of each INPUT: size, place, fill and oddities.

    An INPUT is a Parquet file, a folder, a Delta or Iceberg table, a glob pattern or a URL.
    """
    from bloomify.console.page_file import check_writable
    from bloomify.views.inspect import InspectView

    if options["html"] is not None:
        check_writable(options["html"], overwrite=options["overwrite"])
    console = Console.open(options)
    view = InspectView(glyphs=console.glyphs, every_filter=options["row_groups"])

    def look(location: Location, _jobs: int, _progress: FileProgress) -> FileFilters:
        from parquet_bloomwriter.verbs.inspect import inspect

        return inspect(location, options["columns"] or None)

    code = read_files(inputs, look, view, options, console, has_details=options["row_groups"])
    if options["html"] is not None and view.files:
        data_set = shown(inputs[0]) if len(inputs) == 1 else None
        made = _page(view.files, data_set)
        _write_page(options["html"], made, console, overwrite=options["overwrite"])
    is_answer = view.files and not any(file.filters for file in view.files)
    if is_answer and not (options["as_json"] or options["columns"]):
        words = shlex.join(["bloomify", "advise", *map(shown, inputs)])
        console.note(f"to see which columns deserve filters, type: {words}")
    ctx.exit(code)


def _page(files: list[FileFilters], data_set: str | None) -> bytes:
    from parquet_bloomwriter.reports.inspection import InspectReport
    from parquet_bloomwriter.reports.page import page

    made_at = datetime.now().astimezone()
    document = page(InspectReport(files=tuple(files)), data_set=data_set, made_at=made_at)
    return document.encode("utf-8", "backslashreplace")


def _write_page(path: str, data: bytes, console: Console, *, overwrite: bool) -> None:
    from bloomify.console.page_file import write_page

    write_page(path, data, overwrite=overwrite)
    console.note(f"the page was written to {safe(path)}, {size(len(data))}.")
