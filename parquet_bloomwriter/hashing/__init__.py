"""Value -> PLAIN bytes -> 64-bit hash: one value, or a whole Arrow array.

Single values take the `xxhash` package and cost no compiler. Arrays take kernels compiled
by numba, which are made on first use and kept on disk.

The hash of the released specification is XXH64 with seed 0. That of the Murmur3 drafts is
here too, as the dialect "murmur3".
"""

from parquet_bloomwriter.hashing.arrays import hash_array
from parquet_bloomwriter.hashing.plain import plain_bytes
from parquet_bloomwriter.hashing.single import Dialect, hash_plain, murmur3, xxh64

__all__ = [
    "Dialect",
    "hash_array",
    "hash_plain",
    "kernels_are_compiled",
    "murmur3",
    "plain_bytes",
    "warm_up",
    "xxh64",
]


def kernels_are_compiled() -> bool:
    """Whether `hash_array` will find its kernels on disk, or must compile them first."""
    from parquet_bloomwriter.hashing import kernels

    return kernels.are_compiled()


def warm_up() -> None:
    """Compile or load the kernels now, so that the first array does not wait for them."""
    from parquet_bloomwriter.hashing import kernels

    kernels.warm_up()
