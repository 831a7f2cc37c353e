"""Convert parts of SQL conditions that prune nothing, such as LIKE, into pyarrow expressions.

`sql` makes a tree of what compares one column with literals; `email LIKE '%.org'`, `a < b` and
`lower(name) = 'ada'` stay SQL text in it (`Opaque`), from which no row group is excluded. Here the
text becomes an expression. Understood are, between columns, literals and what is computed,

    = != < <= > >=   [NOT] IN   [NOT] BETWEEN   IS [NOT] NULL   IS [NOT] DISTINCT FROM   AND OR NOT
    [NOT] LIKE, ILIKE (ESCAPE)   ~ ~*   starts_with   ends_with   contains
    + - * %   ||   abs   lower   upper   trim   length   substring   coalesce
    EXTRACT, year(), month() ... of dates and timestamps without a zone
    CAST to text, integers, DOUBLE, DATE where all engines agree

In patterns a backslash escapes, as in PostgreSQL and Spark. Regular expressions are those of RE2,
and match anywhere in the text. What engines read in several ways (division, time zones) is refused,
as are all other functions.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from parquet_bloomwriter.errors import ColumnNotFound
from parquet_bloomwriter.predicate.arrow_columns import column_at, is_uuid
from parquet_bloomwriter.predicate.arrow_comparison import (
    Operand,
    compare,
    joined,
    not_evaluated,
)
from parquet_bloomwriter.predicate.expression import OPERATORS, UnknownKind
from parquet_bloomwriter.predicate.literals.arrow import compared_as
from parquet_bloomwriter.predicate.sql import (
    OPERATORS_OF_SQL,
    column_of,
    has_only,
    nesting_refused,
    read_sql,
)
from parquet_bloomwriter.predicate.sql_literals import literal_value
from parquet_bloomwriter.predicate.to_sql import single_quotes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa
    import pyarrow.compute as pc
    from sqlglot.expressions import Expr

    from parquet_bloomwriter.predicate.expression import Operator, Value


def true_for_sql(text: str, schema: pa.Schema, *, is_negated: bool) -> pc.Expression:
    """Return an expression true where the condition is true; or, negated, where it is false.

    Raises:
        ColumnNotFound: If the schema has no such column.
        InvalidArgument: If a part of the condition cannot be evaluated, or is nested too deeply.
    """
    import pyarrow as pa

    try:
        with nesting_refused():
            return _Rows(schema, text).condition(read_sql(text), is_negated=is_negated)
    except (UnknownKind, OverflowError, pa.ArrowException) as error:
        raise not_evaluated(text) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Computed:
    """A column, or an expression of columns, with its type."""

    name: str
    type: pa.DataType
    field: pc.Expression


@dataclass(frozen=True, slots=True)
class _Literal:
    """A literal, or NULL."""

    value: Value | None


_Term: TypeAlias = _Computed | _Literal


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of a table, and the conversion of conditions on them."""

    schema: pa.Schema
    text: str

    # Conditions.

    def condition(self, node: Expr, *, is_negated: bool) -> pc.Expression:
        """Return an expression true where the condition is true; or, negated, where it is false."""
        while node.key == "paren":
            node = node.this
        if node.key in OPERATORS_OF_SQL:
            as_written, mirrored, _ = OPERATORS_OF_SQL[node.key]
            left, right = self._pair(node)
            return self._compare(left, as_written, mirrored, right, is_negated=is_negated)
        make = _CONDITIONS.get(node.key)
        if make is not None:
            return make(self, node, is_negated)
        return self._pattern(node, is_negated=is_negated)

    def _compare(
        self,
        left: _Term,
        as_written: Operator,
        mirrored: Operator,
        right: _Term,
        *,
        is_negated: bool,
    ) -> pc.Expression:
        if isinstance(right, _Literal):
            if isinstance(left, _Literal):
                self._refuse()
            return compare(left, as_written, right.value, is_negated=is_negated)
        if isinstance(left, _Literal):
            return compare(right, mirrored, left.value, is_negated=is_negated)
        if {is_uuid(left.type), is_uuid(right.type)} == {True, False}:
            one = left if is_uuid(left.type) else right
            self._refuse(f"{one.name} is a UUID, and is compared with literals and UUIDs only")
        found = OPERATORS[as_written](*_alike(left, right))
        self._computed(found)
        return ~found if is_negated else found

    def junction(self, node: Expr, is_negated: bool) -> pc.Expression:  # noqa: FBT001  as others
        """Return two conditions joined by AND, or by OR."""
        parts = [self.condition(one, is_negated=is_negated) for one in (node.this, node.expression)]
        return joined(parts, by_and=(node.key == "and") is not is_negated)

    def negation(self, node: Expr, is_negated: bool) -> pc.Expression:  # noqa: FBT001  as others
        """Return the negation of a condition."""
        return self.condition(node.this, is_negated=not is_negated)

    def membership(self, node: Expr, is_negated: bool) -> pc.Expression:  # noqa: FBT001  as others
        """Return the comparison with each value of a list."""
        if not has_only(node, "this", "expressions") or not node.expressions:
            self._refuse()
        one = self.term(node.this)
        parts = [
            self._compare(one, "=", "=", self.term(other), is_negated=is_negated)
            for other in node.expressions
        ]
        return joined(parts, by_and=is_negated)

    def range(self, node: Expr, is_negated: bool) -> pc.Expression:  # noqa: FBT001  as others
        """Return the comparison with both ends of BETWEEN."""
        if not has_only(node, "this", "low", "high"):
            self._refuse()
        one, low, high = map(self.term, (node.this, node.args["low"], node.args["high"]))
        above = self._compare(one, ">=", "<=", low, is_negated=is_negated)
        below = self._compare(one, "<=", ">=", high, is_negated=is_negated)
        return joined([above, below], by_and=not is_negated)

    def null_test(self, node: Expr, is_negated: bool) -> pc.Expression:  # noqa: FBT001  as others
        """Return the test whether a term is null."""
        if not has_only(node, "this", "expression", "negate") or node.expression.key != "null":
            self._refuse()
        field = self._operand(node.this).field
        wants_nulls = bool(node.args.get("negate")) is is_negated
        return field.is_null() if wants_nulls else field.is_valid()

    def distinction(self, node: Expr, is_negated: bool) -> pc.Expression:  # noqa: FBT001  as others
        """Return a comparison in which nulls are values: IS [NOT] DISTINCT FROM."""
        left, right = self._operand(node.this), self.term(node.expression)
        is_null = left.field.is_null()
        if isinstance(right, _Literal):
            if right.value is None:
                self._refuse()
            wants_equal = (node.key == "nullsafeeq") is not is_negated
            equal = compare(left, "=", right.value, is_negated=not wants_equal)
            return equal if wants_equal else equal | is_null
        equal = self._compare(left, "=", "=", right, is_negated=False)
        both = is_null & right.field.is_null()
        if (node.key == "nullsafeeq") is not is_negated:
            return equal | both
        return ~equal | (is_null & right.field.is_valid()) | (~is_null & right.field.is_null())

    def _pattern(self, node: Expr, *, is_negated: bool) -> pc.Expression:
        """Return the match of a text with a pattern."""
        import pyarrow.compute as pc

        escape = "\\"
        if node.key == "escape" and has_only(node, "this", "expression"):
            escape, node = self._string(node.expression), node.this
        if node.key not in _PATTERNS or not has_only(node, "this", "expression", "negate"):
            self._refuse()
        if node.expression.key == "null":
            return pc.scalar(value=False)
        pattern = self._string(node.expression)
        if node.key in {"like", "ilike"}:
            pattern = _with_backslashes(pattern, escape)
        name, ignores_case = _PATTERNS[node.key]
        match: Any = getattr(pc, name)
        found = match(self._text(node.this).field, pattern, ignore_case=ignores_case)
        return found if bool(node.args.get("negate")) is is_negated else ~found

    # Terms.

    def term(self, node: Expr) -> _Term:
        """Return the literal or the computed expression of a node."""
        while node.key == "paren":
            node = node.this
        try:
            return _Literal(literal_value(node))
        except UnknownKind:
            pass
        name = column_of(node)
        if name is not None:
            return self._column(name, node)
        make = _TERMS.get(node.key)
        if make is None:
            self._refuse(_why_unknown(node))
        return self._computed(make(self, node))

    def _column(self, name: str, node: Expr) -> _Computed:
        import pyarrow as pa

        try:
            column = column_at(self.schema, name)
        except ColumnNotFound as error:
            if node.this.args.get("quoted"):
                error.remedy = single_quotes(name)
            raise
        type_, field = column.type, column.field
        if pa.types.is_dictionary(type_):
            type_ = type_.value_type
        type_ = type_ if is_uuid(type_) else compared_as(type_)
        return _Computed(
            name=name, type=type_, field=field if type_ == column.type else field.cast(type_)
        )

    def _computed(self, expression: pc.Expression) -> _Computed:
        """Return an expression together with its type.

        Raises:
            pyarrow.ArrowException: If pyarrow cannot evaluate the expression.
        """
        import pyarrow.dataset as ds

        scanner: Any = ds.Scanner.from_batches(
            iter(()), schema=self.schema, columns={"value": expression}
        )
        type_ = scanner.projected_schema.field(0).type
        return _Computed(name=self.text, type=type_, field=expression)

    def _operand(self, node: Expr) -> _Computed:
        term = self.term(node)
        if isinstance(term, _Literal):
            self._refuse()
        return term

    def _text(self, node: Expr) -> _Computed:
        import pyarrow as pa

        operand = self._operand(node)
        if not (pa.types.is_string(operand.type) or pa.types.is_large_string(operand.type)):
            self._refuse(f"{operand.name} is no text, but of type {operand.type}")
        return operand

    def _string(self, node: Expr) -> str:
        if column_of(node) is not None:
            self.term(node)  # raises the error about a string in double quotes
        value = literal_value(node)
        if not isinstance(value, str):
            self._refuse()
        return value

    def _pair(self, node: Expr) -> tuple[_Term, _Term]:
        if not has_only(node, "this", "expression"):
            self._refuse()
        return self.term(node.this), self.term(node.expression)

    def arithmetic(self, node: Expr) -> pc.Expression:
        """Return a sum, difference or product; pyarrow raises an error if it overflows."""
        if not has_only(node, "this", "expression"):
            self._refuse()
        return _ARITHMETIC[node.key](*self._numbers(node.this, node.expression))

    def _numbers(self, *nodes: Expr) -> list[pc.Expression]:
        """Return terms as numbers of one type: DOUBLE if one is a float, else INT64."""
        import pyarrow as pa
        import pyarrow.compute as pc

        terms = [self.term(node) for node in nodes]
        is_floating = any(map(_is_float, terms))
        kinds = (int, float, Decimal) if is_floating else (int,)
        type_ = pa.float64() if is_floating else pa.int64()
        numbers = []
        for term in terms:
            if isinstance(term, _Literal):
                if type(term.value) not in kinds:
                    self._refuse()
                value = float(term.value) if is_floating else term.value  # type: ignore[arg-type]
                numbers.append(pc.scalar(pa.scalar(value, type_)))
            elif _is_integer_or_float(term):
                numbers.append(_as_double(term.field) if is_floating else term.field.cast(type_))
            else:
                self._refuse(f"there is no arithmetic with values of type {term.type}")
        return numbers

    def remainder(self, node: Expr) -> pc.Expression:
        """Return the remainder of the division of integers, rounded towards zero."""
        divisor = self.term(node.expression)
        if not isinstance(divisor, _Literal) or not divisor.value:
            self._refuse()
        if _is_float(self.term(node.this)):
            self._refuse()
        number, by = self._numbers(node.this, node.expression)
        return number - (number / by) * by

    def negative(self, node: Expr) -> pc.Expression:
        """Return a number with its sign changed."""
        import pyarrow.compute as pc

        return pc.negate_checked(*self._numbers(node.this))

    def of_text(self, node: Expr) -> pc.Expression:
        """Return the call of a function of one text."""
        import pyarrow.compute as pc

        if not has_only(node, "this", "expressions"):
            self._refuse()
        function: Any = getattr(pc, _OF_TEXT[node.key])
        return function(self._text(node.this).field)

    def trim(self, node: Expr) -> pc.Expression:
        """Return a text without blanks at both ends."""
        import pyarrow.compute as pc

        if not has_only(node, "this"):
            self._refuse()
        return pc.utf8_trim(self._text(node.this).field, " ")

    def substring(self, node: Expr) -> pc.Expression:
        """Return a substring by characters, counted from 1."""
        import pyarrow.compute as pc

        if not has_only(node, "this", "start", "length"):
            self._refuse()
        start, length = (
            literal_value(node.args[name]) if node.args.get(name) else None
            for name in ("start", "length")
        )
        if not isinstance(start, int) or start < 1 or not isinstance(length, int | None):
            self._refuse()
        if length is not None and length < 0:
            self._refuse()
        stop = None if length is None else start - 1 + length
        return pc.utf8_slice_codeunits(self._text(node.this).field, start - 1, stop)

    def concatenation(self, node: Expr) -> pc.Expression:
        """Return two texts joined; null if either is null."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not has_only(node, "this", "expression", "safe"):
            self._refuse()
        parts = []
        for one in (node.this, node.expression):
            is_literal = one.key == "literal"
            part = pc.scalar(self._string(one)) if is_literal else self._text(one).field
            parts.append(part.cast(pa.large_string()))
        return pc.binary_join_element_wise(*parts, pc.scalar("").cast(pa.large_string()))

    def absolute(self, node: Expr) -> pc.Expression:
        """Return a number without its sign."""
        import pyarrow.compute as pc

        return pc.abs_checked(*self._numbers(node.this))

    def coalesce(self, node: Expr) -> pc.Expression:
        """Return the first value that is not null."""
        import pyarrow.compute as pc

        terms = [self.term(one) for one in (node.this, *node.expressions)]
        for term in terms:
            if isinstance(term, _Computed) and is_uuid(term.type):
                self._refuse(f"{term.name} is a UUID, and nothing is computed of UUIDs")
        return pc.coalesce(
            *(pc.scalar(term.value) if isinstance(term, _Literal) else term.field for term in terms)
        )

    def calendar_part(self, node: Expr) -> pc.Expression:
        """Return the year, the month and so on of a date, or of a time without a zone."""
        import pyarrow.compute as pc

        is_extract = node.key == "extract"
        part = (node.this.name if is_extract else node.key).lower()
        if part not in _CALENDAR:
            self._refuse(f"{part.upper()} is no part of a date that is known")
        operand = self._operand(node.expression if is_extract else node.this)
        self._check_clock(operand)
        function: Any = getattr(pc, part)
        return function(operand.field)

    def _check_clock(self, operand: Operand) -> None:
        import pyarrow as pa

        is_naive = pa.types.is_timestamp(operand.type) and operand.type.tz is None
        if pa.types.is_timestamp(operand.type) and not is_naive:
            self._refuse(f"{operand.name} has a time zone, and its dates depend on the reader's")
        if not (is_naive or pa.types.is_date(operand.type)):
            self._refuse(f"{operand.name} is no date and no timestamp, but of type {operand.type}")

    def cast(self, node: Expr) -> pc.Expression:
        """Return a term converted to another type."""
        import pyarrow as pa

        target = node.args["to"]
        operand, types = self._operand(node.this), pa.types
        is_integer = types.is_integer(operand.type)
        is_number = is_integer or types.is_floating(operand.type)
        is_text = types.is_string(operand.type) or types.is_large_string(operand.type)
        if target.expressions or not has_only(node, "this", "to", "_type"):
            self._refuse()
        match target.this.value:
            case "VARCHAR" | "TEXT" if is_text or is_integer:
                return operand.field.cast(pa.large_string())
            case "BIGINT" | "INT" as name if is_integer:
                return operand.field.cast(pa.int64() if name == "BIGINT" else pa.int32())
            case "DOUBLE" if is_number:
                return _as_double(operand.field)
            case "DATE":
                self._check_clock(operand)
                return operand.field.cast(pa.date32(), safe=False)
        why = f"engines differ in how they convert {operand.type} to {target.sql()}"
        raise not_evaluated(self.text, why)

    def _refuse(self, why: str = "") -> NoReturn:
        raise not_evaluated(self.text, why)


def _why_unknown(node: Expr) -> str:
    """Return why a node cannot be computed, a clause; "" without a known reason."""
    from sqlglot import expressions

    if node.key == "div":
        return "engines differ in how they divide"
    if isinstance(node, expressions.Func):
        name = node.name if node.key == "anonymous" else node.sql_name()
        return f"the function {name.upper()} is not known"
    return ""


def _alike(left: _Computed, right: _Computed) -> tuple[pc.Expression, pc.Expression]:
    """Return two terms in a form that pyarrow compares; integers with floats as DOUBLE, as in SQL.

    pyarrow would raise an error for integers that no DOUBLE equals.
    """
    import pyarrow as pa

    kinds = [pa.types.is_floating(one.type) for one in (left, right)]
    if any(kinds) and all(map(_is_integer_or_float, (left, right))):
        return _as_double(left.field), _as_double(right.field)
    if is_uuid(left.type):
        return left.field.cast(compared_as(left.type)), right.field.cast(compared_as(right.type))
    return left.field, right.field


def _as_double(field: pc.Expression) -> pc.Expression:
    """Return integers rounded to DOUBLE.

    The cast is hidden in `coalesce`: pyarrow would cast minimum and maximum of a column chunk as
    well, and fail where these are not exact.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.coalesce(field.cast(pa.float64(), safe=False))


