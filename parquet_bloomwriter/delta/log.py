"""Find the files of the log that make up a version of a table: a checkpoint and entries.

A version is the newest complete checkpoint at or below it, and the entries from there on:

    00000000000000000010.json                                entry of version 10
    00000000000000000010.checkpoint.parquet                  classic checkpoint
    00000000000000000010.checkpoint.0000000001.0000000003.parquet    part 1 of 3
    00000000000000000010.checkpoint.UUID.json (or .parquet)  V2 checkpoint, may name sidecars
    00000000000000000008.00000000000000000010.compacted.json log compaction: not needed, not read
    _last_checkpoint                                         a hint where to begin; may be wrong

Source: Delta protocol, "Delta Log Entries", "Checkpoints", "Last Checkpoint File".
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import pairwise
from operator import index
from typing import TYPE_CHECKING, SupportsIndex

from parquet_bloomwriter.errors import InvalidArgument, TableProblem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from parquet_bloomwriter.delta.place import LogFile, TablePlace

LAST_CHECKPOINT = "_last_checkpoint"

_NAME = re.compile(
    r"""(?P<version>\d{20})\.
    (?: json$
      | (?P<classic>checkpoint\.parquet$)
      | checkpoint\.(?P<part>\d{10})\.(?P<parts>\d{10})\.parquet$
      | (?P<unique>checkpoint\.[^.]+\.(?:json|parquet)$)
    )""",
    re.VERBOSE,
)


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A checkpoint: the state of the table at a version."""

    version: int
    names: tuple[str, ...]
    """Names of its files in the log; several for a checkpoint in parts."""


@dataclass(frozen=True, kw_only=True)
class Segment:
    """The files of the log that make up a version: a checkpoint, and entries after it."""

    version: int
    checkpoint: Checkpoint | None
    """The first checkpoint to read; None if there is no checkpoint, so that entry 0 is the
    first."""

    entries: range
    """Versions of the entries to apply to the checkpoint, in order."""

    has_entry: bool
    """Whether the version has an entry; a clean-up may have left only the checkpoint."""


def entry_name(version: int) -> str:
    """Return the name of a version's entry."""
    return f"{version:020}.json"


def version_of(name: str) -> int | None:
    """Return the version of an entry or of a checkpoint; None for other files of the log."""
    match = _NAME.match(name)
    return None if match is None else int(match["version"])


def find_segment(place: TablePlace, version: int | None = None) -> Segment:
    """Find the checkpoint and the entries from which a version is read.

    Args:
        place: The place of the table.
        version: The version; None for the last one.

    Raises:
        InvalidArgument: If there is no table, or no such version of it (any more).
        TableProblem: If an entry is missing.
        StoreProblem, OSError: If the log cannot be listed.
    """
    if version is not None and not (isinstance(version, SupportsIndex) and index(version) >= 0):
        raise InvalidArgument(f"a version is a number, 0 or more, not {version!r:.80}")
    try:
        return _list(place, version).segment(version, place.root)
    except InvalidArgument:
        # The message lists all versions that can be read, so it needs the whole log.
        return _list(place, 0).segment(version, place.root)


def last_version(place: TablePlace) -> int:
    """Return the number of the last version of a table.

    Raises:
        InvalidArgument: If there is no table.
        StoreProblem, OSError: If the log cannot be listed.
    """
    return _list(place, None).last(place.root)


def _list(place: TablePlace, version: int | None) -> _Listing:
    """List the files that a version may need: from the last checkpoint on, or the whole log."""
    hint = _hint(place)
    try:
        if hint is not None and (version is None or hint <= version):
            found = _Listing(place.list_log(f"{hint:020}"))
            if hint in found.checkpoints:
                return found
        return _Listing(place.list_log())
    except (FileNotFoundError, NotADirectoryError):
        raise InvalidArgument(
            "there is no Delta table here",
            path=place.root,
            remedy="Name the folder that has the table's _delta_log. A plain file is for bloomify, "
            "strip and inspect; for_each_file applies them to the files of a plain folder.",
        ) from None


