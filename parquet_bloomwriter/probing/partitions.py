"""Conditions on columns of hive partitions, whose values are in paths: `year=2023/x.parquet`.

A path has no types. Readers guess them, and guess differently: `month=01` is the number 1 to Spark
and DuckDB unless a schema says text. So a condition on such a column is decided only where all
readings of its text agree: as text, as a number (exactly, and as DOUBLE), as a date, as a boolean,
whichever make sense for both the text and the literal. Where no reading makes sense, or readings
disagree, any row might match; also where a text begins like a number or a date, but is neither by
these rules: some reader takes 0x10 for 16, and 2020-1-1 for a day.

- `__HIVE_DEFAULT_PARTITION__` is null. An empty value may be null or empty text; `null`, in any
  case, is null to DuckDB, and text to others.
- A number as a literal may be compared as text: Polars does so where the value of another file is
  no number, and then 01 is not 1.
- Names and values are percent-encoded by most writers, not by all: both spellings are possible.
- A column of the path hides a stored one of the same name, as in Spark and pyarrow. That holds for
  folders below the one that is read. Of a file that is named itself, and of what a pattern matches,
  some readers see the stored column: there both have to exclude a row group.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from parquet_bloomwriter.predicate.expression import (
    OPERATORS,
    And,
    Comparison,
    Constant,
    Expression,
    Holds,
    IsIn,
    IsNull,
    Not,
    Opaque,
    Or,
)
from parquet_bloomwriter.predicate.iso_8601 import parse_date, parse_time, parse_timestamp
from parquet_bloomwriter.predicate.to_sql import to_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from parquet_bloomwriter.predicate.expression import Operator, Texts, Value

_NULL = "__HIVE_DEFAULT_PARTITION__"
_BOOLEANS = ("true", "false")
_WORDS = frozenset({"epoch", "inf", "infinity", "nan", "today", "now", "yesterday", "tomorrow"})
"""Texts that some readers take for numbers or dates."""

_HUGE = 10**400
_NUMBER = re.compile(r"[+-]?(\d{1,400}(\.\d{0,400})?|\.\d{1,400})([eE][+-]?\d{1,3})?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """The columns of a predicate whose values are known from a path, or from a table's metadata."""

    values: Mapping[str, Texts]
    """Possible texts of the value, by name of the column."""

    hides_stored: bool
    """Whether readers see these columns instead of stored columns of the same names."""

    origin: str = "the value in the path"
    """The source of the values, as a noun of a message."""

    hides_parts: bool = True
    """Whether conditions on elements of lists and parts of maps become `Opaque`, too."""

    def decided(
        self, expression: Expression, stored: Collection[str], *, is_negated: bool = False
    ) -> Expression:
        """Replace conditions that the path decides by constants, and open ones by `Opaque`.

        Args:
            expression: The predicate.
            stored: Names of the columns that are stored in the file.
            is_negated: Whether the expression stands under a NOT, or an odd number of them.
        """
        match expression:
            case Not(operand):
                return Not(self.decided(operand, stored, is_negated=not is_negated))
            case And(operands) | Or(operands):
                kind = type(expression)
                parts = [self.decided(one, stored, is_negated=is_negated) for one in operands]
                return kind(tuple(parts))
            case Comparison(column) | IsIn(column) | IsNull(column) if column in self.values:
                found = self._condition(expression, is_negated=is_negated)
                if self.hides_stored or column not in stored:
                    return found
                return And((found, expression)) if is_negated else Or((found, expression))
            case Holds(column) if self.hides_parts and column in self.values:
                return Opaque(to_text(expression))
        return expression

    def excludes(self, expression: Expression) -> bool:
        """Return whether the path alone makes the predicate false, whatever the file stores."""
        return self.hides_stored and outcome(self.decided(expression, ())) is False

    def _condition(self, expression: Comparison | IsIn | IsNull, *, is_negated: bool) -> Expression:
        texts = self.values[expression.column]
        # A comparison with null is not true, and neither is its negation.
        found = [_outcomes(expression, text, of_null=is_negated) for text in texts]
        outcomes = set[bool]().union(*found)
        if len(outcomes) != 1:
            return Opaque(to_text(expression))
        (value,) = outcomes
        meets = "meets it" if value else "does not meet it"
        reason = f"{self.origin} {meets}"
        return Constant(value, text=to_text(expression), reason=reason)


def partition_of(path: str, inner: str, columns: Collection[str]) -> Partition | None:
    """Return the columns of a predicate that are named in a path, or None.

    Args:
        path: Of a file.
        inner: The end of the path, from the folder that is read; "" if no folder is read.
        columns: Names in the predicate.
    """
    for part in (inner, path):
        values: dict[str, Texts] = {}
        for name, texts in _segments(part):
            if name in columns:
                values[name] = (*values.get(name, ()), *texts)
        if values:
            return Partition(values=values, hides_stored=part == inner)
    return None


