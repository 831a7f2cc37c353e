"""The split block Bloom filter as BloomFilter.md says it, one value at a time.

Shares no code with the package under test: header by Thrift's own class, hash by `xxhash`,
blocks by integers.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import xxhash

from tests.support.compact import Struct, decode

SALT = (
    0x47B6137B,
    0x44974D91,
    0x8824AD5B,
    0xA2B7289D,
    0x705495C7,
    0x2DF1424B,
    0x9EFC4947,
    0x5C6BFB31,
)
_NUM_BYTES, _ALGORITHM, _HASH, _COMPRESSION = 1, 2, 3, 4
_FIRST_MEMBER: Struct = {1: {}}
_MASK32 = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class ReferenceFilter:
    """A filter read from header and bitset."""

    bitset: bytes

    @classmethod
    def parse(cls, data: bytes) -> ReferenceFilter:
        """Read `data`, which must be exactly one header and its bitset."""
        header, length = decode(data)
        expected = {_ALGORITHM: _FIRST_MEMBER, _HASH: _FIRST_MEMBER, _COMPRESSION: _FIRST_MEMBER}
        if header != {_NUM_BYTES: len(data) - length, **expected}:
            raise ValueError(f"{header} before {len(data) - length} bytes")
        return cls(data[length:])

    def contains(self, plain: bytes) -> bool:
        """Whether the value with these PLAIN bytes might be in it."""
        key = xxhash.xxh64_intdigest(plain, seed=0)
        block = ((key >> 32) * (len(self.bitset) // 32)) >> 32
        words = struct.unpack_from("<8I", self.bitset, 32 * block)
        low = key & _MASK32
        return all(
            word >> (((low * salt) & _MASK32) >> 27) & 1
            for word, salt in zip(words, SALT, strict=True)
        )
