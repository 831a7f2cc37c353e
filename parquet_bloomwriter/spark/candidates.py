"""The indexes that are about the files of a relation."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from parquet_bloomwriter.index.layout import find_homes, index_folders
from parquet_bloomwriter.index.query.lookup import is_about
from parquet_bloomwriter.index.query.snapshot import open_snapshots
from parquet_bloomwriter.spark.plan.stored_types import shows_as_stored
from parquet_bloomwriter.spark.rules.catalyst import data_type_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from parquet_bloomwriter.index.query.snapshot import Snapshot
    from parquet_bloomwriter.index.reasons import Reason


def candidates(
    roots: Sequence[str], homes: Iterable[str]
) -> Iterator[tuple[str, Snapshot | Reason]]:
    """Yield the indexes of tables that hold some of the roots, or lie in one, by name.

    Args:
        roots: Absolute paths of folders and files.
        homes: Homes of indexes that do not lie beside their tables.
    """
    beside = (home for root in roots for home in find_homes(root))
    folders = (
        folder for home in dict.fromkeys([*beside, *homes]) for folder in index_folders(home)
    )
    for folder, snapshot in open_snapshots(folders, roots):
        if is_about(folder, snapshot, roots):
            yield os.path.basename(folder), snapshot  # noqa: PTH119  a string


def column_of(snapshot: Snapshot, path: Sequence[str], *, case_sensitive: bool) -> str | None:
    """The column of an index that a path from a column to a leaf in it means; None if none.

    Names with dots in them are ambiguous, and mean none.
    """
    if any("." in name for name in path):
        return None
    wanted = ".".join(path)
    names = [column.name for column in snapshot.entry.columns]
    if wanted in names:
        return wanted
    if case_sensitive:
        return None
    same = [name for name in names if name.casefold() == wanted.casefold()]
    return same[0] if len(same) == 1 else None


def column_for(
    snapshot: Snapshot, path: Sequence[str], type_: str, *, case_sensitive: bool
) -> str | None:
    """The same, if values of Catalyst's type are those that the files store."""
    name = column_of(snapshot, path, case_sensitive=case_sensitive)
    if name is None or not shows_as_stored(snapshot, name, data_type_of(type_)):
        return None
    return name
