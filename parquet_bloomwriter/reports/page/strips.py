"""The plots of a page: size, exact FPP and fill of every filter, over the row groups of all files.

Each column has a row of three *strips*, one for each figure; those of one figure share a scale:

    100 KiB ─────────────────────────     a dot is a row group, or the mean of a run of them;
               ●  ●     ●  ●              a bar behind it goes from the lowest to the highest;
     10 KiB ─────●───────────────●───     a dash below: a row group without a filter;
                     ▬        x           a cross below: a filter that must not be trusted

From left to right stand the row groups of all files, one file after the other. Positions across are
percentages and heights are pixels, so a strip fits any width without a script. Runs are equally
long, apart from the last, and so many that the page stays small. A `Scale` says how high a value
stands, and which values are written beside a plot.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from parquet_bloomwriter.reports.markup import Html, element, identifier, joined, named, scrollable
from parquet_bloomwriter.reports.summary import mean
from parquet_bloomwriter.text import count, percent, rate, size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from parquet_bloomwriter.reports.inspection import (
        ColumnFigures,
        FileFilters,
        FilterFacts,
        PlacedFilter,
    )

_KIBI = 1024
_SMALLEST_RATE = 1e-12
"""Rate at the bottom of the scale; lower rates, and zero, are drawn there."""

_MOST_STEPS = 3
"""Most distances between lines; a scale of more decades or octaves leaves lines out."""

_LOWEST_DECIMAL = -4
"""Exponent below which powers of ten are written as such."""

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

_NEAR = 1e-9
"""Largest rounding error in the logarithm of a whole power."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The heights of values in a plot."""

    low: float
    """Value, or its logarithm, at the bottom."""

    high: float
    """Value, or its logarithm, at the top; greater than `low`."""

    base: float | None
    """Base of the logarithm; None for a linear scale."""

    ticks: tuple[tuple[float, str], ...]
    """Values with a line and a label."""

    def height(self, value: float) -> float:
        """Return the height of a value, from 0 at the bottom to 1 at the top."""
        along = value if self.base is None else self._log(value)
        return min(max((along - self.low) / (self.high - self.low), 0.0), 1.0)

    def _log(self, value: float) -> float:
        return math.log(value, self.base or math.e) if value > 0 else self.low


def size_scale(sizes: Iterable[float]) -> Scale:
    """Return a scale of bytes, in powers of two."""
    low, high = _bounds(sizes, base=2.0, least=1.0)
    steps, step = _steps(low, high)
    powers = range(low, low + steps * step + 1, step)
    return _logarithmic(powers, base=2.0, label=_short_size)


def rate_scale(rates: Iterable[float]) -> Scale:
    """Return a scale of probabilities, in powers of ten up to 1."""
    low, high = _bounds(rates, base=10.0, least=_SMALLEST_RATE)
    high = min(high, 0)
    steps, step = _steps(low, high)
    return _logarithmic(range(high - steps * step, high + 1, step), base=10.0, label=_short_rate)


def share_scale() -> Scale:
    """Return a scale of shares, from 0 % to 100 %."""
    ticks = ((0.0, "0 %"), (0.5, "50 %"), (1.0, "100 %"))
    return Scale(low=0.0, high=1.0, base=None, ticks=ticks)


def _bounds(values: Iterable[float], *, base: float, least: float) -> tuple[int, int]:
    """Return the powers that enclose all values, at least two apart."""
    known = [math.log(max(value, least), base) for value in values] or [0.0]
    low, high = math.floor(min(known) + _NEAR), math.ceil(max(known) - _NEAR)
    return (low, high) if high - low > 1 else (low - 1, high + 1)


def _steps(low: int, high: int) -> tuple[int, int]:
    """Return the number of steps between two powers, rounded up, and their length."""
    length = math.ceil((high - low) / _MOST_STEPS)
    return math.ceil((high - low) / length), length


def _logarithmic(powers: range, *, base: float, label: Callable[[float], str]) -> Scale:
    values = [base**power for power in powers]
    ticks = tuple((value, label(value)) for value in values)
    return Scale(low=float(powers[0]), high=float(powers[-1]), base=base, ticks=ticks)


def _short_rate(probability: float) -> str:
    power = round(math.log10(probability))
    return rate(probability) if power > _LOWEST_DECIMAL else f"10{str(power).translate(_RAISED)}"


