"""Filters that other implementations made, bit for bit.

The first two are `bloom_filter.xxhash.bin` and `bloom_filter.bin` of apache/parquet-testing:
32 blocks with the values "hello", "parquet", "bloom" and "filter". Only their non-zero bytes
are kept here, as position -> byte. The second is of the Murmur3 drafts, with the seed of
their first implementation.
"""

from __future__ import annotations

import mmh3
import numpy as np
import pytest

from parquet_bloomwriter.errors import InvalidArgument, MalformedFilter
from parquet_bloomwriter.hashing import xxh64
from parquet_bloomwriter.sbbf import Sbbf, decode_header, encode_header

VALUES = (b"hello", b"parquet", b"bloom", b"filter")
NUM_BYTES = 1024
UNION = bytes.fromhex("1c1c0000")

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
    built = Sbbf.empty(32, dialect="murmur3", murmur3_seed=MURMUR_SEED)
    for value in VALUES:
        built.insert(value)
    raw = built.to_bytes()
    header = decode_header(raw)
    assert (header.num_bytes, header.compression) == (NUM_BYTES, None)
    assert raw[header.length :] == bitset(MURMUR_BYTES)


def test_the_published_draft_filter_is_asked_with_its_seed() -> None:
    raw = encode_header(NUM_BYTES, "murmur3") + bitset(MURMUR_BYTES)
    published = Sbbf.from_bytes(raw, "murmur3", murmur3_seed=MURMUR_SEED)
    assert all(published.check(value) for value in VALUES)
    assert not any(published.check(value[::-1]) for value in VALUES)
    with_another_seed = Sbbf.from_bytes(raw, "murmur3")
    assert not any(with_another_seed.check(value) for value in VALUES)


def test_a_draft_filter_reads_back() -> None:
    built = Sbbf.empty(64, dialect="murmur3", murmur3_seed=7)
    for value in VALUES:
        built.insert(value)
    again = Sbbf.from_bytes(built.to_bytes(), "murmur3", murmur3_seed=7)
    assert again == built
    assert again != Sbbf.from_bytes(built.to_bytes(), "murmur3")


def test_drafts_and_released_filters_are_not_taken_for_each_other() -> None:
    with pytest.raises(MalformedFilter, match="does not name its hash"):
        Sbbf.from_bytes(Sbbf.empty(64, dialect="murmur3").to_bytes())
    with pytest.raises(MalformedFilter, match="those of drafts do not"):
        Sbbf.from_bytes(Sbbf.empty(64).to_bytes(), "murmur3")


@pytest.mark.parametrize("num_blocks", [2, 4, 32, 4096])
@pytest.mark.parametrize("seed", [0, MURMUR_SEED])
def test_a_draft_filter_stores_its_blocks_by_the_low_bits(num_blocks: int, seed: int) -> None:
    built = Sbbf.empty(num_blocks, dialect="murmur3", murmur3_seed=seed)
    built.insert(b"hello")
    bits = np.frombuffer(built.to_bytes()[-built.num_bytes :], "<u4").reshape(-1, 8)
    stored = (mmh3.hash64(b"hello", seed, signed=False)[0] >> 32) & (num_blocks - 1)
    assert np.flatnonzero(bits.any(axis=1)).tolist() == [stored]


@pytest.mark.parametrize("num_blocks", [1, 3, 96])
def test_a_draft_filter_has_a_power_of_two_of_bytes_above_32(num_blocks: int) -> None:
    with pytest.raises(InvalidArgument, match="a power of two above 32"):
        Sbbf.empty(num_blocks, dialect="murmur3").to_bytes()
    header = encode_header(32 * num_blocks).replace(UNION, b"", 1)
    with pytest.raises(MalformedFilter, match="a power of two above 32"):
        Sbbf.from_bytes(header + bytes(32 * num_blocks), "murmur3")
