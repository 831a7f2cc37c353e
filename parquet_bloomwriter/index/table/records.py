"""The records of Delta, Iceberg and other tables: they show that a folder is no plain table.

The records of such a table name the files in its folder that belong to it, the rows that were
deleted, and the names under which columns are stored. An index that ignores the records would know
files that do not belong to the table, and exclude files by the wrong column after a rename. A Delta
or Iceberg table as a whole is indexed by its metadata (`table.metadata`).
"""

# ruff: noqa: PTH113, PTH120  paths are strings, as in the log
from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.index.files import location
from parquet_bloomwriter.index.report import Code, Reason
from parquet_bloomwriter.index.storage.base import storage_of
from parquet_bloomwriter.replace.external_references import (
    ReferenceKind,
    find_by_name,
    find_table_records,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from parquet_bloomwriter.index.files import FileId
    from parquet_bloomwriter.replace.external_references import Reference


_REMEDY = (
    "Of a Delta table, name its folder; an Iceberg table, as iceberg://CATALOG/NAMESPACE.TABLE."
    " Other tables cannot be indexed: their records say which files and rows count."
)


def check_plain(root: str, files: Sequence[FileId]) -> None:
    """Check that a table is a plain folder of Parquet files.

    Args:
        root: The table's folder, absolute.
        files: The table's files.

    Raises:
        InvalidArgument: If a file, its folder, the folder or a folder above belongs to a table of
            another format.
    """
    folders = dict.fromkeys([root, *(os.path.dirname(location(root, file)) for file in files)])
    named = (found for file in files for found in find_by_name(location(root, file)))
    for found in itertools.chain(named, _records_of(root, folders)):
        if found.kind is ReferenceKind.UNLISTED_METADATA:
            problem, remedy = f"{found.path} {found.kind}", "Get the right to list it."
        else:
            records = f"{found.path} ({found.kind})"
            problem = f"the files belong to a table of another format: {records}"
            remedy = _REMEDY
        raise InvalidArgument(problem, path=root, remedy=remedy)


def why_not_plain(places: Iterable[str], *, known: ReferenceKind | None = None) -> Reason | None:
    """Return why an index must not be used for a query, or None if it may be.

    Args:
        places: The table's folder, and the folders and files that the query is about, absolute.
        known: The table's own records, if the query knows what they say.
    """
    for found in _records(dict.fromkeys(map(_folder_of, places))):
        if found.kind is known:
            continue
        text = (
            f'"{os.path.dirname(found.path)}" has become a table with records of its own, which an'
            f" index does not know: {found.path} ({found.kind}); delete the index"
        )
        return Reason(code=Code.TABLE_FORMAT, text=text)
    return None


def _records(folders: Iterable[str]) -> Iterator[Reference]:
    """Yield the records of other table formats in folders, and in those above them."""
    on_disk: list[str] = []
    on_store: list[str] = []
    for folder in folders:
        (on_store if storage_of(folder).is_remote else on_disk).append(folder)
    yield from find_table_records(on_disk)
    if on_store:
        from parquet_bloomwriter.stores.references import find_records_above

        yield from find_records_above(on_store)


def _records_of(root: str, folders: Iterable[str]) -> Iterator[Reference]:
    """Yield the records of other table formats in a table's folders, and in those above."""
    if not storage_of(root).is_remote:
        yield from _records(folders)
        return
    from parquet_bloomwriter.stores.references import find_records_below

    below = [one for one in folders if one.startswith(f"{root}/")]
    yield from _records(one for one in folders if one not in below)
    yield from find_records_below(root, below)


def _folder_of(path: str) -> str:
    return os.path.dirname(path) if os.path.isfile(path) else path
