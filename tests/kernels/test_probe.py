"""The lookup in filters of every size, straight from files, and reads of pieces: only in C.

The oracle of random tasks is the code for filters anywhere: `decode_header`, `Sbbf`, and the
checksums of `index/format/block_checks.py`.
"""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pytest

from parquet_bloomwriter.kernels.layout import (
    EMPTY,
    GROUP_WORDS,
    MIGHT_BE_IN,
    NOT_AS_WRITTEN,
    NOT_IN,
    NOT_READ,
    ODD,
    PIECE_BYTES,
    TASK_WORDS,
    WITH_HEADER,
)
from parquet_bloomwriter.sbbf import Sbbf, block_index, encode_header
from parquet_bloomwriter.sbbf.block import check_block
from parquet_bloomwriter.sbbf.header import SHORTEST_USUAL_BYTES, USUAL_END, USUAL_START

if TYPE_CHECKING:
    from pathlib import Path

Kernels: TypeAlias = Any
"""The compiled module, which carries no types."""

OFFSET = 4
HELD = 0x9E3779B97F4A7C15
SAME_BLOCK = HELD ^ 0xFFFFFFFF
ELSEWHERE = HELD ^ 1 << 63
SIZES = [32, 64, 8192 - 32, 8192, 2**20 - 32, 2**20, 2**27 - 32, 2**27]
"""Bytes of a bitset: one more byte of the header's varint at 64, 8192, 2**20 and 2**27."""


