"""The compiled lookup in filters of every size, straight from files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from parquet_bloomwriter import native
from parquet_bloomwriter.probing.kernel_abi import (
    EMPTY,
    MIGHT_BE_IN,
    NOT_IN,
    ODD,
    PIECE_BYTES,
    TASK_WORDS,
    WITH_HEADER,
)
from parquet_bloomwriter.sbbf import Sbbf, block_index, encode_header
from parquet_bloomwriter.sbbf.header import SHORTEST_USUAL_BYTES, USUAL_END, USUAL_START

if TYPE_CHECKING:
    from pathlib import Path

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


def asked(path: Path, length: int, limit: int, *hashes: int) -> list[tuple[int, int, int]]:
    """Answer, and position and size of the bitset, for each hash."""
    with path.open("rb") as file:
        tasks = np.zeros((len(hashes), TASK_WORDS), np.int64)
        tasks[:, :4] = file.fileno(), OFFSET, length, limit
        tasks[:, 4] = np.array(hashes, np.uint64).view(np.int64)
        scratch = np.empty(PIECE_BYTES, np.uint8)
        places = native.address(tasks), native.address(scratch)
        num_odd = native.kernels("probing.kernels").probe_usual(
            native.pread_address(), len(tasks), *places
        )
    found = [(answer, start, size) for start, size, answer in tasks[:, 5:].tolist()]
    assert num_odd == sum(answer & 3 == ODD for answer, _, _ in found)
    return found


@pytest.mark.parametrize("num_bytes", SIZES)
def test_a_header_of_every_width(tmp_path: Path, num_bytes: int) -> None:
    header = encode_header(num_bytes)
    path = tmp_path / "filter"
    limit = file_of(path, num_bytes, header)
    found = asked(path, limit - OFFSET, limit, HELD, SAME_BLOCK, ELSEWHERE)
    answers = [MIGHT_BE_IN, NOT_IN, EMPTY if num_bytes > PIECE_BYTES else MIGHT_BE_IN]
    place = (OFFSET + len(header), num_bytes)
    assert found == [(answer + WITH_HEADER, *place) for answer in answers]


@pytest.mark.parametrize("num_bytes", [32, 8192, 2**20])
def test_any_other_header_is_odd(tmp_path: Path, num_bytes: int) -> None:
    usual = encode_header(num_bytes)
    path = tmp_path / "filter"
    for place in range(len(usual)):
        other = bytearray(usual)
        other[place] ^= 4
        limit = file_of(path, num_bytes, bytes(other))
        assert asked(path, limit - OFFSET, limit, HELD) == [(ODD + WITH_HEADER, 0, 0)]


@pytest.mark.parametrize(("longer", "nearer"), [(1, 0), (-1, 0), (32, 0), (-32, 0), (0, 1)])
def test_a_length_that_does_not_fit_is_odd(tmp_path: Path, longer: int, nearer: int) -> None:
    path = tmp_path / "filter"
    limit = file_of(path, 8192, encode_header(8192))
    ((answer, *place),) = asked(path, limit - OFFSET + longer, limit - nearer, HELD)
    assert (answer & 3, place) == (ODD, [0, 0])


def test_the_header_that_the_loop_knows_is_the_one_that_is_written() -> None:
    for size in (32, 1024, 2**20):
        header = encode_header(size)
        assert header.startswith(USUAL_START)
        assert header.endswith(USUAL_END)
        shortest = SHORTEST_USUAL_BYTES
        assert (size + len(header) - shortest) % 32 + shortest == len(header)
