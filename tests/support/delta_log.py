"""A small reader of Delta's log that knows only its JSON entries, to compare with.

It goes from the newest entry to the oldest, and keeps the first that is said of each file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

Key = tuple[str, str | None]


@dataclass
class State:
    """A table at one version."""

    version: int
    protocol: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    files: dict[Key, dict[str, Any]] = field(default_factory=dict)


def replay(root: Path, version: int | None = None) -> State | None:
    """Read a table from its entries alone; None if the first ones are gone."""
    entries = {
        int(one.stem): one for one in (root / "_delta_log").glob("*.json") if one.stem.isdecimal()
    }
    last = max(entries, default=0) if version is None else version
    if not all(number in entries for number in range(last + 1)):
        return None
    state, seen = State(last), set[Key]()
    for number in range(last, -1, -1):
        actions = [json.loads(line) for line in entries[number].read_text("utf-8").splitlines()]
        said: set[Key] = set()
        for kind in ("add", "remove"):
            for action in actions:
                if action.get(kind):
                    key = key_of(action[kind])
                    if key not in seen | said and kind == "add":
                        state.files[key] = without_nulls(action[kind])
                    said.add(key)
        seen |= said
        for action in actions:
            state.protocol = state.protocol or action.get("protocol") or {}
            state.metadata = state.metadata or action.get("metaData") or {}
    return state


def key_of(action: dict[str, Any]) -> Key:
    """Return what a file is known by: its path, and the unique id of its deletion vector."""
    vector = action.get("deletionVector")
    if not vector:
        return action["path"], None
    parts = [vector["storageType"], vector["pathOrInlineDv"]]
    if vector.get("offset") is not None:
        parts.append(f"@{vector['offset']}")
    return action["path"], "".join(parts)


def without_nulls(action: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an action that are not null."""
    return {name: value for name, value in action.items() if value is not None}
