"""The choice of the files of a version that lack requested filters, and their order."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import FileChanged, FileProblem, InvalidArgument
from parquet_bloomwriter.filters.columns import why_no_filter
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.table_files.files import FOOTERS_AT_ONCE, footer_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from parquet_bloomwriter.metadata import Footer, Leaf
    from parquet_bloomwriter.table_files.files import FileEntry, Table
    from parquet_bloomwriter.tables.records import Records

    Failure: TypeAlias = FileProblem | OSError | InvalidArgument
    Choose: TypeAlias = Callable[[FileEntry, Footer], "Task | None"]


@dataclass(frozen=True, kw_only=True)
class Task:
    """A data file that lacks filters, or has filters to take out."""

    file: FileEntry
    leaves: Mapping[str, int]
    """Ordinals of the file's leaf columns to work on, by logical name."""

    num_filters: int
    """Maximum number of filters to build, or number of filters to take out."""


@dataclass(kw_only=True)
class Choice:
    """The files to work on, and the facts that were found when they were chosen."""

    tasks: list[Task]
    kept: list[Task]
    """Files that lack filters, but must not be replaced."""

    num_footers: int
    """Number of footers that were read."""

    failures: list[tuple[FileEntry, Failure]]
    """Files whose footers cannot be read."""


class Chooser:
    """Chooses the files of a table to work on."""

    def __init__(self, table: Table, records: Records, *, asked: Sequence[str]) -> None:
        """Prepare the choice of files for some columns.

        Args:
            table: The table at the version that will be changed.
            records: Records of earlier runs.
            asked: Logical names of leaf columns.
        """
        self._table = table
        self._records = records
        self._asked = {table.columns.stored_name(name): name for name in asked}

    def lacking(self, *, rebuilds: bool = False) -> Choice:
        """Choose files of which a column chunk lacks a filter.

        Args:
            rebuilds: Choose files that have all filters, too.
        """
        names = frozenset(self._asked)
        files = self._table.entries
        unsure = [one for one in files if rebuilds or not names <= self._records.finished(one)]

        def choose(file: FileEntry, footer: Footer) -> Task | None:
            finished = frozenset[str]() if rebuilds else self._records.finished(file)
            leaves = self._leaves(footer)
            lacks = {
                stored: leaf
                for stored, leaf in leaves.items()
                if stored not in finished
                and why_no_filter(leaf) is None
                and (rebuilds or _num_lacking(footer, leaf))
            }
            self._records.note(file, names - lacks.keys() if not rebuilds else ())
            to_build = _num_all if rebuilds else _num_lacking
            return self._task(file, lacks, lambda leaf: to_build(footer, leaf))

        return self._choose(unsure, choose)

    def filtered(self) -> Choice:
        """Choose files of which a column chunk has a filter."""

        def choose(file: FileEntry, footer: Footer) -> Task | None:
            leaves = self._leaves(footer).items()
            found = {stored: leaf for stored, leaf in leaves if _num_filters(footer, leaf)}
            return self._task(file, found, lambda leaf: _num_filters(footer, leaf))

        return self._choose(list(self._table.entries), choose)

    def _leaves(self, footer: Footer) -> dict[str, Leaf]:
        """Return the requested leaf columns by stored name; a file may lack some of them."""
        inside = self._table.columns.in_file(footer)
        return {
            stored: inside[logical] for stored, logical in self._asked.items() if logical in inside
        }

    def _task(
        self, file: FileEntry, leaves: Mapping[str, Leaf], num_filters: Callable[[Leaf], int]
    ) -> Task | None:
        if not leaves:
            return None
        return Task(
            file=file,
            leaves={self._asked[stored]: leaf.ordinal for stored, leaf in leaves.items()},
            num_filters=sum(map(num_filters, leaves.values())),
        )

    def _choose(self, files: Sequence[FileEntry], choose: Choose) -> Choice:
        choice = Choice(tasks=[], kept=[], num_footers=len(files), failures=[])

        def look(file: FileEntry) -> Task | Failure | None:
            try:
                footer, size = footer_of(self._table.locate(file.path))
                task = choose(file, footer)
                if task is not None:
                    _check_size(file, size)
            except (FileProblem, OSError, InvalidArgument) as error:
                return error
            return task

        with ThreadPoolExecutor(FOOTERS_AT_ONCE, thread_name_prefix="bloomify") as pool:
            for file, found in zip(files, pool.map(look, files), strict=True):
                if isinstance(found, Task):
                    (choice.kept if file.why_kept else choice.tasks).append(found)
                elif found is not None:
                    choice.failures.append((file, found))
        return choice


def _check_size(file: FileEntry, size: int) -> None:
    """Check that a file has its size in the table: a new version would make a wrong file valid.

    Raises:
        FileChanged: If not.
    """
    if size != file.size:
        raise FileChanged(
            f"the file has {size:,} bytes, the table says {file.size:,}: it was replaced or cut",
            remedy="Restore the file from a backup.",
        )


def _num_all(footer: Footer, _leaf: Leaf) -> int:
    return footer.num_row_groups


def _num_filters(footer: Footer, leaf: Leaf) -> int:
    return int(footer.chunks.has(ChunkField.BLOOM_FILTER_OFFSET)[:, leaf.ordinal].sum())


def _num_lacking(footer: Footer, leaf: Leaf) -> int:
    return footer.num_row_groups - _num_filters(footer, leaf)


def in_order(tasks: Sequence[Task], *, newest_first: bool) -> list[Task]:
    """Sort tasks so that files of one partition are together: then a commit touches few partitions.

    Args:
        tasks: The tasks, in the order of the table's files.
        newest_first: The partition with the newest file comes first, and in it the newest file.
    """
    partitions: dict[Hashable, list[Task]] = {}
    for task in tasks:
        partitions.setdefault(task.file.partition, []).append(task)
    groups = list(partitions.values())
    if newest_first:
        for group in groups:
            group.sort(key=lambda one: -one.file.age_rank)
        groups.sort(key=lambda group: -group[0].file.age_rank)
    return [task for group in groups for task in group]


def within_budget(
    tasks: Sequence[Task], *, max_files: int | None, max_bytes: int | None
) -> list[Task]:
    """Return the first tasks within the limits; the first file beyond a limit waits.

    A file that is larger than the limit on its own is skipped, because no run could go on after it.
    """
    taken: list[Task] = []
    num_bytes = 0
    for task in tasks:
        if max_bytes is not None and task.file.size > max_bytes:
            continue
        num_bytes += task.file.size
        if len(taken) == max_files or (max_bytes is not None and num_bytes > max_bytes):
            break
        taken.append(task)
    return taken


def batches(tasks: Iterable[Task], *, num_files: int, num_bytes: int) -> Iterator[list[Task]]:
    """Cut tasks into batches, one for each commit.

    Args:
        tasks: The tasks, in order.
        num_files: Maximum number of files in a batch.
        num_bytes: A batch ends before this is exceeded, but has one file at least.
    """
    batch: list[Task] = []
    held = 0
    for task in tasks:
        if batch and (len(batch) == num_files or held + task.file.size > num_bytes):
            yield batch
            batch, held = [], 0
        batch.append(task)
        held += task.file.size
    if batch:
        yield batch
