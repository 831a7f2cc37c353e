"""What builds the filters of an index: an engine, given a plan and groups of files.

The work on one group is `building.build_group`, wherever it runs: in a thread of this process, or
in a task of Spark. It writes parts and partial global filters into the new version's folder, which
all machines must reach by the same path, and returns what it wrote. Files that were written but not
returned are never referred to, so a task may run twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from parquet_bloomwriter.index.files import FileId
    from parquet_bloomwriter.index.log.entry import IndexFile

Origin = Literal["values", "embedded", "auto"]
"""Where filters come from: the values; the filters that the files have; these if a file has them
for all row groups, else the values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnPlan:
    """How the filters of one column are built. Can be pickled."""

    name: str
    """Dotted path."""

    fpp: float
    max_bytes: int
    """Largest bitset of one file's filter, bytes."""

    global_blocks: int | None
    """Blocks of the partial global filters, all of one size; None: build none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildPlan:
    """How a version is built. Can be pickled."""

    root: str
    """Absolute; paths of files are relative to it."""

    folder: str
    """The new version's, `v__=N`, absolute. It exists."""

    columns: tuple[ColumnPlan, ...]
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTask:
    """One file to build filters of. Can be pickled."""

    file_id: int
    file: FileId
    num_rows: int
    """By its footer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unindexed:
    """A file that has no filter of a column, so that it is always read."""

    file_id: int
    path: str
    column: str
    reason: str
    """A clause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartInfo:
    """One part that was written."""

    column: str
    file: IndexFile
    """Its path is relative to the index's folder: `v__=N/column=.../...`."""

    num_rows: int
    """Filters in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupResult:
    """What was written for one group of files. Can be pickled."""

    parts: tuple[PartInfo, ...]
    partials: tuple[PartInfo, ...]
    """Partial global filters, header and bitset; one for each column that asks for one."""

    incomplete: tuple[str, ...]
    """Columns of which some file's values are in no partial global filter."""

    unindexed: tuple[Unindexed, ...]
    changed: tuple[int, ...]
    """Ids of files that are no longer what they were listed as; nothing is said about them."""


class Progress(Protocol):
    """Told how the work goes on, perhaps from several threads."""

    def begin(self, *, num_files: int, num_bytes: int) -> None:
        """Work is about to start."""
        ...

    def done(self, *, num_files: int, num_bytes: int) -> None:
        """More files are done."""
        ...


class Engine(Protocol):
    """Runs `build_group` on groups of files."""

    name: str
    """For the log: "threads", "spark"."""

    @property
    def num_groups(self) -> int:
        """Groups that make good use of it."""
        ...

    def build(
        self, groups: Sequence[Sequence[FileTask]], plan: BuildPlan, progress: Progress | None
    ) -> Iterable[GroupResult]:
        """Yield a result for each group, in any order. Errors of single files are no errors."""
        ...
