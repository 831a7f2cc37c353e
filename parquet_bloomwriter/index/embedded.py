"""The filters that a file has already, taken for an index without reading its data.

A row group's filter stays one by itself: joined in one of the same size, several would let nearly
everything pass. It is taken only if nothing speaks against it, and if it knows what readers take
for equal: both zeros or none, and the canonical NaN, because nobody can tell whether any NaN is
there. So the filters of floating-point columns are hardly ever taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.filters.stored import read_all_bits, stored_filters
from parquet_bloomwriter.hashing import hash_plain
from parquet_bloomwriter.index.format.part_writer import UNKNOWN, WHOLE_FILE
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK
from parquet_bloomwriter.sbbf.sizing import MAX_BYTES, MIN_BYTES
from parquet_bloomwriter.values import floating_dtype

if TYPE_CHECKING:
    from parquet_bloomwriter.filters.stored import StoredFilter
    from parquet_bloomwriter.index.build.table_filter import Partial
    from parquet_bloomwriter.index.engine import ColumnPlan
    from parquet_bloomwriter.metadata import Footer, Leaf
    from parquet_bloomwriter.sbbf import Sbbf, Sizing
    from parquet_bloomwriter.source import Source


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Filter:
    """A filter for an index: of a file, or of one of its row groups."""

    row_group: int
    """0-based ordinal, or `WHOLE_FILE`."""

    bits: Sbbf | None
    """None if there are no values."""

    num_values: int
    """Inserted, or `UNKNOWN`."""

    ndv: int
    """Distinct values, estimated, or `UNKNOWN`."""


def empty(row_group: int = WHOLE_FILE) -> Filter:
    """The filter of no values."""
    return Filter(row_group=row_group, bits=None, num_values=0, ndv=0)


def embedded_filters(
    source: Source, footer: Footer, leaf: Leaf, plan: ColumnPlan, partial: Partial | None
) -> list[Filter] | str:
    """Take a column's filters from a file.

    Args:
        source: The file.
        footer: Its footer.
        leaf: The column.
        plan: What is asked of the filters: each is folded as far as its rate allows, and all
            together have no more bytes than is allowed a file.
        partial: Gets what they contain.

    Returns:
        One for each row group; or why they cannot be taken, a clause.

    Raises:
        BloomwriterError, OSError: If they cannot be read.
    """
    counts = _num_values(footer, leaf)
    stored = {one.row_group: one for one in stored_filters(source, footer, {leaf.ordinal})}
    for row_group, count in enumerate(counts):
        problem = _problem_of(stored.get(row_group), count)
        if problem is not None:
            return f"row group {row_group}: {problem}"
    largest = _share(plan.max_bytes, len(counts))
    found = [empty(row_group) for row_group in range(len(counts))]
    for one, bits in read_all_bits(source, stored.values()):
        if bits is None or (not bits.blocks.any() and counts[one.row_group] != 0):
            return f"row group {one.row_group}: all bits are zero, though there are values"
        if not _knows_equals(bits, leaf):
            return f"row group {one.row_group}: other zeros and NaNs may be missing"
        if bits.blocks.any():
            found[one.row_group] = _taken(one, bits, counts[one.row_group], plan.fpp, largest)
            if partial is not None:
                partial.add(bits)
    return found if any(one.bits for one in found) else [empty()]


def _num_values(footer: Footer, leaf: Leaf) -> list[int]:
    """Values of each chunk that are not null, `UNKNOWN` if the footer does not tell."""
    values = footer.chunks.value(ChunkField.NUM_VALUES)[:, leaf.ordinal]
    nulls = footer.chunks.value(ChunkField.NULL_COUNT)[:, leaf.ordinal]
    known = (nulls >= 0) & (nulls <= values)
    counts = np.where(known, values - nulls, np.where(values == 0, 0, UNKNOWN))
    return [int(count) for count in counts]


def _problem_of(one: StoredFilter | None, count: int) -> str | None:
    if one is None:
        return "it has no filter" if count else None
    problem = one.problem or one.foreign
    if problem is None and (one.length is None or one.length > MAX_BYTES + BYTES_PER_BLOCK):
        return "its filter is too large, or has no header"
    return problem


def _share(max_bytes: int, num_row_groups: int) -> int:
    """Bytes that one of so many filters may have."""
    share = max(max_bytes // max(1, num_row_groups), MIN_BYTES["pow2"])
    return 1 << share.bit_length() - 1


def _knows_equals(bits: Sbbf, leaf: Leaf) -> bool:
    dtype = floating_dtype(leaf)
    if dtype is None:
        return True
    values = (0.0, -0.0, np.nan)
    plus, minus, nan = (
        bits.check_hash(hash_plain(np.array(value, dtype).tobytes())) for value in values
    )
    return plus == minus and nan


def _taken(one: StoredFilter, bits: Sbbf, count: int, fpp: float, largest: int) -> Filter:
    is_power = bits.num_blocks & (bits.num_blocks - 1) == 0
    sizing: Sizing = "pow2" if is_power else "exact"
    estimate = bits.estimated_ndv()
    ndv = max(1, round(estimate)) if np.isfinite(estimate) else UNKNOWN
    return Filter(
        row_group=one.row_group,
        bits=bits.fold_to_target_fpp(fpp, sizing=sizing, max_bytes=largest),
        num_values=count or UNKNOWN,
        ndv=min(ndv, count) if count > 0 else ndv,
    )
