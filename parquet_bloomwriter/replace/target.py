"""Choose the target of a new version, and refuse targets where it would do damage."""

# ruff: noqa: PTH100, PTH112, PTH116, PTH118, PTH119, PTH120  the steps are system calls, and spelled as such
from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import InvalidArgument, Proposal, UnsafeTarget, Way
from parquet_bloomwriter.replace.names import is_abandoned_claim, is_same
from parquet_bloomwriter.replace.temporary import find_temporaries
from parquet_bloomwriter.source.folders import Leftovers, has_suffix, is_hidden, is_parquet
from parquet_bloomwriter.source.identity import FileIdentity
from parquet_bloomwriter.source.local import check_regular
from parquet_bloomwriter.text import safe

if TYPE_CHECKING:
    from parquet_bloomwriter.source.local import OpenedFile, StrPath


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """The target of a new version: the path that it will have."""

    name: str
    """Path as the caller spelled it, for messages."""
    path: str
    """Absolute path after all symbolic links, which is replaced or created."""
    replaces: FileIdentity | None
    """Identity of the file at the path now; None if there is none."""
    in_place: bool
    """Whether the file at the path is the source."""
    backup: str | None
    """Absolute path of the backup of the replaced file; None without a backup."""


def choose_target(  # noqa: PLR0913  all by keyword
    source: OpenedFile | None,
    output: StrPath | None = None,
    *,
    overwrite: bool = False,
    permit_hard_links: bool = False,
    backup_suffix: str | None = None,
    backup_dir: StrPath | None = None,
) -> Target:
    """Choose the target of the new version. Nothing is written.

    Args:
        source: The file that is rewritten; None if it is not on disk.
        output: Another path for it; None or the source's own path means in place. Needed if there
            is no source on disk.
        overwrite: Allow `output` to be an existing file other than the source.
        permit_hard_links: Allow the target to have further names; they keep the old bytes.
        backup_suffix: Keep the replaced file under the target's name with this appended.
        backup_dir: Keep the replaced file under the target's name in this folder.

    Raises:
        UnsafeTarget: The output or the backup exists, or the target has further names; or the
            backup would lie among other Parquet files, where readers of whole folders (Spark,
            whatever the suffix) would read it, too.
        UnsupportedFile: The output is a directory, FIFO, socket or device.
        InvalidArgument: The suffix is empty or leads to another folder; a suffix and a folder are
            given; or `backup_dir` is no folder.
        OSError: The output's folder is missing or hidden from us.
    """
    if output is None and source is None:
        raise InvalidArgument("there is no path to write to", remedy="Name an output.")
    name = source.name if output is None and source is not None else os.fspath(output or "")
    path = source.path if output is None and source is not None else os.path.realpath(name)
    in_place = source is not None and path == source.path
    replaces = source.identity if source is not None and in_place else _identity_at(path, name=name)
    if replaces is None:
        os.stat(os.path.dirname(path))
    elif not in_place and not overwrite:
        raise output_exists(name)
    backup = _backup_path(path, name, backup_suffix, backup_dir)
    if backup is not None and replaces is not None:
        _check_backup(path, backup, source=None if source is None else source.path)
    if replaces is not None and not permit_hard_links:
        _check_single_name(path, name=name, backup=backup)
    return Target(
        name=name,
        path=path,
        replaces=replaces,
        in_place=in_place,
        backup=None if replaces is None else backup,
    )


def output_exists(name: str) -> UnsafeTarget:
    """Return the error for an output that exists and may not be overwritten."""
    permit = Proposal(Way.OVERWRITE, "permit overwriting (overwrite=True)")
    remedy = ("Choose another name, or ", permit, ".")
    return UnsafeTarget("the output exists already", path=name, remedy=remedy)


def _identity_at(path: str, *, name: str) -> FileIdentity | None:
    """Return the identity of the file at a path; None if there is none, or an abandoned claim."""
    try:
        check_regular(os.stat(name), name=name)  # the path does not lead to a pipe in /dev/fd
        found = os.stat(path)
    except FileNotFoundError:
        return None
    check_regular(found, name=name)
    if is_abandoned_claim(path):
        return None
    return FileIdentity.of(found)


def check_backup_folder(folder: StrPath) -> None:
    """Check that backups can go to a folder: it exists, or it can be made.

    Raises:
        InvalidArgument: If something else has that name, or the name of a folder above it.
    """
    if os.path.lexists(folder) and not os.path.isdir(folder):
        raise InvalidArgument("backups go to a folder, and this is none", path=folder)
    check_folders_above(folder, purpose="backups")


