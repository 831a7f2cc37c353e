"""Trees and columns become what to look for in row groups: never less than was asked for."""

from __future__ import annotations

import gc
import sys
from datetime import date
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_bloomwriter.metadata import PhysicalType, Repetition
from parquet_bloomwriter.predicate.bind import Domains, bind
from parquet_bloomwriter.predicate.bound import (
    AllOf,
    AlwaysFalse,
    AnyOf,
    InSet,
    Interval,
    NotInSet,
    NotNull,
    Nulls,
    Unknown,
)
from parquet_bloomwriter.predicate.expression import (
    And,
    Comparison,
    Constant,
    Expression,
    IsIn,
    IsNull,
    Not,
    Opaque,
    Operator,
    Or,
    Value,
)
from tests.support.binding import admits, bare_leaf, leaf_of, leaves_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parquet_bloomwriter.metadata import Leaf
    from parquet_bloomwriter.predicate.bound import Bound

OPERATORS: tuple[Operator, ...] = ("=", "!=", "<", "<=", ">", ">=")
TABLE = pa.table(
    {
        "i": pa.array([1], pa.int8()),
        "u": pa.array([1], pa.uint32()),
        "f": pa.array([1.0], pa.float64()),
        "s": pa.array(["a"]),
        "list": pa.array([[1]]),
        "map": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
        "group": pa.array([{"inner": 1}]),
    }
)
LEAVES = leaves_of(TABLE)
DOMAINS = Domains.of(LEAVES)
LEAF_I = LEAVES[0]


def compare(column: str, operator: Operator, value: Value | None) -> Bound:
    return bind(Comparison(column, operator, value), DOMAINS)


# Negation, in three-valued logic.


def truth(expression: Expression, row: Mapping[str, Any]) -> bool | None:  # noqa: PLR0911  by node
    """What SQL says of a row: None is neither true nor false."""
    match expression:
        case Constant(value):
            return value
        case Opaque():
            return row["opaque"]  # type: ignore[no-any-return]
        case Not(operand):
            inner = truth(operand, row)
            return None if inner is None else not inner
        case And(operands):
            found = {truth(one, row) for one in operands}
            return False if False in found else None if None in found else True
        case Or(operands):
            found = {truth(one, row) for one in operands}
            return True if True in found else None if None in found else False
        case IsNull(column):
            return row[column] is None
        case IsIn(column, values):
            return None if row[column] is None and values else row[column] in values
        case Comparison(column, operator, value):
            if row[column] is None or value is None:
                return None
            return bool(_COMPARE[operator](row[column], value))
    raise AssertionError(expression)


_COMPARE = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
SMALL = st.integers(-3, 3) | st.sampled_from([-128, 127, -129, 128, 2**31, 1.5, -0.5])
FLOATS = st.sampled_from([-1.5, -0.0, 0.0, 1.0, 2.5, float("inf"), float("-inf")])
TEXTS = st.sampled_from(["", "a", "ab", "b", "ü"])
CONDITIONS = st.one_of(
    st.builds(Comparison, st.just("i"), st.sampled_from(OPERATORS), st.none() | SMALL),
    st.builds(Comparison, st.just("f"), st.sampled_from(OPERATORS), st.none() | SMALL | FLOATS),
    st.builds(Comparison, st.just("s"), st.sampled_from(OPERATORS), st.none() | TEXTS),
    st.builds(IsIn, st.just("i"), st.lists(SMALL, max_size=4).map(tuple)),
    st.builds(IsIn, st.just("f"), st.lists(FLOATS, max_size=4).map(tuple)),
    st.builds(IsIn, st.just("s"), st.lists(TEXTS, max_size=4).map(tuple)),
    st.builds(IsNull, st.sampled_from("ifs")),
    st.builds(Constant, st.booleans()),
    st.just(Opaque("whatever")),
)
EXPRESSIONS = st.recursive(
    CONDITIONS,
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.builds(And, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Or, st.lists(inner, max_size=3).map(tuple)),
    ),
    max_leaves=12,
)
ROWS = st.fixed_dictionaries(
    {
        "i": st.none() | st.integers(-4, 4) | st.sampled_from([-128, 127]),
        "f": st.none() | FLOATS | st.just(float("nan")) | st.integers(-3, 3).map(float),
        "s": st.none() | TEXTS,
        "opaque": st.none() | st.booleans(),
    }
)


