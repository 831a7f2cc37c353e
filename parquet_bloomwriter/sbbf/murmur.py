"""The block order of filters of the Murmur3 drafts, and of the released specification.

The drafts (they are in no release of Parquet) hash with MurmurHash3_x64_128, take its low
64 bits, require z to be a power of two above one, and choose the block by

    (h >> 32) & (z - 1)          the lowest log2(z) bits of the upper half

where the released form takes, for such z, the highest log2(z) bits. The masks are the same.
So with the upper half read backwards, bit for bit, a draft filter is an ordinary one whose
blocks are stored in another order: block i of the draft is block reverse(i) of ours, where
`reverse` reverses the log2(z) bits of a block number.

`Sbbf` therefore has one block order only. Hashes of this dialect have their upper half
reversed (`hashing` does it); blocks are reordered here as a filter is read or written. So
inserting, folding, merging and all rates are shared, and hold for the drafts as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.errors import InvalidArgument

if TYPE_CHECKING:
    from numpy.typing import NDArray


def reorder(blocks: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return the blocks of a filter moved from the drafts' order to ours, or back: the same step.

    Args:
        blocks: The filter, shape (z, 8).

    Returns:
        A new array of the same shape.

    Raises:
        InvalidArgument: If z is not a power of two.
    """
    num_blocks = len(blocks)
    if num_blocks & (num_blocks - 1):
        raise InvalidArgument(
            f"a filter of the Murmur3 drafts cannot have {num_blocks} blocks",
            remedy="Use a power of two.",
        )
    order = np.zeros(1, dtype=np.int64)
    while len(order) < num_blocks:
        order = np.concatenate([2 * order, 2 * order + 1])
    return blocks[order]


def stored_indexes(
    indexes: NDArray[np.uint64], num_blocks: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """Return the positions of blocks in the drafts' order, each of another filter.

    Args:
        indexes: Numbers of blocks in our order, 0-based, shape (n,).
        num_blocks: Blocks of the filters, powers of two, shape (n,).

    Returns:
        `indexes` with their lowest log2(num_blocks) bits reversed, shape (n,).
    """
    stored = np.zeros_like(indexes)
    for bit in range(int(num_blocks.max(initial=1)).bit_length() - 1):
        weight = num_blocks >> np.uint64(bit + 1)  # Zero beyond the highest bit of an index.
        stored += (indexes >> np.uint64(bit) & np.uint64(1)) * weight
    return stored
