"""Turn the log of an index into reports: the state of an index, and the result of an action."""

# ruff: noqa: PTH118, PTH119  paths are strings, as in the log
from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.errors import IndexProblem
from parquet_bloomwriter.index.changes import compare
from parquet_bloomwriter.index.entry import STABLE, State
from parquet_bloomwriter.index.log.log import IndexLog
from parquet_bloomwriter.index.report import IndexColumn, IndexInfo, IndexReport

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from parquet_bloomwriter.index.entry import Entry, IndexedColumn
    from parquet_bloomwriter.index.files import FileId

    StrPath: TypeAlias = str | os.PathLike[str]

_LISTED = 12
"""Maximum number of indexes that a message names when the caller must choose an index."""


def describe(folder: str) -> IndexInfo | None:
    """Describe an index; None if it does not exist any more. A broken log is no error."""
    log = IndexLog(folder)
    try:
        stable, problem = log.latest_stable(), ""
    except (IndexProblem, OSError) as error:
        stable, problem = None, _clause(error)
    info = _info_of(folder, stable)
    try:
        latest = log.latest()
    except (IndexProblem, OSError) as error:
        return replace(info, problem=problem or _clause(error))
    if latest is not None and latest.state not in STABLE:
        return replace(info, busy=latest.state, busy_since_ms=latest.created_ms, problem=problem)
    gone = stable is None or stable.state is State.DOES_NOT_EXIST
    return None if gone and not problem else replace(info, problem=problem)


def names_with_states(infos: Sequence[IndexInfo]) -> str:
    """Return the names of indexes with their states."""
    return ", ".join(f"{info.name} ({info.state})" for info in infos[:_LISTED])


def with_changes(info: IndexInfo, files: Sequence[FileId]) -> IndexInfo:
    """Add the changes of the table since the version was made.

    Args:
        info: The index.
        files: The files that the table has now.
    """
    if info.state not in {State.ACTIVE, State.DELETED}:
        return info
    try:
        entry = IndexLog(info.folder).get(info.log_id)
        changes = compare(files, entry, info.folder)
    except (IndexProblem, OSError) as error:
        return replace(info, problem=_clause(error))
    return replace(
        info,
        appended=len(changes.appended),
        appended_bytes=sum(file.size for file in changes.appended),
        deleted=changes.num_deleted,
        deleted_bytes=changes.deleted_bytes,
    )


def report_on(
    log: IndexLog,
    entry: Entry,
    *,
    action: str,
    changed: bool = True,
    **facts: Any,  # noqa: ANN401  fields of the report
) -> IndexReport:
    """Report on an action.

    Args:
        log: The index's log.
        entry: The entry that counts after the action.
        action: Name of the action.
        changed: Whether it did anything.
        facts: Fields of the report that the entry does not tell.
    """
    return IndexReport(
        action=action, name=entry.name, changed=changed, **_common(log.folder, entry), **facts
    )


def _info_of(folder: str, entry: Entry | None) -> IndexInfo:
    name = os.path.basename(folder)
    if entry is None:
        return IndexInfo(name=name, folder=folder, root="", state=None)
    return IndexInfo(
        name=name,
        action=entry.action,
        created_ms=entry.created_ms,
        options=entry.options,
        **_common(folder, entry),
    )


def _common(folder: str, entry: Entry) -> dict[str, Any]:
    """Return the fields that `IndexInfo` and `IndexReport` both take from a log entry."""
    return {
        "folder": folder,
        "root": entry.root_in(folder),
        "state": entry.state,
        "log_id": entry.id,
        "version": entry.version,
        "num_files": entry.num_files,
        "source_bytes": entry.source_bytes,
        "index_bytes": sum(file.size for file in entry.files()),
        "columns": tuple(_column_of(folder, column) for column in entry.columns),
    }


def _column_of(folder: str, column: IndexedColumn) -> IndexColumn:
    whole = column.global_filter
    return IndexColumn(
        name=column.name,
        fpp=column.fpp,
        expected_num_items=column.expected_num_items,
        num_parts=len(column.parts),
        part_bytes=sum(part.size for part in column.parts),
        slice_bytes=None if column.slices is None else column.slices.file.size,
        global_ndv=None if whole is None else whole.ndv,
        global_fpp=None if whole is None else whole.fpp,
        global_bytes=None if whole is None else whole.file.size,
        global_path=None if whole is None else os.path.join(folder, *whole.file.path.split("/")),
        global_stop=None if whole is None else whole.stop,
        no_global=column.no_global,
    )


def _clause(error: IndexProblem | OSError) -> str:
    return error.problem if isinstance(error, IndexProblem) else str(error)
