"""The options that all verbs have, for the help page and for click."""

from __future__ import annotations

from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bloomify.helping import section
from bloomify.options import one, parse_count, split_columns

if TYPE_CHECKING:
    from collections.abc import Callable

Decorator = Any
"""Adds a parameter to a function; click gives it no better type."""

_file = section("Where the result goes")
_other = section("Other options")


def _local(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> tuple[str, ...]:
    """Refuse URLs, before they are taken for names of files that do not exist."""
    for path in given:
        if "://" in path and not Path(path).exists():
            from parquet_bloomwriter.source.filesystems import without_secrets

            shown = without_secrets(path)
            raise click.BadParameter(f"{shown!r} is a URL, and only local files are rewritten")
    return given


inputs_argument = click.argument(
    "inputs", metavar="INPUT...", nargs=-1, required=True, callback=_local
)

sources_argument = click.argument("inputs", metavar="INPUT...", nargs=-1, required=True)


def all_of(*decorators: Decorator) -> Callable[[Any], Any]:
    """Apply decorators so that the first stands first on the help page."""
    return lambda function: reduce(lambda made, one: one(made), reversed(decorators), function)


destination_options = all_of(
    _file(
        "-o",
        "--output",
        metavar="PATH",
        help="Write here, and leave the input alone: a file, or a folder for many inputs. "
        "Without it the file is replaced in place, atomically.",
    ),
    _file("--overwrite", is_flag=True, help="Replace what exists at PATH of --output."),
    _file(
        "--backup",
        metavar="SUFFIX",
        help="Keep the file that is replaced, under its name and SUFFIX.",
    ),
    _file(
        "--force",
        is_flag=True,
        help="Replace a file although something outside refers to it (_metadata, .crc, a "
        "Delta, Iceberg or Hudi table) or it has hard links.",
    ),
    _file(
        "--regenerate-crc",
        is_flag=True,
        help="Renew the Hadoop checksum file .NAME.crc beside the file.",
    ),
)

_jobs = _other(
    "--jobs",
    metavar="N",
    callback=one(parse_count),
    help="Threads in all.  [default: all cores]",
)

printing_options = all_of(
    _other("--json", "as_json", is_flag=True, help="Print one JSON object: docs/command.md."),
    _other("--quiet", is_flag=True, help="Print errors only."),
)

running_options = all_of(
    _jobs,
    _other("--dry-run", is_flag=True, help="Write nothing; print the plan of the new file."),
    printing_options,
)


def dialect_options(section_: str, *, help_: str) -> Decorator:
    """`--dialect` and `--murmur3-seed`."""
    return all_of(
        section(section_)(
            "--dialect",
            type=click.Choice(["xxhash", "murmur3"]),
            default="xxhash",
            show_default=True,
            is_eager=True,  # Known when the seed is looked at.
            help=help_,
        ),
        section(section_)(
            "--murmur3-seed",
            metavar="N",
            type=click.IntRange(0, 0xFFFFFFFF),
            default=0,
            show_default=True,
            callback=_seed_of_drafts,
            help="With --dialect murmur3: seed of its hash, which stands nowhere in a file.",
        ),
    )


def _seed_of_drafts(context: click.Context, _parameter: click.Parameter, given: int) -> int:
    if given and context.params.get("dialect") != "murmur3":
        raise click.BadParameter("a seed goes with --dialect murmur3: XXH64 has none to choose")
    return given


reading_options = all_of(_jobs, printing_options)


def columns_option(*, help_: str, default: str, section_: str) -> Decorator:
    """`--columns` of verbs that can do without."""
    return section(section_)(
        "--columns",
        metavar="NAME,...",
        multiple=True,
        callback=split_columns,
        help=f"{help_} Repeatable.  [default: {default}]",
    )
