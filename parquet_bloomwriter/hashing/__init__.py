"""The hashes of values in filters: a value or an Arrow array -> PLAIN bytes -> 64-bit hashes.

The released specification hashes with XXH64 and seed 0, its Murmur3 drafts with MurmurHash3 (the
dialect "murmur3"). A `HashKind` is a dialect and a seed.
"""

from parquet_bloomwriter.hashing.arrays import hash_array, special_floats
from parquet_bloomwriter.hashing.plain import equal_plains, plain_bytes
from parquet_bloomwriter.hashing.single import (
    XXHASH,
    Dialect,
    HashKind,
    hash_plain,
    murmur3,
    xxh64,
)

__all__ = [
    "XXHASH",
    "Dialect",
    "HashKind",
    "equal_plains",
    "hash_array",
    "hash_plain",
    "murmur3",
    "plain_bytes",
    "special_floats",
    "xxh64",
]
