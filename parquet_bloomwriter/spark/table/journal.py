"""The journal of the files that runs of `bloomify_table` wrote to an output.

    <output>/_bloomify/<digits>.jsonl    one line for each file, appended when it was written

A line counts if the options are the same, and both the file that was read and the file that was
written have the size and the time of modification in the line. For a line that is torn or lost, the
file is written again.
"""

# ruff: noqa: PTH116, PTH207, PTH208  paths are strings throughout
from __future__ import annotations

import glob
import hashlib
import json
import os
import uuid
from dataclasses import dataclass, field
from pathlib import Path

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.source.local import open_local

FOLDER = "_bloomify"
"""Name of the journal's folder; the underscore hides it from readers of datasets."""

_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT
_APPEND |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the journal: one file that was written."""

    name: str
    """Path of the file, relative to the roots of the table and the output."""

    asked: str
    """Digest of the options."""

    source: tuple[int, int]
    """Size in bytes and time of modification in nanoseconds of the file that was read."""

    written: tuple[int, int]
    """Size and time of modification of the file that was written, in the same units."""


@dataclass(frozen=True, slots=True)
class Journal:
    """The journal of one output."""

    output: str
    """Absolute path of the folder."""

    file: str = field(default_factory=lambda: f"{uuid.uuid4().hex}.jsonl")
    """Name of the journal's file that this task appends to."""

    def begin(self) -> None:
        """Create the output, or accept the output of an earlier run.

        Raises:
            InvalidArgument: If the output has files and no journal.
        """
        if os.path.lexists(self.output):
            is_folder = Path(self.output).is_dir()
            if not is_folder or (os.listdir(self.output) and not self._folder.is_dir()):
                raise InvalidArgument(
                    f'"{self.output}" is there already, and was not written by bloomify_table',
                    remedy="Name a new or an empty folder.",
                )
        self._folder.mkdir(parents=True, exist_ok=True)

    def done(self, asked: str) -> set[Line]:
        """Return the lines of all runs with these options.

        Args:
            asked: Digest of the options.
        """
        lines: set[Line] = set()
        for name in sorted(glob.glob("*.jsonl", root_dir=self._folder)):
            for text in _read(self._folder / name).splitlines():
                line = _parsed(text)
                if line is not None and line.asked == asked:
                    lines.add(line)
        return lines

    def append(self, line: Line) -> None:
        """Record that a file was written."""
        text = json.dumps(
            {
                "name": line.name,
                "asked": line.asked,
                "source": line.source,
                "written": line.written,
            }
        )
        fd = os.open(self._folder / self.file, _APPEND, 0o666)
        with os.fdopen(fd, "a", encoding="ascii") as journal:
            journal.write(f"{text}\n")

    @property
    def _folder(self) -> Path:
        return Path(self.output, FOLDER)


def state_of(path: str) -> tuple[int, int]:
    """Return the size in bytes and the time of modification in nanoseconds of a file."""
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns


def digest(options: object) -> str:
    """Return a digest of options, equal for equal options of all versions."""
    name = type(options).__name__
    text = repr(options).replace(f"{name}(", "Wishes(", 1)  # what journals call the options
    for later in (", keep_time=False", ", exclude=()"):  # options that earlier versions do not have
        text = text.replace(later, "")
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _read(path: Path) -> str:
    with open_local(str(path)) as source:
        return source.read_at(0, source.size).decode(errors="replace")


def _parsed(text: str) -> Line | None:
    try:
        found = json.loads(text)
        return Line(
            name=str(found["name"]),
            asked=str(found["asked"]),
            source=_pair(found["source"]),
            written=_pair(found["written"]),
        )
    except (ValueError, KeyError, TypeError):
        return None


def _pair(found: list[int]) -> tuple[int, int]:
    size, modified = found
    return int(size), int(modified)
