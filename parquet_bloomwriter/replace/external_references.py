"""Find what refers to a file from outside, and would be wrong after a rewrite in place.

    reference                   holds                            after a rewrite
    .NAME.crc beside the file   CRC32 of every 512 bytes         Spark: ChecksumException
    _metadata                   offsets of every column chunk    readers seek to wrong bytes
    _common_metadata            the schema only                  nothing: reported, not refused
    a name that is a checksum   the checksum of the file         a cache is damaged
    records of a table format   size of every file, and more     readers fail, or may fail

`FORMATS` is the one table of the table formats that are known: how their records look, where they
lie, what to do instead of a rewrite. Disks (here) and stores (`stores.references`) are searched by
it. Most formats keep records in a folder above their files. DuckLake keeps them in a database, so
that only the names of its data files tell. docs/reference/foreign-folders.md lists the formats and
programs that were looked at, recognised or not.

`_metadata` is looked for beside the file and, as long as folders are partitions
(`key=value`), one folder further up. Above other folders it counts if the path of the file stands
in it: pyarrow's `DirectoryPartitioning` and fastparquet's `drill` name folders by values alone.
Tables are looked for in all folders up to the root: a few file system calls each. Where the file
is reached by symbolic links, the folders of each link and the file's own folders count. A folder
that cannot be looked into (`metadata/`, `schema/`) counts as a table's: unknown is not "no".

Several formats use common names of folders. A `metadata/` counts only with a metadata file in it,
and `schema/` and `manifest/` count only together, and with Paimon's first schema. Before reading,
`find_table_records` looks for Iceberg's only where its layout puts it: in the folder and in the one
above, above partitions, and beside a `data` folder, below which files may lie at any depth
(Iceberg's `ObjectStoreLocationProvider`). The log of Spark's streaming sink is about the folder in
which it lies, and about partitions of this folder, so it is looked for as `_metadata` is.
"""

# ruff: noqa: PTH100, PTH115, PTH116, PTH118, PTH120  see `_tables`
from __future__ import annotations

import enum
import errno
import itertools
import os
import re
import stat
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import Proposal, UnsafeTarget, Way

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from parquet_bloomwriter.source.local import StrPath


class ReferenceKind(enum.StrEnum):
    """The kind of a reference to a file."""

    HADOOP_CRC = "Hadoop checksum file"
    SUMMARY_METADATA = "_metadata file with the offsets of this file"
    COMMON_METADATA = "_common_metadata file with the schema"
    CHECKSUM_NAME = "a name by checksum, as caches of DVC, git-annex and Hugging Face have"
    DELTA_LOG = "Delta table log"
    ICEBERG_METADATA = "Iceberg table metadata"
    UNLISTED_METADATA = "cannot be listed, and may be a table's"
    HUDI_TIMELINE = "Hudi table timeline"
    PAIMON_MANIFEST = "Paimon table manifests"
    SPARK_SINK_LOG = "log of Spark's streaming sink"
    DATABEND_SNAPSHOTS = "snapshots of Databend, which keep the offsets of this file"
    DUCKLAKE_CATALOG = "catalog of DuckLake, which keeps the size of this file"


@dataclass(frozen=True, kw_only=True, slots=True)
class Reference:
    """A reference to a file: a checksum file, a summary file, or the records of a table."""

    kind: ReferenceKind
    """Kind of the reference."""
    path: str
    """Absolute path of the reference; of the file itself, if only its name shows a table."""

    @classmethod
    def at(cls, path: Path, kind: ReferenceKind) -> Reference:
        """Return the reference that was found at `path`."""
        return cls(kind=kind, path=str(path))

    def __str__(self) -> str:
        """Return a phrase that names the reference in a sentence."""
        table = format_of(self.kind)
        if table is not None and not table.signs:  # it is not known where the records are
            return f"the {self.kind}"
        return f"{self.path} ({self.kind})"


class Reach(enum.Flag):
    """Where the files of a table may lie, seen from the folder with its records."""

    ANY = enum.auto()
    """At any depth."""
    ICEBERG = enum.auto()
    """In the folder, in a folder in it, in partitions, and at any depth below a folder `data`."""
    PARTITIONS = enum.auto()
    """In the folder and in its partitions (`key=value`)."""


