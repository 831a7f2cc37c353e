"""The leaf columns of a file, from the flat list of SchemaElements.

The list is the schema tree in depth-first order: each group is followed by its `num_children`
subtrees. Column chunks stand in the order of the leaves, so a leaf is known by its ordinal; its
path is only a name, and may be ambiguous.

Source: parquet.thrift, SchemaElement.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.caches import register
from parquet_bloomwriter.compact.scan import scan
from parquet_bloomwriter.errors import MalformedFile
from parquet_bloomwriter.kernels.layout import ABSENT, START, STOP
from parquet_bloomwriter.metadata.fields import LOGICAL_TYPE, LogicalTypeField, SchemaField

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

_MAX_DEPTH = 64
_FLOAT16_BYTES = 2

_FIELDS = np.array(
    [SchemaField.STRUCT, SchemaField.NAME, SchemaField.LOGICAL_TYPE, SchemaField.LOGICAL_TYPE]
)
_ENDS = np.array([START, STOP, START, STOP])
"""For each of `_FIELDS`, the end of the field that is needed."""


class PhysicalType(IntEnum):
    """Physical types (parquet.thrift, Type)."""

    BOOLEAN = 0
    INT32 = 1
    INT64 = 2
    INT96 = 3
    FLOAT = 4
    DOUBLE = 5
    BYTE_ARRAY = 6
    FIXED_LEN_BYTE_ARRAY = 7


_PLAIN_WIDTHS = {
    PhysicalType.INT32: 4,
    PhysicalType.INT64: 8,
    PhysicalType.INT96: 12,
    PhysicalType.FLOAT: 4,
    PhysicalType.DOUBLE: 8,
}
LENGTH_BYTES = 4
"""Bytes of the length that PLAIN puts before each BYTE_ARRAY."""


class Repetition(IntEnum):
    """Repetitions (parquet.thrift, FieldRepetitionType)."""

    REQUIRED = 0
    OPTIONAL = 1
    REPEATED = 2


class ConvertedType(IntEnum):
    """Converted types (parquet.thrift, ConvertedType)."""

    UTF8 = 0
    MAP = 1
    MAP_KEY_VALUE = 2
    LIST = 3
    ENUM = 4
    DECIMAL = 5
    DATE = 6
    TIME_MILLIS = 7
    TIME_MICROS = 8
    TIMESTAMP_MILLIS = 9
    TIMESTAMP_MICROS = 10
    UINT_8 = 11
    UINT_16 = 12
    UINT_32 = 13
    UINT_64 = 14
    INT_8 = 15
    INT_16 = 16
    INT_32 = 17
    INT_64 = 18
    JSON = 19
    BSON = 20
    INTERVAL = 21


class LogicalType(IntEnum):
    """Logical types (parquet.thrift, union LogicalType): field ids of its members."""

    STRING = 1
    MAP = 2
    LIST = 3
    ENUM = 4
    DECIMAL = 5
    DATE = 6
    TIME = 7
    TIMESTAMP = 8
    INTEGER = 10
    UNKNOWN = 11
    JSON = 12
    BSON = 13
    UUID = 14
    FLOAT16 = 15
    VARIANT = 16
    GEOMETRY = 17
    GEOGRAPHY = 18


_NEWEST = max(LogicalType)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A leaf column of a file."""

    ordinal: int
    """0-based position among the leaves, and of its column chunk in every row group."""

    path: tuple[str, ...]
    """Names from below the root to the leaf; bytes that are not UTF-8 are escaped."""

    repetitions: tuple[Repetition, ...]
    """Repetition of each node on the path."""

    physical_type: PhysicalType

    type_length: int | None
    """Length of a FIXED_LEN_BYTE_ARRAY, bytes; None for other types."""

    converted_type: int | None
    """Converted type (parquet.thrift, ConvertedType); None without one."""

    scale: int | None
    precision: int | None

    logical_type: bytes
    """Bytes of the union LogicalType in the footer, Thrift compact; empty if absent."""

    @property
    def name(self) -> str:
        """The dotted path."""
        return ".".join(self.path)

    @property
    def logical_type_id(self) -> int:
        """Field id of the member of LogicalType that is set; 0 if none is, -1 if malformed."""
        return logical_type_fields(self.logical_type)[0]

    @property
    def plain_width(self) -> int | None:
        """Length of a value in PLAIN encoding, bytes; None for BYTE_ARRAY and BOOLEAN."""
        if self.physical_type == PhysicalType.FIXED_LEN_BYTE_ARRAY:
            return self.type_length or 0
        return _PLAIN_WIDTHS.get(self.physical_type)

    @property
    def is_interval(self) -> bool:
        """Return whether the values are of the INTERVAL type, which readers do not hash alike."""
        return self.converted_type == ConvertedType.INTERVAL

    @property
    def is_decimal(self) -> bool:
        """Return whether the values are decimals."""
        return (
            self.converted_type == ConvertedType.DECIMAL
            or self.logical_type_id == LogicalType.DECIMAL
        )

    @property
    def has_unknown_logical_type(self) -> bool:
        """Return whether the logical type is unknown: parquet.thrift has no such member so far."""
        return not 0 <= self.logical_type_id <= _NEWEST

    @property
    def is_float16(self) -> bool:
        """Return whether the values are half-precision floating-point numbers."""
        return (
            self.logical_type_id == LogicalType.FLOAT16
            and self.physical_type == PhysicalType.FIXED_LEN_BYTE_ARRAY
            and self.type_length == _FLOAT16_BYTES
        )


