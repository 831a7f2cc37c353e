"""The place of a table: a folder on a disk, or a prefix on a store.

    local    tables on disks; documents the methods of a place
    store    tables on stores; a store without exclusive creation is read only
    uris     paths of files in the log, and names of new files

`place_of` opens a place. Commands on local tables import no modules of stores.
"""

# ruff: noqa: PTH100, PTH118, PTH208  paths are strings
from __future__ import annotations

import os
import re
from glob import has_magic
from typing import TYPE_CHECKING

from parquet_bloomwriter.delta.place.local import LOG, LocalPlace, LogFile
from parquet_bloomwriter.delta.place.uris import data_path, new_name
from parquet_bloomwriter.errors import InvalidArgument, StoreProblem
from parquet_bloomwriter.source.filesystems import is_far
from parquet_bloomwriter.source.folders import has_suffix

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeAlias

    from parquet_bloomwriter.delta.place.store import StorePlace

    TablePlace: TypeAlias = LocalPlace | StorePlace

__all__ = ["LOG", "LogFile", "is_table", "new_name", "place_of"]

_VERSIONED = re.compile(r"\d{20}\.(json|checkpoint\..*)")
"""Pattern of the names of entries and checkpoints."""


def place_of(table: str | os.PathLike[str]) -> TablePlace:
    """Open the place of a table. On S3, this makes no request; other stores are connected to.

    Args:
        table: Path or URL of its folder.

    Raises:
        InvalidArgument: If nothing here can open the URL, or it holds a password.
        StoreProblem: If a store does not answer.
    """
    given = os.fsdecode(table)
    if not given:
        raise InvalidArgument("the path is empty", remedy="Name a table's folder.")
    if not is_far(given):
        if given.lower().startswith("file:") and not os.path.lexists(given):
            given = data_path(given).path
        return LocalPlace(os.path.abspath(given))
    # Imported here: commands on local tables need none of it.
    from parquet_bloomwriter.delta.place.store import StorePlace

    return StorePlace(given.rstrip("/"))


def is_table(path: str | os.PathLike[str]) -> bool:
    """Return whether a path or URL is a Delta table: its log has an entry or a checkpoint.

    A store that forbids to list is taken to have none there, and a URL that nothing here can open
    to be none: whoever opens it says why. A URL that names a Parquet file is not asked about.

    Raises:
        StoreProblem: If a store does not answer.
    """
    given = os.fsdecode(path)
    if not is_far(given):
        try:
            names = os.listdir(os.path.join(given, LOG))
        except (OSError, ValueError):
            return False
        return _has_version(names)
    if has_magic(given) or has_suffix(given):
        return False
    try:
        return _has_version(place_of(given).log_names())
    except (FileNotFoundError, PermissionError, InvalidArgument):
        return False
    except StoreProblem as error:
        from parquet_bloomwriter.stores.base import is_forbidden

        if is_forbidden(error):
            return False
        raise


def _has_version(names: Iterable[str]) -> bool:
    return any(map(_VERSIONED.fullmatch, names))
