"""Look values up in the dictionary page of a column chunk that is dictionary-encoded throughout.

All values of such a chunk are in this page, its first (`values.dictionary`). It is read only if the
footer shows that no data page is encoded in another way, and its writer is known to be right there
(`metadata.encodings`), if the page is small, and if there is no filter, which would cost fewer
bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.metadata import PhysicalType
from parquet_bloomwriter.metadata.encodings import is_certainly_dictionary_encoded
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.values import are_odd_instants, page_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pyarrow as pa

    from parquet_bloomwriter.metadata import Footer, Leaf

MAX_PAGE_BYTES = 64 * 1024
"""Most bytes of a dictionary page that is read."""

_MAX_VALUES_BYTES = 16 * MAX_PAGE_BYTES
_LZO, _OLD_LZ4 = 3, 5
"""Codecs that are not read (parquet.thrift, CompressionCodec): pyarrow lacks LZO, and writers
disagree about LZ4."""


def holds_any(
    footer: Footer,
    row_group: int,
    leaf: Leaf,
    plains: Iterable[bytes],
    read_at: Callable[[int, int], bytes],
) -> bool | None:
    """Return whether a column chunk holds a value with any of these PLAIN bytes.

    Returns:
        None if the dictionary does not tell, or is not worth reading.

    Raises:
        BloomwriterError, OSError: If reading fails.
    """
    place = _page_of(footer, row_group, leaf.ordinal)
    if place is None:
        return None
    codec = int(footer.chunks.values[row_group, leaf.ordinal, ChunkField.CODEC])
    entries = _entries(read_at(*place), leaf, codec)
    return None if entries is None else _holds_any(entries, leaf, plains)


def _page_of(footer: Footer, row_group: int, column: int) -> tuple[int, int] | None:
    """Return the range of the dictionary page, which ends at the first data page; or None."""
    chunk = footer.chunks.values[row_group, column]
    start = int(chunk[ChunkField.DICTIONARY_PAGE_OFFSET])
    stop = int(chunk[ChunkField.DATA_PAGE_OFFSET])
    if not 0 < start < stop <= min(footer.start, start + MAX_PAGE_BYTES):
        return None
    return (start, stop) if is_certainly_dictionary_encoded(footer, row_group, column) else None


def _entries(data: bytes, leaf: Leaf, codec: int) -> list[pa.Array] | None:
    """Return the entries of a dictionary page; None if it is not certain that these are all."""
    import pyarrow as pa

    page = None if codec in (_LZO, _OLD_LZ4) else page_in(data, leaf, codec)
    if page is None or page.num_bytes > _MAX_VALUES_BYTES:
        return None
    try:
        return list(page.batches())
    except (OSError, pa.ArrowException):
        return None


def _holds_any(entries: list[pa.Array], leaf: Leaf, plains: Iterable[bytes]) -> bool | None:
    if leaf.physical_type == PhysicalType.BYTE_ARRAY:
        return any(not set(array.to_pylist()).isdisjoint(plains) for array in entries)
    width = leaf.plain_width or 0
    stored = np.concatenate([_stored(array, width) for array in entries])
    if leaf.physical_type == PhysicalType.INT96 and are_odd_instants(stored):
        return None  # They equal values of other bytes.
    rows = stored.reshape(-1, width)
    return any(
        len(plain) == width and bool((rows == np.frombuffer(plain, np.uint8)).all(axis=1).any())
        for plain in plains
    )


def _stored(array: pa.Array, width: int) -> np.ndarray:
    """Return the bytes of values of one width, an array without nulls."""
    return np.frombuffer(array.buffers()[1], np.uint8)[array.offset * width :][: len(array) * width]