_MEMBERS = {
    LogicalTypeField.DECIMAL: LogicalType.DECIMAL,
    LogicalTypeField.TIME: LogicalType.TIME,
    LogicalTypeField.TIMESTAMP: LogicalType.TIMESTAMP,
    LogicalTypeField.INTEGER: LogicalType.INTEGER,
}


@lru_cache(maxsize=256)
def logical_type_fields(data: bytes) -> tuple[int, Mapping[int, int]]:
    """Read a union LogicalType.

    Args:
        data: Thrift compact bytes; empty if the column has no logical type.

    Returns:
        The field id of the member that is set, 0 if none is, -1 if the bytes are no such union; and
        the integers of the fields that are set, by `LogicalTypeField`.
    """
    if not data:
        return 0, {}
    try:
        table = scan(data, LOGICAL_TYPE)
    except MalformedFile:
        return -1, {}
    is_set = table.spans[0, :, START] >= 0
    fields = {slot: int(table.values[0, slot]) for slot in np.flatnonzero(is_set).tolist()}
    members = [int(member) for slot, member in _MEMBERS.items() if slot in fields]
    if LogicalTypeField.OTHER in fields:
        members.append(fields[LogicalTypeField.OTHER])
    if len(members) > 1:
        return -1, {}
    return sum(members), fields


register(logical_type_fields.cache_clear)


@dataclass(frozen=True, slots=True, eq=False)
class Schema:
    """The leaf columns of a file.

    Files whose schemas are the same bytes share one `Schema` (`footer.parse_footer`), so schemas
    are compared by identity, and serve as keys.
    """

    leaves: tuple[Leaf, ...]


def leaves_of(
    data: bytes, values: NDArray[np.int64], spans: NDArray[np.int32], *, origin: int
) -> tuple[Leaf, ...]:
    """Return the leaf columns, by a walk through the schema tree.

    Args:
        data: The footer.
        values: Integers of the n SchemaElements by `SchemaField`, shape (n, slots).
        spans: Their positions in `data`, shape (n, slots, 3).
        origin: Absolute position of `data` in its file.

    Raises:
        MalformedFile: If the elements do not form one tree, or a leaf has no known type.
    """
    leaves: list[Leaf] = []
    path: list[str] = []
    repetitions: list[Repetition] = []
    pending = [1]  # Subtrees still to come at each level; the root is the first of one.
    # Only what is needed: lists in lists keep the garbage collector busy.
    places = spans[:, _FIELDS, _ENDS].tolist()
    for row, (start, stop, type_start, type_stop) in zip(values.tolist(), places, strict=True):
        byte = origin + start
        if not pending:
            raise MalformedFile("the schema has elements outside its tree", byte=byte)
        pending[-1] -= 1
        name = data[stop - max(row[SchemaField.NAME], 0) : stop]
        path.append(name.decode(errors="backslashreplace"))
        repetitions.append(_repetition(row[SchemaField.REPETITION_TYPE], byte))
        children = max(row[SchemaField.NUM_CHILDREN], 0)
        if row[SchemaField.TYPE] != ABSENT and not children:
            if len(path) == 1:
                raise MalformedFile("the schema's root is a column, not a group", byte=byte)
            logical_type = data[type_start:type_stop] if type_start >= 0 else b""
            leaves.append(
                Leaf(
                    ordinal=len(leaves),
                    path=tuple(path[1:]),
                    repetitions=tuple(repetitions[1:]),
                    physical_type=_physical_type(row[SchemaField.TYPE], byte),
                    type_length=_optional(row[SchemaField.TYPE_LENGTH]),
                    converted_type=_optional(row[SchemaField.CONVERTED_TYPE]),
                    scale=_optional(row[SchemaField.SCALE]),
                    precision=_optional(row[SchemaField.PRECISION]),
                    logical_type=logical_type,
                )
            )
        pending.append(children)
        if len(pending) > _MAX_DEPTH:
            raise MalformedFile(f"the schema is more than {_MAX_DEPTH} levels deep", byte=byte)
        while pending and not pending[-1]:
            pending.pop()
            if path:
                path.pop()
                repetitions.pop()
    if pending:
        raise MalformedFile("the schema ends before its tree is complete", byte=origin)
    return tuple(leaves)


def _optional(value: int) -> int | None:
    return None if value == ABSENT else value


def _physical_type(value: int, byte: int) -> PhysicalType:
    try:
        return PhysicalType(value)
    except ValueError:
        raise MalformedFile(f"the schema names a physical type {value}", byte=byte) from None


def _repetition(value: int, byte: int) -> Repetition:
    if value == ABSENT:
        return Repetition.REQUIRED
    try:
        return Repetition(value)
    except ValueError:
        raise MalformedFile(f"the schema names a repetition type {value}", byte=byte) from None
