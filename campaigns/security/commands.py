"""Every command and option of `bloomify`, found by asking click, and what they print."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from bloomify.main import cli
from campaigns.security.hostile import PAYLOADS, faults, faults_of_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from campaigns.security.tables import Table

EVIL = "".join(PAYLOADS[kind] for kind in ("csi", "line", "osc", "c1", "bidi", "bytes", "formats"))
"""What is typed behind every option."""

INDEX = "ids"
"""Name of the index that commands are asked about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """What a command wrote."""

    status: object
    out: str
    err: str
    is_terminal: bool

    def faults(self, *, as_json: bool = False) -> list[str]:
        """What is wrong with it."""
        of_out = faults_of_json if as_json and self.out else None
        out = of_out(self.out) if of_out else faults(self.out, is_terminal=self.is_terminal)
        return out + faults(self.err, is_terminal=self.is_terminal)


class _Stream(io.TextIOWrapper):
    """A stream in memory that claims to be a terminal, or not; it hides no surrogate."""

    def __init__(self, *, is_terminal: bool) -> None:
        self.kept = io.BytesIO()
        super().__init__(self.kept, encoding="utf-8", errors="surrogatepass", newline="")
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        """Answer as told."""
        return self._is_terminal

    def text(self) -> str:
        """All that was written."""
        self.flush()
        return _decoded(self.kept.getvalue())


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:  # paths for programs
        return os.fsdecode(data)


def run(arguments: Sequence[str], *, is_terminal: bool = True) -> Printed:
    """Run a command line in this process."""
    out, err = _Stream(is_terminal=is_terminal), _Stream(is_terminal=is_terminal)
    status: object = None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            cli.main(list(arguments), prog_name="bloomify")
        except SystemExit as ending:
            status = ending.code
        finally:
            sys.stdout.flush()
    return Printed(status=status, out=out.text(), err=err.text(), is_terminal=is_terminal)


def commands() -> dict[str, click.Command]:
    """All commands that are no groups, by the words that name them."""
    return dict(_below(cli, click.Context(cli), ""))


def _below(group: click.Group, ctx: click.Context, words: str) -> Iterator[tuple[str, Any]]:
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        if isinstance(command, click.Group):
            yield from _below(command, click.Context(command), f"{words}{name} ")
        else:
            yield f"{words}{name}", command


def base(words: str, table: Table) -> list[str]:
    """A command line that does what the command is for, with the hostile folder."""
    line = [*words.split(), str(table.folder)]
    if words == "add":
        return [*line, "--columns", table.column]
    if words == "index create":
        return [*line, "--columns", "id", "--name", "other"]
    if words in {"probe", "index lookup", "index explain"}:
        return [*line, "--eq", f"{table.column}={table.value}"]
    if words.startswith("index ") and words != "index list":
        return [*line, "--name", INDEX]
    return line


def lines_of(words: str, command: click.Command, table: Table) -> Iterator[list[str]]:
    """The usual line, one without options, ones with each option, and ones about nothing."""
    usual = base(words, table)
    yield usual
    yield [*words.split(), str(table.folder)]
    yield [*words.split(), str(table.file)]
    yield words.split()
    yield [*words.split(), EVIL]
    yield [*words.split(), f"./{EVIL}", f"--{EVIL}"]
    yield [*usual, EVIL]
    for option in command.params:
        if isinstance(option, click.Option) and option.name != "help":
            yield from _with(option, usual)


def _with(option: click.Option, usual: list[str]) -> Iterator[list[str]]:
    name = option.opts[-1]
    if option.is_flag:
        yield [*usual, name]
        return
    for value in (EVIL, f"{EVIL}=1", f"`{EVIL}` = '{EVIL}'"):
        yield [*usual, name, value]


def takes_json(command: click.Command) -> bool:
    """Whether it can print JSON."""
    return any("--json" in option.opts for option in command.params)