def outcome(expression: Expression) -> bool | None:
    """Return the value of a tree if constants decide it, else None."""
    match expression:
        case Constant(value):
            return value
        case Not(operand):
            found = outcome(operand)
            return None if found is None else not found
        case And(operands) | Or(operands):
            parts = [outcome(one) for one in operands]
            decisive = isinstance(expression, Or)
            if decisive in parts:
                return decisive
            return None if None in parts else not decisive
    return None


def _segments(path: str) -> Iterator[tuple[str, Texts]]:
    """Yield the columns that folders of a path name, with the possible texts of their values."""
    for segment in path.split("/")[:-1]:
        raw_name, equals, raw = segment.partition("=")
        if not equals or not raw_name:
            continue
        value = unquote(raw)
        texts: Texts = (None,) if _NULL in (raw, value) else tuple(dict.fromkeys((value, raw)))
        may_be_null = not raw or value.lower() == "null"
        yield unquote(raw_name), (*texts, None) if may_be_null else texts


def _outcomes(
    expression: Comparison | IsIn | IsNull, text: str | None, *, of_null: bool
) -> set[bool]:
    """Return the possible results of a condition for one value; `of_null` if the result is null."""
    if isinstance(expression, IsNull):
        return {text is None}
    if text is None:
        return {of_null}
    if isinstance(expression, IsIn):
        each = [_compare(text, "=", value) for value in expression.values]
        if {True} in each:
            return {True}
        return set[bool]({False}).union(*each)
    if expression.value is None:
        return {of_null}
    return _compare(text, expression.operator, expression.value)


def _compare(text: str, operator: Operator, value: Value) -> set[bool]:
    """Return the results of a comparison by every reading that makes sense of both values."""
    readings = list(_readings(text, value))
    if not readings:
        return {True, False}
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    if operator in ("=", "!=") and is_number:
        readings.append((text, str(value)))
    return {bool(OPERATORS[operator](*reading)) for reading in readings}


def _readings(text: str, value: Value) -> Iterator[tuple[Any, Any]]:
    """Yield the path's value and the literal, in each pair of types that readers may give them."""
    if isinstance(value, bool):
        if text.lower() in _BOOLEANS:
            yield text.lower() == "true", value
    elif isinstance(value, str):
        yield from _as_texts(text, value)
    elif isinstance(value, int | float | Decimal):
        yield from _as_numbers(text, value)
    elif isinstance(value, date):
        yield from _as_dates(text, value)


def _as_texts(text: str, value: str) -> Iterator[tuple[Any, Any]]:
    """Yield both values as text; nothing for booleans and times, which are spelled in many ways."""
    if text != value and (
        text.lower() in _BOOLEANS
        or _are_times(text, value)
        or _has_other_readings(text)
        or _has_other_readings(value)
    ):
        return
    yield text, value
    yield from _as_numbers(text, value)
    yield from _as_dates(text, value)


def _has_other_readings(text: str) -> bool:
    """Return whether another reader may parse a text, such as 0x10, as a number or a date."""
    text = text.strip()
    if _NUMBER.fullmatch(text) or parse_date(text) is not None:
        return False
    return text.lower().lstrip("+-") in _WORDS or text[:1].isdigit() or text[:1] in {"+", "-", "."}


def _are_times(*texts: str) -> bool:
    if all(parse_time(text) is not None for text in texts):
        return True
    are_moments = all(parse_timestamp(text) is not None for text in texts)
    return are_moments and any(parse_date(text) is None for text in texts)


def _as_numbers(text: str, value: str | float | Decimal) -> Iterator[tuple[Any, Any]]:
    """Yield both numbers exactly, as DOUBLE, and with the path's rounded or cut to an integer."""
    number, literal = _number(text), _number(value)
    if number is not None and literal is not None:
        yield number, literal
        yield float(number), float(literal)
        yield Decimal(math.floor(number)), literal
        yield Decimal(math.ceil(number)), literal


def _number(value: str | float | Decimal) -> Decimal | None:
    if isinstance(value, str):
        return Decimal(value.strip()) if _NUMBER.fullmatch(value.strip()) else None
    if isinstance(value, int):
        return Decimal(value) if abs(value) < _HUGE else None
    number = Decimal(value)
    return number if number.is_finite() else None


def _as_dates(text: str, value: str | date) -> Iterator[tuple[Any, Any]]:
    """Yield both values as dates; nothing for times, which some readers cut to days."""
    if isinstance(value, datetime):
        is_midnight = value.tzinfo is None and value.time() == time()
        day = value.date() if is_midnight else None
    else:
        day = parse_date(value) if isinstance(value, str) else value
    stored = parse_date(text)
    if day is not None and stored is not None:
        yield stored, day
