"""Which columns of a table a projection and a condition need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import ColumnNotFound
from parquet_bloomwriter.predicate import columns_of
from parquet_bloomwriter.predicate.expression import And, Not, Opaque, Or
from parquet_bloomwriter.text import suggestion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_bloomwriter.predicate.expression import Expression
    from parquet_bloomwriter.scan.table import Projection


def needed_names(
    every: Sequence[str], columns: Projection | None, tree: Expression | None
) -> tuple[str, ...]:
    """Return the columns that are returned or in the condition, in the table's order.

    Args:
        every: Names of the table's columns, of groups as a whole.
        columns: What is returned; None for all.
        tree: The condition.

    Raises:
        ColumnNotFound: If the table has no such column.
    """
    if columns is None or isinstance(columns, Mapping) or (tree is not None and is_opaque(tree)):
        if columns is not None and not isinstance(columns, Mapping):
            _check_names(every, columns)
        return tuple(every)
    asked = [*columns, *(columns_of(tree) if tree is not None else ())]
    _check_names(every, asked)
    return tuple(
        one for one in every if any(name == one or name.startswith(f"{one}.") for name in asked)
    )


def is_opaque(tree: Expression) -> bool:
    """Return whether a part of a condition may name columns that are not known."""
    match tree:
        case Not(operand):
            return is_opaque(operand)
        case And(operands) | Or(operands):
            return any(map(is_opaque, operands))
        case Opaque():
            return True
    return False


def _check_names(every: Sequence[str], asked: Sequence[str]) -> None:
    for name in asked:
        if not any(name == one or name.startswith(f"{one}.") for one in every):
            raise ColumnNotFound(
                f'there is no column "{name}"', name=name, remedy=suggestion(name, every)
            )
