"""How the values of a column compare, by its type.

Source: parquet.thrift, ColumnOrder: signed, unsigned, unsigned byte by byte, or undefined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from parquet_bloomwriter.metadata import PhysicalType
from parquet_bloomwriter.metadata.logical_types import Kind, type_of
from parquet_bloomwriter.predicate.bound import Order

if TYPE_CHECKING:
    from parquet_bloomwriter.metadata import Leaf

_ORDERS: Final = {
    Kind.FLOATING: Order.FLOATING,
    Kind.BOOLEAN: Order.BOOLEAN,
    Kind.TEXT: Order.BYTES,
    Kind.BINARY: Order.BYTES,
    Kind.UUID: Order.BYTES,
    Kind.DATE: Order.SIGNED,
    Kind.TIME: Order.SIGNED,
    Kind.TIMESTAMP: Order.SIGNED,
}
_INTEGERS = (PhysicalType.INT32, PhysicalType.INT64)


def order_of(leaf: Leaf) -> Order | None:
    """How the column's values compare; None if no order is defined, or none that is known here."""
    column = type_of(leaf)
    if column.kind is Kind.INTEGER:
        return Order.SIGNED if column.is_signed else Order.UNSIGNED
    if column.kind is Kind.DECIMAL:
        return Order.SIGNED if leaf.physical_type in _INTEGERS else Order.BIG_ENDIAN
    return _ORDERS.get(column.kind)
