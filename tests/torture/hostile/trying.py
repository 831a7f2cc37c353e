"""Try mutated footers one after the other, in a process of its own that may crash or hang.

`python -m tests.torture.hostile.trying FOLDER`, as `support.workers` has it: a task's `path` is the
number of a mutant. Of some, the old and the new version stay in FOLDER for other readers.

    python -m tests.torture.hostile.trying . <<< '{"path": "4711"}'
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import parquet_bloomwriter as pb
from parquet_bloomwriter.reports.verification import CheckStatus
from tests.support.workers import tell
from tests.torture.hostile import holding
from tests.torture.hostile.footers import mutant
from tests.torture.hostile.limits import ALLOWED_BYTES, Meter, Use
from tests.torture.hostile.verbs import OK, choice_of, run, try_verbs

if TYPE_CHECKING:
    from tests.support.workers import Task
    from tests.torture.hostile.footers import Mutant
    from tests.torture.hostile.verbs import Choice, Tried

DECODED_EVERY = 8
"""Of so many rewritten, two have both footers decoded by Thrift's own classes."""

ON_DISK_EVERY = 100
"""Of so many, two are rewritten on disk."""

KEPT_EVERY = 40
"""Of so many rewritten, two are kept for other readers."""

_WARM = 200
"""Tries before the first, not judged, so that everything is loaded and pools are filled."""


def attempt(number: int, meter: Meter, folder: Path) -> Task:
    """Try one mutant, and say how each verb ended and what is wrong."""
    made = mutant(number)
    choice = choice_of(number, made.base)
    with meter.measured() as use:
        tried = try_verbs(made.data, choice)
    answer: Task = {"path": str(number), "outcomes": tried.outcomes, "rewritten": False}
    tried.problems += _excess(use, made)
    report = tried.reports.get("bloomify")
    if report is not None and report.written:
        _hold(made, tried, choice)
        answer["rewritten"] = True
        if number % KEPT_EVERY < 2 and holding.decoded(made.data) is not None:
            answer |= _kept(made, tried, choice, folder)
    if number % ON_DISK_EVERY < 2:
        _on_disk(made, tried, choice, folder)
    if tried.problems:
        answer["problems"] = [f"{made.base.name}, {made.how}: {one}" for one in tried.problems]
    return answer


def _excess(use: Use, made: Mutant) -> list[str]:
    allowed = ALLOWED_BYTES + len(made.data)
    return [
        f"{taken >> 20} MiB of {what} for a file of {len(made.data)} bytes"
        for taken, what in ((use.peak_bytes, "memory"), (use.pool_bytes, "pyarrow's pool"))
        if taken > allowed
    ]


def _hold(made: Mutant, tried: Tried, choice: Choice) -> None:
    """See that the new version is right."""
    old, report = made.data, tried.reports["bloomify"]
    new = report.data
    faults = list(holding.faults_of_bytes(old, new, report.pieces))
    if tried.outcomes["strip"] == OK:
        stripped = tried.reports["strip"].data or old
        faults += holding.faults_of_strip(old, stripped, new)
    if made.number % DECODED_EVERY < 2:
        faults += holding.faults_of_footer(old, new, report)
        faults += holding.faults_of_skips(old, report.pieces)
        faults += () if _is_foreign(choice) else holding.faults_of_filters(new, report)
    tried.problems += [f"bloomify, {choice.options['placement']}: {fault}" for fault in faults]
    if choice.extra == "verify of new" and not _is_foreign(choice):
        run(tried, choice.extra, lambda: _verify(new, choice, tried))


def _is_foreign(choice: Choice) -> bool:
    """Whether the filters are of a draft, which the independent reader does not know."""
    return "dialect" in choice.options


def _verify(new: bytes, choice: Choice, tried: Tried) -> None:
    """No filter that was just built may fail its own check."""
    built = {
        (chunk.row_group, column.name)
        for column in tried.reports["bloomify"].columns
        for chunk in column.built
    }
    report = pb.verify(new, choice.columns, absent=50, jobs=1)
    for check in report.checks:
        if check.status is CheckStatus.FAILED and (check.row_group, check.column) in built:
            tried.problems.append(f"verify: a filter just built fails: {check}")


def _on_disk(made: Mutant, tried: Tried, choice: Choice, folder: Path) -> None:
    """Rewrite a file in place: the same bytes as in memory, or nothing changed at all."""
    place = folder / f"on-disk-{made.number}"
    place.mkdir()
    path = place / "file.parquet"
    path.write_bytes(made.data)
    run(tried, "on disk", lambda: pb.bloomify(path, choice.columns, **choice.options))
    report = tried.reports.get("bloomify")
    expected = report.data if report is not None and report.written else made.data
    if path.read_bytes() != expected:
        tried.problems.append(f"on disk: {tried.outcomes['on disk']}, but not the expected bytes")
    if [entry.name for entry in place.iterdir()] != [path.name]:
        tried.problems.append(f"on disk: the folder holds {sorted(place.iterdir())}")
    if tried.outcomes["on disk"] != tried.outcomes["bloomify"]:
        tried.problems.append(f"on disk: {tried.outcomes['on disk']}, in memory otherwise")
    path.unlink()
    place.rmdir()


def _kept(made: Mutant, tried: Tried, choice: Choice, folder: Path) -> Task:
    """Leave both versions for readers, with the chunks that got a filter."""
    report = tried.reports["bloomify"]
    old, new = folder / f"{made.number}-old.parquet", folder / f"{made.number}-new.parquet"
    old.write_bytes(made.data)
    new.write_bytes(report.data)
    built = [
        [chunk.row_group, column.ordinal]
        for column in report.columns
        for chunk in column.built
        if not _is_foreign(choice)
    ]
    return {"old": str(old), "new": str(new), "built": built}


def main() -> None:
    """Work on one task per line of the standard input."""
    folder = Path(sys.argv[1])
    meter = Meter()
    for number in range(-_WARM, 0):
        tell({"begins": str(number)})
        attempt(number, meter, folder)
    for line in sys.stdin:
        number = json.loads(line)["path"]
        tell({"begins": number})
        tell(attempt(int(number), meter, folder))


if __name__ == "__main__":
    main()
