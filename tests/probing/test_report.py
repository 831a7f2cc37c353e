"""What a report adds up, and what it says of files that could not be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from parquet_bloomwriter.probing.verdict import Check, Evidence, RowGroupVerdict, Verdict
from parquet_bloomwriter.verbs.probe import probe
from tests.support.asking import asked
from tests.verbs.files import footer_of, people, with_num_rows, written

if TYPE_CHECKING:
    from pathlib import Path

DATA = written(people(900), row_group_size=300)


def test_sums_over_files_and_row_groups(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.parquet" for number in range(3)]
    for path in paths[:2]:
        path.write_bytes(DATA)
    report = probe(paths, "id = 450")
    sizes = [
        sum(chunk[16] for chunk in row_group)
        for row_group in footer_of(DATA).chunks.values.tolist()
    ]
    first, second, missing = report.files
    assert report.predicate == "id = 450"
    assert first.surviving == second.surviving == (1,)
    assert first.num_skipped_bytes == sizes[0] + sizes[2]
    assert [one.num_bytes for one in first.row_groups] == sizes
    assert (first.num_rows, first.num_row_groups) == (900, 3)
    assert (report.num_row_groups, report.num_surviving) == (6, 2)
    assert report.num_skipped_bytes == 2 * first.num_skipped_bytes
    assert report.requests == first.requests + second.requests > 0
    assert report.bytes_read == first.bytes_read + second.bytes_read > 0
    assert report.failed == (missing,)
    assert report.might_match == report.files
    assert isinstance(missing.error, FileNotFoundError)
    assert (missing.verdict, missing.surviving) == (Verdict.MIGHT_MATCH, ())
    assert (missing.num_rows, missing.row_groups, missing.num_skipped_bytes) == (0, (), 0)


def test_a_report_says_no_only_if_all_files_do(tmp_path: Path) -> None:
    other = written(people(10))
    assert probe([DATA, other], "id = 5000").verdict is Verdict.CANNOT_MATCH
    assert probe([DATA, other], "id = 500").verdict is Verdict.MIGHT_MATCH
    assert probe([DATA, other], "id = 500").might_match[0].num_row_groups == 3
    assert probe([DATA, tmp_path / "none"], "id = 5000").verdict is Verdict.MIGHT_MATCH


def test_lying_counts_do_not_break_sums() -> None:
    found = asked(with_num_rows(DATA, -5), "id = 1")
    assert found.row_groups[0].num_rows == -5
    assert found.surviving == (0,)


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ([("CANNOT", "statistics"), ("CANNOT", "bloom")], "bloom"),
        ([("CANNOT", "bloom"), ("MIGHT", "dictionary")], "bloom"),
        ([("MIGHT", "none"), ("CANNOT", "statistics")], "statistics"),
        ([("CANNOT", "none")], "none"),
        ([], "none"),
    ],
)
def test_what_decided(kinds: list[tuple[str, str]], expected: str) -> None:
    checks = tuple(
        Check(text="", column=None, verdict=Verdict(f"{verdict}_MATCH"), evidence=Evidence(how))
        for verdict, how in kinds
    )
    row_group = RowGroupVerdict(
        row_group=0, num_rows=0, num_bytes=0, verdict=Verdict.CANNOT_MATCH, checks=checks
    )
    assert row_group.evidence == expected
