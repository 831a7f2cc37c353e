"""The hashes of values that callers look up in the filters of a column (for `BloomFile`).

A value may be stored in several ways (both zeros), so it may have several hashes. It has none if
the column cannot hold it, and is *unclear* if that is not known: then it might be contained.
Arrays of integers, text and binary that need no coercion are hashed together; all other
values one by one, by the rules of `predicate.literals`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from parquet_bloomwriter.hashing import XXHASH, HashKind, hash_array, hash_plain
from parquet_bloomwriter.metadata import PhysicalType
from parquet_bloomwriter.metadata.logical_types import Kind
from parquet_bloomwriter.predicate.expression import UnknownKind
from parquet_bloomwriter.predicate.literals.domain import domain_of
from parquet_bloomwriter.predicate.literals.python_values import plain_value
from parquet_bloomwriter.predicate.literals.range import UnknownRange

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa
    from numpy.typing import NDArray

    from parquet_bloomwriter.hashing import Dialect
    from parquet_bloomwriter.metadata import Leaf
    from parquet_bloomwriter.predicate.literals.domain import Domain

_EXACT = (int, str, bytes)
"""Python's types whose values Arrow does not change."""

_WORDS = {PhysicalType.INT32: np.int32, PhysicalType.INT64: np.int64}
_INT32_BITS = 32


