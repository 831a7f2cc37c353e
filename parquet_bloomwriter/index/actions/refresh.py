"""Bring an index up to date with its table.

    mode          filters for      gone files            the filter of all files
    full          all files        are forgotten         built anew
    incremental   new files        leave the manifest    gets the new files' values
    quick         new files        leave the manifest    stays; it does not cover the new files

Filters of files that are gone stay in their parts until `optimize`: no manifest has their ids any
more. Their values stay in the filter of all files, which then passes more values than it needs to.

Files that quick refreshes left uncovered are read again by the next incremental refresh.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.index.actions.commit import VersionRequest, build_version
from parquet_bloomwriter.index.actions.create import refresh_in_full
from parquet_bloomwriter.index.build.survey import check_nothing_unknown, survey_files
from parquet_bloomwriter.index.changes import compare
from parquet_bloomwriter.index.config import config_of
from parquet_bloomwriter.index.contract import LISTING
from parquet_bloomwriter.index.describe import report_on
from parquet_bloomwriter.index.entry import State
from parquet_bloomwriter.index.log.transaction import fail_if_overtaken, load_existing
from parquet_bloomwriter.index.table.data_files import current_files
from parquet_bloomwriter.index.table.metadata import (
    check_named,
    state_of,
    without_state,
)
from parquet_bloomwriter.index.table.records import check_plain
from parquet_bloomwriter.source.folders import Leftovers

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from parquet_bloomwriter.index.build.survey import Survey
    from parquet_bloomwriter.index.changes import Changes
    from parquet_bloomwriter.index.engine import Engine, Progress
    from parquet_bloomwriter.index.entry import Entry
    from parquet_bloomwriter.index.files import FileId
    from parquet_bloomwriter.index.handle import IndexHandle
    from parquet_bloomwriter.index.log.log import IndexLog
    from parquet_bloomwriter.index.report import IndexReport
    from parquet_bloomwriter.index.table.metadata import MetadataTable

    StrPath = str | os.PathLike[str]

Mode = Literal["incremental", "full", "quick"]
MODES: tuple[Mode, ...] = ("incremental", "full", "quick")


def refresh_index(
    handle: IndexHandle,
    mode: Mode,
    *,
    files: StrPath | Sequence[StrPath] | None,
    engine: Engine | None,
    progress: Progress | None,
) -> IndexReport:
    """Refresh an index; see `index.refresh`."""
    if mode not in MODES:
        raise InvalidArgument(f"{mode!r} is not a mode; there are {', '.join(MODES)}")
    log, table = handle.log, handle.table
    log.check_writable()
    stable = load_existing(log, states=frozenset({State.ACTIVE}), to="refreshed")
    root = stable.root_in(log.folder)
    if table.root != root:
        problem = f'the index "{stable.name}" is of another table'
        raise InvalidArgument(problem, path=log.folder, remedy=f'Name the folder "{root}".')
    before, left = state_of(stable.options), Leftovers()
    metadata = None if before is None else table.opened(before)
    if before is not None and metadata is not None:
        check_named(files)
        names = [column.name for column in stable.columns]
        if mode != "full" and (why := before.why_silent(metadata, names)):
            raise InvalidArgument(f"the index says nothing about the table: {why}", path=log.folder)
        current = metadata.files()
        options = without_state(stable.options) | metadata.state(names).options()
    else:
        current = current_files(table, files, left)
        check_nothing_unknown(stable.options, left)
        options = {**stable.options, **(LISTING if files is None else {})}
        check_plain(root, current)
    build = refresh_in_full if mode == "full" else partial(_refresh_changes, mode=mode)
    report = build(
        log, stable, current, options=options, table=metadata, engine=engine, progress=progress
    )
    return replace(report, passed_over=left.groups())


def _refresh_changes(  # noqa: PLR0913  as `refresh_in_full`
    log: IndexLog,
    stable: Entry,
    current: Sequence[FileId],
    *,
    mode: Mode,
    options: Mapping[str, str],
    table: MetadataTable | None,
    engine: Engine | None,
    progress: Progress | None,
) -> IndexReport:
    """Build filters of files that are new, have changed, or are in no filter of all files."""
    with fail_if_overtaken(log, stable):
        log.check_intact(stable)
        changes = compare(current, stable, log.folder)
    action = f"refresh {mode}"
    config = config_of(stable, path=log.folder)
    again = _uncovered(stable, changes, mode)
    kept = changes.still_there & ~again
    covered_anew = {file.path for file in changes.known.select(again).identities()}
    to_build = sorted([*changes.appended, *(file for file in current if file.path in covered_anew)])
    survey = survey_files(stable.root_in(log.folder), to_build, config, strict=False, table=table)
    if not survey.files and kept.all():
        return report_on(log, stable, action=action, changed=False, left_out=survey.left_out)
    request = VersionRequest(
        config=config,
        survey=survey,
        engine=engine,
        progress=progress,
        kept=changes.known.select(kept),
        num_distinct={} if mode == "quick" else _num_distinct(stable, survey),
        num_forgotten=changes.num_deleted,
    )
    begin = replace(stable, state=State.REFRESHING, action=action, options=dict(options))
    return build_version(log, stable, begin, request)


def _uncovered(stable: Entry, changes: Changes, mode: Mode) -> NDArray[np.bool_]:
    """Return for each known file whether a filter of all files lacks its values.

    Returns:
        In the manifest's order, shape (known files,).
    """
    stops = [one.global_filter.stop for one in stable.columns if one.global_filter is not None]
    if mode == "quick" or not stops:
        return np.zeros(len(changes.known.ids), dtype=np.bool_)
    return changes.still_there & (changes.known.ids >= min(stops))


def _num_distinct(stable: Entry, survey: Survey) -> dict[str, int]:
    """Return the number of distinct values of each column that gets a filter of all files."""
    if not survey.files:
        return {}
    return {
        column.name: column.global_filter.ndv + found.num_values
        for column, found in zip(stable.columns, survey.columns, strict=True)
        if column.global_filter is not None
    }
