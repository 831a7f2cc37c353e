"""The command `bloomify index create`."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar, Unpack

import click

from bloomify.commands.index.runner import IndexRun, change
from bloomify.console.help import Verb, section
from bloomify.options import (
    all_of,
    home_option,
    jobs_option,
    name_option,
    names_option,
    one,
    one_writer_option,
    parse_count,
    parse_filter_size,
    parse_rate,
    per_column,
    printing_options,
    table_argument,
)
from parquet_bloomwriter.arguments import parse_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bloomify.options import Options
    from parquet_bloomwriter.index.column_choice import ColumnChoice
    from parquet_bloomwriter.index.report import IndexReport

T = TypeVar("T", bound=float)

DEFAULT_FPP = 0.01
_UNNAMED = "index"
"""Default name of an index if the names of its columns cannot make one."""

_MAX_DEFAULT_NAME = 60
"""Most characters of a default name."""

_NEXT_COLUMN = re.compile(r",(?=[^,=]+=)")
"""The comma in "id=0.001,email=0.05"; not those in "1,000,000"."""

_EPILOG = """\b
Examples:
  bloomify index create warehouse/ --columns id,email --name ids
  bloomify index create warehouse/ --columns id,email --fpp 0.05,id=0.001
  bloomify index create warehouse/ --columns id --name ids --from embedded
  bloomify index create s3://bucket/warehouse --columns id --name ids
"""


def _per_column(
    parse: Callable[[str], T],
) -> Callable[[click.Context, click.Parameter, tuple[str, ...]], dict[str, T]]:
    """Return a click callback like `per_column` that also takes lists: "id=0.001,email=0.05"."""
    take = per_column(parse)

    def callback(
        context: click.Context, parameter: click.Parameter, given: tuple[str, ...]
    ) -> dict[str, T]:
        return take(
            context, parameter, tuple(p for text in given for p in _NEXT_COLUMN.split(text))
        )

    return callback


_which = section("What is indexed")

_filter_options = all_of(
    names_option(
        "-c",
        "--columns",
        section_="What is indexed",
        help_="Leaf columns by dotted path, or patterns as in '*_id', which are looked up in the "
        "table's schema or the first file; each column gets filters of its own. Repeatable.",
        brief="Columns by name, or patterns as in '*_id'.",
    ),
    names_option(
        "--exclude",
        section_="What is indexed",
        help_="Columns that are not indexed, named as for --columns. Repeatable.",
        brief="Columns that are not indexed.",
    ),
    _which(
        "--fpp",
        metavar="[NAME=]P",
        multiple=True,
        callback=_per_column(parse_rate),
        help="False positive probability, as 0.01 or 1%, of all columns or of one: of the files "
        "that lack a value, the share that is read all the same. Repeatable, or by commas.  "
        f"[default: {DEFAULT_FPP}]",
        brief=f"False positive probability.  [default: {DEFAULT_FPP}]",
    ),
    _which(
        "--expected-items",
        is_rare=True,
        metavar="[NAME=]N",
        multiple=True,
        callback=_per_column(parse_count),
        help="Distinct values in the whole table, if known: sizes the filter that joins use. "
        "Repeatable.  [default: the number of rows]",
    ),
    _which(
        "--from",
        "origin",
        type=click.Choice(["values", "embedded", "auto"]),
        default="auto",
        show_default=True,
        help="Build filters from the values, or take those that the files have in them, without "
        "reading data; auto takes them where a file has one for every row group.",
    ),
    _which(
        "--max-filter-size",
        is_rare=True,
        metavar="SIZE",
        default="16MiB",
        show_default=True,
        callback=one(parse_filter_size),
        help="Largest filter of one file, as in 65536, 512K or 1MiB. It wins over --fpp.",
    ),
    _which(
        "--max-index-size",
        is_rare=True,
        metavar="SIZE",
        default="4GiB",
        show_default=True,
        callback=one(parse_size),
        help="Largest index. An estimate beyond it is refused before any work.",
    ),
    _which(
        "--contract",
        is_rare=True,
        type=click.Choice(["checked", "immutable"]),
        default="checked",
        show_default=True,
        help="checked: files are looked at before they are excluded. immutable: you promise that "
        "no file is ever replaced or removed; nothing is looked at or listed, and rows are missed "
        "if it is not true.",
    ),
    _which(
        "--slices/--no-slices",
        is_rare=True,
        default=True,
        help="Also write the filters of a thousand files or more in another order, in which a "
        "lookup reads a few long rows; that doubles the size of the index.  [default: slices]",
    ),
)


@click.command(
    "create", cls=Verb, epilog=_EPILOG, short_help="Index columns of all files of a folder."
)
@table_argument
@_filter_options
@name_option(
    "What to call the index: letters, digits, _ . and -.  [default: the names of its columns]"
)
@home_option
@one_writer_option
@jobs_option
@printing_options
@click.pass_context
def create(ctx: click.Context, /, table: str, **options: Unpack[Options]) -> None:
    """Index columns of all Parquet files below DIR.

    If files cannot be indexed, they are named, and the exit code is 3; lookups always answer with
    these files. No data file is changed.
    """
    if not options["columns"]:
        from bloomify.commands.columns import show_columns_of_table

        show_columns_of_table(ctx, table, has_home=options["home"] is not None)
    run = IndexRun.of(ctx, table, options)
    choice = run.attempt(lambda: _chosen(options, table), changes=_UNNAMED)
    columns = choice.names
    fpp, expected = choice.by_name(options["fpp"]), choice.by_name(options["expected_items"])
    _check_named(fpp, columns, option="--fpp")
    _check_named(expected, columns, option="--expected-items")
    run = replace(run, name=_default_name(columns) if run.name is None else run.name)

    def build(table: str, /, *, name: str, home: str | None) -> IndexReport:
        from parquet_bloomwriter import index
        from parquet_bloomwriter.index.build.threads import ThreadEngine

        return index.create(
            table,
            columns,
            name=name,
            home=home,
            fpp=dict.fromkeys(columns, DEFAULT_FPP) | fpp,
            expected_num_items=expected or None,
            origin=options["origin"],
            max_file_bytes=options["max_filter_size"],
            max_total_bytes=options["max_index_size"],
            contract=options["contract"],
            slices=bool(options["slices"]),
            one_writer=options["one_writer"],
            engine=ThreadEngine(options["jobs"]),
            progress=run.progress,
        )

    change(run, build)


def _chosen(options: Options, table: str) -> ColumnChoice:
    from parquet_bloomwriter.index.column_choice import choose_names
    from parquet_bloomwriter.index.table.ref import TableRef

    return choose_names(TableRef.of(table), options["columns"], options["exclude"])


def _default_name(columns: Sequence[str]) -> str:
    """Return a default name made of columns' names: `id-address.city` for `id,address.city`."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", "-".join(columns))
    return plain.strip("_.-")[:_MAX_DEFAULT_NAME] or _UNNAMED


def _check_named(given: Iterable[str], columns: Sequence[str], *, option: str) -> None:
    """Check that values are given only for columns that are indexed.

    Raises:
        click.UsageError: If one is not.
    """
    for name in given:
        if name not in columns:
            raise click.UsageError(f"{option} speaks of the column {name!r}, --columns does not")
