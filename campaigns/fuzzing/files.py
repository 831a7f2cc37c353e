"""Files that fuzzing begins with, and the inputs made of them."""

from __future__ import annotations

import datetime as dt
import io
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq

from parquet_bloomwriter import bloomify
from tests.support import compact
from tests.support.split_block import ReferenceFilter
from tests.verbs.files import people, written

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
INPUTS = Path(__file__).parent / "inputs"
"""What was found before: one folder for each target."""

_SMALL: Final = (
    *("datafusion/nested", "duckdb/types", "pyarrow/odd_names", "pyarrow/decimals"),
    *("pyarrow/odd_floats", "pyarrow/int96", "polars/nested", "pyarrow/empty_row_groups"),
)
_QUERIES: Final = (
    *("id = 42 AND email IN ('a', 'b')", "a IS NOT DISTINCT FROM 1 OR NOT (b < 'x')"),
    *("c >= TIMESTAMP '2024-02-29 12:30:00.5+02:00'", "d BETWEEN -1.50 AND 2.5::decimal"),
    *("g = DATE '2024-02-29' AND h IS TRUE", "f = X'00FF' OR s.x <> 1e3", "i = TIME '10:00:00'"),
    *("j = UUID '01234567-89ab-cdef-0123-456789abcdef'", 'WHERE "a" <=> NULL;', "e != -0.0"),
    *("a = '5'::int AND e = 5::double precision", "b LIKE 'a%' /* no */ -- end"),
)


@cache
def base_files() -> tuple[bytes, ...]:
    """Small files, most of them with filters."""
    fixtures = [(ROOT / "fixtures" / f"{name}.parquet").read_bytes() for name in _SMALL]
    own = bloomify(written(people(60), row_group_size=30, write_statistics=False), jobs=1).data
    added = [bloomify(data, jobs=1).data for data in fixtures[2:4]]
    return tuple(one for one in (*fixtures, *added, own) if one is not None)


@cache
def mixed_file() -> bytes:
    """A file with columns a to j of every kind, a struct, and filters on most of them."""
    noon = dt.datetime(2024, 2, 29, 12, 30, tzinfo=dt.UTC)
    table = pa.table(
        {
            "a": pa.array([1, 2, None], pa.int64()),
            "b": ["x", "y", None],
            "c": pa.array([noon, noon, None], pa.timestamp("us", "UTC")),
            "d": pa.array([Decimal("1.50"), Decimal("-2.00"), None], pa.decimal128(9, 2)),
            "e": pa.array([0.0, -1.5, None], pa.float32()),
            "f": pa.array([b"\x00\xff", b"", None], pa.binary()),
            "g": pa.array([noon.date(), None, None], pa.date32()),
            "h": pa.array([True, False, None]),
            "i": pa.array([dt.time(10), None, None], pa.time64("us")),
            "j": pa.array([bytes(16), None, None], pa.binary(16)),
            "k": pa.array([1, 2, None], pa.uint64()),
            "s": pa.array([{"x": 1}, None, None], pa.struct([("x", pa.int32())])),
        }
    )
    sink = io.BytesIO()
    pq.write_table(table, sink, write_statistics=["a", "c", "e"])
    return bloomify(sink.getvalue(), jobs=1).data or sink.getvalue()


def seeds(target: str) -> Iterator[bytes]:
    """Inputs to begin with: what writers make, and what was found before."""
    yield from (path.read_bytes() for path in sorted((INPUTS / target).glob("*")))
    if target == "sql":
        yield from (query.encode() for query in _QUERIES)
    for number, data in enumerate(base_files()):
        start = compact.footer_start(data)
        if target == "footer":
            yield data[start:-8]
        elif target == "probe":
            for which in range(3):
                first = bytes([number + which * len(base_files())])
                yield first
                yield first + bytes([8, 0, 0x15, 40, 0, 0x1C, 80, 0, 0])
        elif target == "header":
            for offset, length in compact.filters_of(compact.footer_of(data)).values():
                filter_ = data[offset : offset + (length or 0)]
                if len(ReferenceFilter.parse(filter_).bitset) <= 64:
                    yield filter_
