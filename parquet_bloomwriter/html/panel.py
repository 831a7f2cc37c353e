"""Size, exact FPP and fill of every filter: a row of strips for each column, on common scales."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloomwriter.reports.markup import Html, element, identifier, scrollable
from parquet_bloomwriter.reports.page.scale import rate_scale, share_scale, size_scale
from parquet_bloomwriter.reports.page.strips import CROSS, Metric, runs_of, strip
from parquet_bloomwriter.text import count, percent, rate, size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_bloomwriter.html.places import Places
    from parquet_bloomwriter.reports.page.figures import ColumnFigures

_MOST_COLUMNS = 50
"""Columns drawn; of more, those with the most bytes of filters."""

_MOST_MARKS = 2_000
"""Of one metric, over all columns."""

_MOST_RUNS = 96
"""Of one strip: more than that would not be told apart."""


def panel(columns: Sequence[ColumnFigures], places: Places) -> list[Html]:
    """Draw all strips, and say how to read them and what is left out."""
    drawn = _drawn(columns)
    most = min(_MOST_RUNS, _MOST_MARKS // len(drawn))
    metrics = _metrics(drawn)
    rows = [_row(column, metrics, places, most=most) for column in drawn]
    parts = [
        element("p", _reading(places, most=most), class_="quiet"),
        element("p", *_keys(is_grouped=places.total > most)),
        scrollable(_head(metrics), *rows, label="Plots by column", class_="strips"),
    ]
    if left_out := len(columns) - len(drawn):
        sentence = f"and {count(left_out, 'more column')} with fewer bytes of filters"
        parts.append(element("p", sentence, class_="rest"))
    return parts


def _drawn(columns: Sequence[ColumnFigures]) -> list[ColumnFigures]:
    largest = sorted(columns, key=lambda one: one.num_filter_bytes, reverse=True)[:_MOST_COLUMNS]
    chosen = set(map(id, largest))
    return [column for column in columns if id(column) in chosen]


def _metrics(columns: Sequence[ColumnFigures]) -> tuple[Metric, ...]:
    facts = [one.facts for column in columns for one in column.filters]
    sizes = [one.length for one in facts if one.length]
    rates = [one.fpp for one in facts if one.fpp and one.problem is None]
    return (
        Metric(
            title="Size",
            value=lambda one: one.length,
            label=lambda value: size(round(value)),
            scale=size_scale(sizes),
        ),
        Metric(
            title="Exact FPP",
            value=lambda one: one.fpp if one.problem is None else None,
            label=rate,
            scale=rate_scale(rates),
        ),
        Metric(title="Fill", value=lambda one: one.fill, label=percent, scale=share_scale()),
    )


def _row(column: ColumnFigures, metrics: Sequence[Metric], places: Places, *, most: int) -> Html:
    runs = runs_of(column, most=most)
    label = [identifier(column.name), element("small", ", ".join(column.physical_types))]
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
