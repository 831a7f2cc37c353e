"""The loop of `scan`: one function, run by CPython as it is, or compiled from the same source.

It knows nothing of Parquet. What it looks for, and where it notes it, is in the arrays that it is
given; `scan` makes them.
"""

from __future__ import annotations

ABSENT = -(2**63)
"""The integer of a slot whose field is not there."""

HEADER, START, STOP = 0, 1, 2
"""Columns of `spans`: position of the field header, first byte, and past the last byte."""

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT, UUID = range(1, 14)
"""Wire types of the compact protocol."""

MAX_DEPTH = 64
"""Structs and lists that may be open at once."""

MAX_FIELD = 32
"""Field ids of interest are below this."""

STACK_WIDTH = 8
"""Numbers kept of each open struct or list."""

TRAITS = 5
"""Numbers that a grammar has of each kind, besides its fields."""

HEAD_WORDS = 3 + MAX_DEPTH * STACK_WIDTH
"""Numbers before the table of the compiled loop: what `scan_loop` returns, and its stack."""

UNKNOWN, IGNORED = -1, -2
"""In place of a slot: nobody expects the field, or nobody needs it."""

ELEMENTS_SHIFT = 4
"""In `wires`, the type of a list's elements stands above the list's own."""

FULL = 9
"""Returned if there are more structs than rows; not a problem of the bytes."""

_NIBBLE, _LONG_LIST = 0x0F, 0x0F
_LOW_BITS = 0x7F
_SIGN_BIT = 63
_MAX_ID_SHIFT = 14
"""A field id has 16 bits: a varint of three bytes."""


def scan_loop(data, pos, slots, wires, children, traits, kinds, values, spans, stack):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201, C901, PLR0911, PLR0912, PLR0913, PLR0915, PLR0917
    """Fill the table; return the problem's number or 0, the position, and the number of rows.

    Arrays: `slots`, `wires` and `children` have shape (kinds, `MAX_FIELD`), `traits` (kinds,
    `TRAITS`), `kinds` (n,), `values` (n, w), `spans` (n, w, 3), `stack` (`MAX_DEPTH`,
    `STACK_WIDTH`).
    """
    limit = len(data)
    rows = 0
    # The open struct or list: its kind and row, its last field id, the elements left in it (-1 for
    # a struct), the types of its elements (two for a map, in turn), and the slot whose STOP is
    # written when it closes. `wanted` is the type that elements of the next list must have, or 0.
    depth = 0
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
            value = data[pos] & 255
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
                byte = data[pos] & 255
                if shift >= _SIGN_BIT and byte > 1:
                    return 6, pos, rows
                low = byte & _LOW_BITS
                # The 64th bit is the sign bit: written so that neither Python nor int64 overflows.
                if shift < _SIGN_BIT:
                    value |= low << shift
                elif low:
                    value |= -(1 << 62) * 2
                shift += 7
                pos += 1
            if wire < BINARY:
                half = (value >> 1) & 0x7FFFFFFFFFFFFFFF
                value = -half - 1 if value & 1 else half
        if wire == BINARY:
            if value < 0 or value > limit - pos:
                return 1, start, rows
            pos += value
        elif wire == MAP:
            inner, second = 0, 0
            if value:
                if pos >= limit:
                    return 1, pos, rows
                inner = (data[pos] & 255) >> 4
                second = data[pos] & _NIBBLE
                pos += 1
        if pos > limit:
            return 1, start, rows
        if slot >= 0:
            if spans[row, slot, 0] >= 0:
                return 5, header, rows
            values[row, slot] = value
            spans[row, slot, 0] = header
            spans[row, slot, 1] = start
            spans[row, slot, 2] = pos
        if LIST <= wire <= STRUCT:
            # Go down into the list, map or struct.
            if depth == MAX_DEPTH:
                return 3, start, rows
            saved = (kind, row, last, left, element, other, owner_row, owner_slot)
            for i in range(8):
                stack[depth, i] = saved[i]
            depth += 1
            owner_row, owner_slot = row, slot
            if wire == STRUCT:
                kind, last, left = child, 0, -1
                if kind and not traits[kind, 0]:
                    if rows == len(kinds):
                        return FULL, pos, rows
                    row = rows
                    rows += 1
                    kinds[row] = kind
                    spans[row, 0, 0] = start
                    spans[row, 0, 1] = start
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
                byte = data[pos] & 255
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
                            byte = data[pos] & 255
                            last |= (byte & _LOW_BITS) << shift
                            shift += 7
                            pos += 1
                        last = (last >> 1) ^ -(last & 1)
                mark = traits[kind, 2]
                if mark > 0 and (ends or last >= mark):
                    at = traits[kind, 3]
                    if spans[row, at, 0] < 0:
                        values[row, at] = before
                        spans[row, at, 0] = header
                if not ends:
                    slot, child, wanted = UNKNOWN, 0, 0
                    if last > 0 and last < MAX_FIELD:
                        slot = slots[kind, last]
                        child = children[kind, last]
                        expected = wires[kind, last] & _NIBBLE
                        is_boolean = expected == TRUE and wire == FALSE
                        if slot >= 0 and expected != wire and not is_boolean:
                            slot, child = UNKNOWN, 0
                        if wire == LIST:
                            wanted = wires[kind, last] >> ELEMENTS_SHIFT
                    unknown = traits[kind, 1]
                    if slot == UNKNOWN and unknown >= 0 and spans[row, unknown, 0] < 0:
                        values[row, unknown] = last
                        spans[row, unknown, 0] = header
                        spans[row, unknown, 1] = pos
                    break
                if kind and not traits[kind, 0]:
                    spans[row, 0, 2] = pos
                    if pos - spans[row, 0, 1] < traits[kind, 4]:
                        return 7, pos, rows
            # The struct or list ends here: go up.
            if owner_slot >= 0:
                spans[owner_row, owner_slot, 2] = pos
            depth -= 1
            kind = stack[depth, 0]
            row = stack[depth, 1]
            last = stack[depth, 2]
            left = stack[depth, 3]
            element = stack[depth, 4]
            other = stack[depth, 5]
            owner_row = stack[depth, 6]
            owner_slot = stack[depth, 7]
            if depth == 0:
                return 0, pos, rows
