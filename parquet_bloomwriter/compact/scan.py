"""One pass over Thrift compact bytes that notes where every field of interest lies.

Parquet's metadata is Thrift compact protocol. A struct is a run of fields and a zero byte:

    field  = (delta << 4 | type) value            id = previous id + delta, delta 1..15
           | (0 << 4 | type) zigzag-varint(id) value
    list   = (size << 4 | type) values             size 0..14
           | (15 << 4 | type) varint(size) values
    map    = varint(size) [key type << 4 | value type] keys and values in turn

`scan` decodes no object. It fills one table: a row for each struct of an interesting kind,
a slot for each interesting field, and in it the field's integer (or its length, for binaries
and lists) and three byte positions: of its header, of its first byte, and past its last.
Everything else is stepped over. The tables that say what is interesting are a `Grammar`.

The loop is one function without helpers or recursion: CPython runs it as it is on small
inputs, and the same source is compiled for large ones.

Nothing is trusted: every read is bounded, nesting is limited, list sizes are held against the
bytes that are left, and a slot that is filled twice is an error.

Source: Apache Thrift, "Thrift Compact protocol encoding"; parquet.thrift.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from parquet_bloomwriter import native
from parquet_bloomwriter.errors import MalformedFile

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

ABSENT = -(2**63)
"""The integer of a slot whose field is not there."""

HEADER, START, STOP = 0, 1, 2
"""Columns of `Table.spans`: position of the field header, first byte, and past the last byte."""

LOAD_FROM, COMPILE_FROM = 16 * 1024, 256 * 1024
"""Bytes from which loading the compiled loop, and from which even compiling it, is quicker than
running it as it is."""

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT, UUID = range(1, 14)
"""Wire types of the compact protocol."""

_MAX_DEPTH = 64
_UNKNOWN, _IGNORED = -1, -2
_NIBBLE, _LONG_LIST = 0x0F, 0x0F
_LOW_BITS = 0x7F
_SIGN_BIT = 63
_MAX_ID_SHIFT = 14
"""A field id has 16 bits: a varint of three bytes."""
_MAX_FIELD = 32
_PROBLEMS = {
    1: "the metadata ends in the middle of a value",
    2: "the metadata uses a Thrift type that does not exist",
    3: "the metadata is nested too deeply",
    4: "the metadata claims more elements than it has bytes for",
    5: "the metadata holds the same field twice",
    6: "the metadata has a varint of more than 64 bits",
    7: "the metadata has a struct too short for its required fields",
}
_FULL = 8
"""Not a problem of the bytes: there are more structs than rows."""

_STACK = 8
"""Numbers kept of each open struct or list."""
_KERNELS = "compact.kernels"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A struct type of interest."""

    slots: Mapping[int, tuple[int, int]]
    """Field id -> slot that its position and integer go to, and the wire type it must have. With
    another wire type it is an unknown field, as it is for generated readers."""

    children: Mapping[int, str] = field(default_factory=dict)
    """Field id -> name of the kind of the struct (or of the list's structs) it holds."""

    ignored: tuple[int, ...] = ()
    """Ids of known fields that are of no interest."""

    shares_row: bool = False
    """Write into the row of the enclosing struct instead of a new one."""

    unknown_slot: int = -1
    """Slot that takes the first field that is neither in `slots` nor ignored: its id, its place."""

    mark_id: int = 0
    """Note where a field with this id belongs: before the first field that has this id or a
    higher one, or before the struct's closing zero. 0 notes nothing."""

    mark_slot: int = -1
    """Slot of that note: its integer is the field id before the mark, its header the position."""

    min_bytes: int = 0
    """Bytes that the required fields take at least; keeps the table in proportion to the input."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """The kinds of interest, as the arrays that the loop reads."""

    names: tuple[str, ...]
    slots: NDArray[np.int64]
    wires: NDArray[np.int64]
    children: NDArray[np.int64]
    traits: NDArray[np.int64]
    width: int

    @staticmethod
    def of(kinds: Mapping[str, Kind]) -> Grammar:
        """Number the kinds from 1 in the order given; the first is the root."""
        names = ("", *kinds)
        slots = np.full((len(names), _MAX_FIELD), _UNKNOWN, np.int64)
        wires = np.zeros((len(names), _MAX_FIELD), np.int64)
        children = np.zeros((len(names), _MAX_FIELD), np.int64)
        traits = np.full((len(names), 5), -1, np.int64)
        traits[:, 0] = 0
        for number, kind in enumerate(kinds.values(), start=1):
            for field_id in kind.ignored:
                slots[number, field_id] = _IGNORED
            for field_id, (slot, wire) in kind.slots.items():
                slots[number, field_id] = slot
                wires[number, field_id] = wire
            for field_id, child in kind.children.items():
                children[number, field_id] = names.index(child)
            traits[number] = (
                kind.shares_row,
                kind.unknown_slot,
                kind.mark_id,
                kind.mark_slot,
                kind.min_bytes,
            )
        width = 1 + max(int(slots.max()), int(traits[:, 1].max()), int(traits[:, 3].max()))
        return Grammar(names, slots, wires, children, traits, width)


@dataclass(frozen=True, slots=True)
class Table:
    """What `scan` found: n structs, w slots each, in the order of their first bytes."""

    kinds: NDArray[np.int64]
    """Kind number of each row, shape (n,)."""

    values: NDArray[np.int64]
    """Integer, or length, of each field; `ABSENT` where it is not there. Shape (n, w)."""

    spans: NDArray[np.int32]
    """Positions `HEADER`, `START`, `STOP` of each field, -1 where absent. Shape (n, w, 3).
    Slot 0 is the struct itself."""

    stop: int
    """Position past the root struct."""


def scan(data: bytes, grammar: Grammar, *, start: int = 0, origin: int = 0) -> Table:
    """Find the fields of interest of the struct at `start`.

    Args:
        data: Thrift compact bytes.
        grammar: What is of interest.
        start: Position of the root struct's first byte in `data`.
        origin: Absolute position of `data` in its file, for error messages.

    Returns:
        The table; positions are relative to `data`.

    Raises:
        MalformedFile: If the bytes are not well-formed Thrift.
    """
    loop = _compiled if _is_worth_it(len(data) - start) else scan_loop
    capacity = _FIRST_ROWS + (len(data) - start) // _BYTES_PER_ROW
    stack = np.zeros((_MAX_DEPTH, _STACK), np.int64)
    while True:
        kinds = np.zeros(capacity, np.int64)
        values = np.full((capacity, grammar.width), ABSENT, np.int64)
        spans = np.full((capacity, grammar.width, 3), -1, np.int32)
        problem, stop, rows = loop(
            data,
            start,
            grammar.slots,
            grammar.wires,
            grammar.children,
            grammar.traits,
            kinds,
            values,
            spans,
            stack,
        )
        if problem != _FULL:
            break
        capacity *= 4
    if problem:
        raise MalformedFile(_PROBLEMS[problem], byte=origin + stop)
    return Table(kinds[:rows], values[:rows], spans[:rows], stop)


_FIRST_ROWS = 16
_BYTES_PER_ROW = 64
"""Of typical footers, fewer; tables grow if there are more rows."""


def _is_worth_it(size: int) -> bool:
    return native.is_loaded(_KERNELS) or size >= (
        LOAD_FROM if native.are_compiled(_KERNELS) else COMPILE_FROM
    )


def _compiled(data: bytes, pos: int, *arrays: NDArray[Any]) -> tuple[int, int, int]:
    """Run the compiled loop, which takes addresses and sizes."""
    result = np.zeros(3, np.int64)
    sizes = (len(arrays[0]), len(arrays[4]), arrays[5].shape[1])
    native.kernels(_KERNELS).scan(
        native.address(np.frombuffer(data, np.uint8)),
        len(data),
        pos,
        *sizes,
        *map(native.address, arrays),
        native.address(result),
    )
    problem, stop, rows = result.tolist()
    return problem, stop, rows


def scan_loop(data, pos, slots, wires, children, traits, kinds, values, spans, stack):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201, C901, PLR0911, PLR0912, PLR0913, PLR0915, PLR0917
    """Fill the table; return the problem's number or 0, the position, and the number of rows.

    Arrays: `slots`, `wires` and `children` have shape (kinds, `_MAX_FIELD`), `traits` (kinds, 5),
    `kinds` (n,), `values` (n, w), `spans` (n, w, 3), `stack` (`_MAX_DEPTH`, `_STACK`).
    """
    limit = len(data)
    rows = 0
    # The open struct or list: its kind and row, its last field id, the elements left in it (-1 for
    # a struct), the types of its elements (two for a map, in turn), and the slot whose STOP is
    # written when it closes.
    depth = 0
    kind, row, last, left, owner_row, owner_slot = 0, 0, 0, 0, -1, -1
    element = other = STRUCT
    child = 1
    wire = STRUCT
    slot = _IGNORED
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
            if depth == _MAX_DEPTH:
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
                        return _FULL, pos, rows
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
        # Find the next value, closing whatever ends here.
        while True:
            if left > 0:
                left -= 1
                wire = element
                element, other = other, wire
                slot, child = _IGNORED, kind
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
                    slot, child = _UNKNOWN, 0
                    if last > 0 and last < _MAX_FIELD:
                        slot = slots[kind, last]
                        child = children[kind, last]
                        if slot >= 0 and wires[kind, last] != wire:
                            slot, child = _UNKNOWN, 0
                    unknown = traits[kind, 1]
                    if slot == _UNKNOWN and unknown >= 0 and spans[row, unknown, 0] < 0:
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
