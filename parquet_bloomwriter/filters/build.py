"""Build the Bloom filter of one column chunk: values -> hashes -> filter.

A filter is built large enough for a chunk whose values are all different, and then folded to the
smallest size whose exact rate is within the rate asked for. So the number of distinct values need
not be known beforehand.

Where a dictionary page has all values of the chunk, its entries are inserted instead, and their
number is known before the filter is made. The filter is the same, bit for bit, if rows refer to all
entries. Entries to which no row refers only make it larger. The data pages are not read then.

Two kinds of values are equal to readers though their bytes differ:

- zero: `x = 0.0` finds -0.0, too. If either zero may be in the chunk, both are inserted.
- NaN has many bit patterns. If any NaN is in the chunk, the canonical NaN is inserted, too.

An INT96 timestamp whose nanoseconds exceed a day equals another timestamp with other bytes. A chunk
with such a timestamp gets no filter, and loses the filter that it has.

No filter is ever partial: if any page that is needed cannot be read, the chunk gets none.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.errors import BloomwriterError
from parquet_bloomwriter.hashing import XXHASH, HashKind, hash_array, hash_plain, special_floats
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.sbbf import Sbbf
from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK
from parquet_bloomwriter.sbbf.sizing import MAX_BYTES, Sizing, initial_num_blocks
from parquet_bloomwriter.values import floating_dtype, has_odd_instants

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

    from parquet_bloomwriter.metadata import Footer, Leaf
    from parquet_bloomwriter.values import DictionaryPage, LeafReader

SAMPLED_HASHES = 4096
"""Number of hashes kept of each chunk, to be looked up again in the file that was written."""

_TRUSTED_VALUES = 1 << 20
_VALUES_PER_BYTE = 64
"""When memory is reserved, a count of values in the metadata is believed up to `_TRUSTED_VALUES`,
and beyond that up to so many values for each stored byte of the chunk."""

_SAMPLE_PER_BATCH = 256

_DEVIATIONS = 3
_GROWTH = 32
"""A filter of exact size that proves too small grows by at least 1 / 32."""

_WASTE = 1.1
"""Largest ratio of a filter of exact size to the size that is needed."""


ODD_INSTANTS = "INT96 timestamps have nanoseconds that are not of their day"
"""Why a column chunk cannot have a correct Bloom filter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterOptions:
    """The options of the filters of one column: rate, size and hash function."""

    fpp: float = 0.01
    """False positive probability asked for, in (0, 1)."""

    ndv: int | None = None
    """Number of distinct values expected per row group; None takes the number of values."""

    max_bytes: int = MAX_BYTES
    """Most bytes of a bitset; takes precedence over `fpp`."""

    sizing: Sizing = "pow2"
    hash_kind: HashKind = XXHASH


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BuiltFilter:
    """A finished filter of one column chunk."""

    data: bytes
    """Bytes of header and bitset."""

    num_bytes: int
    """Length of the bitset, bytes."""

    ndv: int
    """Number of distinct values: dictionary entries, or an estimate from the unfolded filter."""

    fpp: float
    """Exact rate: the chance that an absent value passes this filter."""

    sample: NDArray[np.uint64]
    """Some of the inserted hashes, shape (at most `SAMPLED_HASHES` + 3,)."""


def build_filter(
    reader: LeafReader, footer: Footer, leaf: Leaf, row_group: int, options: FilterOptions
) -> BuiltFilter | None:
    """Build the filter of one column chunk; return None if the chunk has no values.

    Raises:
        OSError, pyarrow.ArrowException: If a page cannot be read.
        BloomwriterError: If an inserted hash is not found.
    """
    reader = reader.of_chunk(row_group)
    dictionary = reader.dictionary(row_group)
    num_blocks = _first_blocks(plausible_values(footer, leaf, row_group), dictionary, options)
    is_first = True
    while True:
        hashes = hashes_of(reader, leaf, row_group, options.hash_kind, dictionary)
        filter_, inserted, sample = _fill(hashes, leaf, row_group, num_blocks, options.hash_kind)
        if not inserted:
            return None
        folded = filter_.fold_to_target_fpp(options.fpp, sizing=options.sizing)
        ndv = distinct_values(filter_, inserted)
        better = _larger(filter_.num_blocks, folded, ndv, options)
        if better is None and is_first:
            better = _smaller(filter_.num_blocks, folded, ndv, options)
        if better is None:
            return BuiltFilter(
                data=folded.to_bytes(),
                num_bytes=folded.num_bytes,
                ndv=ndv if dictionary is None else dictionary.num_values,
                fpp=folded.exact_fpp(),
                sample=sample,
            )
        num_blocks, is_first = better, False


def _first_blocks(values: int, dictionary: DictionaryPage | None, options: FilterOptions) -> int:
    """Return the number of blocks of the filter that is built first, and then folded.

    Halving a filter of more blocks leads to the same filter, so that a known number of distinct
    values may be used. Sizes that are exact depend on what they are folded from.
    """
    if dictionary is not None and options.sizing == "pow2":
        return _blocks(dictionary.num_values, options)
    return _blocks(options.ndv or values, options)


def _larger(num_blocks: int, folded: Sbbf, ndv: int, options: FilterOptions) -> int | None:
    """Return the number of blocks for a second try if a filter is too small; None if it stays."""
    if folded.exact_fpp() <= options.fpp:
        return None
    most = options.max_bytes // BYTES_PER_BLOCK
    grown = num_blocks + num_blocks // _GROWTH + 1
    if options.sizing == "pow2":
        most = 1 << most.bit_length() - 1
        grown = 2 * num_blocks
    larger = min(max(_blocks(ndv, options), grown), most)
    return larger if larger > num_blocks else None


