"""The split block Bloom filter of the Parquet specification: bits, sizes, folds and bytes.

Contains no I/O and no hashing.
"""

from parquet_bloomwriter.sbbf.block import block_index, check_block
from parquet_bloomwriter.sbbf.filter import Sbbf
from parquet_bloomwriter.sbbf.header import Dialect, FilterHeader, decode_header, encode_header
from parquet_bloomwriter.sbbf.sizing import (
    Sizing,
    classic_num_bits,
    classic_num_bytes,
    expected_fpp,
    initial_num_blocks,
    num_blocks_for,
)

__all__ = [
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
    "expected_fpp",
    "initial_num_blocks",
    "num_blocks_for",
]
