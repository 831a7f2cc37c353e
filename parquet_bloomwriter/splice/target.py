"""Decide where a new version goes, and refuse where it would break or overwrite something."""

# ruff: noqa: PTH116, PTH120  the steps are system calls, and spelled as such
from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import InvalidArgument, UnsafeTarget
from parquet_bloomwriter.splice.source import FileIdentity, check_regular
from parquet_bloomwriter.splice.temporary import find_temporaries

if TYPE_CHECKING:
    from parquet_bloomwriter.splice.source import SourceFile, StrPath

__all__ = ["Target", "choose_target", "is_same"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """Where the new version will be."""

    name: str
    """The path as the caller spelled it, for messages."""
    path: str
    """Absolute path after all symbolic links: the name that is replaced or created."""
    replaces: FileIdentity | None
    """The file that has this name now, if any."""
    in_place: bool
    """Whether that file is the source."""
    backup: str | None
    """Absolute path under which the replaced file is kept."""


def choose_target(
    source: SourceFile,
    output: StrPath | None = None,
    *,
    overwrite: bool = False,
    permit_hard_links: bool = False,
    backup_suffix: str | None = None,
) -> Target:
    """Decide where the new version goes. Nothing is written.

    Args:
        source: The file whose new version it is.
        output: Another path for it; None or the source's own path means in place.
        overwrite: Allow `output` to be an existing file other than the source.
        permit_hard_links: Allow the target to have further names; they keep the old bytes.
        backup_suffix: Keep the replaced file under the target's name with this appended.
            Readers of whole folders (Spark) then read both, whatever the suffix.

    Raises:
        UnsafeTarget: The output or the backup exists, or the target has further names.
        UnsupportedFile: The output is a directory, FIFO, socket or device.
        InvalidArgument: The suffix is empty or leads to another folder.
        OSError: The output's folder is missing or hidden from us.
    """
    name = source.name if output is None else os.fspath(output)
    path = source.path if output is None else os.path.realpath(name)
    in_place = path == source.path
    replaces = source.identity if in_place else _identity_at(path, name=name)
    if replaces is None:
        os.stat(os.path.dirname(path))
    elif not in_place and not overwrite:
        remedy = "Choose another name, or permit overwriting."
        raise UnsafeTarget("the output exists already", path=name, remedy=remedy)
    backup = _backup_path(path, backup_suffix)
    if replaces is not None and not permit_hard_links:
        _check_single_name(path, name=name, backup=backup)
    return Target(
        name=name,
        path=path,
        replaces=replaces,
        in_place=in_place,
        backup=None if replaces is None else backup,
    )


def _identity_at(path: str, *, name: str) -> FileIdentity | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    check_regular(found, name=name)
    return FileIdentity.of(found)


def is_same(one: str, other: str) -> bool:
    """Whether both names lead to one file; False if one leads nowhere."""
    try:
        return os.path.samestat(os.lstat(one), os.lstat(other))
    except FileNotFoundError:
        return False


def _check_single_name(path: str, *, name: str, backup: str | None) -> None:
    """Refuse hard links; a temporary name or backup that a killed run left on the file is none."""
    num_names = os.stat(path).st_nlink
    if num_names > 1:
        own = [*find_temporaries(path), *([] if backup is None else [backup])]
        num_names -= sum(is_same(path, one) for one in own)
    if num_names > 1:
        problem = f"the file has {num_names} names (hard links)"
        remedy = "Permit it, and the other names keep the old bytes; or write elsewhere."
        raise UnsafeTarget(problem, path=name, remedy=remedy)


def _backup_path(path: str, suffix: str | None) -> str | None:
    if suffix is None:
        return None
    if not suffix or os.path.dirname(suffix) or "\0" in suffix:
        raise InvalidArgument(f"{suffix!r} cannot be appended to a file name", path=path)
    backup = path + suffix
    if os.path.lexists(backup) and not is_same(backup, path):  # else a run died that had made it
        remedy = "Move it away or choose another suffix."
        raise UnsafeTarget("the backup exists already", path=backup, remedy=remedy)
    return backup
