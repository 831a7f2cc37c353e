"""Filters for joins: an index's filter of the values in just the files that a relation reads.

A filter can be asked for a key if Catalyst's hash of the key is the hash of the stored bytes. That
is so for the types below, if the column has the same physical type in all files:

    int, date                    INT32       plain
    long, timestamp (micros)     INT64       plain
    float, double                            plain; Catalyst hashes -0.0 as 0.0, both are in filters
    string, binary               BYTE_ARRAY  plain
    decimal                      INT32, INT64, of the same scale: the unscaled value is hashed
"""

from __future__ import annotations

import hashlib
import uuid
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

from parquet_bloomwriter.index.report import Code, Reason
from parquet_bloomwriter.metadata import PhysicalType
from parquet_bloomwriter.metadata.logical_types import Kind, type_of
from parquet_bloomwriter.sbbf import decode_header
from parquet_bloomwriter.spark.jobs import scratch_folder
from parquet_bloomwriter.spark.plan.stored_types import data_type_of, is_shown_as_stored
from parquet_bloomwriter.spark.rules.appended import AppendedFilters
from parquet_bloomwriter.spark.rules.catalyst import FIRST_DAY, FIRST_MICROSECOND
from parquet_bloomwriter.spark.rules.protocol import ProbeFilter
from parquet_bloomwriter.text import rate, size

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from pyspark.sql import SparkSession

    from parquet_bloomwriter.index.query.join_filter import JoinFilter
    from parquet_bloomwriter.index.query.snapshot import Snapshot
    from parquet_bloomwriter.metadata import Leaf
    from parquet_bloomwriter.metadata.logical_types import ColumnType
    from parquet_bloomwriter.spark.rules.protocol import HashMode, JoinFilterRequest

_MICROSECOND = 1000
"""A microsecond, in nanoseconds."""


class Joins:
    """Makes filters for the joins of one session, and remembers which of them are in files."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = weakref.ref(spark)
        self._appended = AppendedFilters()
        self._written: set[Path] = set()
        """Paths of the files of filters; their names are digests of their bytes, which Java
        compares."""

    def clear(self) -> None:
        """Forget all filters."""
        self._appended.clear()
        self._written.clear()

    def filter_of(self, snapshot: Snapshot, request: JoinFilterRequest) -> ProbeFilter | Reason:
        """Return the filter for a rule's request, or the reason why there is none."""
        spark = self._spark()
        if spark is None:
            return Reason(code=Code.INTERNAL_ERROR, text="the session has ended")
        present = unpacked(request.present, len(snapshot.files.sizes))
        appended = self._appended.filters_of(spark, snapshot, present, request)
        if isinstance(appended, Reason):
            return appended
        extra = [one.bits for one in appended if one.num_values]
        found = snapshot.join_filter(request.indexed_column, present, extra)
        if isinstance(found, Reason):
            return found
        leaves = [found.leaf, *(one.leaf for one in appended if one.num_values)]
        modes = [mode_of(leaf, request.type) for leaf in leaves]
        mode = next((one for one in modes if isinstance(one, Reason)), modes[0])
        if isinstance(mode, Reason):
            return mode
        if any(other != mode for other in modes):
            text = "the key has several types in the files"
            return Reason(code=Code.KEY_TYPE_MISMATCH, text=text)
        return self._probe_filter(snapshot, request.indexed_column, found, mode)

    def _probe_filter(
        self, snapshot: Snapshot, column: str, found: JoinFilter, mode: HashMode
    ) -> ProbeFilter:
        """Write the filter to a file that Java can read."""
        key = hashlib.sha256(found.data).hexdigest()
        path = Path(scratch_folder(), f"{key}.bloom")
        if path not in self._written or not path.exists():
            partial = path.with_name(f"{key}.{uuid.uuid4().hex}")
            partial.write_bytes(found.data)
            partial.replace(path)  # another thread may be reading the old file
            self._written.add(path)
        header = decode_header(found.data)
        text = f"Bloom filter of {snapshot.entry.name}.{column}"
        text += f" ({size(header.num_bytes)}, {found.origin}, {rate(found.fpp)})"
        return ProbeFilter(
            id=key,
            text=text,
            path=str(path),
            offset=header.length,
            num_bytes=header.num_bytes,
            fpp=found.fpp,
            mode=mode,
            cutoff=_cutoff(found.leaf),
        )


def mode_of(leaf: Leaf, type_: str) -> HashMode | Reason:
    """Return what is hashed of a key, so that its hash is the hash of the stored bytes."""
    column = type_of(leaf)
    if not is_shown_as_stored(data_type_of(type_), leaf):
        text = f"files store {leaf.physical_type.name}, which Spark converts to {type_}"
        return Reason(code=Code.KEY_TYPE_MISMATCH, text=text)
    if _is_plain(leaf.physical_type, column, type_):
        return "plain"
    is_same = type_ == f"decimal({column.precision},{column.scale})"
    if column.kind is Kind.DECIMAL and is_same:
        if leaf.physical_type == PhysicalType.INT32:
            return "decimal32"
        if leaf.physical_type == PhysicalType.INT64:
            return "decimal64"
    text = (
        f"the key is {type_}, stored as {leaf.physical_type.name}, which Spark hashes differently"
    )
    return Reason(code=Code.KEY_TYPE_MISMATCH, text=text)


def _is_plain(physical: PhysicalType, column: ColumnType, type_: str) -> bool:
    """Return whether Catalyst's hash of a key of this type is that of the stored bytes."""
    is_micros = column.kind is Kind.TIMESTAMP and column.unit == _MICROSECOND
    is_signed = column.kind is Kind.INTEGER and column.is_signed
    is_bytes = physical == PhysicalType.BYTE_ARRAY
    plain = {
        **dict.fromkeys(("byte", "short", "integer"), is_signed and physical == PhysicalType.INT32),
        "long": is_signed and physical == PhysicalType.INT64,
        "date": column.kind is Kind.DATE,
        "timestamp": is_micros and column.is_adjusted,
        "timestamp_ntz": is_micros and not column.is_adjusted,
        "float": physical == PhysicalType.FLOAT,
        "double": physical == PhysicalType.DOUBLE,
        "string": is_bytes and column.kind in (Kind.TEXT, Kind.BINARY),
        "binary": is_bytes and column.kind is Kind.BINARY,
    }
    return plain.get(type_, False)


def _cutoff(leaf: Leaf) -> int | None:
    """Return the key below which no key is looked up: readers may convert it between calendars."""
    kinds = {Kind.DATE: FIRST_DAY, Kind.TIMESTAMP: FIRST_MICROSECOND}
    return kinds.get(type_of(leaf).kind)


def unpacked(bits: bytes, count: int) -> NDArray[np.bool_]:
    """Return bits as flags, shape (count,), the lowest bit of the first byte first."""
    import numpy as np

    data = np.frombuffer(bits, np.uint8)
    return np.unpackbits(data, count=count, bitorder="little").astype(np.bool_)
