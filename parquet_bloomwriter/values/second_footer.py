"""A second footer, made in memory, through which pyarrow reads one leaf column as it is stored.

Bloom filters hash the stored bytes, not what Arrow makes of them: a decimal as its integer or its
big-endian bytes, an INT96 timestamp as its 12 bytes. So pyarrow gets a footer of our own for the
same file. It has one leaf, without logical types, and with plain names:

    root -> group 0 -> group 1 -> ... -> leaf       repetitions as in the file
                                         INT96 is spelled FIXED_LEN_BYTE_ARRAY(12)

and one column chunk in each row group, with offsets, sizes, encodings and codec as in the file.
Statistics, names, key-value metadata and the other columns are left out: duplicate names, names
with dots, missing `path_in_schema` and columns that pyarrow cannot convert are no obstacle.
`created_by` stays, because readers' workarounds for known writer bugs key on it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from thrift.protocol.TCompactProtocol import TCompactProtocol
from thrift.protocol.TProtocol import TProtocolException
from thrift.Thrift import TType
from thrift.transport.TTransport import TMemoryBuffer

from parquet_bloomwriter.kernels.layout import START, STOP
from parquet_bloomwriter.metadata import PhysicalType
from parquet_bloomwriter.metadata.fields import ChunkField, RowGroupField

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow.parquet as pq

    from parquet_bloomwriter.metadata import Footer, Leaf

LEAF_NAME = "leaf"
_INT96_BYTES = 12
_NO_ENCODINGS = b"\x05"
"""Thrift compact bytes of an empty list: size 0, type i32."""
_CHUNK_INTEGERS = (
    (4, TType.I32, ChunkField.CODEC),
    (5, TType.I64, ChunkField.NUM_VALUES),
    (6, TType.I64, ChunkField.TOTAL_UNCOMPRESSED_SIZE),
    (7, TType.I64, ChunkField.TOTAL_COMPRESSED_SIZE),
    (9, TType.I64, ChunkField.DATA_PAGE_OFFSET),
)


def physical_path(leaf: Leaf) -> str:
    """Return the dotted path of the leaf in its physical footer."""
    return ".".join(_names(leaf))


def physical_metadata(footer: Footer, leaf: Leaf) -> pq.FileMetaData:
    """Return the physical footer of one leaf, as pyarrow's metadata.

    Raises:
        OSError: If it cannot be made, or pyarrow cannot parse it (a chunk lacks required fields,
            or a number is out of its range).
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        data = physical_footer(footer, leaf)
    except TProtocolException as error:
        raise OSError(f"the column's metadata makes no sense: {error}") from error
    file = b"".join((b"PAR1", data, len(data).to_bytes(4, "little"), b"PAR1"))
    return pq.read_metadata(pa.BufferReader(file))


def physical_footer(footer: Footer, leaf: Leaf) -> bytes:
    """Encode a FileMetaData with one leaf, as Thrift compact bytes."""
    memory = TMemoryBuffer()
    out = _Writer(TCompactProtocol(memory), memory)
    num_rows = footer.row_groups.value(RowGroupField.NUM_ROWS).tolist()

    def row_group(ordinal: int) -> None:
        out.structs(1, 1, lambda _: column_chunk(ordinal))
        out.integer(2, TType.I64, 0)
        out.integer(3, TType.I64, num_rows[ordinal])

    def column_chunk(ordinal: int) -> None:
        out.integer(2, TType.I64, 0)
        out.struct(3, lambda: _column_metadata(out, footer, leaf, ordinal))

    out.protocol.writeStructBegin("")
    out.integer(1, TType.I32, 1)
    out.structs(2, len(leaf.path) + 1, partial(_schema_element, out, leaf))
    out.integer(3, TType.I64, sum(num_rows))
    out.structs(4, len(num_rows), row_group)
    if footer.created_by:
        out.text(6, footer.created_by)
    out.protocol.writeFieldStop()
    out.protocol.writeStructEnd()
    return bytes(memory.getvalue())


