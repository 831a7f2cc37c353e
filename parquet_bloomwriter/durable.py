"""Durable writes of small files: a file is complete under its name, and survives a crash.

    temporary file beside it -> the bytes -> fsync -> the name -> fsync of the folder

`create_once` and `create_whole` give a name that only one of several writers gets (see
`replace.names`); `write_file` may replace a file. A temporary file is locked as long as its writer
lives. One that a killed writer left is recognised by its name and removed.
"""

# ruff: noqa: PTH105, PTH108, PTH118, PTH120, PTH208  system calls
from __future__ import annotations

import contextlib
import os
import re
import shutil
from typing import TYPE_CHECKING

from parquet_bloomwriter.replace.copying import write_all
from parquet_bloomwriter.replace.names import is_same, make_folders, publish, sync_folder
from parquet_bloomwriter.replace.target import output_exists
from parquet_bloomwriter.replace.temporary import remove_stale, temporary_beside

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

    from parquet_bloomwriter.replace.temporary import Temporary

__all__ = [
    "create_once",
    "create_whole",
    "make_folders",
    "new_file",
    "remove_files",
    "remove_leftovers",
    "remove_tree",
    "sync_folder",
    "write_file",
]

_ALL = 0o666
"""Permissions asked for; the umask limits them."""

_TEMPORARY = re.compile(r"\.(?P<target>.+)\.bloomify-[0-9a-f]{16}\.tmp")


def create_once(path: str, data: bytes) -> bool:
    """Create a file of these bytes under a name that no file has.

    Returns:
        Whether the file was created. If not, the name is taken, and nothing was changed.

    Raises:
        OSError: What any step raises. The file is there or not; it is never there in part.
    """
    return _create(path, data, claims=True)


def create_whole(path: str, data: bytes) -> bool:
    """Create a file of these bytes under a name that no file has, for readers of other programs.

    It is like `create_once`, but the name never leads to an empty file, not even after a crash.

    Returns:
        Whether the file was created. If not, the name is taken, and nothing was changed.

    Raises:
        OSError: What any step raises; EOPNOTSUPP if the file system has no way to do it. The file
            may be there, if its name could not be brought to the disk.
    """
    return _create(path, data, claims=False)


def _create(path: str, data: bytes, *, claims: bool) -> bool:
    with _written(path, data) as temporary:
        if not publish(temporary, path, claims=claims):
            return False
    sync_folder(os.path.dirname(path))
    return True


def write_file(path: str, data: bytes) -> None:
    """Write a file of these bytes; replace a file that has the name.

    Raises:
        OSError: What any step raises. The file is the old one or the new one.
    """
    with _written(path, data) as temporary:
        os.replace(temporary.path, path)
    sync_folder(os.path.dirname(path))


@contextlib.contextmanager
def _written(path: str, data: bytes) -> Iterator[Temporary]:
    """Write a temporary file, and sync it to disk."""
    with temporary_beside(path, permissions=_ALL) as temporary:
        write_all(temporary.fd, data)
        temporary.grant()
        os.fsync(temporary.fd)
        yield temporary


@contextlib.contextmanager
def new_file(path: str, *, name: str, overwrite: bool) -> Iterator[BinaryIO]:
    """Write a file piece by piece, which has its name once the block has ended, and not before.

    Args:
        path: The name, absolute.
        name: The path as the caller spelled it, for messages.
        overwrite: Whether to replace a file that has the name.

    Raises:
        UnsafeTarget: If another file has got the name meanwhile.
        OSError: What any step raises. The file is not there, or the old one.
    """
    remove_stale(path)
    with temporary_beside(path, permissions=_ALL) as temporary:
        with open(temporary.fd, "wb", closefd=False) as stream:
            yield stream
        temporary.grant()
        os.fsync(temporary.fd)
        if overwrite:
            os.replace(temporary.path, path)
        elif not publish(temporary, path):
            raise output_exists(name)
    sync_folder(os.path.dirname(path))


def remove_leftovers(folder: str) -> None:
    """Remove the temporary files that killed writers left in a folder."""
    for name in os.listdir(folder):
        match = _TEMPORARY.fullmatch(name)
        if match is None:
            continue
        target = os.path.join(folder, match["target"])
        is_linked = False
        with contextlib.suppress(OSError):  # The next run looks again.
            is_linked = is_same(os.path.join(folder, name), target)
        if is_linked:  # killed between link and unlink
            _remove_file(os.path.join(folder, name))
        else:
            remove_stale(target)


def remove_tree(folder: str) -> None:
    """Remove a folder and its contents, if it exists; targets of links in it stay.

    Raises:
        OSError: If something cannot be removed, or it is a symbolic link.
    """
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(folder)


def remove_files(paths: Iterable[str]) -> None:
    """Remove the files that exist among these paths."""
    for path in paths:
        _remove_file(path)


def _remove_file(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
