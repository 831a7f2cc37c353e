"""One block of a split block Bloom filter, and the block number of a hash.

Parquet specification, "Bloom Filter". A filter is z blocks of 256 bits, each eight words
of 32 bits, little-endian, one after the other:

    filter   | block 0 | block 1 |  ...  | block z-1 |       32 z bytes
    block    | word 0 | word 1 | word 2 |  ...  | word 7 |   32 bytes
    word     bit 31 ... bit 0                                 4 bytes

A hash h of 64 bits is used in two halves, independently of each other:

    h  |  63 ............... 32  |  31 ................ 0  |
          block number               mask: one bit in each word
          ((h >> 32) * z) >> 32      bit (low32(h) * SALT[w]) >> 27 of word w

Inserting sets the eight bits of the mask in the block; checking asks whether all eight
are set. (The specification's pseudocode of `block_check` writes `setBit` where it means
`isSet`.) The mask does not depend on z: this is what makes folding exact.

These are the scalar forms, in plain Python, for a few values against one block. They import
nothing, so that a probe that reads 32 bytes of a file starts at once.
"""

from __future__ import annotations

SALT = (
    0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D,
    0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31,
)  # fmt: skip
"""Odd 32-bit numbers, one for each word of a block. Parquet specification, "Bloom Filter"."""

WORDS_PER_BLOCK = 8
BITS_PER_WORD = 32
BYTES_PER_BLOCK = 32

_LOW_32 = 0xFFFFFFFF


def block_index(h: int, num_blocks: int) -> int:
    """Return the number of the block that a hash belongs to.

    Parquet specification, "Bloom Filter": `filter_insert` and `filter_check`.

    Args:
        h: The 64-bit hash, unsigned.
        num_blocks: Blocks of the filter, z, in [1, 2**31).

    Returns:
        0-based, below `num_blocks`.
    """
    return ((h >> 32) * num_blocks) >> 32


def mask(h: int) -> tuple[int, ...]:
    """Return the bits that a hash sets in its block.

    Parquet specification, "Bloom Filter": `mask`.

    Args:
        h: The 64-bit hash, unsigned; its lower 32 bits count.

    Returns:
        Eight words of 32 bits, one bit set in each.
    """
    return tuple(1 << ((((h & _LOW_32) * salt) & _LOW_32) >> 27) for salt in SALT)


def check_block(block: bytes | bytearray | memoryview, h: int) -> bool:
    """Return whether one block might contain the hash; False means it certainly does not.

    Parquet specification, "Bloom Filter": `block_check`.

    Args:
        block: The 32 bytes of block `block_index(h, z)`.
        h: The 64-bit hash.
    """
    wanted = b"".join(word.to_bytes(4, "little") for word in mask(h))
    bits = int.from_bytes(wanted, "little")
    return int.from_bytes(block, "little") & bits == bits
