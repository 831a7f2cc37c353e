"""Indexes whose log somebody else has written: any text, any number, any path."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.index.entry import with_checksum
from parquet_bloomwriter.index.layout import HOME, LOG

if TYPE_CHECKING:
    from pathlib import Path

Json = dict[str, Any]


def index_folder(table: Path, name: str) -> Path:
    """The folder of a table's index."""
    return table / HOME / name


def newest(index: Path) -> tuple[Path, Json]:
    """The newest entry of a log: its file, and what it says."""
    path = max((index / LOG).iterdir(), key=lambda entry: int(entry.name))
    found = json.loads(path.read_bytes())
    found.pop("crc", None)
    return path, found


def rewrite(index: Path, **changes: object) -> None:
    """Change the newest entry where it stands."""
    path, entry = newest(index)
    path.write_bytes(with_checksum(entry | changes))


def append(index: Path, **changes: object) -> None:
    """Write one more entry, like the newest but for the changes."""
    path, entry = newest(index)
    following = int(path.name) + 1
    found = entry | {"id": following} | changes
    (path.parent / str(following)).write_bytes(with_checksum(found))


def make_hostile(index: Path, text: str) -> None:
    """Put a text wherever an entry has one."""
    _, entry = newest(index)
    first, *others = entry["columns"]
    hostile = first | {"no_global": f"no {text}", "global_filter": None}
    invented = first | {"name": f"column {text}", "no_global": text, "global_filter": None}
    rewrite(
        index,
        name=f"name {text}",
        action=f"action {text}",
        options=entry["options"] | {"source": text, text: text},
        columns=[hostile, *others, invented],
    )
