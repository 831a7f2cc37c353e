"""Mutations that know nothing of the bytes: bits, runs, insertions, parts of other files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from campaigns.hostile.replacing import Part

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

ODD_BYTES = (0x00, 0x01, 0x0C, 0x0F, 0x15, 0x16, 0x18, 0x19, 0x1C, 0x3C, 0x7F, 0x80, 0xF9, 0xFF)
"""Bytes that mean much in Thrift: stop, struct and list headers, ends and middles of varints."""

_LONGEST = 24


def bits(random: Random, data: bytes, _: bytes) -> list[Part]:
    """Flip up to eight bits."""
    places = {random.randrange(len(data)) for _ in range(random.randint(1, 8))}
    return [Part(at, at + 1, bytes((data[at] ^ 1 << random.randrange(8),))) for at in places]


def odd_bytes(random: Random, data: bytes, _: bytes) -> list[Part]:
    """Set up to four bytes."""
    places = {random.randrange(len(data)) for _ in range(random.randint(1, 4))}
    return [Part(at, at + 1, bytes((random.choice(ODD_BYTES),))) for at in places]


def noise(random: Random, data: bytes, _: bytes) -> list[Part]:
    """Replace a run by as many random bytes."""
    start, stop = _run(random, data)
    return [Part(start, stop, random.randbytes(stop - start))]


def insertion(random: Random, data: bytes, _: bytes) -> list[Part]:
    """Insert random bytes."""
    at = random.randrange(len(data))
    return [Part(at, at, random.randbytes(random.randint(1, _LONGEST)))]


def deletion(random: Random, data: bytes, _: bytes) -> list[Part]:
    """Leave out a run."""
    return [Part(*_run(random, data), b"")]


def repetition(random: Random, data: bytes, _: bytes) -> list[Part]:
    """Have a run twice."""
    start, stop = _run(random, data)
    return [Part(stop, stop, data[start:stop])]


def graft(random: Random, data: bytes, other: bytes) -> list[Part]:
    """Put a run of another file's footer in the place of a run of the same size or not."""
    start, stop = _run(random, data)
    begin, end = _run(random, other)
    return [Part(start, stop if random.random() < 0.5 else start + end - begin, other[begin:end])]


def cut(random: Random, data: bytes, _: bytes) -> list[Part]:
    """Leave out the beginning or the end."""
    at = random.randrange(len(data))
    return [Part(0, at, b"") if random.random() < 0.5 else Part(at, len(data), b"")]


SCRAMBLINGS: tuple[Callable[[Random, bytes, bytes], list[Part]], ...] = (
    bits, bits, odd_bytes, odd_bytes, noise, insertion, deletion, repetition, graft, cut,
)  # fmt: skip
"""Each takes the random numbers, the bytes and those of another footer."""


def _run(random: Random, data: bytes) -> tuple[int, int]:
    start = random.randrange(len(data))
    return start, min(len(data), start + random.randint(1, _LONGEST))