_ALL = Reach.ANY | Reach.ICEBERG | Reach.PARTITIONS


@dataclass(frozen=True, kw_only=True, slots=True)
class TableFormat:
    """How the tables of one format are recognised, and what to do instead of a rewrite."""

    kind: ReferenceKind
    """Kind of the references that this format causes."""
    table: str
    """Name of such a table, with an article."""
    reader: str
    """Name of the engine that reads such tables."""
    signs: tuple[str, ...] = ()
    """Names that the table's folder must all have; those of folders end with "/". The first name is
    that of the records."""
    endings: tuple[str, ...] = ()
    """Endings of a name that the folder of the first sign must contain; empty for any name."""
    files: re.Pattern[str] | None = None
    """Endings of the paths of data files, for formats whose tables only these show; else None."""
    reach: Reach = Reach.ANY
    remedy: str


FORMATS = (
    TableFormat(
        kind=ReferenceKind.DELTA_LOG,
        table="a Delta table",
        reader="Delta",
        signs=("_delta_log/",),
        remedy="Name the table's folder instead",
    ),
    TableFormat(
        kind=ReferenceKind.ICEBERG_METADATA,
        table="an Iceberg table",
        reader="Iceberg",
        signs=("metadata/",),
        endings=(".metadata.json", ".metadata.json.gz"),  # v1.metadata.json.gz of Iceberg 0.x
        reach=Reach.ICEBERG,
        remedy="Name the table as iceberg://CATALOG/NAMESPACE.TABLE instead",
    ),
    TableFormat(
        kind=ReferenceKind.HUDI_TIMELINE,
        table="a Hudi table",
        reader="Hudi",
        signs=(".hoodie/",),
        remedy="Use the table format's own writer",
    ),
    TableFormat(
        kind=ReferenceKind.PAIMON_MANIFEST,
        table="a Paimon table",
        reader="Paimon",
        signs=("manifest/", "schema/schema-0"),
        remedy="Let Paimon index the columns (its option file-index.bloom-filter.columns)",
    ),
    TableFormat(
        kind=ReferenceKind.SPARK_SINK_LOG,
        table="the folder of a Spark stream",
        reader="Spark",
        signs=("_spark_metadata/",),
        reach=Reach.PARTITIONS,
        remedy="Let the stream write filters (option parquet.bloom.filter.enabled#COLUMN)",
    ),
    TableFormat(
        kind=ReferenceKind.DUCKLAKE_CATALOG,
        table="a DuckLake table",
        reader="DuckLake",
        files=re.compile(r"/ducklake-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}[^/]*\.parquet$"),
        remedy="Leave filters to DuckDB, which writes some for columns with dictionaries",
    ),
    TableFormat(
        kind=ReferenceKind.DATABEND_SNAPSHOTS,
        table="a Databend table",
        reader="Databend",
        files=re.compile(r"/_b/\w+_v\d+\.parquet$"),
        remedy="Let Databend index the columns (its option bloom_index_columns)",
    ),
)
"""All table formats that are recognised."""

_RECORDED = tuple((one, one.reach.value) for one in FORMATS if one.signs)
"""Formats whose records can be found, with the value of `reach`: `enum.Flag` is slow."""

_REMEDIES: dict[ReferenceKind, str | Proposal] = {
    ReferenceKind.HADOOP_CRC: Proposal(
        Way.REGENERATE_CRC, "Have the checksum file regenerated (regenerate_crc=True)"
    ),
    ReferenceKind.SUMMARY_METADATA: "Remove it first and have its writer make it anew",
    ReferenceKind.CHECKSUM_NAME: "Replace the link to it by a copy first",
    ReferenceKind.UNLISTED_METADATA: "Get the right to list it",
    **{one.kind: one.remedy for one in FORMATS},
}


_MOST_LINKS = 40
"""Most links that Linux follows on the way to a file."""