def as_keys(row: Mapping[str, Any]) -> dict[str, Any]:
    text = row["s"]
    return {**row, "s": None if text is None else text.encode()}


@given(EXPRESSIONS, ROWS)
def test_no_row_that_is_asked_for_is_lost(expression: Expression, row: dict[str, Any]) -> None:
    if truth(expression, row):
        assert admits(bind(expression, DOMAINS), as_keys(row))


def _is_none_of(expression: IsIn, row: Mapping[str, Any]) -> bool:
    """What pyarrow's ~is_in() says: true of nulls."""
    return row[expression.column] not in expression.values


@given(CONDITIONS.filter(lambda one: isinstance(one, IsIn)), ROWS)
def test_a_null_may_be_none_of_several(expression: IsIn, row: dict[str, Any]) -> None:
    if _is_none_of(expression, row):
        assert admits(bind(Not(expression), DOMAINS), as_keys(row))


@given(
    operator=st.sampled_from(OPERATORS),
    literal=st.integers(-130, 130) | st.sampled_from([-0.5, 1.5, 126.5, 1e10]),
    key=st.none() | st.integers(-128, 127),
    is_negated=st.booleans(),
)
def test_integers_are_bound_exactly(
    operator: Operator,
    literal: float,
    key: int | None,
    *,
    is_negated: bool,
) -> None:
    expression: Expression = Comparison("i", operator, literal)
    expression = Not(expression) if is_negated else expression
    bound = bind(expression, DOMAINS)
    if key is None and isinstance(bound, NotInSet):
        return  # Its contract takes nulls in.
    assert admits(bound, {"i": key}) is (truth(expression, {"i": key}) is True)


@given(EXPRESSIONS, ROWS)
def test_double_negation_changes_nothing(expression: Expression, row: dict[str, Any]) -> None:
    twice = bind(Not(Not(expression)), DOMAINS)
    assert admits(twice, as_keys(row)) == admits(bind(expression, DOMAINS), as_keys(row))


def test_and_becomes_or_when_negated() -> None:
    expression = Not(And((Comparison("i", "<", 1), Or((IsNull("s"), Comparison("i", "=", 2))))))
    bound = bind(expression, DOMAINS)
    assert isinstance(bound, AnyOf)
    first, second = bound.parts
    assert isinstance(first, Interval)
    assert (first.text, first.low, first.high) == ("i >= 1", 1, None)
    assert isinstance(second, AllOf)
    assert [type(part) for part in second.parts] == [NotNull, NotInSet]


def test_nothing_at_all() -> None:
    assert bind(And(()), DOMAINS) == AllOf(())
    assert bind(Or(()), DOMAINS) == AnyOf(())
    assert bind(Not(And(())), DOMAINS) == AnyOf(())
    assert bind(Not(Or(())), DOMAINS) == AllOf(())


def test_constants_are_conditions() -> None:
    always, never = bind(Constant(True), DOMAINS), bind(Not(Constant(True)), DOMAINS)  # noqa: FBT003  positional
    assert always == Unknown(text="TRUE", reason="the condition is always true")
    assert never == AlwaysFalse(text="FALSE", reason="the condition is always false")


def test_what_is_opaque_is_undecided_also_negated() -> None:
    for expression, text in ((Opaque("a LIKE 'x'"), "a LIKE 'x'"), (Not(Opaque("f(a)")), "f(a)")):
        bound = bind(expression, DOMAINS)
        assert isinstance(bound, Unknown)
        assert text in bound.text


