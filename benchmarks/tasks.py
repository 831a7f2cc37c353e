"""The tasks that are timed as processes of their own: `python -m benchmarks.tasks NAME ...`.

Libraries are imported inside the task that uses them, so that each pays for its own start only.
All writers get zstd at the level of pyarrow's default, row groups of 1 M rows, two threads, and
Bloom filters of 1 % on `id` and `email` as far as they can:

- DuckDB makes filters for dictionary-encoded columns only, all of them, so that it has to encode
  unique values as dictionaries; `duckdb_plain` is the same without filters.
- None of them calls fsync, which `bloomify` does.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from benchmarks.measure import timed

if TYPE_CHECKING:
    from collections.abc import Callable

COLUMNS = ("id", "email")
FPP = 0.01
ROWS_PER_GROUP = 1_000_000
THREADS = 2
ABSENT_FROM = 10_000_000
"""Values of row numbers from here on are in no reference file."""


def copy(source: str, target: str) -> None:
    """Copy a file within the kernel, as cp does, and leave writing it out to the system."""
    with Path(source).open("rb") as reader, Path(target).open("wb") as writer:
        left = Path(source).stat().st_size
        while left:
            left -= os.copy_file_range(reader.fileno(), writer.fileno(), left)


def copy_fsync(source: str, target: str) -> None:
    """Copy a file and wait until it is on disk."""
    copy(source, target)
    with Path(target).open("rb") as written:
        os.fsync(written.fileno())


def decode(source: str) -> None:
    """Decode the two columns with pyarrow and keep nothing."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pa.set_cpu_count(THREADS)
    with pq.ParquetFile(source) as file:
        for ordinal in range(file.num_row_groups):
            file.read_row_group(ordinal, columns=list(COLUMNS))


def copy_decode(source: str, target: str) -> None:
    """Copy a file and decode its two columns."""
    copy(source, target)
    decode(source)


def copy_fsync_decode(source: str, target: str) -> None:
    """Copy a file, decode its two columns, and wait until the copy is on disk."""
    copy_fsync(source, target)
    decode(source)


def build(source: str) -> None:
    """Build the filters of the two columns and write nothing."""
    import parquet_bloomwriter

    parquet_bloomwriter.bloomify(source, columns=COLUMNS, fpp=FPP, dry_run=True)


def build_and_decode(source: str, repeats: str) -> None:
    """Time building and decoding within one process, in turn."""

    def seconds(function: Callable[[str], None]) -> float:
        began = time.perf_counter()
        function(source)
        return time.perf_counter() - began

    cases = {"build": lambda: seconds(build), "decode": lambda: seconds(decode)}
    timings = timed(cases, int(repeats))
    print(json.dumps({name: timing.seconds for name, timing in timings.items()}))


