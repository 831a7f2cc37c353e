"""Where bytes come from: files anywhere, file objects and buffers, read at absolute positions."""

from parquet_bloomwriter.source.face import Range, Source, Traffic
from parquet_bloomwriter.source.finding import find_sources
from parquet_bloomwriter.source.footer import read_footer
from parquet_bloomwriter.source.local import FileSource
from parquet_bloomwriter.source.location import Location
from parquet_bloomwriter.source.memory import BufferSource
from parquet_bloomwriter.source.opening import Input, open_for_reading

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
