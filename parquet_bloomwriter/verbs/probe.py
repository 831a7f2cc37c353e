"""The verb `probe`: find the row groups that might hold rows that pass a filter."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from parquet_bloomwriter.hashing import HashKind
from parquet_bloomwriter.predicate import parse
from parquet_bloomwriter.probing.bindings import Bindings
from parquet_bloomwriter.probing.files import Given, probe_locations
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
    from parquet_bloomwriter.source.folders import PassedOver


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
    """Find the row groups that might hold rows that pass the filters, without reading the rows.

    It reads the footer of each file. Of each Bloom filter in which it looks values up, it reads the
    header, and 32 bytes for each value. Footers are kept in memory until their files change
    (`clear_cache` forgets them). Statistics are used first, then Bloom filters, and small
    dictionaries if there is no filter. Files in folders such as `year=2023` are not opened if the
    value in the path cannot match. A row group about which nothing is certain might match.

    For a Delta or Iceberg table, the files of a version or snapshot are probed. Columns have the
    names of the table, and the values of partition columns come from the table's metadata.

    Args:
        sources: A file, folder, Delta table or glob pattern, by path or URL; an Iceberg table,
            iceberg://CATALOG/NAMESPACE.TABLE; an open file or a buffer; or several of these.
        filters: The condition: SQL (`"id = 42 AND email IN ('a', 'b')"`), pyarrow's lists
            (`[("id", "=", 42)]`) or a pyarrow expression.
        filesystem: A file system of pyarrow or fsspec; paths are paths in it.
        dialect: The hash function of Bloom filters whose headers do not name it. "xxhash" does not
            trust such filters. "murmur3" looks values up in them as in filters of the Murmur3
            drafts. Use "murmur3" only for files that were written with it: early files with XXH64
            have the same headers, and rows of them would be missed. If a header names XXH64, values
            are always looked up with XXH64.
        murmur3_seed: Seed of MurmurHash3, 0 to 2**32 - 1, that the filters were written with. No
            file holds it.
        version: Version of Delta tables; None for their last versions.
        snapshot: Id of a snapshot of Iceberg tables; None for their last snapshots.
        branch: Branch of Iceberg tables; None for `main`.

    Returns:
        Every file with its verdict, in the order given. If there are several files, a file that
        cannot be read might match, and has its error.

    Raises:
        InvalidArgument: If the filters cannot be understood; if a folder or pattern matches
            nothing; if the dialect or the seed is invalid; if a source is not such a table, or has
            no such version, snapshot or branch.
        ColumnNotFound: If a column is in none of the files.
        TableProblem: If the log of a table is damaged, or asks for unknown features.
        FileProblem: If the only file is not a Parquet file, or is broken.
        OSError: If the only file cannot be read, or a folder cannot be listed.
    """
    kind = HashKind(dialect, murmur3_seed)
    bindings = Bindings.of(parse(filters), kind, reads_paths=True)
    as_of = AsOf(version=version, snapshot=snapshot, branch=branch)
    found = openables(sources, filesystem, as_of)
    report = probe_locations(found.files, bindings)
    report = replace(report, passed_over=found.passed_over)
    if len(report.files) == 1 and report.files[0].error is not None:
        raise report.files[0].error
    return report


class Openables(NamedTuple):
    """The files that sources name, in the form that `probe_locations` opens."""

    files: list[Openable]
    passed_over: tuple[PassedOver, ...] = ()


def openables(
    sources: Input | Iterable[Input], filesystem: object, as_of: AsOf = LAST
) -> Openables:
    """Return the files of the sources, in the form that `probe_locations` opens."""
    several = [sources] if isinstance(sources, _PATHS) else listed(sources)
    if several is None:
        find_table(sources, as_of=as_of)
        return Openables([Given(sources)])
    paths = [one for one in several if isinstance(one, _PATHS)]
    if len(paths) == len(several):
        found = find_inputs(paths, filesystem=filesystem, as_of=as_of)
        return Openables(list(found.files), found.passed_over)
    parts = [openables(source, filesystem, as_of) for source in several]
    return Openables(
        [file for part in parts for file in part.files],
        tuple(one for part in parts for one in part.passed_over),
    )


_PATHS = (str, os.PathLike, Location)