_NAMED_BY_CHECKSUM = re.compile(
    r"/\.dvc/cache/|/\.git/(annex|lfs)/objects/|/blobs/(sha256/)?[0-9a-f]{40,64}$"
)
"""Paths of files whose names are checksums, to which links of working copies lead."""

_MOST_READ_BYTES = 1 << 25
"""Most bytes of a `_metadata` above folders that are no partitions; a longer one counts unread."""

_NOTHING_THERE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG}
"""Errors for a path that leads nowhere."""


def format_of(kind: ReferenceKind) -> TableFormat | None:
    """Return the table format with records of this kind, or None."""
    return next((one for one in FORMATS if one.kind is kind), None)


def find_by_name(path: str) -> Iterator[Reference]:
    """Yield the table that a file belongs to, if the file's name alone shows it.

    Args:
        path: An absolute path with "/", or a URL.
    """
    for one in FORMATS:
        if one.files is not None and one.files.search(path):
            yield Reference(kind=one.kind, path=path)


def find_references(path: StrPath) -> tuple[Reference, ...]:
    """Find the external references to a file, the nearest first.

    Nothing is opened but folders, and a `_metadata` above folders that are no partitions.
    """
    places = _ways_to(path)
    return tuple(dict.fromkeys(found for place in places for found in _references(Path(place))))


def find_table_records(folders: Iterable[StrPath]) -> tuple[Reference, ...]:
    """Find the records of table formats in some folders and in the folders above them.

    Records count only where the layout of their format puts them.
    Links are followed as by `find_references`.
    """
    places: dict[str, Reach] = {}
    for folder in folders:
        for start in _ways_to(folder):
            for place, reaches in _upwards(start):
                places[place] = places[place] | reaches if place in places else reaches
    return tuple(found for place, reaches in places.items() for found in _tables(place, reaches))


def reaches_upwards(names: Iterable[str]) -> Iterator[Reach]:
    """Yield, from a folder upwards, the reaches of records that would count for its files.

    Args:
        names: Of the folder and of the folders above it, from the folder upwards.

    Yields:
        For records in the folder itself, in the folder above it, and so on.
    """
    reaches, below = _ALL, None
    for depth, name in enumerate(names):
        if below is not None:
            is_partition = "=" in below
            is_iceberg = (
                depth == 1 or below == "data" or (is_partition and Reach.ICEBERG in reaches)
            )
            if not is_partition:
                reaches &= ~Reach.PARTITIONS
            reaches = reaches | Reach.ICEBERG if is_iceberg else reaches & ~Reach.ICEBERG
        yield reaches
        below = name


def check_surroundings(
    path: StrPath,
    *,
    force: bool = False,
    regenerates_crc: bool = False,
) -> None:
    """Check that nothing refers to a file that is about to be rewritten in place.

    Args:
        path: The file.
        force: Allow it all the same.
        regenerates_crc: The caller will renew the checksum file, so it is no obstacle.

    Raises:
        UnsafeTarget: Something refers to the file; the nearest one is named.
    """
    if not force:
        refuse_references(find_references(path), path=path, regenerates_crc=regenerates_crc)


def refuse_references(
    references: Iterable[Reference], *, path: StrPath, regenerates_crc: bool = False
) -> None:
    """Refuse a rewrite in place if any reference to the file would be wrong after it.

    Args:
        references: What was found, the nearest first.
        path: The file.
        regenerates_crc: The caller will renew the checksum file, so it is no obstacle.

    Raises:
        UnsafeTarget: Something refers to the file; the nearest one is named.
    """
    harmless = {ReferenceKind.COMMON_METADATA}
    if regenerates_crc:
        harmless.add(ReferenceKind.HADOOP_CRC)
    for found in references:
        if found.kind not in harmless:
            problem = f"after a rewrite, {found} would be wrong about the file"
            elsewhere = Proposal(Way.OTHER_PATH, "write to another path")
            insist = Proposal(Way.FORCE, "force it (force=True)")
            remedy = (_REMEDIES[found.kind], ", ", elsewhere, ", or ", insist, ".")
            raise UnsafeTarget(problem, path=path, remedy=remedy)


