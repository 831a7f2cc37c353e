"""The kernels in Python and NumPy: what the C is held against, and what works without it.

See `parquet_bloomwriter.kernels` for the rules, and `layout` for the arrays.
"""

import os

from parquet_bloomwriter.kernels.reference.pages import walk_pages
from parquet_bloomwriter.kernels.reference.sbbf import (
    check,
    count_bits,
    fold,
    insert,
    sum_products,
    unite,
)
from parquet_bloomwriter.kernels.reference.thrift import scan
from parquet_bloomwriter.kernels.reference.xxh64 import (
    xxh64,
    xxh64_fixed,
    xxh64_variable,
    xxh64_views,
)

if hasattr(os, "pread"):
    from parquet_bloomwriter.kernels.reference.pages import walk_file
    from parquet_bloomwriter.kernels.reference.probe import (
        probe_groups,
        probe_usual,
        read_pieces,
    )

__all__ = [
    "check",
    "count_bits",
    "fold",
    "insert",
    "probe_groups",
    "probe_usual",
    "read_pieces",
    "scan",
    "sum_products",
    "unite",
    "walk_file",
    "walk_pages",
    "xxh64",
    "xxh64_fixed",
    "xxh64_variable",
    "xxh64_views",
]
