"""An engine builds the filters of an index: it is given a plan and groups of files.

The work on one group is `build.group.build_group`, wherever it runs: in a thread of this process,
or in a task of Spark. It writes parts and partial global filters into the new version's folder,
which all machines must reach by the same path, and returns what it wrote. An engine of this process
may return partial filters as they are instead. No entry refers to files that were written but not
returned, so a task may run twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from parquet_bloomwriter.index.entry import IndexFile
    from parquet_bloomwriter.index.files import FileId
    from parquet_bloomwriter.sbbf import Sbbf

Origin = Literal["values", "embedded", "auto"]
"""Where filters come from: "values": from the values; "embedded": from the filters that the files
have; "auto": from the filters of a file if it has them for all row groups, else from its values."""


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

    field_id: int | None = None
    """By which an Iceberg table knows the column in files; None: by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildPlan:
    """How a version is built. Can be pickled."""

    root: str
    """Folder that paths of files are relative to, absolute."""

    folder: str
    """The new version's folder, `v__=N`, absolute. It exists."""

    columns: tuple[ColumnPlan, ...]
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTask:
    """A file to build filters for. Can be pickled."""

    file_id: int
    file: FileId
    num_rows: int
    """By its footer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unindexed:
    """A file without a filter of a column; lookups always keep it."""

    file_id: int
    path: str
    column: str
    reason: str
    """A clause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartInfo:
    """A file of the index that was written."""

    column: str
    file: IndexFile
    """Its path is `v__=N/column=.../...`."""

    num_rows: int
    """Filters in it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartialFilter:
    """A partial global filter in the memory of this process."""

    column: str
    bits: Sbbf
    """The receiver may change it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupResult:
    """What was written for one group of files. Can be pickled."""

    parts: tuple[PartInfo, ...]
    partials: tuple[PartInfo | PartialFilter, ...]
    """Partial global filters: one for each column whose plan asks for it. Files have header and
    bitset."""

    incomplete: tuple[str, ...]
    """Columns for which the values of some file are in no partial global filter."""

    unindexed: tuple[Unindexed, ...]
    changed: tuple[int, ...]
    """Ids of files that changed since they were listed; nothing is said about them."""


class Progress(Protocol):
    """Receives how the work goes on, perhaps from several threads."""

    def begin(self, *, num_files: int, num_bytes: int) -> None:
        """Note that work is about to start."""
        ...

    def done(self, *, num_files: int, num_bytes: int) -> None:
        """Note that more files are done."""
        ...


class Engine(Protocol):
    """Runs `build_group` on groups of files."""

    name: str
    """For the log: "threads", "spark"."""

    @property
    def num_groups(self) -> int:
        """Number of groups that keeps the engine busy; small tables are built in fewer."""
        ...

    def build(
        self, groups: Sequence[Sequence[FileTask]], plan: BuildPlan, progress: Progress | None
    ) -> Iterable[GroupResult]:
        """Yield a result for each group, in any order. A file that cannot be read is no error."""
        ...
