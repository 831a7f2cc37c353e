"""Engines that lose rows by right filters: which versions, which columns, and who says so."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from parquet_bloomwriter import AddReport, advise, bloomify
from parquet_bloomwriter.filters.hazards import (
    HAZARDS,
    Reading,
    Seen,
    Shape,
    adjacent_columns,
    hazards_of_engine,
)
from parquet_bloomwriter.source.open import opened_with_footer
from tests.readers.releases.page import PAGE, rewritten
from tests.verbs.files import written

if TYPE_CHECKING:
    from parquet_bloomwriter.sbbf.sizing import Sizing

TABLE = pa.table(
    {"id": [i * 7 % 901 for i in range(300)], "blob": [b"\xff%d" % i for i in range(300)]}
)
DUCKDB = "DuckDB 1.5.0 to 1.5.6 loses rows of BLOB columns that have filters"


@pytest.mark.parametrize(
    ("first", "last", "inside", "outside"),
    [
        ("1.5.0", "1.5.6", ("1.5.0", "1.5.6", "1.5.3"), ("1.4.5", "1.5.7", "2.0.0")),
        ("26.1", "26.3", ("26.1.2.1", "26.3.9.1"), ("25.8.2.1", "26.4", "26.10.1")),
        ("", "54", ("37.1.0", "54.1.0"), ("55.0.0", "100.0")),
        ("38", "", ("38.0.1", "99"), ("37.1.0",)),
    ],
)
def test_versions(first: str, last: str, inside: tuple[str, ...], outside: tuple[str, ...]) -> None:
    hazard = dataclasses.replace(HAZARDS[0], first=first, last=last)
    assert all(map(hazard.concerns, inside))
    assert not any(map(hazard.concerns, outside))


def notes(report: AddReport) -> dict[str, tuple[str, ...]]:
    return {column.name: column.notes for column in report.columns}


def test_reports_mention_what_the_file_alone_decides() -> None:
    data = written(TABLE, row_group_size=100)
    assert notes(bloomify(data, ["id", "blob"])) == {"id": (), "blob": (DUCKDB,)}
    blobs = [b"\xff%040d" % (i * 7_919 % 100_003) for i in range(20_000)]
    (advice,) = advise(written(pa.table({"blob": blobs}), row_group_size=2_000)).columns
    assert DUCKDB in advice.notes


def test_reports_mention_filters_that_lie_next_to_each_other() -> None:
    data = written(TABLE, row_group_size=100)
    for placement, columns, has_note in (
        ("column-chunk", ["id", "blob"], False),
        ("row-group", ["id"], False),
        ("row-group", ["id", "blob"], True),
        ("end", ["id"], True),
    ):
        found = notes(bloomify(data, columns, placement=placement))["id"]  # type: ignore[arg-type]
        assert any("next to each other" in note for note in found) is has_note, placement


def test_reports_mention_exact_sizes() -> None:
    data = written(TABLE, row_group_size=300)
    (note,) = notes(bloomify(data, ["id"], sizing="exact", fpp=0.001))["id"]
    assert note.startswith("Impala loses rows of ")
    assert notes(bloomify(data, ["id"], sizing="exact", max_bytes=256))["id"] == ()


def test_adjacent_filters() -> None:
    assert adjacent_columns([(0, 10, 5), (1, 15, 5), (2, 21, 5)]) == {0, 1}
    assert adjacent_columns([(0, 10, 5), (0, 15, 5)]) == {0}
    assert adjacent_columns([(0, 10, 5)]) == frozenset()


def test_each_hazard_is_of_something_and_is_documented() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert rewritten(page) == page, "python -m tests.readers.releases --write, or by hand"
    for hazard in HAZARDS:
        assert hazard.first or hazard.last or hazard.seen is Seen.DOCUMENTED
        assert isinstance(hazard.shape, Shape)
        assert isinstance(hazard.reading, Reading)
        assert str(hazard)


@pytest.mark.parametrize("sizing", ["pow2", "exact"])
def test_only_filters_of_exact_sizes_concern_engines_that_misread_these(sizing: Sizing) -> None:
    data = bloomify(written(TABLE), ["id", "blob"], fpp=0.001, placement="end", sizing=sizing).data
    assert data is not None
    with opened_with_footer(data) as (_, footer):
        found = hazards_of_engine("Impala", "4.5", footer, footer.leaves)
        assert [one.shape for one in found] == ([Shape.EXACT] if sizing == "exact" else [])
        assert not hazards_of_engine("duckdb", "1.5.5", footer, footer.leaves[:1])
        assert hazards_of_engine("duckdb", "1.5.5", footer, footer.leaves)
        (one,) = hazards_of_engine("ClickHouse", "26.3.9", footer, footer.leaves[:1])[:1]
        assert one.shape is Shape.ADJACENT
