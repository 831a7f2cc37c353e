"""A file is replaced, from `new_version` to `commit`, as a session does it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from parquet_bloomwriter.replace.commit import new_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from parquet_bloomwriter.replace.commit import NewVersion
    from parquet_bloomwriter.replace.original import SourceFile
    from parquet_bloomwriter.replace.target import Target


@contextmanager
def replacing(
    source: SourceFile,
    target: Target,
    *,
    verify: Callable[[str], None],
    progress: Callable[[int], None] | None = None,
) -> Iterator[NewVersion]:
    """Commit at the end what the body of the `with` statement has written.

    Args:
        source: The file that is read.
        target: From `choose_target`.
        verify: Called with the path of the complete new file before it is committed.
        progress: Called with the number of bytes as they are written.
    """
    with new_version(source, target, progress=progress) as new:
        yield new
        new.complete()
        verify(new.path)
        new.commit()
