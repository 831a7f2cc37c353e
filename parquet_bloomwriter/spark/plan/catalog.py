"""The indexes that a session knows: found by name, or by the files of a relation."""

# ruff: noqa: PTH118, PTH119, PTH120  paths are strings, as in the log

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloomwriter.arguments import paths_of
from parquet_bloomwriter.errors import IndexNotFound, InvalidArgument
from parquet_bloomwriter.index.describe import describe
from parquet_bloomwriter.index.format.columns import columns_holding
from parquet_bloomwriter.index.homes import find_homes, index_folders
from parquet_bloomwriter.index.layout import (
    HOME,
    SCHEMES,
    absolute_path,
    check_name,
    is_among,
)
from parquet_bloomwriter.index.query.lookup import is_about
from parquet_bloomwriter.index.query.snapshot import open_snapshots
from parquet_bloomwriter.index.report import Reason
from parquet_bloomwriter.index.storage.base import storage_of
from parquet_bloomwriter.index.table.ref import TableRef
from parquet_bloomwriter.spark.plan.stored_types import data_type_of, shows_as_stored

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TypeAlias

    import numpy as np
    from numpy.typing import NDArray

    from parquet_bloomwriter.index.report import IndexInfo

    StrPath: TypeAlias = str | os.PathLike[str]
    from collections.abc import Sequence

    from parquet_bloomwriter.index.query.snapshot import Snapshot
    from parquet_bloomwriter.metadata.elements import Part

_SHOWN = 5
"""Maximum number of names in an error message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundIndex:
    """An index that was found: its name, its home and its table."""

    name: str
    home: str
    table: str
    """Root of the table in the log of the index."""


class KnownHomes:
    """The folders of indexes that a session knows: its own folder, and those of some tables."""

    def __init__(self, system_path: str | None, tables: StrPath | Iterable[StrPath]) -> None:
        self.system_path = None if system_path is None else absolute_path(system_path)
        self._tables = dict.fromkeys(TableRef.of(table).root for table in paths_of(tables))

    def add(self, root: str) -> None:
        """Add the root of a table."""
        self._tables[root] = None

    def homes(self, table: str | None = None) -> list[str]:
        """Return all folders of indexes, or those where indexes of one table can be."""
        roots = self._tables if table is None else {table: None}
        own = [] if self.system_path is None else [self.system_path]
        return list(dict.fromkeys([*own, *(os.path.join(root, HOME) for root in roots)]))

    def infos(self) -> Iterator[IndexInfo]:
        """Describe the indexes in all folders, in the order of the folders and by name."""
        folders = (folder for home in self.homes() for folder in index_folders(home))
        yield from (info for info in map(describe, folders) if info is not None)

    def find(self, name: str, table: str | None = None) -> FoundIndex:
        """Find an index by name.

        Args:
            name: Name of the index.
            table: Root of its table, if several indexes have that name.

        Raises:
            IndexNotFound: If no index of that name is known.
            InvalidArgument: If several are known, or the name is malformed.
        """
        check_name(name)
        candidates = [os.path.join(home, name) for home in self.homes(table)]
        there = [candidate for candidate in candidates if storage_of(candidate).has_log(candidate)]
        infos = [info for info in map(describe, there) if info is not None]
        if table is not None:
            infos = [info for info in infos if info.root in ("", table)]
        if not infos:
            raise self._not_found(name, table)
        if len(infos) > 1:
            tables = ", ".join(info.root for info in infos[:_SHOWN])
            problem = f'there are {len(infos)} indexes of the name "{name}", of {tables}'
            raise InvalidArgument(problem, remedy="Say which: give its table as table=.")
        home = os.path.dirname(infos[0].folder)
        return FoundIndex(name=name, home=home, table=infos[0].root or _beside(home))

    def find_with_table(self, name: str, table: str | None = None) -> FoundIndex:
        """Find an index by name, whose table is going to be read.

        The log of an index names a table, and may come from a stranger. So that table is read only
        if the caller or the session has named it, too, or if the index lies in its folder.

        Args:
            name: As for `find`.
            table: As for `find`.

        Raises:
            IndexNotFound: As `find`.
            InvalidArgument: As `find`; or if only the index names the table.
        """
        found = self.find(name, table)
        if found.table in {table, _beside(found.home), *self._tables}:
            return found
        raise InvalidArgument(
            f'the index says that it is of "{found.table}", which this session has not named',
            path=os.path.join(found.home, name),
            remedy="If it is the table that you mean, give it as table=, or as "
            "Hyperspace(spark, tables=[...]).",
        )

    def _not_found(self, name: str, table: str | None) -> IndexNotFound:
        names = list(dict.fromkeys(info.name for info in self.infos()))
        listed = f"Known indexes: {', '.join(names[:_SHOWN])}. " if names else ""
        of_table = "" if table is None else f' of the table "{table}"'
        hint = "Give its table as table=, or as Hyperspace(spark, tables=[...])."
        remedy = listed if table is not None else f"{listed}{hint}"
        problem = f'no index "{name}"{of_table} is known'
        return IndexNotFound(problem, remedy=remedy.strip() or "Create it first.")


def _beside(home: str) -> str:
    return os.path.dirname(home) if os.path.basename(home) == HOME else home


def matching_indexes(
    roots: Sequence[str], homes: Iterable[str]
) -> Iterator[tuple[str, Snapshot | Reason]]:
    """Yield the indexes, by name, of tables that contain a root or lie in a root.

    A query may read folders of several users. So an index that was found for one root, and not
    given by the caller, must not name files of a root for which it would not have been found.

    Args:
        roots: Absolute paths of folders and files.
        homes: Folders of indexes that do not lie beside their tables.
    """
    given = dict.fromkeys(homes)
    found = {root: dict.fromkeys(find_homes(root)) for root in roots}
    beside = {home: None for homes_of_root in found.values() for home in homes_of_root}
    folders = (folder for home in beside | given for folder in index_folders(home))
    for folder, snapshot in open_snapshots(folders, roots):
        home = os.path.dirname(folder)
        others = [] if home in given else [root for root in roots if home not in found[root]]
        if is_about(folder, snapshot, roots) and not _may_name(snapshot, others):
            yield os.path.basename(folder), snapshot


def _may_name(snapshot: Snapshot | Reason, roots: Sequence[str]) -> bool:
    """Return whether an index may name files of some roots."""
    if isinstance(snapshot, Reason) or not roots:
        return False
    return is_among(snapshot.root, roots) or bool(are_absolute(snapshot).any())


def are_absolute(snapshot: Snapshot) -> NDArray[np.bool_]:
    """Return for each file of an index whether its path is not relative to the table's folder."""
    import numpy as np
    import pyarrow.compute as pc

    paths = snapshot.files.paths
    absolute = np.zeros(len(paths), np.bool_)
    # Keys of objects may begin with "/".
    for start in SCHEMES if snapshot.is_table_on_store else (*SCHEMES, "/"):
        absolute |= np.asarray(pc.starts_with(paths, start))
    return absolute


