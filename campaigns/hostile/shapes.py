"""Mutations of the footer's structure: fields, lists and nesting, mostly as well-formed Thrift."""

from __future__ import annotations

from typing import TYPE_CHECKING

from campaigns.hostile.fields import BINARY, BYTE, DOUBLE, FALSE, I16, I32, I64, LIST, STRUCT
from campaigns.hostile.lies import LIMITS, SMALL
from campaigns.hostile.replacing import Part, header, varint, zigzag

if TYPE_CHECKING:
    from random import Random

    from campaigns.hostile.bases import Base
    from campaigns.hostile.fields import Field

_SET, _MAP, _UUID = 10, 11, 13
_WIRES = (1, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, _SET, _MAP, STRUCT, _UUID, 14, 0)
_ODD_IDS = (10, 16, 17, 18, 19, 31, 32, 33, 100, 32767, -1, -32768, 0)
_DEPTHS = (2, 10, 60, 63, 64, 65, 100, 1000, 20_000)
_SIZES = {BYTE: 1, DOUBLE: 8, _UUID: 16}
_VALUES = {
    BINARY: (b"\x00", b"\x03abc", b"\x02\xff\xfe"),
    LIST: (b"\x05", b"\x15\x02", b"\x1c\x00", b"\x28\x01a\x00"),
    _SET: (b"\x05", b"\x15\x02"),
    _MAP: (b"\x00", b"\x01\x55\x02\x04", b"\x01\x8c\x01a\x00"),
    STRUCT: (b"\x00", b"\x15\x02\x00", b"\x1c\x00\x00"),
}
"""By wire type: some values of it."""

_LONG_LIST = 15
_META = (4, 1, 3)
_SPECIAL_FIELDS = {
    (): ((8, STRUCT, b"\x1c\x00\x00"), (9, BINARY, b"\x03key"), (7, LIST, b"\x0c")),
    (4, 1): ((8, STRUCT, b"\x1c\x00\x00"), (9, BINARY, b"\x01x"), (1, BINARY, b"\x05other")),
    (4,): ((4, LIST, b"\x1c\x15\x00\x00"), (7, I16, b"\x02")),
}
"""By the shape of a struct: marks of encryption, of other files, and of sorting."""


def dropped(random: Random, base: Base) -> list[Part]:
    """Leave a field out; the next one keeps its id, or not."""
    field = random.choice(base.fields.fields)
    return [Part(field.header, field.stop, b""), *_following(random, base, field, field.before)]


def doubled(random: Random, base: Base) -> list[Part]:
    """Have a field twice, with the same value or that of another one like it."""
    field = random.choice(base.fields.fields)
    other = random.choice(base.fields.by_shape[field.shape])
    again = header(field.id, field.id, field.wire) + base.footer[other.start : other.stop]
    return [Part(field.stop, field.stop, again)]


def retyped(random: Random, base: Base) -> list[Part]:
    """Give a field another wire type, and leave its value as it is or not."""
    field = random.choice(base.fields.fields)
    wire = random.choice(_WIRES)
    new = header(field.before, field.id, wire)
    if random.random() < 0.5:
        return [Part(field.header, field.start, new)]
    return [Part(field.header, field.stop, new + _value(random, wire))]


def renumbered(random: Random, base: Base) -> list[Part]:
    """Give a field another id; the next one keeps its own, or not."""
    field = random.choice(base.fields.fields)
    new_id = field.id + random.choice((1, -1, 2)) if random.random() < 0.5 else _odd_id(random)
    new = Part(field.header, field.start, header(field.before, new_id, field.wire))
    return [new, *_following(random, base, field, new_id)]


def long_headers(random: Random, base: Base) -> list[Part]:
    """Write fields' ids in full."""
    fields = random.sample(base.fields.fields, random.randint(1, 3))
    return [Part(f.header, f.start, bytes((f.wire,)) + zigzag(f.id)) for f in fields]


def unordered(random: Random, base: Base) -> list[Part]:
    """Move a field behind the one that follows it."""
    field = random.choice(base.fields.fields)
    following = _next(base, field)
    if following is None:
        return []
    moved = header(following.id, field.id, field.wire) + base.footer[field.start : field.stop]
    behind = _next(base, following)
    parts = [
        Part(field.header, field.stop, b""),
        Part(following.header, following.start, header(field.before, following.id, following.wire)),
        Part(following.stop, following.stop, moved),
    ]
    if behind is not None:
        parts.append(_renamed(behind, field.id))
    return parts


def added(random: Random, base: Base) -> list[Part]:
    """Add a field that nobody knows, or that marks what must not be rewritten."""
    owner = random.choice(tuple(base.fields.bodies))
    body = base.fields.bodies[owner]
    wire = random.choice(_WIRES[:-2])
    field_id, value = _odd_id(random), _value(random, wire)
    special = _SPECIAL_FIELDS.get(body.shape, ())
    if special and random.random() < 0.3:
        field_id, wire, value = random.choice(special)
    return _into(random, base, owner, field_id, bytes((wire,)) + zigzag(field_id) + value)


