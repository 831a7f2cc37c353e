"""Values that writers stored are found; others are ruled out as often as the filters' bits say."""

from __future__ import annotations

from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter.predicate.expression import Comparison
from parquet_bloomwriter.predicate.literals.python_values import plain_values
from parquet_bloomwriter.probing.verdict import Evidence, Verdict
from parquet_bloomwriter.verbs.bloom_file import BloomFile
from parquet_bloomwriter.verbs.probe import probe
from tests.support import compact
from tests.support.asking import found_in
from tests.support.draws import drawn
from tests.support.probing import ask

if TYPE_CHECKING:
    from collections.abc import Iterator

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
FILES = sorted(str(p.relative_to(FIXTURES)) for p in FIXTURES.glob("*/*.parquet"))
FILTERED = [
    file for file in FILES if compact.filters_of(compact.footer_of((FIXTURES / file).read_bytes()))
]
WRITERS_OF_FILTERS = {"chdb", "datafusion", "duckdb", "pyarrow", "spark"}
ABSENT = 1000

RULED_OUT_BY = {
    "chdb/bloom.parquet": "NOT_BY_BLOOM",
    "datafusion/bloom.parquet": "NOT_BY_BLOOM",
    "pyarrow/bloom.parquet": "NOT_BY_BLOOM",
    "spark/bloom.parquet": "NOT_BY_BLOOM",
    "pyarrow/every_type.parquet": "NOT_BY_DICTIONARY",
    "pyarrow/codec_zstd.parquet": "NOT_BY_DICTIONARY",
    "datafusion/v2.parquet": "NOT_BY_DICTIONARY",
    "polars/people.parquet": "NOT_BY_STATISTICS",
    "fastparquet/people.parquet": "NOT_BY_STATISTICS",
}
"""What must be of use in some files, so that the tests are about it."""


def test_there_are_filters_of_every_writer_that_writes_them() -> None:
    assert {Path(file).parent.name for file in FILTERED} == WRITERS_OF_FILTERS


def test_every_value_might_match_where_it_is() -> None:
    """In a third of the files, others in each run."""
    for file in drawn(FILES, len(FILES) // 3):
        asked = ask(FIXTURES / file)
        assert (file, asked.problems, asked.refused, asked.reasons) == (file, [], "", [])
        assert asked.num_probes > 0
        assert not [kind for kind in asked.evidence if kind.startswith("unread")]
        if file in FILTERED:
            assert asked.num_lookups > 20 * asked.num_filters > 0
        if file in RULED_OUT_BY:
            assert asked.evidence[RULED_OUT_BY[file]] > 10


@pytest.mark.parametrize("file", FILTERED)
def test_absent_values_are_ruled_out_at_the_exact_rate(file: str) -> None:
    num_chunks = 0
    with BloomFile(FIXTURES / file) as opened:
        for name, row_group, values in _absent(FIXTURES / file):
            filter_ = opened.filter(row_group, name)
            assert filter_ is not None
            rate = filter_.exact_fpp()
            found = found_in(opened, name, values, row_group=row_group)
            expected, spread = len(values) * rate, sqrt(len(values) * rate * (1 - rate))
            assert abs(found.sum() - expected) <= 5 * spread + 1
            _probe_some(FIXTURES / file, name, row_group, values, found)
            num_chunks += 1
    assert num_chunks >= 1


def _probe_some(
    path: Path,
    name: str,
    row_group: int,
    values: pa.Array,
    found: np.ndarray[Any, np.dtype[np.bool_]],
) -> None:
    """A probe for a single value says what the lookup of many said."""
    step = len(values) // 20
    for value, might in zip(plain_values(values[::step]), found[::step].tolist(), strict=True):
        assert value is not None
        (one,) = probe(path, Comparison(name, "=", value)).files
        (check,) = one.row_groups[row_group].checks
        if check.evidence is Evidence.BLOOM:
            assert check.verdict is (Verdict.MIGHT_MATCH if might else Verdict.CANNOT_MATCH)
        else:
            assert check.evidence is Evidence.STATISTICS
            assert check.verdict is Verdict.CANNOT_MATCH


def _absent(path: Path) -> Iterator[tuple[str, int, pa.Array]]:
    """Columns and row groups with a filter, and values that the file does not hold."""
    filters = compact.filters_of(compact.footer_of(path.read_bytes()))
    with pq.ParquetFile(path) as file:
        for row_group, ordinal in filters:
            column = file.schema.column(ordinal)
            if column.max_repetition_level or "." in column.path:
                continue
            stored = file.read([column.path]).column(0).combine_chunks()
            values = _invented(stored.type, column.physical_type)
            if values is not None:
                present = {str(value) for value in stored.to_pylist()}
                kept = [str(value) not in present for value in values.to_pylist()]
                yield column.path, row_group, values.filter(pa.array(kept))


def _invented(kind: pa.DataType, physical_type: str) -> pa.Array | None:  # noqa: PLR0911  by type
    """Values of a type at random; None if it has too few, or other hashes."""
    rng = np.random.default_rng(17)
    types = pa.types
    if types.is_string(kind) or types.is_large_string(kind):
        return pa.array([rng.bytes(9).hex() for _ in range(ABSENT)])
    if types.is_binary(kind):
        return pa.array([rng.bytes(9) for _ in range(ABSENT)])
    if types.is_int64(kind) or types.is_int32(kind) or types.is_uint32(kind):
        limit = 2**31 - 1 if kind.bit_width == 32 else 2**62
        return pa.array(np.unique(rng.integers(0, limit, ABSENT))).cast(kind)
    if types.is_float64(kind) or types.is_float32(kind):
        return pa.array(rng.normal(size=ABSENT)).cast(kind)
    if types.is_date32(kind):
        return pa.array(rng.permutation(60_000)[:ABSENT].astype(np.int32)).cast(kind)
    if types.is_timestamp(kind) and physical_type == "INT64":
        return pa.array(rng.integers(0, 2**49, ABSENT)).cast(kind)
    return None
