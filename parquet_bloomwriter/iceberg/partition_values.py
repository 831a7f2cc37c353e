"""Partition values of columns by which a table is partitioned unchanged (identity transform).

All rows of a file have its partition's value, whether the file stores the column or not, as files
that were imported from hive folders do not.

Source: Iceberg specification, "Partition Transforms", "Column Projection".
"""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    BooleanType,
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    StringType,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyiceberg.partitioning import PartitionSpec
    from pyiceberg.types import IcebergType, NestedField

    from parquet_bloomwriter.predicate.expression import Texts

_UNKNOWN: Texts = ()
_NULL: Texts = (None,)
_EPOCH = date(1970, 1, 1)


def identities(
    spec: PartitionSpec, fields: Mapping[str, Sequence[NestedField]]
) -> Iterator[tuple[str, tuple[int, NestedField]]]:
    """Yield the columns that a partition spec uses unchanged: name, position in it, and field.

    Args:
        spec: Partition spec of data files.
        fields: Fields of the table, by dotted name.
    """
    by_id = {
        several[0].field_id: (name, several[0])
        for name, several in fields.items()
        if len(several) == 1
    }
    for position, one in enumerate(spec.fields):
        if isinstance(one.transform, IdentityTransform) and one.source_id in by_id:
            name, source = by_id[one.source_id]
            yield name, (position, source)


def texts_of(partition: Any, position: int, type_: IcebergType) -> Texts:  # noqa: ANN401, PLR0911  a Record; a type each
    """Return a partition value as paths spell it; no value if the spelling is not certain."""
    if position >= len(partition):
        return _UNKNOWN
    value = partition[position]
    if value is None:
        return _NULL
    match type_, value:
        case BooleanType(), bool():
            return (str(value).lower(),)
        case ((IntegerType() | LongType()), int()) if not isinstance(value, bool):
            return (str(value),)
        case StringType(), str():
            return (value,)
        case DecimalType(), Decimal():
            return (f"{value:f}",)
        case DateType(), int() if not isinstance(value, bool):
            return _day(value)
    return _UNKNOWN


def _day(days: int) -> Texts:
    try:
        return ((_EPOCH + timedelta(days=days)).isoformat(),)
    except OverflowError:
        return _UNKNOWN
