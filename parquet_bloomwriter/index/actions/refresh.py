"""Bringing an index up to date with its table.

    mode          filters for      gone files            the filter of all files
    full          all files        are forgotten         built anew
    incremental   new files        leave the manifest    gets the new files' values
    quick         new files        leave the manifest    stays; it does not cover the new files

Filters of files that are gone stay in their parts until `optimize`: no manifest has their ids any
more. Their values stay in the filter of all files, which only makes it pass more than it need.

What quick refreshes have left uncovered, the next incremental one reads again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from parquet_bloomwriter.errors import IndexProblem, InvalidArgument
from parquet_bloomwriter.index.actions.commit import Build, build_version
from parquet_bloomwriter.index.actions.create import refresh_in_full
from parquet_bloomwriter.index.actions.lifecycle import existing, report_of
from parquet_bloomwriter.index.build.survey import surveyed
from parquet_bloomwriter.index.changes import compare, current_files
from parquet_bloomwriter.index.config import config_of
from parquet_bloomwriter.index.files import FileId
from parquet_bloomwriter.index.format.manifest import some_of
from parquet_bloomwriter.index.layout import root_of, table_root
from parquet_bloomwriter.index.log.entry import State
from parquet_bloomwriter.index.log.transaction import at_rest, looking_at
from parquet_bloomwriter.index.log.vacuum import is_intact
from parquet_bloomwriter.index.table_formats import check_plain

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_bloomwriter.index.actions.commit import Means
    from parquet_bloomwriter.index.build.survey import Surveyed
    from parquet_bloomwriter.index.changes import Changes
    from parquet_bloomwriter.index.log.entry import Entry
    from parquet_bloomwriter.index.log.log import IndexLog
    from parquet_bloomwriter.index.log.transaction import Rest
    from parquet_bloomwriter.index.report import IndexReport

    StrPath = str | os.PathLike[str]

Mode = Literal["incremental", "full", "quick"]
MODES: tuple[Mode, ...] = ("incremental", "full", "quick")


def refresh_index(
    log: IndexLog,
    table: StrPath,
    mode: Mode,
    *,
    files: StrPath | Sequence[StrPath] | None,
    means: Means,
) -> IndexReport:
    """Do what `actions.refresh` says."""
    if mode not in MODES:
        raise InvalidArgument(f"{mode!r} is not a mode; there are {', '.join(MODES)}")
    rest = at_rest(log)
    stable = existing(log, rest, states=frozenset({State.ACTIVE}), to="refreshed")
    root = root_of(log.folder, stable)
    if table_root(table) != root:
        problem = f'the index "{stable.name}" is of another table'
        raise InvalidArgument(problem, path=log.folder, remedy=f'Name the folder "{root}".')
    current = current_files(table, root, files)
    check_plain(root, current)
    if mode == "full":
        return refresh_in_full(log, rest, stable, current, means)
    with looking_at(log, rest):
        if not is_intact(log.folder, stable):
            problem = "some files of the index are gone, or not as they were written"
            raise IndexProblem(problem, path=log.folder, remedy="Refresh it in full.")
        changes = compare(current, stable, log.folder)
    need = _Need(stable=stable, changes=changes, again=_uncovered(stable, changes, mode))
    return _refresh_in_part(log, rest, need, mode=mode, means=means)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Need:
    """What a refresh that is not in full has to do."""

    stable: Entry
    changes: Changes
    again: NDArray[np.bool_]
    """Known files to be read again, in the manifest's order."""

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Known files whose filters stay."""
        return self.changes.still_there & ~self.again

    def files(self) -> list[FileId]:
        """Files to build filters for."""
        known = self.changes.known
        again = (
            FileId(
                path=known.paths[place].as_py(),
                size=int(known.sizes[place]),
                modified_ms=int(known.modified_ms[place]),
            )
            for place in np.flatnonzero(self.again).tolist()
        )
        return sorted([*self.changes.appended, *again])


def _uncovered(stable: Entry, changes: Changes, mode: Mode) -> NDArray[np.bool_]:
    """Known files that some filter of all files does not cover, though it should."""
    stops = [one.global_filter.stop for one in stable.columns if one.global_filter is not None]
    if mode == "quick" or not stops:
        return np.zeros(len(changes.known.ids), dtype=np.bool_)
    return changes.still_there & (changes.known.ids >= min(stops))


def _refresh_in_part(
    log: IndexLog, rest: Rest, need: _Need, *, mode: Mode, means: Means
) -> IndexReport:
    stable = need.stable
    config = config_of(stable, path=log.folder)
    root, action = root_of(log.folder, stable), f"refresh {mode}"
    found = surveyed(root, need.files(), config, strict=False)
    if not found.files and need.kept.all():
        return report_of(log, stable, action=action, changed=False, left_out=found.left_out)
    begin = replace(stable, state=State.REFRESHING, action=action)
    build = Build(
        config=config,
        found=found,
        means=means,
        kept=some_of(need.changes.known, need.kept),
        num_distinct={} if mode == "quick" else _num_distinct(stable, found),
        forgotten=need.changes.num_deleted,
    )
    return build_version(log, rest, begin, build)


def _num_distinct(stable: Entry, found: Surveyed) -> dict[str, int]:
    """How many distinct values the filters of all files will have that get more."""
    if not found.files:
        return {}
    return {
        column.name: column.global_filter.ndv + found.num_values[column.name]
        for column in stable.columns
        if column.global_filter is not None
    }
