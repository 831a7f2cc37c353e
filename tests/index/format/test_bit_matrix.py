"""Turning bits, and joining rows of bits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_bloomwriter.index.format import bit_matrix
from parquet_bloomwriter.index.format.bit_matrix import and_rows, transpose


@given(st.integers(1, 40), st.integers(1, 70), st.integers(0, 1 << 32))
def test_each_bit_of_a_filter_has_its_slice(above: int, across: int, seed: int) -> None:
    shape = (64 * above, 8 * across)
    filters = np.random.default_rng(seed).integers(0, 256, shape, np.uint8)
    slices = np.full((8 * shape[1], shape[0] // 8), 0x5A, np.uint8)
    transpose(filters, slices)
    bits = np.unpackbits(filters, axis=1, bitorder="little")
    assert np.array_equal(slices, np.packbits(bits.T, axis=1, bitorder="little"))


@pytest.mark.parametrize("place", [(0, 0, 0), (63, 7, 7), (64, 8, 0), (127, 15, 3)])
def test_one_bit_goes_to_one_place(place: tuple[int, int, int]) -> None:
    number, byte, bit = place
    filters = np.zeros((128, 16), np.uint8)
    filters[number, byte] = 1 << bit
    slices = np.empty((128, 16), np.uint8)
    transpose(filters, slices)
    assert slices[8 * byte + bit, number // 8] == 1 << number % 8
    assert np.count_nonzero(slices) == 1


def test_rows_are_read_as_long_as_a_bit_is_left() -> None:
    result, taken = np.empty(2, np.uint64), []

    def rows(*numbers: int) -> object:
        for number in numbers:
            taken.append(number)
            yield np.array([number, 1 << 63], np.uint64) if number else np.zeros(2, np.uint64)

    assert and_rows(rows(7, 6, 12), result)  # type: ignore[arg-type]
    assert result.tolist() == [4, 1 << 63]
    assert not and_rows(rows(1, 0, 3), result)  # type: ignore[arg-type]
    assert taken == [7, 6, 12, 1, 0]
    assert not and_rows(rows(0), result)  # type: ignore[arg-type]


def test_little_is_turned_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bit_matrix, "_ACROSS", 2)
    monkeypatch.setattr(bit_matrix, "_DOWN", 3)
    test_each_bit_of_a_filter_has_its_slice()
