"""Our bitsets are those of parquet-java's own filter class, bit for bit."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import Sbbf, bloomify
from tests.support import compact
from tests.support.split_block import ReferenceFilter

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

COUNT = 1000
RNG = np.random.default_rng(11)
NUMBERS = RNG.integers(-(2**31), 2**31, COUNT).tolist()

Hash = "Callable[[Any, Any, Any], int]"
CASES: dict[str, tuple[pa.Array, Callable[[Any, Any], Any]]] = {
    "int32": (pa.array(NUMBERS, pa.int32()), lambda gateway, v: ("hashInt", v)),
}


def _java_filter(spark: SparkSession, num_bytes: int) -> Any:  # noqa: ANN401  a JVM object
    package = spark._jvm.org.apache.parquet.column.values.bloomfilter  # noqa: SLF001
    return package.BlockSplitBloomFilter(num_bytes)
