"""The hash functions of filters, and the hash of one value's PLAIN bytes.

The released specification takes XXH64 with seed 0. Its Murmur3 drafts name no seed: 0 is the
default here, and the one filter of a draft that is published, `bloom_filter.bin` in
apache/parquet-testing, was made with 1361930890. A header does not say which seed was used.

The drafts choose a block by the lowest bits of the hash's upper half, where the released
specification takes the highest. `Sbbf` chooses blocks as the released specification does (see
`sbbf.murmur`), so hashes of the "murmur3" dialect have the 32 bits of their upper half reversed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from parquet_bloomwriter import kernels
from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.hashing.drafts import murmur3_of_one

Dialect = Literal["xxhash", "murmur3"]
"""Kind of a filter: "xxhash" for the released specification, "murmur3" for its drafts."""

_MAX_SEED = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class HashKind:
    """The hash function of a filter.

    Raises:
        InvalidArgument: If the dialect is unknown, the seed is no unsigned 32-bit integer, or a
            seed is given for "xxhash", which has seed 0 by the specification.
    """

    dialect: Dialect = "xxhash"
    murmur3_seed: int = 0
    """Seed of MurmurHash3, 0 to 2**32 - 1."""

    def __post_init__(self) -> None:
        if self.dialect not in get_args(Dialect):
            raise InvalidArgument(f'"{self.dialect}" is none of {", ".join(get_args(Dialect))}')
        seed = self.murmur3_seed
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= _MAX_SEED:
            raise InvalidArgument(
                f"{seed!r} is not a seed of MurmurHash3",
                remedy=f"Give a whole number from 0 to {_MAX_SEED}.",
            )
        if seed and self.dialect != "murmur3":
            raise InvalidArgument(
                "a seed of MurmurHash3 is given, but the dialect is not murmur3",
                remedy='Give the dialect "murmur3" too, or no seed: XXH64 always has seed 0.',
            )


XXHASH = HashKind()
"""XXH64 with seed 0, of the released specification."""


def xxh64(plain: bytes) -> int:
    """Return XXH64 with seed 0, an unsigned 64-bit integer."""
    return kernels.xxh64(plain)


def murmur3(plain: bytes, *, seed: int = 0) -> int:
    """Return the low 64 bits of MurmurHash3_x64_128, an unsigned integer."""
    return reverse_upper(murmur3_of_one(plain, seed))


def hash_plain(plain: bytes, kind: HashKind = XXHASH) -> int:
    """Return the hash to insert into, or look up in, a filter of the given kind.

    Parquet specification, "Bloom Filter", section "Technical Approach".

    Args:
        plain: The value's PLAIN bytes: see `plain_bytes`.
        kind: The hash function of the filter.

    Returns:
        An unsigned 64-bit integer.
    """
    if kind.dialect == "xxhash":
        return kernels.xxh64(plain)
    return murmur3_of_one(plain, kind.murmur3_seed)


def reverse_upper(h: int) -> int:
    """Reverse the order of the bits 32 to 63 of a hash; reversing twice changes nothing."""
    return int(f"{h >> 32:032b}"[::-1], 2) << 32 | h & 0xFFFFFFFF
