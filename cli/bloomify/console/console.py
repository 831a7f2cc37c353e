"""The two output streams: results go to standard output, everything else to standard error."""

from __future__ import annotations

import os
import shutil
import sys
import time
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict

import click

from bloomify.console.messages import STANDARD_OUTPUT
from parquet_bloomwriter.progress import Bar
from parquet_bloomwriter.text import safe, size

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import BinaryIO


PROGRAM = "bloomify"

MOST_ENTRIES = 20
"""Most entries of a list; of a longer list, so many are shown, and the others are counted."""

OBJECT, LINES = "object", "lines"
"""Forms of JSON: one object for a run, or one object in a line for each file and for the run."""

LONGEST_LINE = 100
"""Columns of a line, on wider terminals and in files, too. Names and commands may pass it."""

_TOLD_FROM_S = 1.0
"""Seconds from which the duration of a command is printed on terminals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Glyphs:
    """The characters that bars are drawn with."""

    might: str = "█"
    """Sign of a row group that might match, and of the filled part of a whole."""

    cannot: str = "▒"
    """Sign of a row group that cannot match."""

    empty: str = "░"
    """Sign of the rest of a whole."""

    infinity: str = "∞"


ASCII = Glyphs(might="#", cannot=".", empty=".", infinity="inf")


def glyphs_for(encoding: str | None) -> Glyphs:
    """Return block characters if an encoding has them, else ASCII."""
    glyphs = Glyphs()
    try:
        (glyphs.might + glyphs.cannot + glyphs.empty + glyphs.infinity).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return glyphs


class PrintingOptions(TypedDict):
    """The options of what is printed: `options.printing_options`."""

    as_json: str | None
    """`OBJECT` or `LINES`; None for text."""

    quiet: bool
    verbose: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Console:
    """The two streams and the progress bar of one run."""

    bar: Bar
    is_quiet: bool = False
    is_verbose: bool = False
    began: float = field(default_factory=time.perf_counter)
    """Start of the command, seconds by `time.perf_counter`."""

    _errors: list[str] = field(default_factory=list, repr=False)
    """Lines of errors that were printed."""

    @classmethod
    def open(cls, options: PrintingOptions) -> Console:
        """Return the console of this process; the progress bar is drawn on terminals only.

        The duration is printed at the end: with --verbose, and on terminals if it was long.

        Raises:
            click.UsageError: If --quiet and --verbose are both given.
        """
        is_quiet = options["quiet"]
        if is_quiet and options["verbose"]:
            raise click.UsageError(
                "--quiet and --verbose exclude each other", click.get_current_context()
            )
        if is_quiet:
            warnings.filterwarnings("ignore", ".*the C kernels are ")
        is_watched = not is_quiet and sys.stderr.isatty()
        bar = Bar(sys.stderr if is_watched else None)
        console = cls(bar=bar, is_quiet=is_quiet, is_verbose=options["verbose"])
        if is_watched or options["verbose"]:
            least = 0.0 if options["verbose"] else _TOLD_FROM_S
            click.get_current_context().call_on_close(lambda: console.tell_time(least))
        return console

    @property
    def seconds(self) -> float:
        """Seconds since the command began."""
        return time.perf_counter() - self.began

    def tell_time(self, least: float) -> None:
        """Print the duration of the command, and the bytes per second.

        Args:
            least: Seconds; less is not told.
        """
        took, num_bytes = self.seconds, self.bar.num_bytes_done
        if took < least or self._errors or sys.exception() is not None:
            return
        self._line(
            f"{size(num_bytes)} in {took:.1f} s, {size(round(num_bytes / took))}/s."
            if num_bytes
            else f"done in {took:.1f} s."
        )

    @property
    def columns(self) -> int | None:
        """Width of lines on the terminal; None if standard output is not a terminal."""
        if not sys.stdout.isatty():
            return None
        return min(shutil.get_terminal_size().columns, LONGEST_LINE)

    @property
    def glyphs(self) -> Glyphs:
        """Characters for bars that standard output can encode."""
        return glyphs_for(sys.stdout.encoding)

    def result(self, text: str) -> None:
        """Print to standard output. A broken pipe (`| head`) does not stop the work on files."""
        self._print(text)

    @staticmethod
    def stream() -> BinaryIO:
        """Return standard output for bytes, for results that are printed piece by piece."""
        return sys.stdout.buffer

    def paths(self, paths: Iterable[str], *, end: bytes) -> None:
        """Print paths to standard output in the system's spelling, each followed by `end`.

        On a terminal they are escaped, as it would obey control characters.
        """
        if sys.stdout.isatty():
            self._print("".join(f"{safe(path)}\n" for path in paths), newline=False)
        else:
            self._print(b"".join(os.fsencode(path) + end for path in paths), newline=False)

    def _print(self, text: str | bytes, *, newline: bool = True) -> None:
        with self.bar.hidden():
            try:
                click.echo(text, color=color(), nl=newline)
            except BrokenPipeError:
                discard(sys.stdout.fileno())
            except OSError as error:
                raise OSError(error.errno, error.strerror, STANDARD_OUTPUT) from error

    def note(self, text: str) -> None:
        """Print one line to standard error, unless quiet."""
        if not self.is_quiet:
            self._line(text)

    def error(self, text: str) -> None:
        """Print one line to standard error."""
        self._errors.append(text)
        self._line(text, fg="red")

    def _line(self, text: str, fg: str | None = None) -> None:
        with self.bar.hidden():
            complain(text, fg=fg)


def complain(text: str, *, fg: str | None = "red") -> None:
    """Print one line to standard error, after the program's name."""
    head = click.style(f"{PROGRAM}:", fg=fg, bold=True)
    try:
        click.echo(f"{head} {safe(text)}", err=True, color=color())
    except OSError:  # Nobody reads standard error.
        return


def color() -> bool | None:
    """Return False if NO_COLOR is set; None lets click decide by the stream."""
    return False if os.environ.get("NO_COLOR") else None


def discard(descriptor: int) -> None:
    """Redirect the output to a broken pipe to the null device."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
