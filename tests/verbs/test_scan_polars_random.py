"""Whatever Polars is asked of whatever file: `scan_polars` gives the rows that Polars selects.

The referee is Polars on a table in memory, where no statistics are looked at, and no batches are
cut.
"""

from __future__ import annotations

import io
import os
from operator import and_, eq, ge, gt, le, lt, ne, or_, xor
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from parquet_bloomwriter import scan_polars
from tests.support.random_tables import POOLS, ROW, files, schemas

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hypothesis.strategies import DrawFn, SearchStrategy

    from tests.support.random_tables import Column, RandomFile

EXAMPLES = int(os.environ.get("SCAN_POLARS_EXAMPLES", "200"))

COMPARE: list[Callable[[Any, Any], Any]] = [eq, ne, lt, le, gt, ge]
CASTS = [pl.Int8, pl.UInt8, pl.Int64, pl.UInt64, pl.Float32, pl.Float64, pl.String, pl.Date]
FORMS = [
    *("compare", "compare", "mirror", "is_in", "is_in", "series", "between", "missing", "null"),
    *("valid", "cast", "itself", "plain", "not missing", "strict cast"),
]


@st.composite
def leaves(draw: DrawFn, columns: Sequence[Column]) -> pl.Expr:
    column = draw(st.sampled_from(columns))
    field = pl.col(column.path[0])
    for name in column.path[1:]:
        field = field.struct.field(name)
    own = POOLS[column.type]
    pool = draw(st.sampled_from([own, own, own, *POOLS.values()]))
    literal = draw(st.sampled_from(pool))
    several = draw(st.lists(st.sampled_from([*pool, None]), max_size=4))
    compare = draw(st.sampled_from(COMPARE))
    match draw(st.sampled_from(FORMS)):
        case "compare":
            return compare(field, literal)
        case "mirror":
            return compare(pl.lit(literal), field)
        case "is_in":
            return field.is_in(several, nulls_equal=draw(st.booleans()))
        case "series":
            return field.is_in(pl.Series(several))
        case "between":
            closed = draw(st.sampled_from(["both", "left", "right", "none"]))
            return field.is_between(literal, draw(st.sampled_from(pool)), closed=closed)
        case "missing":
            return field.eq_missing(literal)
        case "not missing":
            return field.ne_missing(literal)
        case "null":
            return field.is_null()
        case "valid":
            return field.is_not_null()
        case "cast":
            return compare(field.cast(draw(st.sampled_from(CASTS)), strict=False), literal)
        case "strict cast":
            return compare(field.cast(pl.Int64), literal)
        case "itself":
            return compare(field, field)
    return field


def conditions(columns: Sequence[Column]) -> SearchStrategy[pl.Expr]:
    return st.recursive(
        leaves(columns),
        lambda inner: st.one_of(
            *(st.builds(join, inner, inner) for join in (and_, or_, xor)),
            inner.map(lambda one: ~one),
        ),
        max_leaves=5,
    )


@st.composite
def questions(draw: DrawFn) -> tuple[RandomFile, pl.Expr]:
    columns = draw(schemas())
    return draw(files(columns)), draw(conditions(columns))


@pytest.mark.filterwarnings("ignore::UserWarning")  # of comparisons with null
@settings(max_examples=EXAMPLES)
@given(questions())
def test_any_condition_finds_the_rows_that_polars_selects(
    question: tuple[RandomFile, pl.Expr],
) -> None:
    file, condition = question
    try:
        whole = pl.DataFrame(pq.read_table(io.BytesIO(file.data)))
        expected = whole.filter(condition)[ROW].to_list()
    except (pl.exceptions.PolarsError, TypeError, OverflowError):
        assume(condition=False)  # Polars does not compare these types

    found = scan_polars(file.data).filter(condition).select(ROW)

    assert found.collect()[ROW].to_list() == expected
    assert sorted(found.collect(engine="streaming")[ROW].to_list()) == expected
