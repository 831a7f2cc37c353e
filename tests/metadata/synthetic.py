"""Footers made field by field, with headers and integers spelled as a test wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from thrift.protocol.TCompactProtocol import TCompactProtocol
from thrift.transport.TTransport import TMemoryBuffer

from parquet_bloomwriter.kernels.layout import BINARY, I32, I64, LIST, STRUCT
from tests.compact.structs import encode_struct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.compact.structs import Fields

INT64 = 2


def plain(*fields: tuple[int, int, Any]) -> Fields:
    """Fields without long-form headers where they can be avoided."""
    return [(*field, False) for field in fields]


def column_metadata() -> Fields:
    """The required fields of ColumnMetaData, of an INT64 column of 8 bytes at byte 4."""
    return plain(
        (1, I32, INT64),
        (2, LIST, (I32, [0])),
        (3, LIST, (BINARY, [b"x"])),
        (4, I32, 0),
        (5, I64, 1),
        (6, I64, 8),
        (7, I64, 8),
        (9, I64, 4),
    )


def column_chunk(metadata: Fields, *more: tuple[int, int, Any]) -> Fields:
    """A ColumnChunk with `file_offset` 4."""
    return plain((2, I64, 4), (3, STRUCT, metadata), *more)


def file_metadata(chunks: Sequence[Fields], *more: tuple[int, int, Any]) -> bytes:
    """A footer with one INT64 column, and one row group for each of its chunks."""
    root = plain((4, BINARY, b"root"), (5, I32, 1))
    leaf = plain((1, I32, INT64), (3, I32, 0), (4, BINARY, b"x"))
    row_groups = [
        plain((1, LIST, (STRUCT, [chunk])), (2, I64, 8), (3, I64, 1), (5, I64, 4))
        for chunk in chunks
    ]
    return encode_struct(
        plain(
            (1, I32, 1),
            (2, LIST, (STRUCT, [root, leaf])),
            (3, I64, len(chunks)),
            (4, LIST, (STRUCT, row_groups)),
            *more,
        )
    )


def fields_of(data: bytes, start: int) -> dict[int, tuple[int, bytes]]:
    """Id -> type and bytes of each field of the struct at `start`, by Thrift's own reader."""
    memory = TMemoryBuffer(data[start:])
    protocol = TCompactProtocol(memory)
    found: dict[int, tuple[int, bytes]] = {}
    protocol.readStructBegin()
    while True:
        _, wire, field_id = protocol.readFieldBegin()
        if not wire:
            return found
        before = start + memory._buffer.tell()  # noqa: SLF001  the only way to learn it
        protocol.skip(wire)
        after = start + memory._buffer.tell()  # noqa: SLF001
        protocol.readFieldEnd()
        assert field_id not in found
        found[field_id] = (wire, data[before:after])
