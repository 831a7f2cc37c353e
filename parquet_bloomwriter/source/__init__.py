"""Where bytes come from: files anywhere, file objects and buffers, read at absolute positions.

Names are imported when they are first used: rewriting a local file needs no stores.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

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

_HOMES = {
    "BufferSource": "stream",
    "FileSource": "local",
    "Input": "open",
    "Location": "listing",
    "find_sources": "listing",
    "open_for_reading": "open",
    "read_footer": "open",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES.get(name, 'base')}"), name)
    globals()[name] = value
    return value
