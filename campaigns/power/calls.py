"""The system calls of a run, from the log that strace writes with `-f -y -xx`.

All strings in such a log are hexadecimal, those of open files too, so that commas, quotes and
brackets are the log's own. A call of one thread that another thread interrupts takes two lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LINE = re.compile(r"(?P<thread>\d+) +(?P<rest>.*)")
_WHOLE = re.compile(
    r"(?P<name>\w+)\((?P<arguments>.*)\)\s+= (?P<result>-?\d+|0x[0-9a-f]+|\?)(?P<more>.*)"
)
_RESUMED = re.compile(r"<\.\.\. (?P<name>\w+) resumed>(?P<rest>.*)")
_UNFINISHED = "<unfinished ...>"
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"(?P<cut>\.\.\.)?')
_OPEN_FILE = re.compile(r"(?P<fd>\d+)<(?P<path>[^>]*)>")


class UnknownCall(Exception):
    """Something that the recorder does not understand, and must not pass over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One system call that ended."""

    name: str
    arguments: tuple[str, ...]
    """As strace writes them."""

    result: int
    """-1 if it failed."""

    began: int
    """Line of the log, 0-based, where it began."""

    ended: int
    """Line where it ended."""

    def text(self, at: int) -> str:
        """The path or name that an argument is."""
        return self.bytes(at).decode("utf-8", "surrogateescape")

    def bytes(self, at: int) -> bytes:
        """The bytes that an argument is; those of all parts, if it is a vector."""
        found = list(_TEXT.finditer(self.arguments[at]))
        if not found or any(part["cut"] for part in found):
            raise UnknownCall(f"no whole string: {self}")
        return b"".join(bytes.fromhex(part[1].replace("\\x", "")) for part in found)

    def fd(self, at: int) -> int:
        """The number of the open file that an argument is."""
        return int(self.arguments[at].partition("<")[0])

    def number(self, at: int) -> int:
        """The number that an argument is; octal if it begins with a zero, as C has it."""
        text = self.arguments[at]
        return int(text, 8 if re.fullmatch("0[0-7]+", text) else 0)

    def flags(self, at: int) -> frozenset[str]:
        """The flags that an argument is."""
        return frozenset(self.arguments[at].split("|"))


def read_calls(lines: Iterable[str], path: str) -> Iterator[Call]:
    """Read the calls that have to do with a path, in the order in which they end."""
    inside = "".join(f"\\x{byte:02x}" for byte in path.encode())
    begun: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(lines):
        match = _LINE.match(line)
        if match is None:
            raise UnknownCall(line[:200])
        thread, rest = match["thread"], match["rest"]
        if rest.startswith(("+++", "---")):
            continue
        if rest.endswith(_UNFINISHED):
            begun[thread] = (number, rest.removesuffix(_UNFINISHED).rstrip())
            continue
        began = number
        if resumed := _RESUMED.match(rest):
            if thread not in begun:  # It began before these lines, as the call that marks them may.
                continue
            began, start = begun.pop(thread)
            rest = start + resumed["rest"]
        if inside in rest and (call := _call(rest, began, number)) is not None:
            yield call


def _call(text: str, began: int, ended: int) -> Call | None:
    match = _WHOLE.fullmatch(text)
    if match is None:
        raise UnknownCall(text[:200])
    if match["result"] == "?":  # the thread ended in it
        return None
    return Call(
        name=match["name"],
        arguments=tuple(_split(match["arguments"])),
        result=int(match["result"], 0),
        began=began,
        ended=ended,
    )


def _split(text: str) -> Iterator[str]:
    """Split at the commas that are in no bracket."""
    depth, start = 0, 0
    for match in re.finditer(r"[(\[{<>}\]),]", text):
        mark = match[0]
        if mark in "([{<":
            depth += 1
        elif mark in ")]}>":
            depth -= 1
        elif depth == 0:
            yield text[start : match.start()].strip()
            start = match.end()
    if text[start:].strip():
        yield text[start:].strip()
