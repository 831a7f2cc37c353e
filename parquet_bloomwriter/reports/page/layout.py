"""The places of filters in a file, drawn as a strip to scale.

    ▒▒▒▒▒▒▒▒▒▒▒▒░░░░░░░░░░░░▒▒▒▒▒▒▒▒▒▒▒▒░░░░░░░░░░░░███▓▓
    row group 0 row group 1 row group 2 row group 3 filters, footer

Each file has a strip of its own, which takes the whole width. Filters that touch are drawn as one,
and none is thinner than a hairline. In a file of very many parts the strip is cut into cells of
equal length, and the height of a cell says which share of its bytes are filters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloomwriter.reports.markup import Html, element, identifier, joined
from parquet_bloomwriter.text import clipped, count, percent, size

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from parquet_bloomwriter.reports.inspection import FileFilters, FilterFacts

_MOST_FILES = 12
"""Number of files that are drawn, the first ones."""

_MOST_PARTS = 600
"""Most row groups and runs of filters that are drawn one by one, in all files together."""

_NUM_CELLS = 200

_HEIGHT = 30
"""Height of a strip, pixels."""

_LEAST_HEIGHT = 2.0
"""Least height of a cell that has filters, pixels."""

_LONGEST_NAMES = 120
"""Most characters of the names of columns in the tooltip of filters."""


@dataclass(slots=True)
class FilterRun:
    """Neighbouring filters that are drawn as one."""

    start: int
    """Absolute position of the first byte."""

    stop: int
    """Absolute position past the last filter."""

    filters: list[FilterFacts]


def filter_runs(file: FileFilters) -> list[FilterRun]:
    """Return the filters of a file by position; filters that touch or overlap are one run."""
    runs: list[FilterRun] = []
    for one in sorted(file.filters, key=lambda one: one.offset):
        if one.length is None or not 0 <= one.offset < file.size:
            continue
        stop = min(one.offset + one.length, file.size)
        if runs and one.offset <= runs[-1].stop:
            runs[-1].stop = max(runs[-1].stop, stop)
            runs[-1].filters.append(one)
        else:
            runs.append(FilterRun(start=one.offset, stop=stop, filters=[one]))
    return runs


def strips_of_files(files: Sequence[FileFilters]) -> list[Html]:
    """Draw the strip of each file, with a text on how to read it and what is left out."""
    drawn = [file for file in files if file.size][:_MOST_FILES]
    runs = [filter_runs(file) for file in drawn]
    most = _MOST_PARTS // max(len(drawn), 1)
    by_cell = [
        len(file.row_groups) + len(own) > most for file, own in zip(drawn, runs, strict=True)
    ]
    parts = [element("p", *_keys(drawn, is_whole=len(drawn) == len(files)), class_="keys")]
    if any(by_cell):
        sentence = (
            "Where filters are too many to be drawn one by one, the height of the blue area is "
            "their share of the bytes there."
        )
        parts.append(element("p", sentence, class_="quiet"))
    for file, own, is_by_cell in zip(drawn, runs, by_cell, strict=True):
        label = [_label(file)] if len(files) > 1 else []
        parts.append(element("div", *label, _strip(file, own, by_cell=is_by_cell), class_="place"))
    if left_out := len(files) - len(drawn):
        parts.append(element("p", f"and {count(left_out, 'more file')}", class_="rest"))
    return parts


def _label(file: FileFilters) -> Html:
    path = Html("buffer") if file.path is None else identifier(file.path.rpartition("/")[2])
    return element("div", path, class_="name")


def _strip(file: FileFilters, runs: Sequence[FilterRun], *, by_cell: bool) -> Html:
    parts = [_rect(file, 0, file.size, class_="rest-of-file")]
    if by_cell:
        parts += _all_row_groups(file)
        parts += _cells(file, runs)
    else:
        parts += _row_groups(file)
        parts += [_run(file, run) for run in runs]
    footer = f"footer, {_span(file.footer_start, file.size)}"
    parts.append(_rect(file, file.footer_start, file.size, class_="footer", title=footer))
    described = f"{count(len(file.filters), 'filter')}, {percent(file.share)} of {size(file.size)}"
    plot = element(
        "svg",
        element("title", "Places of filters"),
        element("desc", described),
        *parts,
        role="img",
        height=_HEIGHT,
        class_="layout",
    )
    ends = [element("span", "byte 0"), element("span", f"{file.size:,}")]
    return joined([plot, element("div", *ends, class_="ends")])


def _row_groups(file: FileFilters) -> Iterable[Html]:
    for ordinal, one in enumerate(file.row_groups):
        named = f"row group {ordinal:,}: {count(one.num_rows, 'row')}, {_span(one.start, one.stop)}"
        class_ = "group odd" if ordinal % 2 else "group"
        yield _rect(file, one.start, one.stop, class_=class_, title=named)


def _all_row_groups(file: FileFilters) -> Iterable[Html]:
    if file.row_groups:
        start = min(one.start for one in file.row_groups)
        stop = max(one.stop for one in file.row_groups)
        title = f"{count(len(file.row_groups), 'row group')}, {_span(start, stop)}"
        yield _rect(file, start, stop, class_="group", title=title)


def _run(file: FileFilters, run: FilterRun) -> Html:
    columns = list(dict.fromkeys(one.column for one in run.filters))
    names = clipped(", ".join(columns), _LONGEST_NAMES)
    title = f"{count(len(run.filters), 'filter')} ({names}), {_span(run.start, run.stop)}"
    return _rect(file, run.start, run.stop, class_="filters", title=title)


def _cells(file: FileFilters, runs: Sequence[FilterRun]) -> Iterable[Html]:
    """Draw cells whose height is the share of their bytes that are filters."""
    length = file.size / _NUM_CELLS
    held = [0.0] * _NUM_CELLS
    for run in runs:
        first, last = int(run.start / length), min(int(run.stop / length), _NUM_CELLS - 1)
        for cell in range(first, last + 1):
            start, stop = max(run.start, cell * length), min(run.stop, (cell + 1) * length)
            held[cell] += max(stop - start, 0.0)
    for cell, num_bytes in enumerate(held):
        if num_bytes:
            share = min(num_bytes / length, 1.0)
            title = (
                f"{_span(int(cell * length), int((cell + 1) * length))}: {percent(share)} filters"
            )
            height = max(_HEIGHT * share, _LEAST_HEIGHT)
            rect = element(
                "rect",
                x=f"{100 * cell / _NUM_CELLS:.2f}%",
                y=_HEIGHT - height,
                width=f"{100 / _NUM_CELLS:.2f}%",
                height=height,
                class_="filters",
            )
            yield element("g", element("title", title), rect)


def _rect(
    file: FileFilters, start: int, stop: int, *, class_: str, title: str | None = None
) -> Html:
    x, width = f"{100 * start / file.size:.4f}%", f"{100 * (stop - start) / file.size:.4f}%"
    drawn = element("rect", x=x, y=0, width=width, height=_HEIGHT, class_=class_)
    return drawn if title is None else element("g", element("title", title), drawn)


def _span(start: int, stop: int) -> str:
    return f"bytes {start:,} to {stop:,} ({size(stop - start)})"


def _keys(files: Sequence[FileFilters], *, is_whole: bool) -> list[Html]:
    """Return the key of the colours, with sizes in bytes if all files are drawn."""
    filters = sum(file.num_filter_bytes for file in files)
    data = sum(one.num_bytes for file in files for one in file.row_groups)
    footers = sum(file.size - file.footer_start for file in files)
    total = sum(file.size for file in files)
    rest = max(total - filters - data - footers, 0)
    keys = [("group", "row groups", data), ("filters", "filters", filters)]
    keys += [("footer", "footer", footers), ("rest-of-file", "page indexes and others", rest)]
    return [
        _key(class_, f"{noun}, {size(num_bytes)}" if is_whole else noun)
        for class_, noun, num_bytes in keys
    ]


def _key(class_: str, meaning: str) -> Html:
    sign = element("rect", x=0, y=0, width=12, height=12, class_=class_)
    drawn = element("svg", sign, width=12, height=12, aria_hidden="true")
    return element("span", drawn, meaning, class_="key")
