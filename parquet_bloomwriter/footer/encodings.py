"""How the pages of a column chunk are encoded, as far as the footer tells.

    ColumnMetaData 13: list<PageEncodingStats { 1: page_type, 2: encoding, 3: count }>

Without these statistics the list of encodings is all there is, and it does not say whether PLAIN
was used for data pages or only for the dictionary page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloomwriter.compact.loop import I32, LIST, START
from parquet_bloomwriter.compact.scan import Grammar, Kind, scan
from parquet_bloomwriter.metadata.fields import ChunkField

if TYPE_CHECKING:
    from parquet_bloomwriter.metadata.footer import Footer

_DICTIONARY_ENCODINGS = {2, 8}  # PLAIN_DICTIONARY, RLE_DICTIONARY
_DATA_PAGES = {0, 3}  # DATA_PAGE, DATA_PAGE_V2
_PAGE_TYPE, _ENCODING = 1, 2

_STATS = Grammar.of(
    {
        "Stats": Kind(slots={}, children={1: "PageEncodingStats"}, ignored=(1,)),
        "PageEncodingStats": Kind(
            slots={1: (_PAGE_TYPE, I32), 2: (_ENCODING, I32)}, ignored=(3,), min_bytes=3
        ),
    }
)


def is_fully_dictionary_encoded(footer: Footer, row_group: int, column: int) -> bool:
    """Whether the footer shows that every data page refers to the dictionary.

    False where it does not tell.
    """
    start, stop = footer.chunks.spans[row_group, column, ChunkField.ENCODING_STATS, START:].tolist()
    if start < 0:
        return False
    list_header = bytes((1 << 4 | LIST,))
    table = scan(
        list_header + footer.data[start:stop] + b"\x00", _STATS, origin=footer.start + start - 1
    )
    stats = table.values[table.kinds == _STATS.names.index("PageEncodingStats")]
    encodings = {row[_ENCODING] for row in stats.tolist() if row[_PAGE_TYPE] in _DATA_PAGES}
    return bool(encodings) and encodings <= _DICTIONARY_ENCODINGS
