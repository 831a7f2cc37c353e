"""Which files of the log make up a version: a checkpoint, and the entries after it.

    N.json                                an entry: what version N changed
    N.checkpoint.parquet                  the state as of N: classic
    N.checkpoint.P.Q.parquet              part P of Q of it: only a checkpoint if all are there
    N.checkpoint.UUID.json, .parquet      version 2: may name sidecars, which have the files
    A.B.compacted.json, N.crc             not needed
    _last_checkpoint                      a hint, which may be wrong: not needed either, but on stores
                                          it saves listing the entries before it

Source: Delta protocol, "Delta Log Entries", "Checkpoints".
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import InvalidArgument, TableProblem

if TYPE_CHECKING:
    from parquet_bloomwriter.delta.place import LogFile, TablePlace

LAST_CHECKPOINT = "_last_checkpoint"

_DIGITS = 20
_NAME = re.compile(
    r"(?P<version>\d{20})\."
    r"(?:(?P<entry>json)"
    r"|checkpoint\.(?:(?P<part>\d{10})\.(?P<parts>\d{10})\.)?parquet"
    r"|checkpoint\.(?P<uuid>[^.]+)\.(?:json|parquet))"
)


@dataclass(frozen=True, kw_only=True)
class Segment:
    """What makes up a version."""

    version: int
    checkpoint: tuple[str, ...]
    """Names of the files of the checkpoint, in order; empty without one."""

    checkpoint_version: int
    """-1 without a checkpoint."""

    entries: tuple[int, ...]
    """Versions of the entries after it, in order."""


def entry_name(version: int) -> str:
    """Return the name of an entry."""
    return f"{version:0{_DIGITS}}.json"


def last_version(place: TablePlace) -> int:
    """Return the number of the last version of a table.

    Raises:
        InvalidArgument: If there is no table.
        StoreProblem, OSError: If the log cannot be listed.
    """
    entries, checkpoints = _found(place, _hint(place))
    return max((*entries, *checkpoints))


def segment_of(place: TablePlace, version: int | None = None) -> Segment:
    """Find what makes up a version, by default the last.

    Raises:
        InvalidArgument: If there is no table, or no such version of it, or not any more.
        TableProblem: If an entry is missing.
        StoreProblem, OSError: If the log cannot be listed.
    """
    hint = _hint(place)
    entries, checkpoints = _found(place, hint if version is None or version >= hint else 0)
    last = max((*entries, *checkpoints))
    asked = last if version is None else version
    if not 0 <= asked <= last:
        raise InvalidArgument(
            f"there is no version {asked:,} of the table; the last is {last:,}", path=place.root
        )
    base = max((one for one in checkpoints if one <= asked), default=-1)
    needed = range(base + 1, asked + 1)
    missing = [one for one in needed if one not in entries]
    if not missing:
        return Segment(
            version=asked,
            checkpoint=checkpoints.get(base, ()),
            checkpoint_version=base,
            entries=tuple(needed),
        )
    if hint and version is None:
        return _segment_without_hint(place)
    if base < 0 and asked < min(entries, default=last):
        first = min((*entries, *checkpoints))
        raise InvalidArgument(
            f"version {asked:,} of the table cannot be read any more: its log begins later",
            path=place.root,
            remedy=f"Ask for a version from about {first:,} to {last:,}.",
        )
    raise TableProblem(
        f"the log lacks {entry_name(missing[0])}, which version {asked:,} is made of",
        path=place.root,
        remedy="Restore the file, or read a version before it.",
    )


def _segment_without_hint(place: TablePlace) -> Segment:
    entries, checkpoints = _found(place, 0)
    return segment_of(place, max((*entries, *checkpoints)))


def _found(place: TablePlace, start: int) -> tuple[frozenset[int], dict[int, tuple[str, ...]]]:
    """Return the versions that have entries, and the checkpoints that are complete.

    Args:
        place: Of the table.
        start: Leave out what is before this version.
    """
    try:
        files = place.list_log(f"{start:0{_DIGITS}}")
    except FileNotFoundError:
        files = []
    entries, checkpoints = _sorted_out(files)
    if not entries and not checkpoints:
        if start:
            return _found(place, 0)
        raise InvalidArgument(
            "there is no table of Delta: no log with an entry",
            path=place.root,
            remedy="Name the folder that has _delta_log.",
        )
    return entries, checkpoints


def _sorted_out(files: list[LogFile]) -> tuple[frozenset[int], dict[int, tuple[str, ...]]]:
    entries: set[int] = set()
    whole: dict[int, tuple[str, ...]] = {}
    parts: defaultdict[tuple[int, int], dict[int, str]] = defaultdict(dict)
    for file in files:
        match = _NAME.fullmatch(file.name)
        if match is None:
            continue
        version = int(match["version"])
        if match["entry"]:
            entries.add(version)
        elif match["parts"]:
            parts[version, int(match["parts"])][int(match["part"])] = file.name
        elif file.size:
            whole.setdefault(version, (file.name,))
    for (version, count), names in parts.items():
        if set(names) == set(range(1, count + 1)):
            whole.setdefault(version, tuple(names[part] for part in sorted(names)))
    return frozenset(entries), whole


def _hint(place: TablePlace) -> int:
    """Return the version of a late checkpoint; 0 if none is known."""
    with suppress(FileNotFoundError, ValueError, TypeError, KeyError):
        found = int(json.loads(place.read_log(LAST_CHECKPOINT))["version"])
        return max(found, 0)
    return 0
