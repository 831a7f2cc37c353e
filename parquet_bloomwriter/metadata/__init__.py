"""Parquet footers: a view of every field with its position, and edits of its bytes. No I/O."""

from typing import TYPE_CHECKING

from parquet_bloomwriter.lazy_names import importer

if TYPE_CHECKING:
    from parquet_bloomwriter.metadata.footer import TAIL_BYTES, Footer, locate_footer, parse_footer
    from parquet_bloomwriter.metadata.schema import Leaf, PhysicalType, Repetition, Schema

__all__ = [
    "TAIL_BYTES",
    "Footer",
    "Leaf",
    "PhysicalType",
    "Repetition",
    "Schema",
    "locate_footer",
    "parse_footer",
]

__getattr__ = importer(
    __name__,
    {
        **dict.fromkeys(("TAIL_BYTES", "Footer", "locate_footer", "parse_footer"), "footer"),
        **dict.fromkeys(("Leaf", "PhysicalType", "Repetition", "Schema"), "schema"),
    },
)


def __dir__() -> list[str]:
    return sorted(__all__)
