"""The values of column chunks as Parquet stores them, read by pyarrow."""

from parquet_bloomwriter.values.dictionary import DictionaryPage, page_in
from parquet_bloomwriter.values.pages import is_bomb, is_near
from parquet_bloomwriter.values.stream import (
    MOST_READ_AHEAD,
    LeafReader,
    NotDecodable,
    are_odd_instants,
    floating_dtype,
    has_odd_instants,
)

__all__ = [
    "MOST_READ_AHEAD",
    "DictionaryPage",
    "LeafReader",
    "NotDecodable",
    "are_odd_instants",
    "floating_dtype",
    "has_odd_instants",
    "is_bomb",
    "is_near",
    "page_in",
]
