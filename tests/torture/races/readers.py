"""Which readers notice that a file is replaced while they read it, and how often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.torture.races.replacing import opens, race, race_at_end
from tests.torture.section import Count

if TYPE_CHECKING:
    from pathlib import Path

    from tests.torture.races.commands import Warm
    from tests.torture.races.replacing import Seen

REPLACEMENTS = 200

ENGINES = (("pyarrow-file", "pyarrow", "duckdb", "datafusion"), ("polars", "chdb", "spark"))
"""Some at a time, each in a process of its own."""

OURS = (("read_table", "read_folder", "iter_batches", "dataset", "probe"),)

STILL = (
    ("pyarrow", "duckdb", "datafusion", "polars", "chdb"),
    ("read_table", "iter_batches", "dataset", "probe"),
)
"""Readers of one file, which may not notice filters that are added at its end."""

BY_SIZE = ("datafusion", "spark")
"""Readers that ask for the size of the file first, and open it later: it changes in any case."""

ONCE = ("pyarrow-file",)
"""Readers that open the path once for an answer: they must not notice."""

SAFE = (*ONCE, *(name for names in OURS for name in names))
"""Readers that must give right answers, whatever is replaced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What the readers saw."""

    counts: tuple[Count, ...]
    problems: tuple[str, ...]


def watch(warm: Warm, folder: Path, replacements: int) -> Watched:
    """Replace files under all readers, first with data that move, then with data that stay."""
    seen = [
        one
        for place, names in enumerate((*ENGINES, *OURS))
        for one in race(warm, folder / f"moving-{place}", names, replacements)
    ]
    still = [
        one
        for place, names in enumerate(STILL)
        for one in race_at_end(warm, folder / f"still-{place}", names, replacements)
    ]
    (folder / "opens").mkdir(parents=True)
    counts = [_count(one, folder / "opens") for one in seen]
    return Watched(
        counts=(*counts, *map(_count_still, still)),
        problems=(
            *_problems([one for one in seen if one.reader in SAFE]),
            *_problems([one for one in still if one.reader not in BY_SIZE]),
        ),
    )


def _count(seen: Seen, folder: Path) -> Count:
    is_engine = seen.reader not in SAFE and seen.reader != "spark"
    times = f"opens the path {opens(seen.reader, folder)} times for an answer" if is_engine else ""
    return _line(f"read during replacements: {seen.reader}", seen, times)


def _count_still(seen: Seen) -> Count:
    return _line(f"read while filters are added at the end: {seen.reader}", seen, "")


def _line(what: str, seen: Seen, remark: str) -> Count:
    remarks = [f"{seen.failed:,} errors, {seen.wrong:,} wrong" if seen.others else "", remark]
    tried = seen.right + seen.failed + seen.wrong
    remark = "; ".join(filter(None, remarks))
    return Count(what=what, tried=tried, survived=seen.right, remark=remark)


def _problems(seen: list[Seen]) -> list[str]:
    return [
        f"{one.reader} during replacements: {what} ({number} times)"
        for one in seen
        for what, number in one.others.items()
    ]
