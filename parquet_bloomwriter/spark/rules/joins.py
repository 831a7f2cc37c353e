"""Filters for joins: from an index, for just the files that a relation reads.

A filter is of use if the key's hash by Catalyst is the hash of what is stored: for one physical
type in all files, and the type that Spark reads it as.

    int, date                    INT32       plain
    long, timestamp (micros)     INT64       plain
    float, double                            plain; Catalyst hashes -0.0 as 0.0, both are in filters
    string, binary               BYTE_ARRAY  plain
    decimal                      INT32, INT64, of the same scale: of the unscaled value
"""

from __future__ import annotations

import base64
import hashlib
import uuid
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.index.report import Code, Reason
from parquet_bloomwriter.metadata import PhysicalType
from parquet_bloomwriter.metadata.logical_types import Kind, type_of
from parquet_bloomwriter.sbbf import decode_header
from parquet_bloomwriter.spark.jobs import scratch_folder
from parquet_bloomwriter.spark.plan.stored_types import is_shown_as_stored
from parquet_bloomwriter.spark.rules.appended import Appended
from parquet_bloomwriter.spark.rules.catalyst import FIRST_DAY, FIRST_MICROSECOND, data_type_of
from parquet_bloomwriter.spark.settings import HYBRID_ENABLED, flag_of
from parquet_bloomwriter.text import rate, size

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from pyspark.sql import SparkSession

    from parquet_bloomwriter.index.query.join_filter import JoinFilter
    from parquet_bloomwriter.index.query.snapshot import Snapshot
    from parquet_bloomwriter.metadata import Leaf
    from parquet_bloomwriter.metadata.logical_types import ColumnType

_MAX_KEPT = 16
_MICROSECOND = 1000
"""Nanoseconds."""


class Joins:
    """Makes filters for the joins of one session, and keeps the last few."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = weakref.ref(spark)
        self._appended = Appended()
        self._kept: dict[str, dict[str, Any]] = {}

    def filter_of(
        self, snapshot: Snapshot, column: str, question: dict[str, Any]
    ) -> dict[str, Any] | Reason:
        """The filter for the rule, or why there is none.

        Args:
            snapshot: Of the index.
            column: Its column.
            question: "present": which of its files are read, bits as base64; "unknown": other files
                that are read; "num_unknown"; "type": of the key, Catalyst's.
        """
        spark = self._spark()
        if spark is None:
            return Reason(code=Code.INTERNAL_ERROR, text="the session is no more")
        present = _unpacked(question["present"], len(snapshot.files.sizes))
        appended = self._appended.filters_of(spark, snapshot, present, question)
        if isinstance(appended, Reason):
            return appended
        extra = [one.bits for one in appended if one.num_values]
        found = snapshot.join_filter(column, present, extra)
        if isinstance(found, Reason):
            return found
        leaves = [found.leaf, *(one.leaf for one in appended if one.num_values)]
        modes = [mode_of(leaf, question["type"]) for leaf in leaves]
        problem = next((mode for mode in modes if isinstance(mode, Reason)), None)
        if problem is None and len(set(modes)) > 1:
            text = "the key has several types in the files"
            problem = Reason(code=Code.KEY_TYPE_MISMATCH, text=text)
        return problem or self._written(snapshot, column, found, str(modes[0]))

    @property
    def is_hybrid(self) -> bool:
        """Whether indexes are used for tables whose files have changed."""
        spark = self._spark()
        return spark is not None and flag_of(spark, HYBRID_ENABLED)

    def _written(
        self, snapshot: Snapshot, column: str, found: JoinFilter, mode: str
    ) -> dict[str, Any]:
        """Put the filter where Java can read it."""
        key = hashlib.sha256(found.data).hexdigest()
        answer = self._kept.get(key)
        if answer is None:
            path = Path(scratch_folder(), f"{key}.bloom")
            partial = path.with_name(f"{key}.{uuid.uuid4().hex}")
            partial.write_bytes(found.data)
            partial.replace(path)  # another thread may be reading what was there
            header = decode_header(found.data)
            answer = {
                "id": key,
                "path": str(path),
                "offset": header.length,
                "num_bytes": header.num_bytes,
            }
            self._kept[key] = answer
        text = f"Bloom filter of {snapshot.entry.name}.{column}"
        text += f" ({size(answer['num_bytes'])}, {found.origin}, {rate(found.fpp)})"
        return {**answer, "text": text, "mode": mode, "cutoff": _cutoff(found.leaf)}


def mode_of(leaf: Leaf, type_: str) -> str | Reason:
    """How the key is to be hashed so that it is the hash of what is stored."""
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
    text = f"the key is {type_}, stored as {leaf.physical_type.name}, which Spark hashes otherwise"
    return Reason(code=Code.KEY_TYPE_MISMATCH, text=text)


def _is_plain(physical: PhysicalType, column: ColumnType, type_: str) -> bool:
    """Whether Catalyst's hash of a key of this type is that of what is stored."""
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
    """Keys below are not looked up: readers may have moved them from another calendar."""
    kinds = {Kind.DATE: FIRST_DAY, Kind.TIMESTAMP: FIRST_MICROSECOND}
    return kinds.get(type_of(leaf).kind)


def _unpacked(text: str, count: int) -> NDArray[np.bool_]:
    import numpy as np

    data = np.frombuffer(base64.b64decode(text), np.uint8)
    return np.unpackbits(data, count=count, bitorder="little").astype(np.bool_)
