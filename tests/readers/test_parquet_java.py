"""Our bitsets are those of parquet-java's own filter class, bit for bit.

The class comes with Spark. It gets the same values, one by one, into a filter of the size that ours
has after folding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import bloomify
from tests.support import compact
from tests.support.split_block import ReferenceFilter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    ToJava = Callable[[Any, Any], Any]

COUNT = 300
NUMBERS = np.random.default_rng(11).permutation(np.arange(-COUNT, COUNT, 2) * 2 + 1).tolist()
WORDS = [f"{n} Łódź" for n in NUMBERS]


def _as_it_is(_: Any, value: Any) -> Any:  # noqa: ANN401  py4j makes an int, a long or a double
    return value


def _binary(package: Any, value: bytes) -> Any:  # noqa: ANN401  a JVM object
    return package.io.api.Binary.fromConstantByteArray(value)


CASES: dict[str, tuple[pa.Array, ToJava]] = {
    "int32": (pa.array(NUMBERS, pa.int32()), _as_it_is),
    "int64": (pa.array([n << 40 for n in NUMBERS], pa.int64()), _as_it_is),
    "double": (pa.array([n / 7 for n in NUMBERS], pa.float64()), _as_it_is),
    "binary": (pa.array([word.encode() for word in WORDS], pa.binary()), _binary),
    "fixed": (
        pa.array([n.to_bytes(5, "big", signed=True) for n in NUMBERS], pa.binary(5)),
        _binary,
    ),
}


@pytest.mark.parametrize(
    ("name", "fpp"), [(name, (0.1, 0.001)[i % 2]) for i, name in enumerate(CASES)]
)
def test_same_bits(name: str, fpp: float, spark: SparkSession, tmp_path: Path) -> None:
    array, to_java = CASES[name]
    path = tmp_path / "file.parquet"
    pq.write_table(pa.table({"x": array}), path)
    bloomify(path, fpp=fpp)
    data = path.read_bytes()
    ((offset, length),) = compact.filters_of(compact.footer_of(data)).values()
    ours = ReferenceFilter.parse(data[offset : offset + (length or 0)]).bitset
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001
    package = jvm.org.apache.parquet
    theirs = package.column.values.bloomfilter.BlockSplitBloomFilter(len(ours))
    for value in array.to_pylist():
        theirs.insertHash(theirs.hash(to_java(package, value)))
    stream = jvm.java.io.ByteArrayOutputStream()
    theirs.writeTo(stream)
    assert bytes(stream.toByteArray()) == ours
