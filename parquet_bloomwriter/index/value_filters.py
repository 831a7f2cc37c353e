"""One filter of all values that a column has in a file, built by reading them.

It is made large enough for every value to be different, and folded to the smallest size whose exact
rate is within the one asked for. Each value is hashed once and goes into two filters: that of the
file, and the partial one of the whole table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import BloomwriterError
from parquet_bloomwriter.filters.build import distinct_values, hashes_of, plausible_values
from parquet_bloomwriter.hashing import XXHASH
from parquet_bloomwriter.index.embedded import Filter, empty
from parquet_bloomwriter.index.format.part_writer import WHOLE_FILE
from parquet_bloomwriter.sbbf import Sbbf, initial_num_blocks
from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK
from parquet_bloomwriter.sbbf.sizing import MAX_BYTES
from parquet_bloomwriter.values import LeafReader

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from parquet_bloomwriter.index.build.table_filter import Partial
    from parquet_bloomwriter.index.engine import ColumnPlan
    from parquet_bloomwriter.metadata import Footer, Leaf
    from parquet_bloomwriter.source import Source

_SMALL_BLOCKS = 1 << 12
"""Up to so many blocks chance may make a filter too small; it is built at twice the size."""


def value_filter(
    source: Source, footer: Footer, leaf: Leaf, plan: ColumnPlan, partial: Partial | None
) -> Filter:
    """Build a filter.

    Args:
        source: The file.
        footer: Its footer.
        leaf: The column.
        plan: What is asked of the filter.
        partial: Gets every value.

    Raises:
        OSError, pyarrow.ArrowException: If a page cannot be read.
        BloomwriterError: If a hash that was inserted is not found.
    """
    filter_: Sbbf | None = None
    inserted = 0
    for hashes in _all_hashes(source, footer, leaf):
        if filter_ is None:
            filter_ = Sbbf.empty(_num_blocks(footer, leaf, plan))
        filter_.insert_hashes(hashes)
        if not filter_.contains_all(hashes):
            raise BloomwriterError("a value is missing from the filter it was put into")
        if partial is not None:
            partial.insert(hashes)
        inserted += len(hashes)
    if filter_ is None:
        return empty()
    return Filter(
        row_group=WHOLE_FILE,
        bits=filter_.fold_to_target_fpp(plan.fpp, max_bytes=plan.max_bytes),
        num_values=inserted,
        ndv=distinct_values(filter_, inserted),
    )


def _all_hashes(source: Source, footer: Footer, leaf: Leaf) -> Iterator[NDArray[np.uint64]]:
    reader = LeafReader(source, footer, leaf)
    for row_group in range(footer.num_row_groups):
        yield from hashes_of(reader, leaf, row_group, XXHASH)


def _num_blocks(footer: Footer, leaf: Leaf, plan: ColumnPlan) -> int:
    """Blocks to build with, a power of two."""
    groups = range(footer.num_row_groups)
    values = sum(plausible_values(footer, leaf, row_group) for row_group in groups)
    most = min(plan.max_bytes, MAX_BYTES)
    needed = initial_num_blocks(values, plan.fpp, max_bytes=most)
    has_room = 2 * needed * BYTES_PER_BLOCK <= most
    return 2 * needed if needed <= _SMALL_BLOCKS and has_room else needed
