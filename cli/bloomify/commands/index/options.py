"""Options that several commands of `bloomify index` share."""

from __future__ import annotations

from typing import TypedDict

import click

from bloomify.console.help import complete_path, section
from bloomify.options import ConditionOptions, Decorator, all_of, printing_options
from bloomify.options import condition_options as _condition_options

_index = section("Which index")


class IndexOptions(TypedDict):
    """The options of all these commands."""

    home: str | None
    as_json: bool
    quiet: bool
    verbose: bool


class NamedOptions(IndexOptions):
    """The options of commands on one index: `named_options`."""

    name: str | None


class ChangeOptions(NamedOptions):
    """The options of commands that change an index: `change_options`."""

    one_writer: bool


class IndexConditionOptions(NamedOptions, ConditionOptions):
    """The options of commands that take a condition: `condition_options`."""


table_argument = click.argument("table", metavar="DIR", shell_complete=complete_path)

home_option = _index(
    "--home",
    metavar="PATH",
    shell_complete=complete_path,
    help="Folder or URL where the indexes of this table are kept.  [default: DIR/_bloom_index]",
)

one_writer_option = _index(
    "--one-writer",
    is_flag=True,
    help="You promise that no other process changes the index at the same time. Only needed if the "
    "index is on a store that ignores conditional requests.",
)


def name_option(
    help_: str = "Name of the index.  [default: the only one of the table]",
) -> Decorator:
    """Add `--name` with this help text."""
    return _index("--name", metavar="NAME", help=help_)


named_options = all_of(name_option(), home_option, printing_options)

change_options = all_of(name_option(), home_option, one_writer_option, printing_options)

condition_options = all_of(
    _condition_options,
    name_option("Ask this index only.  [default: all of the table]"),
    home_option,
)


def check_condition(options: ConditionOptions, ctx: click.Context) -> None:
    """Check that there is a condition.

    Raises:
        click.UsageError: If there is none.
    """
    if not (options["where"] or options["eq"]):
        example = '--where "id = 42"'
        raise click.UsageError(f"say what to look for, as in {example} or --eq id=42", ctx)