def crc_path(path: StrPath) -> Path:
    """Return the path of a file's Hadoop checksums: `.NAME.crc` beside it."""
    return Path(path).with_name(f".{Path(path).name}.crc")


def _ways_to(path: StrPath) -> Iterable[str]:
    """Return the absolute paths of a file or folder while its links are followed one by one."""
    way, real = os.path.abspath(path), os.path.realpath(path)
    ways = {way: None}
    for _ in range(_MOST_LINKS):
        if way == real:
            break
        links = itertools.accumulate(Path(way).parts, os.path.join)
        link = next(filter(os.path.islink, links), None)
        if link is None:
            break
        target = os.path.join(os.path.dirname(link), os.readlink(link))
        way = os.path.normpath(f"{target}/{way[len(link) :]}")
        ways[way] = None
    ways[real] = None
    return ways


def _references(place: Path) -> Iterator[Reference]:
    if crc_path(place).exists():
        yield Reference.at(crc_path(place), ReferenceKind.HADOOP_CRC)
    if _NAMED_BY_CHECKSUM.search(place.as_posix()):
        yield Reference.at(place, ReferenceKind.CHECKSUM_NAME)
    yield from find_by_name(place.as_posix())
    for folder, reaches in _upwards(os.fspath(place.parent)):
        if Reach.PARTITIONS in reaches:
            yield from _summaries(Path(folder))
        elif _is_named(place, Path(folder, "_metadata")):
            yield Reference.at(Path(folder, "_metadata"), ReferenceKind.SUMMARY_METADATA)
        yield from _tables(folder, reaches | Reach.ICEBERG)


@lru_cache(maxsize=128)
def _upwards(start: str) -> tuple[tuple[str, Reach], ...]:
    """Return a folder and those above it, each with the reaches of records that count there."""
    folders = [start]
    while (above := os.path.dirname(folders[-1])) != folders[-1]:
        folders.append(above)
    return tuple(zip(folders, reaches_upwards(map(os.path.basename, folders)), strict=True))


def _summaries(folder: Path) -> Iterator[Reference]:
    if (folder / "_metadata").is_file():
        yield Reference.at(folder / "_metadata", ReferenceKind.SUMMARY_METADATA)
    if (folder / "_common_metadata").is_file():
        yield Reference.at(folder / "_common_metadata", ReferenceKind.COMMON_METADATA)


def _is_named(place: Path, summary: Path) -> bool:
    """Return whether a `_metadata` above unpartitioned folders names a file; True if in doubt."""
    try:
        if not summary.is_file():
            return False
        is_short = summary.stat().st_size <= _MOST_READ_BYTES
        name = os.fsencode(place.relative_to(summary.parent).as_posix())
        return not is_short or name in summary.read_bytes()
    except OSError:
        return True


def _tables(folder: str, reaches: Reach) -> Iterator[Reference]:
    # A lookup in an index asks this of every folder above the table: `Path` takes twice the time.
    bits = reaches.value
    for one, bit in _RECORDED:
        if bit & bits:
            found = _found(folder, one)
            if found is not None:
                yield found


def _found(folder: str, one: TableFormat) -> Reference | None:
    """Return the records of a format in a folder, or the folder that cannot be read, or None.

    Raises:
        OSError: If the disk fails.
    """
    base = folder.rstrip("/")
    path = f"{base}/{one.signs[0]}"
    try:
        if one.endings:
            with os.scandir(path[:-1]) as entries:
                if not any(entry.name.endswith(one.endings) for entry in entries):
                    return None
        for sign in () if one.endings else one.signs:
            path = f"{base}/{sign}"
            if stat.S_ISDIR(os.stat(path).st_mode) != sign.endswith("/"):
                return None
    except PermissionError:
        return Reference(kind=ReferenceKind.UNLISTED_METADATA, path=os.path.dirname(path))
    except OSError as error:
        if error.errno in _NOTHING_THERE:
            return None
        raise
    return Reference(kind=one.kind, path=f"{base}/{one.signs[0].rstrip('/')}")
