"""Filters that other implementations made, bit for bit.

The first two are `bloom_filter.xxhash.bin` and `bloom_filter.bin` of apache/parquet-testing:
32 blocks with the values "hello", "parquet", "bloom" and "filter". Only their non-zero bytes
are kept here, as position -> byte. The second is of the Murmur3 drafts, with the seed of
their first implementation.
"""

from __future__ import annotations

import numpy as np
import pytest

from parquet_bloomwriter.errors import InvalidArgument, MalformedFilter
from parquet_bloomwriter.hashing import hash_plain, murmur3, xxh64
from parquet_bloomwriter.hashing.single import reverse_upper
from parquet_bloomwriter.sbbf import Sbbf, block_index, decode_header
from parquet_bloomwriter.sbbf.murmur import stored_index

VALUES = (b"hello", b"parquet", b"bloom", b"filter")
NUM_BYTES = 1024

XXHASH_BYTES = {
    130: 16, 133: 2, 137: 4, 140: 128, 145: 2, 151: 128, 155: 16, 159: 8,
    162: 128, 167: 16, 168: 1, 175: 16, 176: 32, 182: 32, 187: 64, 190: 8,
    224: 4, 230: 64, 234: 64, 238: 8, 243: 4, 245: 32, 248: 16, 252: 2,
    322: 32, 325: 8, 329: 1, 335: 32, 338: 128, 343: 8, 345: 1, 349: 16,
}  # fmt: skip
XXHASH_HEADER = "1580101c1c00001c1c00001c1c000000"

MURMUR_SEED = 1361930890
MURMUR_BYTES = {
    290: 1, 293: 1, 296: 2, 303: 32, 306: 32, 309: 32, 314: 128, 319: 8,
    385: 8, 391: 32, 392: 32, 397: 8, 402: 8, 407: 128, 411: 16, 415: 16,
    834: 16, 838: 8, 842: 2, 846: 8, 848: 8, 852: 1, 859: 1, 860: 8,
    896: 1, 900: 16, 907: 4, 908: 8, 913: 2, 918: 8, 923: 2, 925: 16,
}  # fmt: skip


def bitset(sparse: dict[int, int]) -> bytes:
    """Spell out the kept bytes."""
    return bytes(sparse.get(position, 0) for position in range(NUM_BYTES))


def test_the_released_filter_is_made_byte_for_byte() -> None:
    built = Sbbf.empty(32)
    for value in VALUES:
        built.insert_hash(xxh64(value))
    assert built.to_bytes() == bytes.fromhex(XXHASH_HEADER) + bitset(XXHASH_BYTES)


def test_kernels_make_the_same_filter() -> None:
    built = Sbbf.empty(32)
    built.insert_hashes(np.array([xxh64(value) for value in VALUES], dtype=np.uint64))
    assert built.blocks.tobytes() == bitset(XXHASH_BYTES)


def test_the_draft_filter_is_made_byte_for_byte() -> None:
    built = Sbbf.empty(32)
    for value in VALUES:
        built.insert_hash(reverse_upper(murmur3(value, seed=MURMUR_SEED)))
    raw = built.to_bytes("murmur3")
    header = decode_header(raw)
    assert (header.num_bytes, header.compression) == (NUM_BYTES, None)
    assert raw[header.length :] == bitset(MURMUR_BYTES)


def test_a_draft_filter_reads_back() -> None:
    built = Sbbf.empty(64)
    for value in VALUES:
        built.insert_hash(hash_plain(value, dialect="murmur3"))
    again = Sbbf.from_bytes(built.to_bytes("murmur3"), "murmur3")
    assert again == built


def test_a_draft_filter_is_not_taken_for_a_released_one() -> None:
    with pytest.raises(MalformedFilter, match="does not name its hash"):
        Sbbf.from_bytes(Sbbf.empty(64).to_bytes("murmur3"))


@pytest.mark.parametrize("num_blocks", [1, 2, 32, 4096])
def test_a_draft_filter_stores_its_blocks_by_the_low_bits(num_blocks: int) -> None:
    for value in VALUES:
        ours = block_index(hash_plain(value, dialect="murmur3"), num_blocks)
        drafts = (murmur3(value) >> 32) & (num_blocks - 1)
        assert stored_index(ours, num_blocks) == drafts


def test_a_draft_filter_has_a_power_of_two_of_blocks() -> None:
    with pytest.raises(InvalidArgument, match="cannot have 3 blocks"):
        Sbbf.empty(3).to_bytes("murmur3")
    with pytest.raises(MalformedFilter, match="cannot have 3 blocks"):
        Sbbf.from_bytes(Sbbf.empty(3).to_bytes(), "murmur3")
