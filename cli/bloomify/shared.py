"""The options that all verbs have, for the help page and for click."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import click

from bloomify.console.help import check_no_command, complete_path, section
from bloomify.options import one, parse_count, split_columns

if TYPE_CHECKING:
    from collections.abc import Callable

Decorator = Any
"""Adds a parameter to a function; click gives it no better type."""

_file = section("Where the result goes")
_other = section("Other options")


def _files(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> tuple[str, ...]:
    """Refuse "-" among inputs."""
    for path in given:
        _check_no_stream(path, "standard input")
    return given


def _local_files(
    context: click.Context, parameter: click.Parameter, given: tuple[str, ...]
) -> tuple[str, ...]:
    """Refuse URLs and commands, too, before they are taken for files that do not exist."""
    for path in _files(context, parameter, given):
        _check_local(path)
        check_no_command(path, context)
    return given


def local_output(
    _context: click.Context, _parameter: click.Parameter, given: str | None
) -> str | None:
    """Refuse "-", URLs and nothing where a path is written to."""
    if given is not None:
        _check_no_stream(given, "standard output")
        _check_local(given)
    return given


def _check_no_stream(path: str, stream: str) -> None:
    if path == "-":
        raise click.BadParameter(
            f"'-' would be {stream}, and a pipe can be neither read from its end nor verified nor "
            "replaced; name a file (./- for one of that name)"
        )


def _check_local(path: str) -> None:
    from parquet_bloomwriter.errors import InvalidArgument
    from parquet_bloomwriter.source.filesystems import check_local

    try:
        check_local(path)
    except InvalidArgument as error:
        raise click.BadParameter(str(error)) from None


inputs_argument = click.argument(
    "inputs",
    metavar="INPUT...",
    nargs=-1,
    required=True,
    callback=_local_files,
    shell_complete=complete_path,
)

sources_argument = click.argument(
    "inputs",
    metavar="INPUT...",
    nargs=-1,
    required=True,
    callback=_files,
    shell_complete=complete_path,
)


def all_of(*decorators: Decorator) -> Callable[[Any], Any]:
    """Apply decorators so that the first stands first on the help page."""
    return lambda function: reduce(lambda made, one: one(made), reversed(decorators), function)


destination_options = all_of(
    _file(
        "-o",
        "--output",
        metavar="PATH",
        callback=local_output,
        shell_complete=complete_path,
        help="Write here, and leave the input alone: a file, or a folder for many inputs. "
        "Without it the file is replaced in place, atomically.",
    ),
    _file("--overwrite", is_flag=True, help="Replace what exists at PATH of --output."),
    _file(
        "--backup",
        metavar="SUFFIX",
        help="Keep the file that is replaced, under its name and SUFFIX: of one INPUT, where its "
        "folder holds no other Parquet file.",
    ),
    _file(
        "--backup-dir",
        metavar="DIR",
        callback=local_output,
        shell_complete=complete_path,
        help="Keep the files that are replaced in DIR, outside of the inputs, under the same "
        "relative paths.",
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
    _other("--dry-run", is_flag=True, help="Write nothing; say what would be done."),
    _other(
        "--plan",
        is_flag=True,
        help="With --dry-run: print the pieces of each new file, byte by byte.",
    ),
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
