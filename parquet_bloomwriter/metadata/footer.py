"""A view of a Parquet footer: every field of interest with the positions of its bytes.

The last bytes of a file are

    ... | footer: FileMetaData | footer length: 4 bytes, little endian | "PAR1"

Nothing here reads a file: callers pass the bytes. Unknown fields are no obstacle, and their bytes
are never changed.

A file whose columns are encrypted, but not its footer, has a signature between the metadata and
the footer length, which counts both. The view shows neither statistics nor page indexes nor filters
of encrypted column chunks.

Source: the Parquet format's README, "File format"; "Parquet Modular Encryption", sections
"Plaintext footer mode" and 5.4; parquet.thrift.
"""

from __future__ import annotations

import dataclasses
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.caches import register
from parquet_bloomwriter.compact.scan import scan
from parquet_bloomwriter.errors import MalformedFile, NotParquet, UnsupportedFile
from parquet_bloomwriter.kernels.layout import ABSENT, START, STOP
from parquet_bloomwriter.metadata.fields import (
    FOOTER,
    PAGE_OFFSETS,
    ChunkField,
    FileField,
    RowGroupField,
)
from parquet_bloomwriter.metadata.schema import Leaf, Schema, leaves_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_bloomwriter.compact.scan import Table

MAGIC = b"PAR1"
MAGIC_ENCRYPTED = b"PARE"
TAIL_BYTES = 8
"""Bytes of footer length and magic."""

_MOST_SHARED = 4
"""Most column chunks to which a byte of a file may belong, on average. It belongs to one; known
writers share no bytes."""

_MIN_FILE_BYTES = len(MAGIC) + TAIL_BYTES
_MAX_FOOTER_BYTES = 1 << 31
"""Limit of a footer's size, bytes: positions in a footer are 32-bit integers here."""

_SIGNATURE_BYTES = 28
"""Bytes of the nonce (12) and GCM tag (16) after the metadata of a signed footer."""

_ENCRYPTED = (ChunkField.CRYPTO_METADATA, ChunkField.ENCRYPTED_COLUMN_METADATA)
_FIRST_ENCRYPTED, _PAST_ENCRYPTED = _ENCRYPTED[0], _ENCRYPTED[1] + 1
"""The same fields as a slice, for they are neighbours."""

_HIDDEN = (
    ChunkField.OFFSET_INDEX_OFFSET,
    ChunkField.OFFSET_INDEX_LENGTH,
    ChunkField.COLUMN_INDEX_OFFSET,
    ChunkField.COLUMN_INDEX_LENGTH,
    ChunkField.STATISTICS,
    ChunkField.ENCODING_STATS,
    ChunkField.BLOOM_FILTER_OFFSET,
    ChunkField.BLOOM_FILTER_LENGTH,
    ChunkField.DEPRECATED_MAX,
    ChunkField.DEPRECATED_MIN,
    ChunkField.NULL_COUNT,
    ChunkField.MAX_VALUE,
    ChunkField.MIN_VALUE,
)
"""Fields that the view leaves out of encrypted column chunks: the structures they lead to are
encrypted, too, and writers leave out or falsify what would say something about the values."""

_MAX_KNOWN, _MAX_KNOWN_BYTES = 128, 64 * 1024
_known_schemas: dict[bytes, Schema] = {}
"""Schemas that were parsed before, by the schema's bytes."""

register(_known_schemas.clear)

_FILE, _ELEMENT, _ROW_GROUP, _CHUNK = (
    FOOTER.names.index(kind).to_bytes(8, sys.byteorder)
    for kind in ("FileMetaData", "SchemaElement", "RowGroup", "ColumnChunk")
)


