"""Just enough of Thrift's compact protocol to read one small struct of i32 and unions.

Thrift specification, "Thrift Compact protocol encoding". A struct is a run of fields and a
stop byte 00. A field starts with one byte, and its value follows:

    dddd tttt      d: field id minus the previous one, 1 to 15; t: type of the value
    0000 tttt      long form: the field id follows as a zigzag varint

    type  1, 2 bool (no value bytes)    3 i8 (1 byte)      4, 5, 6 i16, i32, i64 (zigzag varint)
          7 double (8 bytes)            8 binary (varint length, bytes)
          9, 10 list, set               11 map             12 struct         13 uuid (16 bytes)

Only i32 and structs are of use here; values of other types are stepped over and read as
None. Depth and bounds are checked, and every fault is a `MalformedFilter`.
"""

from __future__ import annotations

from typing import TypeAlias

from parquet_bloomwriter.errors import MalformedFilter

Struct: TypeAlias = dict[int, "int | Struct | None"]
"""Field id -> i32, nested struct, or None for a value of another type."""

_TRUE, _FALSE, _I8, _I16, _I32, _I64 = 1, 2, 3, 4, 5, 6
_DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT, _UUID = 7, 8, 9, 10, 11, 12, 13
_FIXED_BYTES = {_I8: 1, _DOUBLE: 8, _UUID: 16}
_INTEGER_BITS = {_I16: 16, _I32: 32, _I64: 64}

_LONG_SIZE = 15
"""In place of a list's size: the size follows as a varint."""
_LAST_SHIFT = 63
"""Bits before the tenth and last byte that a varint can have."""
_MAX_DEPTH = 64
"""Nesting that Thrift's own readers accept."""


class CompactReader:
    """A position in a buffer, and steps forward from it.

    Attributes:
        position: Byte in the buffer, 0-based, that is read next.
    """

    def __init__(self, buffer: memoryview, position: int) -> None:
        self._buffer = buffer
        self._start = position
        self.position = position

    def read_struct(self, depth: int = 0) -> Struct:
        """Read the fields up to the stop byte; of a repeated field the last one counts."""
        if depth > _MAX_DEPTH:
            raise self._malformed("is nested too deeply")
        fields: Struct = {}
        field = 0
        while (head := self._byte()) != 0:
            field = field + (head >> 4) if head >> 4 else self._zigzag(16)
            fields[field] = self._value(head & 0x0F, depth)
        return fields

    def _value(self, kind: int, depth: int) -> int | Struct | None:
        if kind in _INTEGER_BITS:
            number = self._zigzag(_INTEGER_BITS[kind])
            return number if kind == _I32 else None
        if kind == _STRUCT:
            return self.read_struct(depth + 1)
        if kind in (_LIST, _SET):
            self._skip_list(depth + 1)
        elif kind == _MAP:
            self._skip_map(depth + 1)
        elif kind == _BINARY:
            self._skip(self._varint())
        elif kind in _FIXED_BYTES:
            self._skip(_FIXED_BYTES[kind])
        elif kind not in (_TRUE, _FALSE):
            raise self._malformed(f"holds a value of the unknown type {kind}")
        return None

    def _skip_list(self, depth: int) -> None:
        head = self._byte()
        size = head >> 4
        if size == _LONG_SIZE:
            size = self._varint()
        self._skip_elements(size, (head & 0x0F,), depth)

    def _skip_map(self, depth: int) -> None:
        size = self._varint()
        if size:
            kinds = self._byte()
            self._skip_elements(size, (kinds >> 4, kinds & 0x0F), depth)

    def _skip_elements(self, size: int, kinds: tuple[int, ...], depth: int) -> None:
        """Step over `size` elements; unlike a field, a bool takes one byte here."""
        if depth > _MAX_DEPTH:
            raise self._malformed("is nested too deeply")
        for _ in range(size):
            for kind in kinds:
                self._value(_I8 if kind in (_TRUE, _FALSE) else kind, depth)

    def _zigzag(self, bits: int) -> int:
        number = self._varint()
        if number >> bits:
            raise self._malformed(f"holds an integer of more than {bits} bits")
        return (number >> 1) ^ -(number & 1)

    def _varint(self) -> int:
        number = shift = 0
        while (byte := self._byte()) & 0x80:
            number |= (byte & 0x7F) << shift
            shift += 7
            if shift > _LAST_SHIFT:
                raise self._malformed("holds an integer of more than 64 bits")
        return number | byte << shift

    def _byte(self) -> int:
        self._skip(1)
        return self._buffer[self.position - 1]

    def _skip(self, count: int) -> None:
        if not 0 <= self.position <= len(self._buffer) - count:
            raise self._malformed("is cut short")
        self.position += count

    def _malformed(self, problem: str) -> MalformedFilter:
        at = self.position - self._start
        return MalformedFilter(f"the Bloom filter header {problem}, at its byte {at}")


def zigzag_varint(number: int) -> bytes:
    """Encode a non-negative integer as a zigzag varint."""
    number <<= 1
    encoded = bytearray()
    while number >> 7:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])
