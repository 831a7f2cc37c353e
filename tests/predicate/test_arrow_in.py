"""pyarrow expressions -> trees."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from parquet_bloomwriter.predicate import arrow_in
from parquet_bloomwriter.predicate.arrow_in import from_arrow, take_apart
from parquet_bloomwriter.predicate.expression import (
    And,
    Comparison,
    Constant,
    Expression,
    IsIn,
    IsNull,
    Not,
    Opaque,
    Or,
)

a, b = pc.field("a"), pc.field("b")
A, B = Comparison("a", "=", 1), Comparison("b", "<", "x")
SKIPPING = pc.SetLookupOptions(pa.array([1, None]), skip_nulls=True)


@pytest.mark.parametrize(
    ("expression", "tree"),
    [
        (a == 1, A),
        (a != 1, Comparison("a", "!=", 1)),
        (a < 1, Comparison("a", "<", 1)),
        (a <= 1, Comparison("a", "<=", 1)),
        (a > 1, Comparison("a", ">", 1)),
        (a >= 1, Comparison("a", ">=", 1)),
        (pc.scalar(1) == a, A),
        (pc.scalar(1) < a, Comparison("a", ">", 1)),
        (pc.scalar(1) <= a, Comparison("a", ">=", 1)),
        (pc.scalar(1) > a, Comparison("a", "<", 1)),
        (pc.scalar(1) >= a, Comparison("a", "<=", 1)),
        (pc.field("s", "x") == 1, Comparison("s.x", "=", 1)),
        (pc.field("s", "x", "y z") == 1, Comparison("s.x.y z", "=", 1)),
        (pc.field("s.x") == 1, Comparison("s.x", "=", 1)),
        (pc.field("é\n'") == 1, Comparison("é\n'", "=", 1)),
        (a == date(2024, 1, 31), Comparison("a", "=", date(2024, 1, 31))),
        (a == pa.scalar(None), Comparison("a", "=", None)),
        ((a == 1) & (b < "x"), And((A, B))),
        ((a == 1) | (b < "x"), Or((A, B))),
        (pc.and_(a == 1, b < "x"), And((A, B))),
        (pc.or_(a == 1, b < "x"), Or((A, B))),
        ((a == 1) & (b < "x") & (a == 1), And((A, B, A))),
        ((a == 1) & ((b < "x") | (a == 1)), And((A, Or((B, A))))),
        (~(a == 1), Not(A)),
        (a, Comparison("a", "=", value=True)),
        (~a, Not(Comparison("a", "=", value=True))),
        (pc.scalar(value=True), Constant(value=True)),
        (pc.scalar(value=False), Constant(value=False)),
        (a.is_null(), IsNull("a")),
        (a.is_valid(), Not(IsNull("a"))),
        (a.isin([1, 2]), IsIn("a", (1, 2))),
        (a.isin(pa.array(["x", "y"]).dictionary_encode()), IsIn("a", ("x", "y"))),
        (a.isin([1, None]), Or((IsIn("a", (1,)), IsNull("a")))),
        (pc.is_in(a, options=SKIPPING), IsIn("a", (1,))),
        (~a.isin([1]), Or((Not(IsIn("a", (1,))), IsNull("a")))),
        (~a.isin([1, None]), Not(Or((IsIn("a", (1,)), IsNull("a"))))),
        (~pc.is_in(a, options=SKIPPING), Or((Not(IsIn("a", (1,))), IsNull("a")))),
    ],
    ids=str,
)
def test_trees(expression: Any, tree: Expression) -> None:  # noqa: ANN401  pyarrow has no types
    assert from_arrow(expression) == tree


def test_nulls_count_where_a_membership_is_negated_from_afar() -> None:
    members = And((IsIn("a", (1,)), Not(IsNull("a"))))
    assert from_arrow(~(a.isin([1]) | (b < "x"))) == Not(Or((members, B)))


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (pc.field(0) == 1, str(pc.field(0) == 1)),
        ((pc.field(0) == 1) & (a == 1), str((pc.field(0) == 1) & (a == 1))),
        (a.is_null(nan_is_null=True), "is_null(a)"),
        (a.cast("int8") == 1, "equal(cast(a), 1)"),
        (a + 1 == 2, "equal(add_checked(a, 1), 2)"),
        (a == b, "equal(a, b)"),
        (pc.match_substring(a, "x"), "match_substring(a)"),
        (a == timedelta(1), "equal(a, 1 day, 0:00:00)"),
        (a.isin([timedelta(1)]), "is_in(a)"),
        (pc.is_in(a + 1, options=SKIPPING), "is_in(add_checked(a, 1))"),
        ((a == 1).is_null(), "is_null(equal(a, 1))"),
        (pc.scalar(1) == pc.scalar(1), "equal(1, 1)"),
        (pc.scalar(pa.scalar(None, pa.bool_())), "None"),
    ],
)
def test_what_is_not_understood_is_opaque(expression: Any, text: str) -> None:  # noqa: ANN401
    assert from_arrow(expression) == Opaque(text)


def test_only_the_part_that_is_not_understood_is_opaque() -> None:
    expression = (a == 1) & ~(pc.match_substring(b, "x") | (b < "x"))
    assert from_arrow(expression) == And((A, Not(Or((Opaque("match_substring(b)"), B)))))


def test_ten_thousand_alternatives_are_no_matter_of_depth() -> None:
    expression = a == 0
    for number in range(1, 10_000):
        expression |= a == number
    tree = from_arrow(expression)
    assert tree == Or(tuple(Comparison("a", "=", number) for number in range(10_000)))


class Strange:
    """Pickles as something else than an expression of this version of pyarrow."""

    def __init__(self, metadata: list[tuple[str, str]], columns: list[pa.Array]) -> None:
        self.metadata, self.columns = metadata, columns

    def __str__(self) -> str:
        return "strange"

    def __reduce__(self) -> Any:  # noqa: ANN401  as `object` declares it
        schema = pa.schema(
            [(str(index), column.type) for index, column in enumerate(self.columns)],
            metadata=pa.KeyValueMetadata(self.metadata) if self.metadata else None,
        )
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, schema) as file:
            file.write_batch(pa.record_batch(self.columns, schema=schema))
        return None, (sink.getvalue(),)


ONE = pa.array([1])
EQUAL = [("call", "equal"), ("field_ref", "a"), ("literal", "0"), ("end", "equal")]


def test_the_form_that_strange_ones_deviate_from() -> None:
    assert from_arrow(Strange(EQUAL, [ONE])) == A


@pytest.mark.parametrize(
    ("metadata", "columns"),
    [
        ([], [ONE]),
        ([("call", "equal"), ("field_ref", "a"), ("literal", "0")], [ONE]),
        ([*EQUAL, *EQUAL], [ONE]),
        ([*EQUAL[:2], ("literal", "7"), EQUAL[3]], [ONE]),
        ([*EQUAL[:2], ("literal", "x"), EQUAL[3]], [ONE]),
        ([EQUAL[0], ("field_path", "0"), *EQUAL[2:]], [ONE]),
        ([("end", "equal")], [ONE]),
        ([("nested_field_ref", "2"), ("field_ref", "a")], [ONE]),
        (EQUAL, [pa.array([1, 2])]),
        (EQUAL, [pa.array([], pa.int64())]),
    ],
)
def test_surprises_in_the_form_are_opaque(
    metadata: list[tuple[str, str]], columns: list[pa.Array]
) -> None:
    assert from_arrow(Strange(metadata, columns)) == Opaque("strange")


def test_strange_options_and_results_are_opaque(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = [("call", "is_in"), ("field_ref", "a"), ("end", "is_in")]
    assert from_arrow(Strange(bare, [ONE])) == Opaque("strange")
    options = pa.array([{"value_set": [1], "null_matching_behavior": 2}])
    other = [*bare[:2], ("options", "0"), bare[2]]
    assert from_arrow(Strange(other, [options])) == Opaque("is_in(a)")

    def fail(_: object) -> None:
        raise RecursionError

    monkeypatch.setattr(arrow_in, "take_apart", fail)
    assert isinstance(from_arrow(a == 1), Opaque)


def test_options_are_those_of_their_own_call() -> None:
    tree: Any = take_apart(a.cast("int8").isin([1]) & ~a)
    members, inverted = tree.arguments
    assert members.options["_type_name"].as_py() == b"SetLookupOptions"
    assert members.arguments[0].options["_type_name"].as_py() == b"CastOptions"
    assert (inverted.options, tree.options) == (None, None)


def test_repeated_keys_are_all_read() -> None:
    tree: Any = take_apart((a == 1) & (a == 2))
    assert [call.function for call in tree.arguments] == ["equal", "equal"]
    assert [call.arguments[1].scalar.as_py() for call in tree.arguments] == [1, 2]
