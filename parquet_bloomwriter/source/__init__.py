"""Sources of bytes: files anywhere, file objects and buffers, read at absolute positions.

Names are imported when they are first used: rewriting a local file needs no stores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloomwriter.lazy_names import importer

if TYPE_CHECKING:
    from parquet_bloomwriter.source.base import Range, Source, Traffic
    from parquet_bloomwriter.source.listing import Location, find_sources
    from parquet_bloomwriter.source.local import FileSource
    from parquet_bloomwriter.source.open import Input, open_for_reading, read_footer
    from parquet_bloomwriter.source.stream import BufferSource

__all__ = [
    "BufferSource",
    "FileSource",
    "Input",
    "Location",
    "Range",
    "Source",
    "Traffic",
    "find_sources",
    "open_for_reading",
    "read_footer",
]

__getattr__ = importer(
    __name__,
    {
        **dict.fromkeys(("Range", "Source", "Traffic"), "base"),
        "BufferSource": "stream",
        "FileSource": "local",
        **dict.fromkeys(("Input", "open_for_reading", "read_footer"), "open"),
        **dict.fromkeys(("Location", "find_sources"), "listing"),
    },
)


def __dir__() -> list[str]:
    return sorted(__all__)
