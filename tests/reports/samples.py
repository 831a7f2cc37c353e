"""Reports to lay out: made up, so that every figure is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloomwriter.reports.inspection import (
    ColumnFilters,
    FileFilters,
    FilterFacts,
    FilterPlace,
    InspectReport,
    RowGroupSpan,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

HEADER = 19
"""Bytes of a filter that are not its bitset."""

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "'><svg onload=alert(3)>",
    "</title></style></table><iframe src=http://example.org/>",
    "&lt;b&gt; &amp;",
    "\u202egnp.exe",
    "nul\x00 bell\x07 line\nend",
    "{{7*7}} ${7*7} ]]> --> <!--",
    "",
)
"""Names that a careless page would obey, hide or lose."""


def facts(row_group: int, column: str = "id", **changes: object) -> FilterFacts:
    """Return a sound filter of 1,024 bytes, apart from what is to be different."""
    known: dict[str, object] = {
        "row_group": row_group,
        "ordinal": 0,
        "column": column,
        "num_values": 1_000,
        "offset": 4 + 10_000 * row_group,
        "length": 1_024 + HEADER,
        "num_bytes": 1_024,
        "place": FilterPlace.COLUMN_CHUNK,
        "ndv": 800.0,
        "fill": 0.42,
        "fpp": 0.01,
        "problem": None,
    }
    return FilterFacts(**{**known, **changes})  # type: ignore[arg-type]  # facts are checked by name


def column(name: str, filters: Iterable[FilterFacts], *, ordinal: int = 0) -> ColumnFilters:
    """Return a column of 64-bit integers."""
    known = tuple(filters)
    return ColumnFilters(
        name=name,
        ordinal=ordinal,
        physical_type="INT64",
        type="INT64",
        num_row_groups=len(known),
        num_compressed_bytes=100_000,
        filters=known,
    )


def file(
    columns: Iterable[ColumnFilters],
    *,
    num_row_groups: int,
    path: str | None = "events.parquet",
    created_by: str = "parquet-cpp-arrow version 26.0.0",
) -> FileFilters:
    """Return a file of 1 MB per row group."""
    return FileFilters(
        path=path,
        size=1_000_000 * num_row_groups,
        num_rows=1_000 * num_row_groups,
        num_row_groups=num_row_groups,
        created_by=created_by,
        row_groups=tuple(
            RowGroupSpan(start=at, stop=at + 990_000, num_bytes=980_000, num_rows=1_000)
            for at in range(4, 1_000_000 * num_row_groups, 1_000_000)
        ),
        footer_start=max(1_000_000 * num_row_groups - 5_000, 4),
        columns=tuple(columns),
    )


def varied(row_group: int, ordinal: int, name: str, *, seed: int = 0) -> FilterFacts:
    """Return a filter whose figures depend on where it stands; some are odd, some are wrong."""
    spread = ((row_group + seed) * 37 + ordinal * 11) % 16
    num_bytes = 64 << (ordinal % 12 + (spread > 11))
    problem = (
        "all bits are zero, but there are values" if spread == 5 and ordinal % 5 == 3 else None
    )
    return facts(
        row_group,
        name,
        ordinal=ordinal,
        length=num_bytes + HEADER,
        num_bytes=num_bytes,
        ndv=num_bytes / (1.1 + spread / 20),
        fill=0.0 if problem else 0.3 + spread / 50,
        fpp=0.0 if problem else 10.0 ** -(1 + ordinal % 4) * (0.5 + spread / 10),
        problem=problem,
        oddities=("there is no bloom_filter_length",) if ordinal % 7 == 6 else (),
    )


def matrix(*, num_columns: int, num_row_groups: int, num_files: int = 1) -> InspectReport:
    """Return files in which every column has filters, apart from a few row groups."""
    names = [
        f"payload.attribute_{ordinal}" if ordinal % 3 else f"id_{ordinal}"
        for ordinal in range(num_columns)
    ]
    files = [
        file(
            [
                column(
                    name,
                    [
                        varied(row_group, ordinal, name, seed=number)
                        for row_group in range(num_row_groups)
                        if num_row_groups == 1 or (row_group + 3 * ordinal) % 23
                    ],
                    ordinal=ordinal,
                )
                for ordinal, name in enumerate(names)
            ],
            num_row_groups=num_row_groups,
            path=f"/data/events/part-{number:05d}.parquet",
        )
        for number in range(num_files)
    ]
    return InspectReport(files=tuple(files))
