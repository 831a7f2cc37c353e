"""The section of docs/compatibility.md on engines that lose rows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from parquet_bloomwriter.filters.hazards import HAZARDS, Reading
from tests.readers.releases.cases import PLACEMENTS

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

Some engines lose rows of files whose filters are right. `parquet_bloomwriter/filters/hazards.py` lists
what is known, and this table is made of it. `bloomify` and `advise` mention the rows that depend on the
file alone, and `bloomify check-engine FILE` asks an engine for values that are there. "By a schema of
wider types" means that a table declares a wider type than the file has, as when a column of INT32 is
read as BIGINT; "by a schema without nulls", that it declares a nullable column as not nullable.

{hazards}

`make test-engines` asks releases of engines about {types} types of values, with and without nulls, read
by the schema of the file, by a schema without nulls, and by a schema of wider types, for values that
are there and values that are not, by `=`, `IN` and a subquery. Each answer about a file with filters
is compared with the answer about the file without. The columns of the placements count the answers
that are different; behind `+` are those that depend on the declared schema. The run fails if an answer
differs for which no hazard is listed.

{releases}

{advice}
"""

_ADVICE = """\
**Which placement?** TODO
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


def table_of(outcomes: Iterable[Outcome]) -> str:
    """Return the table of releases, with the differences by placement."""
    headings = ("release", "answers compared", *PLACEMENTS, "not in the table above")
    return _table(headings, [_row(one) for one in outcomes])


def _row(outcome: Outcome) -> tuple[str, ...]:
    cells = []
    for placement in PLACEMENTS:
        own = outcome.known[placement, Reading.OWN]
        declared = sum(outcome.known[placement, one] for one in Reading) - own
        cells.append(f"{own:,}" + (f" + {declared:,}" if declared else ""))
    release = f"{_NAMES[outcome.engine]} {outcome.version}"
    return release, f"{outcome.num_compared:,}", *cells, f"{len(outcome.unknown):,}"


def rewritten(old: str, outcomes: Sequence[Outcome] | None = None) -> str:
    """Return the page with the section written anew.

    Args:
        old: The page.
        outcomes: The outcome of each release; None keeps the table of releases.
    """
    from tests.readers.releases.cases import TYPES

    kept = _RELEASES.search(old)
    releases = table_of(outcomes) if outcomes is not None else kept[0] if kept else ""
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
