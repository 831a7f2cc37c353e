"""The verb `bloomify` on a table: filters for the files that lack some."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.rewrite.report import ColumnTotals
from parquet_bloomwriter.table_files.find import open_to_change
from parquet_bloomwriter.tables.choice import Chooser, in_order, within_budget
from parquet_bloomwriter.tables.records import Records
from parquet_bloomwriter.tables.replacement import Run, WrittenFile, threads_for
from parquet_bloomwriter.tables.request import requested_filters
from parquet_bloomwriter.verbs.add import bloomify

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from parquet_bloomwriter.arguments import Rate
    from parquet_bloomwriter.progress import FileProgress
    from parquet_bloomwriter.sbbf import Sizing
    from parquet_bloomwriter.tables.replacement import Job, Limits, TableProgress, Workers
    from parquet_bloomwriter.tables.report import TableReport


@dataclass(frozen=True, kw_only=True)
class FilterBuilder:
    """Writes new files with filters; see `Writer`."""

    rates: Mapping[str, float]
    """False positive probability by logical name of the column."""

    ndv: int | None
    max_bytes: int
    sizing: Sizing
    replace: bool
    repeats: bool
    """Whether two tasks may write the same new file, because one of them was lost or slow."""

    def __call__(
        self, job: Job, threads: int, progress: FileProgress | None, /
    ) -> WrittenFile | None:
        """Write a new file; None if no filter could be built."""
        names = {f"#{ordinal}": name for name, ordinal in job.leaves.items()}
        report = bloomify(
            job.old,
            tuple(names),
            output=job.new,
            copy_unchanged=False,
            overwrite=self.repeats,
            fpp={ordinal: self.rates[name] for ordinal, name in names.items()},
            ndv=self.ndv,
            max_bytes=self.max_bytes,
            sizing=self.sizing,
            placement="end",
            replace=self.replace,
            jobs=threads,
            progress=progress,
        )
        if not report.written:
            return None
        totals = [
            dataclasses.replace(ColumnTotals.of(one), name=names[f"#{one.ordinal}"])
            for one in report.columns
        ]
        return WrittenFile(size=report.size_after, num_filters=report.num_built, totals=totals)


def bloomify_table(  # noqa: PLR0913  the verb's options, all by keyword
    table: str | os.PathLike[str],
    columns: str | Sequence[str] | None = None,
    *,
    exclude: str | Sequence[str] = (),
    branch: str | None = None,
    fpp: Rate | Mapping[str, Rate] | None = None,
    ndv: int | None = None,
    max_bytes: int | None = None,
    sizing: Sizing = "pow2",
    replace: bool = False,
    limits: Limits | None = None,
    max_files: int | None = None,
    max_bytes_rewritten: int | None = None,
    newest_first: bool = False,
    jobs: int | None = None,
    dry_run: bool = False,
    progress: TableProgress | None = None,
    workers: Workers | None = None,
) -> TableReport:
    """Add Bloom filters to the files of a Delta or Iceberg table that lack some, by commits.

    Each file gets a new version under a new name, with its data copied byte for byte. A commit puts
    the new files in the place of the old, and says that no data changed: an entry of Delta's log,
    or a snapshot of Iceberg of operation `replace`. The old ones stay until VACUUM, or until their
    snapshots expire, as time travel needs them. The run can be stopped at any time, and repeated at
    any time: only files that lack a filter are touched. If it fails, the commits that were made
    before stay, and the exception's attribute `report` has what was done.

    Args:
        table: Path or URL of a Delta table's folder, or iceberg://CATALOG/NAMESPACE.TABLE.
        columns: Columns as the table names them, groups for all columns in them; None for those for
            which the table's properties ask: `bloomify.columns` of Delta tables, and
            `write.parquet.bloom-filter-enabled.column.NAME` of Iceberg tables. Patterns as for
            `bloomify`.
        exclude: Columns, in the same words, that get no filter.
        branch: Name of the branch of an Iceberg table; None for its main branch.
        fpp: False positive probability, as for `bloomify`; None for what the table's properties
            say, else 0.01.
        ndv: Distinct values per row group, if known: saves memory while building.
        max_bytes: Largest bitset, bytes. It wins over `fpp`. None for what the table asks for, else
            128 MiB.
        sizing: As for `bloomify`.
        replace: Build filters anew where there are some.
        limits: When a commit is made; by default after 500 files or 20 GiB.
        max_files: Work on so many files, and leave the others to the next run.
        max_bytes_rewritten: Work on files of so many bytes together.
        newest_first: Begin with the newest files, partition by partition.
        jobs: Threads in all; by default two for each core, and 16 on stores.
        dry_run: Read footers, and write nothing.
        progress: Receives the progress of the run.
        workers: The threads or tasks that write the new files; by default threads of this process.

    Returns:
        What was done.

    Raises:
        InvalidArgument: If there is no table, no column is asked for, or an option is out of range.
        ColumnNotFound: If the table has no such column.
        UnsupportedTable: If the table has a feature that this program must not touch; it is named.
        UnsafeTarget: If no entry of the log can be created exclusively where the table lies.
        TableProblem: If the log is damaged, or changed so that this run cannot go on.
        OutcomeUnknown: If it cannot be found out whether a commit was made.
        Unfinished: If a commit was made, and the table cannot be read afterwards.
        StoreProblem, OSError: If reading or writing fails.
    """
    for name, number in (("max_files", max_files), ("max_bytes_rewritten", max_bytes_rewritten)):
        if number is not None and number < 1:
            raise InvalidArgument(f"{name} of {number} leaves nothing to do")
    opened = open_to_change(table, branch=branch)
    request = requested_filters(opened, columns, fpp, max_bytes, exclude=exclude)
    records = Records(opened.id)
    choice = Chooser(opened, records, asked=tuple(request.rates)).lacking(rebuilds=replace)
    tasks = in_order(choice.tasks, newest_first=newest_first)
    tasks = within_budget(tasks, max_files=max_files, max_bytes=max_bytes_rewritten)
    builder = FilterBuilder(
        rates=request.rates,
        ndv=ndv,
        max_bytes=request.max_bytes,
        sizing=sizing,
        replace=replace,
        repeats=workers is not None,
    )
    run = Run(
        verb="add",
        writer=builder,
        table=opened,
        columns=tuple(request.rates),
        asked_by_table=request.is_by_table,
        choice=choice,
        tasks=tasks,
        records=records,
    )
    workers = workers or threads_for(opened, jobs, progress)
    return run.carry_out(workers, limits, dry_run=dry_run, progress=progress)
