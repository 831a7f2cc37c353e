"""The verb `probe`: find the row groups that might hold rows that pass a filter."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from parquet_bloomwriter.hashing import HashKind
from parquet_bloomwriter.predicate import parse
from parquet_bloomwriter.probing.files import Bindings, Given, probe_locations
from parquet_bloomwriter.source import Location
from parquet_bloomwriter.source.open import listed
from parquet_bloomwriter.table_files.find import LAST, AsOf, find_inputs, find_table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from parquet_bloomwriter.hashing import Dialect
    from parquet_bloomwriter.predicate import Filters
    from parquet_bloomwriter.probing.files import Openable
    from parquet_bloomwriter.probing.report import ProbeReport
    from parquet_bloomwriter.source import Input


def probe(  # noqa: PLR0913  all but two by keyword
    sources: Input | Iterable[Input],
    filters: Filters,
    *,
    filesystem: object = None,
    dialect: Dialect = "xxhash",
    murmur3_seed: int = 0,
    version: int | None = None,
    snapshot: int | None = None,
    branch: str | None = None,
) -> ProbeReport:
    """Find out which row groups might hold rows that pass the filters, reading next to nothing.

    It reads the footer of each file, and of each Bloom filter that it asks the header and 32 bytes
    for each value. Footers are kept in memory until their files change (`clear_cache` forgets
    them). Statistics are looked at first, Bloom filters second, and small dictionaries where there
    is no filter. Files in folders such as `year=2023` are not opened where the value in the path
    cannot match. What is not known for certain might match.

    Of a Delta table or Iceberg, the files of a version or snapshot are probed, with the table's
    names of columns. Its metadata have the values of partition columns.

    Args:
        sources: A file, folder, Delta table or glob pattern, by path or URL; an Iceberg table,
            iceberg://CATALOG/NAMESPACE.TABLE; an open file or a buffer; or several of these.
        filters: What is asked for: SQL (`"id = 42 AND email IN ('a', 'b')"`), pyarrow's lists
            (`[("id", "=", 42)]`) or a pyarrow expression.
        filesystem: What paths are relative to: a file system of pyarrow or fsspec.
        dialect: What Bloom filters are taken for whose headers do not name their hash. "xxhash"
            distrusts them. "murmur3" asks them as filters of the Murmur3 drafts: use it only
            for files that were written so, because early files with XXH64 have the same headers,
            and rows of them would be missed. Filters whose headers name XXH64 are asked as such.
        murmur3_seed: Seed of MurmurHash3, 0 to 2**32 - 1, that the filters were written with: no
            file holds it.
        version: Of Delta tables; None for their last ones.
        snapshot: Id of a snapshot of Iceberg tables; None for their last ones.
        branch: Of Iceberg tables; None for `main`.

    Returns:
        Every file with its verdict, in the order given. If one file is asked for and cannot be
        read, that is an error; one of several files that cannot be read might match, and carries
        its error.

    Raises:
        InvalidArgument: If the filters cannot be understood, a folder or pattern matches nothing,
            or the dialect or the seed is none; if a source is no such table, or has no
            such version, snapshot or branch.
        ColumnNotFound: If a column is in none of the files.
        TableProblem: If the log of a table is damaged, or asks for features not understood.
        FileProblem: If the only file is no Parquet file, or a broken one.
        OSError: If the only file cannot be read, or a folder cannot be listed.
    """
    kind = HashKind(dialect, murmur3_seed)
    bindings = Bindings.of(parse(filters), kind, reads_paths=True)
    as_of = AsOf(version=version, snapshot=snapshot, branch=branch)
    files = openables(sources, filesystem, as_of)
    report = probe_locations(files, bindings)
    if len(report.files) == 1 and report.files[0].error is not None:
        raise report.files[0].error
    return report


def openables(
    sources: Input | Iterable[Input], filesystem: object, as_of: AsOf = LAST
) -> list[Openable]:
    """Return the files that are named or given, in the form that `probe_locations` opens."""
    if isinstance(sources, _PATHS):
        return list(find_inputs(sources, filesystem=filesystem, as_of=as_of).files)
    several = listed(sources)
    if several is None:
        find_table(sources, as_of=as_of)
        return [Given(sources)]
    paths = [one for one in several if isinstance(one, _PATHS)]
    if len(paths) == len(several):
        return list(find_inputs(paths, filesystem=filesystem, as_of=as_of).files)
    return [one for source in several for one in openables(source, filesystem, as_of)]


_PATHS = (str, os.PathLike, Location)
