"""Results on standard output, everything else on standard error, neither in the other's way."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from bloomify.console.glyphs import Glyphs, glyphs_for
from bloomify.console.messages import STANDARD_OUTPUT
from bloomify.console.text import safe
from parquet_bloomwriter.progress import Bar

if TYPE_CHECKING:
    from collections.abc import Iterable

PROGRAM = "bloomify"


@dataclass(frozen=True, slots=True, kw_only=True)
class Console:
    """The two streams and the progress bar of one run."""

    bar: Bar
    is_quiet: bool = False

    @classmethod
    def open(cls, *, is_quiet: bool) -> Console:
        """Make one for this process; the bar shows only where somebody is watching."""
        is_watched = not is_quiet and sys.stderr.isatty()
        return cls(bar=Bar(sys.stderr if is_watched else None), is_quiet=is_quiet)

    @property
    def columns(self) -> int | None:
        """Width of the terminal; None where standard output is none."""
        return shutil.get_terminal_size().columns if sys.stdout.isatty() else None

    @property
    def glyphs(self) -> Glyphs:
        """What standard output can draw with."""
        return glyphs_for(sys.stdout.encoding)

    def result(self, text: str) -> None:
        """Print to standard output. Files are finished even if nobody reads on (`| head`)."""
        self._print(text)

    def paths(self, paths: Iterable[str], *, end: bytes) -> None:
        """Print paths to standard output as the system spells them, each followed by `end`.

        A terminal would obey what is in them, and gets them escaped.
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
        self._line(text, fg="red")

    def _line(self, text: str, fg: str | None = None) -> None:
        with self.bar.hidden():
            complain(text, fg=fg)


def complain(text: str, *, fg: str | None = "red") -> None:
    """Print one line to standard error, headed by the program's name."""
    head = click.style(f"{PROGRAM}:", fg=fg, bold=True)
    try:
        click.echo(f"{head} {safe(text)}", err=True, color=color())
    except OSError:  # Nobody is there to hear of it.
        return


def color() -> bool | None:
    """False where colours are unwanted; None leaves it to what the stream is."""
    return False if os.environ.get("NO_COLOR") else None


def discard(descriptor: int) -> None:
    """Let what is written to a broken pipe go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
