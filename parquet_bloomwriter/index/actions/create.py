"""Making all filters of an index: `create`, and `refresh` in full."""

# ruff: noqa: PTH119, PTH120  paths are strings, as in the log
from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import IndexProblem, InvalidArgument, Proposal, Way
from parquet_bloomwriter.index.actions.commit import Build, build_version
from parquet_bloomwriter.index.build.survey import TOO_MANY, surveyed
from parquet_bloomwriter.index.changes import compare, current_files
from parquet_bloomwriter.index.config import config_of
from parquet_bloomwriter.index.layout import HOME, root_of, table_root
from parquet_bloomwriter.index.log.entry import Entry, State
from parquet_bloomwriter.index.log.transaction import at_rest
from parquet_bloomwriter.index.table_formats import check_plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_bloomwriter.index.actions.commit import Means
    from parquet_bloomwriter.index.build.survey import Surveyed
    from parquet_bloomwriter.index.config import IndexConfig
    from parquet_bloomwriter.index.files import FileId
    from parquet_bloomwriter.index.log.entry import IndexedColumn
    from parquet_bloomwriter.index.log.log import IndexLog
    from parquet_bloomwriter.index.log.transaction import Rest
    from parquet_bloomwriter.index.report import IndexReport

    StrPath = str | os.PathLike[str]


def create_index(
    log: IndexLog,
    table: StrPath,
    config: IndexConfig,
    *,
    files: StrPath | Sequence[StrPath] | None,
    means: Means,
) -> IndexReport:
    """Do what `actions.create` says."""
    rest = at_rest(log)
    _check_free(log, rest)
    root = table_root(table)
    current = current_files(table, root, files)
    check_plain(root, current)
    found = surveyed(root, current, config)
    begin = Entry(
        id=rest.next_id,
        name=os.path.basename(log.folder),
        state=State.CREATING,
        version=-1,
        root=None if _is_inside(log, root) else root,
        columns=_begun(config, found),
        next_file_id=0 if rest.stable is None else rest.stable.next_file_id,
        action="create",
        options=config.options(),
    )
    return build_version(log, rest, begin, _all(config, found, means))


def refresh_in_full(
    log: IndexLog, rest: Rest, stable: Entry, current: Sequence[FileId], means: Means
) -> IndexReport:
    """Build all filters anew, whatever has changed."""
    config = config_of(stable, path=log.folder)
    found = surveyed(root_of(log.folder, stable), current, config, strict=bool(current))
    begin = replace(
        stable, state=State.REFRESHING, action="refresh full", columns=_begun(config, found)
    )
    build = _all(config, found, means, forgotten=_num_gone(log, stable, current))
    return build_version(log, rest, begin, build)


def _all(config: IndexConfig, found: Surveyed, means: Means, *, forgotten: int = 0) -> Build:
    num_distinct = {
        column.name: column.expected_num_items or found.num_values[column.name]
        for column in config.columns
        if found.has_global[column.name]
    }
    return Build(
        config=config, found=found, means=means, num_distinct=num_distinct, forgotten=forgotten
    )


def _begun(config: IndexConfig, found: Surveyed) -> tuple[IndexedColumn, ...]:
    """The columns before anything is built."""
    return tuple(
        column if found.has_global[column.name] else replace(column, no_global=TOO_MANY)
        for column in config.columns
    )


def _is_inside(log: IndexLog, root: str) -> bool:
    """Whether the index is in its table's own home, so that both can be moved together."""
    return os.path.dirname(log.folder) == os.path.join(root, HOME)  # noqa: PTH118


def _num_gone(log: IndexLog, stable: Entry, current: Sequence[FileId]) -> int:
    try:
        return compare(current, stable, log.folder).num_deleted
    except (IndexProblem, OSError):  # a full refresh is the remedy for that
        return 0


def _check_free(log: IndexLog, rest: Rest) -> None:
    """Raise unless a new index can be made of that name."""
    stable = rest.stable
    if stable is None or stable.state is State.DOES_NOT_EXIST:
        return
    first = "Refresh it"
    if stable.state is State.DELETED:
        first = "Restore it, vacuum it first"
    remedy = (f"{first}, or ", Proposal(Way.INDEX_NAME, "take another name"), ".")
    problem = f'there is an index "{stable.name}" already, which is {stable.state}'
    raise InvalidArgument(problem, path=log.folder, remedy=remedy)
