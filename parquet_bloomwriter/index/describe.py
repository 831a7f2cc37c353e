"""Which indexes a table has, and how they are."""

# ruff: noqa: PTH119  paths are strings, as in the log
from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import IndexProblem
from parquet_bloomwriter.index.changes import compare
from parquet_bloomwriter.index.layout import root_of
from parquet_bloomwriter.index.log.entry import STABLE, State
from parquet_bloomwriter.index.log.log import IndexLog
from parquet_bloomwriter.index.log.vacuum import bytes_of
from parquet_bloomwriter.index.report import IndexInfo, column_report

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_bloomwriter.index.files import FileId
    from parquet_bloomwriter.index.log.entry import Entry


def describe(folder: str) -> IndexInfo | None:
    """Say how an index is; None if it does not exist any more. Never fails for its log."""
    log = IndexLog(folder)
    try:
        stable, problem = log.latest_stable(), ""
    except (IndexProblem, OSError) as error:
        stable, problem = None, _clause(error)
    info = _of_entry(folder, stable)
    try:
        latest = log.latest()
    except (IndexProblem, OSError) as error:
        return replace(info, problem=problem or _clause(error))
    if latest is not None and latest.state not in STABLE:
        return replace(info, busy=latest.state, busy_since_ms=latest.created_ms, problem=problem)
    gone = stable is None or stable.state is State.DOES_NOT_EXIST
    return None if gone and not problem else replace(info, problem=problem)


def with_changes(info: IndexInfo, files: Sequence[FileId]) -> IndexInfo:
    """Add what has changed since: the files that the table has now are `files`."""
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


def _of_entry(folder: str, entry: Entry | None) -> IndexInfo:
    name = os.path.basename(folder)
    if entry is None:
        return IndexInfo(name=name, folder=folder, root="", state=None)
    return IndexInfo(
        name=name,
        folder=folder,
        root=root_of(folder, entry),
        state=entry.state,
        log_id=entry.id,
        version=entry.version,
        action=entry.action,
        created_ms=entry.created_ms,
        num_files=entry.num_files,
        source_bytes=entry.source_bytes,
        index_bytes=bytes_of(entry),
        columns=tuple(column_report(column) for column in entry.columns),
        options=entry.options,
    )


def _clause(error: IndexProblem | OSError) -> str:
    return error.problem if isinstance(error, IndexProblem) else str(error)
