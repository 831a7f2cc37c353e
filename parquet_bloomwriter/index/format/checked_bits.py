"""Lookups in bits of filters that are compared with their checksums before they give an answer.

A checksum covers the same block of a group of filters (see `format.block_checks`). So if a lookup
asks some filter of a group, it reads this block of all filters of the group; as lookups ask nearly
all filters, that is hardly more than what is asked for. Headers of filters are not read: their
length follows from that of the filter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter import kernels
from parquet_bloomwriter.index.entry import damaged
from parquet_bloomwriter.index.format.block_checks import (
    check_values,
    hashes_of_blocks,
    sums_of,
)
from parquet_bloomwriter.kernels.layout import CHECK_BYTES, NOT_AS_WRITTEN, NOT_READ
from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK, SALT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_bloomwriter.errors import IndexProblem
    from parquet_bloomwriter.index.format.block_checks import CheckedGroups
    from parquet_bloomwriter.probing.batch_reader import BatchReader
    from parquet_bloomwriter.source import Source
    from parquet_bloomwriter.source.base import Range

_SALT = np.array(SALT, np.uint32)
_BIT_SHIFT = np.uint32(27)
_HALF = np.uint64(32)
_FEW = 4
"""Number of checksums close together from which one request for all of them is worth it."""

_SLAB_BYTES = 4 << 20
"""Approximate size of the filters that are read whole at once, bytes."""


def mask_of(hashes: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """Return the bits that hashes set in their blocks, shape (hashes, 8)."""
    low = hashes.astype(np.uint32)[:, np.newaxis]
    bits: NDArray[np.uint32] = np.uint32(1) << ((low * _SALT) >> _BIT_SHIFT)
    return bits


def look_up(  # noqa: PLR0913, PLR0917  as a kernel has them
    groups: CheckedGroups,
    which: NDArray[np.int64],
    hashes: NDArray[np.uint64],
    targets: NDArray[np.int64],
    answers: NDArray[np.bool_],
    reader: BatchReader,
) -> None:
    """Look up a hash in each member of some groups of filters.

    Args:
        groups: The groups.
        which: Ordinals of groups, shape (c,); a group may occur several times, with several hashes.
        hashes: The hash for each of these groups, shape (c,) or (1,).
        targets: Position in `answers` of each group's first member, shape (c,).
        answers: To be written: whether each member might contain the hash.
        reader: Reads the files of the groups, by the ordinals in `groups.part_of`.

    Raises:
        IndexProblem: If any bit is not as it was written.
        BloomwriterError, OSError: If a file cannot be read.
    """
    if reader.are_local and kernels.HAS_PREAD:
        tasks = groups.words[which]
        tasks[:, 0] = reader.descriptors[groups.part_of[which]]
        tasks[:, 8], tasks[:, 9] = hashes.view(np.int64), targets
        if not kernels.probe_groups(tasks, groups.starts, answers.view(np.uint8)):
            return
        states = tasks[:, 10]
        wrong = which[states == NOT_AS_WRITTEN]
        if len(wrong):
            source = reader.sources[int(groups.part_of[wrong[0]])]
            raise not_as_written(source, int(groups.starts[groups.first[wrong[0]]]))
        # A read of a file's own source is completed if it was interrupted, or says what failed.
        again = states == NOT_READ
        which, targets = which[again], targets[again]
        hashes = hashes if len(hashes) == 1 else hashes[again]
    found = _have_bits(groups, which, hashes, reader)
    members, firsts = groups.members(which)
    answers[np.repeat(targets - firsts, groups.size[which]) + np.arange(len(members))] = found


def _have_bits(
    groups: CheckedGroups, which: NDArray[np.int64], hashes: NDArray[np.uint64], reader: BatchReader
) -> NDArray[np.bool_]:
    """Look up hashes without the kernel; return the answers for the members, group by group."""
    members, firsts = groups.members(which)
    owner = np.repeat(np.arange(len(which)), groups.size[which])
    blocks = _blocks(groups, which, hashes)
    parts = groups.part_of[which]
    starts = groups.starts[members] + BYTES_PER_BLOCK * blocks[owner]
    pieces = reader.read(parts[owner], starts, BYTES_PER_BLOCK)
    reader.raise_first_failure()
    bits = mask_of(hashes)
    wanted = np.broadcast_to(bits, (len(which), bits.shape[1]))[owner]
    might: NDArray[np.bool_] = ((pieces.view("<u4") & wanted) == wanted).all(axis=1)
    slots = members - groups.first[which][owner]
    sums = sums_of(hashes_of_blocks(pieces)[:, 0], slots, firsts)
    expected = check_values(
        sums, groups.ordinal[which] + groups.stride[which] * blocks, groups.seed[which]
    )
    wrong = np.flatnonzero(_checks(groups, which, blocks, reader) != expected)
    if len(wrong):
        place = firsts[wrong[0]]
        raise not_as_written(reader.sources[int(parts[wrong[0]])], int(starts[place]))
    return might


def _blocks(
    groups: CheckedGroups, which: NDArray[np.int64], hashes: NDArray[np.uint64]
) -> NDArray[np.int64]:
    """Return the ordinal of the block that each hash falls into."""
    num_blocks = groups.num_blocks[which].astype(np.uint64)
    found: NDArray[np.int64] = (((hashes >> _HALF) * num_blocks) >> _HALF).astype(np.int64)
    return found


def ranges_of(
    groups: CheckedGroups, which: NDArray[np.int64], hashes: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the ranges that `look_up` will read: ordinals of files, and ranges, shape (n, 2)."""
    members, _ = groups.members(which)
    owner = np.repeat(np.arange(len(which)), groups.size[which])
    block = _blocks(groups, which, hashes)
    starts = groups.starts[members] + BYTES_PER_BLOCK * block[owner]
    blocks = np.stack([starts, starts + BYTES_PER_BLOCK], axis=1)
    at = groups.checks[which] + CHECK_BYTES * groups.stride[which] * block
    checks = np.stack([at, at + CHECK_BYTES], axis=1)
    parts = groups.part_of[which]
    return np.concatenate([parts[owner], parts]), np.concatenate([blocks, checks])


