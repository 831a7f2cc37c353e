"""The HTML page of an `InspectReport`: its frame, its figures and its sections.

Tables and plots have upper limits, so that a page of thousands of files stays a few megabytes; what
is left out is counted where it would stand. A content security policy forbids everything but the
page's own style sheet.
"""

from __future__ import annotations

from collections import Counter
from importlib.resources import files as package_files
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.reports.inspection import (
    FileFilters,
    InspectReport,
    column_table,
    figures_of,
    filter_table,
    remarks_on,
    share_of_bytes,
)
from parquet_bloomwriter.reports.markup import (
    Html,
    Look,
    element,
    identifier,
    joined,
    laid_out,
    named,
    scrollable,
)
from parquet_bloomwriter.reports.page.layout import strips_of_files
from parquet_bloomwriter.reports.page.sections import file_table, lookup_table
from parquet_bloomwriter.reports.page.strips import Places, panel
from parquet_bloomwriter.text import clipped, count, listed_names, percent, size

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from parquet_bloomwriter.reports.inspection import ColumnFigures
    from parquet_bloomwriter.reports.markup import Content
    from parquet_bloomwriter.reports.summary import Remark, Table

_MOST_WRITERS = 3
_MOST_REMARKS = 200
_LONGEST_REMARK = 1_000
"""Most characters of a remark."""

_FILTER_COLUMNS = (
    *("column", "file", "row group", "offset", "bytes", "place"),
    *("values", "NDV", "fill", "FPP"),
)

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"

_LOOK = Look(
    most_rows=500,
    has_labels=True,
    text_heading={"class_": "text"},
    number_heading={"class_": "number"},
    text={"class_": "text"},
    number={"class_": "number"},
    rest={"class_": "rest"},
)


