"""Check whether Spark shows the stored values of a column, or converts them.

A DataFrame's schema may differ from that of a file: the user or a table gives the schema, or it is
merged from several files. Spark then converts stored values, or takes their bits for another type:
a decimal of two places as BIGINT is 4200 where 42.00 is stored, an INT32 as TINYINT loses its upper
bytes, and the row-based reader rounds decimals. An index knows stored values, so it is used only
where Spark shows the same values.

Source: Spark 4.3, ParquetVectorUpdaterFactory and ParquetRowConverter, tried out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.metadata.logical_types import Kind, type_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql.types import DataType

    from parquet_bloomwriter.index.query.snapshot import Snapshot
    from parquet_bloomwriter.metadata import Leaf
    from parquet_bloomwriter.metadata.logical_types import ColumnType

_BITS = {"byte": 8, "short": 16, "integer": 32, "long": 64}
_DIGITS = {8: 3, 16: 5, 32: 10, 64: 20}
"""Number of decimal digits of integers by their width in bits; signed integers of 64 bits need only
19."""


def data_type_of(type_: str) -> DataType:
    """Return PySpark's type for the name that Catalyst gives it."""
    from pyspark.sql import types

    name, _, digits = type_.rstrip(")").partition("(")
    if digits:
        precision, scale = map(int, digits.split(","))
        return types.DecimalType(precision, scale)
    plain: tuple[type[DataType], ...] = (
        *(types.ByteType, types.ShortType, types.IntegerType, types.LongType),
        *(types.FloatType, types.DoubleType, types.StringType, types.BinaryType),
        *(types.DateType, types.TimestampType, types.TimestampNTZType),
    )
    return {kind.typeName(): kind for kind in plain}[name]()


def shows_as_stored(snapshot: Snapshot, column: str, data_type: DataType) -> bool:
    """Return whether Spark shows the stored values of a column in all files of an index.

    Args:
        snapshot: The index.
        column: The index's name of the column.
        data_type: Spark's type of the column.

    Returns:
        False also if the index cannot be read; its `problem` says why.
    """
    leaves = snapshot.types(column)
    return bool(leaves) and all(is_shown_as_stored(data_type, leaf) for leaf in leaves)


def is_shown_as_stored(data_type: DataType, leaf: Leaf) -> bool:
    """Return whether a column of Spark's type has the values that a leaf of a file stores."""
    name, stored = data_type.typeName(), type_of(leaf)
    if name in _BITS:
        return _is_integer(stored, _BITS[name])
    check = _CHECKS.get(name)
    return check is not None and check(data_type, stored)


def _is_integer(stored: ColumnType, bits: int) -> bool:
    """Return whether a stored integer type fits into `bits`; unsigned ones need one bit more."""
    return stored.kind is Kind.INTEGER and stored.bits + (not stored.is_signed) <= bits


def _is_float(_: DataType, stored: ColumnType) -> bool:
    return stored.kind is Kind.FLOATING and stored.bits == _BITS["integer"]


def _is_double(_: DataType, stored: ColumnType) -> bool:
    if stored.kind is Kind.FLOATING:
        return stored.bits in (32, 64)
    return _is_integer(stored, 32)


def _is_decimal(data_type: Any, stored: ColumnType) -> bool:  # noqa: ANN401  DecimalType
    whole = data_type.precision - data_type.scale
    if stored.kind is Kind.INTEGER:
        return _DIGITS[stored.bits] <= whole and (stored.is_signed or stored.bits in (8, 16, 64))
    return (
        stored.kind is Kind.DECIMAL
        and stored.scale <= data_type.scale
        and stored.precision - stored.scale <= whole
    )


def _is_timestamp(_: DataType, stored: ColumnType) -> bool:
    return stored.kind is Kind.TIMESTAMP and stored.is_adjusted


def _is_timestamp_ntz(_: DataType, stored: ColumnType) -> bool:
    return stored.kind is Kind.TIMESTAMP and not stored.is_adjusted


_CHECKS: dict[str, Callable[[Any, ColumnType], bool]] = {
    "float": _is_float,
    "double": _is_double,
    "decimal": _is_decimal,
    "string": lambda _, stored: stored.kind in (Kind.TEXT, Kind.BINARY),
    "binary": lambda _, stored: stored.kind is Kind.BINARY,
    "date": lambda _, stored: stored.kind is Kind.DATE,
    "timestamp": _is_timestamp,
    "timestamp_ntz": _is_timestamp_ntz,
}
"""Functions that check a leaf column against a type, by PySpark's name of the type."""
