"""Figures of queries on Spark; see `benchmarks.spark_tasks` and `benchmarks.spark_join_tasks`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from benchmarks.measure import Figure, Timing, at_least, at_most, read_timings, run
from benchmarks.spark_data import LOW_FPP, NUM_FACTS, NUM_FEW, NUM_KEYS, NUM_LINKS, NUM_MANY
from benchmarks.spark_shapes import SHAPES

if TYPE_CHECKING:
    from collections.abc import Iterator

_LONG = 3
"""Queries of seconds run so often at most."""


def _output(module: str, name: str, repeats: int) -> str:
    return run((sys.executable, "-m", f"benchmarks.{module}", name, str(repeats))).output


def point(repeats: int) -> Iterator[Figure]:
    """One id in 2,000 files."""
    timings = read_timings(_output("spark_tasks", "point", repeats))
    way = f"rules and index of FPP {LOW_FPP:.1%}"
    for kind, words in (("absent", "an absent id"), ("present", "an id in one file")):
        nothing, embedded = timings[f"{kind}_nothing"], timings[f"{kind}_embedded"]
        what = f"{words}, {NUM_MANY:,} files"
        ours = timings[f"{kind}_index"]
        neither = f"{what}, against no rules and no index"
        yield at_least(f"{neither}: rules and index", ours, base=nothing, limit=20)
        low = timings[f"{kind}_low"]
        yield at_least(f"{neither}: {way}", low, base=nothing, limit=20)
        for name, other_way in (
            ("where", "`where` and index, without rules"),
            ("embedded", "embedded filters alone"),
        ):
            other = timings[f"{kind}_{name}"]
            figure = f"{nothing.best / other.best:.1f}x as fast: {other} against {nothing}"
            yield Figure(what=f"{neither}: {other_way}", figure=figure)
        against = "rules and index, against embedded filters alone"
        yield at_least(f"{what}, {against}", ours, base=embedded, limit=5)
    alone, nothing = timings["present_alone"], timings["present_nothing"]
    what = f"an id in one file, {NUM_MANY:,} files, {way}, against Spark with that file alone"
    yield at_most(what, timings["present_low"], base=alone, limit=1.5)
    figure = f"{nothing.best / alone.best:.1f}x as fast: {alone} against {nothing}"
    what = f"an id in one file, Spark with that file alone, against {NUM_MANY:,} files"
    yield Figure(what=what, figure=figure)


def planning(repeats: int) -> Iterator[Figure]:
    """What rules cost before a query begins."""
    timings = read_timings(_output("spark_tasks", "planning", repeats))
    for kind, words in (("absent", "in no file"), ("present", "in one file of a hundred")):
        for name, phase, limit in (
            ("optimizer", "the optimizer", 50.0),
            ("planning", "the optimizer and the listing of the scan's files", None),
        ):
            off, on = timings[f"{kind}_{name}_off"], timings[f"{kind}_{name}_on"]
            more = 1000 * (on.median - off.median)
            what = (
                f"{NUM_LINKS:,} indexed files, time with rules minus without: "
                f"an id {words}, {phase}"
            )
            figure = (
                f"{more:.1f} ms: medians of {1000 * on.median:.2f} ms and "
                f"{1000 * off.median:.2f} ms"
            )
            yield Figure(
                what=what,
                figure=figure,
                target="" if limit is None else f"at most {limit:g} ms",
                met=None if limit is None else more <= limit,
            )


def join(repeats: int) -> Iterator[Figure]:
    """A sort-merge join of which one side loses nearly all of its rows."""
    found = json.loads(_output("spark_join_tasks", "join", min(repeats, _LONG)))
    for name, num_keys, limit in (("few", NUM_FEW, 1 / 3), ("many", NUM_KEYS, 1 / 2)):
        off, on = (Timing(seconds=tuple(found[f"{name}_{case}"])) for case in ("off", "on"))
        what = f"{NUM_FACTS:,} rows joined with {num_keys:,} keys, rules on against off"
        yield at_most(f"{what}: time", on, base=off, limit=limit)
        yield _shuffle(what, found[f"{name}_on_bytes"], found[f"{name}_off_bytes"], name)


def _shuffle(what: str, on: int, off: int, name: str) -> Figure:
    share = on / off
    return Figure(
        what=f"{what}: bytes shuffled",
        figure=f"1/{1 / share:.1f}: {on / 1e6:.1f} MB against {off / 1e6:.1f} MB",
        target="at most 1/20" if name == "few" else "",
        met=share <= 1 / 20 if name == "few" else None,
    )


def shapes(repeats: int) -> Iterator[Figure]:
    """Ten shapes that rules must not make slower."""
    found: dict[str, dict[str, Any]] = json.loads(
        _output("spark_join_tasks", "shapes", min(repeats, _LONG))
    )
    for name, shape in SHAPES.items():
        off, on = (Timing(seconds=tuple(found[name][case])) for case in ("off", "on"))
        yield at_most(f"Rules on against off: {shape.what}", on, base=off, limit=1.1)