def _is_float(term: _Term) -> bool:
    import pyarrow as pa

    if isinstance(term, _Literal):
        return isinstance(term.value, float)
    return bool(pa.types.is_floating(term.type))


def _is_integer_or_float(operand: _Computed) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(operand.type) or pa.types.is_floating(operand.type))


def _with_backslashes(pattern: str, escape: str) -> str:
    """Return a pattern rewritten so that a backslash escapes."""
    if escape == "\\":
        return pattern
    found, characters = "", iter(pattern)
    for character in characters:
        if character == escape:
            found += "\\" + next(characters, "")
        else:
            found += "\\\\" if character == "\\" else character
    return found


_PATTERNS: Mapping[str, tuple[str, bool]] = {
    "like": ("match_like", False),
    "ilike": ("match_like", True),
    "regexplike": ("match_substring_regex", False),
    "regexpilike": ("match_substring_regex", True),
    "startswith": ("starts_with", False),
    "endswith": ("ends_with", False),
    "contains": ("match_substring", False),
}
"""pyarrow's function, and whether it ignores case, by sqlglot's name of the node."""

_OF_TEXT = {"lower": "utf8_lower", "upper": "utf8_upper", "length": "utf8_length"}
_CALENDAR = ("year", "quarter", "month", "day", "hour", "minute")
_ARITHMETIC: Mapping[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
}
_CONDITIONS: Mapping[str, Callable[[_Rows, Expr, bool], pc.Expression]] = {
    "and": _Rows.junction,
    "or": _Rows.junction,
    "not": _Rows.negation,
    "in": _Rows.membership,
    "between": _Rows.range,
    "is": _Rows.null_test,
    "nullsafeeq": _Rows.distinction,
    "nullsafeneq": _Rows.distinction,
}
_TERMS: Mapping[str, Callable[[_Rows, Expr], pc.Expression]] = {
    **dict.fromkeys(_ARITHMETIC, _Rows.arithmetic),
    **dict.fromkeys(_OF_TEXT, _Rows.of_text),
    **dict.fromkeys(("extract", *_CALENDAR), _Rows.calendar_part),
    "mod": _Rows.remainder,
    "neg": _Rows.negative,
    "abs": _Rows.absolute,
    "trim": _Rows.trim,
    "substring": _Rows.substring,
    "dpipe": _Rows.concatenation,
    "coalesce": _Rows.coalesce,
    "cast": _Rows.cast,
}
"""Functions that compute a term, by sqlglot's name of the node."""
