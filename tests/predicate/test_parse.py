"""Whatever a predicate is written in becomes one tree."""

from __future__ import annotations

import subprocess
import sys

import pyarrow.compute as pc
import pytest

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.predicate import parse
from parquet_bloomwriter.predicate.expression import Comparison, Not

ID_IS_5 = Comparison("id", "=", 5)


@pytest.mark.parametrize(
    "filters",
    [
        "id = 5",
        [("id", "=", 5)],
        (("id", "==", 5),),
        [[("id", "=", 5)]],
        pc.field("id") == 5,
        ID_IS_5,
    ],
)
def test_every_way_to_say_the_same(filters: object) -> None:
    assert parse(filters) == ID_IS_5


def test_a_tree_is_returned_as_it_is() -> None:
    tree = Not(ID_IS_5)
    assert parse(tree) is tree


@pytest.mark.parametrize("given", [5, None, {"id": 5}, b"id = 5", object()])
def test_anything_else_is_refused(given: object) -> None:
    with pytest.raises(InvalidArgument, match=type(given).__name__) as caught:
        parse(given)
    assert "SQL text, a list of (column, operator, value)" in caught.value.remedy


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    code = (
        "import sys; from parquet_bloomwriter.predicate import parse;"
        "parse([('id', '=', 5)]);"
        "print(sorted({'pyarrow', 'sqlglot', 'pandas'} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert shown.stdout == "[]\n"