def check_folders_above(path: StrPath, *, purpose: str) -> None:
    """Check that the existing paths above a path are folders.

    Args:
        path: A file or folder, which may be yet to be made.
        purpose: What goes there, for the message.

    Raises:
        InvalidArgument: If something else has the name of a folder.
    """
    above = os.path.dirname(os.path.abspath(path))
    while not os.path.lexists(above):
        above = os.path.dirname(above)
    if not os.path.isdir(above):
        problem = f'{purpose} cannot go below "{above}", which is no folder'
        raise InvalidArgument(problem, path=path, remedy="Name another folder.")


def _check_single_name(path: str, *, name: str, backup: str | None) -> None:
    """Refuse hard links, except a temporary name or backup that a killed run left."""
    num_names = os.stat(path).st_nlink
    if num_names > 1:
        own = [*find_temporaries(path), *([] if backup is None else [backup])]
        num_names -= sum(is_same(path, one) for one in own)
    if num_names > 1:
        problem = f"the file has {num_names} names (hard links)"
        remedy = (
            Proposal(Way.FORCE_HARD_LINKS, "Permit it (force=True)"),
            ", and the other names keep the old bytes; or ",
            Proposal(Way.OTHER_PATH, "write elsewhere"),
            ".",
        )
        raise UnsafeTarget(problem, path=name, remedy=remedy)


def _backup_path(path: str, name: str, suffix: str | None, folder: StrPath | None) -> str | None:
    if suffix is not None and folder is not None:
        raise InvalidArgument("a suffix and a folder for backups exclude each other", path=name)
    if folder is not None:
        check_backup_folder(folder)
        return os.path.join(os.path.realpath(folder), os.path.basename(name))
    if suffix is None:
        return None
    if not suffix or os.path.dirname(suffix) or "\0" in suffix:
        raise InvalidArgument(f"{suffix!r} cannot be appended to a file name", path=path)
    return path + suffix


def _check_backup(path: str, backup: str, *, source: str | None) -> None:
    """Refuse a backup that overwrites a file, or that readers of the table would read, too."""
    if _is_one_name(backup, path):
        remedy = "Keep it in another folder."
        raise UnsafeTarget("the backup would be the file itself", path=path, remedy=remedy)
    # A run that died may have made the backup, or only claimed its name.
    is_free = not os.path.lexists(backup) or is_same(backup, path) or is_abandoned_claim(backup)
    if not is_free:
        remedy = "Move it away, or keep the backup elsewhere."
        raise UnsafeTarget("the backup exists already", path=backup, remedy=remedy)
    folder = os.path.dirname(path)
    root = _table_root(folder)
    if not lies_in(backup, root):
        return
    if root != folder or _has_others(folder, {path, backup, source or path}):
        where = "the file" if root == folder else "the table"
        problem = f"readers of the folder of {where} would read the backup, too"
        as_argument = Proposal(Way.BACKUP_FOLDER, "as backup_dir")
        outside = f"Name a folder outside of {safe(root)}, "
        raise UnsafeTarget(problem, path=path, remedy=(outside, as_argument, "."))


def _is_one_name(one: str, other: str) -> bool:
    """Return whether two paths are one name in one folder, however the folder is spelled."""
    if os.path.basename(one) != os.path.basename(other):
        return False
    try:
        return Path(one).parent.samefile(Path(other).parent)
    except FileNotFoundError:  # the folder of the backup is yet to be made
        return False


def _table_root(folder: str) -> str:
    """Return the table's folder: the one above the partitions, `name=value`, of a folder."""
    while "=" in os.path.basename(folder):
        folder = os.path.dirname(folder)
    return folder


def lies_in(path: str, folder: str) -> bool:
    """Return whether a path leads into a folder, at any depth, or to the folder itself."""
    above = os.path.join(os.path.realpath(folder), "")
    return os.path.join(os.path.realpath(path), "").startswith(above)


def _has_others(folder: str, known: set[str]) -> bool:
    """Return whether a folder has Parquet files that are not in `known`."""
    try:
        with os.scandir(folder) as entries:
            return any(
                has_suffix(one.name) or is_parquet(one.path, Leftovers())
                for one in entries
                if one.path not in known and not is_hidden(one.name)
            )
    except PermissionError:  # a folder may be writable without being readable
        return False