def _hint(place: TablePlace) -> int | None:
    """Return the version of the last checkpoint by `_last_checkpoint`, which may be wrong."""
    try:
        noted = json.loads(place.read_log(LAST_CHECKPOINT))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    version = noted.get("version") if isinstance(noted, dict) else None
    return version if isinstance(version, int) and version >= 0 else None


class _Listing:
    """The files of a log, sorted into entries and checkpoints."""

    def __init__(self, files: Iterable[LogFile]) -> None:
        self.entries: set[int] = set()
        self.checkpoints: dict[int, Checkpoint] = {}
        parts: dict[tuple[int, int], dict[int, str]] = {}
        for file in files:
            match = _NAME.match(file.name)
            if match is None:
                continue
            version = int(match["version"])
            if match["parts"] is not None:
                parts.setdefault((version, int(match["parts"])), {})[int(match["part"])] = file.name
            elif match["classic"] is None and match["unique"] is None:
                self.entries.add(version)
            elif file.size:
                self.checkpoints[version] = Checkpoint(version=version, names=(file.name,))
        for (version, num_parts), names in parts.items():
            if names.keys() == set(range(1, num_parts + 1)) and version not in self.checkpoints:
                ordered = tuple(names[part] for part in sorted(names))
                self.checkpoints[version] = Checkpoint(version=version, names=ordered)

    def last(self, root: str) -> int:
        """Return the number of the last version."""
        found = max((*self.entries, *self.checkpoints), default=None)
        if found is None:
            raise InvalidArgument(
                "there is no Delta table here: its log has no entry",
                path=root,
                remedy="Name the folder that has the table's _delta_log.",
            )
        return found

    def segment(self, version: int | None, root: str) -> Segment:
        """Return the checkpoint and the entries from which a version is read."""
        last = self.last(root)
        if version is None:
            version = last
        elif version > last or (version not in self.entries and version not in self.checkpoints):
            raise self._not_readable(version, last, root)
        before = [one for one in self.checkpoints if one <= version]
        checkpoint = self.checkpoints[max(before)] if before else None
        first = 0 if checkpoint is None else checkpoint.version + 1
        entries = range(first, version + 1)
        missing = next((entry for entry in entries if entry not in self.entries), None)
        if missing is not None:
            if checkpoint is None and not any(entry < missing for entry in self.entries):
                raise self._not_readable(version, last, root)
            raise TableProblem(
                f"the log lacks the entry of version {missing}, which is needed for "
                f"version {version}",
                path=root,
                remedy="Restore the entry from a backup; no reader can know what it changed.",
            )
        return Segment(
            version=version,
            checkpoint=checkpoint,
            entries=entries,
            has_entry=version in self.entries,
        )

    def _not_readable(self, version: int, last: int, root: str) -> InvalidArgument | TableProblem:
        readable = self._readable()
        if not readable:
            return TableProblem(
                f"the log begins with version {min(self.entries)}, and has no complete checkpoint",
                path=root,
                remedy="Restore the entries before it, or a checkpoint, from a backup.",
            )
        spans = [
            f"{first}" if first == stop else f"{first} to {stop}" for first, stop in _runs(readable)
        ]
        what = "is not there" if version > last else "cannot be read any more"
        return InvalidArgument(
            f"version {version} of the table {what}",
            path=root,
            remedy=f"Versions that can be read: {', '.join(spans)}.",
        )

    def _readable(self) -> list[int]:
        found = []
        is_readable = False
        previous = -1
        for version in sorted(self.entries | self.checkpoints.keys()):
            follows = version == previous + 1 and (is_readable or version == 0)
            is_readable = version in self.checkpoints or (follows and version in self.entries)
            previous = version
            if is_readable:
                found.append(version)
        return found


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Return first and last of each run of consecutive numbers, which are in order."""
    breaks = [(a, b) for a, b in pairwise(numbers) if b != a + 1]
    firsts = [numbers[0], *(b for _, b in breaks)]
    lasts = [*(a for a, _ in breaks), numbers[-1]]
    return list(zip(firsts, lasts, strict=True))