@dataclass(frozen=True, slots=True, eq=False)
class Structs:
    """n structs of one kind: the integers and positions of their fields.

    The enums of `metadata.fields` name the fields. Positions are relative to the footer.
    """

    values: NDArray[np.int64]
    """Integers of the fields (lengths, for binaries and lists), shape (..., slots)."""

    spans: NDArray[np.int32]
    """Positions `HEADER`, `START` and `STOP` of the fields, shape (..., slots, 3)."""

    def value(self, field: int) -> NDArray[np.int64]:
        """Return the integers (lengths, for binaries and lists) of a field, `ABSENT` if not set."""
        return self.values[..., field]

    def has(self, field: int) -> NDArray[np.bool_]:
        """Return whether each struct has the field."""
        return self.spans[..., field, START] >= 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Footer:
    """The view of a Parquet footer."""

    data: bytes
    """Bytes of FileMetaData, Thrift compact, and of its signature if it has one."""

    start: int
    """Absolute position of `data` in the file, bytes."""

    schema: Schema
    """Schema with the c leaf columns."""

    file: Structs
    """Fields of FileMetaData, shape (1, slots), by `FileField`."""

    row_groups: Structs
    """Fields of the row groups, shape (r, slots), by `RowGroupField`."""

    chunks: Structs
    """Fields of column chunks with their ColumnMetaData, shape (r, c, slots), by `ChunkField`."""

    _crowded: list[bool] = dataclasses.field(default_factory=list, repr=False)
    """Result of `is_crowded`, empty until it is known."""

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The c leaf columns, in order."""
        return self.schema.leaves

    @property
    def num_row_groups(self) -> int:
        """Number of row groups, r."""
        return len(self.row_groups.values)

    @property
    def file_size(self) -> int:
        """Size of the whole file, bytes."""
        return self.start + len(self.data) + TAIL_BYTES

    @property
    def is_signed(self) -> bool:
        """Whether columns are encrypted and the footer is signed, so that it must not change."""
        return bool(self.file.spans.item(0, FileField.ENCRYPTION_ALGORITHM, START) >= 0)

    @property
    def encrypted(self) -> NDArray[np.bool_]:
        """Return whether each column chunk is encrypted, shape (r, c)."""
        return _encrypted(self.chunks)

    @property
    def created_by(self) -> bytes:
        """Name and version of the writer, b"" if absent."""
        length = int(self.file.value(FileField.CREATED_BY)[0])
        stop = int(self.file.spans[0, FileField.CREATED_BY, STOP])
        return self.data[stop - length : stop] if length > 0 else b""

    def chunk_starts(self) -> NDArray[np.int64]:
        """Return the first byte of each column chunk: its least positive page offset.

        Sizes are no help: some writers leave the dictionary page out of them. An offset of zero or
        below means that there is no such page (row groups without rows).

        Returns:
            Absolute positions, shape (r, c); 0 where a chunk has no page at all.
        """
        offsets = self.chunks.values[..., PAGE_OFFSETS]
        none = np.int64(2**63 - 1)
        starts = np.where(offsets > 0, offsets, none).min(axis=-1, initial=none)
        return np.where(starts == none, 0, starts)

    @property
    def is_crowded(self) -> bool:
        """Return whether column chunks claim several times the bytes of the file.

        Many chunks then share their bytes. Reading each of them would take time that has nothing to
        do with the size of the file.
        """
        if not self._crowded:
            sizes = self.chunks.value(ChunkField.TOTAL_COMPRESSED_SIZE)
            claimed = np.clip(sizes, 0, np.maximum(self.start - self.chunk_starts(), 0))
            most = _MOST_SHARED * self.start
            self._crowded.append(float(claimed.sum(dtype=np.float64)) > most)
        return self._crowded[0]

    def edges(self) -> NDArray[np.int64] | None:
        """Return the starts of column chunks, page indexes, filters and the footer, ascending.

        None for files of Impala, which writes copies of the chunks' metadata in between.
        """
        if self.created_by.startswith(b"impala"):
            return None
        fields = [
            ChunkField.OFFSET_INDEX_OFFSET,
            ChunkField.COLUMN_INDEX_OFFSET,
            ChunkField.BLOOM_FILTER_OFFSET,
        ]
        offsets = self.chunks.values[..., fields].ravel()
        edges = np.concatenate((self.chunk_starts().ravel(), offsets, [self.start]))
        return distinct_rows(edges[:, np.newaxis]).ravel()


def distinct_rows(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the distinct rows of an array, in ascending order.

    `np.unique` does the same, but imports NumPy's masked arrays, which takes 5 ms.

    Args:
        rows: Shape (n, columns).
    """
    ordered = rows[np.lexsort(rows.T[::-1])]
    is_new = np.ones(len(rows), np.bool_)
    is_new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    return ordered[is_new]


