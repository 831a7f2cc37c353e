"""Lists of a file's columns, shown where a command line names no column."""

from __future__ import annotations

import re
import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from bloomify.console.console import complain
from bloomify.console.messages import describe
from bloomify.console.table import cut
from bloomify.exits import ExitCode, exit_code_of
from bloomify.runner import shown
from parquet_bloomwriter.errors import BloomwriterError
from parquet_bloomwriter.text import name, safe, width

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from parquet_bloomwriter.metadata import Leaf
    from parquet_bloomwriter.source import Location

_WHOLE_NUMBERS = re.compile(r"U?INT\d+")
_EASILY_TYPED = re.compile(r"U?INT\d+|STRING")


def show_columns(ctx: click.Context, path: str, *, words: Sequence[str]) -> NoReturn:
    """Show the columns of a file, and a command line that adds filters to one; then exit.

    Args:
        ctx: The command that names no column.
        path: The file.
        words: The command line without its options.
    """
    complaint = "name the columns that get filters with --columns, or take --all-columns."

    def choice() -> str:
        advice = shlex.join([words[0], "advise", *words[1:]])
        hint = f"To see which columns deserve filters: {safe(advice)}"
        if Path(words[-1]).is_dir():
            hint += "\nWith --write, the folder asks for them, and needs no --columns."
        return _choice_of_columns(path, read_leaves(path), words, hint=hint)

    _show(ctx, complaint, choice, path=path)


def show_columns_of_table(ctx: click.Context, table: str, *, has_home: bool) -> NoReturn:
    """Show the columns of a table's first file, and a command line that indexes one; then exit.

    Args:
        ctx: The command that names no column.
        table: The table.
        has_home: Whether a folder for the index is named.
    """
    from parquet_bloomwriter.index.table.ref import TableRef

    def choice() -> str:
        if not has_home:
            TableRef.of(table).check_folder()
        path = first_file(table)
        words = ["bloomify", "index", "create", table]
        return _choice_of_columns(path, read_leaves(path), words, behind=["--name", "ids"])

    _show(ctx, "name the columns to index with --columns.", choice, reads_only=True)


def show_conditions(ctx: click.Context, location: Location, *, given: str) -> NoReturn:
    """Show the columns of a file, and a command line that looks for a value in one; then exit.

    Args:
        ctx: The command that names no condition.
        location: The file.
        given: The input that it was found by.
    """
    complaint = "say what to look for with --where or --eq."
    choice = partial(_choice_of_conditions, location, given, str(ctx.info_name))
    _show(ctx, complaint, choice, path=str(location), reads_only=True)


def read_leaves(path: str) -> tuple[Leaf, ...]:
    """Read the leaf columns of a file.

    Raises:
        FileProblem: If filters cannot be added to the file.
        OSError: If the file cannot be read.
    """
    from parquet_bloomwriter.rewrite.session import rewrite_session

    with rewrite_session(path) as session:
        return session.layout.footer.leaves


def first_file(table: str) -> str:
    """Find the first file of a table.

    Raises:
        BloomwriterError, OSError: If there is none, or the folder cannot be read.
    """
    from parquet_bloomwriter.index.files import location
    from parquet_bloomwriter.index.table.data_files import current_files
    from parquet_bloomwriter.index.table.ref import TableRef
    from parquet_bloomwriter.source.listing import find_local, none_in

    if Path(table).exists():
        return find_local(table)[0]
    ref = TableRef.of(table)
    if not ref.is_on_store:
        return find_local(ref.path)[0]
    files = current_files(ref, None)
    return location(ref.root, files[0]) if files else none_in(table)


def _show(
    ctx: click.Context,
    complaint: str,
    choice: Callable[[], str],
    *,
    path: str | None = None,
    reads_only: bool = False,
) -> NoReturn:
    """Print on standard error what is missing and what can be chosen; then exit."""
    try:
        text = choice()
    except (BloomwriterError, OSError) as error:
        complain(describe(error, path=path, reads_only=reads_only))
        ctx.exit(exit_code_of(error))
    complain(complaint)
    click.echo(text, err=True)
    ctx.exit(ExitCode.USAGE)


def _choice_of_columns(
    path: str,
    leaves: Sequence[Leaf],
    words: Sequence[str],
    *,
    behind: Sequence[str] = (),
    hint: str = "",
) -> str:
    parts = [f"The columns of {safe(path)}:", _listed(leaves, with_ordinals=True)]
    last = [hint] if hint else []
    if example := _listed_example_of(leaves):
        line = shlex.join([*words, "--columns", example, *behind])
        last.append(f"For example: {safe(line)}")
    return "\n\n".join([*parts, "\n".join(last)] if last else parts)


def _choice_of_conditions(location: Location, given: str, verb: str) -> str:
    from parquet_bloomwriter.metadata.logical_types import type_name
    from parquet_bloomwriter.predicate.to_sql import spell_name
    from parquet_bloomwriter.source.open import opened_with_footer

    with opened_with_footer(location) as (_, footer):
        leaves = footer.leaves
    typed = [leaf for leaf in leaves if _EASILY_TYPED.fullmatch(type_name(leaf))]
    chosen = _example_of(typed) or _example_of(leaves)
    example = next((leaf for leaf in leaves if leaf.name == chosen), None)
    parts = [f"The columns of {safe(str(location))}:", _listed(leaves)]
    if example is not None:
        value = "42" if _WHOLE_NUMBERS.fullmatch(type_name(example)) else "'value'"
        condition = f"{spell_name(example.name)} = {value}"
        is_plain = not set(condition) & set('"$`\\!')
        quoted = f'"{condition}"' if is_plain else shlex.quote(condition)
        words = f"{shlex.join(['bloomify', verb, shown(given)])} --where {quoted}"
        parts.append(f"For example: {safe(words)}")
    return "\n\n".join(parts)


def _listed(leaves: Sequence[Leaf], *, with_ordinals: bool = False) -> str:
    """Return a line for each column: name, type, and whether it can have filters.

    Args:
        leaves: The columns.
        with_ordinals: Whether to say what to type for names that cannot be typed.
    """
    from parquet_bloomwriter.column_names import can_be_listed, listed_name
    from parquet_bloomwriter.filters.columns import why_no_filter
    from parquet_bloomwriter.metadata.logical_types import type_name

    shown, rest = cut(leaves, "column")
    named = [(leaf, name(leaf.name)) for leaf in shown]
    space = max((width(text) for _, text in named), default=0)
    lines = [
        f"  {text}{' ' * (space - width(text))}  {type_name(leaf)}"
        + ("  (no filters)" if why_no_filter(leaf) else "")
        + (
            f"  (type '{listed_name(leaf)}')"
            if with_ordinals and not can_be_listed(leaf.name)
            else ""
        )
        for leaf, text in named
    ]
    return "\n".join([*lines, *([f"  {rest}"] if rest else [])])


def _example_of(leaves: Sequence[Leaf]) -> str:
    """Return the name of a column that can have filters and be typed; "" without any."""
    from parquet_bloomwriter.filters.columns import why_no_filter

    names = (leaf.name for leaf in leaves if leaf.name and not why_no_filter(leaf))
    return next((one for one in names if one.isprintable() and "," not in one), "")


def _listed_example_of(leaves: Sequence[Leaf]) -> str:
    """Return an example column for a list: a name or, if none can be typed, `#` and an ordinal."""
    from parquet_bloomwriter.column_names import listed_name
    from parquet_bloomwriter.filters.columns import why_no_filter

    others = (listed_name(leaf) for leaf in leaves if not why_no_filter(leaf))
    return _example_of(leaves) or next(others, "")
