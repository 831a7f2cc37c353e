"""The summary of any report as HTML for a notebook's cell: a headline, a table, remarks.

Styles are inline and inherit colours, so light and dark themes look right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.reports.markup import Html, Look, element, identifier, joined, laid_out
from parquet_bloomwriter.reports.summary import MOST_ROWS
from parquet_bloomwriter.text import clipped

if TYPE_CHECKING:
    from parquet_bloomwriter.reports.summary import Remark, Report, Summary

_MOST_REMARKS = 20

_LINE = "1px solid rgba(128,128,128,.4)"
_CELL = "padding:.2em .5em;background:transparent;color:inherit;vertical-align:top;border:0"
_RULED = f"{_CELL};border-bottom:{_LINE}"
_FIGURES = "text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums"
_WORDS = "text-align:left;white-space:nowrap"
_HEADING = "vertical-align:bottom;white-space:normal;font-weight:600"
_WRAPPED = "text-align:left;white-space:normal;overflow-wrap:anywhere"
_SCROLLED = "overflow-x:auto;scrollbar-width:thin;scrollbar-color:rgba(128,128,128,.6) transparent"
_HIDDEN = "position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)"

_NOTEBOOK = Look(
    most_rows=MOST_ROWS,
    table={"style": "border-collapse:collapse;margin:.4em 0;color:inherit;border:0"},
    caption={"style": _HIDDEN},
    text_heading={"style": f"{_RULED};text-align:left;{_HEADING}"},
    number_heading={"style": f"{_RULED};text-align:right;{_HEADING}"},
    row_heading={"style": f"{_CELL};{_WRAPPED};min-width:7em;max-width:30em;font-weight:400"},
    text={"style": f"{_CELL};{_WORDS}"},
    long_text={"style": f"{_CELL};{_WRAPPED};min-width:12em;max-width:40em"},
    number={"style": f"{_CELL};{_FIGURES}"},
    rest={"style": "margin:.2em .5em;font-style:italic"},
)


def for_notebook(summary: Summary) -> Html:
    """Draw a summary for a notebook's cell."""
    parts = [_headline(summary)]
    if summary.table is not None and summary.table.rows:
        parts += laid_out(summary.table, _NOTEBOOK)
    if summary.remarks:
        parts.append(_remarks(summary.remarks))
    style = f"position:relative;color:inherit;line-height:1.4;{_SCROLLED}"
    return element("div", *parts, class_="parquet-bloomwriter", style=style)


def _headline(summary: Summary) -> Html:
    paths = list(dict.fromkeys(path for path in summary.paths if path is not None))
    named = [identifier(path) for path in paths] or [Html("buffer")]
    arrows = [piece for path in named for piece in (Html(" → "), path)][1:]
    heading = element("strong", *arrows, style="overflow-wrap:anywhere")
    return element("div", heading, ": ", summary.headline)


def _remarks(remarks: tuple[Remark, ...]) -> Html:
    shown = [_remark(remark) for remark in remarks[:_MOST_REMARKS]]
    if left_out := len(remarks) - len(shown):
        shown.append(element("li", f"and {left_out:,} more", style="font-style:italic"))
    style = "list-style:none;margin:.3em 0 0;padding:0;color:inherit"
    return element("ul", *shown, style=style)


def _remark(remark: Remark) -> Html:
    label = element("strong", remark.label, style="font-weight:600")
    sentence = element("bdi", clipped(remark.sentence, 1_000))
    style = "margin:.1em 0;padding:0;overflow-wrap:anywhere"
    return element("li", joined([label, ": ", sentence]), style=style)


def notebook_html(report: Report) -> str:
    """Draw a report as a headline, a table and remarks, for `_repr_html_`.

    The markup is one element with inline styles only. It has the colours of the notebook, whose
    theme may be light or dark. Long tables are cut, and the number of rows left out is shown.

    Args:
        report: The report of a verb.

    Raises:
        InvalidArgument: If `report` is not a report.
    """
    if not hasattr(report, "summary"):
        problem = f"{type(report).__name__} is no report"
        raise InvalidArgument(problem, remedy="Pass what one of the verbs returned.")
    return for_notebook(report.summary()).source
