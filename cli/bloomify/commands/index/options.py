"""The options of `bloomify index`, and what people type behind them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypedDict, TypeVar

import click

from bloomify.console.help import complete_path, section
from bloomify.options import all_of, one, parse_count, per_column, printing_options, split_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bloomify.options import Decorator
    from parquet_bloomwriter.predicate.expression import Expression

T = TypeVar("T", bound=float)

_index = section("Which index")
_asked = section("What is asked for")

_NEXT_COLUMN = re.compile(r",(?=[^,=]+=)")
"""The comma in "id=0.001,email=0.05"; not those in "1,000,000"."""


class IndexOptions(TypedDict):
    """The options that all these commands have."""

    home: str | None
    as_json: bool
    quiet: bool


class NamedOptions(IndexOptions):
    """Those of commands on one index."""

    name: str | None


class ConditionOptions(NamedOptions):
    """Those of commands that are given a condition."""

    where: tuple[str, ...]
    eq: tuple[tuple[str, str], ...]


table_argument = click.argument("table", metavar="DIR", shell_complete=complete_path)

home_option = _index(
    "--home",
    metavar="PATH",
    shell_complete=complete_path,
    help="Folder that the indexes of this table are kept in.  [default: DIR/_bloom_index]",
)


def name_option(
    help_: str = "Name of the index.  [default: the only one of the table]",
) -> Decorator:
    """`--name`."""
    return _index("--name", metavar="NAME", help=help_)


named_options = all_of(name_option(), home_option, printing_options)
"""Those of `NamedOptions`."""

jobs_option = section("Other options")(
    "--jobs",
    metavar="N",
    callback=one(parse_count),
    help="Threads in all.  [default: all cores]",
)

condition_options = all_of(
    _asked(
        "--where",
        metavar="SQL",
        multiple=True,
        help="Condition as in a WHERE clause: \"id = 42 AND kind IN ('a', 'b')\". Of several, all "
        "must hold.",
    ),
    _asked(
        "--eq",
        metavar="COLUMN=VALUE",
        multiple=True,
        callback=split_pairs,
        help="The same as COLUMN = 'VALUE', whatever characters are in VALUE: for scripts. "
        "Repeatable.",
    ),
    name_option("Ask this index only.  [default: all of the table]"),
    home_option,
)


def insist_on_condition(ctx: click.Context, options: ConditionOptions) -> None:
    """Refuse to look for nothing.

    Raises:
        click.UsageError: If there is no condition.
    """
    if not (options["where"] or options["eq"]):
        example = '--where "id = 42"'
        raise click.UsageError(f"say what to look for, as in {example} or --eq id=42", ctx)


def condition_of(options: ConditionOptions) -> Expression:
    """All conditions together.

    Raises:
        InvalidArgument: If one cannot be understood.
    """
    from parquet_bloomwriter.predicate import parse
    from parquet_bloomwriter.predicate.expression import And, Comparison

    conditions = [
        *map(parse, options["where"]),
        *(Comparison(column, "=", value) for column, value in options["eq"]),
    ]
    return conditions[0] if len(conditions) == 1 else And(tuple(conditions))


def listed_per_column(
    parse: Callable[[str], T],
) -> Callable[[click.Context, click.Parameter, tuple[str, ...]], dict[str, T]]:
    """A click callback as `per_column`, which also takes lists: "id=0.001,email=0.05"."""
    take = per_column(parse)

    def callback(
        context: click.Context, parameter: click.Parameter, given: tuple[str, ...]
    ) -> dict[str, T]:
        return take(
            context, parameter, tuple(p for text in given for p in _NEXT_COLUMN.split(text))
        )

    return callback


def of_columns(given: dict[str, T], columns: Sequence[str], *, option: str) -> dict[str, T]:
    """Give each column what was asked for it, or for all; leave out where nothing was.

    Raises:
        click.UsageError: If something was asked for a column that is not indexed.
    """
    for name in given:
        if name not in columns and name != "*":
            raise click.UsageError(f"{option} speaks of the column {name!r}, --columns does not")
    chosen = {name: given.get(name, given.get("*")) for name in columns}
    return {name: value for name, value in chosen.items() if value is not None}
