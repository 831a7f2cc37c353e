"""The scanner in C is its reference, byte for byte, on structs that are sound and on any others.

What both find is held against Thrift's own reader in tests/compact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parquet_bloomwriter.kernels import layout, reference
from parquet_bloomwriter.metadata.fields import FOOTER
from parquet_bloomwriter.metadata.footer import locate_footer
from tests.compact.structs import GRAMMAR, encode_struct, structs

if TYPE_CHECKING:
    from pathlib import Path

    from parquet_bloomwriter.compact.scan import StructSchema
    from tests.compact.structs import Fields

Kernels: TypeAlias = Any
"""The reference or the compiled module, which carries no types."""

TELLING = bytes.fromhex("00 15 16 19 1b 1c 5c 80 ff 49 48 f1 26 36 4c")
"""Heads of fields, of lists and of structs, and bytes that go on."""

REAL = ("pyarrow/every_type", "spark/bloom", "duckdb/types", "datafusion/nested")


def outcome(kernels: Kernels, data: bytes, schema: StructSchema, capacity: int) -> list[object]:
    """Return all that `scan` says and writes."""
    width = schema.width
    kinds = np.full(capacity, 7, np.int64)
    values = np.full((capacity, width), 7, np.int64)
    spans = np.full((capacity, width, 3), 7, np.int32)
    found = kernels.scan(data, 0, schema.words, width, kinds, values, spans)
    return [found, kinds.tolist(), values.tolist(), spans.tolist()]


def agreed(compiled: Kernels, data: bytes, schema: StructSchema, capacity: int = 64) -> int:
    """Return the number of the problem that both find."""
    one = outcome(compiled, data, schema, capacity)
    assert one == outcome(reference, data, schema, capacity)
    return int(one[0][0])  # type: ignore[index]


@given(structs(), st.integers(0, 5))
@settings(max_examples=25)
def test_structs(compiled: Kernels, fields: Fields, capacity: int) -> None:
    data = encode_struct(fields)
    assert agreed(compiled, data, GRAMMAR) == 0
    assert agreed(compiled, data, GRAMMAR, capacity) in {0, layout.FULL}


@given(structs(), st.data())
@settings(max_examples=50)
def test_structs_with_changed_bytes(compiled: Kernels, fields: Fields, data: st.DataObject) -> None:
    broken = bytearray(encode_struct(fields))
    for _ in range(data.draw(st.integers(1, 3))):
        broken[data.draw(st.integers(0, len(broken) - 1))] = data.draw(st.integers(0, 255))
    agreed(compiled, bytes(broken), GRAMMAR)


@given(st.binary(max_size=60) | st.lists(st.sampled_from(TELLING), max_size=40).map(bytes))
@settings(max_examples=75)
def test_any_bytes(compiled: Kernels, data: bytes) -> None:
    agreed(compiled, data, GRAMMAR)


@pytest.mark.parametrize("changes", [3, pytest.param(20, marks=pytest.mark.shares)])
def test_footers_with_changed_bytes(compiled: Kernels, fixtures_dir: Path, changes: int) -> None:
    """The reference takes a microsecond for each byte of a footer: a few of each are enough."""
    rng = np.random.default_rng(11)
    found = set()
    for name in REAL:
        file = (fixtures_dir / f"{name}.parquet").read_bytes()
        footer = file[locate_footer(file[:4], file[-8:], len(file)) : -8]
        assert agreed(compiled, footer, FOOTER, 512) == 0, name
        for place, byte in rng.integers(0, (len(footer), 256), (changes, 2)).tolist():
            broken = bytearray(footer)
            broken[place] = byte
            found.add(agreed(compiled, bytes(broken), FOOTER, 512))
            found.add(agreed(compiled, footer[:place], FOOTER, 512))
    assert len(found) > 3


def test_random_schemas_stay_within_the_table(compiled: Kernels) -> None:
    """Whatever numbers a schema has, it is refused, or both kernels do the same."""
    rng = np.random.default_rng(5)
    data = rng.choice(np.frombuffer(TELLING, np.uint8), (1000, 60))
    refused = 0
    for line in data:
        words = GRAMMAR.words.copy()
        some = rng.integers(0, len(words), 6)
        words[some] = rng.integers(-2, GRAMMAR.width + 1, 6)
        try:
            expected = outcome_of(reference, bytes(line), words)
        except ValueError:
            refused += 1
            with pytest.raises(ValueError, match="schema"):
                outcome_of(compiled, bytes(line), words)
            continue
        assert outcome_of(compiled, bytes(line), words) == expected
    assert 100 < refused < 900


def outcome_of(kernels: Kernels, data: bytes, words: np.ndarray) -> list[object]:
    kinds, width = np.zeros(4, np.int64), GRAMMAR.width
    values, spans = np.zeros((4, width), np.int64), np.zeros((4, width, 3), np.int32)
    found = kernels.scan(data, 0, words, width, kinds, values, spans)
    return [found, kinds.tolist(), values.tolist(), spans.tolist()]
