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
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from parquet_bloomwriter import native
from parquet_bloomwriter.compact.loop import (
    ABSENT,
    ELEMENTS_SHIFT,
    FULL,
    HEAD_WORDS,
    IGNORED,
    MAX_DEPTH,
    MAX_FIELD,
    STACK_WIDTH,
    TRAITS,
    UNKNOWN,
    scan_loop,
)
from parquet_bloomwriter.errors import MalformedFile

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

LOAD_FROM, COMPILE_FROM = 16 * 1024, 256 * 1024
"""Bytes scanned by a process from which loading the compiled loop, and from which even compiling
it, is quicker than running it as it is."""

ENDS_EARLY = "the metadata ends in the middle of a value"
_PROBLEMS = {
    1: ENDS_EARLY,
    2: "the metadata uses a Thrift type that does not exist",
    3: "the metadata is nested too deeply",
    4: "the metadata claims more elements than it has bytes for",
    5: "the metadata holds the same field twice",
    6: "the metadata has a varint of more than 64 bits",
    7: "the metadata has a struct too short for its required fields",
    8: "the metadata has a list whose elements are of another type than Parquet's",
}
"""By the numbers that `scan_loop` returns."""

_KERNELS = "compact.kernels"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A struct type of interest."""

    slots: Mapping[int, tuple[int, int]]
    """Field id -> slot that its position and integer go to, and the wire type it must have: `TRUE`
    for booleans, whose integer is 1 or 0. With another wire type it is an unknown field, as it is
    for generated readers."""

    children: Mapping[int, str] = field(default_factory=dict)
    """Field id -> name of the kind of the struct (or of the list's structs) it holds."""

    elements: Mapping[int, int] = field(default_factory=dict)
    """Field id -> wire type of its list's elements. Generated readers take for granted that they
    have it and read on astray, so it is an error if they have not. All integers are alike."""

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
    """Of the kinds, from 1; the first is empty."""

    arrays: tuple[NDArray[np.int64], ...]
    """Slots, wire types and children, shape (kinds, `MAX_FIELD`), and traits, (kinds, `TRAITS`),
    one behind the other in memory."""

    width: int
    """Slots of a row."""

    address: int
    """Of the first array."""

    @staticmethod
    def of(kinds: Mapping[str, Kind]) -> Grammar:
        """Number the kinds from 1 in the order given; the first is the root."""
        names = ("", *kinds)
        fields = len(names) * MAX_FIELD
        memory = np.zeros(3 * fields + len(names) * TRAITS, np.int64)
        slots, wires, children = memory[: 3 * fields].reshape(3, len(names), MAX_FIELD)
        traits = memory[3 * fields :].reshape(len(names), TRAITS)
        slots[:], traits[:], traits[:, 0] = UNKNOWN, -1, 0
        for number, kind in enumerate(kinds.values(), start=1):
            for field_id in kind.ignored:
                slots[number, field_id] = IGNORED
            for field_id, (slot, wire) in kind.slots.items():
                slots[number, field_id] = slot
                wires[number, field_id] = wire
            for field_id, wire in kind.elements.items():
                wires[number, field_id] |= wire << ELEMENTS_SHIFT
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
        return Grammar(names, (slots, wires, children, traits), width, native.address(memory))


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
    run = _compiled if _is_worth_it(len(data) - start) else _interpreted
    capacity = _FIRST_ROWS + (len(data) - start) // _BYTES_PER_ROW
    while True:
        problem, stop, rows, (kinds, values, spans) = run(data, start, grammar, capacity)
        if problem != FULL:
            break
        capacity *= 4
    if problem:
        raise MalformedFile(_PROBLEMS[problem], byte=origin + stop)
    return Table(kinds[:rows], values[:rows], spans[:rows], stop)


_Outcome: TypeAlias = """tuple[
    int, int, int, tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]
]"""
"""The problem's number or 0, the position, the number of rows, and the table's arrays."""

_FIRST_ROWS = 16
_BYTES_PER_ROW = 64
"""Of typical footers, fewer; tables grow if there are more rows."""


_interpreted_bytes = 0
"""Bytes that were scanned without the compiled loop, of all inputs so far."""


def _is_worth_it(size: int) -> bool:
    """Whether to take the compiled loop: many small inputs are as good a reason as a large one."""
    global _interpreted_bytes  # noqa: PLW0603  races only make it a little late
    if native.is_loaded(_KERNELS):
        return True
    _interpreted_bytes += size
    return _interpreted_bytes >= (LOAD_FROM if native.are_compiled(_KERNELS) else COMPILE_FROM)


def _interpreted(data: bytes, pos: int, grammar: Grammar, capacity: int) -> _Outcome:
    """Run the loop as it is."""
    kinds = np.zeros(capacity, np.int64)
    values = np.full((capacity, grammar.width), ABSENT, np.int64)
    spans = np.full((capacity, grammar.width, 3), -1, np.int32)
    stack = np.zeros((MAX_DEPTH, STACK_WIDTH), np.int64)
    problem, stop, rows = scan_loop(  # type: ignore[no-untyped-call, call-arg]
        data, pos, *grammar.arrays, kinds, values, spans, stack
    )
    return problem, stop, rows, (kinds, values, spans)


def _compiled(data: bytes, pos: int, grammar: Grammar, capacity: int) -> _Outcome:
    """Run the compiled loop, which takes addresses and sizes."""
    cells = capacity * grammar.width
    memory = np.empty(HEAD_WORDS + capacity + cells + (3 * cells + 1) // 2, np.int64)
    first = HEAD_WORDS + capacity
    values, spans = memory[first : first + cells], memory[first + cells :].view(np.int32)
    values.fill(ABSENT)
    spans.fill(-1)
    native.kernels(_KERNELS).scan(
        native.address(np.frombuffer(data, np.uint8)),
        len(data),
        pos,
        grammar.address,
        len(grammar.names),
        grammar.width,
        native.address(memory),
        capacity,
    )
    problem, stop, rows = memory[:3].tolist()
    table = (
        memory[HEAD_WORDS:first],
        values.reshape(capacity, grammar.width),
        spans[: 3 * cells].reshape(capacity, grammar.width, 3),
    )
    return problem, stop, rows, table
