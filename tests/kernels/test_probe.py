"""The lookup in filters of every size, straight from files, and reads of pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pytest

from parquet_bloomwriter.kernels import reference
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
from parquet_bloomwriter.sbbf.header import SHORTEST_USUAL_BYTES, USUAL_END, USUAL_START

if TYPE_CHECKING:
    from pathlib import Path

Kernels: TypeAlias = Any
"""The reference or the compiled module, which carries no types."""

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
    kernels: Kernels, path: Path, length: int, limit: int, *hashes: int
) -> list[tuple[int, int, int]]:
    """Answer, and position and size of the bitset, for each hash."""
    with path.open("rb") as file:
        tasks = np.zeros((len(hashes), TASK_WORDS), np.int64)
        tasks[:, :4] = file.fileno(), OFFSET, length, limit
        tasks[:, 4] = np.array(hashes, np.uint64).view(np.int64)
        num_odd = kernels.probe_usual(tasks)
    found = [(answer, start, size) for start, size, answer in tasks[:, 5:].tolist()]
    assert num_odd == sum(answer & 3 == ODD for answer, _, _ in found)
    return found


@pytest.mark.parametrize("num_bytes", SIZES)
def test_a_header_of_every_width(kernels: Kernels, tmp_path: Path, num_bytes: int) -> None:
    header = encode_header(num_bytes)
    path = tmp_path / "filter"
    limit = file_of(path, num_bytes, header)
    found = asked(kernels, path, limit - OFFSET, limit, HELD, SAME_BLOCK, ELSEWHERE)
    answers = [MIGHT_BE_IN, NOT_IN, EMPTY if num_bytes > PIECE_BYTES else MIGHT_BE_IN]
    place = (OFFSET + len(header), num_bytes)
    assert found == [(answer + WITH_HEADER, *place) for answer in answers]


@pytest.mark.parametrize("num_bytes", [32, 8192, 2**20])
def test_any_other_header_is_odd(kernels: Kernels, tmp_path: Path, num_bytes: int) -> None:
    usual = encode_header(num_bytes)
    path = tmp_path / "filter"
    for place in range(len(usual)):
        other = bytearray(usual)
        other[place] ^= 4
        limit = file_of(path, num_bytes, bytes(other))
        assert asked(kernels, path, limit - OFFSET, limit, HELD) == [(ODD + WITH_HEADER, 0, 0)]


@pytest.mark.parametrize(("longer", "nearer"), [(1, 0), (-1, 0), (32, 0), (-32, 0), (0, 1)])
def test_a_length_that_does_not_fit_is_odd(
    kernels: Kernels, tmp_path: Path, longer: int, nearer: int
) -> None:
    path = tmp_path / "filter"
    limit = file_of(path, 8192, encode_header(8192))
    ((answer, *place),) = asked(kernels, path, limit - OFFSET + longer, limit - nearer, HELD)
    assert (answer & 3, place) == (ODD, [0, 0])


def test_the_header_that_the_loop_knows_is_the_one_that_is_written() -> None:
    for size in (32, 1024, 2**20):
        header = encode_header(size)
        assert header.startswith(USUAL_START)
        assert header.endswith(USUAL_END)
        shortest = SHORTEST_USUAL_BYTES
        assert (size + len(header) - shortest) % 32 + shortest == len(header)


def test_random_tasks(compiled: Kernels, tmp_path: Path) -> None:
    """C and reference do the same for numbers that are near the limits, or beyond."""
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
        others = tasks.copy()
        assert compiled.probe_usual(tasks) == reference.probe_usual(others)
    assert np.array_equal(tasks, others)
    assert set((tasks[:, 7] & 3).tolist()) > {MIGHT_BE_IN, ODD}


def test_random_groups(compiled: Kernels, tmp_path: Path) -> None:
    """C and reference do the same for numbers that are near the limits, or beyond."""
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
        others, answers = groups.copy(), [bytearray(40), bytearray(40)]
        assert compiled.probe_groups(groups, starts, answers[0]) == reference.probe_groups(
            others, starts, answers[1]
        )
    assert np.array_equal(groups, others)
    assert set(groups[:, 10].tolist()) == {NOT_AS_WRITTEN, NOT_READ}


def test_pieces_up_to_the_first_that_is_missing(kernels: Kernels, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(range(100)))
    with path.open("rb") as file:
        for starts, expected in (
            ([0, 50, 90], 3), ([0, 91, 5], 1), ([-1], 0), ([2**63 - 1], 0), ([], 0),
        ):  # fmt: skip
            target = np.full(10 * len(starts) + 1, 255, np.uint8)
            files = np.full(len(starts), file.fileno(), np.int64)
            done = kernels.read_pieces(files, np.array(starts, np.int64), 10, target)
            assert done == expected
            for number, start in enumerate(starts[:done]):
                assert target[10 * number : 10 * number + 10].tolist() == [
                    *range(start, start + 10)
                ]
            assert target[-1] == 255
    for descriptor in (-1, 2**31, 2**62):
        assert kernels.read_pieces(np.array([descriptor]), np.array([0]), 1, bytearray(1)) == 0
