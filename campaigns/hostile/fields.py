"""Where each field of a footer lies, found by Thrift's own protocol class.

Mutations replace bytes of known places, which costs microseconds; the walk is done once for each
file that is mutated. Nothing of the package under test is used.

A *shape* is a path of field ids without list indexes: (4, 1, 3, 9) is `data_page_offset` of any
column chunk in any row group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from thrift.protocol.TCompactProtocol import TCompactProtocol
from thrift.Thrift import TType
from thrift.transport.TTransport import TMemoryBuffer

Shape = tuple[int, ...]

FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, STRUCT = 2, 3, 4, 5, 6, 7, 8, 9, 12
"""Wire types of the compact protocol; 1 is a true boolean."""

_INTEGERS = (BYTE, I16, I32, I64)
_ELEMENT, _ROW_GROUP, _CHUNK, _META = (2,), (4,), (4, 1), (4, 1, 3)
OFFSETS: tuple[Shape, ...] = (
    (*_ROW_GROUP, 5),
    *((*_CHUNK, field_id) for field_id in (2, 4, 6)),
    *((*_META, field_id) for field_id in (9, 10, 11, 14)),
)
"""Fields that hold absolute positions."""

SIZES: tuple[Shape, ...] = (
    (*_ROW_GROUP, 2),
    (*_ROW_GROUP, 6),
    *((*_CHUNK, field_id) for field_id in (5, 7)),
    *((*_META, field_id) for field_id in (6, 7, 15)),
)
"""Fields that count bytes."""

COUNTS: tuple[Shape, ...] = ((3,), (*_ROW_GROUP, 3), (*_META, 5), (*_META, 12, 3))
"""Fields that count rows, values and nulls."""

ENUMS: tuple[Shape, ...] = (
    (1,),
    *((*_ELEMENT, field_id) for field_id in (1, 2, 3, 5, 6, 7, 8)),
    (*_META, 1),
    (*_META, 4),
)
"""Versions, types, codecs and the like; `num_children` among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field as it lies in the footer. Positions are relative to it, in bytes."""

    shape: Shape
    owner: int
    """Number of the struct that it stands in."""

    before: int
    """Id of the field before it in that struct, 0 if it is the first."""

    wire: int
    header: int
    start: int
    stop: int
    number: int
    """Of an integer; 0 for anything else."""

    @property
    def id(self) -> int:
        """The field's id."""
        return self.shape[-1]

    @property
    def is_integer(self) -> bool:
        """Whether it holds an integer."""
        return self.wire in _INTEGERS


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """One list as it lies in the footer."""

    shape: Shape
    start: int
    element: int
    """Wire type of its elements."""

    items: tuple[tuple[int, int], ...]
    """Start and stop of each element."""

    @property
    def first(self) -> int:
        """Position past the list's own header."""
        return self.items[0][0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """One struct as it lies in the footer."""

    shape: Shape
    start: int
    end: int
    """Position of the zero byte that closes it."""

    last: int
    """Id of its last field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """All places of one footer, in the order in which they close."""

    fields: tuple[Field, ...]
    lists: tuple[Listing, ...]
    """Those that are not empty."""

    bodies: dict[int, Body]
    """By number, as `Field.owner` has it."""

    by_shape: dict[Shape, tuple[Field, ...]]


def fields_of(footer: bytes) -> Fields:
    """Walk a footer that is well-formed."""
    walk = _Walk(footer)
    walk.struct(())
    by_shape: dict[Shape, list[Field]] = {}
    for field in walk.fields:
        by_shape.setdefault(field.shape, []).append(field)
    return Fields(
        fields=tuple(walk.fields),
        lists=tuple(walk.lists),
        bodies=walk.bodies,
        by_shape={shape: tuple(same) for shape, same in by_shape.items()},
    )


class _Walk:
    """Reads values one after the other and notes where they were."""

    def __init__(self, footer: bytes) -> None:
        self._data = footer
        self._memory = TMemoryBuffer(footer)
        self._protocol = TCompactProtocol(self._memory)
        self._count = 0
        self.fields: list[Field] = []
        self.lists: list[Listing] = []
        self.bodies: dict[int, Body] = {}

    def struct(self, shape: Shape) -> None:
        owner, self._count = self._count, self._count + 1
        begin, before = self._at(), 0
        self._protocol.readStructBegin()
        while True:
            header = self._at()
            _, kind, field_id = self._protocol.readFieldBegin()
            if kind == TType.STOP:
                break
            start = self._at()
            number = self._value(kind, (*shape, field_id))
            self.fields.append(
                Field(
                    shape=(*shape, field_id),
                    owner=owner,
                    before=before,
                    wire=self._data[header] & 15,
                    header=header,
                    start=start,
                    stop=self._at(),
                    number=number if isinstance(number, int) else 0,
                )
            )
            before = field_id
            self._protocol.readFieldEnd()
        self._protocol.readStructEnd()
        self.bodies[owner] = Body(shape=shape, start=begin, end=header, last=before)

    def _list(self, shape: Shape) -> None:
        start = self._at()
        element, size = self._protocol.readListBegin()
        items = []
        for _ in range(size):
            begin = self._at()
            self._value(element, shape)
            items.append((begin, self._at()))
        self._protocol.readListEnd()
        if items:
            wire = self._data[start] & 15
            self.lists.append(Listing(shape=shape, start=start, element=wire, items=tuple(items)))

    def _value(self, kind: int, shape: Shape) -> Any:  # noqa: ANN401  any Thrift value
        if kind == TType.STRUCT:
            return self.struct(shape)
        if kind == TType.LIST:
            return self._list(shape)
        read = {
            TType.BOOL: self._protocol.readBool,
            TType.BYTE: self._protocol.readByte,
            TType.I16: self._protocol.readI16,
            TType.I32: self._protocol.readI32,
            TType.I64: self._protocol.readI64,
            TType.DOUBLE: self._protocol.readDouble,
            TType.STRING: self._protocol.readBinary,
        }
        return read[kind]()

    def _at(self) -> int:
        position: int = self._memory.cstringio_buf.tell()
        return position
