"""What to type next about an index: commands, names that are close, folders that are no columns."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def command_line(verb: str, table: str, *, name: str | None, home: str | None) -> str:
    """Spell a command on the same index, to be typed next."""
    words = ["bloomify", "index", verb, table]
    words += ["--name", name] if name else []
    words += ["--home", home] if home else []
    return shlex.join(words)


def did_you_mean(names: Sequence[str], choice: Sequence[str]) -> str:
    """Propose names for those that are not there, as a sentence after a space; "" for none."""
    from parquet_bloomwriter.text import nearest

    close = [near for name in names if (near := nearest(name, choice)) is not None]
    return f" Did you mean {' or '.join(dict.fromkeys(close))}?" if close else ""


def partition_hint(names: Sequence[str], table: str) -> str:
    """Say which of the names are not of columns, but of folders; "" if none is."""
    found = dict(_partitions(table))
    named = [name for name in names if name in found]
    if not named:
        return ""
    examples = ", ".join(f"{name}={found[name]}" for name in named)
    return f" There are folders for that ({examples}): readers choose among them by themselves."


def _partitions(table: str) -> Iterator[tuple[str, str]]:
    """Names and first values of folders like `year=2026`, from the outermost."""
    folder = Path(table)
    while folder.is_dir():
        below = min((one for one in folder.glob("*=*") if one.is_dir()), default=None)
        if below is None:
            return
        name, _, value = below.name.partition("=")
        yield name, value
        folder = below
