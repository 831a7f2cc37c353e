"""Somebody else changes the file while the command works on it, before each of its steps.

The command is stopped before a step, the file is changed, and the command goes on. Whatever was
done to the file must be there in the end, and the command must say that it gave way; unless it had
been done before the file was opened, or after the new version had come into its place.

There is no gap between the last look at the old file and its replacement: what was replaced is
looked at once more, see `parquet_bloomwriter.replace.commit`. Only who writes just then, and sets
the time back, is not seen.
"""

from __future__ import annotations

import functools
import itertools
import os
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from campaigns.races.commands import Job
from campaigns.races.files import COLUMNS, names_in, sample, with_filters
from parquet_bloomwriter import strip
from parquet_bloomwriter.errors import BloomwriterError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from campaigns.races.commands import Warm
    from campaigns.races.files import Tries

ADD = ("--columns", ",".join(COLUMNS), "--jobs", "1")
THEIRS = b"theirs"
LOST = "lost"

VERBS = {
    "add": ("a.parquet", *ADD),
    "backup": ("a.parquet", *ADD, "--backup", ".old"),
    "elsewhere": ("a.parquet", *ADD, "-o", "new.parquet"),
    "strip": ("strip", "a.parquet", "--jobs", "1"),
}

CHANGED, REFUSED_TO_READ = 5, (2, 4, 6)
FINISHED = (0, 1)
"""1: finished, but the bytes that others wrote cannot all be read."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Where the command stands still."""

    number: int
    """Of the step that comes next, from 1."""

    step: str
    """Its name."""


@dataclass(kw_only=True)
class Scene:
    """A folder with a file in it, and what was done to the file."""

    folder: Path
    done: Callable[[Path], None]
    """What is done to the file."""

    before: bytes = b""
    """The file's bytes before it was changed."""

    after: bytes | None = b""
    """Its bytes afterwards; None if the name is gone."""

    names: list[str] = field(default_factory=list)
    """What lay in the folder afterwards; nothing if it was not done."""

    @property
    def path(self) -> Path:
        """The file that the command works on."""
        return self.folder / "table" / "a.parquet"

    def change(self) -> None:
        """Do it, and note what was there before and afterwards."""
        self.before = self.path.read_bytes()
        self.done(self.path)
        self.after = self.path.read_bytes() if self.path.is_file() else None
        self.names = names_in(self.folder)


def _truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(THEIRS)


def _overwrite(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(THEIRS)


def _overwrite_unseen(path: Path) -> None:
    found = path.stat()
    _overwrite(path)
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


def _replace(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(sample(1).plain)
    other.replace(path)


def _swap_for_link(path: Path) -> None:
    other = path.with_name("other.parquet")
    other.write_bytes(sample(1).plain)
    path.unlink()
    path.symlink_to(other)


def _swap_for_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DONE: dict[str, Callable[[Path], None]] = {
    "truncate": _truncate,
    "empty": lambda path: os.truncate(path, 0),
    "append": _append,
    "overwrite": _overwrite,
    "overwrite-and-set-time": _overwrite_unseen,
    "replace": _replace,
    "swap-for-link": _swap_for_link,
    "swap-for-folder": _swap_for_folder,
    "remove": lambda path: path.unlink(),
    "rename": lambda path: os.rename(path, path.with_name("away.parquet")),  # noqa: PTH104
    "rename-folder": lambda path: os.rename(path.parent, path.parents[1] / "away"),  # noqa: PTH104
    "chmod": lambda path: path.chmod(0o600),
    "link": lambda path: path.with_name("second.parquet").hardlink_to(path),
}


@functools.cache
def steps_of(warm: Warm, scratch: Path, verb: str) -> list[str]:
    """The names of a command's steps; how many there are depends on the depth of the folder."""
    folder, notes = _set(scratch / f"steps-{verb}", verb), scratch / "notes"
    warm.run(*VERBS[verb], folder=str(folder), notes=str(notes)).expect(0)
    found = notes.read_text().split()
    notes.unlink()
    shutil.rmtree(folder.parent)
    return found


def tries(warm: Warm, scratch: Path, verb: str, done: str) -> Tries:
    """One try for each step of a command."""
    return {
        f"meddling/{done}/{verb}/{stop.number}": functools.partial(_attempt, warm, verb, done, stop)
        for stop in map(Stop, itertools.count(1), steps_of(warm, scratch, verb))
    }


def _set(folder: Path, verb: str) -> Path:
    """Make the folder that the command is run in."""
    table = folder / "table"
    table.mkdir(parents=True)
    path = table / "a.parquet"
    path.write_bytes(_original(verb))
    path.chmod(0o644)
    return table


def _original(verb: str) -> bytes:
    return sample().bloomed if verb == "strip" else sample().plain


def _attempt(warm: Warm, verb: str, done: str, stop: Stop, folder: Path) -> str:
    scene = Scene(folder=folder, done=DONE[done])
    job = Job(arguments=list(VERBS[verb]), folder=str(_set(folder, verb)), stop_at=stop.number)
    (ended,) = warm.run_all([job], at_stop=scene.change)
    if not scene.names:  # how often folders are listed depends on the clock
        ended.expect(0)
        return "change too early or too late"
    known = {*FINISHED, CHANGED, *REFUSED_TO_READ}
    assert ended.code in known, f"exit code {ended.code}: {ended.err}"
    finished = ended.code in FINISHED
    _check_nothing_else(scene, verb, finished=finished)
    outcome = _outcome(scene, verb, finished=finished)
    is_hidden = (done, stop.step) == ("overwrite-and-set-time", "exchange")
    assert outcome != LOST or is_hidden, f"lost before step {stop.number}, {stop.step}"
    return outcome


def _outcome(scene: Scene, verb: str, *, finished: bool) -> str:
    """Say who gave way."""
    now = scene.path.read_bytes() if scene.path.is_file() else None
    if now == scene.after:
        if not finished:
            return "command gave way"
        was_early = scene.after is not None and _worked_on(scene.after, verb) == scene.after
        is_only_seen = scene.before == scene.after or verb == "elsewhere" or scene.after is None
        was_late = scene.before != _original(verb)
        assert was_early or is_only_seen or was_late, "the command believes that it is done"
        return "change too early or too late"
    assert finished, "the file is neither as they left it nor new"
    if scene.after is not None and now == _worked_on(scene.after, verb):
        return "changed file rewritten"
    backup = scene.path.with_name("a.parquet.old")
    is_kept = backup.exists() and backup.read_bytes() == scene.after
    return "kept as the backup" if is_kept else LOST


@functools.cache
def _worked_on(data: bytes, verb: str) -> bytes | None:
    """What the command makes of their version; None if it cannot be worked on."""
    try:
        return (strip(data).data or data) if verb == "strip" else with_filters(data)
    except BloomwriterError:
        return None


def _check_nothing_else(scene: Scene, verb: str, *, finished: bool) -> None:
    """Check that no temporary file is left, nor a version that was thrown away."""
    here = [name for name in names_in(scene.folder) if ".bloomify-" in name]
    # A folder that goes away takes our temporary file along; the next run there removes it.
    assert scene.done is DONE["rename-folder"] or not here, f"left behind: {here}"
    added = set(names_in(scene.folder)) - set(scene.names) - set(here)
    wanted = {"backup": ".old", "elsewhere": "/new.parquet"}.get(verb)
    allowed = {name for name in added if finished and wanted and name.endswith(wanted)}
    if finished and scene.after is None:  # whether it came too late is seen elsewhere
        allowed.add("table/a.parquet")
    assert added <= allowed, f"new in the folder: {added}"
