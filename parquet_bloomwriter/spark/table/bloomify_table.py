"""The verb `bloomify_table`: adds Bloom filters to every file of a table, by a job of Spark."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from parquet_bloomwriter.arguments import names_of, rates_of
from parquet_bloomwriter.delta.place import is_table
from parquet_bloomwriter.errors import BloomwriterError, InvalidArgument
from parquet_bloomwriter.iceberg.names import is_iceberg
from parquet_bloomwriter.index.layout import absolute_path
from parquet_bloomwriter.index.storage.base import storage_of
from parquet_bloomwriter.parallel import balanced
from parquet_bloomwriter.rewrite.plan import Placement
from parquet_bloomwriter.sbbf.sizing import MAX_BYTES, check_max_bytes
from parquet_bloomwriter.spark.jobs import default_parallelism, run
from parquet_bloomwriter.spark.progress import JobLine, TaskProgress
from parquet_bloomwriter.spark.settings import is_connect
from parquet_bloomwriter.spark.store_urls import use_settings_of
from parquet_bloomwriter.spark.table.plan import TableRequest, finish_table, plan_table
from parquet_bloomwriter.spark.table.rewrite import (
    FileResult,
    FileStatus,
    RewriteOptions,
    TableTask,
    rewrite_files,
)
from parquet_bloomwriter.text import count

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from parquet_bloomwriter.arguments import Rate
    from parquet_bloomwriter.index.engine import Progress
    from parquet_bloomwriter.sbbf import Sizing
    from parquet_bloomwriter.spark.table.files import TableFile
    from parquet_bloomwriter.tables.replacement import Job, Writer, WrittenFile

    Result = WrittenFile | BloomwriterError | OSError | None

A = TypeVar("A")
R = TypeVar("R")
StrPath = str | os.PathLike[str]

_DEFAULT_FPP = 0.01
_TASKS_PER_CORE = 8
"""Number of tasks for each core: more than balance needs, because progress advances by tasks."""

_SCHEMA = (
    "path string, output string, status string, built int, kept int, empty int, skipped int, "
    "bytes_before long, bytes_after long, notes array<string>, error string"
)


def bloomify_table(  # noqa: PLR0913  the verb's options, all by keyword
    spark: SparkSession,
    path: StrPath,
    columns: str | Sequence[str] | None = None,
    *,
    exclude: str | Sequence[str] = (),
    output: StrPath | None = None,
    fpp: Rate | Mapping[str, Rate] | None = None,
    ndv: int | Mapping[str, int] | None = None,
    max_bytes: int = MAX_BYTES,
    sizing: Sizing = "pow2",
    placement: Placement = "end",
    replace: bool = False,
    force: bool = False,
    regenerate_crc: bool = True,
    keep_time: bool = False,
    branch: str | None = None,
    num_tasks: int | None = None,
    progress: Progress | None = None,
) -> DataFrame:
    """Add Bloom filters to every file of a table, in tasks of Spark.

    Each file is replaced atomically, or its new version appears in `output` as a whole. Data is
    copied byte for byte. One bad file does not stop the others.

    To continue a run that was stopped, run it again. In place, a file that has its filters already
    is read, its filters are checked, and the file is not changed. With an output, files that an
    earlier run wrote with the same options are skipped: the output has a journal in the folder
    `_bloomify`.

    The files must lie on disks that the driver (on Spark Connect: the server) and all executors
    reach by the same path, or on S3 (`s3a://`), GCS (`gs://`), Azure (`abfss://`) or HDFS. The
    files of a table are those that Spark reads: with any suffix, also behind symbolic links, but
    no hidden ones. Files that are not Parquet are left in place, or copied unchanged. Of the
    hidden files only `_SUCCESS` is copied, at the end, if no file failed.

    On stores, executors use the keys and endpoints of Spark's configuration. There the output
    must be an empty prefix: a run with an output cannot be continued. Objects that are not Parquet
    are not copied, but reported as failed, and neither is `_SUCCESS`.

    Rewriting in place changes the sizes of files. DataFrames that were made before know the old
    sizes: read them anew. Indexes of the table know the old files and exclude none of the new ones,
    which is safe but slow: refresh them.

    Spark writes checksum files, `.NAME.crc`, on local disks. A file is compared with its checksum
    file before it is rewritten, and a file that does not match is not changed. Then the checksum
    file is made anew. A run that was killed leaves a few files without one, which Spark reads, too.

    Delta and Iceberg tables get filters as by `parquet_bloomwriter.bloomify_table`: tasks write new
    files, and the driver commits them; so there the session is a classic one. `columns` may then
    be None for those that the table's properties ask for. An Iceberg table is found by pyiceberg's
    configuration on the driver; executors need pyiceberg no more than Spark does.

    Args:
        spark: A session, classic or of Spark Connect.
        path: Folder of the table, or a single file. A path, a `file:` URL, or a URL on a store; or
            iceberg://CATALOG/NAMESPACE.TABLE.
        columns: As for `bloomify`. A column that a file does not have is left out for this file,
            and the report says so. A name without an exact match may differ in case.
        exclude: Columns, in the same words, that get no filter.
        output: Folder for the new files, with the same relative paths: new, empty, or the output of
            an earlier run. None replaces the files in place.
        fpp: False positive probability, as for `bloomify`; by default 0.01, or what a Delta or
            Iceberg table asks for.
        ndv: Distinct values per row group, as for `bloomify`.
        max_bytes: Largest bitset, bytes, below 2 GiB.
        sizing: "pow2" or "exact", as for `bloomify`.
        placement: "column-chunk", "row-group" or "end", as for `bloomify`. DataFrames keep the
            sizes of their files. With another placement than "end", DataFrames that were made
            before a rewrite in place silently miss rows.
        replace: Whether to build filters anew where a file has filters already.
        force: Whether to go on although a table format, the log of a Spark stream or a `_metadata`
            file keeps a record of the files, a file has hard links, or a checksum file does not
            match.
        regenerate_crc: Whether to renew Hadoop's checksum files. If not, files with one fail.
        keep_time: Whether new files get the times of modification of the old ones, for folders
            that a stream reads. Only on disks.
        branch: Name of the branch of an Iceberg table; None for its main branch.
        num_tasks: Number of tasks; by default eight times as many as Spark runs at once.
        progress: Receives counts of files and bytes; by default a line on standard error, if that
            is a terminal.

    Returns:
        One row for each file, by path: path, output, status, built, kept, empty, skipped (column
        chunks), bytes_before, bytes_after, notes, error. The status is "rewritten", "copied"
        (nothing could be added), "unchanged", "skipped" (done before, or not Parquet), "stale" (in
        the output, but no longer in the table), "dropped" (of a Delta or Iceberg table: removed or
        changed by others meanwhile), "kept" (of an Iceberg table: it must stay as it is) or
        "failed". The work is done when it returns.

    Raises:
        InvalidArgument: If an option is out of range, or there are no files.
        ColumnNotFound: If no file has a column of that name, also one to exclude.
        UnsafeTarget: If something else keeps a record of the files. After these errors, no file has
            changed.
        PySparkException: If the job fails for a reason that is not about a file.
    """
    if num_tasks is not None and num_tasks < 1:
        raise InvalidArgument(f"{num_tasks} tasks cannot do any work")
    if placement not in get_args(Placement):
        raise InvalidArgument(f'"{placement}" is none of {", ".join(get_args(Placement))}')
    use_settings_of(spark)
    target = os.fspath(path) if is_iceberg(path) else _absolute(path)
    if is_iceberg(target) or is_table(target):
        if output is not None or force or keep_time:
            option = "an output" if output is not None else "force" if force else "keep_time"
            raise InvalidArgument(
                f'"{target}" is a table whose files get new names by commits: '
                f"{option} says nothing there"
            )
        return _bloomify_by_commits(
            spark,
            target,
            columns,
            branch=branch,
            fpp=fpp,
            ndv=ndv,
            max_bytes=max_bytes,
            sizing=sizing,
            exclude=exclude,
            replace=replace,
            num_tasks=num_tasks or _TASKS_PER_CORE * default_parallelism(spark),
        )
    if branch is not None:
        raise InvalidArgument(f'"{os.fspath(path)}" is no Iceberg table, and has no branches')
    if keep_time and storage_of(target).is_remote:
        raise InvalidArgument("keep_time is for disks: stores set the times of their objects")
    request = TableRequest(
        path=target,
        output=None if output is None else _absolute(output),
        options=RewriteOptions(
            columns=None if columns is None else names_of(columns),
            exclude=names_of(exclude),
            fpp=rates_of(_DEFAULT_FPP if fpp is None else fpp),
            ndv=ndv if ndv is None or isinstance(ndv, int) else dict(ndv),
            max_bytes=check_max_bytes(max_bytes),
            sizing=sizing,
            placement=placement,
            replace=replace,
            force=force,
            regenerate_crc=regenerate_crc,
            keep_time=keep_time,
        ),
    )
    return _bloomify_files(spark, os.fspath(path), request, num_tasks, progress)


def _bloomify_files(
    spark: SparkSession,
    path: str,
    request: TableRequest,
    num_tasks: int | None,
    progress: Progress | None,
) -> DataFrame:
    """Add filters to files that keep their names; return a row with the result for each file."""
    plan = _where_files_are(spark, plan_table, request)
    tasks = num_tasks or _TASKS_PER_CORE * default_parallelism(spark)
    with JobLine(f"adding filters to {os.path.basename(request.path)}") as line:  # noqa: PTH119
        groups = balanced(plan.files, [file.size + 1 for file in plan.files], tasks)
        results = [*plan.settled, *_rewritten(spark, request, groups, progress or line)]
    bad = {FileStatus.FAILED, FileStatus.STALE}
    if request.output is None:
        _refresh(spark, path, request)
    elif not any(result.status in bad for result in results):
        _where_files_are(spark, finish_table, request)
    rows = [_row(result) for result in sorted(results, key=lambda result: result.path)]
    return spark.createDataFrame(rows, _SCHEMA)


def _bloomify_by_commits(
    spark: SparkSession,
    path: str,
    columns: str | Sequence[str] | None,
    *,
    num_tasks: int,
    ndv: int | Mapping[str, int] | None,
    **options: Any,  # noqa: ANN401  those of the library's verb
) -> DataFrame:
    """Add filters to a Delta or Iceberg table; return a row with the result for each file."""
    from parquet_bloomwriter.tables.add import bloomify_table as add_to_table
    from parquet_bloomwriter.tables.report import FileFate

    if is_connect(spark):
        raise InvalidArgument(
            "the driver must read and commit to a Delta or Iceberg table, and a client of Spark "
            "Connect has none",
            remedy="Use a classic session, or the library's bloomify_table.",
        )
    if isinstance(ndv, Mapping):
        raise InvalidArgument("the ndv for such a table is one number for all columns")
    workers = _SparkWorkers(spark, num_tasks)
    try:
        report = add_to_table(path, columns, ndv=ndv, workers=workers, **options)
    finally:
        use_settings_of(spark)  # keys of an Iceberg catalog are for this table only
    status = {
        FileFate.REPLACED: "rewritten",
        FileFate.UNCHANGED: "unchanged",
        FileFate.KEPT: "kept",
    }
    without = (FileFate.FAILED, FileFate.DROPPED, FileFate.KEPT)
    rows: list[tuple[object, ...]] = [
        (
            _text(change.path),
            None if change.new_path is None else _text(change.new_path),
            status.get(change.fate, str(change.fate)),
            change.num_filters,
            0,
            0,
            0,
            change.size_before,
            change.size_after,
            [],
            _text(change.reason) if change.fate in without else None,
        )
        for change in report.changes
    ]
    return spark.createDataFrame(rows, _SCHEMA)


class _SparkWorkers:
    """Writes new files of a Delta or Iceberg table in tasks of Spark; the driver commits them.

    What a task wrote counts only once it is committed. A task that runs again, because an executor
    was lost or slow, writes the same new name again: the last complete file stays, and all have the
    same bytes.
    """

    def __init__(self, spark: SparkSession, num_tasks: int) -> None:
        """Use at most `num_tasks` tasks for the files of one commit."""
        self._spark = spark
        self._num_tasks = num_tasks

    def write_all(self, writer: Writer, jobs: Sequence[Job]) -> Generator[Result, None, None]:
        """See `Workers`."""
        groups: list[list[tuple[int, Job]]] = [[] for _ in range(min(self._num_tasks, len(jobs)))]
        for place, job in enumerate(jobs):
            groups[place % len(groups)].append((place, job))
        tasks = [(writer, tuple(group)) for group in groups]
        description = f"bloomify: {count(len(jobs), 'file')} of a table"
        found: dict[int, Result] = {}
        for results in run(self._spark, _write, tasks, description=description):
            found.update(results)
        yield from (found[place] for place in range(len(jobs)))


def _write(task: tuple[Writer, tuple[tuple[int, Job], ...]]) -> dict[int, Result]:
    """Write the files of one task, in a worker."""
    writer, jobs = task
    return {place: _written(writer, job) for place, job in jobs}


def _written(writer: Writer, job: Job) -> Result:
    try:
        return writer(job, 1, None)
    except (BloomwriterError, OSError) as error:
        return error


def _refresh(spark: SparkSession, given: str, request: TableRequest) -> None:
    """Let Spark list a table anew, instead of using the listing in its cache.

    A Spark that has no connector for the URL as it was given has no listing by that name either.
    """
    if not request.is_on_store:
        spark.catalog.refreshByPath(request.path)
        return
    with suppress(Exception):  # the work is done, and its report must not be lost
        spark.catalog.refreshByPath(given)


def _rewritten(
    spark: SparkSession,
    request: TableRequest,
    groups: Sequence[Sequence[TableFile]],
    progress: Progress,
) -> list[FileResult]:
    tasks = [
        TableTask(files=tuple(group), output=request.output, options=request.options)
        for group in groups
    ]
    sizes = [(len(group), sum(file.size for file in group)) for group in groups]
    num_files = sum(num_files for num_files, _ in sizes)
    progress.begin(num_files=num_files, num_bytes=sum(num_bytes for _, num_bytes in sizes))
    done = run(
        spark,
        rewrite_files,
        tasks,
        description=f"bloomify: {count(num_files, 'file')} of {request.path}",
        on_progress=TaskProgress(sizes, progress),
    )
    return [result for results in done for result in results]


def _where_files_are(spark: SparkSession, work: Callable[[A], R], argument: A) -> R:
    """Call a function where the files are reached: in the driver; on Spark Connect, in a task."""
    if not is_connect(spark):
        return work(argument)
    (result,) = run(spark, work, [argument], description="bloomify: list of files")
    return result


def _absolute(path: StrPath) -> str:
    try:
        return absolute_path(path)
    except InvalidArgument:
        raise InvalidArgument(
            f'"{os.fspath(path)}" is not a local path, and tables are rewritten on local or '
            "mounted disks, S3, GCS (gs://), Azure (abfss://) or HDFS",
            remedy="Mount the store; or rewrite files one by one: bloomify takes other URLs.",
        ) from None


def _row(result: FileResult) -> tuple[object, ...]:
    return (
        _text(result.path),
        None if result.output is None else _text(result.output),
        result.status.value,
        result.built,
        result.kept,
        result.empty,
        result.skipped,
        result.bytes_before,
        result.bytes_after,
        [_text(note) for note in result.notes],
        None if result.error is None else _text(result.error),
    )


def _text(text: str) -> str:
    """Return a text that a JVM takes; bytes of names that are not UTF-8 are replaced."""
    return text.encode(errors="surrogateescape").decode(errors="replace")
