"""Zigzag varints: Thrift's own writer and the widths at every boundary."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from thrift.protocol.TCompactProtocol import makeZigZag, writeVarint
from thrift.transport.TTransport import TMemoryBuffer

from parquet_bloomwriter.compact.varint import encode_zigzag, zigzag_widths

BOUNDARIES = [1 << (7 * k - 1) for k in range(1, 10)]


@given(st.integers(-(2**63), 2**63 - 1) | st.integers(-9000, 9000))
def test_thrift_writes_the_same(number: int) -> None:
    memory = TMemoryBuffer()
    writeVarint(memory, makeZigZag(number, 64))
    assert encode_zigzag(number) == memory.getvalue()


def test_widths_on_both_sides_of_every_boundary() -> None:
    numbers = [0, 1, *(n + d for n in BOUNDARIES for d in (-1, 0, 1)), 2**63 - 1]
    widths = zigzag_widths(np.array(numbers, np.int64)).tolist()
    assert widths == [len(encode_zigzag(number)) for number in numbers]
    assert (widths[0], widths[2], widths[3], widths[-1]) == (1, 1, 2, 10)
