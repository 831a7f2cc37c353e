"""The files that a table has now, as an index knows them: by path relative to its root."""

# ruff: noqa: PTH112, PTH118  paths are strings, as in the log
from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from parquet_bloomwriter.arguments import paths_of
from parquet_bloomwriter.index.files import FileId, file_id, list_files
from parquet_bloomwriter.index.layout import local_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypeAlias

    StrPath: TypeAlias = str | os.PathLike[str]


def current_files(
    table: StrPath, root: str, files: StrPath | Sequence[StrPath] | None
) -> list[FileId]:
    """List the files of a table, ordered by path.

    Args:
        table: Its folder, a folder within it, or one of its files.
        root: What paths are to be relative to, absolute.
        files: The files, if they are known.

    Raises:
        OSError: If a folder cannot be listed, or a file is not there.
    """
    path = local_path(table)
    if files is not None:
        return sorted({file_id(root, local_path(file)) for file in paths_of(files)})
    if not os.path.isdir(path):
        return [file_id(root, path)]
    return sorted(relative_to(root, list_files(path), folder=path))


def relative_to(root: str, files: Iterable[FileId], *, folder: str) -> list[FileId]:
    """Make paths that are relative to `folder` relative to `root`."""
    if root == folder:
        return list(files)
    return [
        replace(file, path=relative_path(root, os.path.join(folder, file.path))) for file in files
    ]


def relative_path(root: str, path: str) -> str:
    """Spell an absolute path as an index does: relative, unless it lies elsewhere."""
    base = root if root.endswith(os.sep) else root + os.sep
    return path[len(base) :].replace(os.sep, "/") if path.startswith(base) else path
