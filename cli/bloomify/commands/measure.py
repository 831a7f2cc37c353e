"""The command `bloomify measure`: an engine's work without filters and with them."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, Unpack

import click

from bloomify.console.console import Console
from bloomify.console.help import OTHER_OPTIONS, Reading, complete_path, section
from bloomify.exits import ExitCode
from bloomify.options import (
    all_of,
    columns_option,
    one,
    parse_count,
    parse_rate,
    per_column,
    printing_options,
    read_conditions,
    split_columns,
)
from bloomify.views.base import document_of, json_text
from parquet_bloomwriter.arguments import parse_size
from parquet_bloomwriter.text import count, size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bloomify.options import Options
    from parquet_bloomwriter.verbs.engines.measurement import (
        Effort,
        EngineMeasurement,
        MeasureReport,
    )

_EPILOG = """\b
Examples:
  bloomify measure events.parquet --where "id = 42"
  bloomify measure lake/ --where @query.sql --engine duckdb,datafusion
  bloomify measure lake/ --where "kind = 'a'" --fpp 0.1% --limit 20GiB
"""

_NOT_TOLD = "not told"
_WIDTH = 100


def _only(
    context: click.Context, parameter: click.Parameter, given: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the only condition.

    Raises:
        click.BadParameter: If there are others.
    """
    texts = read_conditions(context, parameter, given)
    if len(texts) != 1:
        raise click.BadParameter("one condition is measured; join several by AND")
    return texts


_asked = section("What is asked")
_filters = section("The filters")
_copies = section("The copies")
_options = all_of(
    _asked(
        "--where",
        metavar="SQL",
        multiple=True,
        required=True,
        callback=_only,
        help="Condition as in a WHERE clause, in the engine's own SQL. @FILE reads it from a file, "
        "and - from standard input.",
    ),
    _asked(
        "--engine",
        "engines",
        metavar="NAME,...",
        multiple=True,
        callback=split_columns,
        help="duckdb, datafusion, clickhouse (chdb), spark, polars, bloomify. "
        "[default: the first of the first four that is installed beside bloomify]",
    ),
    _asked(
        "--python",
        metavar="PATH",
        is_rare=True,
        shell_complete=complete_path,
        help="Measure the engines of another environment, by its Python, as in ENV/bin/python.",
    ),
    _asked(
        "--repeats",
        metavar="N",
        callback=one(parse_count),
        default="5",
        show_default=True,
        help="Runs of each query; medians are shown.",
    ),
    columns_option(
        section_="The filters",
        help_="Columns that get filters.",
        default="those that the condition compares by = or IN",
    ),
    _filters(
        "--fpp",
        metavar="[NAME=]P",
        multiple=True,
        default=("0.01",),
        show_default=True,
        callback=per_column(parse_rate),
        help="False positive probability of the filters.",
    ),
    _copies(
        "--limit",
        "copy_limit",
        metavar="SIZE",
        callback=one(parse_size),
        default="4GiB",
        show_default=True,
        help="Copy so much at most; of a folder, so many files are measured.",
    ),
    _copies(
        "--copies-in",
        "copies_in",
        metavar="DIR",
        shell_complete=complete_path,
        help="Make the copies in this folder, and remove them at the end; on the disk of the files "
        "they may share blocks with them.  [default: the system's temporary folder]",
    ),
    section(OTHER_OPTIONS)(
        "--timeout",
        is_rare=True,
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        default=300,
        show_default=True,
        help="How long one query may take.",
    ),
    printing_options,
)


@click.command(
    "measure", cls=Reading, epilog=_EPILOG, short_help="Measure what filters save your query."
)
@click.argument("file", metavar="FILE|DIR", shell_complete=complete_path)
@_options
@click.pass_context
def measure(ctx: click.Context, /, file: str, **options: Unpack[Options]) -> None:
    """Let your engine count the rows of a condition, without filters and with them.

    Copies with filters are made in a temporary folder, and the files themselves are not written.
    The table has row groups and bytes read, processor time and time, and the last line is a
    sentence to quote. An engine that finds other rows with the filters is WRONG: exit code 7.
    """
    from parquet_bloomwriter.verbs.measure import measure

    console = Console.open(options)
    report = measure(
        file,
        options["where"][0],
        options["columns"] or None,
        engines=options["engines"] or None,
        fpp=options["fpp"],
        repeats=options["repeats"],
        limit=options["copy_limit"],
        folder=options["copies_in"],
        python=options["python"],
        timeout_s=options["timeout"],
    )
    if options["as_json"]:
        console.result(json_text("measure", seconds=console.seconds, **document_of(report)))
    else:
        console.note(_copied(report))
        for engine in report.engines:
            for line in _lines(engine):
                console.result(line)
    if report.has_wrong:
        ctx.exit(ExitCode.ENGINE_WRONG)
    ctx.exit(ExitCode.OK if report.is_complete else ExitCode.CHECK_FAILED)


def _copied(report: MeasureReport) -> str:
    files = f"{report.num_files:,} of {count(report.num_all_files, 'file')}"
    limited = "; --limit takes more" if report.num_files < report.num_all_files else ""
    return f"{files}, {size(report.copied_bytes)} copied for the time of the measurement{limited}."


def _lines(measured: EngineMeasurement) -> Iterator[str]:
    """Yield the table of an engine, and its sentence."""
    from parquet_bloomwriter.text import safe
    from parquet_bloomwriter.verbs.engines.measurement import seconds_text

    before, after = measured.before, measured.after
    if before is None or after is None:
        yield f"{safe(f'{measured.engine} {measured.version}'.rstrip())}: {safe(measured.problem)}"
        return

    def row_groups(one: Effort) -> str:
        if one.row_groups_read is None:
            return _NOT_TOLD
        return f"{one.row_groups_read:,} of {one.num_row_groups:,}"

    rows = [
        (f"{measured.engine} {measured.version}".rstrip(), "without filters", "with filters"),
        ("rows found", f"{before.num_rows:,}", f"{after.num_rows:,}"),
        ("row groups read", row_groups(before), row_groups(after)),
        (
            "bytes read",
            *(_NOT_TOLD if n is None else size(n) for n in (before.bytes_read, after.bytes_read)),
        ),
        ("processor time", seconds_text(before.cpu_seconds), seconds_text(after.cpu_seconds)),
        ("time", seconds_text(before.seconds), seconds_text(after.seconds)),
    ]
    widths = [max(len(row[place]) for row in rows) for place in range(3)]
    for head, *cells in rows:
        padded = (f"{cell:>{width}}" for cell, width in zip(cells, widths[1:], strict=True))
        yield f"{safe(head):<{widths[0]}}  {'  '.join(padded)}"
    yield ""
    yield from _wrapped(measured.sentence)


def _wrapped(sentence: str) -> list[str]:
    """Return lines of a sentence, in which numbers stay with their units."""
    joined = re.sub(r"(?<=\d) (?=[%A-Za-z])", "\0", sentence)
    lines = textwrap.wrap(joined, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return [line.replace("\0", " ") for line in lines]
