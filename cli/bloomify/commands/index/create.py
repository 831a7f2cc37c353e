"""`bloomify index create`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypedDict, Unpack, cast

import click

from bloomify.commands.index.columns import ask_for_columns, names_of_ordinals
from bloomify.commands.index.options import (
    NamedOptions,
    home_option,
    jobs_option,
    listed_per_column,
    name_option,
    of_columns,
    table_argument,
)
from bloomify.commands.index.runner import change
from bloomify.console.help import Verb, section
from bloomify.options import (
    all_of,
    one,
    parse_count,
    parse_filter_size,
    parse_rate,
    parse_size,
    printing_options,
    split_columns,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bloomify.commands.index.runner import IndexRun
    from bloomify.console.console import Console
    from parquet_bloomwriter.index.contract import Contract
    from parquet_bloomwriter.index.engine import Origin
    from parquet_bloomwriter.index.report import IndexReport

DEFAULT_FPP = 0.01
_MAX_DEFAULT_NAME = 60
"""Characters."""

_EPILOG = """\b
Examples:
  bloomify index create warehouse/ --columns id,email --name ids
  bloomify index create warehouse/ --columns id,email --name ids --fpp 0.05,id=0.001
  bloomify index create warehouse/ --columns id --name ids --from embedded
"""

_which = section("What is indexed")

_filter_options = all_of(
    _which(
        "--columns",
        metavar="NAME,...",
        multiple=True,
        callback=split_columns,
        help="Leaf columns by dotted path; each gets filters of its own. Repeatable.",
    ),
    _which(
        "--fpp",
        metavar="[NAME=]P",
        multiple=True,
        callback=listed_per_column(parse_rate),
        help="False positive probability, of all columns or of one: the share of files that are "
        f"read in vain. Repeatable.  [default: {DEFAULT_FPP}]",
    ),
    _which(
        "--expected-items",
        metavar="[NAME=]N",
        multiple=True,
        callback=listed_per_column(parse_count),
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
        metavar="SIZE",
        default="16MiB",
        show_default=True,
        callback=one(parse_filter_size),
        help="Largest filter of one file, as in 65536, 512K or 1MiB. It wins over --fpp.",
    ),
    _which(
        "--max-index-size",
        metavar="SIZE",
        default="4GiB",
        show_default=True,
        callback=one(parse_size),
        help="Largest index. An estimate beyond it is refused before any work.",
    ),
    _which(
        "--contract",
        type=click.Choice(["checked", "immutable"]),
        default="checked",
        show_default=True,
        help="checked: files are looked at before they are excluded. immutable: you promise that "
        "no file is ever replaced or removed; nothing is looked at or listed, and rows are missed "
        "if it is not true.",
    ),
)


class CreateOptions(NamedOptions):
    """All options."""

    columns: tuple[str, ...]
    fpp: dict[str, float]
    expected_items: dict[str, int]
    origin: str
    max_filter_size: int
    max_index_size: int
    contract: str
    jobs: int | None


class _Settings(TypedDict):
    """The library's arguments."""

    fpp: dict[str, float]
    expected_num_items: dict[str, int] | None
    origin: Origin
    max_file_bytes: int
    max_total_bytes: int
    contract: Contract
    home: str | None


@click.command(
    "create", cls=Verb, epilog=_EPILOG, short_help="Index columns of all files of a folder."
)
@table_argument
@_filter_options
@name_option(
    "What to call the index: letters, digits, _ . and -.  [default: the names of its columns]"
)
@home_option
@jobs_option
@printing_options
@click.pass_context
def create(ctx: click.Context, /, table: str, **options: Unpack[CreateOptions]) -> None:
    """Index columns of all Parquet files below DIR.

    Files that cannot be indexed are named, and are always among the answers; the exit code is 3
    then. No data file is changed.
    """
    if not options["columns"]:
        ask_for_columns(ctx, table)
    _replace_ordinals(options, table)
    if options["name"] is None:
        options["name"] = _default_name(options["columns"])
    settings = _settings(options)

    def work(run: IndexRun, name: str) -> IndexReport:
        from parquet_bloomwriter import index
        from parquet_bloomwriter.index.build.threads import ThreadEngine

        _announce_compilation(run.console)
        return index.create(
            table,
            options["columns"],
            name=name,
            engine=ThreadEngine(options["jobs"]),
            progress=run.progress,
            **settings,
        )

    change(ctx, table, options, work)


def _replace_ordinals(options: CreateOptions, table: str) -> None:
    """Put names in the place of `#` and an ordinal: an index finds columns by their names."""
    names = names_of_ordinals(options["columns"], table)
    options["columns"] = tuple(dict.fromkeys(names.get(one, one) for one in options["columns"]))
    options["fpp"] = {names.get(key, key): value for key, value in options["fpp"].items()}
    options["expected_items"] = {
        names.get(key, key): value for key, value in options["expected_items"].items()
    }


def _default_name(columns: Sequence[str]) -> str:
    """Make a name of the columns' names: `id,address.city` is indexed as `id-address.city`."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", "-".join(columns))
    return plain.strip("_.-")[:_MAX_DEFAULT_NAME] or "index"


def _settings(options: CreateOptions) -> _Settings:
    """Translate options to the library's arguments.

    Raises:
        click.UsageError: If something is said of a column that is not indexed.
    """
    columns = options["columns"]
    asked = of_columns(options["fpp"], columns, option="--fpp")
    expected = of_columns(options["expected_items"], columns, option="--expected-items")
    return {
        "fpp": dict.fromkeys(columns, DEFAULT_FPP) | asked,
        "expected_num_items": expected or None,
        "origin": cast("Origin", options["origin"]),
        "max_file_bytes": options["max_filter_size"],
        "max_total_bytes": options["max_index_size"],
        "contract": cast("Contract", options["contract"]),
        "home": options["home"],
    }


def _announce_compilation(console: Console) -> None:
    """Compile what was never compiled on this machine, and say so: it takes some seconds."""
    from parquet_bloomwriter import native

    if not native.are_compiled():
        console.note("compiling for this processor, once; it takes some seconds ...")
        native.warm_up()
