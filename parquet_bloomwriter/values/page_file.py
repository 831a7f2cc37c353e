"""A Parquet file in memory with one required column, whose only page is given as it is.

    "PAR1"  PageHeader of a DATA_PAGE  the page  FileMetaData  its length  "PAR1"

So pyarrow decompresses and decodes a page that is PLAIN encoded, such as a dictionary, without
anything else of its chunk. The page has neither repetition nor definition levels.

Source: parquet.thrift; Apache Thrift, "Thrift Compact protocol encoding".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloomwriter.compact.varint import encode_zigzag
from parquet_bloomwriter.kernels.layout import BINARY, I32, I64, LIST, STRUCT
from parquet_bloomwriter.metadata.footer import MAGIC
from parquet_bloomwriter.values.second_footer import LEAF_NAME, stored_as

if TYPE_CHECKING:
    from parquet_bloomwriter.metadata import Leaf


def file_of_page(  # noqa: PLR0913  what a page header says
    page: bytes, leaf: Leaf, *, codec: int, num_values: int, num_bytes: int, crc: int | None
) -> bytes:
    """Return a file whose only page has these bytes, as PLAIN values of one required column.

    Args:
        page: The values, compressed.
        leaf: What their physical type is taken from.
        codec: parquet.thrift, CompressionCodec.
        num_values: Number of values.
        num_bytes: Bytes of the values, uncompressed.
        crc: Checksum of `page`, as a signed number; None if there is none.
    """
    header = _page_header(num_values, num_bytes, len(page), crc)
    footer = _file_metadata(leaf, codec, num_values, len(header) + len(page))
    return b"".join((MAGIC, header, page, footer, len(footer).to_bytes(4, "little"), MAGIC))


_I32, _I64, _BINARY, _LIST, _STRUCT = (
    bytes([1 << 4 | kind]) for kind in (I32, I64, BINARY, LIST, STRUCT)
)
"""Header bytes of fields of these types, whose id is that of the field before plus 1."""

_ONE_I32, _ONE_BINARY, _ONE_STRUCT, _TWO_STRUCTS = b"\x15", b"\x18", b"\x1c", b"\x2c"
"""Header bytes of lists."""

_END = b"\0"


def _skipping(header: bytes, ids: int = 1) -> bytes:
    """Return a field header with an id that is higher by `ids`: some fields are left out."""
    return bytes([header[0] + (ids << 4)])


def _numbers(header: bytes, *numbers: int) -> bytes:
    """Encode integers, one field each."""
    return b"".join(header + encode_zigzag(number) for number in numbers)


def _page_header(num_values: int, unpacked: int, packed: int, crc: int | None) -> bytes:
    """Return the bytes of the header of a DATA_PAGE with PLAIN values."""
    data_page, plain, rle = 0, 0, 3
    return b"".join(
        (
            _numbers(_I32, data_page, unpacked, packed, *(() if crc is None else (crc,))),
            _skipping(_STRUCT) if crc is None else _STRUCT,
            _numbers(_I32, num_values, plain, rle, rle),
            _END + _END,
        )
    )


def _file_metadata(leaf: Leaf, codec: int, num_values: int, num_bytes: int) -> bytes:
    """Return a FileMetaData with one row group and column, whose only page is at byte 4."""
    kind, length = stored_as(leaf)
    name = bytes([len(LEAF_NAME)]) + LEAF_NAME.encode()
    required = plain = encode_zigzag(0)
    to_repetition = _skipping(_I32) if length is None else _numbers(_I32, length) + _I32
    return b"".join(
        (
            _numbers(_I32, 1),
            _LIST + _TWO_STRUCTS,
            _skipping(_BINARY, 3) + name + _numbers(_I32, 1) + _END,
            _numbers(_I32, kind) + to_repetition + required + _BINARY + name + _END,
            _numbers(_I64, num_values),
            _LIST + _ONE_STRUCT + _LIST + _ONE_STRUCT,
            _numbers(_skipping(_I64), 0) + _STRUCT,
            _numbers(_I32, kind) + _LIST + _ONE_I32 + plain + _LIST + _ONE_BINARY + name,
            _numbers(_I32, codec) + _numbers(_I64, num_values, num_bytes, num_bytes),
            _numbers(_skipping(_I64), len(MAGIC)) + _END + _END,
            _numbers(_I64, num_bytes, num_values) + _END + _END,
        )
    )
