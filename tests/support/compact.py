"""Thrift compact bytes as plain Python values, by Thrift's own protocol class.

The package under test walks these bytes by itself; here nothing of it is used. A struct becomes a
dict by field id, so unknown fields are there like all others.
"""

from __future__ import annotations

from typing import Any

from thrift.protocol.TCompactProtocol import TCompactProtocol
from thrift.Thrift import TType
from thrift.transport.TTransport import TMemoryBuffer

_MAGIC_BYTES = 4
_TAIL_BYTES = 8

SCHEMA, ROW_GROUPS = 2, 4
COLUMNS, ROW_GROUP_FILE_OFFSET = 1, 5
FILE_OFFSET, META_DATA = 2, 3
OFFSET_INDEX_OFFSET, OFFSET_INDEX_LENGTH, COLUMN_INDEX_OFFSET, COLUMN_INDEX_LENGTH = 4, 5, 6, 7
DATA_PAGE_OFFSET, INDEX_PAGE_OFFSET, DICTIONARY_PAGE_OFFSET = 9, 10, 11
BLOOM_FILTER_OFFSET, BLOOM_FILTER_LENGTH = 14, 15

Struct = dict[int, Any]


def decode(data: bytes) -> tuple[Struct, int]:
    """Return the struct at the start of `data`, and how many bytes it takes."""
    memory = TMemoryBuffer(data)
    struct = _value(TCompactProtocol(memory), TType.STRUCT)
    return struct, memory.cstringio_buf.tell()


def footer_start(file: bytes) -> int:
    """Absolute position of the footer."""
    return len(file) - _TAIL_BYTES - int.from_bytes(file[-_TAIL_BYTES:-_MAGIC_BYTES], "little")


def footer_of(file: bytes) -> Struct:
    """FileMetaData of a whole file."""
    return decode(file[footer_start(file) : -_TAIL_BYTES])[0]


def chunks_of(footer: Struct) -> dict[tuple[int, int], Struct]:
    """Each ColumnChunk by row group and leaf ordinal."""
    return {
        (row_group, column): chunk
        for row_group, fields in enumerate(footer[ROW_GROUPS])
        for column, chunk in enumerate(fields.get(COLUMNS, ()))
    }


def filters_of(footer: Struct) -> dict[tuple[int, int], tuple[int, int | None]]:
    """Offset and length of each filter that the footer points to."""
    return {
        place: (meta[BLOOM_FILTER_OFFSET], meta.get(BLOOM_FILTER_LENGTH))
        for place, chunk in chunks_of(footer).items()
        if BLOOM_FILTER_OFFSET in (meta := chunk.get(META_DATA, {}))
    }


def _value(protocol: TCompactProtocol, wire: int) -> Any:  # noqa: ANN401  any Thrift value
    if wire == TType.STRUCT:
        return _struct(protocol)
    if wire in (TType.LIST, TType.SET):
        element, size = protocol.readListBegin()
        values = [_value(protocol, element) for _ in range(size)]
        protocol.readListEnd()
        return values
    if wire == TType.MAP:
        key, value, size = protocol.readMapBegin()
        pairs = [(_value(protocol, key), _value(protocol, value)) for _ in range(size)]
        protocol.readMapEnd()
        return pairs
    return _READERS[wire](protocol)


_READERS = {
    TType.BOOL: TCompactProtocol.readBool,
    TType.BYTE: TCompactProtocol.readByte,
    TType.I16: TCompactProtocol.readI16,
    TType.I32: TCompactProtocol.readI32,
    TType.I64: TCompactProtocol.readI64,
    TType.DOUBLE: TCompactProtocol.readDouble,
    TType.STRING: TCompactProtocol.readBinary,
}


def _struct(protocol: TCompactProtocol) -> Struct:
    fields: Struct = {}
    protocol.readStructBegin()
    while True:
        _, wire, field_id = protocol.readFieldBegin()
        if wire == TType.STOP:
            break
        fields[field_id] = _value(protocol, wire)
        protocol.readFieldEnd()
    protocol.readStructEnd()
    return fields
