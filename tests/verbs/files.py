"""Small Parquet files in memory, their footers changed at will, and a plain way to read a plan."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from parquet_bloomwriter.compact.varint import encode_zigzag
from parquet_bloomwriter.kernels.layout import START, STOP
from parquet_bloomwriter.metadata.fields import ChunkField, FileField, RowGroupField
from parquet_bloomwriter.metadata.page_index import parse_offset_index
from parquet_bloomwriter.metadata.patch import Edit, apply_edits, bloom_edit, offset_fields
from parquet_bloomwriter.rewrite.old_layout import Layout, layout_of
from parquet_bloomwriter.rewrite.plan import Copy, Emit, EmitFilter, Plan
from parquet_bloomwriter.source import BufferSource, read_footer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from parquet_bloomwriter.metadata import Footer
    from parquet_bloomwriter.rewrite.plan import Chunk

ROWS = 1000
EXTENSION = b"\x08" + encode_zigzag(32767) + b"\x03ext"
"""Field 32767, a binary: what the specification sets aside for extensions."""


def people(rows: int = ROWS) -> pa.Table:
    """Return an id, an e-mail address with nulls, and a city of few values."""
    return pa.table(
        {
            "id": pa.array(range(rows), pa.int64()),
            "email": [None if i % 7 == 6 else f"user{i}@mail.example" for i in range(rows)],
            "city": [("Bern", "Lima", "Oslo")[i % 3] for i in range(rows)],
        }
    )


def written(table: pa.Table | None = None, **options: Any) -> bytes:  # noqa: ANN401  of pyarrow
    """The bytes of a file by pyarrow; two row groups unless told otherwise."""
    sink = io.BytesIO()
    options.setdefault("row_group_size", ROWS // 2)
    pq.write_table(people() if table is None else table, sink, **options)
    return sink.getvalue()


def read(data: bytes) -> pa.Table:
    """What pyarrow reads."""
    return pq.read_table(io.BytesIO(data))


def footer_of(data: bytes) -> Footer:
    """View the footer."""
    return read_footer(BufferSource(data))


def layout(data: bytes) -> Layout:
    """View the layout."""
    source = BufferSource(data)
    return layout_of(read_footer(source), source.read_at)


def with_footer(data: bytes, footer: bytes) -> bytes:
    """The same file with another footer."""
    start = footer_of(data).start
    return data[:start] + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def with_edits(data: bytes, *edits: Edit) -> bytes:
    """The same file with edits to its footer."""
    ordered = sorted(edits, key=lambda edit: edit.start)
    return with_footer(data, apply_edits(footer_of(data).data, ordered))


def with_number(data: bytes, field: ChunkField, number: int, *, chunk: Chunk = (0, 0)) -> bytes:
    """The same file with another number in a field that a column chunk has."""
    _, start, stop = footer_of(data).chunks.spans[chunk][field].tolist()
    assert start >= 0
    return with_edits(data, Edit(start, stop, encode_zigzag(number)))


def with_bytes_behind_entries(data: bytes, num_bytes: int) -> bytes:
    """Put four bytes behind the entries of the dictionary page of a file of one column chunk.

    Args:
        data: A file without compression and page indexes.
        num_bytes: Of the entries, at most 63.
    """
    numbers = footer_of(data).chunks.values[0, 0]
    start, stop = (
        int(numbers[field])
        for field in (ChunkField.DICTIONARY_PAGE_OFFSET, ChunkField.DATA_PAGE_OFFSET)
    )
    more = b"more"
    sizes, longer = (2 * (b"\x15" + encode_zigzag(size)) for size in (num_bytes, num_bytes + 4))
    padded = data[start:stop].replace(sizes, longer) + more
    assert len(padded) == stop - start + len(more)
    changed = data[:start] + padded + data[stop:]
    for field in (ChunkField.DATA_PAGE_OFFSET, ChunkField.TOTAL_COMPRESSED_SIZE):
        changed = with_number(changed, field, int(numbers[field]) + len(more))
    return changed


def with_num_rows(data: bytes, number: int, *, row_group: int = 0) -> bytes:
    """The same file with another number of rows in a row group."""
    spans = footer_of(data).row_groups.spans[row_group, RowGroupField.NUM_ROWS].tolist()
    return with_edits(data, Edit(spans[START], spans[STOP], encode_zigzag(number)))


def with_filter_at(data: bytes, chunk: Chunk, place: tuple[int, int] | None) -> bytes:
    """The same file with a footer that leads to another filter, or none."""
    return with_edits(data, bloom_edit(footer_of(data), *chunk, place))


def without_length(data: bytes, *chunks: Chunk) -> bytes:
    """The same file with `bloom_filter_length` left out, as parquet-mr did before 1.14."""
    edits = []
    footer = footer_of(data)
    for chunk in chunks:
        header, _, stop = footer.chunks.spans[chunk][ChunkField.BLOOM_FILTER_LENGTH].tolist()
        following = footer.data[stop]
        if following > 0x0F:  # A short header: one more to the next id now.
            edits.append(Edit(header, stop + 1, bytes([following + 0x10])))
        else:
            edits.append(Edit(header, stop, b""))
    return with_edits(data, *edits)


def with_unknown_field(data: bytes, where: str) -> bytes:
    """The same file with an extension field at the end of one of its structs."""
    footer = footer_of(data)
    match where:
        case "FileMetaData":
            stop = len(footer.data)
        case "RowGroup":
            stop = int(footer.row_groups.spans[0, RowGroupField.STRUCT, STOP])
        case "ColumnChunk":
            stop = int(footer.chunks.spans[0, 0, ChunkField.STRUCT, STOP])
        case _:
            stop = int(footer.chunks.spans[0, 0, ChunkField.META_DATA, STOP])
    return with_edits(data, Edit(stop - 1, stop - 1, EXTENSION))


def created_by(data: bytes, name: bytes) -> bytes:
    """The same file by another writer."""
    footer = footer_of(data)
    _, start, stop = footer.file.spans[0, FileField.CREATED_BY].tolist()
    return with_edits(data, Edit(start, stop, bytes([len(name)]) + name))


def filter_bytes(data: bytes, chunk: Chunk) -> bytes:
    """Header and bitset that the footer leads to; b"" if it leads to none."""
    chunks = footer_of(data).chunks
    if not chunks.has(ChunkField.BLOOM_FILTER_OFFSET)[chunk]:
        return b""
    offset = int(chunks.value(ChunkField.BLOOM_FILTER_OFFSET)[chunk])
    return data[offset : offset + int(chunks.value(ChunkField.BLOOM_FILTER_LENGTH)[chunk])]


def listing(folder: Path) -> dict[str, bytes]:
    """Every file in the folder and below, and its bytes; folders that are empty have none."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else b""
        for path in folder.rglob("*")
        if path.is_file() or not any(path.iterdir())
    }


