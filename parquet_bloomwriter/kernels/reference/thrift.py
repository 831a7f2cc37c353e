"""One pass over Thrift compact bytes; `compact/scan.py` describes the encoding and the table.

The loop is one function without helpers or recursion, the same as in `c/thrift.c`. It knows nothing
of Parquet: the schema says which fields to look for and where to note them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, SupportsIndex, TypeAlias

import numpy as np

from parquet_bloomwriter.kernels.layout import (
    ABSENT,
    BINARY,
    BYTE,
    DOUBLE,
    ELEMENTS_SHIFT,
    FALSE,
    FULL,
    I16,
    I32,
    I64,
    IGNORED,
    LIST,
    MAP,
    MAX_DEPTH,
    MAX_FIELD,
    MAX_SCAN_BYTES,
    SCHEMA_WORDS,
    SET,
    STRUCT,
    TRAITS,
    TRUE,
    UNKNOWN,
    UUID,
)
from parquet_bloomwriter.kernels.reference.buffers import aligned, number, require_apart, taken

if TYPE_CHECKING:
    from parquet_bloomwriter.kernels.reference.buffers import Buffer

_SHARES_ROW, _UNKNOWN_SLOT, _MARK_ID, _MARK_SLOT, _MIN_BYTES = range(TRAITS)
_MAX_WIDTH = 1024
_NIBBLE, _LONG_LIST = 0x0F, 0x0F
_LOW_BITS = 0x7F
_SIGN_BIT = 63
_MAX_ID_SHIFT = 14
"""A field id has 16 bits: a varint of three bytes."""

_Numbers: TypeAlias = list[list[int]]


@dataclass(frozen=True, slots=True)
class Schema:
    """What is of interest: lists with an item for each kind of struct; see `layout`."""

    slots: _Numbers
    wires: _Numbers
    children: _Numbers
    traits: _Numbers

    @classmethod
    def of(cls, given: Buffer, width: int) -> Schema:
        """Check the array of a schema for tables of a width."""
        words = aligned(given, "schema", np.int64)
        num_kinds = len(words) // SCHEMA_WORDS
        fields = num_kinds * MAX_FIELD
        parts = [words[i * fields : (i + 1) * fields].reshape(-1, MAX_FIELD) for i in range(3)]
        traits = words[3 * fields : num_kinds * SCHEMA_WORDS].reshape(-1, TRAITS)
        fits = len(words) % SCHEMA_WORDS == 0 and num_kinds > 1 and not traits[1, _SHARES_ROW]
        if fits:
            slots, children = parts[0], parts[2]
            fits = slots.max() < width and children.min() >= 0 and children.max() < num_kinds
            fits &= traits[:, [_UNKNOWN_SLOT, _MARK_SLOT]].max() < width
            fits &= not ((traits[:, _MARK_ID] > 0) & (traits[:, _MARK_SLOT] < 0)).any()
        if not fits:
            raise ValueError("the schema is not one of tables of this width")
        return cls(*(part.tolist() for part in (*parts, traits)))


class Row(NamedTuple):
    """One struct that was found."""

    kind: int
    values: list[int]
    spans: _Numbers
    """`HEADER`, `START` and `STOP` of each slot."""


def scan(  # noqa: PLR0913, PLR0917  a table is several arrays
    data: Buffer,
    pos: SupportsIndex,
    schema: Buffer,
    width: SupportsIndex,
    kinds: Buffer,
    values: Buffer,
    spans: Buffer,
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
    width = number(width, "width", 1, _MAX_WIDTH)
    view = taken(data, "data", 1).data
    pos = number(pos, "pos", 0, 2**63 - 1)
    if len(view) > MAX_SCAN_BYTES:
        raise ValueError("there are too many data")
    if pos > len(view):
        raise ValueError("pos lies behind the data")
    known = Schema.of(schema, width)
    out_kinds = aligned(kinds, "kinds", np.int64, writable=True)
    out_values = aligned(values, "values", np.int64, writable=True)
    out_spans = aligned(spans, "spans", np.int32, writable=True)
    require_apart(schema, out_kinds, out_values, out_spans)
    capacity = len(out_kinds)
    if capacity > len(out_values) // width or capacity > len(out_spans) // (3 * width):
        raise ValueError("kinds, values and spans must have as many rows")
    problem, stop, rows = scan_struct(view, pos, known, width, capacity)
    if rows:
        count, cells = len(rows), len(rows) * width
        out_kinds[:count] = [row.kind for row in rows]
        out_values[:cells].reshape(count, width)[:] = [row.values for row in rows]
        out_spans[: 3 * cells].reshape(count, width, 3)[:] = [row.spans for row in rows]
    return problem, stop, len(rows)


def scan_struct(  # noqa: C901, PLR0911, PLR0912, PLR0915  one loop
    data: memoryview, pos: int, schema: Schema, width: int, capacity: int
) -> tuple[int, int, list[Row]]:
    """Return the problem's number or 0, the position, and the rows; see `scan`."""
    slots, wires, children, traits = schema.slots, schema.wires, schema.children, schema.traits
    limit = len(data)
    rows: list[Row] = []
    stack: list[tuple[int, ...]] = []
    values: list[int] = []
    spans: _Numbers = []
    # The open struct or list: its kind and row, its last field id, the elements left in it (-1 for
    # a struct), the types of its elements (two for a map, in turn), and the slot whose STOP is
    # written when it closes. `wanted` is the type that elements of the next list must have, or 0.
    kind, row, last, left, owner_row, owner_slot = 0, 0, 0, 0, -1, -1
    element = other = STRUCT
    wanted = 0
    child = 1
    wire = STRUCT
    slot = IGNORED
    header = pos
    while True:
        # A value of type `wire` stands at `pos`; (row, slot) is where to note it, if slot >= 0.
        start = pos
        value = 0
        follows = wire in (I16, I32, I64, BINARY, MAP)
        if wire in (BYTE, LIST, SET):
            if pos >= limit:
                return 1, pos, rows
            value = data[pos]
            pos += 1
            if wire != BYTE:
                inner = value & _NIBBLE
                value >>= 4
                follows = value == _LONG_LIST
        elif wire in (TRUE, FALSE):
            value = FALSE - wire
            pos += 1 if left >= 0 else 0
        elif wire == DOUBLE:
            pos += 8
        elif wire == UUID:
            pos += 16
        elif wire != STRUCT and not follows:
            return 2, pos, rows
        if follows:
            value = 0
            shift = 0
            byte = 128
            while byte > _LOW_BITS:
                if pos >= limit:
                    return 1, pos, rows
                byte = data[pos]
                if shift >= _SIGN_BIT and byte > 1:
                    return 6, pos, rows
                low = byte & _LOW_BITS
                value |= low << shift
                shift += 7
                pos += 1
            if wire < BINARY:
                value = (value >> 1) ^ -(value & 1)
            elif value >> _SIGN_BIT:
                value -= 1 << 64
        if wire == BINARY:
            if value < 0 or value > limit - pos:
                return 1, start, rows
            pos += value
        elif wire == MAP:
            inner, second = 0, 0
            if value:
                if pos >= limit:
                    return 1, pos, rows
                inner = data[pos] >> 4
                second = data[pos] & _NIBBLE
                pos += 1
        if pos > limit:
            return 1, start, rows
        if slot >= 0:
            if spans[slot][0] >= 0:
                return 5, header, rows
            values[slot] = value
            spans[slot] = [header, start, pos]
        if LIST <= wire <= STRUCT:
            # Go down into the list, map or struct.
            if len(stack) == MAX_DEPTH:
                return 3, start, rows
            stack.append((kind, row, last, left, element, other, owner_row, owner_slot))
            owner_row, owner_slot = row, slot
            if wire == STRUCT:
                kind, last, left = child, 0, -1
                if kind and not traits[kind][_SHARES_ROW]:
                    if len(rows) == capacity:
                        return FULL, pos, rows
                    row = len(rows)
                    values = [ABSENT] * width
                    spans = [[-1, -1, -1] for _ in range(width)]
                    spans[0][:2] = start, start
                    rows.append(Row(kind, values, spans))
            else:
                kind = child
                left = 2 * value if wire == MAP and 0 <= value <= limit else value
                element = inner
                other = inner if wire != MAP else second
                if left < 0 or left > limit - pos:
                    return 4, start, rows
                is_other = wanted and left and inner != wanted
                if is_other and not (I16 <= inner <= I64 and I16 <= wanted <= I64):
                    return 8, start, rows
        # Find the next value, closing whatever ends here.
        while True:
            if left > 0:
                left -= 1
                wire = element
                element, other = other, wire
                slot, child, wanted = IGNORED, kind, 0
                header = pos
                break
            if left < 0:
                if pos >= limit:
                    return 1, pos, rows
                header = pos
                byte = data[pos]
                pos += 1
                ends = byte == 0
                before = last
                if not ends:
                    wire = byte & _NIBBLE
                    last += byte >> 4
                    if byte <= _NIBBLE:
                        last = 0
                        shift = 0
                        byte = 128
                        while byte > _LOW_BITS:
                            if pos >= limit:
                                return 1, pos, rows
                            if shift > _MAX_ID_SHIFT:
                                return 6, pos, rows
                            byte = data[pos]
                            last |= (byte & _LOW_BITS) << shift
                            shift += 7
                            pos += 1
                        last = (last >> 1) ^ -(last & 1)
                mark = traits[kind][_MARK_ID]
                if mark > 0 and (ends or last >= mark):
                    at = traits[kind][_MARK_SLOT]
                    if spans[at][0] < 0:
                        values[at] = before
                        spans[at][0] = header
                if not ends:
                    slot, child, wanted = UNKNOWN, 0, 0
                    if last > 0 and last < MAX_FIELD:
                        slot = slots[kind][last]
                        child = children[kind][last]
                        expected = wires[kind][last] & _NIBBLE
                        is_boolean = expected == TRUE and wire == FALSE
                        if slot >= 0 and expected != wire and not is_boolean:
                            slot, child = UNKNOWN, 0
                        if wire == LIST:
                            wanted = wires[kind][last] >> ELEMENTS_SHIFT
                    unknown = traits[kind][_UNKNOWN_SLOT]
                    if slot == UNKNOWN and unknown >= 0 and spans[unknown][0] < 0:
                        values[unknown] = last
                        spans[unknown][:2] = header, pos
                    break
                if kind and not traits[kind][_SHARES_ROW]:
                    spans[0][2] = pos
                    if pos - spans[0][1] < traits[kind][_MIN_BYTES]:
                        return 7, pos, rows
            # The struct or list ends here: go up.
            if owner_slot >= 0:
                rows[owner_row].spans[owner_slot][2] = pos
            kind, row, last, left, element, other, owner_row, owner_slot = stack.pop()
            if not stack:
                return 0, pos, rows
            _, values, spans = rows[row]
