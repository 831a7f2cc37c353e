"""Checksums of the bits of filters, so small that a lookup reads hardly more for them.

A lookup reads one block of 32 bytes of each filter, and of all filters of z blocks it is the same
block. So one checksum covers the same block of some filters that lie close together:

    bundle      the n filters of one size, z blocks, in one row group of a part, in its order; a
                filter of all values is a bundle of its own
    group       16 neighbouring filters of a bundle; the last group has up to 31
    checksum    4 bytes, for each block and each group

    | block 0: group 0, group 1, ... | block 1: group 0, ... |   checksums of a bundle; those of
                                                                 the next larger size follow

From 7 filters of one size on, checksums add less than 2 % to what a lookup reads and to the file;
to a lookup in fewer filters they add these 4 bytes.

The checksum of block b of the filters f of a group is

    S = sum of XXH64(block b of f) (2 k + 1) P               k: ordinal of f in its group
    ((S XOR xxh64(name) XOR (o + 1) P) P mod 2**64) >> 32    o: ordinal of the checksum

with P = 0x9E3779B97F4A7C15, modulo 2**64. The name is that of the file without its folder; it has
a random id and is given once. The ordinals count through all bundles of a row group, from 2**32
times the ordinal of the row group. So zeros, and bits that belong into another place or another
file, are noticed like any other change; a change goes unnoticed once in 2**32.
"""

# ruff: noqa: PTH119  paths are strings, as in the entries
from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter import kernels
from parquet_bloomwriter.hashing import xxh64
from parquet_bloomwriter.kernels.layout import CHECK_BYTES, GROUP_WORDS, MAX_MEMBERS
from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK
from parquet_bloomwriter.sbbf.header import usual_header_length

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from numpy.typing import NDArray

_MEMBERS = 16
"""Number of filters in a group, except in the last group. A lookup that asks one filter of a group
reads this number of blocks; larger groups make a lookup that asks all filters read less."""

_BLOCKS_AT_ONCE = 1 << 15
"""Number of blocks of each filter that are hashed together; the hashes of all blocks would take a
quarter of the filter's size."""

_P = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = (2 * np.arange(MAX_MEMBERS, dtype=np.uint64) + np.uint64(1)) * _P
"""The factor of each filter in the sum of its group, by its ordinal in the group."""

_HALF = np.uint64(32)
_ROW_GROUP_BITS = 32