def column_of(snapshot: Snapshot, path: Sequence[str], *, case_sensitive: bool) -> str | None:
    """Return the column of an index for the path from a column to a leaf in it, or None.

    Names with dots in them are ambiguous: no column is returned.
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


def _column_holding(
    snapshot: Snapshot, path: Sequence[str], part: Part, *, case_sensitive: bool
) -> str | None:
    """Return the column of an index that is a part of an array or map, or None, as `column_of`."""
    if any("." in name for name in path):
        return None
    names = [column.name for column in snapshot.entry.columns]
    wanted = ".".join(path)
    found = columns_holding(names, wanted, part)
    if not found and not case_sensitive:
        folded = columns_holding(map(str.casefold, names), wanted.casefold(), part)
        found = [name for name in names if name.casefold() in folded]
    return found[0] if len(found) == 1 else None


def column_for(
    snapshot: Snapshot,
    path: Sequence[str],
    type_: str,
    part: Part | None,
    *,
    case_sensitive: bool,
) -> str | None:
    """Return the column of an index for a path, if the files store the values of Catalyst's type.

    Args:
        snapshot: The index.
        path: From a column to a leaf in it, or to an array or a map.
        type_: Catalyst's name of the type of its values.
        part: The part of an array or map; None if the path leads to a leaf.
        case_sensitive: Whether names of columns are.
    """
    if part is None:
        name = column_of(snapshot, path, case_sensitive=case_sensitive)
    else:
        name = _column_holding(snapshot, path, part, case_sensitive=case_sensitive)
    if name is None or not shows_as_stored(snapshot, name, data_type_of(type_)):
        return None
    return name
