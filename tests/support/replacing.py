"""A file is replaced, from `new_version` to `commit`, as a session does it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from parquet_bloomwriter.replace.commit import new_version
from parquet_bloomwriter.replace.target import choose_target
from parquet_bloomwriter.source.local import open_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from parquet_bloomwriter.replace.commit import NewVersion
    from parquet_bloomwriter.replace.target import Target
    from parquet_bloomwriter.source.local import OpenedFile

OLD = b"PAR1old bytesPAR1"
NEW = b"PAR1oldNEW bytesPAR1"
"""What `rewrite` makes of it."""


@contextmanager
def replacing(
    source: OpenedFile,
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


def contents(folder: Path) -> dict[str, bytes | str]:
    """Return everything in the folder: a file's bytes, a symbolic link's target, else "other"."""
    return {
        path.name: str(path.readlink())
        if path.is_symlink()
        else path.read_bytes()
        if path.is_file()
        else "other"
        for path in folder.iterdir()
    }


def write_new(new: NewVersion) -> None:
    """Write `NEW` in the place of `OLD`."""
    new.copy(0, 7)
    new.write(b"NEW")
    new.copy(7, len(OLD))


def accept(_: str) -> None:
    """Find nothing wrong with the new file."""


def rewrite(path: Path, output: Path | None = None, **options: object) -> None:
    """Replace a file that holds `OLD` by one that holds `NEW`; the options of `choose_target`."""
    with open_file(path) as source:
        target = choose_target(source, output, **options)  # type: ignore[arg-type]
        with replacing(source, target, verify=accept) as new:
            write_new(new)