def seed_of(path: str) -> int:
    """Return the seed of a file's checksums, which follows from the file's name."""
    return xxh64(os.path.basename(path).encode(errors="surrogatepass"))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bundle:
    """A bundle: the n filters of one size in one row group of a part."""

    rows: NDArray[np.int64]
    """Rows of the filters in the row group, ascending, shape (n,)."""

    num_blocks: int
    """Number of blocks of each filter, z."""

    first_check: int
    """Number of checksums of the row group that precede those of this bundle."""

    @property
    def num_groups(self) -> int:
        """Number of groups of filters."""
        return max(1, len(self.rows) // _MEMBERS)

    @property
    def num_checks(self) -> int:
        """Number of checksums."""
        return self.num_blocks * self.num_groups


def bundles_of(num_bytes: NDArray[np.int64]) -> list[Bundle]:
    """Return the bundles of a row group, the smallest filters first.

    Args:
        num_bytes: Header and bitset of each filter; 0: there is none. Shape (rows,).

    Raises:
        ValueError: If some filter has no block, or a part of one.
    """
    found: list[Bundle] = []
    first_check = 0
    for length in sorted(set(num_bytes.tolist()) - {0}):
        num_blocks, rest = divmod(length - usual_header_length(length), BYTES_PER_BLOCK)
        if num_blocks < 1 or rest:
            raise ValueError(f"no filter has {length} bytes")
        rows = np.flatnonzero(num_bytes == length)
        bundle = Bundle(rows=rows, num_blocks=num_blocks, first_check=first_check)
        first_check += bundle.num_checks
        found.append(bundle)
    return found


def checks_of(filters: Sequence[bytes], seed: int, row_group: int = 0) -> bytes:
    """Return the checksums of the filters of a row group.

    Args:
        filters: Usual header and bitset of each; empty: there is none.
        seed: Seed of the file's checksums.
        row_group: Ordinal of the row group.
    """
    lengths = np.array([len(one) for one in filters], np.int64)
    found = []
    for bundle in bundles_of(lengths):
        header = usual_header_length(int(lengths[bundle.rows[0]]))
        some = [np.frombuffer(filters[row], np.uint8, offset=header) for row in bundle.rows]
        found.append(checks_of_bundle(bundle, some, seed, row_group))
    return b"".join(found)


def checks_of_bundle(
    bundle: Bundle, bitsets: Sequence[NDArray[np.uint8]], seed: int, row_group: int = 0
) -> bytes:
    """Return the checksums of a bundle, from the bitsets of its filters."""
    checks = np.empty((bundle.num_blocks, bundle.num_groups), "<u4")
    groups = CheckedGroups.of(bundle, starts=bundle.rows, checks=0, seed=seed, row_group=row_group)
    for group, (first, size) in enumerate(zip(groups.first, groups.size, strict=True)):
        slots, own = np.arange(size), bitsets[first : first + size]
        for begin in range(0, bundle.num_blocks, _BLOCKS_AT_ONCE):
            some = slice(begin, min(begin + _BLOCKS_AT_ONCE, bundle.num_blocks))
            cut = slice(some.start * BYTES_PER_BLOCK, some.stop * BYTES_PER_BLOCK)
            hashes = hashes_of_blocks(np.stack([one[cut] for one in own]))
            sums = sums_of(hashes, slots, np.zeros(1, np.int64))
            ordinals = groups.ordinal[group] + bundle.num_groups * np.arange(some.start, some.stop)
            checks[some, group] = check_values(sums[0], ordinals, groups.seed[group])
    return checks.tobytes()


def hashes_of_blocks(bits: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return the XXH64 of each block.

    Args:
        bits: Bitsets of k filters, or blocks of them, shape (k, bytes).

    Returns:
        Shape (k, blocks).
    """
    data = np.ascontiguousarray(bits)
    hashes = np.empty((len(data), data.shape[1] // BYTES_PER_BLOCK), np.uint64)
    kernels.xxh64_fixed(data.data.cast("B"), BYTES_PER_BLOCK, 0, hashes.size, None, hashes)
    return hashes


def sums_of(
    hashes: NDArray[np.uint64], slots: NDArray[np.int64], firsts: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """Return the sum S of each group.

    Args:
        hashes: Hashes of one block or more of all filters, shape (filters,) or (filters, blocks).
        slots: Ordinal of each filter in its group, shape (filters,).
        firsts: Position of each group's first filter, ascending, shape (groups,).

    Returns:
        Shape (groups,) or (groups, blocks).
    """
    factors = _FACTORS[slots]
    if hashes.ndim > 1:
        factors = factors[:, np.newaxis]
    sums: NDArray[np.uint64] = np.add.reduceat(hashes * factors, firsts, axis=0)
    return sums


def check_values(
    sums: NDArray[np.uint64], ordinals: NDArray[np.int64], seeds: NDArray[np.uint64] | np.uint64
) -> NDArray[np.uint32]:
    """Return the checksum of each sum; the shapes are those of the sums, or broadcast to them."""
    salts = (ordinals.astype(np.uint64) + np.uint64(1)) * _P
    return (((sums ^ seeds ^ salts) * _P) >> _HALF).astype(np.uint32)


_FIRST, _SIZE, _BLOCKS, _CHECKS, _STRIDE, _ORDINAL, _SEED = range(1, 8)
"""Positions of the words of a group, see `kernels.layout.GROUP_WORDS`."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CheckedGroups:
    """The g groups of one or several files, bundle by bundle, and their N filters, the members."""

    starts: NDArray[np.int64]
    """Absolute position of each member's bitset in its file, bytes, shape (N,)."""

    part_of: NDArray[np.int64]
    """Ordinal of the file that each group is in, shape (g,)."""

    words: NDArray[np.int64]
    """The words of each group for `kernels.probe_groups`, shape (g, `GROUP_WORDS`); the words of
    the file, the hash, the answers and the state are zeros."""

    @classmethod
    def of(
        cls, bundle: Bundle, *, starts: NDArray[np.int64], checks: int, seed: int, row_group: int
    ) -> Self:
        """Return the groups of a bundle.

        Args:
            bundle: The bundle.
            starts: Position of each filter's bitset, absolute, bytes.
            checks: Position of the row group's checksums, absolute, bytes.
            seed: Seed of the file's checksums.
            row_group: Ordinal of the row group.
        """
        num = bundle.num_groups
        at = bundle.first_check + np.arange(num)
        words = np.zeros((num, GROUP_WORDS), np.int64)
        words[:, _FIRST] = _MEMBERS * np.arange(num)
        words[:, _SIZE] = _MEMBERS
        words[-1, _SIZE] = len(bundle.rows) - _MEMBERS * (num - 1)
        words[:, _BLOCKS] = bundle.num_blocks
        words[:, _CHECKS] = checks + CHECK_BYTES * at
        words[:, _STRIDE] = num
        words[:, _ORDINAL] = (row_group << _ROW_GROUP_BITS) + at
        words[:, _SEED] = seed - ((seed >> 63) << 64)
        return cls(starts=starts, part_of=np.zeros(num, np.int64), words=words)

    @classmethod
    def joined(cls, groups: Sequence[CheckedGroups], files: Sequence[int]) -> Self:
        """Concatenate groups; `files` has the ordinal of each group's file."""
        if len(groups) == 1:
            (one,) = groups
            return cls(starts=one.starts, part_of=one.part_of + files[0], words=one.words)
        words = np.concatenate([np.zeros((0, GROUP_WORDS), np.int64), *(g.words for g in groups)])
        counts = [len(one.words) for one in groups]
        sizes = np.array([len(one.starts) for one in groups], np.int64)
        words[:, _FIRST] += np.repeat(np.cumsum(sizes) - sizes, counts)
        return cls(
            starts=np.concatenate([np.zeros(0, np.int64), *(one.starts for one in groups)]),
            part_of=np.repeat(np.array(files, np.int64), counts),
            words=words,
        )

    @property
    def first(self) -> NDArray[np.int64]:
        """Ordinal of the first member of each group, shape (g,)."""
        return self.words[:, _FIRST]

    @property
    def size(self) -> NDArray[np.int64]:
        """Number of members of each group, shape (g,)."""
        return self.words[:, _SIZE]

    @property
    def num_blocks(self) -> NDArray[np.int64]:
        """Number of blocks of each member, z, shape (g,)."""
        return self.words[:, _BLOCKS]

    @property
    def checks(self) -> NDArray[np.int64]:
        """Absolute position of the checksum of block 0, bytes, shape (g,)."""
        return self.words[:, _CHECKS]

    @property
    def stride(self) -> NDArray[np.int64]:
        """Distance between a group's checksums of neighbouring blocks, in checksums; shape (g,)."""
        return self.words[:, _STRIDE]

    @property
    def ordinal(self) -> NDArray[np.int64]:
        """Ordinal of the checksum of block 0, shape (g,)."""
        return self.words[:, _ORDINAL]

    @property
    def seed(self) -> NDArray[np.uint64]:
        """Seed of the file's checksums, shape (g,)."""
        return self.words[:, _SEED].view(np.uint64)

    @property
    def num_bytes_held(self) -> int:
        """Size in memory, bytes."""
        return self.starts.nbytes + self.part_of.nbytes + self.words.nbytes

    def members(self, which: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the members of some groups, group by group, and where each group begins."""
        sizes = self.size[which]
        firsts = np.cumsum(sizes) - sizes
        return np.repeat(self.first[which] - firsts, sizes) + np.arange(sizes.sum()), firsts

    def holding(self, members: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the ordinals of the groups that some members belong to, ascending."""
        if len(members) == len(self.starts):
            return np.arange(len(self.words))
        wanted = np.zeros(len(self.words), np.bool_)
        wanted[np.searchsorted(self.first, members, side="right") - 1] = True
        return np.flatnonzero(wanted)