def _checks(
    groups: CheckedGroups,
    which: NDArray[np.int64],
    blocks: NDArray[np.int64],
    reader: BatchReader,
) -> NDArray[np.uint32]:
    """Read the checksums of some blocks; checksums close together are read by one request."""
    parts = groups.part_of[which]
    at = groups.checks[which] + CHECK_BYTES * groups.stride[which] * blocks
    is_first = np.ones(len(at), np.bool_)
    is_first[1:] = (np.diff(at) != CHECK_BYTES) | (np.diff(parts) != 0)
    firsts = np.flatnonzero(is_first)
    if len(firsts) * _FEW > len(at):
        data = reader.read(parts, at, CHECK_BYTES).tobytes()
        reader.raise_first_failure()
    else:
        begins, lasts = at[firsts].tolist(), at[np.append(firsts[1:], len(at)) - 1].tolist()
        data = b"".join(
            reader.read_at(part, begin, last + CHECK_BYTES)
            for part, begin, last in zip(parts[firsts].tolist(), begins, lasts, strict=True)
        )
    return np.frombuffer(data, "<u4")


def whole_filters(
    groups: CheckedGroups, slab: NDArray[np.int64], source: Source
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Read all members of some groups whole.

    Args:
        groups: The groups.
        slab: Ordinals of groups, as `slabs` returns them.
        source: Their file.

    Returns:
        The members, and their bitsets, shape (members, bytes), read-only.

    Raises:
        IndexProblem: If any bit is not as it was written.
        BloomwriterError, OSError: If the file cannot be read.
    """
    members, firsts = groups.members(slab)
    num_bytes = BYTES_PER_BLOCK * int(groups.num_blocks[slab[0]])
    begins = groups.starts[members].tolist()
    data = b"".join(source.read_ranges([(begin, begin + num_bytes) for begin in begins]))
    bits = np.frombuffer(data, np.uint8).reshape(len(members), num_bytes)
    slots = members - np.repeat(groups.first[slab], groups.size[slab])
    sums = sums_of(hashes_of_blocks(bits), slots, firsts)
    blocks = np.arange(sums.shape[1])
    ordinals = groups.ordinal[slab][:, np.newaxis] + groups.stride[slab[0]] * blocks
    expected = check_values(sums, ordinals, groups.seed[slab[0]])
    found = b"".join(source.read_ranges(_all_checks(groups, slab, len(blocks))))
    if (expected != np.frombuffer(found, "<u4").reshape(len(blocks), len(slab)).T).any():
        raise not_as_written(source, begins[0])
    return members, bits


def slabs(groups: CheckedGroups, which: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Cut groups into runs of neighbours in one bundle, some megabytes of filters each."""
    same = (np.diff(groups.part_of[which]) == 0) & (np.diff(groups.ordinal[which]) == 1)
    same &= np.diff(groups.num_blocks[which]) == 0
    ends = np.cumsum(groups.size[which] * groups.num_blocks[which] * BYTES_PER_BLOCK)
    same &= np.diff(ends // _SLAB_BYTES) == 0
    return np.split(which, np.flatnonzero(~same) + 1) if len(which) else []


def _all_checks(groups: CheckedGroups, slab: NDArray[np.int64], num_blocks: int) -> list[Range]:
    """Return the ranges of the checksums of all blocks of neighbouring groups."""
    start, stride = int(groups.checks[slab[0]]), CHECK_BYTES * int(groups.stride[slab[0]])
    width = CHECK_BYTES * len(slab)
    if width == stride:
        return [(start, start + num_blocks * stride)]
    return [(start + block * stride, start + block * stride + width) for block in range(num_blocks)]


def not_as_written(source: Source, byte: int) -> IndexProblem:
    """Return the error for bits whose checksum is wrong."""
    problem = "the bits of a Bloom filter are not as they were written"
    return damaged(source.name, problem, byte=byte)
