"""The verb `strip` on a table: replace files that have filters by files without filters."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import BloomwriterError
from parquet_bloomwriter.table_files.find import open_to_change
from parquet_bloomwriter.tables.choice import Chooser, in_order
from parquet_bloomwriter.tables.records import Records
from parquet_bloomwriter.tables.replacement import Run, WrittenFile, threads_for
from parquet_bloomwriter.tables.request import leaves_of
from parquet_bloomwriter.verbs.strip import strip

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from parquet_bloomwriter.progress import FileProgress
    from parquet_bloomwriter.tables.replacement import Job, Limits, TableProgress
    from parquet_bloomwriter.tables.report import TableReport


def take_out(job: Job, _threads: int, progress: FileProgress | None, /) -> WrittenFile:
    """Write a file without filters; see `Writer`."""
    if progress is not None:
        progress.begin(num_bytes=job.size, num_filters=0)
    report = strip(
        job.old,
        [f"#{ordinal}" for ordinal in job.leaves.values()],
        output=job.new,
        progress=None if progress is None else progress.wrote,
    )
    return WrittenFile(size=report.size_after, num_filters=report.num_filters)


def strip_table(  # noqa: PLR0913  the verb's options, all by keyword
    table: str | os.PathLike[str],
    columns: str | Sequence[str] | None = None,
    *,
    branch: str | None = None,
    limits: Limits | None = None,
    jobs: int | None = None,
    dry_run: bool = False,
    progress: TableProgress | None = None,
) -> TableReport:
    """Take Bloom filters out of the files of a Delta or Iceberg table, by commits.

    Args:
        table: Path or URL of a Delta table's folder, or iceberg://CATALOG/NAMESPACE.TABLE.
        columns: Columns as the table names them; None takes every filter.
        branch: Name of the branch of an Iceberg table; None for its main branch.
        limits: When a commit is made; by default after 500 files or 20 GiB.
        jobs: Threads in all; by default two for each core, and 16 on stores.
        dry_run: Read footers, and write nothing.
        progress: Receives the progress of the run.

    Raises:
        BloomwriterError: In the same cases as `bloomify_table`.
        OSError: If reading or writing fails.
    """
    opened = open_to_change(table, branch=branch)
    asked = leaves_of(opened.columns, columns)
    choice = Chooser(opened, Records(opened.id), asked=asked).filtered()
    tasks = in_order(choice.tasks, newest_first=False)
    threads = threads_for(opened, jobs, progress)
    run = Run(
        verb="strip", writer=take_out, table=opened, columns=asked, choice=choice, tasks=tasks
    )
    report = run.carry_out(threads, limits, dry_run=dry_run, progress=progress)
    with suppress(BloomwriterError):  # an invalid property asks for no filters
        asking = opened.asked()
        if asking.columns:
            note = f"the property {asking.name} still asks for {', '.join(asking.columns)}"
            again = f"{note}: unset it, or the next run of bloomify adds these filters again"
            return replace(report, notes=(*report.notes, again))
    return report
