"""Build all filters of an index: `create`, and `refresh` in full."""

# ruff: noqa: PTH119  paths are strings, as in the log
from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import IndexProblem, InvalidArgument, Proposal, Way
from parquet_bloomwriter.index.actions.commit import VersionRequest, build_version
from parquet_bloomwriter.index.build.survey import check_nothing_unknown, survey_files
from parquet_bloomwriter.index.changes import compare
from parquet_bloomwriter.index.config import config_of
from parquet_bloomwriter.index.entry import Entry, State
from parquet_bloomwriter.index.log.transaction import load_stable, next_id
from parquet_bloomwriter.index.table.data_files import current_files
from parquet_bloomwriter.index.table.metadata import check_named, state_of
from parquet_bloomwriter.index.table.records import check_plain
from parquet_bloomwriter.source.folders import Leftovers
from parquet_bloomwriter.source.listing import none_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parquet_bloomwriter.index.build.survey import Survey
    from parquet_bloomwriter.index.config import IndexConfig
    from parquet_bloomwriter.index.engine import Engine, Progress
    from parquet_bloomwriter.index.entry import IndexedColumn
    from parquet_bloomwriter.index.files import FileId
    from parquet_bloomwriter.index.handle import IndexHandle
    from parquet_bloomwriter.index.log.log import IndexLog
    from parquet_bloomwriter.index.report import IndexReport
    from parquet_bloomwriter.index.table.metadata import MetadataTable

    StrPath = str | os.PathLike[str]

_TOO_MANY = "more values are expected than the largest Bloom filter can tell apart"


def create_index(
    handle: IndexHandle,
    config: IndexConfig,
    *,
    files: StrPath | Sequence[StrPath] | None,
    engine: Engine | None,
    progress: Progress | None,
) -> IndexReport:
    """Create an index; see `index.create`."""
    log, table = handle.log, handle.table
    log.check_writable()
    stable = load_stable(log)
    _check_free(log, stable)
    root, metadata, left = table.root, table.opened(), Leftovers()
    if metadata is not None:
        check_named(files)
        current = metadata.files()
        config = replace(config, contract="immutable", state=metadata.state(config.names))
    else:
        if files is None and handle.is_inside:
            table.check_folder()
        current = current_files(table, files, left)
        if not current and files is None:
            none_in(root, left)
        check_nothing_unknown(config.options(), left)
        check_plain(root, current)
    survey = survey_files(root, current, config, table=metadata)
    begin = Entry(
        id=next_id(stable),
        name=os.path.basename(log.folder),
        state=State.CREATING,
        version=-1,
        root=None if handle.is_inside else root,
        columns=_empty_columns(config, survey),
        next_file_id=0 if stable is None else stable.next_file_id,
        action="create",
        options=config.options(),
    )
    report = build_version(log, stable, begin, _full_request(config, survey, engine, progress))
    return replace(report, passed_over=left.groups())


def refresh_in_full(  # noqa: PLR0913  what a version is made of
    log: IndexLog,
    stable: Entry,
    current: Sequence[FileId],
    *,
    options: Mapping[str, str],
    table: MetadataTable | None,
    engine: Engine | None,
    progress: Progress | None,
) -> IndexReport:
    """Build all filters of an index anew, whatever has changed; the entry gets these options."""
    config = replace(config_of(stable, path=log.folder), state=state_of(options))
    root = stable.root_in(log.folder)
    survey = survey_files(root, current, config, strict=bool(current), table=table)
    begin = replace(
        stable,
        state=State.REFRESHING,
        action="refresh full",
        columns=_empty_columns(config, survey),
        options=dict(options),
    )
    request = _full_request(config, survey, engine, progress)
    request = replace(request, num_forgotten=_num_gone(log, stable, current))
    return build_version(log, stable, begin, request)


def _full_request(
    config: IndexConfig, survey: Survey, engine: Engine | None, progress: Progress | None
) -> VersionRequest:
    """Request new filters only: for each file, and for a column as a whole if that is useful."""
    return VersionRequest(
        config=config,
        survey=survey,
        engine=engine,
        progress=progress,
        num_distinct={
            column.name: column.ndv for column in survey.columns if column.global_blocks is not None
        },
    )


def _empty_columns(config: IndexConfig, survey: Survey) -> tuple[IndexedColumn, ...]:
    """Return the columns before any filter is built."""
    return tuple(
        replace(column, no_global=_TOO_MANY) if found.global_blocks is None else column
        for column, found in zip(config.columns, survey.columns, strict=True)
    )


def _num_gone(log: IndexLog, stable: Entry, current: Sequence[FileId]) -> int:
    try:
        return compare(current, stable, log.folder).num_deleted
    except (IndexProblem, OSError):  # a full refresh repairs a manifest that cannot be read
        return 0


def _check_free(log: IndexLog, stable: Entry | None) -> None:
    """Raise `InvalidArgument` if there is an index of that name already."""
    if stable is None or stable.state is State.DOES_NOT_EXIST:
        return
    first = "Refresh it"
    if stable.state is State.DELETED:
        first = "Restore it, vacuum it first"
    remedy = (f"{first}, or ", Proposal(Way.INDEX_NAME, "take another name"), ".")
    problem = f'there is an index "{stable.name}" already, which is {stable.state}'
    raise InvalidArgument(problem, path=log.folder, remedy=remedy)
