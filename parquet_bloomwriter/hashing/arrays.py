"""The hash of every non-null value of an Arrow array.

The array must hold values as Parquet stores them (its physical types), so that the bytes hashed are
the array's own. XXH64 has a kernel for each shape of arrays; the hash of the drafts is in `drafts`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter import kernels
from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.hashing.drafts import murmur3_of_array
from parquet_bloomwriter.hashing.single import XXHASH, HashKind

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


def hash_array(array: pa.Array, kind: HashKind = XXHASH) -> NDArray[np.uint64]:
    """Hash the non-null values of one array, in order.

    Slices are honoured. Of a dictionary-encoded array only the dictionary is hashed: the
    result has one hash per dictionary value, not one per row.

    Args:
        array: int32, int64, float32, float64, (large_)binary, (large_)string, binary_view,
            string_view, fixed_size_binary of any width, or a dictionary of one of these.
        kind: The hash function of the filter.

    Returns:
        Shape (number of non-null values,), uint64.

    Raises:
        InvalidArgument: If the array has another type.
    """
    import pyarrow as pa

    if isinstance(array, pa.DictionaryArray):
        return hash_array(array.dictionary, kind)
    _require_physical(array.type)
    hashes = np.empty(len(array), dtype=np.uint64)
    if len(array) == 0:
        return hashes
    if kind.dialect == "murmur3":
        return murmur3_of_array(array, kind.murmur3_seed)
    hash_all = _hash_views if _is_view(array.type) else _hash_variable
    kept = (_hash_fixed if _is_fixed(array.type) else hash_all)(array, hashes)
    return hashes[:kept]


def special_floats(array: pa.Array, dtype: type[np.floating] | None = None) -> frozenset[bytes]:
    """Return the PLAIN bytes that a filter must contain because of zeros and NaNs in an array.

    These are both zeros if any value is zero, and the canonical NaN if any value is NaN: see
    `equal_plains`.

    Args:
        array: As for `hash_array`, but no dictionary.
        dtype: NumPy's type of the values; by default that of the array's type, and no bytes are
            returned for types other than float32 and float64.
    """
    from pyarrow import types

    if dtype is None and (types.is_float32(array.type) or types.is_float64(array.type)):
        dtype = array.type.to_pandas_dtype()
    valid = array.drop_null() if array.null_count else array
    if dtype is None or not len(valid):
        return frozenset()
    values = np.frombuffer(valid.buffers()[1], dtype)[valid.offset :][: len(valid)]
    found = [0.0, -0.0] if (values == 0).any() else []  # all() warns of signalling NaNs
    found += [math.nan] if np.isnan(values).any() else []
    return frozenset(np.array(value, dtype).tobytes() for value in found)


def _hash_fixed(array: pa.Array, hashes: NDArray[np.uint64]) -> int:
    arguments = (array.buffers()[1], array.type.byte_width, *_slots(array), hashes)
    return kernels.xxh64_fixed(*arguments)


def _hash_variable(array: pa.Array, hashes: NDArray[np.uint64]) -> int:
    from pyarrow import types

    is_large = types.is_large_binary(array.type) or types.is_large_string(array.type)
    _, offsets, values = array.buffers()
    arguments = (values, offsets, 8 if is_large else 4, *_slots(array), hashes)
    return kernels.xxh64_variable(*arguments)


def _hash_views(array: pa.Array, hashes: NDArray[np.uint64]) -> int:
    _, views, *buffers = array.buffers()
    arguments = (views, tuple(buffers), *_slots(array), hashes)
    return kernels.xxh64_views(*arguments)


def _slots(array: pa.Array) -> tuple[int, int, pa.Buffer | None]:
    """Return the first slot, the number of slots, and the bitmap of slots that are not null."""
    return array.offset, len(array), array.buffers()[0] if array.null_count else None


def _is_view(kind: pa.DataType) -> bool:
    from pyarrow import types

    return bool(types.is_string_view(kind) or types.is_binary_view(kind))


def _is_fixed(kind: pa.DataType) -> bool:
    from pyarrow import types

    numbers = (types.is_int32, types.is_int64, types.is_float32, types.is_float64)
    is_number = any(check(kind) for check in numbers)
    # A decimal counts as fixed-size binary too, but its bytes are not Parquet's.
    return is_number or (types.is_fixed_size_binary(kind) and not types.is_decimal(kind))


def _require_physical(kind: pa.DataType) -> None:
    from pyarrow import types

    texts = (types.is_binary, types.is_large_binary, types.is_string, types.is_large_string)
    if not _is_fixed(kind) and not _is_view(kind) and not any(check(kind) for check in texts):
        raise InvalidArgument(
            f"an Arrow array of type {kind} does not hold values as Parquet stores them",
            remedy="Cast it to the Arrow type of the column's physical type.",
        )
