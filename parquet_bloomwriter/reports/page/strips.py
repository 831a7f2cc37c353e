"""Strips: one value of one column in all row groups, from left to right.

    100 KiB ─────────────────────────     a dot is a row group, or the mean of a run of them;
               ●  ●     ●  ●              a bar behind it goes from the lowest to the highest;
     10 KiB ─────●───────────────●───     a dash below: a row group without a filter;
                     ▬        x           a cross below: a filter that must not be trusted

Positions across are percentages and heights are pixels, so a strip fits any width without a script.
Runs are equally long, apart from the last, and as many as leave the page small.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloomwriter.reports.markup import Html, element, joined, named
from parquet_bloomwriter.reports.page.figures import mean
from parquet_bloomwriter.text import count

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from parquet_bloomwriter.html.places import Places
    from parquet_bloomwriter.reports.inspection import FilterFacts
    from parquet_bloomwriter.reports.page.figures import ColumnFigures, PlacedFilter
    from parquet_bloomwriter.reports.page.scale import Scale

HEIGHT = 66
"""Of a strip, pixels; the lowest part holds dashes and crosses."""

CROSS = "\N{MULTIPLICATION SIGN}"
"""Sign of a filter that must not be trusted."""

_TOP = 7
_BOTTOM = 52
_LANE = 62
_RADIUS = 2.6
_SMALL_RADIUS = 1.8
_NARROW = 2.0
"""Per cent of the width; dots of narrower runs are small."""

_LABEL_WIDTH = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """What a strip shows of a filter."""

    title: str
    value: Callable[[FilterFacts], float | None]
    label: Callable[[float], str]
    """Writes a value."""

    scale: Scale

    def of(self, one: PlacedFilter) -> float | None:
        """Return the value of a filter if there is one that can be drawn."""
        value = self.value(one.facts)
        return value if value is not None and math.isfinite(value) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Neighbouring row groups that share a mark."""

    start: int
    """Position of the first."""

    stop: int
    """Position behind the last."""

    filters: tuple[PlacedFilter, ...]

    @property
    def num_missing(self) -> int:
        """Row groups without a filter."""
        return self.stop - self.start - len(self.filters)

    @property
    def num_problems(self) -> int:
        """Filters that must not be trusted."""
        return sum(one.facts.problem is not None for one in self.filters)


def runs_of(column: ColumnFigures, *, most: int) -> tuple[Run, ...]:
    """Divide row groups into at most `most` runs."""
    length = max(-(-column.num_row_groups // most), 1)
    starts = range(0, column.num_row_groups, length)
    members: list[list[PlacedFilter]] = [[] for _ in starts]
    for one in column.filters:
        members[one.position // length].append(one)
    return tuple(
        Run(start=s, stop=min(s + length, column.num_row_groups), filters=tuple(filters))
        for s, filters in zip(starts, members, strict=True)
    )


def strip(column: ColumnFigures, runs: Sequence[Run], metric: Metric, places: Places) -> Html:
    """Draw one strip and the labels of its scale."""
    marks = [_mark(run, metric, places) for run in runs]
    lines = [_line(metric.scale.height(value)) for value, _ in metric.scale.ticks]
    plot = element(
        "svg",
        element("title", f"{metric.title} of {named(column.name)}"),
        element("desc", _described(column, metric)),
        *lines,
        *[_rule(100 * start / places.total) for start in places.rules],
        *marks,
        role="img",
        height=HEIGHT,
        class_="strip",
    )
    return joined([_labels(metric.scale), plot])


def _mark(run: Run, metric: Metric, places: Places) -> Html:
    """Draw one run: something to point at, then what is known of it."""
    left = 100 * run.start / places.total
    width = 100 * (run.stop - run.start) / places.total
    values = [value for one in run.filters if (value := metric.of(one)) is not None]
    parts = [_rect("at", left, 0, width, HEIGHT)]
    if values:
        parts += _dot(values, metric.scale, middle=left + width / 2, width=width)
    if run.num_problems:
        parts.append(_cross(left + width / 2))
    elif run.num_missing:
        parts.append(_rect("none", left + 0.15 * width, _LANE - 1, 0.7 * width, 2))
    return element("g", element("title", _told(run, values, metric, places)), *parts)


def _dot(values: Sequence[float], scale: Scale, *, middle: float, width: float) -> list[Html]:
    low, high = _y(scale.height(min(values))), _y(scale.height(max(values)))
    at = _y(scale.height(mean(values) or 0.0))
    radius = _RADIUS if width > _NARROW else _SMALL_RADIUS
    dot = element("circle", cx=f"{middle:.2f}%", cy=at, r=radius, class_="dot")
    if low - high < 1:
        return [dot]
    bar = min(width * 0.7, 2.0)
    return [_rect("bar", middle - bar / 2, high, bar, low - high), dot]


def _told(run: Run, values: Sequence[float], metric: Metric, places: Places) -> str:
    told = [
        f"{places.told(run.start, run.stop)}: {_valued(values, metric) if values else 'no value'}"
    ]
    if run.num_missing:
        told.append(f"{run.num_missing:,} without a filter")
    if run.num_problems:
        told.append(count(run.num_problems, "problem"))
    return "; ".join(told)


def _valued(values: Sequence[float], metric: Metric) -> str:
    low, high = metric.label(min(values)), metric.label(max(values))
    if low == high:
        return low
    return f"{low} to {high}, mean {metric.label(mean(values) or 0.0)}"


def _described(column: ColumnFigures, metric: Metric) -> str:
    values = [value for one in column.filters if (value := metric.of(one)) is not None]
    row_groups = count(column.num_row_groups, "row group")
    filters = f"{count(len(column.filters), 'filter')} in {row_groups}"
    return f"{filters}: {_valued(values, metric)}" if values else filters


def _labels(scale: Scale) -> Html:
    texts = [
        element("text", label, x=_LABEL_WIDTH - 6, y=_y(scale.height(value)) + 3.5)
        for value, label in scale.ticks
    ]
    size = {"width": _LABEL_WIDTH, "height": HEIGHT}
    return element("svg", *texts, class_="labels", aria_hidden="true", **size)


def _line(height: float) -> Html:
    return element("line", x1="0", x2="100%", y1=_y(height), y2=_y(height), class_="line")


def _rule(x: float) -> Html:
    return element("line", x1=f"{x:.2f}%", x2=f"{x:.2f}%", y1=_TOP, y2=_BOTTOM, class_="rule")


def _cross(x: float) -> Html:
    return element("text", CROSS, x=f"{x:.2f}%", y=_LANE + 4, class_="bad")


def _rect(class_: str, x: float, y: float, width: float, height: float) -> Html:
    return element("rect", x=f"{x:.2f}%", y=y, width=f"{width:.2f}%", height=height, class_=class_)


def _y(height: float) -> float:
    return _BOTTOM - height * (_BOTTOM - _TOP)
