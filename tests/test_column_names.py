"""Column names as people give them."""

from __future__ import annotations

import random
from fnmatch import fnmatchcase

import pyarrow as pa
import pytest

from parquet_bloomwriter import ColumnNotFound, InvalidArgument
from parquet_bloomwriter.column_names import (
    choose_columns,
    matching_names,
    select_columns,
    settle_per_column,
)
from parquet_bloomwriter.text import nearest, suggestion
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


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*", list(range(10))),
        ("point.*", [0, 1]),
        ("point*", [0, 1, 9]),
        ("?ase", [7, 8]),
        ("*.?", [0, 1, 5]),
        ("s*", [3, 4]),
        ("#*", [6]),
    ],
)
def test_patterns(pattern: str, expected: list[int]) -> None:
    assert ordinals(pattern) == expected


def test_patterns_of_strangers_end() -> None:
    """A regular expression that tries all ways would need years for them."""
    name = "a" * 200
    assert matching_names((name,), "*a" * 100) == (name,)
    assert matching_names((name,), "*a" * 100 + "b") == ()
    assert matching_names((name,), "*" * 100 + "?" * 200) == (name,)
    draw = random.Random(5)  # noqa: S311  the same patterns each time
    for _ in range(300):
        pattern = "".join(draw.choices("ab*?", k=6))
        names = ["".join(draw.choices("ab*", k=draw.randrange(7))) for _ in range(20)]
        expected = tuple(one for one in names if fnmatchcase(one, pattern))
        assert matching_names(names, pattern) == (expected if {*"*?"} & {*pattern} else ())


def test_a_name_wins_over_a_pattern() -> None:
    table = pa.table({"a*": [1], "ab": [2], "a[b]": [3], "aXb]": [4]})
    leaves = footer_of(written(table)).leaves
    assert [leaf.name for leaf in select_columns(leaves, "a*")] == ["a*"]
    assert [leaf.name for leaf in select_columns(leaves, "a?*")] == ["a*", "ab", "a[b]", "aXb]"]
    assert [leaf.name for leaf in select_columns(leaves, "a[*")] == ["a[b]"]


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("x*", r'no column matches "x\*"\. The columns are: point\.x, '),
        ("*_points", r"Did you mean points or point\.x or point\.y\?"),
        ("TAGZ*", r"Did you mean tags\.list\.element\?"),
        ("cose*", r"Did you mean Case\?"),
        ("??" * 60, "The columns are: "),
    ],
)
def test_a_pattern_that_matches_nothing_names_near_columns(pattern: str, words: str) -> None:
    with pytest.raises(ColumnNotFound, match=words):
        ordinals(pattern)


def test_columns_that_are_excluded() -> None:
    def chosen(names: list[str] | None, *exclude: str) -> list[int]:
        return [leaf.ordinal for leaf in choose_columns(LEAVES, names, exclude)]

    assert chosen(None, "#3", "#4", "point") == [2, 5, 6, 7, 8, 9]
    assert chosen(["point*"], "point.y") == [0, 9]
    assert chosen(["tags"]) == [2]
    with pytest.raises(ColumnNotFound):
        chosen(["tags"], "nothing")
    with pytest.raises(InvalidArgument, match="are excluded, too"):
        chosen(["point.x"], "point")


def test_values_by_pattern_are_for_chosen_columns() -> None:
    point = select_columns(LEAVES, ["point", "points"])
    values = settle_per_column(LEAVES, point[:2], {"*": 1, "point*": 2}, default=0)
    assert list(values.values()) == [2, 2]
    with pytest.raises(InvalidArgument, match="none of the columns chosen"):
        settle_per_column(LEAVES, point, {"ca*": 2}, default=0)


def test_further_columns_are_counted() -> None:
    names = [f"column{number}" for number in range(13)]
    assert suggestion("zzz", names).endswith(", column9 and 3 more.")
    assert suggestion("zzz", names[:3]) == "The columns are: column0, column1, column2."
