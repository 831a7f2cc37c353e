"""The columns of a table, listed for somebody who has named none to index."""

from __future__ import annotations

import contextlib
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from bloomify.commands.columns import list_columns, listed_example_of, read_leaves
from bloomify.console.console import complain
from bloomify.console.messages import describe
from bloomify.console.text import safe
from bloomify.exits import ExitCode, exit_code_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parquet_bloomwriter.metadata import Leaf


def ask_for_columns(ctx: click.Context, table: str) -> NoReturn:
    """Show what there is to choose from, and leave."""
    from parquet_bloomwriter.errors import BloomwriterError

    try:
        path = _first_file(table)
        leaves = read_leaves(path)
    except (BloomwriterError, OSError) as error:
        complain(describe(error, reads_only=True))
        ctx.exit(exit_code_of(error))
    complain("name the columns to index with --columns.")
    click.echo("\n\n".join(_choice(path, leaves, table)), err=True)
    ctx.exit(ExitCode.USAGE)


def names_of_ordinals(columns: Sequence[str], table: str) -> dict[str, str]:
    """Find the names of columns that are given as `#` and an ordinal in the table's first file.

    What is no such ordinal, or of a table that cannot be read, is left out: creating the index says
    what is wrong with it.
    """
    from parquet_bloomwriter.column_names import select_columns
    from parquet_bloomwriter.errors import BloomwriterError

    given = [one for one in columns if re.fullmatch(r"#[0-9]+", one)]
    names: dict[str, str] = {}
    with contextlib.suppress(BloomwriterError, OSError):
        leaves = read_leaves(_first_file(table)) if given else ()
        for one in given:
            names[one] = select_columns(leaves, [one])[0].name
    return names


def _first_file(table: str) -> str:
    from parquet_bloomwriter.index.layout import local_path
    from parquet_bloomwriter.source.listing import find_local

    given = table if Path(table).exists() else local_path(table)
    return find_local(given)[0]


def _choice(path: str, leaves: tuple[Leaf, ...], table: str) -> Iterator[str]:
    yield f"The columns of {safe(path)}:"
    yield list_columns(leaves, with_ordinals=True)
    example = listed_example_of(leaves)
    if example:
        words = ["bloomify", "index", "create", table, "--columns", example, "--name", "ids"]
        yield f"For example: {safe(shlex.join(words))}"
