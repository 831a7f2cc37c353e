"""Predicates of many conditions against the row groups of several files, and what each rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_bloomwriter.predicate import parse
from parquet_bloomwriter.predicate.expression import (
    And,
    Comparison,
    Constant,
    IsIn,
    IsNull,
    Not,
    Opaque,
    Or,
)
from parquet_bloomwriter.probing.bindings import Bindings
from parquet_bloomwriter.probing.evaluation import Code, atoms_of, leaves_of
from parquet_bloomwriter.probing.report import _EVIDENCE
from parquet_bloomwriter.probing.verdict import Evidence, Verdict
from parquet_bloomwriter.verbs.probe import probe
from tests.support.asking import asked, check_of, known
from tests.verbs.broken_filters import with_zeros
from tests.verbs.files import footer_of, people, with_footer, with_num_rows, written

if TYPE_CHECKING:
    from parquet_bloomwriter.predicate.expression import Expression

MIGHT, NOT = Verdict.MIGHT_MATCH, Verdict.CANNOT_MATCH
ROWS_PER_GROUP = 5


def table(numbers: list[int | None]) -> pa.Table:
    """Columns with statistics, with a filter, with a dictionary, with nothing."""
    return pa.table(
        {
            "s": pa.array(numbers, pa.int32()),
            "b": pa.array([None if n is None else 7 * n for n in numbers], pa.int64()),
            "d": pa.array([None if n is None else f"<{n % 4}>" for n in numbers], pa.string()),
            "f": pa.array([None if n is None else n / 4 for n in numbers], pa.float64()),
        }
    )


def file_of(numbers: list[int | None]) -> bytes:
    return written(
        table(numbers),
        row_group_size=ROWS_PER_GROUP,
        write_statistics=["s"],
        use_dictionary=["d"],
        bloom_filter_options={"b": {"ndv": 20, "fpp": 0.001}},
    )


NUMBERS = st.lists(st.none() | st.integers(0, 12), min_size=1, max_size=12)
LITERALS = st.integers(-1, 13)


def conditions() -> st.SearchStrategy[Expression]:
    operators = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
    return st.one_of(
        st.builds(Comparison, st.just("s"), operators, LITERALS),
        st.builds(Comparison, st.just("b"), operators, LITERALS.map(lambda n: 7 * n)),
        st.builds(Comparison, st.just("d"), operators, LITERALS.map(lambda n: f"<{n}>")),
        st.builds(Comparison, st.just("f"), operators, LITERALS.map(lambda n: n / 4)),
        st.builds(IsIn, st.just("b"), st.lists(LITERALS.map(lambda n: 7 * n)).map(tuple)),
        st.builds(IsIn, st.just("d"), st.lists(LITERALS.map(lambda n: f"<{n}>")).map(tuple)),
        st.builds(IsNull, st.sampled_from("sbdf")),
        st.builds(Constant, st.booleans()),
    )


TREES = st.recursive(
    conditions(),
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.builds(And, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Or, st.lists(inner, max_size=3).map(tuple)),
    ),
    max_leaves=6,
)


def truth(expression: Expression, row: dict[str, Any]) -> bool | None:  # noqa: PLR0911  one for each
    """Three-valued logic, row by row."""
    match expression:
        case Constant(value):
            return value
        case Not(operand):
            found = truth(operand, row)
            return None if found is None else not found
        case And(operands):
            parts = [truth(one, row) for one in operands]
            return False if False in parts else None if None in parts else True
        case Or(operands):
            parts = [truth(one, row) for one in operands]
            return True if True in parts else None if None in parts else False
        case IsNull(column):
            return row[column] is None
        case IsIn(column, values):
            return None if row[column] is None else row[column] in values
        case Comparison(column, operator, value):
            if row[column] is None:
                return None
            compare = {
                "=": pc.equal,
                "!=": pc.not_equal,
                "<": pc.less,
                "<=": pc.less_equal,
                ">": pc.greater,
                ">=": pc.greater_equal,
            }[operator]
            found = compare(pa.scalar(row[column]), pa.scalar(value)).as_py()
            return bool(found)
    raise AssertionError(expression)


@given(st.lists(NUMBERS, min_size=1, max_size=3), TREES)
def test_no_row_group_with_a_match_is_ruled_out(
    files: list[list[int | None]], expression: Expression
) -> None:
    report = probe([file_of(numbers) for numbers in files], expression)
    for numbers, found in zip(files, report.files, strict=True):
        rows = table(numbers).to_pylist()
        matching = {i // ROWS_PER_GROUP for i, row in enumerate(rows) if truth(expression, row)}
        assert matching <= set(found.surviving)
        assert found.verdict is (MIGHT if found.surviving else NOT)
        verdicts = [one.verdict for one in found.row_groups]
        assert tuple(np.flatnonzero([v is MIGHT for v in verdicts])) == found.surviving


@given(st.lists(NUMBERS, min_size=2, max_size=4), TREES)
def test_files_taken_together_are_judged_as_each_by_itself(
    files: list[list[int | None]], expression: Expression
) -> None:
    stored = [file_of(numbers) for numbers in files]
    together = probe(stored, expression)
    apart = [asked(data, expression) for data in stored]
    assert [one.row_groups for one in together.files] == [one.row_groups for one in apart]
    assert together.num_surviving == sum(len(one.surviving) for one in apart)


EVEN = file_of([0, 2, 4, 6, 8])


@pytest.mark.parametrize(
    ("condition", "verdict", "evidence"),
    [
        ("s = 2", MIGHT, Evidence.STATISTICS),
        ("s = 9", NOT, Evidence.STATISTICS),
        ("s IN (9, 10)", NOT, Evidence.STATISTICS),
        ("s > 8", NOT, Evidence.STATISTICS),
        ("s IS NULL", NOT, Evidence.STATISTICS),
        ("b = 14", MIGHT, Evidence.BLOOM),
        ("b = 15", NOT, Evidence.BLOOM),
        ("b > 15", MIGHT, Evidence.NONE),
        ("d = '<2>'", MIGHT, Evidence.DICTIONARY),
        ("d = '<1>'", NOT, Evidence.DICTIONARY),
        ("f = 0.5", MIGHT, Evidence.NONE),
        ("s = 2.5", NOT, Evidence.LITERAL),
        ("s = 3000000000", NOT, Evidence.LITERAL),
        ("FALSE", NOT, Evidence.LITERAL),
        ("lower(d) = 'x'", MIGHT, Evidence.NONE),
        ("nothing.there = 1 OR s = 2", MIGHT, Evidence.STATISTICS),
    ],
)
def test_evidence(condition: str, verdict: Verdict, evidence: Evidence) -> None:
    if "nothing" in condition:
        report = probe([EVEN, written(pa.table({"nothing": [{"there": 1}]}))], condition)
        (found, _) = report.files
    else:
        found = asked(EVEN, condition)
    (row_group,) = found.row_groups
    assert (row_group.verdict, row_group.evidence) == (verdict, evidence)


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("f = 0.5", "f has neither a Bloom filter nor statistics here"),
        ("b IS NULL", "nulls are not counted"),
        ("b IS NOT NULL", "nulls are not counted"),
        ("f > 0.5", "NaN may be among the values"),
        ("s = 2.5", "between"),
        ("lower(d) = 'x'", "LIKE and functions exclude nothing"),
        ("b = 14", ""),
        ("s = 2", "s has no Bloom filter here"),
    ],
)
def test_reasons(condition: str, reason: str) -> None:
    check = check_of(EVEN, condition)
    assert reason in check.reason or (reason == "between" and check.reason != "")
    assert bool(check.reason) is bool(reason)
    assert check.column == (None if "lower" in condition else condition[0])


def test_every_condition_is_told_in_the_order_of_the_predicate() -> None:
    found = asked(EVEN, "b = 15 AND (s = 2 OR d = '<1>') AND f = 0.5")
    (row_group,) = found.row_groups
    told = [(check.text, check.verdict, check.evidence) for check in row_group.checks]
    assert told[0] == ("b = 15", NOT, Evidence.BLOOM)
    assert told[1] == ("s = 2", MIGHT, Evidence.STATISTICS)
    assert [text for text, _, _ in told] == ["b = 15", "s = 2", "d = '<1>'", "f = 0.5"]
    assert (row_group.verdict, row_group.evidence) == (NOT, Evidence.BLOOM)


def test_nothing_is_read_where_statistics_are_enough() -> None:
    plain = asked(EVEN, "s = 9")
    assert asked(EVEN, "s = 9 AND b = 14 AND d = '<2>'").bytes_read == plain.bytes_read
    assert probe(EVEN, "s = 9 AND b = 14").num_filters == 0
    assert probe(EVEN, "s = 9 OR b = 14").num_filters == 1
    filtered = asked(EVEN, "b = 15")
    assert asked(EVEN, "b = 15 AND d = '<2>'").bytes_read == filtered.bytes_read


def test_dictionaries_are_asked_where_filters_are_not_trusted() -> None:
    data = written(
        table([0, 2, 4]), write_statistics=False, bloom_filter_options={"b": {"ndv": 20}}
    )
    assert check_of(data, "b = 15").evidence is Evidence.BLOOM
    check = check_of(with_zeros(data, (0, 1)), "b = 15")
    assert (check.verdict, check.evidence) == (NOT, Evidence.DICTIONARY)
    assert "all its bits are zero" in check.reason


def test_row_groups_of_nulls_hold_no_value() -> None:
    numbers: list[int | None] = [None] * ROWS_PER_GROUP + [3]
    data = written(table(numbers), row_group_size=ROWS_PER_GROUP)
    for name in "sbdf":
        literal = {"s": "3", "b": "21", "d": "'<3>'", "f": "0.75"}[name]
        for condition in (f"{name} = {literal}", f"{name} >= {literal}", f"{name} IS NOT NULL"):
            assert asked(data, condition).surviving == (1,)
        assert asked(data, f"{name} IS NULL").surviving == (0,)


def test_row_groups_without_rows_hold_nothing() -> None:
    data = written(table([]))
    found = asked(data, "s = 1 OR b IS NULL OR f <> 3 OR d IS NOT NULL")
    assert found.num_rows == 0
    for condition in ("s = 1", "d = 'x'", "f IS NOT NULL", "b > 3"):
        assert asked(data, condition).surviving == ()


@pytest.mark.parametrize(
    ("low", "high", "condition", "is_possible"),
    [
        (b"ab", b"ab", "t = 'abc'", True),
        (b"ab", b"ab", "t = 'ac'", False),
        (b"ab", b"ab", "t > 'abc'", True),
        (b"ab", b"ab", "t > 'ac'", False),
        (b"ab", b"ab", "t < 'aa'", False),
        (b"ab", b"ab", "t <> 'ab'", True),
        (b"ab", b"ab", "t IN ('a', 'aba', 'abb', 'b')", True),
        (b"ab", b"ab", "t IN ('a', 'aa', 'ac', 'b')", False),
        (b"", b"", "t = 'zzz'", True),
        (b"ab", b"ac", "t <> 'ab'", True),
    ],
)
def test_prefixes_as_bounds(low: bytes, high: bytes, condition: str, *, is_possible: bool) -> None:
    data = written(pa.table({"t": ["<>", "><"]}), use_dictionary=False)
    footer = footer_of(data).data
    assert footer.count(b"\x02><") == footer.count(b"\x02<>") == 1
    for old, new in ((b"><", high), (b"<>", low)):
        footer = footer.replace(b"\x02" + old, bytes([len(new)]) + new)
    assert bool(asked(with_footer(data, footer), condition).surviving) is is_possible


def test_integers_that_all_are_the_same_differ_from_no_other() -> None:
    data = written(pa.table({"x": [5, 5], "y": [5, None]}), write_statistics=True)
    assert asked(data, "x <> 5").surviving == ()
    assert asked(data, "x <> 6").surviving == (0,)
    assert asked(data, "x NOT IN (4, 5)").surviving == ()


@pytest.mark.parametrize("condition", ["f > 5", "f >= 5", "NOT f < 5", "NOT f <= 5"])
def test_nan_may_be_greater_than_any_maximum(condition: str) -> None:
    data = written(pa.table({"f": [1.0, float("nan")]}))
    assert check_of(data, "f = 5").evidence is Evidence.STATISTICS
    check = check_of(data, condition)
    assert (check.verdict, check.evidence) == (MIGHT, Evidence.NONE)
    assert "NaN" in check.reason
    assert asked(data, "f < 0.5").surviving == ()


def test_atoms_and_their_columns() -> None:
    bindings = Bindings.of(parse("s = 1 AND (s = 2 OR d = 'x') AND lower(d) = 'y' AND f IS NULL"))
    binding = bindings.to(known(EVEN).schema)
    bound = binding.bound
    assert [atom.text for atom in atoms_of(bound)] == [
        "s = 1",
        "s = 2",
        "d = 'x'",
        "LOWER(d) = 'y'",
        "f IS NULL",
    ]
    assert [leaf.name for leaf in leaves_of(bound)] == ["s", "d", "f"]
    assert binding.ordinals == (0, 2, 3)


def test_codes_from_four_cannot_match() -> None:
    for code in Code:
        assert (code >= Code.NOT_BY_STATISTICS) is code.name.startswith("NOT")
        assert _EVIDENCE[code] in Evidence


def test_opaque_conditions_exclude_nothing_but_others_still_do() -> None:
    opaque = Opaque("random() < 0.5")
    assert asked(EVEN, And((opaque, Comparison("s", "=", 9)))).surviving == ()
    assert asked(EVEN, Or((opaque, Comparison("s", "=", 9)))).surviving == (0,)
    assert asked(EVEN, Not(opaque)).surviving == (0,)


def test_counts_of_rows_are_not_believed() -> None:
    data = with_num_rows(written(people(10), row_group_size=10), 2**62)
    assert asked(data, "id = 5").surviving == (0,)
    assert asked(data, "id = 50").surviving == ()


def test_a_null_beside_equal_bounds_may_differ() -> None:
    """A null is what some readers take to be unequal: see `NotInSet`."""
    data = written(pa.table({"x": [5, 5], "y": [5, None]}), write_statistics=True)
    for condition in ("y <> 5", "y NOT IN (4, 5)"):
        assert asked(data, condition).surviving == (0,)
