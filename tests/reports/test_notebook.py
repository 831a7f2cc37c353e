"""Every report as a table in a notebook: true figures, escaped text, inline styles only."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from parquet_bloomwriter import InvalidArgument, bloomify, repair, strip
from parquet_bloomwriter.reports.inspection import InspectReport
from parquet_bloomwriter.reports.notebook import notebook_html
from parquet_bloomwriter.reports.verification import CheckStatus, FilterCheck, MissingValue
from parquet_bloomwriter.rewrite.report import ChunkReport, RepairReport, Status
from parquet_bloomwriter.text import safe
from parquet_bloomwriter.verbs.advise import advise
from parquet_bloomwriter.verbs.inspect import inspect
from parquet_bloomwriter.verbs.probe import probe
from parquet_bloomwriter.verbs.verify import verify
from tests.reports.parsing import Seen
from tests.reports.samples import HOSTILE, column, facts, file
from tests.verbs.files import people, written

if TYPE_CHECKING:
    from pathlib import Path

    from parquet_bloomwriter.reports.summary import Report


def with_filters(rows: int = 1_000) -> bytes:
    data = bloomify(written(people(rows)), ["id", "email"]).data
    assert data is not None
    return data


def seen(report: Report) -> Seen:
    return Seen(notebook_html(report))


def test_filters_added() -> None:
    report = bloomify(written(), ["id", "city"], dry_run=True)
    shown = seen(report)
    assert shown.text.startswith("buffer: 4 filters would be added, ")
    rates = [f"{one.achieved_fpp:.2g}" for one in report.columns]
    figures = [[row[0], row[1], row[2], row[3], row[5]] for row in shown.rows]
    assert figures == [
        ["id", "2 of 2", "1,000", "2,080", "0.01"],
        ["city", "2 of 2", "6", "160", "0.01"],
    ]
    assert [float(row[6]) for row in shown.rows] == [float(rate) for rate in rates]


def test_what_was_not_added_is_explained() -> None:
    report = bloomify(written(), ["id", "city"])
    kept = ChunkReport(row_group=0, status=Status.KEPT)
    skipped = ChunkReport(row_group=1, status=Status.SKIPPED, reason="the codec is unknown")
    columns = (
        replace(report.columns[0], chunks=(kept, skipped)),
        replace(report.columns[1], notes=("some readers hash it otherwise",)),
    )
    lines = seen(replace(report, columns=columns, fallback="chunks overlap")).remarks
    assert lines == [
        (
            "kept: id (row group 0): the filters that are there stay: headers, places and rates "
            "are right; "
            "the option `replace` builds them anew"
        ),
        "skipped: id (row group 1): the codec is unknown",
        "note: city: some readers hash it otherwise",
        "note: filters go to the end of the file: chunks overlap",
    ]


def test_filters_taken_out_and_lengths_filled_in(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(with_filters())
    shown = seen(strip(path, dry_run=True))
    assert shown.text.startswith(f"{path}: 4 filters would be taken out, ")
    assert shown.remarks == ["columns: id, email"]
    assert seen(repair(path)).text == f"{path}: no length of a filter is missing"
    mended = RepairReport(
        path="a", output="b", written=True, dry_run=False, size_before=10_000, size_after=10_004,
        num_repaired=1, unrepaired=("id, row group 1: all zero",),
    )  # fmt: skip
    shown = seen(mended)
    assert shown.text.startswith("a → b: 1 length of filters filled in, 9.8 KiB → 9.8 KiB")
    assert shown.remarks == ["doubtful: id, row group 1: all zero"]


def test_filters_inspected() -> None:
    report = inspect(with_filters())
    shown = seen(report)
    assert shown.text.startswith("buffer: 4 filters in 2 row groups, 4,160 bytes (")
    assert [row[:3] for row in shown.rows] == [
        ["id", "INT64", "2 of 2"],
        ["email", "STRING", "2 of 2"],
    ]
    worst = max(one.fpp or 0 for one in report.columns[0].filters)
    assert float(shown.rows[0][8]) == pytest.approx(worst, rel=0.05)
    assert shown.remarks == []
    assert seen(InspectReport(files=(report, report))).text.startswith("2 files: 8 filters in 4 ")


def test_problems_of_one_file_and_of_many() -> None:
    filters = [facts(0, problem="all zero"), facts(1), facts(2, problem="all zero")]
    one = file([column("id", filters)], num_row_groups=3, path="a.parquet")
    other = file([column("id", filters[:1])], num_row_groups=3, path="b.parquet")
    assert seen(one).remarks == ["problem: id, row groups 0, 2: all zero"]
    assert seen(InspectReport(files=(other, one))).remarks == [
        "problem: id, 3 row groups of 2 files, the first in b.parquet, row group 0: all zero"
    ]
    assert ", 2 problems" in seen(one).text
    assert [row[-1] for row in seen(one).rows] == ["2"]


def test_filters_verified() -> None:
    report = verify(with_filters())
    shown = seen(report)
    assert shown.text.startswith("buffer: 4 filters OK, ")
    assert [row[:4] for row in shown.rows] == [
        ["id", "OK", "2 of 2", "1,000"],
        ["email", "OK", "2 of 2", "858"],
    ]
    assert [row[4] for row in shown.rows] == ["0", "0"]
    lost = FilterCheck(
        row_group=1, ordinal=0, column="id", offset=4, length=83, status=CheckStatus.FAILED,
        reason="values are missing", num_looked_up=500, num_missing=2, fpp=0.01,
        missing=(MissingValue(text="42", hash="00"),), measured_fpp=0.5, rates_agree=False,
    )  # fmt: skip
    gap = replace(lost, row_group=0, status=CheckStatus.UNCHECKED, reason="a draft", missing=())
    shown = seen(replace(report, checks=(gap, lost), sampled_row_groups=(0, 1)))
    assert shown.text.startswith("buffer: 0 filters OK, 1 FAILED, 1 UNCHECKED, 1,000 values ")
    assert shown.rows == [["id", "FAILED", "0 of 2", "1,000", "4", "0.01", "0.5"]]
    assert shown.remarks == [
        "failed: id, row group 1: values are missing: among them 42",
        "unchecked: id, row group 0: a draft",
        (
            "warning: id, row groups 0-1: 0.5 of the absent values passed, not 0.01 as the bits "
            "say: chance does not explain that"
        ),
        "sample: only values of row groups 0-1 were looked up",
    ]


def test_advice(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    scattered = [number * 2_654_435_761 % 2**31 for number in range(4_000)]
    table = people(4_000).append_column("key", [scattered])
    path.write_bytes(written(table, use_dictionary=False))
    report = advise(path)
    assert "key" in [one.name for one in report.added]
    shown = seen(report)
    assert [row[2] for row in shown.rows] == [one.verdict.value for one in report.ranked]
    assert [row[8] for row in shown.rows] == [one.reason for one in report.ranked]
    assert [row[4] for row in shown.rows] == [
        "-" if not one.num_filter_bytes else f"{one.num_filter_bytes:,}" for one in report.ranked
    ]
    assert report.command
    assert shown.remarks[0] == f"to run: {report.command}"


def test_verdicts_by_row_group_and_by_file(tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / f"{number}.parquet").write_bytes(with_filters(1_000 * number))
    one = seen(probe(tmp_path / "1.parquet", "id = 700 AND id <> 3"))
    assert one.text.startswith(f"{tmp_path}/1.parquet: id = 700 AND id != 3: 1 of 2 row groups ")
    assert [row[:3] for row in one.rows] == [
        ["1", "MIGHT_MATCH", "bloom"],
        ["0", "CANNOT_MATCH", "statistics"],
    ]
    (tmp_path / "3.parquet").write_bytes(b"no such file")
    many = seen(probe(tmp_path, "id = 1700"))
    assert "1 of 6 row groups might match, in 2 of 3 files" in many.text
    assert [(row[0].rpartition("/")[2], row[1], row[3]) for row in many.rows] == [
        ("2.parquet", "MIGHT_MATCH", "1 of 4"),
        ("3.parquet", "MIGHT_MATCH", "-"),
        ("1.parquet", "CANNOT_MATCH", "0 of 2"),
    ]
    assert many.remarks[0].startswith(f"unread: {tmp_path}/3.parquet: ")


@pytest.mark.parametrize("text", HOSTILE)
def test_text_from_files_is_text(text: str) -> None:
    filters = [facts(0, text, problem=text, oddities=(text,))]
    shown = seen(file([column(text, filters)], num_row_groups=1, path=text))
    known = {"div", "strong", "bdi", "table", "caption", "thead", "tbody", "tr", "th", "td", "ul"}
    assert {tag for tag, _ in shown.elements} <= {*known, "li"}
    assert shown.rows[0][0] == (safe(text) or '""')
    assert {key for _, attributes in shown.elements for key in attributes} <= {
        "class", "style", "scope", "title",
    }  # fmt: skip


def test_it_brings_no_colours_no_scripts_and_no_styles_for_others() -> None:
    source = notebook_html(inspect(with_filters()))
    assert not re.search(r"<(script|style|link|img)|#[0-9a-f]{3}|url\(|https?:", source)
    assert set(re.findall(r"(?<!-)color:([^;\"]+)", source)) == {"inherit"}


def test_long_tables_and_lists_are_cut_and_say_so() -> None:
    columns = [
        column(f"c{i}", [facts(0, f"c{i}", problem=f"reason {i}")], ordinal=i) for i in range(75)
    ]
    shown = seen(file(columns, num_row_groups=1))
    assert len(shown.rows) == 60
    assert "and 15 more columns" in shown.text
    assert shown.remarks[-1] == "and 55 more"


def test_reports_show_themselves_in_notebooks() -> None:
    data = with_filters()
    for report in (bloomify(data), strip(data), repair(data), inspect(data)):
        assert report._repr_html_() == notebook_html(report)
    inspected = InspectReport(files=(inspect(data),))
    assert inspected._repr_html_() == notebook_html(inspected)


def test_what_is_no_report_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="int is no report"):
        notebook_html(3)  # type: ignore[arg-type]  # what a mistaken caller passes