def locate_footer(head: bytes, tail: bytes, file_size: int) -> int:
    """Return the footer's absolute position; check both magics.

    Args:
        head: The first 4 bytes of the file.
        tail: The last 8 bytes of the file.
        file_size: Bytes of the file.

    Raises:
        NotParquet: If this is no Parquet file, or a part of one.
        UnsupportedFile: If the footer is encrypted.
    """
    if file_size < _MIN_FILE_BYTES:
        raise NotParquet(
            f"the file has {file_size} bytes, fewer than the smallest Parquet file",
            remedy="Check that it is a Parquet file, and was copied whole.",
        )
    if head[:2] == b"\x1f\x8b":
        raise NotParquet("the file is compressed with gzip", byte=0, remedy="Unpack it first.")
    if MAGIC_ENCRYPTED in (head, tail[4:]):
        raise UnsupportedFile(
            "the footer is encrypted",
            remedy="Only who has its keys can read it or write filters for it.",
        )
    if tail[4:] != MAGIC:
        raise NotParquet(
            'the last four bytes are not "PAR1"',
            byte=file_size - len(MAGIC),
            remedy="Check that it is a Parquet file, and was copied whole.",
        )
    if head != MAGIC:
        raise NotParquet(
            'the first four bytes are not "PAR1"',
            byte=0,
            remedy="Check that it is a Parquet file, whole, and was not copied as text.",
        )
    length = int.from_bytes(tail[:4], "little")
    if length > file_size - _MIN_FILE_BYTES or not length:
        raise MalformedFile(
            f"the footer claims {length} bytes in a file of {file_size}",
            byte=file_size - TAIL_BYTES,
            remedy="Check that it was copied whole.",
        )
    if length >= _MAX_FOOTER_BYTES:
        raise UnsupportedFile(
            f"the footer has {length} bytes; 2 GiB and more are not supported",
            byte=file_size - TAIL_BYTES,
        )
    return file_size - TAIL_BYTES - length


def parse_footer(data: bytes, *, start: int) -> Footer:
    """View the footer `data`, which begins at byte `start` of its file.

    Raises:
        MalformedFile: If the bytes are not exactly one FileMetaData.
    """
    table = scan(data, FOOTER, origin=start)
    file = Structs(table.values[:1], table.spans[:1])
    _check_file(file, data, table.stop, start)
    elements, row_groups, chunks = _in_order(table) or _by_kind(table)
    schema = _schema(file, elements, data, start)
    num_leaves = len(schema.leaves)
    shape = (len(row_groups.values), num_leaves, FOOTER.width)
    if chunks.values.shape != shape:
        _check_columns(row_groups, chunks, num_leaves, start)
        chunks = Structs(chunks.values.reshape(shape), chunks.spans.reshape(*shape, 3))
    _hide_encrypted(chunks)
    return Footer(
        data=data, start=start, schema=schema, file=file, row_groups=row_groups, chunks=chunks
    )


def _check_file(file: Structs, data: bytes, stop: int, start: int) -> None:
    spans = file.spans[0]
    num_left = len(data) - stop
    if spans[FileField.ENCRYPTION_ALGORITHM, START] >= 0:
        if num_left != _SIGNATURE_BYTES:
            raise MalformedFile(
                f"columns are encrypted, but {num_left} bytes follow the metadata inside the "
                f"footer instead of a signature of {_SIGNATURE_BYTES}",
                byte=start + stop,
            )
    elif num_left:
        raise MalformedFile(
            f"{num_left} bytes follow the metadata inside the footer", byte=start + stop
        )
    for field in (FileField.SCHEMA, FileField.ROW_GROUPS):
        if spans[field, START] < 0:
            raise MalformedFile(f"the footer has no {field.name.lower()}", byte=start)


