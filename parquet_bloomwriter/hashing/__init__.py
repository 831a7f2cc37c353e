"""Value -> PLAIN bytes -> 64-bit hash: one value, or a whole Arrow array.

Single values take the `xxhash` package and cost no compiler. Arrays take compiled kernels, which
are made on first use and kept on disk.

The hash of the released specification is XXH64 with seed 0. That of the Murmur3 drafts is
here too, as the dialect "murmur3"; a `HashKind` is a dialect and a seed.
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
