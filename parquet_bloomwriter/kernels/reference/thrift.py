"""The kernel `scan` of Thrift compact bytes; `compact/scan.py` describes encoding and table.

The bytes are read by recursive descent: for a struct, a list or a map, a method calls itself, and
a problem is an exception. (`c/thrift.c` is one loop with a stack of its own.) Nothing of Parquet is
known here: the schema has the fields to look for, and their slots.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from parquet_bloomwriter.kernels import layout as to
from parquet_bloomwriter.kernels.reference.buffers import array, number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_bloomwriter.kernels.reference.buffers import Buffer, Int

_LOW_BITS, _LONG_LIST = 127, 15
_FIXED_BYTES = {to.DOUBLE: 8, to.UUID: 16}
_INTEGERS = (to.I16, to.I32, to.I64)
_ID_SHIFT = 14
"""A field id has 16 bits: a varint of three bytes."""

_Schema: TypeAlias = tuple[list[list[int]], ...]
"""Slots, wire types, children and traits: an item for each kind of struct; see `layout`."""


class _Problem(Exception):
    """The error for malformed bytes, with the number of the problem and its position."""


class _Field(NamedTuple):
    """The description of a value by the schema."""

    slot: int = to.IGNORED
    child: int = 0
    """Kind of the struct, or of the structs in the list."""

    elements: int = 0
    """Type that the elements of a list must have; 0 for any type."""

    in_list: bool = False
    """Whether the value is an element, where booleans have a byte."""


def scan(  # noqa: PLR0913, PLR0917  a table is several arrays
    data: Buffer, pos: Int, schema: Buffer, width: Int, kinds: Buffer, values: Buffer, spans: Buffer
) -> tuple[int, int, int]:
    """Note where the fields of interest of one struct lie.

    Args:
        data: Thrift compact bytes, at most `MAX_SCAN_BYTES`.
        pos: Position of the struct in `data`.
        schema: int64, `SCHEMA_WORDS` for each kind of struct, aligned; kind 1 is the root's.
        width: Slots of a row, w.
        kinds: To be written: int64, shape (n,), aligned.
        values: To be written: int64, shape (n, w), aligned.
        spans: To be written: int32, shape (n, w, 3), aligned.

    Returns:
        The number of the problem, of `layout.PROBLEMS`, or 0, or `FULL` if there are more than n
        structs; the position past the struct, or of the problem; and how many rows were written.
    """
    width = number(width, "width", 1, 1024)
    content = array(data, "data").data
    pos = number(pos, "pos", 0, len(content))
    rows = array(kinds, "kinds", np.int64, writable=True, aligned=True)
    numbers = array(values, "values", np.int64, writable=True, aligned=True)
    positions = array(spans, "spans", np.int32, writable=True, aligned=True)
    known = _checked_schema(schema, width, rows, numbers, positions)
    cells = len(rows) * width
    if len(content) > to.MAX_SCAN_BYTES or cells > len(numbers) or 3 * cells > len(positions):
        raise ValueError("there are too many data, or too few values or spans for the kinds")
    table = numbers[:cells].reshape(-1, width), positions[: 3 * cells].reshape(-1, width, 3)
    scanner = _Scanner(content, known, rows, *table, pos)
    try:
        scanner.read_value(to.STRUCT, -1, pos, _Field(child=1))
    except _Problem as problem:
        return (*problem.args, scanner.num_rows)
    return 0, scanner.pos, scanner.num_rows


def _checked_schema(given: Buffer, width: int, *written: NDArray[Any]) -> _Schema:
    """Check the array of a schema for tables of a width, in memory that is not written to."""
    words = array(given, "schema", np.int64, aligned=True)
    num_kinds, rest = divmod(len(words), to.SCHEMA_WORDS)
    if rest or num_kinds <= 1:
        raise ValueError("the schema must have a root")
    fields, traits = np.split(words, [-num_kinds * to.TRAITS])
    slots, wires, children = fields.reshape(3, num_kinds, -1)
    shares_row, unknown, mark_id, mark, _ = traits.reshape(num_kinds, -1).T
    fits = max(slots.max(), unknown.max(), mark.max()) < width and not shares_row[1]
    fits &= 0 <= children.min() <= children.max() < num_kinds
    if not fits or ((mark_id > 0) & (mark < 0)).any():
        raise ValueError("the schema is not one of tables of this width")
    if any(np.may_share_memory(words, target) for target in written):
        raise ValueError("the schema must not share memory with what is written")
    return tuple(part.tolist() for part in (slots, wires, children, traits.reshape(num_kinds, -1)))


@dataclass(slots=True)
class _Scanner:
    """A reader of one struct and all structs in it."""

    data: memoryview
    schema: _Schema
    kinds: NDArray[np.int64]
    values: NDArray[np.int64]
    spans: NDArray[np.int32]
    pos: int
    num_rows: int = 0
    depth: int = 0

    def read_value(self, wire: int, row: int, header: int, field: _Field) -> None:  # noqa: C901  a case for each type
        """Read a value, and write its integer and positions to the table.

        Args:
            wire: Its type.
            row: The row of the struct that it is in.
            header: Position of its field's header.
            field: Its field, or what an element of a list is.
        """
        start = self.pos
        number, skipped, types = self._head(wire, field)
        if skipped > len(self.data) - self.pos:
            raise _Problem(to.ENDS_EARLY, start)
        self.pos += skipped
        if field.slot >= 0:
            if self.spans[row, field.slot, to.HEADER] >= 0:
                raise _Problem(to.TWICE, header)
            self.values[row, field.slot] = (number + 2**63) % 2**64 - 2**63
            self.spans[row, field.slot] = header, start, self.pos
        if not to.LIST <= wire <= to.STRUCT:
            return
        if self.depth == to.MAX_DEPTH:
            raise _Problem(to.TOO_DEEP, start)
        self.depth += 1
        if wire == to.STRUCT:
            self._read_struct(row, field.child)
        else:
            count = 2 * number if wire == to.MAP else number
            if count > len(self.data) - self.pos:
                raise _Problem(to.TOO_MANY_ELEMENTS, start)
            are_integers = types[0] in _INTEGERS and field.elements in _INTEGERS
            if field.elements and count and types[0] != field.elements and not are_integers:
                raise _Problem(to.OTHER_ELEMENTS, start)
            element = _Field(child=field.child, in_list=True)
            for i in range(count):
                self.read_value(types[i % 2], row, self.pos, element)
        self.depth -= 1
        if field.slot >= 0:
            self.spans[row, field.slot, to.STOP] = self.pos

    def _head(self, wire: int, field: _Field) -> tuple[int, int, tuple[int, int]]:
        """Return a value's integer, the bytes to skip, and the types of elements (map: two)."""
        number, skipped, types = 0, _FIXED_BYTES.get(wire, 0), (0, 0)
        if wire in {to.TRUE, to.FALSE}:
            number, skipped = to.FALSE - wire, int(field.in_list)
        elif wire == to.BINARY:
            number = skipped = self._varint()
        elif wire in _INTEGERS:
            number = self._zigzag()
        elif wire == to.BYTE:
            number = self._byte()
        elif wire in {to.LIST, to.SET}:
            number, inner = divmod(self._byte(), 16)
            number, types = self._varint() if number == _LONG_LIST else number, (inner, inner)
        elif wire == to.MAP:
            number = self._varint()
            types = divmod(self._byte() if number else 0, 16)
        elif wire not in {*_FIXED_BYTES, to.STRUCT}:
            raise _Problem(to.NO_SUCH_TYPE, self.pos)
        return number, skipped, types

    def _read_struct(self, row: int, kind: int) -> None:
        """Read the fields of a struct inside another struct."""
        shares_row, unknown, mark_id, mark, min_bytes = self.schema[3][kind]
        start, last, has_row = self.pos, 0, kind and not shares_row
        if has_row:
            if self.num_rows == len(self.kinds):
                raise _Problem(to.FULL, start)
            row, self.num_rows = self.num_rows, self.num_rows + 1
            self.kinds[row], self.values[row], self.spans[row] = kind, to.ABSENT, -1
            self.spans[row, 0, : to.STOP] = start
        while True:
            header, before = self.pos, last
            delta, wire = divmod(self._byte(), 16)
            is_stop = delta == wire == 0
            if not is_stop:
                last = last + delta if delta else self._zigzag(_ID_SHIFT)
            if mark_id > 0 and (is_stop or last >= mark_id):
                self._note(row, mark, before, header)
            if is_stop:
                break
            field = self._field(kind, last, wire)
            if field.slot == to.UNKNOWN and unknown >= 0:
                self._note(row, unknown, last, header, self.pos)
            self.read_value(wire, row, header, field)
        if has_row:
            self.spans[row, 0, to.STOP] = self.pos
            if self.pos - start < min_bytes:
                raise _Problem(to.SHORT_STRUCT, self.pos)

    def _note(self, row: int, slot: int, field_id: int, *positions: int) -> None:
        """Write the id and the positions of the first field that belongs to a slot to the table."""
        if self.spans[row, slot, to.HEADER] < 0:
            self.values[row, slot] = field_id
            self.spans[row, slot, : len(positions)] = positions

    def _field(self, kind: int, field_id: int, wire: int) -> _Field:
        """Return the schema's description of a field of this id and type."""
        slots, wires, children, _ = (part[kind] for part in self.schema)
        if not 0 < field_id < to.MAX_FIELD:
            return _Field(to.UNKNOWN)
        elements, expected = divmod(wires[field_id], 1 << to.ELEMENTS_SHIFT)
        elements = elements if wire == to.LIST else 0
        is_other = wire != expected and (expected, wire) != (to.TRUE, to.FALSE)
        if slots[field_id] >= 0 and is_other:
            return _Field(to.UNKNOWN, 0, elements)
        return _Field(slots[field_id], children[field_id], elements)

    def _byte(self) -> int:
        if self.pos >= len(self.data):
            raise _Problem(to.ENDS_EARLY, self.pos)
        self.pos += 1
        return self.data[self.pos - 1]

    def _varint(self, last_shift: int = 63) -> int:
        """Read an unsigned varint of at most 64 bits; its last byte has this shift at most."""
        number = shift = 0
        while True:
            byte = self._byte()
            if shift > last_shift or byte >> (64 - shift):
                raise _Problem(to.LONG_VARINT, self.pos - 1)
            number |= (byte & _LOW_BITS) << shift
            if byte <= _LOW_BITS:
                return number
            shift += 7

    def _zigzag(self, last_shift: int = 63) -> int:
        number = self._varint(last_shift)
        return number >> 1 ^ -(number & 1)
