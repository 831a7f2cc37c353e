"""The number of blocks that a filter needs for a number of values and a false positive rate.

Of n distinct hashes, the number that falls into one of z blocks is Poisson distributed with
mean L = n / z. A block with i hashes lets an absent hash pass if in each of its eight words
the one bit asked for is among the i bits set at random:

    fpp(n, z) = sum over i >= 0 of Poisson(i; L) * (1 - (31/32)**i)**8

It depends on L alone, that is on 256 / L bits per distinct value, and gives the table of the
Parquet specification ("Sizing an SBBF"):

    bits per value  6.0     10.5    16.9    26.4    41
    fpp             10 %    1 %     0.1 %   0.01 %  0.001 %

The classic formula of most writers, m = -8 n / ln(1 - fpp**(1/8)) bits, takes every block to
hold the mean number of hashes. Asked for 1 % it gives 1.46 %, asked for 0.001 % it gives
0.0055 %. It is here for comparison.

Sizes are either powers of two from 64 bytes to 128 MiB, which every reader takes, or exact:
any multiple of 32 bytes. Bytes are those of the bitset, without its header.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal

from parquet_bloomwriter.arguments import rate_of
from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.sbbf.block import BITS_PER_WORD, BYTES_PER_BLOCK, WORDS_PER_BLOCK

Sizing = Literal["pow2", "exact"]

MAX_BYTES = 128 * 1024 * 1024
"""Largest bitset, in bytes, that every mainstream reader accepts."""
_TOO_MANY_BYTES = 1 << 31
"""numBytes of the header is an i32."""

MIN_BYTES: dict[Sizing, int] = {"pow2": 64, "exact": BYTES_PER_BLOCK}
"""Smallest bitset, bytes, by sizing. Impala does not take a filter of one block."""

_KEEP = 1 - 1 / BITS_PER_WORD
"""Chance that one hash leaves a given bit of its block clear."""
_DENSE = 64.0
"""Mean hashes per block above which the closed form loses no digits that matter."""

_FOLDABLE = (5040, 2520, 1260, 840, 360, 240, 120, 60, 48, 24, 12, 8, 6, 4, 2)
"""Numbers with many small divisors, the richest first."""
_SLACK = 0.02
"""Share of the exact need that may be spent on a number of blocks with many divisors."""


def expected_fpp(ndv: float, num_blocks: int) -> float:
    """Return the expected false positive probability of a filter, in [0, 1].

    The sum at the head of this module. Parquet specification, "Sizing an SBBF".

    Args:
        ndv: Distinct values inserted, n.
        num_blocks: Blocks of 32 bytes, z, at least 1.
    """
    return _fpp_of_load(ndv / num_blocks)


def num_blocks_for(
    ndv: int,
    fpp: float,
    *,
    sizing: Sizing = "pow2",
    min_bytes: int | None = None,
    max_bytes: int | None = None,
) -> int:
    """Return the smallest number of blocks of 32 bytes whose expected rate is within `fpp`.

    Args:
        ndv: Distinct values to insert.
        fpp: False positive probability asked for, in (0, 1).
        sizing: "pow2" for powers of two, "exact" for any number of blocks.
        min_bytes: Smallest bitset, bytes; by default 64 for "pow2", 32 for "exact".
        max_bytes: Largest bitset, bytes; by default 128 MiB. It wins over `fpp`.

    Raises:
        InvalidArgument: If `ndv`, `fpp` or the limits are out of range.
    """
    fewest, most = _limits(sizing, min_bytes, max_bytes)
    if ndv < 0:
        raise InvalidArgument(f"{ndv} is not a number of distinct values")
    needed = max(1, math.ceil(ndv / _load_of_fpp(rate_of(fpp))))
    if sizing == "pow2":
        needed = _next_power_of_two(needed)
    return max(fewest, min(most, needed))


def initial_num_blocks(
    num_values: int,
    fpp: float,
    *,
    sizing: Sizing = "pow2",
    max_bytes: int | None = None,
) -> int:
    """Return the number of blocks to build a filter with that is folded afterwards.

    With exact sizing the number is up to 2 % above the need of `num_values` distinct values, chosen
    for its many small divisors: folding can only divide, and so comes near the need of any lower
    number of distinct values that turns up.

    Args:
        num_values: Upper bound of the distinct values to insert.
        fpp: False positive probability asked for, in (0, 1).
        sizing: As for `num_blocks_for`.
        max_bytes: As for `num_blocks_for`.
    """
    needed = num_blocks_for(num_values, fpp, sizing=sizing, max_bytes=max_bytes)
    if sizing == "pow2":
        return needed
    _, most = _limits(sizing, None, max_bytes)
    limit = min(most, int(needed * (1 + _SLACK)))
    rounded = (-(-needed // divisible) * divisible for divisible in _FOLDABLE)
    return next((size for size in rounded if size <= limit), needed)


def classic_num_bits(ndv: int, fpp: float) -> float:
    """Return the bits by the classic formula, m = -8 n / ln(1 - fpp**(1/8)), not rounded.

    Drafts of the Parquet specification, "Build a Bloom filter". Filters of this size let more
    absent values pass than asked for: see the head of this module.

    Args:
        ndv: Distinct values to insert, n.
        fpp: False positive probability asked for, in (0, 1).

    Raises:
        InvalidArgument: If `fpp` is out of range.
    """
    return -WORDS_PER_BLOCK * ndv / math.log(1 - rate_of(fpp) ** (1 / WORDS_PER_BLOCK))


def classic_num_bytes(ndv: int, fpp: float) -> int:
    """Return the bytes by the classic formula: the next power of two, from 32 bytes to 128 MiB.

    Args:
        ndv: As for `classic_num_bits`.
        fpp: As for `classic_num_bits`.

    Raises:
        InvalidArgument: If `fpp` is out of range.
    """
    needed = math.ceil(classic_num_bits(ndv, fpp) / 8)
    return max(BYTES_PER_BLOCK, min(MAX_BYTES, _next_power_of_two(needed)))


def _fpp_of_load(load: float) -> float:
    """Return the expected rate at a mean of `load` hashes per block, L."""
    if load > _DENSE:
        return _fpp_closed_form(load)
    chance, total = math.exp(-load), 0.0
    # Poisson(i; L) for L <= 64 is below 1e-20 beyond these terms.
    for i in range(1, 12 + int(load + 12 * math.sqrt(load) + 24)):
        chance *= load / i
        total += chance * (1 - _KEEP**i) ** WORDS_PER_BLOCK
    return total


def _fpp_closed_form(load: float) -> float:
    """Compute the same sum, expanded by the binomial theorem: exact, but cancelling at low rates.

    E[q**(j i)] = exp(-L (1 - q**j)) for a Poisson variable i with mean L, q = 31/32.
    """
    terms = (
        (-1) ** j * math.comb(WORDS_PER_BLOCK, j) * math.exp(-load * (1 - _KEEP**j))
        for j in range(WORDS_PER_BLOCK + 1)
    )
    return math.fsum(terms)


@lru_cache(maxsize=256)
def _load_of_fpp(fpp: float) -> float:
    """Return the largest mean of hashes per block whose expected rate is within `fpp`."""
    low, high = 0.0, 1.0
    while _fpp_of_load(high) <= fpp:
        low, high = high, 2 * high
    while (middle := (low + high) / 2) not in (low, high) and high - low > low * 1e-13:
        low, high = (middle, high) if _fpp_of_load(middle) <= fpp else (low, middle)
    return low


def check_max_bytes(max_bytes: int) -> int:
    """Return `max_bytes`, a limit for the bytes of a bitset.

    Raises:
        InvalidArgument: If the limit is above what numBytes of a header can hold.
    """
    if max_bytes >= _TOO_MANY_BYTES:
        raise InvalidArgument(
            f"no Bloom filter can have {max_bytes} bytes: its header has 31 bits for their number",
            remedy="Limit filters to less than 2 GiB (2147483648 bytes).",
        )
    return max_bytes


def _limits(sizing: Sizing, min_bytes: int | None, max_bytes: int | None) -> tuple[int, int]:
    """Return the fewest and the most blocks: powers of two if the sizing asks for them."""
    if sizing not in MIN_BYTES:
        raise InvalidArgument(f'{sizing!r} is not a sizing; there are "pow2" and "exact"')
    smallest = MIN_BYTES[sizing] if min_bytes is None else min_bytes
    largest = MAX_BYTES if max_bytes is None else check_max_bytes(max_bytes)
    fewest, most = -(-smallest // BYTES_PER_BLOCK), largest // BYTES_PER_BLOCK
    if sizing == "pow2" and fewest >= 1 and most >= 1:
        fewest, most = _next_power_of_two(fewest), 1 << (most.bit_length() - 1)
    if not 1 <= fewest <= most:
        raise InvalidArgument(
            f"no {sizing} filter has at least {smallest} and at most {largest} bytes",
            remedy=f"The smallest has {MIN_BYTES[sizing]} bytes.",
        )
    return fewest, most


def _next_power_of_two(number: int) -> int:
    return 1 << (number - 1).bit_length()
