"""The entry point: the group of all commands, and the exit of the process."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import traceback
import warnings
from typing import TYPE_CHECKING, NoReturn, TextIO

import click

from bloomify.console.console import PROGRAM, color, complain, discard
from bloomify.console.help import Option, Verbs
from bloomify.console.interruption import terminate
from parquet_bloomwriter import __version__
from parquet_bloomwriter.text import redacted

if TYPE_CHECKING:
    from types import TracebackType

VERBS = (
    "add",
    "strip",
    "repair",
    "advise",
    "inspect",
    "verify",
    "probe",
    "get",
    "check-engine",
    "measure",
    "index",
    "help",
)
"""Commands in the order of the help page."""

_SHOW_WARNING = warnings.showwarning
_OWN_WARNINGS = ("SlowKernels", "RightsLost")
"""Names of the library's warning classes, which must not be imported before they are needed."""

_NEW_OBJECTS = 100_000
"""Number of new objects after which Python looks for cycles among them."""

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
  bloomify get warehouse/ --where "id = 42"
  bloomify check-engine indexed.parquet --engine duckdb
  bloomify index create warehouse/ --columns id,email --name ids
  bloomify index lookup warehouse/ --where "id = 42"

\b
Exit codes:
  0    done
  1    done, but a check failed, nothing can match, no row passes, some data cannot be read, or no
       column could have a filter
  2    the command line asks for something that cannot be, or names what does not exist
  3    some files failed, the others are done
  4    not a Parquet file, or a malformed one
  5    refused: unsupported, unsafe to replace, changed meanwhile, not verified, index busy
  6    the operating system refused to read or write
  7    an engine loses rows (check-engine, measure)
  70   a bug
  130  interrupted (143: terminated)

One line sets up completion in bash, zsh and fish: docs/reference/command.md.
"""

_BRIEF_EPILOG = """\b
Examples: bloomify events.parquet --columns id,email
          bloomify warehouse/ --all-columns --dry-run
          bloomify probe warehouse/ --where "id = 42"
Exit codes: 0 done, 1 no match or failed check, 2 usage, 3 some files failed
"""


@click.group(
    PROGRAM,
    cls=Verbs,
    modules={verb: f"bloomify.commands.{verb.replace('-', '_')}" for verb in VERBS},
    epilog=_EPILOG,
    brief_epilog=_BRIEF_EPILOG,
    help="Add Bloom filters to existing Parquet files, and use them. An INPUT is a file, a folder, "
    "a pattern, or a Delta or Iceberg table, here or on a store.",
    subcommand_metavar="[COMMAND] INPUT... [OPTIONS]",
    options_metavar="",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "-V",
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda ctx, _, wanted: print_version(ctx) if wanted else None,
    cls=Option,
    is_rare=True,
    help="Show the version and exit.",
)
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Run a command."""
    ctx.color = color()


def print_version(ctx: click.Context) -> NoReturn:
    """Print the version, and whether the kernels are compiled if they are not; exit."""
    with warnings.catch_warnings(action="ignore"):  # The warnings are printed below.
        from parquet_bloomwriter import kernels

    click.echo(f"{PROGRAM} {__version__}")
    if not kernels.COMPILED:
        click.echo(kernels.MISSING or f"{kernels.CHOICE} asks for the kernels in Python")
    ctx.exit()


def _show_warning(  # noqa: PLR0913, PLR0917  as Python's own
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning of the library in one line; those of others as Python does."""
    if category.__name__ in _OWN_WARNINGS:
        complain(str(message))
    else:
        _SHOW_WARNING(message, category, filename, lineno, file, line)


def _show_traceback(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print the traceback of a bug, without the secrets in the texts of its errors."""
    sys.stderr.write(redacted("".join(traceback.format_exception(kind, error, trace))))


class _NoPandas:
    """A finder by which pyarrow's datasets do without pandas.

    While its datasets are imported, pyarrow looks whether a number is an object of pandas, and for
    that imports pandas if it is installed: 0.3 s and 50 MB. No command has such objects.
    """

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        """Refuse pandas while pyarrow's datasets are imported; leave all other imports alone."""
        if name != "pandas" or "pyarrow._dataset" not in sys.modules:
            return
        if not hasattr(sys.modules.get("pyarrow.dataset"), "dataset"):
            raise ModuleNotFoundError(name, name=name)


def main() -> None:
    """Run the command line of this process and exit."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    warnings.showwarning = _show_warning
    sys.excepthook = _show_traceback
    # `interruptible` is for the work; files are looked for before it, and indexes after it.
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, terminate)
    _choose_allocator()
    # The metadata of a large table are millions of objects. By default Python looks for cycles
    # among them after each 700 new ones, which takes as long as reading them.
    gc.set_threshold(_NEW_OBJECTS, 20, 100)
    # NumPy's OpenBLAS starts a thread for each core at import, and these spin for 0.1 s while
    # there is other work for the cores. Nothing here multiplies matrices.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.meta_path.insert(0, _NoPandas)
    try:
        cli.main(prog_name=PROGRAM)
    except SystemExit as ending:
        _flush()
        if isinstance(ending.code, int):
            _leave(ending.code)
        raise
    finally:
        _flush()


def _open_closed_streams() -> None:
    """Open the null device as each standard stream that is closed, as after `>&-`.

    Otherwise a file that is opened gets the stream's descriptor, and what libraries print would be
    written into that file. Standard input stays closed for Python, which says so where it is read.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)  # takes the lowest descriptor that is free
            os.set_inheritable(nowhere, True)  # noqa: FBT003  it has no name
            if name != "stdin":
                setattr(sys, name, os.fdopen(nowhere, "w", encoding="utf-8"))


def _choose_allocator() -> None:
    """Let pyarrow, which is not loaded yet, use the C library's memory, unless told otherwise.

    Its own choice, mimalloc, keeps what threads have freed: up to half more memory at the peak, and
    no less time. Measured with glibc, so it is left alone elsewhere.
    """
    if sys.platform == "linux":
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")


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
