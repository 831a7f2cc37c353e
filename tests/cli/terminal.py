"""A command on a pseudo-terminal, and what somebody before it sees."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import sys
import termios
from dataclasses import dataclass

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_CLEAR = "\r\x1b[K"


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What was on a terminal."""

    raw: str
    code: int

    @property
    def bars(self) -> list[str]:
        """Every line that was drawn to be overwritten."""
        return [part for part in self.raw.split(_CLEAR)[1:-1] if part and "\n" not in part]

    @property
    def percents(self) -> list[int]:
        """What they say."""
        return [int(found[1]) for bar in self.bars if (found := re.search(r"(\d+) %", bar))]

    def screen(self, columns: int) -> list[str]:
        """The lines that are left, wrapped where they are too long."""
        lines = [""]
        for part in re.split(r"(\r\n|\r\x1b\[K)", _COLOURS.sub("", self.raw)):
            if part == "\r\n":
                lines.append("")
            elif part == _CLEAR:
                lines[-1] = ""
            else:
                text = lines.pop() + part
                cut = range(0, max(len(text), 1), columns)
                lines += [text[at : at + columns] for at in cut]
        return lines


def watch(program: str, *arguments: str, columns: int, interrupt_at: str | None = None) -> Seen:
    """Run a program of Python's with standard input and error on a terminal.

    Standard output goes there, too.

    Args:
        program: Its text.
        arguments: Of the program.
        columns: Width of the terminal.
        interrupt_at: Press Ctrl-C when this is on the screen.
    """
    process, terminal = pty.fork()
    if process == 0:
        # Not os.environ: readline, which pytest imports, puts COLUMNS into that of C.
        environment = {name: os.environ[name] for name in os.environ if name != "COLUMNS"}
        fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        command = [sys.executable, "-c", program, *arguments]
        os.execve(sys.executable, command, environment)  # noqa: S606
    shown = b""
    while part := _read(terminal):
        shown += part
        if interrupt_at is not None and interrupt_at.encode() in shown:
            os.write(terminal, b"\x03")
            interrupt_at = None
    os.close(terminal)
    _, status = os.waitpid(process, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code != -signal.SIGKILL
    return Seen(raw=shown.decode(), code=code)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says so at the end of a pseudo-terminal.
        return b""
