"""Samples of a column: the first values of a few row groups, so that the work is bounded.

Where a dictionary page has all values of a row group, the sample is of its entries. If the page is
not what its header says, the first values are read.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.advising.column_profile import SKETCH_HASHES, RowGroupSample, drawn
from parquet_bloomwriter.hashing import hash_array
from parquet_bloomwriter.metadata import PhysicalType
from parquet_bloomwriter.predicate.bound import Order
from parquet_bloomwriter.values import is_bomb

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa
    from numpy.typing import NDArray

    from parquet_bloomwriter.metadata import Leaf
    from parquet_bloomwriter.predicate.bound import Key
    from parquet_bloomwriter.values import LeafReader

_KEYS = 16
"""Most keys that are kept of each sample."""

_INT32_BITS, _INT64_BITS = 32, 64

_ALMOST_EQUAL = 1.001
"""Largest ratio of two bounds of a number that count as equal."""

_LEAST_SORTED = 100
"""Fewest values whose order is not taken for chance."""


def take_sample(  # noqa: PLR0913  what to read, and what the footer says of it
    reader: LeafReader,
    leaf: Leaf,
    row_group: int,
    *,
    most: int,
    order: Order | None,
    num_values: int,
    num_nulls: int,
) -> RowGroupSample | None:
    """Return a sample of the beginning of one column chunk; None if all values are null.

    Args:
        reader: Reads the column.
        leaf: The column.
        row_group: Ordinal, 0-based.
        most: Values to read at most, nulls included.
        order: How the values compare in statistics.
        num_values: Values of the chunk, nulls included.
        num_nulls: Nulls of the chunk, -1 where unknown.

    Raises:
        OSError, pyarrow.ArrowException: If a page cannot be read.
    """
    num_equal = None
    reader = reader.of_chunk(row_group)
    dictionary = _first_entries(reader, row_group, most)
    arrays, read = dictionary or _first_arrays(reader.batches(row_group, max_rows=most), most)
    hashes = np.concatenate([np.empty(0, np.uint64), *map(hash_array, arrays)])
    if not len(hashes):
        return None
    distinct = _distinct(hashes)
    if dictionary is not None:
        whole = max(len(hashes), num_values - max(num_nulls, 0))
        growth = _growth_to(read, len(distinct), whole)
    else:
        present = num_values - num_nulls if num_nulls >= 0 else num_values * len(hashes) / read
        whole = max(len(hashes), round(present))
        half = len(_distinct(hashes[: (len(hashes) + 1) // 2]))
        growth = _growth(len(hashes), half, len(distinct))
        if len(hashes) < whole:
            num_equal = _num_equal(len(hashes), half, len(distinct))
    return RowGroupSample(
        num_read=len(hashes),
        num_distinct=len(distinct),
        growth=growth,
        num_equal=num_equal,
        is_sorted=_is_sorted(arrays),
        num_values=whole,
        sketch=distinct[:SKETCH_HASHES].copy(),
        keys=_keys(leaf, order, arrays, hashes, distinct[:_KEYS]),
        has_fractions=any(map(_has_fractions, arrays)),
    )


def _first_entries(
    reader: LeafReader, row_group: int, most: int
) -> tuple[list[pa.Array], int] | None:
    """Read the first entries of the dictionary page; return them with the number of all entries.

    None if it is not certain that there is a page with all values, if the page is not what its
    header says, or if it unpacks to too many bytes; then reading the first values says so.
    """
    import pyarrow as pa

    dictionary = reader.dictionary(row_group)
    if dictionary is None or is_bomb(dictionary.stop - dictionary.start, dictionary.num_bytes):
        return None
    try:
        arrays, _ = _first_arrays(dictionary.batches(max_rows=most), most)
    except (OSError, pa.ArrowException):
        return None
    return arrays, dictionary.num_values


def _first_arrays(batches: Iterable[pa.Array], most: int) -> tuple[list[pa.Array], int]:
    """Read the first values; return those that are not null, and the number read."""
    arrays: list[pa.Array] = []
    read = 0
    for array in batches:
        part = array[: most - read]
        read += len(part)
        arrays.append(part.drop_null() if part.null_count else part)
        if read >= most:
            break
    return arrays, read


def _has_fractions(values: pa.Array) -> bool:
    """Return whether some values are floating-point numbers with a fraction."""
    import pyarrow as pa

    if not pa.types.is_floating(values.type):
        return False
    numbers = values.to_numpy()
    finite = numbers[np.isfinite(numbers)]
    return bool((finite != np.trunc(finite)).any())


def _distinct(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the distinct hashes, ascending; for thousands, faster than np.unique."""
    ascending = np.sort(hashes)
    is_first = np.ones(len(ascending), np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=is_first[1:])
    return ascending[is_first]


