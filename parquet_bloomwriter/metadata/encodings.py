"""Encodings of the data pages of a column chunk, by the footer.

    ColumnMetaData {13: encoding_stats: list<PageEncodingStats>}
    PageEncodingStats {1: page_type, 2: encoding, 3: count}

Whether every data page refers to the dictionary, no other field says: the list of encodings does
not tell if PLAIN was used for data pages or only for the dictionary page.

If these statistics left out a data page, values in it would be taken for absent, and rows be lost.
So only writers that are known to count every data page are believed where that could happen.

Source: parquet.thrift, PageEncodingStats.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from parquet_bloomwriter.caches import register
from parquet_bloomwriter.compact.scan import StructKind, StructSchema, scan
from parquet_bloomwriter.errors import MalformedFile
from parquet_bloomwriter.kernels.layout import (
    DATA_PAGE,
    DATA_PAGE_V2,
    I32,
    LIST,
    PLAIN_DICTIONARY,
    RLE_DICTIONARY,
    START,
    STOP,
)
from parquet_bloomwriter.metadata.fields import ChunkField

if TYPE_CHECKING:
    from parquet_bloomwriter.metadata.footer import Footer

_RELIABLE = (
    b"parquet-mr version 1.1",
    b"parquet-cpp-arrow version",
    b"parquet-rs version",
    b"datafusion",  # DataFusion writes with parquet-rs.
)
"""Prefixes of `created_by` of writers whose statistics of encodings count every data page."""

_PAGE_TYPE, _ENCODING = 1, 2
_STATS = StructSchema.of(
    {
        "Stats": StructKind(slots={}, children={1: "PageEncodingStats"}, ignored=(1,)),
        "PageEncodingStats": StructKind(
            slots={1: (_PAGE_TYPE, I32), 2: (_ENCODING, I32)}, ignored=(3,), min_bytes=3
        ),
    }
)
_LIST_HEADER = bytes((1 << 4 | LIST,))
"""Header byte of field 1, a list: makes a struct of the list, with 0 after it."""

_PLAIN = 0
_MOST_KEPT_BYTES = 64


def is_fully_dictionary_encoded(footer: Footer, row_group: int, column: int) -> bool:
    """Return whether the footer says that every data page refers to the dictionary.

    False if the chunk has no statistics of encodings, or malformed ones. To leave rows out, ask
    `is_certainly_dictionary_encoded`.
    """
    start, stop = footer.chunks.spans[row_group, column, ChunkField.ENCODING_STATS, START:].tolist()
    if start < 0:
        return False
    encoded = footer.data[start:stop]
    if len(encoded) > _MOST_KEPT_BYTES:
        return _refer_to_dictionary(encoded)
    return _refer_to_dictionary_kept(encoded)


def is_certainly_dictionary_encoded(footer: Footer, row_group: int, column: int) -> bool:
    """Return whether a reliable writer says that every data page refers to the dictionary."""
    return footer.created_by.startswith(_RELIABLE) and is_fully_dictionary_encoded(
        footer, row_group, column
    )


def has_other_encodings(footer: Footer, row_group: int, column: int) -> bool:
    """Return whether the footer says that some data page does not refer to the dictionary.

    If it says so wrongly, all values are read, where the dictionary would have been enough.
    """
    start, _ = footer.chunks.spans[row_group, column, ChunkField.ENCODING_STATS, START:].tolist()
    return start >= 0 and not is_fully_dictionary_encoded(footer, row_group, column)


def without_dictionaries(footer: Footer) -> bytes:
    """Return a footer of the same length that says that all data pages are PLAIN.

    Readers then do not take the values of dictionaries for all that there are.
    """
    data = bytearray(footer.data)
    spans = footer.chunks.spans[..., ChunkField.ENCODING_STATS, START:].reshape(-1, 2).tolist()
    for start, stop in spans:
        if start < 0:
            continue
        table = scan(_LIST_HEADER + footer.data[start:stop] + b"\x00", _STATS)
        stats = table.kinds == _STATS.names.index("PageEncodingStats")
        for row, span in zip(table.values[stats], table.spans[stats, _ENCODING], strict=True):
            if row[_PAGE_TYPE] in {DATA_PAGE, DATA_PAGE_V2} and span[STOP] - span[START] == 1:
                data[start + int(span[START]) - len(_LIST_HEADER)] = _PLAIN
    return bytes(data)


def _refer_to_dictionary(encoded: bytes) -> bool:
    """Return whether a list of PageEncodingStats has data pages, all with dictionary encoding."""
    try:
        table = scan(_LIST_HEADER + encoded + b"\x00", _STATS)
    except MalformedFile:  # A list, but not of the structs that it should hold.
        return False
    stats = table.values[table.kinds == _STATS.names.index("PageEncodingStats")]
    encodings = {
        row[_ENCODING] for row in stats.tolist() if row[_PAGE_TYPE] in {DATA_PAGE, DATA_PAGE_V2}
    }
    return bool(encodings) and encodings <= {PLAIN_DICTIONARY, RLE_DICTIONARY}


_refer_to_dictionary_kept = lru_cache(maxsize=256)(_refer_to_dictionary)
"""Cached form: nearly all column chunks of a file have one of a few lists."""

register(_refer_to_dictionary_kept.cache_clear)
