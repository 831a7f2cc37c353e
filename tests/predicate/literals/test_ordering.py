"""How the values of columns compare."""

from __future__ import annotations

import pyarrow as pa
import pytest

from parquet_bloomwriter.metadata import Leaf, PhysicalType
from parquet_bloomwriter.predicate.bound import Order
from parquet_bloomwriter.predicate.literals.domain import order_of
from tests.support.binding import bare_leaf, leaf_of

T = PhysicalType


@pytest.mark.parametrize(
    ("leaf", "order"),
    [
        (leaf_of(pa.bool_()), Order.BOOLEAN),
        (leaf_of(pa.int8()), Order.SIGNED),
        (leaf_of(pa.int64()), Order.SIGNED),
        (leaf_of(pa.uint8()), Order.UNSIGNED),
        (leaf_of(pa.uint64()), Order.UNSIGNED),
        (bare_leaf(T.INT64, converted_type=14), Order.UNSIGNED),
        (leaf_of(pa.date32()), Order.SIGNED),
        (leaf_of(pa.time32("ms")), Order.SIGNED),
        (leaf_of(pa.timestamp("ns", "UTC")), Order.SIGNED),
        (leaf_of(pa.float16()), Order.FLOATING),
        (leaf_of(pa.float32()), Order.FLOATING),
        (leaf_of(pa.float64()), Order.FLOATING),
        (leaf_of(pa.string()), Order.BYTES),
        (leaf_of(pa.binary()), Order.BYTES),
        (leaf_of(pa.binary(3)), Order.BYTES),
        (leaf_of(pa.uuid()), Order.BYTES),
        (leaf_of(pa.decimal128(9, 2), store_decimal_as_integer=True), Order.SIGNED),
        (leaf_of(pa.decimal128(18, 2), store_decimal_as_integer=True), Order.SIGNED),
        (leaf_of(pa.decimal128(9, 2)), Order.BIG_ENDIAN),
        (bare_leaf(T.BYTE_ARRAY, converted_type=5, precision=9, scale=2), Order.BIG_ENDIAN),
        (leaf_of(pa.timestamp("ns"), use_deprecated_int96_timestamps=True), None),
        (bare_leaf(T.FIXED_LEN_BYTE_ARRAY, type_length=12, converted_type=21), None),  # INTERVAL
        (bare_leaf(T.BYTE_ARRAY, logical_type=b"\x0c\x22\x00\x00"), None),  # GEOMETRY
        (leaf_of(pa.null()), None),
    ],
)
def test_orders(leaf: Leaf, order: Order | None) -> None:
    assert order_of(leaf) is order
