"""A scan of Thrift compact bytes that records the positions of the fields of interest.

Parquet's metadata is Thrift compact protocol. A struct is a run of fields and a zero byte:

    field  = (delta << 4 | type) value            id = previous id + delta, delta 1..15
           | (0 << 4 | type) zigzag-varint(id) value
    list   = (size << 4 | type) values             size 0..14
           | (15 << 4 | type) varint(size) values
    map    = varint(size) [key type << 4 | value type] keys and values in turn

`scan` decodes no object. It fills one table: a row for each struct of interest, a slot for each
field of interest, and in the slot the field's integer (or its length, for binaries and lists) and
three byte positions: of the field's header, of its first byte, and past its last. Everything else
is stepped over. A `StructSchema` says what is of interest.

The loop is a kernel. Nothing is trusted: every read is bounded, nesting is limited, list sizes are
held against the bytes that are left, and a slot that is filled twice is an error.

Source: Apache Thrift, "Thrift Compact protocol encoding"; parquet.thrift.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter import kernels
from parquet_bloomwriter.errors import MalformedFile
from parquet_bloomwriter.kernels.layout import (
    ELEMENTS_SHIFT,
    FULL,
    IGNORED,
    MAX_FIELD,
    MAX_SCAN_BYTES,
    PROBLEMS,
    SCHEMA_WORDS,
    UNKNOWN,
)
from parquet_bloomwriter.kernels.layout import ENDS_EARLY as _ENDS_EARLY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

ENDS_EARLY = f"the metadata {PROBLEMS[_ENDS_EARLY]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StructKind:
    """A kind of struct of interest, and its fields."""

    slots: Mapping[int, tuple[int, int]]
    """Field id -> slot that its position and integer go to, and the wire type it must have: `TRUE`
    for booleans, whose integer is 1 or 0. With another wire type it is an unknown field, as it is
    for generated readers."""

    children: Mapping[int, str] = field(default_factory=dict)
    """Field id -> name of the kind of the struct, or of the list's structs, in the field."""

    elements: Mapping[int, int] = field(default_factory=dict)
    """Field id -> wire type of its list's elements; another wire type is an error, because
    generated readers would misread all that follows. I16, I32 and I64 count as one type."""

    ignored: tuple[int, ...] = ()
    """Ids of known fields that are of no interest."""

    shares_row: bool = False
    """Whether the struct uses the row of the enclosing struct instead of a new row."""

    unknown_slot: int = -1
    """Slot for the id and the position of the first field that is neither in `slots` nor
    ignored."""

    mark_id: int = 0
    """Id of a field whose place is recorded: before the first field that has this id or a higher
    one, or before the struct's closing zero; 0 to record nothing."""

    mark_slot: int = -1
    """Slot of the mark: its integer is the id of the field before, its header the position."""

    min_bytes: int = 0
    """Least bytes of the required fields; keeps the table in proportion to the input."""


@dataclass(frozen=True, slots=True)
class StructSchema:
    """The kinds of structs that are of interest, as the array that the kernel reads."""

    names: tuple[str, ...]
    """Names of the kinds by number, from 1; name 0 is empty."""

    words: NDArray[np.int64]
    """Slots, wire types and children, shape (kinds, `MAX_FIELD`), and traits, shape (kinds,
    `TRAITS`), one behind the other: see `kernels.layout`."""

    width: int
    """Number of slots of a row."""

    @staticmethod
    def of(kinds: Mapping[str, StructKind]) -> StructSchema:
        """Return the schema of kinds, numbered from 1 in the order given; the first is the root."""
        names = ("", *kinds)
        fields = len(names) * MAX_FIELD
        words = np.zeros(len(names) * SCHEMA_WORDS, np.int64)
        slots, wires, children = words[: 3 * fields].reshape(3, len(names), MAX_FIELD)
        traits = words[3 * fields :].reshape(len(names), -1)
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
        words.flags.writeable = False  # kernels read it without the interpreter's lock
        return StructSchema(names, words, width)


@dataclass(frozen=True, slots=True)
class Table:
    """The result of `scan`: n structs of w slots each, in the order of their first bytes."""

    kinds: NDArray[np.int64]
    """Kind number of each row, shape (n,)."""

    values: NDArray[np.int64]
    """Integer, or length, of each field, shape (n, w); `ABSENT` where the field is absent."""

    spans: NDArray[np.int32]
    """Positions `HEADER`, `START`, `STOP` of each field, shape (n, w, 3); -1 where absent. Slot 0
    is the struct itself."""

    stop: int
    """Position past the root struct."""


def scan(data: bytes, schema: StructSchema, *, start: int = 0, origin: int = 0) -> Table:
    """Find the fields of interest of the struct at `start`.

    Args:
        data: Thrift compact bytes.
        schema: The structs and fields that are of interest.
        start: Position of the root struct's first byte in `data`.
        origin: Absolute position of `data` in its file, for error messages.

    Returns:
        The table; positions are relative to `data`.

    Raises:
        MalformedFile: If the bytes are not well-formed Thrift.
    """
    if len(data) > MAX_SCAN_BYTES:
        raise MalformedFile("the metadata has more than 2 GiB", byte=origin)
    width, capacity = schema.width, _FIRST_ROWS + (len(data) - start) // _BYTES_PER_ROW
    while True:
        kinds = np.empty(capacity, np.int64)
        values = np.empty((capacity, width), np.int64)
        spans = np.empty((capacity, width, 3), np.int32)
        problem, stop, rows = kernels.scan(data, start, schema.words, width, kinds, values, spans)
        if problem != FULL:
            break
        capacity *= 4
    if problem:
        raise MalformedFile(f"the metadata {PROBLEMS[problem]}", byte=origin + stop)
    return Table(kinds[:rows], values[:rows], spans[:rows], stop)


_FIRST_ROWS = 16
_BYTES_PER_ROW = 64
"""Bytes for each row of the table; typical footers have more. If a table has too few rows, a larger
one is made."""
