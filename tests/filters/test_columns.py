"""Which columns can have filters, and what readers of their filters should know."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from parquet_bloomwriter.filters.columns import notes_on, why_no_filter
from tests.verbs.files import footer_of, written

if TYPE_CHECKING:
    from parquet_bloomwriter.metadata import Leaf


def leaf(kind: pa.DataType, **options: bool) -> Leaf:
    return footer_of(written(pa.table({"x": pa.array([None], kind)}), **options)).leaves[0]


def test_types_that_get_none() -> None:
    assert "BOOLEAN" in (why_no_filter(leaf(pa.bool_())) or "")
    assert "FLOAT16" in (why_no_filter(leaf(pa.float16())) or "")
    for kind in (pa.int8(), pa.string(), pa.binary(2), pa.decimal128(30, 2), pa.date32()):
        assert why_no_filter(leaf(kind)) is None


def test_notes() -> None:
    timestamps = leaf(pa.timestamp("ns"), use_deprecated_int96_timestamps=True)
    assert "INT96" in notes_on(timestamps)[0]
    assert "DataFusion" not in notes_on(timestamps)[0], "it looks no INT96 up"
    assert "decimals" in notes_on(leaf(pa.decimal128(30, 2)))[0]
    assert notes_on(leaf(pa.decimal128(9, 2), store_decimal_as_integer=True)) == ()
    assert "in lists and maps" in notes_on(leaf(pa.list_(pa.int64())))[0]
    for plain in (
        pa.int64(),
        pa.string(),
        pa.float64(),
        pa.date32(),
        pa.timestamp("us"),
        pa.uuid(),
    ):
        assert notes_on(leaf(plain)) == ()
    for kind in (pa.binary(), pa.binary(16)):
        (note,) = notes_on(leaf(kind))
        assert note == "DuckDB 1.5.0 to 1.5.6 loses rows of BLOB columns that have filters"