@dataclass(frozen=True, slots=True, eq=False)
class Lookups:
    """The hashes to look up for n values."""

    hashes: NDArray[np.uint64]
    shared: NDArray[np.int64] | None
    """Index of each value's first hash, and the number of hashes, shape (n + 1,); None if every
    value has one hash."""

    unclear: NDArray[np.bool_]
    """Whether each value might be contained, whatever filters say, shape (n,)."""

    of_drafts: NDArray[np.uint64] | None = None
    """Hashes for filters of the Murmur3 drafts; None to distrust these filters."""

    @property
    def firsts(self) -> NDArray[np.int64]:
        """Index of each value's first hash, and the number of hashes, shape (n + 1,)."""
        return np.arange(self.num_values + 1) if self.shared is None else self.shared

    @property
    def num_values(self) -> int:
        """Number of values, n."""
        return len(self.unclear)

    def hashes_for(self, dialect: Dialect) -> NDArray[np.uint64]:
        """Return the hashes to look up in a filter of this dialect."""
        if dialect == "xxhash" or self.of_drafts is None:
            return self.hashes
        return self.of_drafts

    def any_of(self, found: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return for each value whether any of its hashes was found; `found` has one per hash."""
        if self.shared is None:
            return found | self.unclear
        counts = np.concatenate([[0], np.cumsum(found)])
        return (counts[self.shared[1:]] > counts[self.shared[:-1]]) | self.unclear


def is_collection(values: object) -> bool:
    """Return whether an argument is several values rather than one."""
    is_one = isinstance(values, str | bytes | bytearray | memoryview)
    is_one = is_one or getattr(values, "shape", None) == ()  # An array of NumPy without dimensions.
    return not is_one and hasattr(values, "__len__") and hasattr(values, "__iter__")


def lookups_of(
    values: Any,  # noqa: ANN401  of any library
    leaf: Leaf,
    hash_kind: HashKind = XXHASH,
) -> Lookups:
    """Return the hashes of values for the filters of a column.

    Args:
        values: An array of pyarrow, NumPy or pandas, or a list.
        leaf: The column.
        hash_kind: The hash function of filters whose headers do not name it.
    """
    domain = domain_of(leaf)
    array = _as_array(values)

    def hashed(kind: HashKind) -> Lookups:
        quick = None if array is None else _hash_together(array, domain, kind)
        return quick or _hash_apart(values if array is None else array, domain, kind)

    found = hashed(XXHASH)
    return found if hash_kind == XXHASH else replace(found, of_drafts=hashed(hash_kind).hashes)


def _as_array(values: Any) -> pa.Array | None:  # noqa: ANN401  as above
    """Return an Arrow array of exactly these values; None if Arrow would change some.

    Arrow turns Python's objects of several kinds into values of one kind: times into dates.
    """
    import pyarrow as pa

    is_arrow = isinstance(values, pa.Array | pa.ChunkedArray)
    if not is_arrow and getattr(values, "dtype", "object") == "object":
        kinds = set(map(type, values)) - {type(None)}
        if len(kinds) != 1 or kinds.isdisjoint(_EXACT):
            return None
    try:
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        array = values if isinstance(values, pa.Array) else pa.array(values)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    return array.dictionary_decode() if isinstance(array, pa.DictionaryArray) else array


def _hash_together(array: pa.Array, domain: Domain, hash_kind: HashKind) -> Lookups | None:
    from pyarrow import types

    kind, leaf = domain.column.kind, domain.leaf
    if kind is Kind.INTEGER and types.is_integer(array.type):
        return _hash_integers(array, domain, hash_kind)
    is_text = types.is_string(array.type) or types.is_large_string(array.type)
    is_binary = types.is_binary(array.type) or types.is_large_binary(array.type)
    fits = (kind is Kind.TEXT and is_text) or (kind is Kind.BINARY and is_binary)
    if leaf.physical_type == PhysicalType.BYTE_ARRAY and fits and (is_text or is_binary):
        return _one_each(hash_array(array, hash_kind), _valid(array), is_unclear=True)
    return None


def _hash_integers(array: pa.Array, domain: Domain, hash_kind: HashKind) -> Lookups | None:
    import pyarrow as pa

    width = np.dtype(_WORDS[domain.leaf.physical_type]).itemsize
    info = np.iinfo(array.type.to_pandas_dtype())
    if domain.limits == (info.min, info.max) and info.bits == 8 * width:
        stored = array.view(pa.int32() if info.bits == _INT32_BITS else pa.int64())
        return _one_each(hash_array(stored, hash_kind), _valid(array), is_unclear=True)
    valid = np.asarray(array.is_valid())
    numbers = np.asarray(array.fill_null(0) if array.null_count else array)
    low, high = domain.limits or (None, None)
    held = valid & (numbers >= low) & (numbers <= high)
    is_unsigned = array.type == pa.uint64() or high == np.iinfo(np.uint64).max
    if is_unsigned and (held != valid).any():  # Readers round some of these.
        return None
    words = numbers[held].astype(_WORDS[domain.leaf.physical_type])
    lookups = _one_each(hash_array(pa.array(words), hash_kind), held, is_unclear=False)
    return replace(lookups, unclear=~valid)


def _valid(array: pa.Array) -> NDArray[np.bool_] | None:
    """Return whether each value is not null; None if none is null."""
    return np.asarray(array.is_valid()) if array.null_count else None


def _one_each(
    hashes: NDArray[np.uint64], has_hash: NDArray[np.bool_] | None, *, is_unclear: bool
) -> Lookups:
    """Return the lookups of values that have one hash each, or none.

    Args:
        hashes: Of the values that have a hash.
        has_hash: Which values have a hash; None if all have.
        is_unclear: Whether values without a hash might be contained.
    """
    if has_hash is None:
        return Lookups(hashes, None, np.zeros(len(hashes), np.bool_))
    firsts = np.concatenate([[0], np.cumsum(has_hash)])
    return Lookups(hashes, firsts, ~has_hash if is_unclear else np.zeros_like(has_hash))


def _hash_apart(values: Iterable[object], domain: Domain, hash_kind: HashKind) -> Lookups:
    ways = [_ways(value, domain) for value in values]
    known = [() if way is None else way for way in ways]
    return Lookups(
        np.array([hash_plain(plain, hash_kind) for plains in known for plain in plains], np.uint64),
        np.array([0, *accumulate(map(len, known))], np.int64),
        np.array([way is None for way in ways], np.bool_),
    )


def _ways(given: object, domain: Domain) -> tuple[bytes, ...] | None:
    """Return the PLAIN bytes of all stored values that equal a value; None if unclear."""
    if domain.encode is None:
        return None
    try:
        value = plain_value(given)
    except UnknownKind:
        return None
    found = None if value is None else domain.place(value)
    if found is None or isinstance(found, UnknownRange):
        return None
    return tuple(way for ways in domain.encode(found.keys) for way in ways) if found.keys else ()
