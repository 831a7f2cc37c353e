"""Files on stores are asked by few requests."""

from __future__ import annotations

import io

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from parquet_bloomwriter import bloomify, probe
from parquet_bloomwriter.probing.verdict import Evidence, Verdict


def test_header_and_block_of_a_filter_come_by_one_request() -> None:
    chance = np.random.default_rng(1)
    columns = {name: chance.integers(0, 1 << 40, 40_000) * 2 for name in ("id", "other")}
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink, row_group_size=10_000)
    data = bloomify(sink.getvalue(), ["id"], placement="column-chunk").data or b""
    store = fsspec.filesystem("memory")
    store.pipe("/probed/bloom.parquet", data)
    present = int(columns["id"][15_000])
    try:
        absent = probe("memory://probed/bloom.parquet", f"id = {present + 1}")
        found = probe("memory://probed/bloom.parquet", f"id = {present}")
    finally:
        store.rm("/probed", recursive=True)
    assert {one.evidence for g in absent.files[0].row_groups for one in g.checks} == {
        Evidence.BLOOM
    }
    assert absent.verdict is Verdict.CANNOT_MATCH
    assert absent.requests == 1 + 4  # the footer, and a filter for each row group
    assert found.files[0].row_groups[1].verdict is Verdict.MIGHT_MATCH