def _smaller(num_blocks: int, folded: Sbbf, ndv: int, options: FilterOptions) -> int | None:
    """Return the number of blocks for a second try if an exact-size filter is too large, or None.

    Folding can only divide, so the fold may be far larger than needed. This is tried once: the next
    size may turn out too small by chance, and then only grows.
    """
    if options.sizing != "exact":
        return None
    needed = _blocks(ndv, options)
    return needed if needed < num_blocks and needed * _WASTE < folded.num_blocks else None


def distinct_values(filter_: Sbbf, inserted: int) -> int:
    """Estimate how many of the inserted values are distinct, from the bits of their filter."""
    estimate = filter_.estimated_ndv()
    return max(1, min(round(estimate), inserted)) if np.isfinite(estimate) else inserted


def holds_all_values(filter_: Sbbf, reader: LeafReader, leaf: Leaf, row_group: int) -> bool:
    """Return whether a filter contains all hashes of a new filter of the column chunk.

    These are the hashes of every value, of both zeros if the chunk may have a zero, and of the
    canonical NaN if it has a NaN.

    Raises:
        OSError, pyarrow.ArrowException: If a page cannot be read.
    """
    kind = HashKind(filter_.dialect, filter_.murmur3_seed)
    reader = reader.of_chunk(row_group)

    def holds(dictionary: DictionaryPage | None) -> bool:
        hashes = hashes_of(reader, leaf, row_group, kind, dictionary)
        return all(map(filter_.contains_all, hashes))

    dictionary = reader.dictionary(row_group)
    return (dictionary is not None and holds(dictionary)) or holds(None)


def _fill(
    every: Iterable[NDArray[np.uint64]], leaf: Leaf, row_group: int, num_blocks: int, kind: HashKind
) -> tuple[Sbbf, int, NDArray[np.uint64]]:
    """Insert every value; return the filter, the number of values, and a sample of the hashes."""
    filter_: Sbbf | None = None
    inserted = 0
    samples: list[NDArray[np.uint64]] = []
    for hashes in every:
        if filter_ is None:
            filter_ = Sbbf.empty(num_blocks, dialect=kind.dialect, murmur3_seed=kind.murmur3_seed)
        filter_.insert_hashes(hashes)
        if not filter_.contains_all(hashes):
            raise BloomwriterError(
                "a value is missing from the filter it was put into",
                row_group=row_group,
                column=leaf.name,
                remedy="This is a bug or a hardware fault; no file was changed.",
            )
        inserted += len(hashes)
        if len(samples) * _SAMPLE_PER_BATCH < SAMPLED_HASHES:
            samples.append(hashes[:_SAMPLE_PER_BATCH].copy())
    if filter_ is None:
        return Sbbf.empty(1), 0, np.empty(0, np.uint64)
    return filter_, inserted, np.concatenate(samples)


def hashes_of(
    reader: LeafReader,
    leaf: Leaf,
    row_group: int,
    kind: HashKind,
    dictionary: DictionaryPage | None,
) -> Iterator[NDArray[np.uint64]]:
    """Yield the hashes of every batch, and last the additional ones of zeros and NaNs.

    Args:
        reader: Of the column.
        leaf: The column.
        row_group: 0-based ordinal.
        kind: The hash.
        dictionary: Has all values of the chunk; None to read every value.

    Raises:
        OSError, pyarrow.ArrowException: If a page cannot be read, or the chunk has INT96 timestamps
            that cannot be looked up.
    """
    dtype = floating_dtype(leaf)
    special: set[bytes] = set()
    for array in _arrays(reader, leaf, row_group, dictionary):
        if has_odd_instants(leaf, array):
            raise OSError(ODD_INSTANTS)
        hashes = hash_array(array, kind)
        if len(hashes):
            yield hashes
        if dtype is not None:
            special |= special_floats(array, dtype)
    if special:
        yield np.array([hash_plain(plain, kind) for plain in sorted(special)], np.uint64)


def _arrays(
    reader: LeafReader, leaf: Leaf, row_group: int, dictionary: DictionaryPage | None
) -> Iterator[pa.Array]:
    """Yield the values of a column chunk, from its dictionary if one is given.

    A dictionary that is not what its header says, or has an entry that would prevent a filter and
    to which perhaps no row refers, is not the last word: every value is read then.
    """
    import pyarrow as pa

    if dictionary is not None:
        with suppress(OSError, pa.ArrowException):
            for array in dictionary.batches():
                if has_odd_instants(leaf, array):
                    break
                yield array
            else:
                return
    yield from reader.batches(row_group)


def _blocks(values: int, options: FilterOptions) -> int:
    """Return the number of blocks for distinct values, with a margin for chance if sizes are exact.

    The rate of one filter scatters around the expected rate, by about 2 / sqrt(z) of it; powers of
    two nearly always have more room than that.
    """

    def blocks(fpp: float) -> int:
        return initial_num_blocks(values, fpp, sizing=options.sizing, max_bytes=options.max_bytes)

    needed = blocks(options.fpp)
    if options.sizing == "pow2":
        return needed
    return blocks(options.fpp / (1 + _DEVIATIONS * 2 / math.sqrt(needed)))


def plausible_values(footer: Footer, leaf: Leaf, row_group: int) -> int:
    """Return the number of values by the metadata, at most what the chunk's bytes can hold."""
    place = (row_group, leaf.ordinal)
    stored = max(footer.chunks.values.item(*place, ChunkField.TOTAL_COMPRESSED_SIZE), 0)
    credible = max(_TRUSTED_VALUES, _VALUES_PER_BYTE * stored)
    return max(1, min(footer.chunks.values.item(*place, ChunkField.NUM_VALUES), credible))
