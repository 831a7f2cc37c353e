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
    """Dotted path of the column."""

    fpp: float
    max_bytes: int
    """Maximum size of the bitset of one file's filter, bytes."""

    global_blocks: int | None
    """Number of blocks of each partial global filter; None: no global filter is built."""

    field_id: int | None = None
    """Field id of an Iceberg column in data files; None: the column is found by its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildPlan:
    """How all filters of a version are built. Can be pickled."""

    root: str
    """The folder that paths of data files are relative to, absolute."""

    folder: str
    """The folder of the new version, `v__=N`, absolute. The folder exists."""

    columns: tuple[ColumnPlan, ...]
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTask:
    """A data file that gets filters. Can be pickled."""

    file_id: int
    file: FileId
    num_rows: int
    """Number of rows, from the footer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unindexed:
    """A data file without a filter of one column; lookups always keep such a file."""

    file_id: int
    path: str
    column: str
    reason: str
    """The reason, a clause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartInfo:
    """A file of the index that was written: a part, or a partial global filter."""

    column: str
    file: IndexFile
    """The file of the index; its path is `v__=N/column=.../...`."""

    num_rows: int
    """Number of filters in the file."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartialFilter:
    """A partial global filter in the memory of this process."""

    column: str
    bits: Sbbf
    """The filter; the receiver may change it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupResult:
    """What was written for one group of files. Can be pickled."""

    parts: tuple[PartInfo, ...]
    partials: tuple[PartInfo | PartialFilter, ...]
    """Partial global filters: one for each column whose plan asks for one. Files hold header and
    bitset."""

    incomplete: tuple[str, ...]
    """Names of columns whose partial global filter lacks the values of some file."""

    unindexed: tuple[Unindexed, ...]
    changed: tuple[int, ...]
    """Ids of data files that changed since they were listed; no filters are returned for them."""


class Progress(Protocol):
    """Receives the progress of the work, perhaps from several threads."""

    def begin(self, *, num_files: int, num_bytes: int) -> None:
        """Receive the number and the bytes of files before the work starts."""
        ...

    def done(self, *, num_files: int, num_bytes: int) -> None:
        """Receive the number and the bytes of files that were finished since the last call."""
        ...


class Engine(Protocol):
    """An engine runs `build_group` on groups of files."""

    name: str
    """Name of the engine in the log: "threads", "spark"."""

    @property
    def num_groups(self) -> int:
        """Number of groups that keeps the engine busy; small tables are built in fewer groups."""
        ...

    def build(
        self, groups: Sequence[Sequence[FileTask]], plan: BuildPlan, progress: Progress | None
    ) -> Iterable[GroupResult]:
        """Yield the result of each group, in any order.

        A file that cannot be read raises no error.
        """
        ...
