"""Mutations that leave the footer well-formed Thrift, and have its numbers and texts lie."""

from __future__ import annotations

from typing import TYPE_CHECKING

from campaigns.hostile.fields import BINARY, COUNTS, ENUMS, I64, OFFSETS, SIZES
from campaigns.hostile.replacing import Part, varint, zigzag

if TYPE_CHECKING:
    from random import Random

    from campaigns.hostile.bases import Base
    from campaigns.hostile.fields import Field, Shape

LIMITS = (0, -1, 1, 3, 4, 2**31 - 1, 2**31, -(2**31), 2**32, 2**62, 2**63 - 1, -(2**63))
SMALL = range(-2, 42)
_KINDS: tuple[tuple[Shape, ...], ...] = (OFFSETS, OFFSETS, OFFSETS, SIZES, COUNTS, ENUMS)
_BLOOM: Shape = (4, 1, 3, 14)
_NAMES: tuple[Shape, ...] = ((2, 4), (6,), (4, 1, 1), (5, 1), (5, 2))
_TEXTS = (
    b"", b"\x00", b"\xff\xfe", b"a\nb", b"\x1b[2J", b"a.b", "\u202e\u2028\ud7ff".encode(),
    b"%s{}", b"x" * 70_000, b"parquet-mr version 1.8.0", b"parquet-mr version 99999999999999.0",
)  # fmt: skip


def wrong_number(random: Random, base: Base) -> list[Part]:
    """Set one number, of a kind that matters mostly, to one that is wrong in a telling way."""
    field = _integer(random, base)
    return [] if field is None else [_set(field, _wrong(random, base, field))]


def wrong_numbers(random: Random, base: Base) -> list[Part]:
    """Set several numbers."""
    return [part for _ in range(random.randint(2, 5)) for part in wrong_number(random, base)]


def wrong_everywhere(random: Random, base: Base) -> list[Part]:
    """Set the same field of every column chunk to the same number, or move all by as much."""
    field = _integer(random, base)
    if field is None:
        return []
    number = _wrong(random, base, field)
    moves = random.random() < 0.5
    return [
        _set(same, same.number + number - field.number if moves else number)
        for same in base.fields.by_shape[field.shape]
    ]


def swapped(random: Random, base: Base) -> list[Part]:
    """Exchange the numbers of two fields: the same of two structs, or two of one struct."""
    one = _integer(random, base)
    if one is None:
        return []
    same = base.fields.by_shape[one.shape]
    if random.random() < 0.5:
        same = tuple(f for f in base.fields.fields if f.owner == one.owner and f.is_integer)
    other = random.choice(same)
    return [_set(one, other.number), _set(other, one.number)] if other != one else []


def foreign_filter(random: Random, base: Base) -> list[Part]:
    """Lead a chunk's filter somewhere else: to another's, to pages, into an index, or between."""
    fields = base.fields.by_shape.get(_BLOOM, ())
    if not fields:
        return []
    field = random.choice(fields)
    place = random.choice(_places(base))
    parts = [_set(field, place + random.choice((0, 0, 0, 1, -1, 16)))]
    lengths = base.fields.by_shape.get((*_BLOOM[:-1], 15), ())
    parts += [
        _set(length, random.choice(lengths).number)
        for length in lengths
        if length.owner == field.owner and random.random() < 0.5
    ]
    return parts


def padded(random: Random, base: Base) -> list[Part]:
    """Write numbers in more bytes than they take."""
    fields = [f for f in base.fields.fields if f.is_integer]
    return [
        Part(f.start, f.stop, _padded(zigzag(f.number), random.randint(1, 3)))
        for f in random.choices(fields, k=random.randint(1, 3))
        if f.wire == I64 or random.random() < 0.5
    ]


def wrong_text(random: Random, base: Base) -> list[Part]:
    """Replace a text: names that are not text, the same twice, with control characters, huge."""
    fields = [
        f for shape in _NAMES for f in base.fields.by_shape.get(shape, ()) if f.wire == BINARY
    ]
    field = random.choice(fields)
    other = random.choice(fields)
    text = random.choice(_TEXTS)
    if random.random() < 0.3:
        return [Part(field.start, field.stop, base.footer[other.start : other.stop])]
    return [Part(field.start, field.stop, varint(len(text)) + text)]


def wrong_length(random: Random, base: Base) -> list[Part]:
    """Have a text claim more or fewer bytes than it has."""
    texts = [f for f in base.fields.fields if f.wire == BINARY]
    field = random.choice(texts)
    length, text = _length_and_text(base.footer[field.start : field.stop])
    wrong = random.choice((length + 1, max(length - 1, 0), 0, 2**31, 2**32 - 1, 2**63, 2**64 - 1))
    return [Part(field.start, field.stop, varint(wrong) + text)]


def _integer(random: Random, base: Base) -> Field | None:
    """One integer field; all but one in ten are of a kind that matters."""
    if random.random() < 0.1:
        return random.choice([f for f in base.fields.fields if f.is_integer])
    fields = base.fields.by_shape.get(random.choice(random.choice(_KINDS)), ())
    field = random.choice(fields) if fields else None
    return field if field is None or field.is_integer else None


def _wrong(random: Random, base: Base, field: Field) -> int:
    if field.shape in ENUMS:
        return random.choice(SMALL if random.random() < 0.7 else LIMITS)
    choice = random.random()
    if choice < 0.35:
        return field.number + random.choice((1, -1, 1, -1, 2, 8, -8, 64, 4096))
    if choice < 0.55:
        return random.choice(LIMITS)
    if choice < 0.65:
        return random.randrange(base.size + 100)
    if choice < 0.8:
        return random.choice(base.fields.by_shape[field.shape]).number
    return random.choice(_places(base)) + random.choice((0, 0, 1, -1))


def _places(base: Base) -> list[int]:
    """Positions at which something begins or ends."""
    offsets = [f.number for shape in OFFSETS for f in base.fields.by_shape.get(shape, ())]
    return [*offsets, len(base.body), base.size, base.size - 8, 4]


def _set(field: Field, number: int) -> Part:
    return Part(field.start, field.stop, zigzag(number))


def _padded(encoded: bytes, more: int) -> bytes:
    if len(encoded) + more > 10:
        return encoded
    return bytes([*(byte | 128 for byte in encoded), *[128] * (more - 1), 0])


def _length_and_text(encoded: bytes) -> tuple[int, bytes]:
    size = next(i for i, byte in enumerate(encoded) if byte < 128) + 1
    return len(encoded) - size, encoded[size:]
