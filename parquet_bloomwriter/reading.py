"""The frame that verbs share which only read: open, view the footer, say which file it was."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import FileProblem
from parquet_bloomwriter.source import open_for_reading, read_footer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parquet_bloomwriter.metadata import Footer
    from parquet_bloomwriter.source import Input, Source


@contextmanager
def opened_with_footer(
    source: Input, *, filesystem: object | None = None
) -> Iterator[tuple[Source, Footer]]:
    """Open anything that can be read, and view its footer; problems get the path.

    Raises:
        InvalidArgument: If there is no way to read it.
        FileProblem: If it is no Parquet file, or its footer cannot be read.
        OSError: If reading fails.
    """
    with open_for_reading(source, filesystem=filesystem) as file:
        try:
            yield file, read_footer(file)
        except FileProblem as error:
            error.path = error.path or file.name
            raise
