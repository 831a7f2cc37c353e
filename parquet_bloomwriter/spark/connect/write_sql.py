r"""Writes trees as conditions in Spark's SQL.

The text of a literal fixes its type, and no setting of the session changes its meaning. Strings
with quotation marks, backslashes, dollars or control characters are written as bytes, times without
a zone as TIMESTAMP_NTZ, and times with a zone in UTC.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.predicate.expression import (
    And,
    Comparison,
    Constant,
    Holds,
    IsIn,
    IsNull,
    Not,
    Opaque,
    Or,
)
from parquet_bloomwriter.predicate.to_sql import to_text

if TYPE_CHECKING:
    from collections.abc import Collection

    from parquet_bloomwriter.predicate.expression import Expression, Value

_AS_BYTES = frozenset("'\\$")


def write_condition(tree: Expression, columns: Collection[str]) -> str:  # noqa: PLR0911  by kind
    """Return the SQL of a tree.

    Args:
        tree: The condition.
        columns: Names of the DataFrame's columns; any other name with dots is a path.

    Raises:
        InvalidArgument: If Spark's SQL has no way to write a part of the tree.
    """
    match tree:
        case Comparison(name, operator, value):
            return f"{_name(name, columns)} {operator} {_literal(value, name)}"
        case IsIn(_, ()):
            return "FALSE"
        case IsIn(name, values):
            listed = ", ".join([_literal(value, name) for value in values])
            return f"{_name(name, columns)} IN ({listed})"
        case IsNull(name):
            return f"{_name(name, columns)} IS NULL"
        case Not(operand):
            return f"NOT ({write_condition(operand, columns)})"
        case And(operands):
            return " AND ".join([f"({write_condition(one, columns)})" for one in operands])
        case Or(operands):
            return " OR ".join([f"({write_condition(one, columns)})" for one in operands])
        case Constant(value):
            return str(value).upper()
        case Opaque() | Holds():
            raise InvalidArgument(
                f"Spark cannot evaluate this part of the condition: {to_text(tree)}",
                remedy="Give the whole condition as SQL text.",
            )


def _name(name: str, columns: Collection[str]) -> str:
    if "${" in name:  # Spark puts the value of a variable in its place, within a name, too
        raise InvalidArgument("Spark's SQL cannot name such a column", column=name)
    parts = [name] if name in columns else name.split(".")
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)


def _literal(value: Value | None, column: str) -> str:  # noqa: C901, PLR0911  one for each kind
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case int():
            return str(value)
        case float():
            return f"CAST('{value!r}' AS DOUBLE)"
        case Decimal() if value.is_finite():
            return f"{value:f}BD"
        case str():
            return _text(value, column)
        case bytes():
            return f"X'{value.hex()}'"
        case datetime(tzinfo=None):
            return f"TIMESTAMP_NTZ '{value.isoformat(' ')}'"
        case datetime():
            return f"TIMESTAMP_LTZ '{value.astimezone(UTC).isoformat(' ')}'"
        case date():
            return f"DATE '{value.isoformat()}'"
    raise InvalidArgument(
        f"Spark has no literal for {value!r}",
        column=column,
        remedy="Give the whole condition as SQL text.",
    )


def _text(value: str, column: str) -> str:
    if value.isprintable() and not _AS_BYTES & set(value):
        return f"'{value}'"
    try:
        return f"CAST(X'{value.encode().hex()}' AS STRING)"
    except UnicodeEncodeError:
        raise InvalidArgument(f"{value!r} is not valid Unicode", column=column) from None
