"""The entry point: the group of commands, and the exit of the process."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import NoReturn

import click

from bloomify.console.console import PROGRAM, color, discard
from bloomify.console.help import Verbs
from parquet_bloomwriter import __version__

VERBS = ("add", "strip", "repair", "advise", "inspect", "verify", "probe", "index")
"""The commands in the order of the help page."""

_EPILOG = """\b
Examples:
  bloomify events.parquet --columns id,email
  bloomify events.parquet --columns id --fpp id=0.001 -o indexed.parquet
  bloomify warehouse/ --all-columns --dry-run
  bloomify strip events.parquet
  bloomify advise warehouse/
  bloomify inspect events.parquet
  bloomify verify warehouse/ --sample 10%
  bloomify probe warehouse/ --where "email = 'ada@mail.example'"
  bloomify probe warehouse/ --where "id = 42" --files -0 | xargs -0 -r ls -l
  bloomify index create warehouse/ --columns id,email --name ids
  bloomify index lookup warehouse/ --where "id = 42"

\b
Exit codes:
  0    done
  1    done, but a check failed, nothing can match, or no column could have a filter
  2    the command line asks for something that cannot be
  3    some files failed, the others are done
  4    not a Parquet file, or a malformed one
  5    refused: unsupported, unsafe to replace, changed meanwhile, not verified, index busy
  6    the operating system refused to read or write
  70   a bug
  130  interrupted (143: terminated)
"""


@click.group(
    PROGRAM,
    cls=Verbs,
    modules={verb: f"bloomify.commands.{verb}" for verb in VERBS},
    epilog=_EPILOG,
    subcommand_metavar="[COMMAND] INPUT... [OPTIONS]",
    options_metavar="",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name=PROGRAM, message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Add Bloom filters to existing Parquet files without rewriting their data, and use them.

    An INPUT is a Parquet file, a folder or a glob pattern; commands that only read take URLs, too.
    Where no command is named, `add` is meant; the options below are its options, and each command
    has its own --help.
    """
    ctx.color = color()


def main() -> None:
    """Run the command line of this process and exit."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        cli.main(prog_name=PROGRAM)
    except SystemExit as ending:
        _flush()
        if isinstance(ending.code, int):
            _leave(ending.code)
        raise
    finally:
        _flush()


def _flush() -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        discard(sys.stdout.fileno())


def _leave(code: int) -> NoReturn:
    """Exit without the cleanup of the interpreter.

    The cleanup takes 0.06 s once pyarrow is loaded, and is not needed: every file is closed and
    every thread has ended.
    """
    sys.stderr.flush()
    os._exit(code)
