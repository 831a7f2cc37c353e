"""Arbitrary Thrift compact structs: strategies, an encoder, and Thrift's own reader as referee."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from hypothesis import strategies as st
from thrift.protocol.TCompactProtocol import CTYPES, TCompactProtocol
from thrift.Thrift import TType
from thrift.transport.TTransport import TMemoryBuffer

from parquet_bloomwriter.compact.scan import StructKind, StructSchema
from parquet_bloomwriter.kernels.layout import BINARY, I32, I64, LIST, STRUCT

if TYPE_CHECKING:
    from collections.abc import Callable

TRUE, FALSE, I8, I16, DOUBLE, SET, MAP, UUID = 1, 2, 3, 4, 7, 10, 11, 13
"""Wire types besides those that `scan` names."""

_LONG_SIZE = 15

# ---------------------------------------------------------------- what is of interest

ROOT, ITEM, PART = 1, 2, 3
UNKNOWN, MARK, PART_UNKNOWN = 6, 7, 10

KINDS = {
    "Root": StructKind(
        slots={1: (1, I32), 2: (2, I64), 3: (3, BINARY), 4: (4, LIST), 5: (5, STRUCT)},
        children={4: "Item", 5: "Part"},
        ignored=(6, 7),
        unknown_slot=UNKNOWN,
        mark_id=9,
        mark_slot=MARK,
    ),
    "Item": StructKind(slots={1: (1, I64), 2: (2, STRUCT)}, children={2: "Root"}),
    "Part": StructKind(
        slots={1: (8, I64), 2: (9, BINARY)}, shares_row=True, unknown_slot=PART_UNKNOWN
    ),
}
GRAMMAR = StructSchema.of(KINDS)
_BY_NUMBER = dict(enumerate(KINDS.values(), start=1))
_NUMBERS = {name: number for number, name in enumerate(KINDS, start=1)}

# ---------------------------------------------------------------- strategies

Fields: TypeAlias = "list[tuple[int, int, Any, bool]]"
"""Field id, wire type, value, whether its header takes the long form."""

_INTEGERS = {
    I8: st.integers(-128, 127),
    I16: st.integers(-(2**15), 2**15 - 1),
    I32: st.integers(-(2**31), 2**31 - 1),
    I64: st.integers(-(2**63), 2**63 - 1) | st.integers(-200, 200),
}
_PLAIN: dict[int, st.SearchStrategy[Any]] = {
    **_INTEGERS,
    TRUE: st.booleans(),
    DOUBLE: st.floats(),
    BINARY: st.binary(max_size=20),
    UUID: st.binary(min_size=16, max_size=16),
}
_IDS = st.integers(1, 16) | st.integers(1, 16) | st.integers(-3, 32767).filter(bool)


@st.composite
def values(draw: st.DrawFn, wire: int, depth: int) -> Any:  # noqa: ANN401  any Thrift value
    """A value of that wire type, nested at most `depth` deep."""
    if wire in _PLAIN:
        return draw(_PLAIN[wire])
    if wire == STRUCT:
        return draw(structs(depth - 1))
    inner = st.sampled_from(sorted([*_PLAIN, *([LIST, SET, MAP, STRUCT] if depth > 1 else [])]))
    size = st.integers(0, 3) if depth > 1 else st.integers(0, 3) | st.just(16)
    if wire == MAP:
        key, value = draw(inner), draw(inner)
        pairs = st.tuples(values(key, depth - 1), values(value, depth - 1))
        return key, value, [draw(pairs) for _ in range(draw(size))]
    element = draw(inner)
    return element, [draw(values(element, depth - 1)) for _ in range(draw(size))]


@st.composite
def structs(draw: st.DrawFn, depth: int = 4) -> Fields:
    """A struct: fields of different ids, in any order."""
    wires = [TRUE, I8, I16, I32, I64, DOUBLE, BINARY, UUID]
    nested = [LIST, LIST, SET, MAP, STRUCT, STRUCT] if depth > 0 else []
    likely = {1: I32, 2: I64, 3: BINARY, 4: LIST, 5: STRUCT}
    ids = draw(st.lists(_IDS, max_size=5, unique=True))
    if draw(st.booleans()):
        ids.sort()
    fields: Fields = []
    for field_id in ids:
        usual = likely.get(field_id)
        wire = draw(st.sampled_from([*wires, *nested]))
        if usual and (depth > 0 or usual in wires) and draw(st.integers(0, 2)):
            wire = usual
        long_form = not draw(st.integers(0, 4))
        fields.append((field_id, wire, draw(values(wire, max(depth, 1))), long_form))
    return fields


# ---------------------------------------------------------------- encoder


def varint(number: int) -> bytes:
    """Unsigned, 7 bits a byte."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def zigzag(number: int) -> bytes:
    """Signed, of any size."""
    return varint(2 * number if number >= 0 else -2 * number - 1)


def encode(wire: int, value: Any, *, in_list: bool = False) -> bytes:  # noqa: ANN401  any
    """A value without its field header."""
    if wire in (TRUE, FALSE):
        return bytes([TRUE if value else FALSE]) if in_list else b""
    return _ENCODERS[wire](value)


