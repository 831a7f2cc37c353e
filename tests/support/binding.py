"""Columns to bind predicates to, and what a bound predicate says of a single row."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from parquet_bloomwriter.metadata import TAIL_BYTES, Leaf, PhysicalType, Repetition, parse_footer
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
from tests.support.compact import footer_start

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parquet_bloomwriter.predicate.bound import Bound


def written(table: pa.Table, **options: Any) -> bytes:  # noqa: ANN401  pyarrow's own options
    """The table as a Parquet file, by pyarrow."""
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def leaves_in(file: bytes) -> tuple[Leaf, ...]:
    """The leaf columns of a whole file."""
    start = footer_start(file)
    return parse_footer(file[start:-TAIL_BYTES], start=start).leaves


def leaves_of(table: pa.Table, **options: Any) -> tuple[Leaf, ...]:  # noqa: ANN401  see `written`
    """The leaf columns of the table as pyarrow writes it."""
    return leaves_in(written(table, **options))


def leaf_of(kind: pa.DataType, **options: Any) -> Leaf:  # noqa: ANN401  see `written`
    """A column "x" of an Arrow type as pyarrow writes it."""
    return leaves_of(pa.table({"x": pa.array([], kind)}), **options)[0]


def bare_leaf(  # noqa: PLR0913  the fields of a SchemaElement
    physical_type: PhysicalType,
    *,
    name: str = "x",
    type_length: int | None = None,
    converted_type: int | None = None,
    scale: int | None = None,
    precision: int | None = None,
    logical_type: bytes = b"",
    repetition: Repetition = Repetition.OPTIONAL,
) -> Leaf:
    """A top-level column of given fields."""
    return Leaf(
        ordinal=0,
        path=(name,),
        repetitions=(repetition,),
        physical_type=physical_type,
        type_length=type_length,
        converted_type=converted_type,
        scale=scale,
        precision=precision,
        logical_type=logical_type,
    )


def admits(bound: Bound, row: Mapping[str, Any]) -> bool:
    """Whether a row group of just this row, keys by column, might match."""
    match bound:
        case AllOf(parts):
            return all(admits(part, row) for part in parts)
        case AnyOf(parts):
            return any(admits(part, row) for part in parts)
        case Unknown():
            return True
        case AlwaysFalse():
            return False
        case _:
            return _admits(bound, row[bound.leaf.name])


def _admits(part: InSet | Interval | NotInSet | Nulls | NotNull, key: Any) -> bool:  # noqa: ANN401  a key, a null, NaN
    match part:
        case Nulls():
            return key is None
        case NotNull():
            return key is not None
        case NotInSet(keys=keys):
            return key is None or key not in keys
        case InSet(keys=keys):
            return key is not None and (keys is None or key in keys)
        case Interval(low=low, high=high, matches_nan=matches_nan):
            if key is None or key != key:  # noqa: PLR0124  NaN
                return key is not None and matches_nan
            return (low is None or low <= key) and (high is None or key <= high)
