"""The page as a browser shows it: quiet, complete, legible, and free of foreign elements."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from parquet_bloomwriter.advising.report import Advice, AdviseReport, ColumnAdvice
from parquet_bloomwriter.reports.inspection import InspectReport
from parquet_bloomwriter.reports.notebook import notebook_html
from parquet_bloomwriter.reports.page import page
from parquet_bloomwriter.text import name, rate, size
from tests.reports.samples import HOSTILE, column, facts, file, matrix
from tests.reports.scripts import CONTRASTS, HEIGHTS, OVERFLOW, STRAY_MARKS, TABLES

if TYPE_CHECKING:
    from tests.reports.conftest import Browser

SHAPES = {
    "one of each": {"num_columns": 1, "num_row_groups": 1},
    "few": {"num_columns": 3, "num_row_groups": 8},
    "wide and long": {"num_columns": 50, "num_row_groups": 600},
    "files": {"num_columns": 6, "num_row_groups": 4, "num_files": 30},
}


def tables_of(browser: Browser) -> dict[str, dict[str, Any]]:
    return {table["caption"]: table for table in browser.run(TABLES)}


@pytest.mark.parametrize("shape", SHAPES)
def test_nothing_is_fetched_nothing_complains_nothing_overflows(
    browser: Browser, shape: str
) -> None:
    url = browser.show(page(matrix(**SHAPES[shape])), dark=shape in {"few", "files"})
    assert browser.run(OVERFLOW) <= 0
    assert browser.run(STRAY_MARKS) == []
    browser.size(400)
    assert browser.run(OVERFLOW) <= 0
    assert browser.run(STRAY_MARKS) == []
    assert browser.requests() == [url]
    assert browser.console() == []


def test_complaints_would_be_seen(browser: Browser) -> None:
    source = page(matrix(num_columns=1, num_row_groups=1))
    planted = source.replace("<main>", '<main><img src="other.png"><script>let x = 1</script>')
    browser.show(planted)
    lines: list[str] = []

    def has_complained() -> bool:
        lines.extend(browser.console())
        return len(lines) > 1

    browser.wait_for(has_complained)
    assert ["Content Security Policy" in line for line in lines] == [True, True]


def test_tables_tell_the_figures_of_the_report(browser: Browser) -> None:
    filters = [facts(0, fpp=0.02), facts(2, fpp=0.01, length=64 + 19, num_bytes=64, ndv=40.0)]
    report = InspectReport(files=(file([column("id", filters)], num_row_groups=4),))
    browser.show(page(report))
    tables = tables_of(browser)
    assert tables["Filters by column"]["rows"] == [
        ["id", "INT64", "2 of 4", "840", "1,126", "10.4", "42 %", "0.015", "0.02", "-"]
    ]
    absent = 2 + 0.03
    there = 1 + absent * 3 / 4
    read = [4 * 980_000, 1_126 + there * 980_000, 1_126 + absent * 980_000]
    (lookup,) = tables["What a lookup reads, by column"]["rows"]
    sizes = [size(round(num_bytes)) for num_bytes in read]
    assert [lookup[0], *lookup[2:]] == ["id", "4", "2.52", "2.03", *sizes]
    browser.run("document.querySelector('details').open = true")
    assert tables_of(browser)["Every filter"]["rows"] == [
        ["id", "1", "0", "4", "1,043", "column-chunk", "1,000", "800", "42 %", "0.02"],
        ["id", "1", "2", "20,004", "83", "column-chunk", "1,000", "40", "42 %", "0.01"],
    ]
    figures = browser.run("return [...document.querySelectorAll('dd')].map(dd => dd.innerText)")
    assert figures == ["1", "4", "4,000", "2", "1,126 bytes", "0.028 %"]


def test_every_row_and_column_of_a_table_has_its_heading(browser: Browser) -> None:
    browser.show(page(matrix(**SHAPES["files"])))
    for table in browser.run(TABLES):
        assert set(table["scopes"]) == {"col"}
        assert set(table["firsts"]) == {"row"}


def test_marks_stand_at_the_heights_of_their_values(browser: Browser) -> None:
    filters = [facts(0, fpp=0.1, fill=0.25), facts(1, fpp=0.001, fill=0.75), facts(2, fill=0.5)]
    browser.show(page(file([column("id", filters)], num_row_groups=4)))
    _, rates, fills = browser.run(HEIGHTS)
    assert rates[2] - rates[1] == pytest.approx(2 * (rates[3] - rates[1]), abs=0.1)
    assert fills[1] - fills[0] == pytest.approx(3 * (fills[2] - fills[0]), abs=0.1)
    assert fills[3] - fills[0] == pytest.approx(2 * (fills[2] - fills[0]), abs=0.1)


def test_bars_are_as_long_as_the_share_that_is_read(browser: Browser) -> None:
    filters = [facts(row_group, fpp=0.2) for row_group in range(3)]
    browser.show(page(file([column("id", filters)], num_row_groups=4)))
    widths = browser.run("""
        return ['.part', '.whole'].map(c => document.querySelector(c).getBoundingClientRect().width)
    """)
    assert widths[0] / widths[1] == pytest.approx((1 + 0.6) / 4, abs=0.005)


def test_the_strip_of_a_file_is_to_scale(browser: Browser) -> None:
    filters = [facts(i, offset=980_000 + i * 100_000, length=100_000) for i in range(2)]
    filters.append(facts(2, offset=1_990_000, length=2))
    made = file([column("id", filters)], num_row_groups=4)
    browser.show(page(replace(made, footer_start=3_900_000)))
    parts = browser.run("""
        const svg = document.querySelector('svg.layout');
        const all = svg.getBoundingClientRect();
        return [...svg.querySelectorAll('.group, .filters, .footer')].map(part => {
            const at = part.getBBox();
            return [part.classList[0], at.x / all.width, at.width / all.width];
        });
    """)
    expected = [
        *[("group", at, 990_000) for at in range(4, 4_000_000, 1_000_000)],
        ("filters", 980_000, 200_000),
        ("filters", 1_990_000, 2),
        ("footer", 3_900_000, 100_000),
    ]
    assert [one[0] for one in parts] == [one[0] for one in expected]
    for part, (_, start, length) in zip(parts, expected, strict=True):
        assert part[1:] == pytest.approx([start / 4e6, length / 4e6], abs=1e-5)
    keys = browser.run("return document.querySelector('.keys').innerText")
    assert "filters, 195.3 KiB" in " ".join(keys.split())


@pytest.mark.parametrize("shape", ["few", "files"])
def test_tables_fit_a_window_of_1000_pixels(browser: Browser, shape: str) -> None:
    for width in (1_000, 420):
        browser.show(page(matrix(**SHAPES[shape])), width=width)
        browser.run("document.querySelector('details').open = true")
        widths = browser.run("""
            const all = [...document.querySelectorAll('.scroll')];
            return all.map(one => one.scrollWidth - one.clientWidth);
        """)
        assert widths
        assert set(widths) == {0}


def test_narrow_windows_have_a_line_for_each_cell(browser: Browser) -> None:
    report = matrix(num_columns=1, num_row_groups=1)
    browser.show(page(report), width=420)
    cells = browser.run("""
        return [...document.querySelector('.scroll tbody tr').cells].map(one => [
            getComputedStyle(one, '::before').content, one.getBoundingClientRect().width,
        ]);
    """)
    table = report.summary().table
    assert table is not None
    labels = [one.title for one in table.columns]
    assert [label for label, _ in cells[1:]] == [f'"{label}"' for label in labels[1:]]
    assert min(width for _, width in cells) > 380


def test_pointing_at_a_plot_tells_the_row_group(browser: Browser) -> None:
    filters = [facts(0), facts(1, problem="all zero", fpp=0.0)]
    browser.show(page(file([column("id", filters)], num_row_groups=3)))
    told = browser.run("""
        const svg = document.querySelectorAll('svg.strip')[1];
        svg.scrollIntoView({block: 'center'});
        const at = svg.getBoundingClientRect();
        return [1, 3, 5].map(sixth => {
            const hit = document.elementFromPoint(at.left + at.width * sixth / 6, at.top + 30);
            return hit.closest('g').querySelector('title').textContent;
        });
    """)
    assert told == [
        f"row group 0: {rate(0.01)}",
        "row group 1: no value; 1 problem",
        "row group 2: no value; 1 without a filter",
    ]
    grounds = browser.run("""
        const grounds = document.querySelectorAll('.strip g > :nth-child(2)');
        return [...grounds].map(one => getComputedStyle(one).fill);
    """)
    assert grounds == ["rgba(0, 0, 0, 0)"] * 9


def test_problems_are_listed_and_marked(browser: Browser) -> None:
    filters = [facts(0), facts(1, problem="all bits are zero", oddities=("no length",))]
    browser.show(page(file([column("id", filters)], num_row_groups=2)))
    remarks = browser.run("""
        const remarks = [...document.querySelectorAll('.remarks li')];
        return remarks.map(one => one.innerText.split(/\\s+/).join(' '));
    """)
    assert remarks == [
        "problem id, row group 1: all bits are zero",
        "oddity id, row group 1: no length",
    ]
    assert browser.run("return document.querySelectorAll('svg.strip .bad').length") == 3


@pytest.mark.parametrize("width", [400, 1280])
def test_hostile_names_are_text(browser: Browser, width: int) -> None:
    columns = [
        column(text, [facts(0, text, problem=text, oddities=(text,))], ordinal=ordinal)
        for ordinal, text in enumerate((*HOSTILE, "x" * 5_000))
    ]
    files = tuple(file(columns, num_row_groups=1, path=text, created_by=text) for text in HOSTILE)
    for report in (InspectReport(files=files), files[0], files[1]):
        browser.show(page(report), width=width)
        browser.run("document.querySelector('details').open = true")
        elements = set(browser.run("return [...document.all].map(e => e.localName)"))
        assert not elements & {"script", "img", "iframe", "b", "object", "link"}
        handlers = "return [...document.all].flatMap(e => [...e.attributes]).map(a => a.name)"
        assert not [one for one in browser.run(handlers) if one.startswith("on")]
        shown = [row[0] for row in tables_of(browser)["Filters by column"]["rows"]]
        assert shown[:-1] == [name(text) for text in HOSTILE]
        assert len(shown[-1]) == 200
        assert browser.run(OVERFLOW) <= 0
        assert browser.console() == []
        assert len(browser.requests()) == 1


def test_long_names_are_wrapped(browser: Browser) -> None:
    long = "x" * 5_000
    odd = facts(0, long, problem=long)
    browser.show(page(file([column(long, [odd])], num_row_groups=1, path=long, created_by=long)))
    for width in (1280, 400):
        browser.size(width)
        assert browser.run(OVERFLOW) <= 0


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_and_marks_stand_out(browser: Browser, *, dark: bool) -> None:
    browser.show(page(matrix(num_columns=8, num_row_groups=40)), dark=dark)
    browser.run("document.querySelector('details').open = true")
    contrasts = browser.run(CONTRASTS)
    kinds = {kind for kind, _ in contrasts}
    assert {"dot", "part", "none", "bad", "label", "bdi", "p", "h2", "td", "th"} <= kinds
    shapes = {"dot", "part", "none"}
    assert [one for one in contrasts if one[1] < (3 if one[0] in shapes else 4.5)] == []
    ground = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") is not dark


def test_the_keyboard_reaches_and_scrolls_what_scrolls(browser: Browser) -> None:
    browser.show(page(matrix(num_columns=50, num_row_groups=3)))
    labels = []
    for _ in range(6):
        ActionChains(browser.driver).send_keys(Keys.TAB).perform()
        labels.append(browser.run("return document.activeElement.ariaLabel"))
        if labels[-1] == "Filters by column":
            ActionChains(browser.driver).send_keys(Keys.END).pause(0.5).perform()
            assert browser.run("return document.activeElement.scrollTop") > 100
    assert "Plots by column" in labels
    assert "Filters by column" in labels


def test_screen_readers_get_a_name_for_every_plot(browser: Browser) -> None:
    """The first two columns have few values, so no plot of what a lookup reads."""
    browser.show(page(matrix(num_columns=4, num_row_groups=3)))
    browser.wait_for(lambda: len(with_role(browser, "image")) == 4 * 3 + 2 + 1)
    named = with_role(browser, "image")
    assert "Exact FPP of id_0" in named
    assert all(named)
    headers = with_role(browser, "rowheader")
    columns = ["id_0", "payload.attribute_1", "payload.attribute_2", "id_3"]
    assert headers == [*columns, *columns[2:]]


def with_role(browser: Browser, role: str) -> list[str]:
    nodes = browser.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    return [node["name"]["value"] for node in nodes if node["role"]["value"] == role]


def test_advice_in_a_notebook_fits_1000_pixels(browser: Browser) -> None:
    advice = ColumnAdvice(
        name="customer_email_address", ordinal=0, physical_type="INT64",
        type="TIMESTAMP(MICROS,UTC)", verdict=Advice.HAS_FILTER,
        reason="about 4 distinct values per row group, all in dictionaries: " * 2,
        num_row_groups=400, num_filters=0, num_values=10**9, num_compressed_bytes=10**10,
        ndv=123_456_789.0, num_filter_bytes=1_234_567_890, read_by_statistics=0.1234,
        holding=0.1, skipped_present=0.88, skipped_absent=0.999_999_96,
    )  # fmt: skip
    report = AdviseReport(
        paths=("events.parquet",), num_files=1, size=10**11, num_rows=10**9, num_row_groups=400,
        fpp=0.01, columns=(advice,),
    )  # fmt: skip
    host = f"<!DOCTYPE html><body style='font:14px sans-serif'>{notebook_html(report)}</body>"
    browser.show(host, width=1_000)
    overflow = "const e = document.querySelector('.parquet-bloomwriter'); "
    assert browser.run(overflow + "return e.scrollWidth - e.clientWidth") == 0


@pytest.mark.parametrize(
    ("ground", "ink"), [("#ffffff", "#000000"), ("#111111", "#e0e0e0")], ids=["light", "dark"]
)
def test_notebook_tables_suit_their_surroundings(browser: Browser, ground: str, ink: str) -> None:
    report = matrix(num_columns=12, num_row_groups=3)
    body = f'<body style="background:{ground};color:{ink}">{notebook_html(report)}</body>'
    host = f"<!DOCTYPE html>{body}"
    browser.show(host, width=400)
    assert browser.run(OVERFLOW) <= 0
    contrasts = browser.run(CONTRASTS)
    assert contrasts
    assert [one for one in contrasts if one[1] < 4.5] == []
    assert len(tables_of(browser)["Filters by column"]["rows"]) == 12
    assert browser.console() == []