def test_a_deep_chain_is_flattened() -> None:
    chain: Expression = Comparison("i", "=", 0)
    for number in range(1, 5000):
        chain = Or((chain, Comparison("i", "=", number % 100)))
    bound = bind(chain, DOMAINS)
    assert isinstance(bound, AnyOf)
    texts = [part.text for part in bound.parts if isinstance(part, InSet)]
    assert (len(texts), texts[0], texts[1], texts[-1]) == (5000, "i = 0", "i = 1", "i = 99")


# Columns.


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        ("missing", "there is no such column"),
        ("I", "there is no such column"),
        ("group", "it is a group of columns"),
        ("map", "it is a group of columns"),
        ("list.list.element", "it lies in a list or a map, of which a row may hold many values"),
        ("map.key_value.key", "it lies in a list or a map, of which a row may hold many values"),
    ],
)
def test_columns_that_nothing_can_be_bound_to(column: str, reason: str) -> None:
    for expression in (
        Comparison(column, "=", 1),
        Not(Comparison(column, "=", 1)),
        IsIn(column, (1,)),
        IsNull(column),
        Not(IsNull(column)),
    ):
        bound = bind(expression, DOMAINS)
        assert isinstance(bound, Unknown)
        assert (bound.reason, bound.column) == (reason, column)


def test_a_leaf_in_a_group_is_found_by_its_path() -> None:
    bound = compare("group.inner", "=", 1)
    assert isinstance(bound, InSet)
    assert bound.leaf.path == ("group", "inner")


def test_two_columns_of_one_name_are_ambiguous() -> None:
    twice = (leaf_of(pa.int64()), leaf_of(pa.string()))
    for leaves in (twice, list(twice)):
        bound = bind(Comparison("x", "=", 1), Domains.of(leaves))
        assert isinstance(bound, Unknown)
        assert bound.reason == "2 columns have this name"


def test_a_list_of_leaves_may_change() -> None:
    leaves = [leaf_of(pa.int64())]
    assert isinstance(bind(Comparison("x", "=", 1), Domains.of(leaves)), InSet)
    leaves[0] = leaf_of(pa.string())
    assert isinstance(bind(Comparison("x", "=", 1), Domains.of(leaves)), Unknown)


# Single conditions.


@pytest.mark.parametrize(
    ("column", "operator", "literal", "ends"),
    [
        ("i", "<", 5, (None, 4)),
        ("i", "<=", 5, (None, 5)),
        ("i", ">", 5, (6, None)),
        ("i", ">=", 5, (5, None)),
        ("i", "<", 5.5, (None, 5)),
        ("i", "<=", -5.5, (None, -6)),
        ("i", ">", 5.5, (6, None)),
        ("i", ">=", -5.5, (-5, None)),
        ("u", "<", 2**32 - 1, (None, 2**32 - 2)),
        ("f", "<", 5, (None, 5.0)),
        ("f", ">", 0.1, (0.1, None)),
        ("s", "<", "b", (None, b"b")),
        ("s", ">=", "ü", (b"\xc3\xbc", None)),
    ],
)
def test_intervals_include_both_ends(
    column: str, operator: Operator, literal: Value, ends: tuple[Any, Any]
) -> None:
    bound = compare(column, operator, literal)
    assert isinstance(bound, Interval)
    assert (bound.low, bound.high) == ends
    assert bound.matches_nan is (column == "f" and ends[1] is None)


def test_a_rounded_literal_widens_the_interval() -> None:
    """0.1 as FLOAT is greater than 0.1: readers that round have other bounds."""
    leaf = leaf_of(pa.float32())
    rounded = 0.10000000149011612
    below, above = (bind(Comparison("x", op, 0.1), Domains.of([leaf])) for op in OPERATORS[2:5:2])
    assert isinstance(below, Interval)
    assert isinstance(above, Interval)
    assert (below.high, above.low) == (rounded, 0.1)


def test_a_cut_literal_widens_the_interval() -> None:
    leaf = leaf_of(pa.timestamp("ms"))
    below, above = (
        bind(Comparison("x", op, "1969-12-31 23:59:59.9995"), Domains.of([leaf]))
        for op in OPERATORS[2:5:2]
    )
    assert isinstance(below, Interval)
    assert isinstance(above, Interval)
    assert (below.high, above.low) == (0, -1)


