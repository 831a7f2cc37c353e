"""The safe part of a condition: comparisons that Spark is certain to evaluate on stored values.

Every other part becomes `Opaque`, and excludes no file. A comparison is safe if

- its name means one column of the DataFrame, which is a column of the files, unchanged;
- Spark compares the stored values with the literal, without a time zone, rounding, collation or
  padding in between;
- its literal is no date before 1900: Spark may show another date than the stored one.

Source: Spark, AnsiTypeCoercion, DecimalPrecision, DataSourceUtils.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeGuard

from parquet_bloomwriter.predicate.expression import (
    And,
    Comparison,
    Constant,
    Instant,
    IsIn,
    Not,
    Opaque,
    Or,
)
from parquet_bloomwriter.predicate.iso_8601 import instant_of, parse_date, parse_timestamp
from parquet_bloomwriter.predicate.to_sql import to_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql.types import DataType, StructField, StructType

    from parquet_bloomwriter.predicate.expression import Expression, Value

_EXACT_IN_FLOAT = 1 << 24
_EXACT_IN_DOUBLE = 1 << 53
_INT_LIMIT = 1 << 31
_INT_DIGITS, _LONG_DIGITS = 10, 20
_MAX_DIGITS = 15
"""Maximum number of digits of a decimal literal: such a literal is exact as DOUBLE, and fits beside
any integer."""

_MAX_PRECISION = 38
_MAX_TEXT_DIGITS = 18
_OLDEST = instant_of(date(1900, 1, 2)).nanoseconds
"""The oldest safe time, nanoseconds since 1970. Before 1900 (dates: before 1582-10-15), settings of
Spark decide on calendars and zones. One day is added for zones."""

_CHAR_TYPE = "__CHAR_VARCHAR_TYPE_STRING"
_FIELD_ID = "parquet.field.id"


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The columns of a DataFrame, and whether they are columns of files."""

    schema: StructType
    is_stored: Callable[[int], bool]
    """Function: whether the column of an ordinal, 0-based, is a column of files."""

    def find(self, name: str) -> tuple[str, DataType] | None:
        """Find the leaf that a dotted path means; return the schema's spelling and the type.

        Return None if the path might mean another column: a name that differs from another name
        only in case, a path that may begin with an alias of the table, or a name with dots.
        """
        first, *rest = name.split(".")
        tops = {one.name.casefold() for one in self.schema.fields}
        others = {one.casefold() for one in (*rest, name)} if rest else set()
        path = _path(self.schema, (first, *rest))
        if path is None or tops & others:
            return None
        if not self.is_stored(self.schema.fields.index(path[0])):
            return None
        return ".".join(field.name for field in path), path[-1].dataType


def safe_part(tree: Expression, columns: Columns) -> Expression:
    """Replace unsafe parts by `Opaque`, and names by the schema's spellings."""
    match tree:
        case Not(operand):
            return Not(safe_part(operand, columns))
        case And(operands) | Or(operands):
            return type(tree)(tuple(safe_part(one, columns) for one in operands))
        case Comparison(name, "=" | "!=", value):
            return _renamed(tree, columns.find(name), (value,))
        case IsIn(name, values):
            return _renamed(tree, columns.find(name), values)
        case Constant():
            return tree
    return Opaque(to_text(tree))


def _renamed(
    tree: Comparison | IsIn, found: tuple[str, DataType] | None, values: tuple[Value | None, ...]
) -> Expression:
    if found is None or not all(value is None or _compares(found[1], value) for value in values):
        return Opaque(to_text(tree))
    return replace(tree, column=found[0])


def _path(struct: DataType, names: tuple[str, ...]) -> list[StructField] | None:
    """Return the fields along a path of names, from a struct inwards; None if one is missing."""
    path: list[StructField] = []
    for name in names:
        field = _only(path[-1].dataType if path else struct, name)
        if field is None:
            return None
        path.append(field)
    return path


