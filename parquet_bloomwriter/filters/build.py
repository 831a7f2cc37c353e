"""Column chunk -> hashes -> one Bloom filter, or the reason why there is none.

A filter is built once, large enough for every value of the chunk to be different, and then folded
to the smallest size whose exact rate is within the one asked for. The number of distinct values
need not be known beforehand, and costs nothing to respect afterwards.

What equality means to readers decides two additions:

- zero: `x = 0.0` finds -0.0 too, but their bytes differ. If one may be there, both go in.
- NaN: there are many bit patterns of it. If any is there, the canonical one goes in too.

Timestamps of type INT96 whose nanoseconds are not of their day are equal to others of other bytes.
A chunk with one gets no filter, and loses the one that it has.

No filter is ever partial: if any page of a chunk cannot be read, the chunk gets none.
"""

from __future__ import annotations

import math
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
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from parquet_bloomwriter.metadata import Footer, Leaf
    from parquet_bloomwriter.values import LeafReader

SAMPLED_HASHES = 4096
"""Hashes kept of each chunk, to be looked up again in the file that was written."""

_TRUSTED_VALUES = 1 << 20
_VALUES_PER_BYTE = 64
"""A count of values above both this many per stored byte and `_TRUSTED_VALUES` is not taken at its
word when memory is reserved."""

_SAMPLE_PER_BATCH = 256

_DEVIATIONS = 3
_GROWTH = 32
"""A filter of exact size that turned out too small grows by at least one part in so many."""

_WASTE = 1.1
"""How much larger than needed a filter of exact size may be."""


ODD_INSTANTS = "INT96 timestamps have nanoseconds that are not of their day"
"""Why a chunk can have no filter that readers' lookups are right with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterOptions:
    """What is asked of the filters of one column."""

    fpp: float = 0.01
    """False positive probability, in (0, 1)."""

    ndv: int | None = None
    """Distinct values expected per row group; None takes the number of values."""

    max_bytes: int = MAX_BYTES
    """Largest bitset, bytes. It wins over `fpp`."""

    sizing: Sizing = "pow2"
    hash_kind: HashKind = XXHASH


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BuiltFilter:
    """A finished filter of one column chunk."""

    data: bytes
    """Header and bitset."""

    num_bytes: int
    """Bytes of the bitset."""

    ndv: int
    """Distinct values, estimated from the filter as it was built, rounded."""

    fpp: float
    """Exact rate: the chance that an absent value passes this very filter."""

    sample: NDArray[np.uint64]
    """Some of the hashes inserted, shape (at most `SAMPLED_HASHES` + 3,)."""


def build_filter(
    reader: LeafReader, footer: Footer, leaf: Leaf, row_group: int, options: FilterOptions
) -> BuiltFilter | None:
    """Build the filter of one column chunk; None if it has no values.

    Raises:
        OSError, pyarrow.ArrowException: If a page cannot be read.
        BloomwriterError: If a hash that was inserted is not found.
    """
    num_blocks = _blocks(options.ndv or plausible_values(footer, leaf, row_group), options)
    is_first = True
    while True:
        filter_, inserted, sample = _fill(reader, leaf, row_group, num_blocks, options)
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
                ndv=ndv,
                fpp=folded.exact_fpp(),
                sample=sample,
            )
        num_blocks, is_first = better, False


def _larger(num_blocks: int, folded: Sbbf, ndv: int, options: FilterOptions) -> int | None:
    """Blocks for a filter that turned out too small, None if it is not, or must not be larger."""
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
    """Blocks for a filter of exact size that is far larger than needed, None if it is not.

    Folding can only divide. Asked for once: the next size may turn out too small by chance, and
    then only grows.
    """
    if options.sizing != "exact":
        return None
    needed = _blocks(ndv, options)
    return needed if needed < num_blocks and needed * _WASTE < folded.num_blocks else None


def distinct_values(filter_: Sbbf, inserted: int) -> int:
    """How many distinct values a filter holds, by estimate, of those that were inserted."""
    estimate = filter_.estimated_ndv()
    return max(1, min(round(estimate), inserted)) if np.isfinite(estimate) else inserted


def holds_all_values(filter_: Sbbf, reader: LeafReader, leaf: Leaf, row_group: int) -> bool:
    """Whether a filter that is there already contains every value of its column chunk.

    As in a filter of our own, both zeros must be in it if one may be, and the canonical NaN if any.

    Raises:
        OSError, pyarrow.ArrowException: If a page cannot be read.
    """
    kind = HashKind(filter_.dialect, filter_.murmur3_seed)
    return all(filter_.contains_all(hashes) for hashes in hashes_of(reader, leaf, row_group, kind))


def _fill(
    reader: LeafReader, leaf: Leaf, row_group: int, num_blocks: int, options: FilterOptions
) -> tuple[Sbbf, int, NDArray[np.uint64]]:
    """Insert every value; return the filter, the number of values, and a sample of their hashes."""
    filter_: Sbbf | None = None
    inserted = 0
    samples: list[NDArray[np.uint64]] = []
    kind = options.hash_kind
    for hashes in hashes_of(reader, leaf, row_group, kind):
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
    reader: LeafReader, leaf: Leaf, row_group: int, kind: HashKind
) -> Iterator[NDArray[np.uint64]]:
    """Yield the hashes of every batch, and last those that zeros and NaNs ask for.

    Raises:
        OSError, pyarrow.ArrowException: If a page cannot be read, or readers see other values than
            those that are stored.
    """
    dtype = floating_dtype(leaf)
    special: set[bytes] = set()
    for array in reader.batches(row_group):
        if has_odd_instants(leaf, array):
            raise OSError(ODD_INSTANTS)
        hashes = hash_array(array, kind)
        if len(hashes):
            yield hashes
        if dtype is not None:
            special |= special_floats(array, dtype)
    if special:
        yield np.array([hash_plain(plain, kind) for plain in sorted(special)], np.uint64)


def _blocks(values: int, options: FilterOptions) -> int:
    """Blocks for so many distinct values, with room for chance if sizes are exact.

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
    """The number of values by the metadata, as far as the bytes of the chunk make it credible."""
    chunk = footer.chunks.values[row_group, leaf.ordinal]
    stored = max(int(chunk[ChunkField.TOTAL_COMPRESSED_SIZE]), 0)
    credible = max(_TRUSTED_VALUES, _VALUES_PER_BYTE * stored)
    return max(1, min(int(chunk[ChunkField.NUM_VALUES]), credible))
