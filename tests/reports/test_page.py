"""The page as a document: complete in itself, the same each time, and of bounded size."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

import pytest

from parquet_bloomwriter import __version__
from parquet_bloomwriter.reports.inspection import InspectReport
from parquet_bloomwriter.reports.page import page
from tests.reports.parsing import Seen
from tests.reports.samples import HOSTILE, column, facts, file, matrix


def test_it_is_one_document_that_refers_to_nothing() -> None:
    source = page(matrix(num_columns=2, num_row_groups=3))
    assert source.startswith('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">')
    elements = Seen(source).elements
    policies = [held for _, held in elements if "http-equiv" in held]
    assert [held["content"] for held in policies] == [
        "default-src 'none'; style-src 'unsafe-inline'"
    ]
    assert not {"script", "link", "img", "iframe", "a"} & {tag for tag, _ in elements}
    assert not {"src", "href", "srcset", "xlink:href", "style"} & {
        key for _, held in elements for key in held
    }
    assert not re.search(r"url\(|@import|https?:|//", source.split("<style>")[1].split("<main>")[0])


def test_it_is_the_same_each_time() -> None:
    report = matrix(num_columns=3, num_row_groups=5, num_files=2)
    assert page(report) == page(report)


def test_a_file_and_a_report_of_one_file_are_the_same() -> None:
    report = matrix(num_columns=1, num_row_groups=2)
    assert page(report) == page(report.files[0])


@pytest.mark.parametrize("title", [None, "Filters of <May>"])
def test_its_title(title: str | None) -> None:
    source = page(matrix(num_columns=1, num_row_groups=1), title=title)
    shown = "Bloom filters in part-00000.parquet" if title is None else "Filters of &lt;May&gt;"
    assert f"<title>{shown}</title>" in source
    assert f"<h1><bdi>{shown}</bdi></h1>" in source


def test_it_names_the_data_set_the_time_and_the_program() -> None:
    zone = timezone(timedelta(hours=1), "CET")
    made_at = datetime(2026, 11, 3, 9, 5, tzinfo=zone)
    files = matrix(num_columns=1, num_row_groups=1, num_files=3)
    text = Seen(page(files, made_at=made_at)).text
    assert "Bloom filters in events (3 files)" in text
    assert "/data/events" in text
    assert f"Made by parquet-bloomwriter {__version__} on 3 November 2026, 09:05 CET" in text
    assert "Written by parquet-cpp-arrow version 26.0.0" in text
    text = Seen(page(files, data_set="iceberg://lake/shop.orders")).text
    assert "Bloom filters in shop.orders (3 files)" in text
    assert "iceberg://lake/shop.orders" in text


def test_the_data_set_of_files_in_several_folders() -> None:
    paths = ["/data/a/1.parquet", "/data/ab/2.parquet", None]
    files = tuple(file([], num_row_groups=1, path=path) for path in paths)
    assert "Bloom filters in data (2 files)" in page(InspectReport(files=files[:2]))
    assert "Bloom filters in 2 files" in page(InspectReport(files=files[1:]))


def test_only_the_most_frequent_writers_are_named() -> None:
    files = [file([], num_row_groups=1, created_by=f"writer {i % 5}") for i in range(9)]
    text = Seen(page(InspectReport(files=tuple(files)))).text
    assert "Written by writer 0, writer 1, writer 2 and 2 others" in text


def test_a_value_in_many_row_groups_is_not_taken_for_one() -> None:
    status = column("status", [facts(0, ndv=3.0), facts(1, ndv=3.0)])
    ids = column("id", [facts(0), facts(1)])
    shown = page(file([status, ids], num_row_groups=2))
    part = shown.partition("What a lookup reads if the value is in one row group only")[2]
    lookups = part.partition("Where filters lie")[0]
    assert (
        "Not shown, as they have few distinct values, each of which is in many row groups: "
        in lookups
    )
    assert lookups.count("status") == 1
    small = column("key", [facts(0, ndv=30.0, num_values=30), facts(1, ndv=30.0, num_values=30)])
    assert "Not shown" not in page(file([small], num_row_groups=2))
    alone = page(file([status], num_row_groups=2))
    assert "What a lookup reads, by column" not in alone


def test_many_parts_are_drawn_as_cells() -> None:
    spread = [facts(i, offset=4 + 1_000_000 * i, length=250_000) for i in range(1_000)]
    strip = page(file([column("id", spread)], num_row_groups=1_000)).partition('class="layout"')[2]
    rects = re.findall(r'height="([\d.]+)" class="filters"', strip.partition("</svg>")[0])
    assert rects == ["7.50"] * 200


def test_a_file_without_filters_and_no_file_at_all() -> None:
    for report in (file([], num_row_groups=3), file([], num_row_groups=0), InspectReport(files=())):
        text = Seen(page(report)).text
        assert "There is no filter." in text
        assert "Filters by row group" not in text


def test_what_nothing_is_known_of_is_drawn_nevertheless() -> None:
    nothing = facts(
        0, length=None, num_bytes=None, ndv=None, fill=None, fpp=None, problem="cut short"
    )
    full = facts(1, ndv=float("inf"), fill=1.0, fpp=1.0)
    text = Seen(page(file([column("id", [nothing, full])], num_row_groups=2, path=None))).text
    assert "id, row group 0: cut short" in text
    assert "∞" in text
    assert "2 of 2" in text


@pytest.mark.parametrize(
    ("num_columns", "num_row_groups", "num_files"), [(50, 600, 1), (5, 1, 700), (600, 2, 3)]
)
def test_large_reports_make_pages_of_a_few_megabytes(
    num_columns: int, num_row_groups: int, num_files: int
) -> None:
    report = matrix(num_columns=num_columns, num_row_groups=num_row_groups, num_files=num_files)
    assert len(page(report).encode()) < 3_500_000


def test_what_is_left_out_is_counted() -> None:
    columns = [
        column(f"c{i}", [facts(0, f"c{i}", length=1_000 + i, problem=f"reason {i}")], ordinal=i)
        for i in range(520)
    ]
    shown = Seen(page(InspectReport(files=(file(columns, num_row_groups=1),) * 2)))
    assert shown.text.count("and 20 more columns") == 2
    assert "and 470 more columns with fewer bytes of filters" in shown.text
    assert "and 320 more remarks" in shown.text
    assert f"and {520 * 2 - 500:,} more filters" in shown.text
    shown = Seen(page(InspectReport(files=(file(columns[:2], num_row_groups=1),) * 510)))
    assert "and 10 more files" in shown.text


def test_the_largest_columns_are_drawn_in_the_order_of_the_schema() -> None:
    columns = [
        column(f"c{i}", [facts(0, f"c{i}", length=1_000 + i % 60)], ordinal=i) for i in range(60)
    ]
    drawn = re.findall(r"<title>Size of (c\d+)</title>", page(file(columns, num_row_groups=1)))
    assert drawn == [f"c{i}" for i in range(10, 60)]


@pytest.mark.parametrize("text", HOSTILE)
def test_text_from_files_is_text(text: str) -> None:
    filters = [facts(0, text, problem=text, oddities=(text,))]
    hostile = file(
        [column(text, filters)], num_row_groups=1, path=text or "-", created_by=text or "-"
    )
    harmless = file([column("c", [facts(0, "c", problem="p", oddities=("o",))])], num_row_groups=1)
    for report, other in (
        (InspectReport(files=(hostile,)), InspectReport(files=(harmless,))),
        (InspectReport(files=(hostile,) * 2), InspectReport(files=(harmless,) * 2)),
    ):
        tags = [tag for tag, _ in Seen(page(report, title="t")).elements]
        assert tags == [tag for tag, _ in Seen(page(other, title="t")).elements]
