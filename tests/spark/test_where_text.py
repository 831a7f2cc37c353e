"""What is read of conditions in Spark's SQL, and what is not."""

from __future__ import annotations

import pytest

from parquet_bloomwriter.predicate.to_sql import to_text
from parquet_bloomwriter.spark.connect.read_sql import NotUnderstood, read_condition

COLUMNS = ["id", "name", "day", "s", "user", "Mixed"]


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("id = 42", "id = 42"),
        ("ID=-42", "ID = -42"),
        ("`id` <=> 5 AND mixed in (1,2)", "id = 5 AND mixed IN (1, 2)"),
        ("s.x == 5", "s.x = 5"),
        ("NOT (id != 5)", "NOT (id != 5)"),
        ("upper(name) = 'X' AND id = 42", "\"(...)\" = 'X' AND id = 42"),
        ("f(')', (1)) > 2 OR id IN ((1), 2)", '"(...)" > 2 OR id IN (1, 2)'),
        ("DATE '2024-01-01' = day", "day = DATE '2024-01-01'"),
        ("name = X'00FF'", "name = X'00FF'"),
        ("id IS NOT DISTINCT FROM 5", "id = 5"),
        ("id IN (1, NULL)", "id IN (1)"),
        ("id = 007", "id = 7"),
        ("name LIKE 'a%' AND id = 3", "(\"name\" LIKE 'a%') AND id = 3"),
        ("id BETWEEN 1 AND mixed = 3", '"id" BETWEEN 1 AND "mixed" = 3'),
        ("id = 1 = true", '"id" = 1 = TRUE'),
        ("name = '$x'", "name = '$x'"),
    ],
)
def test_conditions_are_read(text: str, tree: str) -> None:
    assert to_text(read_condition(text, COLUMNS)) == tree


UNREAD = [
    "\"name\" = 'name'",  # a string, to Spark
    'name = "bob"',
    r"name = 'a\\b'",
    r"name = 'it\'s'",
    "name = 'it''s'",
    "name = 'a' 'b'",
    "name = r'a'",
    "name = n 'a'",
    "name = '${x}'",
    "id = ${x}",
    "id = 42L",
    "id = 1e3",
    "id = .5",
    "id = 5.",
    "id = 0x1F",
    "id = 42 -- comment",
    "id = 42 /* comment */",
    "id -> 42",
    "!(id = 5)",
    "id % 2 = 0",
    "id = 1 | 2",
    "id::int = 5",
    "id = :parameter",
    "id = ?",
    "name COLLATE UTF8_LCASE = 'a'",
    "name RLIKE 'a'",
    "CASE WHEN id = 1 THEN true END",
    "id IN (SELECT 1)",
    "t.id = 5",
    "s . x = 5",
    "`s.x` = 5",
    "user = 'bob'",
    "other = 5",
    "TIMESTAMP_NTZ '2024-01-01' = day",
    "id = 1 AND",
    "id = 1;",
    "f(id = 1",
    "WHERE id = 1",
    "",
]


def test_conditions_that_may_mean_something_else_are_not_read() -> None:
    for text in UNREAD:
        with pytest.raises(NotUnderstood):
            pytest.fail(f"{text}: {read_condition(text, COLUMNS)}")


def test_long_lists_are_read() -> None:
    text = f"id IN ({', '.join(map(str, range(20_000)))})"
    assert to_text(read_condition(text, COLUMNS)) == "id IN (0, 1, 2, ... 20,000 values)"
