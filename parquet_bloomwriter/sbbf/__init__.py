"""The split block Bloom filter of the Parquet specification: bits, sizes, folds and bytes.

Contains no I/O. docs/reference/filter.md shows how to use it.
"""

from typing import TYPE_CHECKING

from parquet_bloomwriter.hashing import Dialect
from parquet_bloomwriter.lazy_names import importer

if TYPE_CHECKING:
    from parquet_bloomwriter.sbbf.block import SALT, block_index, check_block, mask
    from parquet_bloomwriter.sbbf.filter import Sbbf
    from parquet_bloomwriter.sbbf.folding import exact_rate, fold, merge
    from parquet_bloomwriter.sbbf.header import FilterHeader, decode_header, encode_header
    from parquet_bloomwriter.sbbf.sizing import (
        MAX_BYTES,
        MIN_BYTES,
        Sizing,
        classic_num_bits,
        classic_num_bytes,
        expected_fpp,
        initial_num_blocks,
        num_blocks_for,
    )

__all__ = [
    "MAX_BYTES",
    "MIN_BYTES",
    "SALT",
    "Dialect",
    "FilterHeader",
    "Sbbf",
    "Sizing",
    "block_index",
    "check_block",
    "classic_num_bits",
    "classic_num_bytes",
    "decode_header",
    "encode_header",
    "exact_rate",
    "expected_fpp",
    "fold",
    "initial_num_blocks",
    "mask",
    "merge",
    "num_blocks_for",
]

__getattr__ = importer(
    __name__,
    {
        **dict.fromkeys(__all__, "sizing"),
        **dict.fromkeys(("SALT", "block_index", "check_block", "mask"), "block"),
        **dict.fromkeys(("exact_rate", "fold", "merge"), "folding"),
        "Sbbf": "filter",
        **dict.fromkeys(("FilterHeader", "decode_header", "encode_header"), "header"),
    },
)


def __dir__() -> list[str]:
    return sorted(__all__)
