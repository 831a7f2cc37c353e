"""Byte strings with parts replaced, and numbers as the compact protocol writes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_WORD = 64
_MAX_DELTA = 15


@dataclass(frozen=True, slots=True)
class Part:
    """Put `data` in the place of bytes [start, stop)."""

    start: int
    stop: int
    data: bytes


def replaced(source: bytes, parts: Iterable[Part]) -> bytes:
    """Replace parts; of two that overlap, the second is left out."""
    result: list[bytes] = []
    position = 0
    for part in sorted(parts, key=lambda p: (p.start, p.stop)):
        if part.start >= position:
            result += (source[position : part.start], part.data)
            position = part.stop
    return b"".join([*result, source[position:]])


def varint(number: int) -> bytes:
    """Write an unsigned number, seven bits to a byte."""
    parts = bytearray()
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes([*parts, number])


def zigzag(number: int) -> bytes:
    """Write a signed number of at most 64 bits; larger ones wrap around."""
    return varint((number << 1 ^ number >> _WORD - 1) & (1 << _WORD) - 1)


def header(before: int, field_id: int, wire: int) -> bytes:
    """Write a field's header, in the short form if there is one."""
    delta = field_id - before
    if 0 < delta <= _MAX_DELTA:
        return bytes((delta << 4 | wire,))
    return bytes((wire,)) + zigzag(field_id)
