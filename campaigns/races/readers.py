"""Which readers notice that a file is replaced while they read it, and how often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from campaigns.harness import Result
from campaigns.races.replacing import opens, race, race_at_end

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from campaigns.races.commands import Warm
from campaigns.races.replacing import Seen

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
class Readers:
    """Readers that read at the same time, each in a process of its own."""

    names: tuple[str, ...]
    is_still: bool
    """Whether files get filters at their end, so that no data move."""


SETS = {
    **{
        f"moving-{n}": Readers(names=one, is_still=False) for n, one in enumerate((*ENGINES, *OURS))
    },
    **{f"still-{n}": Readers(names=one, is_still=True) for n, one in enumerate(STILL)},
}


def watch(
    name: str, warm: Warm, folder: Path, readers: Readers, replacements: int
) -> Iterator[Result]:
    """Replace files under readers; a result for each of them."""
    seen = (race_at_end if readers.is_still else race)(warm, folder, readers.names, replacements)
    for one in seen:
        if readers.is_still:
            yield _result(name, f"read while filters are added at the end: {one.reader}", one)
            continue
        times = {}
        if one.reader not in SAFE and one.reader != "spark":
            (folder / "opens").mkdir(exist_ok=True)
            times = {"times opened for an answer": opens(one.reader, folder / "opens")}
        yield _result(name, f"read during replacements: {one.reader}", one, times)


def _result(name: str, line: str, seen: Seen, times: dict[str, int] | None = None) -> Result:
    is_judged = seen.reader not in BY_SIZE if "at the end" in line else seen.reader in SAFE
    failed = {"errors": seen.failed, "wrong": seen.wrong} if seen.others else {}
    told = tuple(f"{seen.reader}: {what} ({number} times)" for what, number in seen.others.items())
    return Result(
        name=name,
        line=line,
        tried=seen.right + seen.failed + seen.wrong,
        wrong=seen.failed + seen.wrong,
        seen=failed | (times or {}),
        problems=told if is_judged else (),
    )
