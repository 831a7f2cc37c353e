"""Damage to filters, numbered: each kind has so many cases, and case n is always the same.

    python -m campaigns --again filters/header-bits/1234      # see one again

Data pages stay as they are, so every value is still there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final

from campaigns.hostile.filters_files import every_name, filtered
from campaigns.hostile.filters_forms import FORMS
from campaigns.hostile.filters_judge import Case
from parquet_bloomwriter.compact.varint import encode_zigzag
from parquet_bloomwriter.kernels.layout import START, STOP
from parquet_bloomwriter.metadata.fields import ChunkField
from tests.verbs.broken_filters import with_bytes, with_filter
from tests.verbs.files import footer_of, with_number, without_length

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from campaigns.hostile.filters_files import Filtered, Spot

_OFFSET, _LENGTH = ChunkField.BLOOM_FILTER_OFFSET, ChunkField.BLOOM_FILTER_LENGTH
_EDGES = (0, 1, -1, 31, 32, 33, -(2**31), 2**31 - 1, 2**31, 2**32, 2**63 - 1, -(2**63))
_POWERS = tuple(2**k + d for k in range(4, 32) for d in (-1, 0, 1, 32))
_OWN: Final = ("own/column-chunk", "own/end", "own/no_length", "own/exact")
"""Small files, whose every byte can be tried."""

_KEPT, _AGREEING, _MISSING = "kept", "agreeing", "missing"
"""What becomes of `bloom_filter_length` when a filter changes."""

LENGTHS = (_KEPT, _AGREEING, _MISSING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """All cases of one kind."""

    places: Sequence[tuple[Any, ...]]
    """What tells the cases apart: a file's name, the ordinal of a filter, and more."""

    make: Callable[..., Case]
    """Takes the file, the filter, and the rest of a place."""

    def case(self, number: int) -> Case:
        """Make case `number`, 0-based."""
        name, ordinal, *rest = self.places[number]
        base = filtered(name)
        return self.make(base, base.spots[ordinal], *rest)


def _every_spot(names: Sequence[str] = ()) -> Iterator[tuple[str, int, Filtered, Spot]]:
    for name in names or every_name():
        base = filtered(name)
        for ordinal, spot in enumerate(base.spots):
            yield name, ordinal, base, spot


def _flipped(base: Filtered, spot: Spot, byte: int, bit: int, *, may_lack_bits: bool) -> Case:
    new = bytes([base.data[byte] ^ 1 << bit])
    data = with_bytes(base.data, byte, new)
    return Case(base=base, data=data, spot=spot, may_lack_bits=may_lack_bits)


def _header_bits() -> Damage:
    places = [
        (name, ordinal, byte, bit)
        for name, ordinal, _, spot in _every_spot()
        for byte in range(spot.offset, spot.bits)
        for bit in range(8)
    ]

    def make(base: Filtered, spot: Spot, byte: int, bit: int) -> Case:
        # Where no length contradicts it, a header may claim another size: it means other blocks.
        claims_size = not _has_length(base, spot) and spot.offset < byte < spot.offset + 5
        return _flipped(base, spot, byte, bit, may_lack_bits=claims_size)

    return Damage(places=places, make=make)


def _has_length(base: Filtered, spot: Spot) -> bool:
    return bool(footer_of(base.data).chunks.has(_LENGTH)[spot.chunk])


def _field_bits() -> Damage:
    places = []
    for name, ordinal, base, spot in _every_spot():
        footer = footer_of(base.data)
        for field in (_OFFSET, _LENGTH):
            spans = footer.chunks.spans[spot.chunk][field].tolist()
            if spans[START] >= 0:
                places += [
                    (name, ordinal, footer.start + byte, bit)
                    for byte in range(spans[START], spans[STOP])
                    for bit in range(8)
                ]
    make = partial(_flipped, may_lack_bits=False)
    return Damage(places=places, make=make)