def claimed_filter(random: Random, base: Base) -> list[Part]:
    """Give a chunk without a filter the fields of one."""
    chunks = [
        f for f in base.fields.by_shape.get((4, 1, 3, 9), ()) if _next_id(base, f, 14) is None
    ]
    if not chunks:
        return []
    chunk = random.choice(chunks)
    places = [f.number for f in base.fields.by_shape[4, 1, 3, 9]] + [len(base.body), *LIMITS]
    body = base.fields.bodies[chunk.owner]
    last = max((f for f in base.fields.fields if f.owner == chunk.owner), key=lambda f: f.stop)
    if last.id >= 14:
        return []
    fields = header(last.id, 14, I64) + zigzag(random.choice(places))
    if random.random() < 0.7:
        fields += header(14, 15, I32) + zigzag(random.choice((*LIMITS, 47, 1041)))
    return [Part(body.end, body.end, fields)]


def nested(random: Random, base: Base) -> list[Part]:
    """Put structs, lists or maps into each other, thousands deep, in a known or unknown field."""
    depth = random.choice(_DEPTHS)
    deep = random.choice(
        (
            b"\x1c" * depth + b"\x00" * (depth + 1),
            b"\x1c" * depth,
            b"\x19" * depth + b"\x15\x00",
            b"\xf9\x01" * depth,
            b"\x01\x9b\x00" * depth,
            b"\x1b\x01\xcc" * depth,
        )
    )
    field = random.choice(base.fields.fields)
    if random.random() < 0.5:
        new = header(field.before, field.id, STRUCT if deep[0] == 0x1C else deep[0] & 15)
        return [Part(field.header, field.stop, new + deep)]
    field_id = _odd_id(random)
    wire = STRUCT if deep[0] == 0x1C else random.choice((LIST, _SET, _MAP))
    return _into(random, base, field.owner, field_id, bytes((wire,)) + zigzag(field_id) + deep)


def resized(random: Random, base: Base) -> list[Part]:
    """Have a list claim more or fewer elements than it has, or other ones."""
    listing = random.choice(base.fields.lists)
    size = len(listing.items)
    sizes = (size + 1, size - 1, 0, size + 7, 10_000, 2**31 - 1, 2**31, 2**32, 2**63, 2**64 - 1)
    element = random.choice(_WIRES) if random.random() < 0.2 else listing.element
    return [Part(listing.start, listing.first, _list_header(random.choice(sizes), element))]


def rearranged(random: Random, base: Base) -> list[Part]:
    """Swap, repeat or leave out elements of a list: row groups, column chunks, schema elements."""
    listing = random.choice(base.fields.lists)
    items = [base.footer[start:stop] for start, stop in listing.items]
    choice = random.random()
    at, other = random.randrange(len(items)), random.randrange(len(items))
    if choice < 0.3:
        items[at], items[other] = items[other], items[at]
    elif choice < 0.6:
        items.insert(other, items[at])
    elif choice < 0.8:
        del items[at]
    elif choice < 0.9:
        items[at] = items[other]
    else:
        items *= random.choice((2, 3, 50))
    new = _list_header(len(items), listing.element) + b"".join(items)
    return [Part(listing.start, listing.items[-1][1], new)]


def exchanged(random: Random, base: Base) -> list[Part]:
    """Replace a struct by another one like it, so that two share their bytes."""
    owner = random.choice(tuple(base.fields.bodies))
    body = base.fields.bodies[owner]
    alike = [b for b in base.fields.bodies.values() if b.shape == body.shape]
    other = random.choice(alike)
    return [Part(body.start, body.end, base.footer[other.start : other.end])]


def _into(random: Random, base: Base, owner: int, field_id: int, added_: bytes) -> list[Part]:
    """Add a field at the end of a struct, or before any of its fields."""
    body = base.fields.bodies[owner]
    fields = [f for f in base.fields.fields if f.owner == owner]
    if random.random() < 0.5 or not fields:
        return [Part(body.end, body.end, added_)]
    field = random.choice(fields)
    renamed = _renamed(field, field_id)
    return [Part(field.header, field.start, added_ + renamed.data)]


def _following(random: Random, base: Base, field: Field, before: int) -> list[Part]:
    """Let the next field keep its id although the one before it is another now; or do not."""
    following = _next(base, field)
    return [_renamed(following, before)] if following and random.random() < 0.8 else []


def _renamed(field: Field, before: int) -> Part:
    return Part(field.header, field.start, header(before, field.id, field.wire))


def _next(base: Base, field: Field) -> Field | None:
    return next(
        (f for f in base.fields.fields if f.header == field.stop and f.owner == field.owner), None
    )


def _next_id(base: Base, field: Field, field_id: int) -> Field | None:
    return next(
        (f for f in base.fields.fields if f.owner == field.owner and f.id == field_id), None
    )


def _odd_id(random: Random) -> int:
    return random.choice(_ODD_IDS)


def _value(random: Random, wire: int) -> bytes:
    """A value of a wire type, well-formed if there is such a type."""
    if wire in (I16, I32, I64):
        return zigzag(random.choice((*LIMITS, *SMALL)))
    if wire in _SIZES:
        return random.randbytes(_SIZES[wire])
    return random.choice(_VALUES.get(wire, (b"",)))


def _list_header(size: int, element: int) -> bytes:
    if 0 <= size < _LONG_LIST:
        return bytes((size << 4 | element,))
    return bytes((_LONG_LIST << 4 | element,)) + varint(size)
