"""The values of a column chunk from its dictionary page alone.

If every data page of a chunk is dictionary-encoded, all of its values are in the dictionary page,
the first page of the chunk:

    PageHeader {1: type, 2: uncompressed_page_size, 3: compressed_page_size, 4: crc,
                7: DictionaryPageHeader {1: num_values, 2: encoding}}
    then the values, PLAIN encoded, compressed with the chunk's codec

The list of encodings in the footer does not show whether PLAIN was used for data pages or only for
the dictionary. So the header of every page is looked at. The chunk is taken for dictionary-encoded
only if

- the first page is a dictionary, it has values, and the footer leads to it;
- all others are data pages, DATA_PAGE or DATA_PAGE_V2, encoded as RLE_DICTIONARY or
  PLAIN_DICTIONARY, which is an older name of the same;
- their numbers of values add up to the footer's, and a flat column has no more than there are rows;
- the pages end where the chunk ends, so that no page lies behind them that some readers would find,
  and no size is implausible (`values.pages`).

Otherwise all values are to be read. On stores, where each header is a request, nothing is read if
the footer's statistics of encodings say that a data page is encoded otherwise. Chunks of up to 1
MiB are read at once; else the statistics of encodings in the footer are believed, if the writer is
known to be right, or the headers are found by the offset index and read at the same time.

The payload is decoded by pyarrow. It gets a file in memory with one required column, whose only
data page is the payload as it is, under a header of our own.

A dictionary may have entries that no row refers to. Whoever must know exactly which values there
are has to read all of them.

Source: parquet.thrift, PageHeader; Parquet specification, "Dictionary Encoding".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.compact.scan import StructKind, StructSchema, scan
from parquet_bloomwriter.errors import MalformedFile
from parquet_bloomwriter.kernels.layout import (
    DICTIONARY_PAGE,
    I32,
    PAGE_COLUMNS,
    PAGE_COMPRESSED,
    PAGE_ENCODING,
    PAGE_HEADER_BYTES,
    PAGE_NUM_VALUES,
    PAGE_POSITION,
    PAGE_TYPE,
    PAGE_UNCOMPRESSED,
    PLAIN,
    PLAIN_DICTIONARY,
    RLE_DICTIONARY,
    START,
)
from parquet_bloomwriter.metadata import PhysicalType, Repetition
from parquet_bloomwriter.metadata.encodings import (
    has_other_encodings,
    is_certainly_dictionary_encoded,
)
from parquet_bloomwriter.metadata.fields import ChunkField, RowGroupField
from parquet_bloomwriter.metadata.page_index import parse_offset_index
from parquet_bloomwriter.metadata.schema import LENGTH_BYTES
from parquet_bloomwriter.source import BufferSource
from parquet_bloomwriter.values.page_file import file_of_page
from parquet_bloomwriter.values.pages import (
    CODECS,
    Extent,
    Pages,
    extent_of,
    implausible,
    is_data,
    is_near,
    walk,
    walk_headers,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

    from parquet_bloomwriter.metadata import Footer, Leaf
    from parquet_bloomwriter.source import Source

_REMOTE_CHUNK_BYTES = 1024 * 1024
"""Most bytes of a chunk that is read from a store by one request."""

_REMOTE_HEADER_BYTES = 1024
"""Bytes read for each page header on stores."""

_MOST_REMOTE_PAGES = 256

_PLAIN_ENCODINGS = (PLAIN, PLAIN_DICTIONARY)  # The second is what older writers call the first.
_NO_CODEC = 0
_MAX_INT32 = 2**31 - 1
_BATCH_BYTES = 4 * 1024 * 1024
_MAX_BATCH = 1024 * 1024
_CRC = 1
_CHECKSUM = StructSchema.of({"PageHeader": StructKind(slots={4: (_CRC, I32)})})


@dataclass(frozen=True, slots=True, kw_only=True)
class DictionaryPage:
    """A dictionary page whose header was read and is plausible."""

    num_values: int
    """Number of entries, which include all values of the chunk, and perhaps others."""

    num_bytes: int
    """Length of the entries in PLAIN encoding, uncompressed, bytes."""

    leaf: Leaf
    codec: int
    """parquet.thrift, CompressionCodec."""

    source: Source
    start: int
    """Position of the page's header in `source`."""

    stop: int
    """Position past the page in `source`."""

    def batches(self, *, max_rows: int | None = None) -> Iterator[pa.Array]:
        """Yield the entries, as stored, at most `max_rows` in an array; see `LeafReader.batches`.

        Raises:
            OSError: If the page is not what its header was taken for, or fails its checksum.
            pyarrow.ArrowException: Likewise.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        file = self._as_file(self.source.read_at(self.start, self.stop))
        mean = max(1, self.num_bytes // self.num_values)
        most = max(1, min(_MAX_BATCH, _BATCH_BYTES // mean))
        count = num_bytes = 0
        with pq.ParquetFile(
            pa.BufferReader(file),
            pre_buffer=False,
            page_checksum_verification=True,
            arrow_extensions_enabled=False,
        ) as opened:
            for batch in opened.iter_batches(min(max_rows or most, most), use_threads=False):
                array = batch.column(0)
                count += len(array)
                num_bytes += _plain_bytes(array, self.leaf)
                yield array
        if (count, num_bytes) != (self.num_values, self.num_bytes):
            raise OSError(
                f"a dictionary of {self.num_values} values in {self.num_bytes} bytes has {count} "
                f"values in {num_bytes} bytes"
            )

    def _as_file(self, page: bytes) -> bytes:
        """Return the bytes of a Parquet file that has only this page."""
        try:
            table = scan(page, _CHECKSUM)
        except MalformedFile as error:
            raise OSError(f"a page has no header: {error.problem}") from None
        return file_of_page(
            page[table.stop :],
            self.leaf,
            codec=self.codec,
            num_values=self.num_values,
            num_bytes=self.num_bytes,
            crc=int(table.values[0, _CRC]) if table.spans[0, _CRC, START] >= 0 else None,
        )


def find_dictionary(
    source: Source, footer: Footer, leaf: Leaf, row_group: int
) -> DictionaryPage | None:
    """Return the dictionary page that has all values of a column chunk.

    Returns:
        None if there is no such page, or if it is not certain that there is one.

    Raises:
        OSError: If reading fails.
    """
    extent = extent_of(footer, row_group, leaf.ordinal)
    if extent is None or extent.num_values <= 0 or leaf.physical_type == PhysicalType.BOOLEAN:
        return None
    num_rows = int(footer.row_groups.value(RowGroupField.NUM_ROWS)[row_group])
    if Repetition.REPEATED not in leaf.repetitions and extent.num_values > num_rows:
        return None
    data: bytes | None = None
    if is_near(source):
        pages = walk(source, extent)
    elif has_other_encodings(footer, row_group, leaf.ordinal):
        return None
    elif extent.stop - extent.start <= _REMOTE_CHUNK_BYTES:
        data = source.read_at(extent.start, min(extent.stop, extent.limit))
        pages = _walk_bytes(data, extent)
    elif is_certainly_dictionary_encoded(footer, row_group, leaf.ordinal):
        return _alone(source, footer, leaf, row_group, extent)
    else:
        pages = _by_index(source, footer, leaf, row_group, extent)
    if not _is_certain(pages, footer, row_group, leaf, extent):
        return None
    return _page_of(pages.table, source, leaf, extent, data)


def page_in(
    data: bytes, leaf: Leaf, codec: int, *, most_bytes: int = _MAX_INT32
) -> DictionaryPage | None:
    """View a dictionary page that was read; None if it is another page, or not plausible.

    Args:
        data: The page with its header, and nothing else.
        leaf: The column.
        codec: parquet.thrift, CompressionCodec.
        most_bytes: Bytes that the entries may take uncompressed; 32 MiB are always allowed.
    """
    source = BufferSource(data)
    extent = Extent(
        start=0, stop=len(data), limit=len(data), num_values=1,
        num_uncompressed=most_bytes, codec=codec,
    )  # fmt: skip
    pages = walk(source, extent)
    is_whole = not pages.problem and len(pages.table) == 1 and pages.stop == len(data)
    if not is_whole or implausible(pages.table, extent, leaf):
        return None
    return _page_of(pages.table, source, leaf, extent, None)


def _page_of(
    table: NDArray[np.int64], source: Source, leaf: Leaf, extent: Extent, data: bytes | None
) -> DictionaryPage | None:
    """Return the first page if it can be a dictionary of the leaf's type, or None.

    `data` is the chunk if it is in memory, or None.
    """
    first = table[0].tolist()
    count, unpacked, packed = (
        first[column] for column in (PAGE_NUM_VALUES, PAGE_UNCOMPRESSED, PAGE_COMPRESSED)
    )
    if first[PAGE_TYPE] != DICTIONARY_PAGE or first[PAGE_ENCODING] not in _PLAIN_ENCODINGS:
        return None
    if count <= 0 or extent.codec not in CODECS:
        return None
    if extent.codec == _NO_CODEC and packed != unpacked:
        return None
    width = leaf.plain_width
    if width == 0 or (width is not None and count * width != unpacked):
        return None
    start = first[PAGE_POSITION]
    stop = start + first[PAGE_HEADER_BYTES] + packed
    if data is not None:  # The data pages need not stay in memory.
        source = BufferSource(data[start - extent.start : stop - extent.start])
        start, stop = 0, stop - start
    return DictionaryPage(
        num_values=count,
        num_bytes=unpacked,
        leaf=leaf,
        codec=extent.codec,
        source=source,
        start=start,
        stop=stop,
    )


def _is_certain(pages: Pages, footer: Footer, row_group: int, leaf: Leaf, extent: Extent) -> bool:
    """Return whether the pages are a dictionary and data pages that all refer to it."""
    table = pages.table
    if pages.problem or not len(table[1:]) or implausible(table, extent, leaf):
        return False
    first_data = int(table[1, PAGE_POSITION])
    chunk = footer.chunks.values[row_group, leaf.ordinal]
    return bool(
        table[0, PAGE_TYPE] == DICTIONARY_PAGE
        and is_data(table[1:]).all()
        and _refer_to_dictionary(table[1:]).all()
        and pages.num_values == extent.num_values
        and pages.stop == extent.stop
        and int(chunk[ChunkField.DATA_PAGE_OFFSET]) in (extent.start, first_data)
    )


def _refer_to_dictionary(table: NDArray[np.int64]) -> NDArray[np.bool_]:
    encodings = table[:, PAGE_ENCODING]
    flags: NDArray[np.bool_] = (encodings == PLAIN_DICTIONARY) | (encodings == RLE_DICTIONARY)
    return flags


def _walk_bytes(data: bytes, extent: Extent) -> Pages:
    """Return the pages of a chunk that is in memory; positions are those in the file."""
    size = len(data)
    pages = walk(BufferSource(data), replace(extent, start=0, stop=size, limit=size))
    table = pages.table.copy()
    table[:, PAGE_POSITION] += extent.start
    return Pages(table=table, stop=pages.stop + extent.start, problem=pages.problem)


# ---------------------------------------------------------------- on stores


def _alone(
    source: Source, footer: Footer, leaf: Leaf, row_group: int, extent: Extent
) -> DictionaryPage | None:
    """Return the dictionary page by its header only, as it ends where the data pages begin."""
    stop = int(footer.chunks.values[row_group, leaf.ordinal, ChunkField.DATA_PAGE_OFFSET])
    if not extent.start < stop <= min(extent.stop, extent.limit):
        return None
    page = source.read_at(extent.start, stop)
    return page_in(page, leaf, extent.codec, most_bytes=extent.num_uncompressed)


def _by_index(source: Source, footer: Footer, leaf: Leaf, row_group: int, extent: Extent) -> Pages:
    """Read all page headers at once, at the positions that the offset index gives."""
    nothing = Pages(table=np.empty((0, PAGE_COLUMNS), np.int64), stop=extent.start)
    chunk = footer.chunks.values[row_group, leaf.ordinal]
    start = int(chunk[ChunkField.OFFSET_INDEX_OFFSET])
    stop = start + int(chunk[ChunkField.OFFSET_INDEX_LENGTH])
    if not 0 < start < stop <= footer.start:
        return nothing
    try:
        index = parse_offset_index(source.read_at(start, stop), start=start)
    except MalformedFile:
        return nothing
    starts = [extent.start, *index.offsets.tolist()]
    if len(starts) > _MOST_REMOTE_PAGES or not all(
        one < other for one, other in pairwise((*starts, extent.limit))
    ):
        return nothing
    ranges = [(at, min(at + _REMOTE_HEADER_BYTES, extent.limit)) for at in starts]
    known = dict(zip(starts, source.read_ranges(ranges), strict=True))
    return walk_headers(lambda at, until: known.get(at, b"")[: until - at], extent)


def _plain_bytes(array: pa.Array, leaf: Leaf) -> int:
    """Return the length of an array without nulls in PLAIN encoding, bytes."""
    width = leaf.plain_width
    if width is not None:
        return len(array) * width
    offsets = np.frombuffer(array.buffers()[1], np.int32)
    num_bytes = int(offsets[array.offset + len(array)]) - int(offsets[array.offset])
    return num_bytes + LENGTH_BYTES * len(array)