def _schema_element(out: _Writer, leaf: Leaf, depth: int) -> None:
    """Write one SchemaElement: the root at depth 0, then the groups, then the leaf."""
    is_leaf = depth == len(leaf.path)
    if is_leaf:
        physical_type, length = stored_as(leaf)
        out.integer(1, TType.I32, physical_type)
        if length is not None:
            out.integer(2, TType.I32, length)
    if depth:
        out.integer(3, TType.I32, leaf.repetitions[depth - 1])
    out.text(4, _names(leaf)[depth - 1] if depth else "root")
    if not is_leaf:
        out.integer(5, TType.I32, 1)


def _column_metadata(out: _Writer, footer: Footer, leaf: Leaf, row_group: int) -> None:
    values = footer.chunks.values[row_group, leaf.ordinal].tolist()
    spans = footer.chunks.spans[row_group, leaf.ordinal]
    out.integer(1, TType.I32, stored_as(leaf)[0])
    start, stop = spans[ChunkField.ENCODINGS, START : STOP + 1].tolist()
    out.raw_list(2, footer.data[start:stop] if start >= 0 else _NO_ENCODINGS)
    out.texts(3, _names(leaf))
    for field_id, wire, field in _CHUNK_INTEGERS:
        if spans[field, START] >= 0:
            out.integer(field_id, wire, values[field])
    if values[ChunkField.DICTIONARY_PAGE_OFFSET] > 0:
        out.integer(11, TType.I64, values[ChunkField.DICTIONARY_PAGE_OFFSET])


def stored_as(leaf: Leaf) -> tuple[PhysicalType, int | None]:
    """Return physical type and type length; INT96 becomes FIXED_LEN_BYTE_ARRAY of 12 bytes."""
    if leaf.physical_type == PhysicalType.INT96:
        return PhysicalType.FIXED_LEN_BYTE_ARRAY, _INT96_BYTES
    return leaf.physical_type, leaf.type_length


def _names(leaf: Leaf) -> list[str]:
    return [f"group{i}" for i in range(len(leaf.path) - 1)] + [LEAF_NAME]


class _Writer:
    """Writes the few kinds of fields that a footer has."""

    def __init__(self, protocol: TCompactProtocol, memory: TMemoryBuffer) -> None:
        self.protocol = protocol
        self.memory = memory

    def integer(self, field_id: int, wire: int, number: int) -> None:
        write = self.protocol.writeI32 if wire == TType.I32 else self.protocol.writeI64
        self._field(field_id, wire, lambda: write(number))

    def text(self, field_id: int, text: str | bytes) -> None:
        data = text.encode() if isinstance(text, str) else text
        self._field(field_id, TType.STRING, lambda: self.protocol.writeBinary(data))

    def texts(self, field_id: int, texts: list[str]) -> None:
        self._list(field_id, TType.STRING, [partial(self._binary, text) for text in texts])

    def raw_list(self, field_id: int, encoded: bytes) -> None:
        self._field(field_id, TType.LIST, lambda: self.memory.write(encoded))

    def struct(self, field_id: int, write: Callable[[], None]) -> None:
        self._field(field_id, TType.STRUCT, lambda: self._body(write))

    def structs(self, field_id: int, count: int, write: Callable[[int], None]) -> None:
        bodies = [partial(self._body, partial(write, ordinal)) for ordinal in range(count)]
        self._list(field_id, TType.STRUCT, bodies)

    def _field(self, field_id: int, wire: int, write: Callable[[], None]) -> None:
        self.protocol.writeFieldBegin("", wire, field_id)
        write()
        self.protocol.writeFieldEnd()

    def _list(self, field_id: int, wire: int, writes: Sequence[Callable[[], None]]) -> None:
        def write_elements() -> None:
            self.protocol.writeListBegin(wire, len(writes))
            for write in writes:
                write()
            self.protocol.writeListEnd()

        self._field(field_id, TType.LIST, write_elements)

    def _binary(self, text: str) -> None:
        self.protocol.writeBinary(text.encode())

    def _body(self, write: Callable[[], None]) -> None:
        self.protocol.writeStructBegin("")
        write()
        self.protocol.writeFieldStop()
        self.protocol.writeStructEnd()
