"""Column names as people give them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from parquet_bloomwriter import ColumnNotFound
from parquet_bloomwriter.column_names import select_columns
from parquet_bloomwriter.text import nearest
from tests.verbs.files import footer_of, written

POINT = pa.struct([("x", pa.int32()), ("y", pa.int32())])
TABLE = pa.Table.from_arrays(
    [
        pa.array([{"x": 1, "y": 2}], POINT),
        pa.array([[1]], pa.list_(pa.int64())),
        *(pa.array([i]) for i in range(7)),
    ],
    names=["point", "tags", "same", "same", "a.b", "#1", "Case", "case", "points"],
)
LEAVES = footer_of(written(TABLE)).leaves


def ordinals(*names: str) -> list[int]:
    return [leaf.ordinal for leaf in select_columns(LEAVES, names)]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["point.x"], [0]),
        (["point"], [0, 1]),
        (["tags"], [2]),
        (["tags.list"], [2]),
        (["a.b"], [5]),
        (["#0"], [0]),
        (["#3", "#4"], [3, 4]),
        (["#1"], [6]),  # There is a column of that very name.
        (["case", "Case"], [8, 7]),
        (["points", "point.y", "point"], [9, 1, 0]),
        (["#8", "case"], [8]),
        ([], []),
    ],
)
def test_names(names: list[str], expected: list[int]) -> None:
    assert ordinals(*names) == expected


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("same", "2 columns are named .* Choose by ordinal: '#3' or '#4'"),
        ("CASE", "Did you mean Case or case"),
        ("Point.X", r"Did you mean point\.x"),
        ("poimts", "Did you mean points"),
        ("zzz", "The columns are: point.x, point.y"),
        ("#10", "there is no column"),
        ("#-1", "there is no column"),
        ("#", "there is no column"),
        ("#1.5", "there is no column"),
        ("poin", "there is no column"),
        ("", "there is no column"),
    ],
)
def test_names_of_nothing_or_of_several(name: str, words: str) -> None:
    with pytest.raises(ColumnNotFound, match=words):
        ordinals(name)


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ("EMIAL", "email"),
        ("city", "address.city"),
        ("adress.citty", "address.city"),
        ("cust", "customer_identifier"),
        ("customer", "customer_identifier"),
        ("e", None),
        ("email_hash", "email"),
        ("quite different", None),
        ("", None),
        ("x" * 101, None),
    ],
)
def test_the_nearest_name(wrong: str, expected: str | None) -> None:
    names = ["email", "address.city", "address.zip", "customer_identifier", "e" * 500]
    assert nearest(wrong, names) == expected


@pytest.mark.parametrize(
    ("wrong", "names", "expected"),
    [
        ("id", ["c.d"], None),
        ("d", ["c.d"], "c.d"),
        ("a", ["ab"], None),
        ("it", ["ids", "it.is"], "it.is"),
        ("ct", ["city"], None),
        ("idd", ["id"], "id"),
        ("version", ["verify", "advise"], None),
        ("verfy", ["verify", "advise"], "verify"),
    ],
)
def test_a_name_that_is_not_near_enough(wrong: str, names: list[str], expected: str | None) -> None:
    assert nearest(wrong, names) == expected
