"""Try every verb on a mutated footer, and judge what each one made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import parquet_bloomwriter as pb
from campaigns.harness import Result, ignore
from campaigns.hostile import holding
from campaigns.hostile.footers import mutant
from campaigns.hostile.limits import ALLOWED_BYTES, Meter, Use
from campaigns.hostile.verbs import OK, choice_of, is_foreign, is_written, run, try_verbs
from parquet_bloomwriter.reports.verification import CheckStatus

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from campaigns.hostile.footers import Mutant
    from campaigns.hostile.verbs import Choice, Tried

DECODED_EVERY = 8
"""Of so many rewritten, two have both footers decoded by Thrift's own classes."""

ON_DISK_EVERY = 100
"""Of so many, two are rewritten on disk."""

KEPT_EVERY = 40
"""Of so many rewritten, two are read by other readers, too."""

_WARM = 200
"""Tries before the first, not judged, so that everything is loaded and pools are filled."""


class Verbs:
    """Tries one mutant after the other."""

    def __init__(self, folder: Path) -> None:
        """Load what tries load, and measure from then on."""
        self._folder = folder
        self._meter = Meter()
        for number in range(-_WARM, 0):
            self.attempt("", number, ignore)

    def attempt(self, name: str, number: int, show: Callable[[str], None]) -> Result:
        """Try one mutant: how each verb ended, and what is wrong."""
        made = mutant(number)
        choice = choice_of(number, made.base)
        show(f"{made.base.name}, {made.how}; {choice}")
        with self._meter.measured() as use:
            tried = try_verbs(made.data, choice)
        tried.problems += _excess(use, made)
        is_rewritten = is_written(tried)
        if is_rewritten:
            _hold(made, tried, choice)
        if number % ON_DISK_EVERY < 2:
            _on_disk(made, tried, choice, self._folder)
        seen = {f"{verb} {how}": 1 for verb, how in tried.outcomes.items()}
        return Result(
            name=name,
            seen={**seen, "rewritten": int(is_rewritten)},
            problems=tuple(f"{made.base.name}, {made.how}: {one}" for one in tried.problems),
        )


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
        faults += () if is_foreign(choice) else holding.faults_of_filters(new, report)
    tried.problems += [f"bloomify, {choice.options['placement']}: {fault}" for fault in faults]
    if choice.extra == "verify of new" and not is_foreign(choice):
        run(tried, choice.extra, lambda: _verify(new, choice, tried))


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
    expected = tried.reports["bloomify"].data if is_written(tried) else made.data
    if path.read_bytes() != expected:
        tried.problems.append(f"on disk: {tried.outcomes['on disk']}, but not the expected bytes")
    if [entry.name for entry in place.iterdir()] != [path.name]:
        tried.problems.append(f"on disk: the folder holds {sorted(place.iterdir())}")
    if tried.outcomes["on disk"] != tried.outcomes["bloomify"]:
        tried.problems.append(f"on disk: {tried.outcomes['on disk']}, in memory otherwise")
    path.unlink()
    place.rmdir()
