"""Find column chunks whose metadata contradict the schema: pyarrow must not compare statistics.

pyarrow looks at the statistics of the columns in a filter before it reads a row group. There its
C++ code throws where nothing catches: a scan waits forever, and does not notice Ctrl-C, or the
process ends. It throws if a column chunk

- names another physical type than the schema does;
- has a histogram of levels that is neither empty nor of one number for each level, or counts bytes
  of variable length for a column that has none (SizeStatistics);
- has a minimum or maximum shorter than a value of its type;
- is encrypted with a key of its own, and no keys are given.

The first two contradict the schema. A short minimum or maximum does so, too, unless it is empty or
of a FIXED_LEN_BYTE_ARRAY: parquet-rs shortens those to 64 bytes, which is valid.

Source: parquet.thrift, ColumnMetaData, Statistics, SizeStatistics, ColumnCryptoMetaData; Arrow C++
26, metadata.cc, size_statistics.cc and statistics.cc.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum, auto
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.compact.scan import StructKind, StructSchema, scan
from parquet_bloomwriter.kernels.layout import BINARY, I32, I64, LIST, STRUCT
from parquet_bloomwriter.metadata.footer import Structs
from parquet_bloomwriter.metadata.schema import PhysicalType, Repetition

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from parquet_bloomwriter.metadata.schema import Leaf

    Flags = NDArray[np.bool_]


class Consequence(StrEnum):
    """The consequence of a contradiction for a filter on the column."""

    REFUSE = auto()
    """The file is malformed."""

    SKIP_STATISTICS = auto()
    """The file is sound. pyarrow can read the column, but not compare its statistics."""

    NEED_KEYS = auto()
    """The column is encrypted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """A column whose statistics pyarrow must not compare, by its first such column chunk."""

    row_group: int
    """Ordinal of the row group, 0-based."""

    consequence: Consequence
    problem: str
    """The contradiction between metadata and schema, a clause."""


class _Field(IntEnum):
    """Slots for a ColumnChunk, its ColumnMetaData and the structs in it."""

    STRUCT = 0
    COLUMN_KEY = 1
    TYPE = 2
    DEPRECATED_MAX = 3
    DEPRECATED_MIN = 4
    MAX_VALUE = 5
    MIN_VALUE = 6
    BYTE_ARRAY_BYTES = 7
    REPETITION_LEVELS = 8
    DEFINITION_LEVELS = 9
    STRUCTS = 10
    """First slot of structs and lists of which only the contents matter; each has a slot of its
    own."""


_BOUNDS = (_Field.DEPRECATED_MAX, _Field.DEPRECATED_MIN, _Field.MAX_VALUE, _Field.MIN_VALUE)

_CHUNKS = StructSchema.of(
    {
        "FileMetaData": StructKind(slots={4: (_Field.STRUCTS, LIST)}, children={4: "RowGroup"}),
        "RowGroup": StructKind(
            slots={1: (_Field.STRUCTS, LIST)}, children={1: "ColumnChunk"}, min_bytes=6
        ),
        "ColumnChunk": StructKind(
            slots={3: (_Field.STRUCTS, STRUCT), 8: (_Field.STRUCTS + 1, STRUCT)},
            children={3: "ColumnMetaData", 8: "ColumnCryptoMetaData"},
            min_bytes=6,
        ),
        "ColumnCryptoMetaData": StructKind(slots={2: (_Field.COLUMN_KEY, STRUCT)}, shares_row=True),
        "ColumnMetaData": StructKind(
            slots={
                1: (_Field.TYPE, I32),
                12: (_Field.STRUCTS + 2, STRUCT),
                16: (_Field.STRUCTS + 3, STRUCT),
            },
            children={12: "Statistics", 16: "SizeStatistics"},
            shares_row=True,
        ),
        "Statistics": StructKind(
            slots={
                1: (_Field.DEPRECATED_MAX, BINARY),
                2: (_Field.DEPRECATED_MIN, BINARY),
                5: (_Field.MAX_VALUE, BINARY),
                6: (_Field.MIN_VALUE, BINARY),
            },
            shares_row=True,
        ),
        "SizeStatistics": StructKind(
            slots={
                1: (_Field.BYTE_ARRAY_BYTES, I64),
                2: (_Field.REPETITION_LEVELS, LIST),
                3: (_Field.DEFINITION_LEVELS, LIST),
            },
            shares_row=True,
        ),
    }
)


