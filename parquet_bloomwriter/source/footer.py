"""Reading a footer in as few requests as there can be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import NotParquet

if TYPE_CHECKING:
    from parquet_bloomwriter.metadata import Footer
    from parquet_bloomwriter.source.face import Source

_MAGIC = b"PAR1"
_TAIL_BYTES = 8
"""Footer length and magic."""


def read_footer(source: Source, *, check_head: bool = True) -> Footer:
    """Read and view the footer of a Parquet file.

    One request finds it at the end of a remote file, unless it is longer than `tail_bytes`.

    Args:
        source: The file.
        check_head: Look at the first four bytes, too, which is one request more. Readers need not;
            who rewrites a file should.

    Raises:
        NotParquet: If it is no Parquet file.
        MalformedFile: If the footer is broken.
        UnsupportedFile: If the file is encrypted.
        OSError: If reading fails.
    """
    from parquet_bloomwriter.metadata import locate_footer, parse_footer  # brings numpy

    if source.size < _TAIL_BYTES:
        raise NotParquet(
            f"the file has {source.size} bytes, fewer than the smallest Parquet file",
            remedy="Check that it was copied whole.",
        )
    tail = source.read_tail(source.tail_bytes)
    head = source.read_at(0, len(_MAGIC)) if check_head else _MAGIC
    start = locate_footer(head, tail[-_TAIL_BYTES:], source.size)
    end = source.size - _TAIL_BYTES
    tail_start = source.size - len(tail)
    if start >= tail_start:
        return parse_footer(tail[start - tail_start : end - tail_start], start=start)
    rest = source.read_at(start, tail_start)
    return parse_footer(rest + tail[:-_TAIL_BYTES], start=start)