def _numbers() -> Damage:
    places: list[tuple[Any, ...]] = []
    for name, ordinal, base, spot in _every_spot():
        start, size = footer_of(base.data).start, len(base.data)
        length = spot.stop - spot.offset
        near = [spot.offset + d for d in (-32, -1, 1, 32)]
        ends = [start - 47, start - 15, start - 1, start, size - 1, size, size + 1]
        places += [(name, ordinal, _OFFSET, n) for n in (*_EDGES, *near, *ends)]
        lengths = [length + d for d in (-32, -1, 1, 32, length)]
        if _has_length(base, spot):
            places += [
                (name, ordinal, _LENGTH, n)
                for n in (*_EDGES, *lengths, *ends, 20 - 2**63, 15, 46, 47, 48)
            ]

    def make(base: Filtered, spot: Spot, field: ChunkField, number: int) -> Case:
        data = with_number(base.data, field, number, chunk=spot.chunk)
        return Case(base=base, data=data, spot=spot)

    return Damage(places=places, make=make)


def _every_offset() -> Damage:
    places = [
        (name, ordinal, offset)
        for name, ordinal, base, _ in _every_spot(_OWN)
        for offset in range(4, footer_of(base.data).start)
    ]

    def make(base: Filtered, spot: Spot, offset: int) -> Case:
        data = with_number(base.data, _OFFSET, offset, chunk=spot.chunk)
        return Case(base=base, data=data, spot=spot)

    return Damage(places=places, make=make)


def _replaced(base: Filtered, spot: Spot, filter_: bytes, length: str) -> bytes:
    """The file with another filter, right before its footer."""
    said = len(filter_) if length == _AGREEING else spot.stop - spot.offset
    data = with_filter(base.data, spot.chunk, filter_, length=said)
    return without_length(data, spot.chunk) if length == _MISSING else data


def _sizes() -> Damage:
    numbers = sorted({*_EDGES, *_POWERS, -32, 2**40})
    places = [
        (name, ordinal, number, length)
        for name, ordinal, _, _ in _every_spot((*_OWN, "pyarrow/bloom", "spark/bloom"))
        for number in numbers
        for length in LENGTHS
    ]

    def make(base: Filtered, spot: Spot, number: int, length: str) -> Case:
        old = base.data[spot.offset : spot.stop]
        after_size = 1 + len(encode_zigzag(spot.num_bytes))
        header = old[:1] + encode_zigzag(number) + old[after_size : spot.header_bytes]
        said = len(header) + number if length == _AGREEING else spot.stop - spot.offset
        data = with_filter(base.data, spot.chunk, header + old[spot.header_bytes :], length=said)
        if length == _MISSING:
            data = without_length(data, spot.chunk)
        return Case(base=base, data=data, spot=spot, may_lack_bits=length != _KEPT)

    return Damage(places=places, make=make)


def _forms() -> Damage:
    places = [
        (name, ordinal, form, length)
        for name, ordinal, _, _ in _every_spot((*_OWN, "pyarrow/bloom"))
        for form in FORMS
        for length in LENGTHS
    ]

    def make(base: Filtered, spot: Spot, form: str, length: str) -> Case:
        filter_ = FORMS[form](spot.num_bytes) + base.data[spot.bits : spot.stop]
        return Case(base=base, data=_replaced(base, spot, filter_, length), spot=spot)

    return Damage(places=places, make=make)


def _cut() -> Damage:
    places = [
        (name, ordinal, stop, length)
        for name, ordinal, _, spot in _every_spot((*_OWN, "duckdb/types"))
        for stop in range(1, spot.stop - spot.offset)
        for length in LENGTHS
    ]

    def make(base: Filtered, spot: Spot, stop: int, length: str) -> Case:
        filter_ = base.data[spot.offset : spot.offset + stop]
        return Case(base=base, data=_replaced(base, spot, filter_, length), spot=spot)

    return Damage(places=places, make=make)


_KINDS: Final[dict[str, Callable[[], Damage]]] = {
    "header-bits": _header_bits,
    "field-bits": _field_bits,
    "numbers": _numbers,
    "every-offset": _every_offset,
    "sizes": _sizes,
    "forms": _forms,
    "cut": _cut,
}
TEXTS: Final = {
    "header-bits": "one bit of a header",
    "field-bits": "one bit of an offset or a length in the footer",
    "numbers": "offsets and lengths at the edges",
    "every-offset": "an offset into any byte: pages, other filters, indexes",
    "sizes": "a header that claims another size",
    "forms": "headers of other forms",
    "cut": "a filter cut by the footer",
}
"""By kind: what is damaged, for the table."""


@cache
def damage(kind: str) -> Damage:
    """All cases of a kind."""
    return _KINDS[kind]()
