"""Pieces of files, read by `pread`; `c/probe.h` says why."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, SupportsIndex

import numpy as np

from parquet_bloomwriter.kernels.layout import (
    AS_WRITTEN,
    CHECK_BYTES,
    EMPTY,
    GROUP_WORDS,
    MAX_MEMBERS,
    MIGHT_BE_IN,
    NOT_AS_WRITTEN,
    NOT_IN,
    NOT_READ,
    ODD,
    PIECE_BYTES,
    TASK_WORDS,
    WITH_HEADER,
)
from parquet_bloomwriter.kernels.reference.buffers import aligned, number, taken
from parquet_bloomwriter.kernels.reference.sbbf import SALT
from parquet_bloomwriter.kernels.reference.xxh64 import xxh64

if TYPE_CHECKING:
    from parquet_bloomwriter.kernels.reference.buffers import Buffer

_USUAL_START = b"\x15"
_USUAL_END = bytes.fromhex("1c1c0000") * 3 + b"\x00"
_USUAL_FIXED = len(_USUAL_START) + len(_USUAL_END)
_SHORTEST_USUAL = _USUAL_FIXED + 1
_MOST = 1 << 36
"""Bytes of a bitset: its blocks are fewer than 2**31."""

_MAX_START = 2**63 - 1 - _MOST
_MAX_DESCRIPTOR = 2**31 - 1

_MOST_BLOCKS, _MOST_GROUPS = 2**31, 2**24
_LAST_START = 2**62
_P = 0x9E3779B97F4A7C15
"""See `index/format/block_checks.py`."""


def read_pieces(descriptors: Buffer, starts: Buffer, size: SupportsIndex, target: Buffer) -> int:
    """Read pieces of one size, one behind the other.

    Args:
        descriptors: File descriptors, int64, shape (n,), aligned.
        starts: Absolute positions in the files, int64, shape (n,), aligned.
        size: Of each piece, bytes.
        target: To be written, n times `size` bytes.

    Returns:
        How many pieces were read completely, before the first that was not.
    """
    files = aligned(descriptors, "descriptors", np.int64)
    places = aligned(starts, "starts", np.int64)
    size = number(size, "size", 1, 2**31 - 1)
    out = taken(target, "target", 1, writable=True)
    if len(files) != len(places) or len(places) > len(out) // size:
        raise ValueError("each piece must have a descriptor and room")
    for i, (file, place) in enumerate(zip(files.tolist(), places.tolist(), strict=True)):
        piece = _read(file, place, size)
        if piece is None:
            return i
        out[i * size : (i + 1) * size] = np.frombuffer(piece, np.uint8)
    return len(files)


def probe_usual(tasks: Buffer) -> int:
    """Look one hash up in each of some filters with the header that every known writer makes.

    Args:
        tasks: int64, shape (n, `TASK_WORDS`), aligned; see `layout`.

    Returns:
        How many filters are `ODD`.
    """
    words = aligned(tasks, "tasks", np.int64, writable=True)
    if len(words) % TASK_WORDS:
        raise ValueError("tasks must have 8 words each")
    num_odd = 0
    for task in words.reshape(-1, TASK_WORDS):
        found = _probed(task.tolist())
        task[5:] = found
        num_odd += found[2] & 3 == ODD
    return num_odd


def _probed(task: list[int]) -> tuple[int, int, int]:
    """Return position and size of the bitset, as far as known, and the answer."""
    descriptor, offset, length, limit, h, start, size, _ = task
    answer = ODD
    fits = _SHORTEST_USUAL < length < _MOST and 0 < offset <= limit - length
    if size == 0 and fits:
        header = (length - _SHORTEST_USUAL) % PIECE_BYTES + _SHORTEST_USUAL
        usual = _usual_header(length - header)
        piece = _read(descriptor, offset, PIECE_BYTES) if len(usual) == header else None
        if piece is not None:
            answer += WITH_HEADER
            if piece.startswith(usual):
                start, size = offset + header, length - header
    if 0 < size < _MOST and 0 <= start <= _MAX_START:
        h %= 2**64
        block = ((h >> 32) * (size // PIECE_BYTES)) >> 32
        piece = _read(descriptor, start + PIECE_BYTES * block, PIECE_BYTES)
        if piece is not None:
            answer += _answer(np.frombuffer(piece, "<u4"), h) - ODD
    return start, size, answer


def probe_groups(groups: Buffer, starts: Buffer, answers: Buffer) -> int:
    """Look one hash up in all members of each of some groups of filters with checksums.

    Args:
        groups: int64, shape (n, `GROUP_WORDS`), aligned; see `layout`.
        starts: Absolute positions of the bitsets of all members, int64, aligned.
        answers: To be written, a byte for each answer.

    Returns:
        How many groups are not `AS_WRITTEN`.
    """
    words = aligned(groups, "groups", np.int64, writable=True)
    if len(words) % GROUP_WORDS:
        raise ValueError("groups must have 11 words each")
    places = aligned(starts, "starts", np.int64).tolist()
    out = taken(answers, "answers", 1, writable=True)
    num_bad = 0
    for group in words.reshape(-1, GROUP_WORDS):
        group[-1] = _probed_group(group.tolist(), places, out)
        num_bad += int(group[-1] != AS_WRITTEN)
    return num_bad


def _probed_group(group: list[int], starts: list[int], out: np.ndarray) -> int:
    descriptor, first, members, blocks, checks, stride, ordinal, seed, h, target, _ = group
    is_sound = 0 < members <= MAX_MEMBERS and 0 < blocks < _MOST_BLOCKS
    is_sound &= 0 <= first <= len(starts) - members and 0 <= target <= len(out) - members
    is_sound &= 0 <= checks < _LAST_START and 0 < stride < _MOST_GROUPS
    if not is_sound:
        return NOT_READ
    h %= 2**64
    block = (h >> 32) * blocks >> 32
    total = 0
    for k, start in enumerate(starts[first : first + members]):
        if not 0 <= start < _LAST_START:
            return NOT_READ
        piece = _read(descriptor, start + PIECE_BYTES * block, PIECE_BYTES)
        if piece is None:
            return NOT_READ
        total += xxh64(piece) * (2 * k + 1) * _P
        out[target + k] = _answer(np.frombuffer(piece, "<u4"), h) == MIGHT_BE_IN
    check = _read(descriptor, checks + CHECK_BYTES * stride * block, CHECK_BYTES)
    if check is None:
        return NOT_READ
    salted = (total ^ seed ^ (ordinal + stride * block + 1) * _P) * _P
    is_same = salted % 2**64 >> 32 == int.from_bytes(check, "little")
    return AS_WRITTEN if is_same else NOT_AS_WRITTEN


def _usual_header(size: int) -> bytes:
    """Return the usual header of a bitset of `size` bytes; no bytes for size 0."""
    rest, varint = 2 * size, b""
    while rest:
        varint += bytes([rest & 127 | (128 if rest >> 7 else 0)])
        rest >>= 7
    return _USUAL_START + varint + _USUAL_END if varint else b""


def _answer(block: np.ndarray, h: int) -> int:
    mask = np.uint32(1) << ((np.array([h & 0xFFFFFFFF], np.uint32) * SALT) >> np.uint32(27))
    if (block & mask == mask).all():
        return MIGHT_BE_IN
    return NOT_IN if block.any() else EMPTY


def _read(descriptor: int, start: int, size: int) -> bytes | None:
    """Read one piece; None if it cannot be read, or is shorter."""
    if not (0 <= descriptor <= _MAX_DESCRIPTOR and start >= 0):
        return None
    try:
        piece = os.pread(descriptor, size, start)
    except OSError:
        return None
    return piece if len(piece) == size else None
