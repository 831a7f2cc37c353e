"""Ten shapes of queries that rules help little or not at all, over the tables of `spark_data`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """One query."""

    what: str
    """For the report, Markdown."""

    sql: str
    is_sorted: bool = False
    """Whether sort-merge join is forced."""

    is_short: bool = False
    """Whether it takes so little time that it runs three times as often."""


SHAPES: Final = {
    "star": Shape(
        what="star join of two tables of keys in which every row has its key, sort-merge join",
        sql="SELECT count(*), sum(s.value), sum(m.weight), sum(f.weight) FROM stars s "
        "JOIN keys_many m ON s.many = m.key JOIN keys_few f ON s.few = f.key",
        is_sorted=True,
    ),
    "small": Shape(
        what="join of small tables",
        sql="SELECT count(*), sum(a.value) FROM small a JOIN small b ON a.key = b.key",
        is_short=True,
    ),
    "selective": Shape(
        what="join after a selective condition on a column without index",
        sql="SELECT count(*), sum(s.value), sum(k.weight) FROM stars s "
        "JOIN keys_many k ON s.many = k.key WHERE s.value < 0.001",
    ),
    "broadcast": Shape(
        what="join with broadcast allowed",
        sql="SELECT count(*), sum(s.value), sum(k.weight) FROM stars s "
        "JOIN keys_few k ON s.few = k.key",
    ),
    "aggregate": Shape(
        what="aggregate below a join, sort-merge join",
        sql="SELECT count(*), sum(s.total), sum(k.weight) FROM "
        "(SELECT few, sum(value) AS total FROM stars GROUP BY few) s "
        "JOIN keys_few k ON s.few = k.key",
        is_sorted=True,
    ),
    "left_outer": Shape(
        what="left outer join, sort-merge join",
        sql="SELECT count(*), sum(s.value), sum(k.weight) FROM stars s "
        "LEFT JOIN keys_few k ON s.few = k.key",
        is_sorted=True,
    ),
    "anti": Shape(
        what="left anti join, sort-merge join",
        sql="SELECT count(*), sum(s.value) FROM stars s LEFT ANTI JOIN keys_few k ON s.key = k.key",
        is_sorted=True,
    ),
    "in": Shape(
        what="IN with a subquery that has every value, sort-merge join",
        sql="SELECT count(*), sum(value) FROM stars WHERE few IN (SELECT key FROM keys_few)",
        is_sorted=True,
    ),
    "everywhere": Shape(
        what="equality with a value that every file has",
        sql="SELECT count(*), sum(value), max(text) FROM stars WHERE kind = 3",
        is_short=True,
    ),
    "scan": Shape(
        what="scan without a condition",
        sql="SELECT count(*), sum(value), max(text) FROM stars",
        is_short=True,
    ),
}