def _short_size(num_bytes: float) -> str:
    if num_bytes < _KIBI:
        return f"{num_bytes:.4g} B"
    power = min(int(math.log2(num_bytes)) // 10, 4)
    return f"{num_bytes / _KIBI**power:,.0f} {'KMGT'[power - 1]}iB"


HEIGHT = 66
"""Height of a strip, pixels; the lowest part holds dashes and crosses."""

CROSS = "\N{MULTIPLICATION SIGN}"
"""Sign of a filter that must not be trusted."""

_TOP = 7
_BOTTOM = 52
_LANE = 62
_RADIUS = 2.6
_SMALL_RADIUS = 1.8
_NARROW = 2.0
"""Per cent of the width of a strip; dots of narrower runs are small."""

_LABEL_WIDTH = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """The figure of a filter that a strip shows."""

    title: str
    value: Callable[[FilterFacts], float | None]
    label: Callable[[float], str]
    """Function that writes a value for people."""

    scale: Scale

    def of(self, placed: PlacedFilter) -> float | None:
        """Return the value of a filter; None without a finite value."""
        value = self.value(placed.facts)
        return value if value is not None and math.isfinite(value) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Neighbouring row groups that are drawn as one mark."""

    start: int
    """Position of the first row group."""

    stop: int
    """Position after the last row group."""

    filters: tuple[PlacedFilter, ...]

    @property
    def num_missing(self) -> int:
        """Number of row groups without a filter."""
        return self.stop - self.start - len(self.filters)

    @property
    def num_problems(self) -> int:
        """Number of filters that must not be trusted."""
        return sum(placed.facts.problem is not None for placed in self.filters)


def runs_of(column: ColumnFigures, *, most: int) -> tuple[Run, ...]:
    """Divide row groups into at most `most` runs."""
    length = max(-(-column.num_row_groups // most), 1)
    starts = range(0, column.num_row_groups, length)
    members: list[list[PlacedFilter]] = [[] for _ in starts]
    for placed in column.filters:
        members[placed.position // length].append(placed)
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
    """Draw one run: an area to point at, then dot, bar, dash or cross."""
    left = 100 * run.start / places.total
    width = 100 * (run.stop - run.start) / places.total
    values = [value for placed in run.filters if (value := metric.of(placed)) is not None]
    parts = [_rect("at", left, 0, width, HEIGHT)]
    if values:
        parts += _dot(values, metric.scale, middle=left + width / 2, width=width)
    if run.num_problems:
        parts.append(_cross(left + width / 2))
    elif run.num_missing:
        parts.append(_rect("none", left + 0.15 * width, _LANE - 1, 0.7 * width, 2))
    return element("g", element("title", _mark_title(run, values, metric, places)), *parts)


def _dot(values: Sequence[float], scale: Scale, *, middle: float, width: float) -> list[Html]:
    low, high = _y(scale.height(min(values))), _y(scale.height(max(values)))
    at = _y(scale.height(mean(values) or 0.0))
    radius = _RADIUS if width > _NARROW else _SMALL_RADIUS
    dot = element("circle", cx=f"{middle:.2f}%", cy=at, r=radius, class_="dot")
    if low - high < 1:
        return [dot]
    bar = min(width * 0.7, 2.0)
    return [_rect("bar", middle - bar / 2, high, bar, low - high), dot]


def _mark_title(run: Run, values: Sequence[float], metric: Metric, places: Places) -> str:
    parts = [
        f"{places.name(run.start, run.stop)}: {_valued(values, metric) if values else 'no value'}"
    ]
    if run.num_missing:
        parts.append(f"{run.num_missing:,} without a filter")
    if run.num_problems:
        parts.append(count(run.num_problems, "problem"))
    return "; ".join(parts)


def _valued(values: Sequence[float], metric: Metric) -> str:
    low, high = metric.label(min(values)), metric.label(max(values))
    if low == high:
        return low
    return f"{low} to {high}, mean {metric.label(mean(values) or 0.0)}"


def _described(column: ColumnFigures, metric: Metric) -> str:
    values = [value for placed in column.filters if (value := metric.of(placed)) is not None]
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


_MOST_COLUMNS = 50
"""Number of columns that are drawn; if there are more, those with the most bytes of filters."""

_MOST_MARKS = 2_000
"""Most marks of one metric, over all columns."""

_MOST_RUNS = 96
"""Most runs of one strip: eyes cannot tell more apart."""


def panel(columns: Sequence[ColumnFigures], places: Places) -> list[Html]:
    """Draw all strips, and say how to read them and what is left out."""
    drawn = _drawn(columns)
    most = min(_MOST_RUNS, _MOST_MARKS // len(drawn))
    metrics = _metrics(drawn)
    rows = [_row(column, metrics, places, most=most) for column in drawn]
    parts = [
        element("p", _reading(places, most=most), class_="quiet"),
        element("p", *_keys(is_grouped=places.total > most), class_="keys"),
        scrollable(_head(metrics), *rows, label="Plots by column", class_="strips"),
    ]
    if left_out := len(columns) - len(drawn):
        sentence = f"and {count(left_out, 'more column')} with fewer bytes of filters"
        parts.append(element("p", sentence, class_="rest"))
    return parts


def _drawn(columns: Sequence[ColumnFigures]) -> list[ColumnFigures]:
    ordinals = sorted(range(len(columns)), key=lambda ordinal: -columns[ordinal].num_filter_bytes)
    return [columns[ordinal] for ordinal in sorted(ordinals[:_MOST_COLUMNS])]


def _metrics(columns: Sequence[ColumnFigures]) -> tuple[Metric, ...]:
    facts = [placed.facts for column in columns for placed in column.filters]
    sizes = [stored.length for stored in facts if stored.length]
    rates = [stored.fpp for stored in facts if stored.fpp and stored.problem is None]
    return (
        Metric(
            title="Size",
            value=lambda stored: stored.length,
            label=lambda value: size(round(value)),
            scale=size_scale(sizes),
        ),
        Metric(
            title="Exact FPP",
            value=lambda stored: stored.fpp if stored.problem is None else None,
            label=rate,
            scale=rate_scale(rates),
        ),
        Metric(title="Fill", value=lambda stored: stored.fill, label=percent, scale=share_scale()),
    )


def _row(column: ColumnFigures, metrics: Sequence[Metric], places: Places, *, most: int) -> Html:
    runs = runs_of(column, most=most)
    label = [identifier(column.name), element("small", ", ".join(column.types))]
    cells = [
        element(
            "div",
            element("span", metric.title, class_="metric"),
            strip(column, runs, metric, places),
            class_="cell",
        )
        for metric in metrics
    ]
    return element("div", element("div", *label, class_="name"), *cells, class_="row")


def _head(metrics: Sequence[Metric]) -> Html:
    notes = ("headers and bitsets, log scale", "log scale", "share of bits that are set")
    cells = [
        element("span", f"{metric.title}: {note}", class_="metric")
        for metric, note in zip(metrics, notes, strict=True)
    ]
    return element("div", element("span", "column"), *cells, class_="row head")


def _reading(places: Places, *, most: int) -> str:
    reading = f"From left to right: {places.extent()}."
    if places.total > most:
        together = -(-places.total // most)
        reading += f" Each mark stands for {together:,} row groups."
    if places.rules:
        reading += " Dotted lines part the files."
    return reading


def _keys(*, is_grouped: bool) -> list[Html]:
    dot = element("circle", cx=6, cy=6, r=2.6, class_="dot")
    bar = element("rect", x=4, y=0, width=4, height=12, class_="bar")
    dash = element("rect", x=1, y=5, width=10, height=2, class_="none")
    cross = element("text", CROSS, x=6, y=11, class_="bad")
    keys = [(dot, "mean" if is_grouped else "row group")]
    if is_grouped:
        keys.append((bar, "lowest to highest"))
    some = "some " if is_grouped else ""
    keys += [(dash, f"{some}without a filter"), (cross, f"{some}must not be trusted")]
    return [_key(sign, meaning) for sign, meaning in keys]


def _key(sign: Html, meaning: str) -> Html:
    drawn = element("svg", sign, width=12, height=12, aria_hidden="true")
    return element("span", drawn, meaning, class_="key")


_MOST_RULES = 24
"""Most boundaries between files that are drawn; if there are more, none is drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Positions of row groups, 0-based, and the files that they belong to."""

    starts: tuple[int, ...]
    """Position of the first row group of each file."""

    total: int
    """Number of row groups of all files."""

    @classmethod
    def of(cls, files: Sequence[FileFilters]) -> Places:
        """Return the positions of the row groups of some files."""
        stops = list(accumulate((file.num_row_groups for file in files), initial=0))
        return cls(starts=tuple(stops[:-1]), total=stops[-1])

    @property
    def rules(self) -> tuple[int, ...]:
        """Positions at which a file begins, apart from the first; empty if they are too many."""
        between = tuple(sorted({start for start in self.starts if 0 < start < self.total}))
        return between if len(between) <= _MOST_RULES else ()

    def name(self, start: int, stop: int) -> str:
        """Return a text that names row groups [start, stop), by their numbers in their files."""
        if len(self.starts) > 1:
            first, last = self._within(start), self._within(stop - 1)
            return first if first == last else f"{first} to {last}"
        if stop - start == 1:
            return f"row group {start:,}"
        return f"row groups {start:,}-{stop - 1:,}"

    def extent(self) -> str:
        """A text on what the strip shows from left to right."""
        if len(self.starts) > 1:
            return f"{count(self.total, 'row group')} of {count(len(self.starts), 'file')}"
        return self.name(0, self.total) if self.total else "no row group"

    def _within(self, position: int) -> str:
        file = bisect_right(self.starts, position) - 1
        return f"file {file + 1:,} row group {position - self.starts[file]:,}"