def _encrypted(chunks: Structs) -> NDArray[np.bool_]:
    return chunks.has(_ENCRYPTED[0]) | chunks.has(_ENCRYPTED[1])


def _hide_encrypted(chunks: Structs) -> None:
    if (chunks.spans[..., _FIRST_ENCRYPTED:_PAST_ENCRYPTED, START] >= 0).any():
        hidden = _encrypted(chunks)
        for field in _HIDDEN:
            chunks.values[..., field][hidden] = ABSENT
            chunks.spans[..., field, :][hidden] = -1


def _in_order(table: Table) -> tuple[Structs, Structs, Structs] | None:
    """Return schema elements, row groups and chunks, shape (r, c, slots), as views of the table.

    Nearly always the schema comes first, then each row group with its c chunks. Return None if the
    structs are in another order.
    """
    num_elements = table.values.item(FileField.SCHEMA)
    num_row_groups = table.values.item(FileField.ROW_GROUPS)
    rest = len(table.kinds) - 1 - num_elements
    if num_row_groups <= 0 or rest < 0 or rest % num_row_groups:
        return None
    width = rest // num_row_groups
    usual = _FILE + num_elements * _ELEMENT + num_row_groups * (_ROW_GROUP + (width - 1) * _CHUNK)
    if table.kinds.tobytes() != usual:
        return None
    first = 1 + num_elements
    values = table.values[first:].reshape(num_row_groups, width, FOOTER.width)
    spans = table.spans[first:].reshape(num_row_groups, width, FOOTER.width, 3)
    return (
        Structs(table.values[1:first], table.spans[1:first]),
        Structs(values[:, 0], spans[:, 0]),
        Structs(values[:, 1:], spans[:, 1:]),
    )


def _by_kind(table: Table) -> tuple[Structs, Structs, Structs]:
    """Return the structs like `_in_order`, for any order; the chunks have shape (n, slots)."""

    def structs(kind: str) -> Structs:
        rows = table.kinds == FOOTER.names.index(kind)
        return Structs(table.values[rows], table.spans[rows])

    return structs("SchemaElement"), structs("RowGroup"), structs("ColumnChunk")


def _schema(file: Structs, elements: Structs, data: bytes, start: int) -> Schema:
    """Return the schema of a file; files whose schemas have the same bytes share it."""
    _, begin, end = file.spans[0, FileField.SCHEMA].tolist()
    encoded = data[begin:end]
    schema = _known_schemas.get(encoded)
    if schema is None:
        schema = Schema(leaves_of(data, elements.values, elements.spans, origin=start))
        if len(encoded) <= _MAX_KNOWN_BYTES:
            if len(_known_schemas) >= _MAX_KNOWN:  # Threads can add some at the same time.
                _known_schemas.clear()
            _known_schemas[encoded] = schema
    return schema


def _check_columns(row_groups: Structs, chunks: Structs, num_leaves: int, start: int) -> None:
    columns = row_groups.value(RowGroupField.COLUMNS)
    wrong = np.flatnonzero(np.where(columns == ABSENT, 0, columns) != num_leaves)
    if len(wrong):
        ordinal = int(wrong[0])
        raise MalformedFile(
            f"the row group has {max(int(columns[ordinal]), 0)} column chunks, "
            f"the schema {num_leaves} leaf columns",
            row_group=ordinal,
            byte=start + int(row_groups.spans[ordinal, RowGroupField.STRUCT, START]),
        )
    if len(chunks.values) != len(row_groups.values) * num_leaves:
        raise MalformedFile("a row group's columns are not column chunks", byte=start)