def file_of(path: Path, num_bytes: int, header: bytes) -> int:
    """Write a filter that holds one hash; most of the file is a hole. Return its size in bytes."""
    block = Sbbf.empty(1)
    block.insert_hash(HELD)
    place = OFFSET + len(header) + PIECE_BYTES * block_index(HELD, num_bytes // PIECE_BYTES)
    with path.open("wb") as file:
        file.seek(OFFSET)
        file.write(header)
        file.seek(place)
        file.write(block.blocks.tobytes())
        return file.truncate(OFFSET + len(header) + num_bytes)


def asked(
    compiled: Kernels, path: Path, length: int, limit: int, *hashes: int
) -> list[tuple[int, int, int]]:
    """Answer, and position and size of the bitset, for each hash."""
    with path.open("rb") as file:
        tasks = np.zeros((len(hashes), TASK_WORDS), np.int64)
        tasks[:, :4] = file.fileno(), OFFSET, length, limit
        tasks[:, 4] = np.array(hashes, np.uint64).view(np.int64)
        num_odd = compiled.probe_usual(tasks)
    found = [(answer, start, size) for start, size, answer in tasks[:, 5:].tolist()]
    assert num_odd == sum(answer & 3 == ODD for answer, _, _ in found)
    return found


@pytest.mark.parametrize("num_bytes", SIZES)
def test_a_header_of_every_width(compiled: Kernels, tmp_path: Path, num_bytes: int) -> None:
    header = encode_header(num_bytes)
    path = tmp_path / "filter"
    limit = file_of(path, num_bytes, header)
    found = asked(compiled, path, limit - OFFSET, limit, HELD, SAME_BLOCK, ELSEWHERE)
    answers = [MIGHT_BE_IN, NOT_IN, EMPTY if num_bytes > PIECE_BYTES else MIGHT_BE_IN]
    place = (OFFSET + len(header), num_bytes)
    assert found == [(answer + WITH_HEADER, *place) for answer in answers]


@pytest.mark.parametrize("num_bytes", [32, 8192, 2**20])
def test_any_other_header_is_odd(compiled: Kernels, tmp_path: Path, num_bytes: int) -> None:
    usual = encode_header(num_bytes)
    path = tmp_path / "filter"
    for place in range(len(usual)):
        other = bytearray(usual)
        other[place] ^= 4
        limit = file_of(path, num_bytes, bytes(other))
        assert asked(compiled, path, limit - OFFSET, limit, HELD) == [(ODD + WITH_HEADER, 0, 0)]


@pytest.mark.parametrize(("longer", "nearer"), [(1, 0), (-1, 0), (32, 0), (-32, 0), (0, 1)])
def test_a_length_that_does_not_fit_is_odd(
    compiled: Kernels, tmp_path: Path, longer: int, nearer: int
) -> None:
    path = tmp_path / "filter"
    limit = file_of(path, 8192, encode_header(8192))
    ((answer, *place),) = asked(compiled, path, limit - OFFSET + longer, limit - nearer, HELD)
    assert (answer & 3, place) == (ODD, [0, 0])


def test_the_header_that_the_loop_knows_is_the_one_that_is_written() -> None:
    for size in (32, 1024, 2**20):
        header = encode_header(size)
        assert header.startswith(USUAL_START)
        assert header.endswith(USUAL_END)
        shortest = SHORTEST_USUAL_BYTES
        assert (size + len(header) - shortest) % 32 + shortest == len(header)


def expected_of(task: list[int], file: IO[bytes]) -> list[int]:
    """Return the last three words of a task, after an attempt to read its filter."""
    descriptor, offset, length, limit, h, start, size, _ = task
    flag, is_here = 0, descriptor == file.fileno()
    if size == 0 and 15 < length < 2**36 and 0 < offset <= limit - length:
        sizes = [length - header for header in range(15, 21)]
        fitting = [
            n for n in sizes if n > 0 and n % 32 == 0 and n + len(encode_header(n)) == length
        ]
        if fitting and len(piece := piece_at(file, offset) if is_here else b"") == PIECE_BYTES:
            flag, header = WITH_HEADER, encode_header(fitting[0])
            if piece.startswith(header):
                start, size = offset + len(header), fitting[0]
    if 0 < size < 2**36 and 0 <= start < 2**63 - 2**36 and is_here:
        block = (h % 2**64 >> 32) * (size // PIECE_BYTES) >> 32
        if len(piece := piece_at(file, start + PIECE_BYTES * block)) == PIECE_BYTES:
            return [start, size, flag + answer_of(piece, h)]
    return [start, size, flag + ODD]


def piece_at(file: IO[bytes], start: int) -> bytes:
    file.seek(min(start, 2**40))
    return file.read(PIECE_BYTES)


def answer_of(piece: bytes, h: int) -> int:
    if check_block(piece, h % 2**64):
        return MIGHT_BE_IN
    return NOT_IN if any(piece) else EMPTY


def test_random_tasks(compiled: Kernels, tmp_path: Path) -> None:
    """No number that is near the limits, or beyond, leads to another answer than ODD."""
    path = tmp_path / "filter"
    limit = file_of(path, 8192, encode_header(8192))
    rng = np.random.default_rng(9)
    telling = np.array([
        *(0, 1, -1, OFFSET, limit, limit - OFFSET, 8192, HELD - 2**64, 33, 48, 2**31, 2**36),
        *(2**62, 2**63 - 1, -(2**63), 2**31 - 1, 2**36 - 1, limit - OFFSET - 8192),
    ])  # fmt: skip
    with path.open("rb") as file:
        tasks = rng.choice(telling, (3000, TASK_WORDS))
        tasks[: len(tasks) // 2, 0] = file.fileno()
        tasks[: len(tasks) // 4, 1:4] = OFFSET, limit - OFFSET, limit
        tasks[: len(tasks) // 8, 5:7] = 0
        tasks[tasks[:, 0] != file.fileno(), 0] = -5
        expected = [expected_of(task, file) for task in tasks.tolist()]
        num_odd = compiled.probe_usual(tasks)
    assert tasks[:, 5:].tolist() == expected
    assert num_odd == np.count_nonzero(tasks[:, 7] & 3 == ODD)
    assert set((tasks[:, 7] & 3).tolist()) > {MIGHT_BE_IN, ODD}


def is_readable(group: list[int], starts: list[int], room: int, file: IO[bytes]) -> bool:
    """Return whether a group is sound, and the blocks of its members and its checksum are there."""
    descriptor, first, members, blocks, checks, stride, _, _, h, target, _ = group
    is_sound = 0 < members <= 31 and 0 < blocks < 2**31 and 0 <= checks < 2**62
    is_sound &= 0 < stride < 2**24 and 0 <= first <= len(starts) - members
    if not is_sound or not 0 <= target <= room - members or descriptor != file.fileno():
        return False
    block, end = (h % 2**64 >> 32) * blocks >> 32, file.seek(0, 2)
    own = [start + 32 * block + 32 for start in starts[first : first + members] if start >= 0]
    return len(own) == members and max(*own, checks + 4 * stride * block + 4) <= end


def test_random_groups(compiled: Kernels, tmp_path: Path) -> None:
    """No number that is near the limits, or beyond, makes more be read than there is.

    What is read is not as it was written. `tests/index/format/test_block_checks.py` has groups that
    are, with and without the kernel.
    """
    path = tmp_path / "filters"
    path.write_bytes(np.random.default_rng(5).bytes(4096))
    rng = np.random.default_rng(9)
    telling = np.array([
        *(0, 1, -1, 2, 7, 8, 9, 15, 16, 32, 40, 4000, 4096, 2**24, 2**31, 2**62, 2**63 - 1),
        *(-(2**63), 2**31 - 1, 2**24 - 1, 2**62 - 1),
    ])  # fmt: skip
    starts = rng.choice(np.array([0, 64, 1000, 4064, 4065, -1, 2**62, 2**63 - 1]), 40)
    with path.open("rb") as file:
        groups = rng.choice(telling, (4000, GROUP_WORDS))
        groups[:, 0] = np.where(rng.random(4000) < 0.9, file.fileno(), -5)
        sound = groups[:2000]
        sound[:, 1], sound[:, 2] = rng.integers(0, 30, 2000), rng.integers(1, 11, 2000)
        sound[:, 3], sound[:, 4] = rng.integers(1, 40, 2000), 4 * rng.integers(0, 30, 2000)
        sound[:, 5], sound[:, 9] = 1, 0
        can_be_read = [is_readable(group, starts.tolist(), 40, file) for group in groups.tolist()]
        assert compiled.probe_groups(groups, starts, bytearray(40)) == len(groups)
    assert groups[:, 10].tolist() == np.where(can_be_read, NOT_AS_WRITTEN, NOT_READ).tolist()
    assert 50 < sum(can_be_read) < 2000


def test_pieces_up_to_the_first_that_is_missing(compiled: Kernels, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(range(100)))
    with path.open("rb") as file:
        for starts, expected in (
            ([0, 50, 90], 3), ([0, 91, 5], 1), ([-1], 0), ([2**63 - 1], 0), ([], 0),
        ):  # fmt: skip
            target = np.full(10 * len(starts) + 1, 255, np.uint8)
            files = np.full(len(starts), file.fileno(), np.int64)
            done = compiled.read_pieces(files, np.array(starts, np.int64), 10, target)
            assert done == expected
            for number, start in enumerate(starts[:done]):
                assert target[10 * number : 10 * number + 10].tolist() == [
                    *range(start, start + 10)
                ]
            assert target[-1] == 255
    for descriptor in (-1, 2**31, 2**62):
        assert compiled.read_pieces(np.array([descriptor]), np.array([0]), 1, bytearray(1)) == 0
