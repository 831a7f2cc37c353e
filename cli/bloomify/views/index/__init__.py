"""Views of reports on indexes, as text and as JSON; here, the next commands to type."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def command_line(verb: str, table: str, *, name: str | None, home: str | None) -> str:
    """Return a command on the same index, quoted for a shell."""
    words = ["bloomify", "index", verb, table]
    words += ["--name", name] if name else []
    words += ["--home", home] if home else []
    return shlex.join(words)


def partition_hint(names: Sequence[str], table: str) -> str:
    """Return a sentence on names that are those of folders, not of columns; "" without any."""
    found = dict(_partitions(table))
    named = [name for name in names if name in found]
    if not named:
        return ""
    examples = ", ".join(f"{name}={found[name]}" for name in named)
    return f" There are folders for that ({examples}): readers choose among them by themselves."


def _partitions(table: str) -> Iterator[tuple[str, str]]:
    """Yield names and first values of folders like `year=2026`, from the outermost."""
    folder = Path(table)
    while folder.is_dir():
        below = min((one for one in folder.glob("*=*") if one.is_dir()), default=None)
        if below is None:
            return
        name, _, value = below.name.partition("=")
        yield name, value
        folder = below