def _encode_list(value: tuple[int, list[Any]]) -> bytes:
    element, items = value
    size = len(items)
    head = bytes([min(size, _LONG_SIZE) << 4 | element])
    rest = varint(size) if size >= _LONG_SIZE else b""
    return head + rest + b"".join(encode(element, item, in_list=True) for item in items)


def _encode_map(typed: tuple[int, int, list[tuple[Any, Any]]]) -> bytes:
    key, value, pairs = typed
    if not pairs:
        return b"\x00"
    body = (encode(key, k, in_list=True) + encode(value, v, in_list=True) for k, v in pairs)
    return varint(len(pairs)) + bytes([key << 4 | value]) + b"".join(body)


def encode_struct(fields: Fields) -> bytes:
    """Field headers, values, and the closing zero."""
    out = b""
    last = 0
    for field_id, wire, value, long_form in fields:
        head = wire if wire != TRUE or value else FALSE
        delta = field_id - last
        short = 0 < delta <= _LONG_SIZE and not long_form
        out += bytes([delta << 4 | head]) if short else bytes([head]) + zigzag(field_id)
        out += encode(wire, value)
        last = field_id
    return out + b"\x00"


_ENCODERS: dict[int, Callable[[Any], bytes]] = {
    I8: lambda value: struct.pack("b", value),
    **dict.fromkeys((I16, I32, I64), zigzag),
    DOUBLE: lambda value: struct.pack("<d", value),
    BINARY: lambda value: varint(len(value)) + value,
    **dict.fromkeys((LIST, SET), _encode_list),
    MAP: _encode_map,
    STRUCT: encode_struct,
    UUID: bytes,
}

# ---------------------------------------------------------------- referee


@dataclass
class Row:
    """One struct of interest, as Thrift's reader walks it."""

    kind: int
    slots: dict[int, tuple[int, int, int, int]] = field(default_factory=dict)
    """Slot -> integer, header, start, stop."""


class Referee:
    """Walks a struct with Thrift's reader and notes what `scan` should find."""

    def __init__(self, data: bytes) -> None:
        self._memory = TMemoryBuffer(data)
        self._protocol = TCompactProtocol(self._memory)
        self._data = data
        self.rows: list[Row] = []
        self._struct(ROOT, None)
        self.stop = self._at

    @property
    def _at(self) -> int:
        return int(self._memory._buffer.tell())  # noqa: SLF001  the only way to learn it

    def _struct(self, kind: int, row: Row | None) -> None:
        start = self._at
        grammar = _BY_NUMBER.get(kind)
        if grammar and not grammar.shares_row:
            row = Row(kind)
            self.rows.append(row)
        self._protocol.readStructBegin()
        last = 0
        while True:
            header = self._at
            _, wire, field_id = self._protocol.readFieldBegin()
            ends = self._data[header] == 0
            if grammar and row and grammar.mark_id and (ends or field_id >= grammar.mark_id):
                row.slots.setdefault(grammar.mark_slot, (last, header, -1, -1))
            if ends:
                break
            self._field(grammar, row, field_id, wire, header)
            self._protocol.readFieldEnd()
            last = field_id
        self._protocol.readStructEnd()
        if grammar and row and not grammar.shares_row:
            row.slots[0] = (-(2**63), start, start, self._at)

    def _field(
        self, grammar: StructKind | None, row: Row | None, field_id: int, wire: int, header: int
    ) -> None:
        start = self._at
        compact = CTYPES[wire]
        slot, child = None, 0
        if grammar and row:
            slot, expected = grammar.slots.get(field_id, (None, compact))
            if field_id in grammar.children:
                child = _NUMBERS[grammar.children[field_id]]
            if expected != compact:
                slot, child = None, 0
            known = slot is not None or field_id in grammar.ignored
            if not known and grammar.unknown_slot >= 0:
                row.slots.setdefault(grammar.unknown_slot, (field_id, header, start, -1))
        value = self._value(wire, child, row)
        if row and slot is not None:
            row.slots[slot] = (value, header, start, self._at)

    def _value(self, wire: int, child: int, row: Row | None) -> int:
        """Read it; return its integer, length, or 0."""
        protocol = self._protocol
        if wire == TType.STRUCT:
            self._struct(child, row)
        elif wire in (TType.LIST, TType.SET):
            element, size = protocol.readListBegin()
            for _ in range(size):
                self._value(element, child, row)
            protocol.readListEnd()
            return int(size)
        elif wire == TType.MAP:
            key, value, size = protocol.readMapBegin()
            for _ in range(size):
                self._value(key, child, row)
                self._value(value, child, row)
            protocol.readMapEnd()
            return int(size)
        elif wire == TType.STRING:
            return len(protocol.readBinary())
        elif wire in (TType.I16, TType.I32, TType.I64):
            return int(protocol.readI64())
        else:
            readers: dict[int, Callable[[], object]] = {
                TType.BOOL: protocol.readBool,
                TType.BYTE: protocol.readByte,
                TType.DOUBLE: protocol.readDouble,
                TType.UUID: protocol.readUuid,
            }
            readers[wire]()
        return 0
