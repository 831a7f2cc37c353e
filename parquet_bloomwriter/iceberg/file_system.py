"""Where a table's files are, by pyiceberg's own file systems: with its settings and credentials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.source.filesystems import locate

if TYPE_CHECKING:
    from pyiceberg.io import FileIO


def place_of(path: str, io: FileIO) -> tuple[str, Any]:
    """Return where a file is: its path, and the file system that pyiceberg reads it through.

    Returns:
        The path as the file system spells it; and a file system of pyarrow or fsspec, None for the
        local one.
    """
    from pyarrow.fs import LocalFileSystem
    from pyiceberg.io.pyarrow import PyArrowFileIO

    if isinstance(io, PyArrowFileIO):
        scheme, netloc, inner = io.parse_location(path, io.properties)
        filesystem = io.fs_by_scheme(scheme, netloc)
        return inner, None if isinstance(filesystem, LocalFileSystem) else filesystem
    found: Any = getattr(io.new_input(path), "_fs", None)  # fsspec's
    if found is None:
        place = locate(path)
        return place.path, place.filesystem
    is_local = "file" in ((found.protocol,) if isinstance(found.protocol, str) else found.protocol)
    return found._strip_protocol(path), None if is_local else found  # noqa: SLF001  no other