def test_a_decimal_may_just_miss_a_floating_point_number() -> None:
    """Readers divide or multiply to get from 500 to 5.00, and may end up next to it."""
    leaf = leaf_of(pa.decimal128(9, 2))
    below, above = (bind(Comparison("x", op, 5.0), Domains.of([leaf])) for op in OPERATORS[2:5:2])
    assert isinstance(below, Interval)
    assert isinstance(above, Interval)
    assert (below.high, above.low) == (500, 500)
    assert isinstance(bind(Comparison("x", "!=", 5.0), Domains.of([leaf])), Unknown)


@pytest.mark.parametrize("operator", OPERATORS[2:])
def test_a_negated_comparison_takes_nan_in(operator: Operator) -> None:
    bound = bind(Not(Comparison("f", operator, 5)), DOMAINS)
    assert isinstance(bound, Interval)
    assert bound.matches_nan


@pytest.mark.parametrize(
    ("operator", "literal", "expected"),
    [
        ("<", 128, NotNull),
        ("<", -128, AlwaysFalse),
        ("<=", -129, AlwaysFalse),
        ("<=", 127, NotNull),
        (">", 127, AlwaysFalse),
        (">", -129, NotNull),
        (">=", -128, NotNull),
        (">=", 127.5, AlwaysFalse),
        ("<=", -128, Interval),
        (">=", 127, Interval),
        (">=", -127, Interval),
        ("<=", 126, Interval),
        ("!=", 300, NotNull),
        ("!=", 5.5, NotNull),
        ("!=", 5, NotInSet),
    ],
)
def test_the_range_of_the_type(operator: Operator, literal: float, expected: type) -> None:
    assert type(compare("i", operator, literal)) is expected


@pytest.mark.parametrize("operator", OPERATORS)
def test_no_comparison_with_null_is_true(operator: Operator) -> None:
    assert isinstance(compare("i", operator, None), AlwaysFalse)
    assert isinstance(bind(Not(Comparison("i", operator, None)), DOMAINS), AlwaysFalse)


@pytest.mark.parametrize(
    "expression",
    [
        Comparison("f", "!=", 5),
        Not(IsIn("f", (5.0,))),
        Not(IsIn("i", (300, 5.5))),
        Not(IsIn("i", ())),
        Comparison("i", "!=", "5"),
        Comparison("i", "!=", "300"),
        Comparison("i", "<", "5"),
        IsIn("u", (1, "abc")),
        Not(IsIn("u", (1, "abc"))),
    ],
)
def test_what_stays_undecided(expression: Expression) -> None:
    bound = bind(expression, DOMAINS)
    assert isinstance(bound, Unknown)
    assert bound.reason


def test_what_is_cut_is_not_told_to_differ() -> None:
    """`d != '2024-01-31 10:00'` is true of that day for some readers."""
    bound = bind(Comparison("x", "!=", "2024-01-31 10:00:00"), Domains.of([leaf_of(pa.date32())]))
    assert isinstance(bound, Unknown)


def test_times_of_utc_have_no_order() -> None:
    leaf = leaf_of(pa.time64("us"), write_time_adjusted_to_utc=True)
    assert isinstance(bind(Comparison("x", "=", "10:00:00"), Domains.of([leaf])), InSet)
    for operator in OPERATORS[1:]:
        assert isinstance(bind(Comparison("x", operator, "10:00:00"), Domains.of([leaf])), Unknown)


def test_times_of_utc_in_nanoseconds_are_seen_in_microseconds() -> None:
    leaf = leaf_of(pa.time64("ns"), write_time_adjusted_to_utc=True)
    bound = bind(Comparison("x", "=", "10:00:00.0000001"), Domains.of([leaf]))
    assert isinstance(bound, InSet)
    assert bound.keys == tuple(range(36_000_000_000_000, 36_000_000_001_000))


