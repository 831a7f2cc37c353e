"""Column chunks -> their values as Parquet stores them, by pyarrow."""

from parquet_bloomwriter.values.dictionary import DictionaryPage, page_in
from parquet_bloomwriter.values.stream import (
    LeafReader,
    NotDecodable,
    are_odd_instants,
    floating_dtype,
    has_odd_instants,
)

__all__ = [
    "DictionaryPage",
    "LeafReader",
    "NotDecodable",
    "are_odd_instants",
    "floating_dtype",
    "has_odd_instants",
    "page_in",
]