def page(
    report: InspectReport | FileFilters,
    *,
    title: str | None = None,
    data_set: str | None = None,
    made_at: datetime | None = None,
) -> str:
    """Make one HTML page that shows every filter: places, sizes, rates, and what lookups read.

    Args:
        report: What `inspect` found in one file, or in many.
        title: Heading of the page; by default the name of the data set.
        data_set: The file, folder or table that the report is about; by default the path of the
            file, or the folder that holds all files.
        made_at: When the files were looked at, in some time zone; None leaves the time out.

    Returns:
        The whole document; save it as UTF-8.
    """
    files = (report,) if isinstance(report, FileFilters) else report.files
    where = data_set or _data_set(files)
    heading = clipped(title or _title(files, where))
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", heading),
        element("style", _style_sheet()),
    )
    body = element(
        "body", element("main", *_header(files, heading, where, made_at), *_sections(files))
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en').source}\n"


def _data_set(files: Sequence[FileFilters]) -> str:
    """Return the path of the only file, or the folder of all; "" for buffers."""
    paths = [file.path for file in files]
    if len(set(paths)) <= 1:
        return next(filter(None, paths), "")
    folders = [(path or "").split("/")[:-1] for path in paths]
    levels = takewhile(lambda level: len(set(level)) == 1, zip(*folders, strict=False))
    return "/".join(level[0] for level in levels)


def _title(files: Sequence[FileFilters], where: str) -> str:
    name = where.rstrip("/").rpartition("/")[2]
    if len(files) == 1:
        return f"Bloom filters in {name or 'a buffer'}"
    num_files = count(len(files), "file")
    return f"Bloom filters in {f'{name} ({num_files})' if name else num_files}"


def _style_sheet() -> Html:
    return Html(package_files(__package__).joinpath("page.css").read_text(encoding="utf-8"))


def _header(
    files: Sequence[FileFilters], heading: str, where: str, made_at: datetime | None
) -> list[Html]:
    from parquet_bloomwriter import __version__

    parts = [element("h1", element("bdi", heading))]
    if where or len(files) == 1:
        path = identifier(where) if where else Html("a buffer")
        parts.append(element("p", path, class_="about path"))
    if files:
        parts.append(element("p", "Written by ", *_writers(files), class_="about"))
    when = "" if made_at is None else f" on {made_at.day} {made_at:%B %Y, %H:%M %Z}".rstrip()
    parts.append(element("p", f"Made by parquet-bloomwriter {__version__}{when}", class_="about"))
    parts.append(_figures(files))
    return parts


def _writers(files: Sequence[FileFilters]) -> list[Content]:
    """Return the writers of the files, the most frequent first."""
    writers = Counter(file.created_by or "an unnamed writer" for file in files)
    shown: list[Content] = []
    for writer, _ in writers.most_common(_MOST_WRITERS):
        shown += [", ", element("bdi", clipped(writer))]
    if (left_out := len(writers) - _MOST_WRITERS) > 0:
        shown.append(f" and {count(left_out, 'other')}")
    return shown[1:]


def _figures(files: Sequence[FileFilters]) -> Html:
    counts = {
        "file": len(files),
        "row group": sum(file.num_row_groups for file in files),
        "row": sum(file.num_rows for file in files),
        "filter": sum(len(file.filters) for file in files),
    }
    figures = [count(number, noun).split(" ", 1) for noun, number in counts.items()]
    figures.append([size(sum(file.num_filter_bytes for file in files)), "size of filters"])
    figures.append([percent(share_of_bytes(files)), "of all bytes"])
    pairs = [element("div", element("dt", term), element("dd", figure)) for figure, term in figures]
    return element("dl", *pairs, class_="figures")


def _sections(files: Sequence[FileFilters]) -> list[Html]:
    columns = figures_of(files)
    parts = _remarks(remarks_on(files), has_filters=bool(columns))
    if columns:
        parts += _section("Columns", _scrolled(column_table(files).without("of file", "place")))
        heading = "What a lookup reads if the value is in one row group only"
        parts += _section(heading, *_lookup_parts(columns))
        parts += _section("Where filters lie", *strips_of_files(files))
        parts += _section("Filters by row group", *panel(columns, Places.of(files)))
        every = filter_table(files).only(*_FILTER_COLUMNS)
        parts.append(element("details", element("summary", "Every filter"), _scrolled(every)))
    if len(files) > 1:
        parts += _section("Files", _scrolled(file_table(files)))
    return parts


def _lookup_parts(columns: Sequence[ColumnFigures]) -> list[Html]:
    sentence = (
        "Before, without filters, a lookup of one value reads every row group. With them it reads "
        "the row group that holds the value (there), or none (absent); others by mistake, as often "
        "as the exact FPP of their filters says; and always those without a filter that can be "
        "trusted. Bytes are those of all columns in these row groups, and of the column's filters. "
        "Statistics and dictionaries may spare more; they are left out of account."
    )
    parts = [element("p", sentence, class_="quiet")]
    if kept := [column for column in columns if not column.has_few_values]:
        parts.append(_scrolled(lookup_table(kept), class_="scroll wide"))
    if left_out := [named(column.name) for column in columns if column.has_few_values]:
        why = "Not shown, as they have few distinct values, each of which is in many row groups: "
        parts.append(element("p", why, element("bdi", listed_names(left_out)), class_="quiet"))
    return parts


def _remarks(remarks: Sequence[Remark], *, has_filters: bool) -> list[Html]:
    if not remarks:
        found = "No problem was found." if has_filters else "There is no filter."
        return _section("Problems and oddities", element("p", found, class_="quiet"))
    shown = [_remark(remark) for remark in remarks[:_MOST_REMARKS]]
    parts = [element("ul", *shown, class_="remarks", tabindex=0)]
    if left_out := len(remarks) - len(shown):
        parts.append(element("p", f"and {count(left_out, 'more remark')}", class_="rest"))
    return _section("Problems and oddities", *parts)


def _remark(remark: Remark) -> Html:
    sentence = element("span", element("bdi", clipped(remark.sentence, _LONGEST_REMARK)))
    return element("li", element("strong", remark.label), sentence, class_=remark.label)


def _section(heading: str, *parts: Html) -> list[Html]:
    return [element("h2", heading), *parts]


def _scrolled(table: Table[Any], *, class_: str = "scroll") -> Html:
    body, rest = laid_out(table, _LOOK)
    return joined([scrollable(body, label=table.caption, class_=class_), rest])
