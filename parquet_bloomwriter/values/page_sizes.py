"""The sizes that pages claim, looked at before pyarrow takes them at their word.

    PageHeader {1: type, 2: uncompressed_page_size, 3: compressed_page_size, ...}

pyarrow reserves what a header claims, up to 2 GiB, before it reads the page; and some 64 MiB while
it looks for the end of a header that is none. A wrong offset in the footer makes a header of any
bytes, so the headers that the footer leads to are looked at first: those of the dictionary and of
the first data page. The pages behind them are not.

Source: parquet.thrift, PageHeader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloomwriter.compact.loop import I32
from parquet_bloomwriter.compact.scan import StructKind, StructSchema, scan
from parquet_bloomwriter.errors import MalformedFile
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
"""Read for a header, and for one with longer statistics. pyarrow takes none that is longer."""

_HARMLESS_BYTES = 32 * 1024 * 1024
"""Of an unpacked page; more must be confirmed by the size of all pages."""


def check_page_sizes(source: Source, footer: Footer, row_group: int, ordinal: int) -> None:
    """See that the first pages of a column chunk have headers, with sizes that they can have.

    Raises:
        OSError: If they have not, or if reading fails.
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
