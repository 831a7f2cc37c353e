"""Readers ask for the same rows in a loop while the file is replaced again and again.

Filters are put before column chunks, behind row groups, at the end, and taken out: the rows stay
the same, and everything else moves. Whoever opens the path once sees one version or the other, and
must never notice. Whoever opens it twice for one answer (first the footer, then the data) may hold
the footer of one version against the bytes of another: no replacement of files, however atomic, can
help that.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from campaigns.races import answers
from campaigns.races.commands import PATIENCE_SECONDS, ROOT, Job
from campaigns.races.files import COLUMNS, PLACEMENTS, sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from campaigns.races.commands import Warm

ROWS = 50_000
KEPT = 50
"""Files that stay for slow readers, where every replacement is of a new one."""

PAUSE_SECONDS = 0.02
"""Between two replacements: longer than the clock of a file system takes to move."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What one reader saw."""

    reader: str
    right: int
    """Rounds of three questions with right answers."""

    others: dict[str, int]
    """Errors and wrong answers, and how often."""

    @property
    def failed(self) -> int:
        """Rounds with an error."""
        return sum(number for what, number in self.others.items() if not what.startswith("wrong"))

    @property
    def wrong(self) -> int:
        """Rounds with a wrong answer."""
        return sum(self.others.values()) - self.failed


def race(warm: Warm, folder: Path, readers: Sequence[str], replacements: int) -> list[Seen]:
    """Replace a file while readers read it.

    Raises:
        AssertionError: If a replacement fails.
    """
    path = answers.current(folder)
    path.parent.mkdir(parents=True)
    path.write_bytes(sample(0, ROWS).plain)
    jobs = itertools.cycle(_jobs(path))

    def replace(_: int) -> None:
        warm.run_all([next(jobs)])[0].expect(0)

    return _race(folder, readers, replace, replacements)


def race_at_end(warm: Warm, folder: Path, readers: Sequence[str], replacements: int) -> list[Seen]:
    """Add filters at the end of one file after the other, while readers read it: no data move.

    Raises:
        AssertionError: If a replacement fails.
    """
    table = folder / "table"
    table.mkdir(parents=True)

    def begin(number: int) -> None:
        (table / f"{number}.parquet").write_bytes(sample(0, ROWS).plain)
        (folder / "next").write_text(str(number))
        (folder / "next").replace(folder / "number")

    def replace(number: int) -> None:
        begin(number)
        time.sleep(PAUSE_SECONDS)
        warm.run(*_added(table / f"{number}.parquet", "end")).expect(0)
        (table / f"{number - KEPT}.parquet").unlink(missing_ok=True)

    begin(0)
    return _race(folder, readers, replace, replacements)


def opens(reader: str, folder: Path) -> int:
    """How often a reader opens the file for one answer, as the kernel sees it."""
    path, trace = folder / "a.parquet", folder / "trace"
    path.write_bytes(sample(0, ROWS).bloomed)
    ask = "import sys\nfrom campaigns.races import answers\n"
    ask += "ask = answers.reader(sys.argv[1])\nask(sys.argv[2])\nask(sys.argv[2])"
    subprocess.run(
        [
            *("strace", "-f", "-qq", "-e", "trace=open,openat,openat2", "-o", str(trace)),
            *(sys.executable, "-W", "ignore", "-c", ask, reader, str(path)),
        ],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    return trace.read_text(errors="replace").count(path.name) // 2


def _race(
    folder: Path, readers: Sequence[str], replace: Callable[[int], None], replacements: int
) -> list[Seen]:
    with contextlib.ExitStack() as stack:
        asking = [stack.enter_context(_asking(name, folder)) for name in readers]
        for name, process in zip(readers, asking, strict=True):  # who has answered once goes on
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n", f"{name} cannot read the file"
        for number in range(1, replacements + 1):
            replace(number)
            time.sleep(PAUSE_SECONDS)
        return [_seen(name, process) for name, process in zip(readers, asking, strict=True)]


def _jobs(path: Path) -> list[Job]:
    adding = [Job(arguments=[*_added(path, place), "--replace"]) for place in PLACEMENTS]
    return [*adding, Job(arguments=["strip", str(path)])]


def _added(path: Path, place: str) -> list[str]:
    columns = ("--columns", ",".join(COLUMNS))
    return [str(path), *columns, "--jobs", "1", "--placement", place]


@contextlib.contextmanager
def _asking(name: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [
            *(sys.executable, "-W", "ignore", "-m", "campaigns.races.reading"),
            *(name, str(folder), str(ROWS)),
        ],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _seen(name: str, process: subprocess.Popen[str]) -> Seen:
    out, _ = process.communicate(timeout=PATIENCE_SECONDS)
    found = json.loads(out)
    return Seen(reader=name, right=found["right"], others=found["others"])