def test_a_uuid_spelled_out_is_not_told_to_differ() -> None:
    """DataFusion takes the text itself for bytes in `NOT IN`."""
    value = UUID(int=1)
    (leaf,) = leaves_of(pa.table({"x": pa.array([value.bytes], pa.uuid())}))
    assert isinstance(bind(Not(IsIn("x", (str(value),))), Domains.of([leaf])), Unknown)
    assert isinstance(bind(Not(IsIn("x", (value,))), Domains.of([leaf])), NotInSet)


def test_a_type_without_order_has_no_intervals() -> None:
    leaf = bare_leaf(PhysicalType.INT96)
    assert isinstance(
        bind(Comparison("x", ">", "2024-01-31 10:00:00Z"), Domains.of([leaf])), Unknown
    )


def test_nulls() -> None:
    assert bind(IsNull("i"), DOMAINS) == Nulls(leaf=LEAF_I, text="i IS NULL")
    assert bind(Not(IsNull("i")), DOMAINS) == NotNull(leaf=LEAF_I, text="i IS NOT NULL")


def test_a_required_column_has_no_nulls() -> None:
    schema = pa.schema([pa.field("x", pa.int64(), nullable=False)])
    (leaf,) = leaves_of(pa.table({"x": [1]}, schema))
    assert leaf.repetitions == (Repetition.REQUIRED,)
    bound = bind(IsNull("x"), Domains.of([leaf]))
    assert isinstance(bound, AlwaysFalse)
    assert bound.reason == "the column is required: it holds no nulls"


def test_a_required_leaf_of_an_optional_group_may_be_null() -> None:
    group = pa.struct([pa.field("inner", pa.int64(), nullable=False)])
    (leaf,) = leaves_of(pa.table({"group": pa.array([None], group)}))
    assert isinstance(bind(IsNull("group.inner"), Domains.of([leaf])), Nulls)


# IN lists.


def test_a_list_is_sorted_and_each_value_is_there_once() -> None:
    bound = bind(IsIn("i", (5, -1, 300, 5, 1.5, 5.0)), DOMAINS)
    assert isinstance(bound, InSet)
    assert bound.keys == (-1, 5)
    assert bound.plains == ((b"\xff\xff\xff\xff",), (b"\x05\x00\x00\x00",))


def test_impossible_values_drop_out() -> None:
    bound = bind(IsIn("i", (300, 400)), DOMAINS)
    assert isinstance(bound, AlwaysFalse)
    assert bound.reason == "the column holds -128 to 127"
    assert isinstance(bind(IsIn("i", ()), DOMAINS), AlwaysFalse)


def test_one_undecided_value_makes_the_list_undecided() -> None:
    bound = bind(IsIn("i", (1, "x")), DOMAINS)
    assert isinstance(bound, Unknown)


def test_large_integers_in_a_list_with_fractions_may_be_rounded() -> None:
    leaf = leaf_of(pa.int64())
    assert isinstance(bind(IsIn("x", (2**53 + 1, 0.5)), Domains.of([leaf])), Unknown)
    assert isinstance(bind(IsIn("x", (2**53 + 1, 1)), Domains.of([leaf])), InSet)
    assert isinstance(bind(IsIn("x", (2**53 - 1, 0.5)), Domains.of([leaf])), InSet)


def test_too_many_nanoseconds() -> None:
    leaf = bare_leaf(PhysicalType.INT96)
    instants = tuple(f"2024-01-01 00:{i // 60:02}:{i % 60:02}Z" for i in range(1100))
    assert isinstance(bind(IsIn("x", instants), Domains.of([leaf])), Unknown)