def _only(struct: Any, name: str) -> StructField | None:  # noqa: ANN401  any DataType
    """Return the only field of a name, case ignored, if Spark finds it by its name in files."""
    wanted = name.casefold()
    found = [one for one in getattr(struct, "fields", ()) if one.name.casefold() == wanted]
    if len(found) != 1 or "." in found[0].name:
        return None
    metadata = found[0].metadata or {}
    is_padded = str(metadata.get(_CHAR_TYPE, "")).lower().startswith("char")
    return None if is_padded or _FIELD_ID in metadata else found[0]


# Comparisons with stored values.


def _compares(data_type: DataType, value: Value) -> bool:
    """Return whether Spark compares stored values of a column of this type with the literal."""
    check = _CHECKS.get(data_type.typeName())
    return check is not None and not isinstance(value, bool) and check(data_type, value)


def _with_integer(_: DataType, value: Value) -> bool:
    if isinstance(value, str):
        return value.removeprefix("-").isdecimal() and value.isascii() and _is_short(value)
    return isinstance(value, int) or _has_few_digits(value)


def _is_short(text: str) -> bool:
    return len(text) <= _MAX_TEXT_DIGITS


def _with_float(_: DataType, value: Value) -> bool:
    return _is_number(value) and -_EXACT_IN_FLOAT < value < _EXACT_IN_FLOAT


def _with_double(_: DataType, value: Value) -> bool:
    return _is_number(value) and -_EXACT_IN_DOUBLE < value < _EXACT_IN_DOUBLE


def _is_number(value: Value) -> TypeGuard[int | float | Decimal]:
    return isinstance(value, int | float) or _has_few_digits(value)


def _has_few_digits(value: Value) -> bool:
    if not isinstance(value, Decimal) or not value.is_finite():
        return False
    _, digits, exponent = value.as_tuple()
    return len(digits) <= _MAX_DIGITS and -_MAX_DIGITS <= int(exponent) <= 0


def _with_decimal(data_type: Any, value: Value) -> bool:  # noqa: ANN401  DecimalType
    """Return whether Spark finds a common type that cuts no digits."""
    whole, scale = _INT_DIGITS, 0
    if isinstance(value, int):
        if abs(value) >= _EXACT_IN_DOUBLE:
            return False
        whole = _INT_DIGITS if abs(value) < _INT_LIMIT else _LONG_DIGITS
    elif isinstance(value, Decimal) and _has_few_digits(value):
        whole, scale = _MAX_DIGITS, -int(value.as_tuple().exponent)
    else:
        return False
    whole = max(whole, data_type.precision - data_type.scale)
    return bool(whole + max(scale, data_type.scale) <= _MAX_PRECISION)


def _with_text(data_type: DataType, value: Value) -> bool:
    is_binary = data_type.simpleString() == "string"  # others have a collation
    return is_binary and isinstance(value, str)


def _with_bytes(_: DataType, value: Value) -> bool:
    return isinstance(value, bytes)


def _with_date(_: DataType, value: Value) -> bool:
    if isinstance(value, datetime):
        return False
    day = parse_date(value) if isinstance(value, str) else value
    return isinstance(day, date) and instant_of(day).nanoseconds >= _OLDEST


def _with_timestamp(_: DataType, value: Value) -> bool:
    moment = _moment(value)
    return moment is not None and moment.is_zoned and moment.nanoseconds >= _OLDEST


def _with_timestamp_ntz(_: DataType, value: Value) -> bool:
    """Return whether a text has no zone; typed literals have the session's zone, and are unsafe."""
    moment = _moment(value) if isinstance(value, str) else None
    return moment is not None and not moment.is_zoned and moment.nanoseconds >= _OLDEST


def _moment(value: Value) -> Instant | None:
    moment = parse_timestamp(value) if isinstance(value, str) else value
    return instant_of(moment) if isinstance(moment, datetime | Instant) else None


_CHECKS: dict[str, Callable[[Any, Value], bool]] = {
    "byte": _with_integer,
    "short": _with_integer,
    "integer": _with_integer,
    "long": _with_integer,
    "float": _with_float,
    "double": _with_double,
    "decimal": _with_decimal,
    "string": _with_text,
    "binary": _with_bytes,
    "date": _with_date,
    "timestamp": _with_timestamp,
    "timestamp_ntz": _with_timestamp_ntz,
}
"""Functions that check whether Spark compares stored values with a literal, by PySpark's type
name."""