def _growth(num_values: int, half: int, num_distinct: int) -> float:
    """Return the exponent with which distinct values grow from the first half to all."""
    if num_values == 1:
        return 1.0
    ratio = num_values / ((num_values + 1) // 2)
    return min(1.0, math.log(num_distinct / half) / math.log(ratio))


def _num_equal(num_values: int, half: int, num_distinct: int) -> float | None:
    """Return the number of equally frequent values that the values read may be drawn from, or None.

    The number follows from all the values. The first half must then have as many distinct values as
    expected, within four standard deviations, D (exp(-x) - (1 + x) exp(-2 x)) with x = n / D.
    """
    if num_distinct == num_values:
        return math.inf
    low, high = num_distinct / 2, float(num_values) ** 2
    while high > low * _ALMOST_EQUAL:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if drawn(num_values, middle) < num_distinct else (low, middle)
    first = (num_values + 1) // 2
    x = first / high
    variance = high * (math.exp(-x) - (1 + x) * math.exp(-2 * x))
    tolerance = 4 * math.sqrt(max(0.0, variance)) + 1
    return high if abs(half - drawn(first, high)) <= tolerance else None


def _is_sorted(arrays: list[pa.Array]) -> bool:
    """Return whether at least some values ascend, or descend, over all arrays."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        values = pa.chunked_array(arrays).combine_chunks()
        before, after = values[:-1], values[1:]
        orders = (pc.less_equal(before, after), pc.greater_equal(before, after))
    except pa.ArrowException:
        return False
    return len(values) >= _LEAST_SORTED and any(pc.all(order).as_py() for order in orders)


def _growth_to(num_distinct: int, num_sampled: int, num_values: int) -> float:
    """Return the exponent for a sample of a dictionary, whose number of values is known."""
    if num_sampled >= min(num_distinct, num_values):
        return 0.0
    return min(1.0, math.log(num_distinct / num_sampled) / math.log(num_values / num_sampled))


def _keys(
    leaf: Leaf,
    order: Order | None,
    arrays: list[pa.Array],
    hashes: NDArray[np.uint64],
    wanted: NDArray[np.uint64],
) -> tuple[Key, ...]:
    """Return the values of some hashes as keys of the column's statistics."""
    if order is None:
        return ()
    candidates = np.flatnonzero(hashes <= wanted[-1])
    _, first = np.unique(hashes[candidates], return_index=True)
    places = candidates[first]
    starts = np.cumsum([0, *map(len, arrays)])
    numbers = starts.searchsorted(places, side="right") - 1
    rows = places - starts[numbers]
    keys = [
        _key(leaf, order, arrays[number][row].as_py())
        for number, row in zip(numbers.tolist(), rows.tolist(), strict=True)
    ]
    return tuple(key for key in keys if key == key)  # noqa: PLR0124  NaN is in no statistics


def _key(leaf: Leaf, order: Order, value: float | bytes) -> Key:
    """Return a stored value as a key of its column's statistics."""
    if not isinstance(value, bytes):
        if order is not Order.UNSIGNED:
            return value
        bits = _INT32_BITS if leaf.physical_type == PhysicalType.INT32 else _INT64_BITS
        return int(value) % (1 << bits)
    if order is Order.BIG_ENDIAN:
        return int.from_bytes(value, "big", signed=True)
    if order is Order.FLOATING:
        return float(np.frombuffer(value, "<f2")[0])
    return value
