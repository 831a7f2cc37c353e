"""The files of a table that Spark reads: those of a folder, in partitions or not.

Spark reads every file of the folder that is not hidden (`source.folders`), with any suffix.
"""

# ruff: noqa: PTH112, PTH113, PTH116, PTH118, PTH119, PTH120  paths stay as given
from __future__ import annotations

import itertools
import os
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
from parquet_bloomwriter.source.folders import Leftovers, Why, is_backup, walk, why_not
from parquet_bloomwriter.source.listing import none_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_WHY_NOT = {
    Why.NOT_REGULAR: "not a regular file",
    Why.EMPTY: "an empty file, which Spark passes over",
    Why.NOT_PARQUET: "not a Parquet file",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFile:
    """One file of a table. Can be pickled."""

    path: str
    """Absolute path of the file."""

    name: str
    """Path of the file relative to the table's root, with "/"."""

    size: int
    """Size of the file, bytes."""

    why_not: str = ""
    """The reason why the file gets no filters, a clause; empty if it may get filters."""

    is_on_store: bool = False
    """Whether it is an object on a store; then so is its new version."""


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


def names_in(root: str) -> Iterator[str]:
    """Yield the names of all files that Spark reads, relative to the root, with "/".

    Backups beside the files whose old versions they are (`NAME.parquet.bak`) are not among them,
    as for `for_each_file`: they keep the old version.
    """
    found = {one.entry.path: one.inner for one in walk(root, Leftovers())}
    yield from (inner for path, inner in found.items() if not is_backup(path, found))


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
    """Check that the external references to a table's files allow a rewrite.

    Raises:
        UnsafeTarget: If it is a table's records, cannot be listed, or describes files to be
            replaced.
    """
    table = format_of(found.kind)
    if table is not None and in_place:
        problem = (
            f"this is {table.table}, and after a rewrite, {found} would be wrong about the files"
        )
        raise refused(problem, root, f"{table.remedy}, or force it.")
    if table is not None:
        problem = f"this is {table.table}, and {found} says which of the files count"
        raise refused(problem, root, f"Read it with {table.reader} and write it anew, or force it.")
    if found.kind is ReferenceKind.UNLISTED_METADATA:
        raise refused(f"{found.path} {found.kind}", root, "Get the right to list it, or force it.")
    if in_place and found.kind is ReferenceKind.SUMMARY_METADATA:
        raise refused(
            f"after a rewrite, {found} would be wrong about the files",
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
        size = os.stat(path).st_size
    except OSError:  # opening the file reports the error
        return TableFile(path=path, name=name, size=0)
    why = why_not(path)
    return TableFile(path=path, name=name, size=size, why_not=_WHY_NOT.get(why, "") if why else "")