@given(
    st.sampled_from([pa.int8(), pa.uint8(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64()]),
    st.lists(st.integers(-(2**64), 2**65), min_size=1, max_size=200),
)
def test_lists_of_integers_are_bound_like_their_values(
    kind: pa.DataType, values: list[int]
) -> None:
    leaf = leaf_of(kind)
    singles = [
        bind(Comparison("x", "=", value), Domains.of([leaf])) for value in sorted(set(values))
    ]
    bound = bind(IsIn("x", tuple(values)), Domains.of([leaf]))
    if any(isinstance(one, Unknown) for one in singles):
        assert isinstance(bound, Unknown)
        return
    found = [one for one in singles if isinstance(one, InSet)]
    if not found:
        assert isinstance(bound, AlwaysFalse)
        return
    assert isinstance(bound, InSet)
    assert bound.keys == tuple(key for one in found for key in one.keys or ())
    assert bound.plains == tuple(ways for one in found for ways in one.plains or ())


@pytest.mark.parametrize(
    ("kind", "start"),
    [
        (pa.int32(), -200),
        (pa.uint32(), 2**32 - 500),
        (pa.int64(), -(2**63)),
        (pa.uint64(), 2**64 - 400),
    ],
)
def test_long_lists_have_the_same_bytes(kind: pa.DataType, start: int) -> None:
    leaf = leaf_of(kind)
    values = tuple(range(start, start + 400, 3))
    bound = bind(IsIn("x", values), Domains.of([leaf]))
    assert isinstance(bound, InSet)
    width = kind.bit_width // 8
    signed = start < 0
    assert bound.plains == tuple((v.to_bytes(width, "little", signed=signed),) for v in values)


@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("us")])
def test_text_is_not_told_to_differ_from_moments(kind: pa.DataType) -> None:
    """Spark compares text in `NOT IN`, unless it is told to keep to the standard."""
    leaf = leaf_of(kind)
    assert isinstance(bind(Not(IsIn("x", ("2024-01-31",))), Domains.of([leaf])), Unknown)
    assert isinstance(bind(Not(IsIn("x", (date(2024, 1, 31),))), Domains.of([leaf])), NotInSet)


@given(st.lists(st.text(max_size=3), min_size=1))
def test_lists_of_texts_are_bound_like_their_values(values: list[str]) -> None:
    bound = bind(IsIn("s", tuple(values)), DOMAINS)
    expected = tuple(sorted({value.encode() for value in values}))
    assert isinstance(bound, InSet)
    assert bound.keys == expected
    assert bound.plains == tuple((key,) for key in expected)


def test_text_that_is_no_unicode_makes_the_list_undecided() -> None:
    assert isinstance(bind(IsIn("s", ("a", "\ud800")), DOMAINS), Unknown)


def test_none_of_a_list() -> None:
    bound = bind(Not(IsIn("i", (5, 7, 300))), DOMAINS)
    assert bound == NotInSet(leaf=LEAF_I, text="i NOT IN (5, 7, 300)", keys=frozenset((5, 7)))


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (Comparison("i", "=", 42), "i = 42"),
        (Not(Comparison("i", "=", 42)), "i != 42"),
        (Not(Comparison("i", "<", 42)), "i >= 42"),
        (IsIn("i", (1, 2, 3, 4)), "i IN (1, 2, 3, ... 4 values)"),
    ],
)
def test_texts_for_people(expression: Expression, text: str) -> None:
    bound = bind(expression, DOMAINS)
    assert not isinstance(bound, AllOf | AnyOf)
    assert bound.text == text


def calls_to_bind(expression: Expression, leaf: Leaf) -> int:
    """Count the functions that are called to bind an expression, those in C among them."""
    counted = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    bind(expression, Domains.of([leaf]))
    before = sys.getprofile()
    gc.disable()  # Hypothesis is called by each collection
    sys.setprofile(count)
    try:
        bind(expression, Domains.of([leaf]))
    finally:
        sys.setprofile(before)
        gc.enable()
    return counted


def test_no_value_of_a_list_costs_a_call() -> None:
    """A comparison takes 41 calls and any list of integers 48; ten times that is something else."""
    leaf = leaf_of(pa.int64())
    assert calls_to_bind(Comparison("x", "=", 42), leaf) < 100
    few, many = (IsIn("x", tuple(range(0, 70 * count, 70))) for count in (100, 100_000))
    assert calls_to_bind(many, leaf) == calls_to_bind(few, leaf) < 100
