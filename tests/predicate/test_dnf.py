"""pyarrow's filters."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.predicate.dnf import parse_dnf
from parquet_bloomwriter.predicate.expression import (
    And,
    Comparison,
    Expression,
    IsIn,
    IsNull,
    Not,
    Opaque,
    Or,
)

A, B, C = Comparison("a", "=", 1), Comparison("b", "<", 2), Comparison("c", "!=", "x")


@pytest.mark.parametrize(
    ("filters", "tree"),
    [
        ([("a", "=", 1)], A),
        ([("a", "=", 1), ("b", "<", 2)], And((A, B))),
        ([[("a", "=", 1)], [("b", "<", 2)]], Or((A, B))),
        ([[("a", "=", 1), ("b", "<", 2)], [("c", "!=", "x")]], Or((And((A, B)), C))),
        ([("s.x", ">=", 1)], Comparison("s.x", ">=", 1)),
        ([(("s", "x"), ">", 1)], Comparison("s.x", ">", 1)),
        ([[(("s", "x"), "<=", 1)]], Comparison("s.x", "<=", 1)),
        ([["a", "==", 1]], A),
        ([("a", "=", None)], Comparison("a", "=", None)),
        ([("a", "=", np.int8(1))], A),
        ([("a", "=", pa.scalar(1, pa.uint8()))], A),
        ([("a", "=", timedelta(1))], Opaque("a = datetime.timedelta(days=1)")),
    ],
)
def test_trees(filters: list[Any], tree: Expression) -> None:
    assert parse_dnf(filters) == tree


@pytest.mark.parametrize(
    "values",
    [
        [1, 2],
        (1, 2),
        np.array([1, 2]),
        pa.array([1, 2]),
        pa.chunked_array([[1], [2]]),
        pd.Series([1, 2]),
        {1: "one", 2: "two"}.keys(),
    ],
    ids=lambda values: type(values).__name__,
)
def test_every_kind_of_collection(values: object) -> None:
    assert parse_dnf([("a", "in", values)]) == IsIn("a", (1, 2))


@pytest.mark.parametrize(
    ("operator", "values", "tree"),
    [
        ("in", [], IsIn("a", ())),
        ("in", [1, None], Or((IsIn("a", (1,)), IsNull("a")))),
        ("in", [None], IsNull("a")),
        ("in", pd.Series([1.0, None]), Or((IsIn("a", (1.0,)), IsNull("a")))),
        ("not in", [1], Or((Not(IsIn("a", (1,))), IsNull("a")))),
        ("not in", [1, None], Not(Or((IsIn("a", (1,)), IsNull("a"))))),
        ("not in", [None], Not(IsNull("a"))),
        ("in", [1, "x"], IsIn("a", (1, "x"))),
    ],
)
def test_nulls_are_found_as_pyarrow_finds_them(
    operator: str, values: object, tree: Expression
) -> None:
    assert parse_dnf([("a", operator, values)]) == tree


def test_one_value_of_an_unknown_kind_makes_the_condition_opaque() -> None:
    assert isinstance(parse_dnf([("a", "in", [timedelta(1)])]), Opaque)
    assert isinstance(parse_dnf([("a", "in", [1, object()])]), Opaque)


@pytest.mark.parametrize(
    ("filters", "problem"),
    [
        ([], "the list of filters is empty"),
        ([[]], r"\[\] is no list of conditions"),
        ([[("a", "=", 1)], []], r"\[\] is no list of conditions"),
        ([("a", "=")], "is no condition"),
        ([("a", "=", 1, 2)], "is no condition"),
        ([5], "5 is no list of conditions"),
        ([(5, "=", 1)], "5 is no column"),
        ([((), "=", 1)], r"\(\) is no column"),
        ([(("a", 0), "=", 1)], r"\('a', 0\) is no column"),
        ([("a", "like", "x%")], 'column a: "like" is no operator'),
        ([("a", "IN", [1])], '"IN" is no operator'),
        ([("a", "in", "xyz")], "\"in\" needs a list of values, not 'xyz'"),
        ([("a", "not in", 5)], '"not in" needs a list of values, not 5'),
    ],
)
def test_what_is_malformed_is_refused(filters: list[Any], problem: str) -> None:
    with pytest.raises(InvalidArgument, match=problem):
        parse_dnf(filters)
