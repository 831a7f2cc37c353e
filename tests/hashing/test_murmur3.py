"""Arrays of the drafts' dialect have the MurmurHash3 of each value's stored bytes."""

from __future__ import annotations

import struct

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.hashing import HashKind, hash_array, hash_plain, murmur3
from tests.hashing.test_xxh64 import ARRAYS, plain_values

SEEDS = (0, 1, 1361930890, 2**31, 2**32 - 1)

# The low 64 bits that the published C++ of MurmurHash3_x64_128 gives.
VECTORS = {
    (b"", 0): 0,
    (b"", 1): 0x4610ABE56EFF5CB5,
    (b"hello", 0): 0xCBD8A7B341BD9B02,
    (b"The quick brown fox jumps over the lazy dog", 0): 0xE34BBC7BBC071B6C,
}


_MASK = 2**64 - 1


def digests(plain: list[bytes], seed: int) -> list[int]:
    """Hash each by the function below, and reverse the upper half as a string of binary digits."""
    hashes = [oracle(value, seed) for value in plain]
    return [int(f"{h >> 32:032b}"[::-1] + f"{h & 0xFFFFFFFF:032b}", 2) for h in hashes]


def oracle(data: bytes, seed: int) -> int:
    """Return the low 64 bits of MurmurHash3_x64_128, written after Austin Appleby's C++."""
    h1 = h2 = seed
    for at in range(0, len(data) // 16 * 16, 16):
        h1 ^= scrambled(data[at : at + 8], C1, 31, C2)
        h1 = ((rotl(h1, 27) + h2) * 5 + 0x52DCE729) & _MASK
        h2 ^= scrambled(data[at + 8 : at + 16], C2, 33, C1)
        h2 = ((rotl(h2, 31) + h1) * 5 + 0x38495AB5) & _MASK
    rest = data[len(data) // 16 * 16 :]
    h1 ^= scrambled(rest[:8], C1, 31, C2) ^ len(data)
    h2 ^= scrambled(rest[8:], C2, 33, C1) ^ len(data)
    h1 = (h1 + h2) & _MASK
    h2 = (h2 + h1) & _MASK
    return (mixed(h1) + mixed(h2)) & _MASK


C1, C2 = 0x87C37B91114253D5, 0x4CF5AD432745937F


def rotl(word: int, bits: int) -> int:
    return (word << bits | word >> (64 - bits)) & _MASK


def scrambled(data: bytes, by: int, bits: int, then: int) -> int:
    word = int.from_bytes(data, "little")
    return rotl(word * by & _MASK, bits) * then & _MASK


def mixed(h: int) -> int:
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        h = (h ^ h >> 33) * factor & _MASK
    return h ^ h >> 33


@pytest.mark.parametrize(("plain", "seed"), VECTORS)
def test_single_values_match_the_published_function(plain: bytes, seed: int) -> None:
    assert murmur3(plain, seed=seed) == VECTORS[plain, seed]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()])
def test_every_length_from_0_to_300(kind: pa.DataType, seed: int) -> None:
    noise = np.random.default_rng(7).bytes(600)
    values = [noise[start : start + length] for length in range(301) for start in (0, 7)]
    hashes = hash_array(pa.array(values, kind), HashKind("murmur3", seed))
    assert hashes.tolist() == digests(values, seed)


@pytest.mark.parametrize("width", [0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 31, 32, 33, 100])
def test_every_fixed_width(width: int) -> None:
    noise = np.random.default_rng(width).bytes(9 * width)
    values = [noise[i * width : (i + 1) * width] for i in range(9)]
    hashes = hash_array(pa.array(values, pa.binary(width)), HashKind("murmur3", 3))
    assert hashes.tolist() == digests(values, 3)


@given(ARRAYS, st.integers(0, 20), st.integers(0, 20), st.sampled_from(SEEDS))
def test_nulls_and_slices_of_any_array(
    typed: tuple[pa.DataType, list[object]], start: int, length: int, seed: int
) -> None:
    kind, values = typed
    array = pa.array(values, kind).slice(start, length)
    hashes = hash_array(array, HashKind("murmur3", seed))
    assert hashes.tolist() == digests(plain_values(array), seed)


@given(st.binary(max_size=40), st.sampled_from(SEEDS))
def test_one_value_alone(plain: bytes, seed: int) -> None:
    assert [hash_plain(plain, HashKind("murmur3", seed))] == digests([plain], seed)


def test_of_a_dictionary_array_only_the_dictionary_is_hashed() -> None:
    array = pa.array(["a", "b", "a", None]).dictionary_encode()
    assert hash_array(array, HashKind("murmur3")).tolist() == digests([b"a", b"b"], 0)


def test_numbers_hash_as_little_endian() -> None:
    hashes = hash_array(pa.array([1.5, None, -0.0], pa.float32()), HashKind("murmur3"))
    assert hashes.tolist() == digests([struct.pack("<f", 1.5), struct.pack("<f", -0.0)], 0)


@pytest.mark.parametrize(
    ("dialect", "seed", "reason"),
    [
        ("md5", 0, "is none of xxhash, murmur3"),
        ("murmur3", -1, "not a seed"),
        ("murmur3", 2**32, "not a seed"),
        ("murmur3", 1.0, "not a seed"),
        ("murmur3", True, "not a seed"),
        ("xxhash", 1, "the dialect is not murmur3"),
    ],
)
def test_hash_functions_that_there_are_not(dialect: str, seed: int, reason: str) -> None:
    with pytest.raises(InvalidArgument, match=reason):
        HashKind(dialect, seed)  # type: ignore[arg-type]
