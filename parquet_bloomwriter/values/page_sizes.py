"""The sizes in page headers, checked before pyarrow reserves memory by them.

    PageHeader {1: type, 2: uncompressed_page_size, 3: compressed_page_size, ...}

pyarrow reserves the size that a header gives, up to 2 GiB, before it reads the page, and some 64
MiB while it looks for the end of a malformed header. If an offset in the footer is wrong, any bytes
are taken for a header. So the headers that the footer leads to are checked first: of the dictionary
page and of the first data page. The headers of other pages are not.

Source: parquet.thrift, PageHeader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloomwriter.compact.scan import StructKind, StructSchema, scan
from parquet_bloomwriter.errors import MalformedFile
from parquet_bloomwriter.kernels.layout import I32
from parquet_bloomwriter.metadata.fields import ChunkField

if TYPE_CHECKING:
    from parquet_bloomwriter.compact.scan import Table
    from parquet_bloomwriter.metadata import Footer
    from parquet_bloomwriter.source import Source

_UNCOMPRESSED, _COMPRESSED = 1, 2
_PAGE_HEADER = StructSchema.of(
    {"PageHeader": StructKind(slots={2: (_UNCOMPRESSED, I32), 3: (_COMPRESSED, I32)})}
)
_HEADER_BYTES, _LONGEST_HEADER = 4096, 16 * 1024 * 1024
"""Bytes read for a header, and for a header with long statistics. pyarrow refuses longer
headers."""

_HARMLESS_BYTES = 32 * 1024 * 1024
"""Bytes of an unpacked page; a larger page must fit the size of all pages in the footer."""


def check_page_sizes(source: Source, footer: Footer, row_group: int, ordinal: int) -> None:
    """Check that the first pages of a column chunk have headers, with plausible sizes.

    Raises:
        OSError: If a header is malformed or gives an impossible size, or if reading fails.
    """
    chunk = footer.chunks.values[row_group, ordinal]
    fields = (ChunkField.DICTIONARY_PAGE_OFFSET, ChunkField.DATA_PAGE_OFFSET)
    starts = [int(chunk[field]) for field in fields if 0 < chunk[field] < footer.start]
    ranges = [(start, min(start + _HEADER_BYTES, footer.start)) for start in starts]
    all_pages = int(chunk[ChunkField.TOTAL_UNCOMPRESSED_SIZE])
    for start, data in zip(starts, source.read_ranges(ranges), strict=True):
        try:
            table = scan(data, _PAGE_HEADER)
        except MalformedFile:
            table = _long_header(source.read_at(start, min(start + _LONGEST_HEADER, footer.start)))
        unpacked, packed = table.values[0, [_UNCOMPRESSED, _COMPRESSED]].tolist()
        if packed > footer.start - start - table.stop:
            raise OSError(f"a page claims {packed} bytes, more than the file has behind it")
        if unpacked > max(_HARMLESS_BYTES, all_pages):
            raise OSError(f"a page claims {unpacked} bytes, all pages together {all_pages}")


def _long_header(data: bytes) -> Table:
    try:
        return scan(data, _PAGE_HEADER)
    except MalformedFile as error:
        raise OSError(f"a page has no header: {error.problem}") from None