# ---------------------------------------------------------------- plans, read one byte at a time


def rendered(plan: Plan, data: bytes, filters: Mapping[Chunk, bytes]) -> bytes:
    """The new file, piece by piece."""
    out = b""
    for piece in plan.pieces:
        match piece:
            case Copy(start, stop):
                out += data[start:stop]
            case Emit(new):
                out += new
            case EmitFilter(row_group, column, length):
                assert len(filters[row_group, column]) == length
                out += filters[row_group, column]
    return out


def new_positions(plan: Plan) -> dict[int, int]:
    """Where each byte that is copied, and the footer, went."""
    found: dict[int, int] = {}
    at = 0
    for piece in plan.pieces:
        match piece:
            case Copy(start, stop):
                found |= zip(range(start, stop), range(at, at + stop - start), strict=True)
                at += stop - start
            case Emit(new):
                last, at = at, at + len(new)
            case EmitFilter(length=length):
                at += length
    return {**found, plan.footer_start: last}


def offsets_and_pages(data: bytes) -> tuple[list[list[int]], list[list[int]]]:
    """Every absolute position of the footer but those of filters, and of the page indexes."""
    view = footer_of(data)
    fields = [
        structs.value(field).ravel().tolist()
        for structs, field in offset_fields(view)
        if structs is not view.chunks or field != ChunkField.BLOOM_FILTER_OFFSET
    ]
    starts = view.chunks.value(ChunkField.OFFSET_INDEX_OFFSET).ravel().tolist()
    lengths = view.chunks.value(ChunkField.OFFSET_INDEX_LENGTH).ravel().tolist()
    pages = [
        parse_offset_index(data[start : start + length], start=start).offsets.tolist()
        for start, length in zip(starts, lengths, strict=True)
        if start > 0 and length > 0
    ]
    return fields, pages
