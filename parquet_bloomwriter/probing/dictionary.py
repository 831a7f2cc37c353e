"""Look values up in the dictionary page of a column chunk that is dictionary-encoded throughout.

    PageHeader {1: type, 2: uncompressed_page_size, 3: compressed_page_size, 4: crc,
                7: DictionaryPageHeader {1: num_values, 2: encoding}}
    then the values, PLAIN encoded, compressed with the chunk's codec

All values of such a chunk are in this page, its first. It is read only if the footer shows that no
data page is encoded in another way, if the page is small, and if there is no filter, which would
cost fewer bytes.

Source: parquet.thrift, PageHeader; Parquet specification, "Dictionary Encoding".
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.compact.scan import StructKind, StructSchema, scan
from parquet_bloomwriter.errors import MalformedFile
from parquet_bloomwriter.kernels.layout import I32, START, STRUCT
from parquet_bloomwriter.metadata import PhysicalType
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.metadata.footer import is_fully_dictionary_encoded
from parquet_bloomwriter.values import are_odd_instants

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from parquet_bloomwriter.metadata import Footer, Leaf

MAX_PAGE_BYTES = 64 * 1024
"""Larger pages are not worth reading."""

_MAX_VALUES_BYTES = 16 * MAX_PAGE_BYTES
_DICTIONARY_PAGE = 2
_PLAIN_ENCODINGS = (0, 2)  # PLAIN, PLAIN_DICTIONARY
_CODECS = {0: None, 1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4_raw"}
"""parquet.thrift, CompressionCodec -> pyarrow's name. LZO and the old LZ4 are left out."""

_WIDTHS = {
    PhysicalType.INT32: 4,
    PhysicalType.INT64: 8,
    PhysicalType.INT96: 12,
    PhysicalType.FLOAT: 4,
    PhysicalType.DOUBLE: 8,
}

_TYPE, _UNCOMPRESSED, _COMPRESSED, _CRC, _DICTIONARY, _NUM_VALUES, _ENCODING = range(1, 8)
_PAGE_HEADER = StructSchema.of(
    {
        "PageHeader": StructKind(
            slots={
                1: (_TYPE, I32),
                2: (_UNCOMPRESSED, I32),
                3: (_COMPRESSED, I32),
                4: (_CRC, I32),
                7: (_DICTIONARY, STRUCT),
            },
            children={7: "DictionaryPageHeader"},
        ),
        "DictionaryPageHeader": StructKind(
            slots={1: (_NUM_VALUES, I32), 2: (_ENCODING, I32)}, shares_row=True
        ),
    }
)


def holds_any(
    footer: Footer,
    row_group: int,
    leaf: Leaf,
    plains: Iterable[bytes],
    read_at: Callable[[int, int], bytes],
) -> bool | None:
    """Whether a column chunk holds a value with any of these PLAIN bytes.

    Returns:
        None if the dictionary does not tell, or is not worth reading.

    Raises:
        BloomwriterError, OSError: If reading fails.
    """
    place = _page_of(footer, row_group, leaf.ordinal)
    if place is None:
        return None
    codec = int(footer.chunks.values[row_group, leaf.ordinal, ChunkField.CODEC])
    page = _values_of(read_at(*place), codec)
    return None if page is None else _holds_any(page, leaf, plains)


def _page_of(footer: Footer, row_group: int, column: int) -> tuple[int, int] | None:
    """Return where the dictionary page begins and ends: at the first data page."""
    chunk = footer.chunks.values[row_group, column]
    start = int(chunk[ChunkField.DICTIONARY_PAGE_OFFSET])
    stop = int(chunk[ChunkField.DATA_PAGE_OFFSET])
    if not 0 < start < stop <= min(footer.start, start + MAX_PAGE_BYTES):
        return None
    try:
        return (start, stop) if is_fully_dictionary_encoded(footer, row_group, column) else None
    except MalformedFile:  # A list, but not of the structs that it should hold.
        return None


def _values_of(page: bytes, codec: int) -> tuple[bytes, int] | None:
    """Return the PLAIN bytes of a dictionary page, and the number of values in them."""
    try:
        table = scan(page, _PAGE_HEADER)
    except MalformedFile:
        return None
    numbers, has = table.values[0].tolist(), table.spans[0, :, START] >= 0
    body = page[table.stop :]
    if numbers[_TYPE] != _DICTIONARY_PAGE or not has[_DICTIONARY] or codec not in _CODECS:
        return None
    if numbers[_COMPRESSED] != len(body) or numbers[_ENCODING] not in _PLAIN_ENCODINGS:
        return None
    if has[_CRC] and numbers[_CRC] & 0xFFFFFFFF != zlib.crc32(body):
        return None
    values = _decompressed(body, _CODECS[codec], numbers[_UNCOMPRESSED])
    return None if values is None else (values, numbers[_NUM_VALUES])


def _decompressed(body: bytes, codec: str | None, size: int) -> bytes | None:
    import pyarrow as pa

    if codec is None:
        return body if len(body) == size else None
    if not 0 <= size <= _MAX_VALUES_BYTES:
        return None
    try:
        return bytes(pa.Codec(codec).decompress(body, size, asbytes=True))
    except (OSError, pa.ArrowException):
        return None


def _holds_any(page: tuple[bytes, int], leaf: Leaf, plains: Iterable[bytes]) -> bool | None:
    values, count = page
    if count <= 0:  # A chunk with values has a dictionary with values.
        return None
    if leaf.physical_type == PhysicalType.BYTE_ARRAY:
        stored = _byte_arrays(values, count)
        return None if stored is None else not stored.isdisjoint(plains)
    width = _WIDTHS.get(leaf.physical_type) or leaf.type_length or 0
    if width <= 0 or len(values) != count * width:
        return None
    numbers = np.frombuffer(values, np.uint8)
    if leaf.physical_type == PhysicalType.INT96 and are_odd_instants(numbers):
        return None  # They equal values of other bytes.
    rows = numbers.reshape(count, width)
    return any(
        len(plain) == width and bool((rows == np.frombuffer(plain, np.uint8)).all(axis=1).any())
        for plain in plains
    )


def _byte_arrays(values: bytes, count: int) -> set[bytes] | None:
    stored = set()
    at = 0
    for _ in range(count):
        stop = at + 4 + int.from_bytes(values[at : at + 4], "little")
        if stop > len(values) or at + 4 > len(values):
            return None
        stored.add(values[at + 4 : stop])
        at = stop
    return stored if at == len(values) else None
