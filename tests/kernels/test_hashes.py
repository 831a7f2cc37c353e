"""Hashes of arrays of every shape are those of the package xxhash."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = pytest.mark.filterwarnings("error")

EVERY_RUN = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
Kernels: TypeAlias = Any
"""The reference or the compiled module, which carries no types."""

LENGTHS = (0, 1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100)


def hashed(kernels: Kernels, shape: str, *arguments: object) -> list[int]:
    """Call a kernel with all arguments but the hashes."""
    count = arguments[-2]
    assert isinstance(count, int)
    out = np.full(count + 2, 7, np.uint64)
    kept = getattr(kernels, f"xxh64_{shape}")(*arguments, out[:count])
    assert out[count:].tolist() == [7, 7]
    return list(map(int, out[:kept]))


def expected(values: Sequence[bytes | None]) -> list[int]:
    return [xxhash.xxh64_intdigest(value) for value in values if value is not None]


def of_array(kernels: Kernels, array: pa.Array) -> list[int]:
    """Hash an Arrow array as `hash_array` does."""
    valid, *buffers = array.buffers()
    slots = (array.offset, len(array), valid if array.null_count else None)
    kind = str(array.type)
    arguments: tuple[object, ...]
    if kind.endswith("_view"):
        arguments = (buffers[0], tuple(buffers[1:]), *slots)
        shape = "views"
    elif kind in {"binary", "large_binary"}:
        arguments = (buffers[1], buffers[0], 8 if kind.startswith("large") else 4, *slots)
        shape = "variable"
    else:
        arguments = (buffers[0], array.type.byte_width, *slots)
        shape = "fixed"
    out = np.empty(len(array), np.uint64)
    kept = getattr(kernels, f"xxh64_{shape}")(*arguments, out)
    return list(map(int, out[:kept]))


def test_values_of_every_length(kernels: Kernels) -> None:
    for length in LENGTHS:
        noise = np.random.default_rng(length).bytes(41 * length)
        values = [noise[i * length : (i + 1) * length] for i in range(41)]
        one = kernels.xxh64
        assert [one(value) for value in values] == expected(values), length
        assert hashed(kernels, "fixed", noise, length, 0, 41, None) == expected(values), length
        offsets = np.arange(42) * length
        for dtype, width in ((np.int32, 4), (np.int64, 8)):
            arguments = (noise, offsets.astype(dtype), width, 0, 41, None)
            found = hashed(kernels, "variable", *arguments)
            assert found == expected(values), (length, width)


def test_nulls_of_fixed_widths(kernels: Kernels) -> None:
    """Runs of the kernel, and the bytes of the bitmap, begin and end anywhere."""
    for width in (0, 1, 4, 8, 12, 16, 40):
        rng = np.random.default_rng(width)
        for count, first in product([0, 1, 7, 8, 9, 1023, 1024, 1025, 3000], [0, 3, 8, 13]):
            noise = rng.bytes((count + 13) * width)
            bits = rng.random(first + count) < 0.7
            bitmap = np.packbits(bits, bitorder="little")
            values = [
                noise[i * width : (i + 1) * width] for i in range(first, first + count) if bits[i]
            ]
            arguments = (noise, width, first, count, bitmap)
            out = np.empty(count, np.uint64)
            kept = kernels.xxh64_fixed(*arguments, out)
            assert out[:kept].tolist() == expected(values), (count, first)


ARRAYS = st.one_of(
    st.tuples(st.sampled_from([pa.binary(), pa.large_binary(), pa.binary_view()]), st.lists(
        st.none() | st.binary(max_size=70), max_size=40)),
    st.tuples(st.just(pa.binary(4)), st.lists(st.none() | st.binary(min_size=4, max_size=4))),
    st.tuples(st.just(pa.binary(8)), st.lists(st.none() | st.binary(min_size=8, max_size=8))),
)  # fmt: skip
LONG, SHORT = b"longer than twelve bytes", b"short"


@EVERY_RUN
@given(ARRAYS, st.integers(0, 20), st.integers(0, 20))
@example((pa.binary_view(), [LONG, None, SHORT, LONG[::-1], b"", None]), 1, 5)
@example((pa.large_binary(), [LONG, None, SHORT, None, b""]), 2, 3)
@example((pa.binary(4), [b"abcd", None, b"efgh"] * 9), 5, 19)
def test_slices_of_any_array(
    kernels: Kernels,
    typed: tuple[pa.DataType, list[bytes | None]],
    start: int,
    length: int,
) -> None:
    kind, values = typed
    array = pa.array(values, kind).slice(start, length)
    assert of_array(kernels, array) == expected(array.to_pylist())


def test_views_into_several_buffers(kernels: Kernels) -> None:
    """Short strings stand in the view itself; null slots may hold anything."""
    buffers = (b"0123456789abcdefghij", b"", b"ABCDEFGHIJKLMNOPQRST")
    views = b"".join([
        *(b"\x0c\0\0\0" + b"twelve bytes", b"\x0d\0\0\0" + b"HIJK" + b"\2\0\0\0\7\0\0\0"),
        *(b"\xff" * 16, b"\x14\0\0\0" + b"0123" + b"\0\0\0\0\0\0\0\0"),
    ])  # fmt: skip
    values = [b"twelve bytes", b"HIJKLMNOPQRST", None, buffers[0]]
    found = hashed(kernels, "views", views, buffers, 0, 4, bytes([0b1011]))
    assert found == expected(values)


def test_buffers_begin_at_any_address(kernels: Kernels) -> None:
    noise = np.random.default_rng(3).integers(0, 256, 8 * 50 + 8, np.uint8)
    for shift in range(8):
        values = noise[shift : shift + 400]
        plain = [values[i * 8 : i * 8 + 8].tobytes() for i in range(50)]
        out = np.empty(8 * 50 + 8, np.uint8)[shift : shift + 400]
        kernel = kernels.xxh64_fixed
        assert kernel(values, 8, 0, 50, None, out) == 50
        assert np.frombuffer(out.tobytes(), np.uint64).tolist() == expected(plain)


def test_long_values(kernels: Kernels) -> None:
    value = np.random.default_rng(5).bytes(300_001)
    assert kernels.xxh64(value) == expected([value])[0]