def find_contradictions(
    data: bytes, leaves: Sequence[Leaf], *, start: int
) -> dict[int, Contradiction]:
    """Return the columns whose statistics pyarrow must not compare, by leaf ordinal.

    Args:
        data: A footer that `parse_footer` has accepted.
        leaves: Its c leaf columns.
        start: Absolute position of `data` in its file, in bytes.

    Raises:
        MalformedFile: If a field that is looked at is there twice.
    """
    table = scan(data, _CHUNKS, origin=start)
    is_chunk = table.kinds == _CHUNKS.names.index("ColumnChunk")
    shape = (int(is_chunk.sum()) // max(len(leaves), 1), len(leaves), _CHUNKS.width)
    chunks = Structs(
        table.values[is_chunk].reshape(shape), table.spans[is_chunk].reshape(*shape, 3)
    )
    found: dict[int, Contradiction] = {}
    for flags, consequence, problem in _checks(chunks, leaves):
        for ordinal in np.flatnonzero(flags.any(axis=0)).tolist():
            row_group = int(flags[:, ordinal].argmax())
            found.setdefault(
                ordinal,
                Contradiction(row_group=row_group, consequence=consequence, problem=problem),
            )
    return found


def _checks(chunks: Structs, leaves: Sequence[Leaf]) -> Iterator[tuple[Flags, Consequence, str]]:
    """Yield the flags of (r, c) column chunks with a problem; the gravest problem comes first."""
    types = np.array([leaf.physical_type for leaf in leaves], np.int64)
    widths = np.array([_width(leaf) for leaf in leaves], np.int64)
    yield (
        chunks.has(_Field.TYPE) & (chunks.value(_Field.TYPE) != types),
        Consequence.REFUSE,
        "its metadata name another physical type than the schema",
    )
    for field, levels in (
        (_Field.DEFINITION_LEVELS, _levels(leaves, Repetition.OPTIONAL, Repetition.REPEATED)),
        (_Field.REPETITION_LEVELS, _levels(leaves, Repetition.REPEATED)),
    ):
        sizes = chunks.value(field)
        yield (
            (sizes > 0) & (sizes != levels + 1),
            Consequence.REFUSE,
            "its size statistics have another number of levels than the schema",
        )
    yield (
        chunks.has(_Field.BYTE_ARRAY_BYTES) & (types != PhysicalType.BYTE_ARRAY),
        Consequence.REFUSE,
        "its size statistics count bytes of BYTE_ARRAY, which is not its type",
    )
    may_be_shortened = types == PhysicalType.FIXED_LEN_BYTE_ARRAY
    is_short = np.zeros(chunks.values.shape[:2], np.bool_)
    is_cut = is_short.copy()
    for field in _BOUNDS:
        lengths = chunks.value(field)
        shorter = (lengths >= 0) & (lengths < widths)
        is_short |= shorter
        is_cut |= shorter & (lengths > 0) & ~may_be_shortened
    yield (
        is_cut,
        Consequence.REFUSE,
        "its statistics have a minimum or maximum that is shorter than its values",
    )
    yield chunks.has(_Field.COLUMN_KEY), Consequence.NEED_KEYS, "the column is encrypted"
    problem = "its statistics have a shortened minimum or maximum"
    yield is_short, Consequence.SKIP_STATISTICS, problem


def _width(leaf: Leaf) -> int:
    """Return the least bytes of a minimum or maximum that pyarrow can decode."""
    return leaf.plain_width or int(leaf.physical_type == PhysicalType.BOOLEAN)


def _levels(leaves: Sequence[Leaf], *counted: Repetition) -> NDArray[np.int64]:
    """Return the greatest level of each column, shape (c,)."""
    return np.array(
        [sum(repetition in counted for repetition in leaf.repetitions) for leaf in leaves], np.int64
    )
