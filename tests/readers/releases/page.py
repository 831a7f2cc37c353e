"""The section of docs/compatibility.md on engines that lose rows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from parquet_bloomwriter.filters.hazards import HAZARDS, Reading
from tests.readers.releases.cases import PLACEMENTS, TYPES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.readers.releases.judging import Outcome

PAGE = Path(__file__).resolve().parents[3] / "docs" / "compatibility.md"
_SECTION = re.compile(r"## Engines that lose rows\n.*?(?=\n## )", re.DOTALL)
_RELEASES = re.compile(r"^\| release \|.*?(?=\n\n)", re.MULTILINE | re.DOTALL)
_NAMES = {
    "duckdb": "DuckDB",
    "datafusion": "DataFusion",
    "clickhouse": "ClickHouse",
    "polars": "Polars",
}

_TEXT = """\
## Engines that lose rows

Some engines lose rows of files whose filters are right. This is what is known
(`parquet_bloomwriter/filters/hazards.py`). `bloomify` and `advise` mention what depends on the file
alone. [`bloomify check-engine FILE`](how-to/engines.md) asks an engine for values that are there.
An engine reads by a schema of wider types if a table declares a column of INT32 as BIGINT, and by a
schema without nulls if it declares a nullable column as not nullable.

{hazards}

`make test-engines` asks old and new releases about {types} types of values, with and without
filters, by `=`, by `IN` and by a subquery, for values that are there and values that are not. The
columns of the placements count the answers that differ; behind `+` are those about a file that was
read by a schema without nulls or of wider types. No answer differed for a reason that is not in the
table above.

{releases}

{advice}
"""

_ADVICE = """\
Which placement to choose: `column-chunk`, the default, is the one that no tried release gets wrong
by itself. What goes wrong with it goes wrong with all three, because it depends on the type of the
column or on the declared schema.

- Files that ClickHouse 26.1 to 26.3 reads: `column-chunk`. With `row-group` and `end`, these
  versions lose rows where filters are small, a few KiB each.
- Files that others read while they are rewritten, and files in which another program has built
  an index that is found by an absolute offset: `end`, which moves no byte.
- Files on stores: `end`, the default there, unless ClickHouse 26.1 to 26.3 reads them.
- No engine needs `row-group`.
"""


def hazards_table() -> str:
    """Return the table of all hazards."""
    rows = [
        (
            one.name,
            one.columns,
            "always" if one.reading is Reading.OWN else f"if read by {one.reading.value}",
            ", ".join(f"[{_short(address)}]({address})" for address in one.threads) or "-",
            one.seen.value,
        )
        for one in HAZARDS
    ]
    return _table(("engine", "loses rows of", "when", "threads", "seen"), rows)


def _short(address: str) -> str:
    owner, number = address.removeprefix("https://github.com/").split("/", 1)
    return f"{owner}#{number.rsplit('/', 1)[-1]}"


def table_of(outcomes: Iterable[Outcome], old: Iterable[tuple[str, ...]] = ()) -> str:
    """Return the table of releases, with the differences by placement; old rows stay."""
    headings = ("release", "answers compared", *PLACEMENTS, "not in the table above")
    rows = {row[0]: row for row in (*old, *map(_row, outcomes))}
    return _table(headings, sorted(rows.values(), key=_place))


def _place(row: tuple[str, ...]) -> tuple[object, ...]:
    engine, version = row[0].split()
    return [*_NAMES.values()].index(engine), *map(int, re.findall(r"\d+", version))


def _row(outcome: Outcome) -> tuple[str, ...]:
    cells = []
    for placement in PLACEMENTS:
        own = outcome.known[placement, Reading.OWN]
        declared = sum(outcome.known[placement, one] for one in Reading) - own
        cells.append(f"{own:,}" + (f" + {declared:,}" if declared else ""))
    release = f"{_NAMES[outcome.engine]} {outcome.version}"
    return release, f"{outcome.num_compared:,}", *cells, f"{len(outcome.unknown):,}"


def rewritten(old: str, outcomes: Sequence[Outcome] = ()) -> str:
    """Return the page with the section written anew.

    Args:
        old: The page.
        outcomes: The outcome of each release that was asked.
    """
    found = _RELEASES.search(old)
    lines = found[0].splitlines()[2:] if found else []
    rows = [tuple(line.strip("| ").split(" | ")) for line in lines]
    releases = table_of(outcomes, rows)
    section = _TEXT.format(
        hazards=hazards_table(), types=len(TYPES), releases=releases, advice=_ADVICE.strip()
    )
    return _SECTION.sub(lambda _: section, old)


def section_of(page: str) -> str:
    """Return the section as it stands in a page."""
    found = _SECTION.search(page)
    return found[0] if found else ""


def _table(headings: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = (headings, ("---",) * len(headings), *rows)
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
