"""The files of a table that Spark reads: those of a folder, in partitions or not.

Spark reads every file of the folder, with any suffix. It passes over files and folders whose names
begin with `.`, or begin with `_` and have no `=` (`_a=1` is a partition). Source: Spark,
HadoopFSUtils.shouldFilterOutPathName.
"""

# ruff: noqa: PTH112, PTH113, PTH116, PTH118, PTH119, PTH120, PTH123  paths stay as given
from __future__ import annotations

import itertools
import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import InvalidArgument, UnsafeTarget
from parquet_bloomwriter.replace.external_references import (
    Reference,
    ReferenceKind,
    find_by_name,
    find_references,
    format_of,
)
from parquet_bloomwriter.source.listing import has_suffix, none_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MAGIC = (b"PAR1", b"PARE")
_BEING_COPIED = "._COPYING_"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFile:
    """One file of a table. Can be pickled."""

    path: str
    """Absolute path."""

    name: str
    """Path relative to the table's root, with "/"."""

    size: int
    """Bytes."""

    why_not: str = ""
    """Why the file gets no filters, a clause; empty if it may get some."""


def table_files(path: str) -> tuple[str, tuple[TableFile, ...]]:
    """Return the root of a table, and its files in the order of their names.

    Args:
        path: Absolute path of a folder, or of a single file, whose folder is then the root.

    Raises:
        InvalidArgument: If there is no folder or file of this path.
        OSError: If a folder cannot be listed.
    """
    if os.path.isdir(path):
        root = path
        files = [_file(root, name) for name in sorted(names_in(root))] or none_in(path)
    elif os.path.isfile(path):
        root = os.path.dirname(path)
        files = [_file(root, os.path.basename(path))]
    else:
        raise InvalidArgument(f'there is no folder or file "{path}"')
    return root, tuple(files)


def is_hidden(name: str) -> bool:
    """Return whether Spark passes over files and folders of this name."""
    underscored = name.startswith("_") and "=" not in name
    return underscored or name.startswith(".") or name.endswith(_BEING_COPIED)


def names_in(root: str, folder: str = "") -> Iterator[str]:
    """Yield the names of all files that Spark reads, relative to the root, with "/"."""
    with os.scandir(os.path.join(root, folder)) as entries:
        for entry in entries:
            if is_hidden(entry.name):
                continue
            name = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir(follow_symlinks=False):
                yield from names_in(root, name)
            elif not (entry.is_symlink() and os.path.isdir(entry.path)):
                yield name


def check_is_plain(root: str, files: Iterable[TableFile], *, in_place: bool) -> None:
    """Check that nothing else keeps a record of the files.

    Raises:
        UnsafeTarget: If a table format does, or if a `_metadata` describes files to be replaced.
    """
    probes = {os.path.dirname(file.path): file.path for file in files}
    named = (found for file in files for found in find_by_name(file.path))
    beside = (found for probe in probes.values() for found in find_references(probe))
    for found in itertools.chain(named, beside):
        check_reference(root, found, in_place=in_place)


def check_reference(root: str, found: Reference, *, in_place: bool) -> None:
    """Check that what was found about the files of a table allows a rewrite.

    Raises:
        UnsafeTarget: If it is a table's records, cannot be listed, or describes files to be
            replaced.
    """
    table = format_of(found.kind)
    if table is not None and in_place:
        problem = f"this is {table.table}, and a rewrite would contradict {found}"
        raise refused(problem, root, f"{table.remedy}, or force it.")
    if table is not None:
        problem = f"this is {table.table}, and {found} says which of the files count"
        raise refused(problem, root, f"Read it with {table.reader} and write it anew, or force it.")
    if found.kind is ReferenceKind.UNLISTED_METADATA:
        raise refused(f"{found.path} {found.kind}", root, "Get the right to list it, or force it.")
    if in_place and found.kind is ReferenceKind.SUMMARY_METADATA:
        raise refused(
            f"a rewrite would contradict {found}",
            root,
            "Remove it first, write to another folder, or force it.",
        )


def refused(problem: str, root: str, remedy: str) -> UnsafeTarget:
    """Return the error for a table that something else keeps a record of."""
    error = UnsafeTarget(problem, path=root, remedy=remedy)
    error.outcome = "Nothing was changed."
    return error


def _file(root: str, name: str) -> TableFile:
    path = os.path.join(root, name)
    try:
        found = os.stat(path)
        size, why_not = found.st_size, _why_not(path, found)
    except OSError:  # opening the file reports the error
        size, why_not = 0, ""
    return TableFile(path=path, name=name, size=size, why_not=why_not)


def _why_not(path: str, found: os.stat_result) -> str:
    if not stat.S_ISREG(found.st_mode):
        return "not a regular file"
    if not found.st_size:
        return "an empty file, which Spark passes over"
    if has_suffix(path):
        return ""
    with open(path, "rb") as file:
        start = file.read(4)
        file.seek(-min(4, found.st_size), os.SEEK_END)
        return "" if start in _MAGIC or file.read(4) in _MAGIC else "not a Parquet file"
