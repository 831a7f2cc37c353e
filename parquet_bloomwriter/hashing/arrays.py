"""The hash of every non-null value of an Arrow array.

The array must hold values as Parquet stores them (its physical types); the bytes hashed
are then the array's own. Null slots are hashed like any other, which is harmless because
Arrow keeps their bytes readable, and dropped afterwards.

XXH64 runs in kernels. The hash of the Murmur3 drafts takes a step per value in Python:
no writer in use needs it fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter import native
from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.hashing.single import Dialect, hash_plain

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

_KERNELS = "hashing.kernels"


def hash_array(array: pa.Array, dialect: Dialect = "xxhash") -> NDArray[np.uint64]:
    """Hash the non-null values of one array, in order.

    Slices are honoured. Of a dictionary-encoded array only the dictionary is hashed: the
    result has one hash per dictionary value, not one per row.

    Args:
        array: int32, int64, float32, float64, (large_)binary, (large_)string,
            fixed_size_binary of any width, or a dictionary of one of these.
        dialect: The filter's, as for `hash_plain`.

    Returns:
        Shape (number of non-null values,), uint64.

    Raises:
        InvalidArgument: If the array has another type.
    """
    import pyarrow as pa

    if isinstance(array, pa.DictionaryArray):
        return hash_array(array.dictionary, dialect=dialect)
    _require_physical(array.type)
    if len(array) == 0:
        return np.empty(0, dtype=np.uint64)
    return _xxh64(array) if dialect == "xxhash" else _murmur3(array)


def _xxh64(array: pa.Array) -> NDArray[np.uint64]:
    hashes = np.empty(len(array), dtype=np.uint64)
    if _is_fixed(array.type):
        _hash_fixed(array, hashes)
    else:
        _hash_variable(array, hashes)
    if array.null_count == 0:
        return hashes
    bitmap = array.buffers()[0]
    kept = native.kernels(_KERNELS).keep_valid(
        native.address(hashes), bitmap.address, array.offset, len(array)
    )
    return hashes[:kept]


def _hash_fixed(array: pa.Array, hashes: NDArray[np.uint64]) -> None:
    width = array.type.byte_width
    values = array.buffers()[1]
    # Values of no bytes may have no buffer; any address will do, as none is read.
    start = 0 if values is None else values.address + array.offset * width
    native.kernels(_KERNELS).hash_fixed(start, width, len(array), native.address(hashes))


def _hash_variable(array: pa.Array, hashes: NDArray[np.uint64]) -> None:
    from pyarrow import types

    is_large = types.is_large_binary(array.type) or types.is_large_string(array.type)
    offset_width = 8 if is_large else 4
    _, offsets, values = array.buffers()
    native.kernels(_KERNELS).hash_variable(
        0 if values is None else values.address,
        offsets.address + array.offset * offset_width,
        offset_width,
        len(array),
        native.address(hashes),
    )


def _murmur3(array: pa.Array) -> NDArray[np.uint64]:
    import pyarrow as pa

    is_fixed = _is_fixed(array.type)
    values = array.view(pa.binary(array.type.byte_width)) if is_fixed else array
    plain = values.drop_null().to_pylist()
    texts = (value.encode() if isinstance(value, str) else value for value in plain)
    hashes = (hash_plain(text, dialect="murmur3") for text in texts)
    return np.fromiter(hashes, dtype=np.uint64, count=len(plain))


def _is_fixed(kind: pa.DataType) -> bool:
    from pyarrow import types

    numbers = (types.is_int32, types.is_int64, types.is_float32, types.is_float64)
    is_number = any(check(kind) for check in numbers)
    # A decimal counts as fixed-size binary too, but its bytes are not Parquet's.
    return is_number or (types.is_fixed_size_binary(kind) and not types.is_decimal(kind))


def _require_physical(kind: pa.DataType) -> None:
    from pyarrow import types

    texts = (types.is_binary, types.is_large_binary, types.is_string, types.is_large_string)
    if not _is_fixed(kind) and not any(check(kind) for check in texts):
        raise InvalidArgument(
            f"an Arrow array of type {kind} does not hold values as Parquet stores them",
            remedy="Cast it to the Arrow type of the column's physical type.",
        )
