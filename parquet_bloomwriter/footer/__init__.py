"""Parquet footers: a view with every offset and its bytes, and edits to those bytes. No I/O."""

from parquet_bloomwriter.footer.schema import Leaf, PhysicalType, Repetition
from parquet_bloomwriter.footer.view import TAIL_BYTES, Footer, locate_footer, parse_footer

__all__ = [
    "TAIL_BYTES",
    "Footer",
    "Leaf",
    "PhysicalType",
    "Repetition",
    "locate_footer",
    "parse_footer",
]
