"""The hash of one value's PLAIN bytes, without a compiler.

The Murmur3 drafts name no seed. Zero is taken here; the one filter of a draft that is published, in
apache/parquet-testing, was made with 1361930890.

The drafts choose a block by the lowest bits of the hash's upper half, where the released
specification takes the highest. `sbbf` knows the latter only (see `sbbf.murmur`), so hashes
of the "murmur3" dialect are given with the 32 bits of their upper half reversed.
"""

from __future__ import annotations

from typing import Literal

import mmh3
import xxhash

Dialect = Literal["xxhash", "murmur3"]
"""The released specification's hash, or the drafts'."""


def xxh64(plain: bytes) -> int:
    """XXH64 with seed 0, as an unsigned 64-bit integer."""
    return xxhash.xxh64_intdigest(plain, seed=0)


def murmur3(plain: bytes, *, seed: int = 0) -> int:
    """Low 64 bits of MurmurHash3_x64_128, as an unsigned integer."""
    return mmh3.hash64(plain, seed=seed, x64arch=True, signed=False)[0]


def hash_plain(plain: bytes, dialect: Dialect = "xxhash") -> int:
    """The hash to insert into, or look up in, a filter of the given dialect."""
    return xxh64(plain) if dialect == "xxhash" else reverse_upper(murmur3(plain))


def reverse_upper(h: int) -> int:
    """The hash with the bits of its upper half in reversed order; undone by itself."""
    return int(f"{h >> 32:032b}"[::-1], 2) << 32 | h & 0xFFFFFFFF
