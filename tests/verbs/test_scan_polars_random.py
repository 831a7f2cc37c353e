"""Whatever Polars is asked of whatever file: `scan_polars` gives the rows that Polars selects.

The referee is Polars on a table in memory, where no statistics are looked at, and no batches are
cut.
"""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from operator import and_, eq, ge, gt, le, lt, ne, or_, xor
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from parquet_bloomwriter import scan_polars
from tests.support.random_tables import POOLS, ROW, files, schemas, types

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hypothesis.strategies import DrawFn, SearchStrategy

    from tests.support.random_tables import Column, RandomFile

EXAMPLES = int(os.environ.get("SCAN_POLARS_EXAMPLES", "60"))

COMPARE: list[Callable[[Any, Any], Any]] = [eq, ne, lt, le, gt, ge]
CASTS = [pl.Int8, pl.UInt8, pl.Int64, pl.UInt64, pl.Float32, pl.Float64, pl.String, pl.Date]


def literals(type_: pa.DataType) -> list[Any]:
    """Return values of a type as Polars has them in Python."""
    plain = type_.value_type if pa.types.is_dictionary(type_) else type_
    return pl.Series(pa.array(POOLS[type_], plain)).to_list()


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What a condition on one column may be made of."""

    field: pl.Expr
    literal: Any
    other: Any
    several: list[Any]
    compare: Callable[[Any, Any], Any]
    flag: bool
    cast: Any


FORMS: list[Callable[[Parts], pl.Expr]] = [
    *[lambda parts: parts.compare(parts.field, parts.literal)] * 3,
    lambda parts: parts.compare(pl.lit(parts.literal), parts.field),
    *[lambda parts: parts.field.is_in(parts.several, nulls_equal=parts.flag)] * 3,
    lambda parts: parts.field.is_in(pl.Series(parts.several)),
    lambda parts: parts.field.is_between(parts.literal, parts.other),
    lambda parts: parts.field.is_between(parts.literal, parts.other, closed="none"),
    lambda parts: parts.field.is_between(parts.other, parts.literal, closed="left"),
    lambda parts: parts.field.eq_missing(parts.literal),
    lambda parts: parts.field.ne_missing(parts.literal),
    lambda parts: parts.field.is_null(),
    lambda parts: parts.field.is_not_null(),
    lambda parts: parts.compare(parts.field.cast(parts.cast, strict=parts.flag), parts.literal),
    lambda parts: parts.compare(parts.field, parts.field),
    lambda parts: parts.field,
]


@st.composite
def leaves(draw: DrawFn, columns: Sequence[Column]) -> pl.Expr:
    column = draw(st.sampled_from(columns))
    field = pl.col(column.path[0])
    for name in column.path[1:]:
        field = field.struct.field(name)
    pool = literals(column.type if draw(st.integers(0, 9)) else draw(types()))
    parts = Parts(
        field=field,
        literal=draw(st.sampled_from(pool)),
        other=draw(st.sampled_from(pool)),
        several=draw(st.lists(st.sampled_from([*pool, None, None]), max_size=4)),
        compare=draw(st.sampled_from(COMPARE)),
        flag=draw(st.booleans()),
        cast=draw(st.sampled_from(CASTS)),
    )
    return draw(st.sampled_from(FORMS))(parts)


def conditions(columns: Sequence[Column]) -> SearchStrategy[pl.Expr]:
    return st.recursive(
        leaves(columns),
        lambda inner: st.one_of(
            *(st.builds(join, inner, inner) for join in (and_, or_, xor)),
            inner.map(lambda one: ~one),
        ),
        max_leaves=3,
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