def pyarrow_rewrite(source: str, target: str) -> None:
    """Read and write with pyarrow, row group by row group, Bloom filters on two columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pa.set_cpu_count(THREADS)
    filters = {column: {"ndv": ROWS_PER_GROUP, "fpp": FPP} for column in COLUMNS}
    with (
        pq.ParquetFile(source) as file,
        pq.ParquetWriter(
            target, file.schema_arrow, compression="zstd", bloom_filter_options=filters
        ) as writer,
    ):
        for ordinal in range(file.num_row_groups):
            writer.write_table(file.read_row_group(ordinal), row_group_size=ROWS_PER_GROUP)


def duckdb_copy(source: str, target: str) -> None:
    """COPY with DuckDB, dictionaries big enough for filters on every column."""
    _duckdb(source, target, f", DICTIONARY_SIZE_LIMIT {ROWS_PER_GROUP}")


def duckdb_plain(source: str, target: str) -> None:
    """COPY with DuckDB as it comes, which leaves the two columns without filters."""
    _duckdb(source, target, "")


def _duckdb(source: str, target: str, options: str) -> None:
    import duckdb

    with duckdb.connect(config={"threads": THREADS}) as connection:
        connection.execute(
            f"COPY (FROM '{source}') TO '{target}' (FORMAT parquet, COMPRESSION zstd, "
            f"COMPRESSION_LEVEL 1, ROW_GROUP_SIZE {ROWS_PER_GROUP}, "
            f"BLOOM_FILTER_FALSE_POSITIVE_RATIO {FPP}{options})"
        )


def datafusion_copy(source: str, target: str) -> None:
    """COPY with DataFusion, Bloom filters on two columns."""
    import datafusion as df

    filtered = df.ParquetColumnOptions(
        bloom_filter_enabled=True, bloom_filter_fpp=FPP, bloom_filter_ndv=ROWS_PER_GROUP
    )
    options = df.ParquetWriterOptions(
        compression="zstd(1)",
        max_row_group_size=ROWS_PER_GROUP,
        column_specific_options=dict.fromkeys(COLUMNS, filtered),
    )
    context = df.SessionContext(df.SessionConfig().with_target_partitions(THREADS))
    context.read_parquet(source).write_parquet_with_options(target, options)


def small(target: str) -> None:
    """Write a file of about 1 MB: the first rows of the reference file."""
    import pyarrow.parquet as pq

    from benchmarks import reference

    pq.write_table(reference.table(0, 16_000), target, compression="zstd")


def many_small(folder: str, num_files: str) -> None:
    """Write files of a thousand rows each, 13 columns."""
    import pyarrow.parquet as pq

    from benchmarks import reference

    rows = 1000
    for number in range(int(num_files)):
        path = Path(folder, f"part-{number:05d}.parquet")
        pq.write_table(reference.table(rows * number, rows * (number + 1)), path)


def bloomify_each(folder: str, output: str) -> None:
    """Add filters to each file of a folder through the library; print the CPU seconds."""
    from parquet_bloomwriter import bloomify, for_each_file

    def add(path: str, output: str | None, jobs: int) -> object:
        return bloomify(path, COLUMNS, output=output, fpp=FPP, jobs=jobs)

    began = time.process_time()
    outcomes = list(for_each_file([folder], add, output=output))
    seconds = time.process_time() - began
    errors = [outcome.error for outcome in outcomes if outcome.error]
    if errors:
        raise RuntimeError(f"{len(errors)} files failed, the first: {errors[0]}")
    print(json.dumps(seconds))


def fpp(rows: str, asked: str, sizing: Literal["exact", "pow2"]) -> None:
    """Write a file, add a filter, and count how many of 1 M absent values pass it."""
    import io

    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from benchmarks import reference
    from parquet_bloomwriter import Sbbf, bloomify
    from parquet_bloomwriter.hashing import hash_array

    present = np.arange(int(rows), dtype=np.uint64)
    absent = np.arange(ABSENT_FROM, ABSENT_FROM + 1_000_000, dtype=np.uint64)
    buffer = io.BytesIO()
    pq.write_table(pa.table({"id": reference.ids(present)}), buffer, row_group_size=int(rows))
    report = bloomify(buffer.getvalue(), ["id"], fpp=float(asked), sizing=sizing)
    (chunk,) = report.columns[0].chunks
    if report.data is None or chunk.offset is None:
        raise RuntimeError("no filter was written")
    sbbf = Sbbf.from_bytes(report.data[chunk.offset : chunk.offset + chunk.length])
    hits = sbbf.check_hashes(hash_array(reference.ids(absent)))
    print(json.dumps({"hits": int(hits.sum()), "bytes": sbbf.num_bytes}))


TASKS: dict[str, Callable[..., None]] = {
    function.__name__: function
    for function in (
        copy,
        copy_fsync,
        decode,
        copy_decode,
        copy_fsync_decode,
        build,
        build_and_decode,
        pyarrow_rewrite,
        duckdb_copy,
        duckdb_plain,
        datafusion_copy,
        small,
        many_small,
        bloomify_each,
        fpp,
    )
}

if __name__ == "__main__":
    TASKS[sys.argv[1]](*sys.argv[2:])
