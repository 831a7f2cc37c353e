"""What refers to a file from outside, and would be wrong after a rewrite in place.

    reference                   holds                            after a rewrite
    .NAME.crc beside the file   CRC32 of every 512 bytes         Spark: ChecksumException
    _metadata                   offsets of every column chunk    readers seek to wrong bytes
    _delta_log/ above           size of every file               Delta readers may fail
    metadata/*.metadata.json    Iceberg: size of every file      Iceberg readers may fail
    .hoodie/ above              Hudi: size of every file         Hudi readers may fail
    _common_metadata            the schema only                  nothing: reported, not refused

`_metadata` is looked for beside the file and, as long as folders are partitions
(`key=value`), one folder further up. Tables are looked for in all folders up to the root:
a few file system calls each. Where the file is reached by a symbolic link, both the
link's and the file's own folders count. A `metadata/` that cannot be listed counts as
Iceberg's: unknown is not "no".

`metadata/` is a common name. Before reading, `find_table_records` looks for Iceberg's only where
its layout puts it: in the folder and in the one above, above partitions, and beside a
`data` folder, below which files may lie at any depth (Iceberg's `ObjectStoreLocationProvider`).
"""

# ruff: noqa: PTH100, PTH112, PTH118, PTH119, PTH120  see `_tables`
from __future__ import annotations

import enum
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import Proposal, UnsafeTarget, Way

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from parquet_bloomwriter.source.local import StrPath


class ReferenceKind(enum.StrEnum):
    """What kind of thing refers to the file."""

    HADOOP_CRC = "Hadoop checksum file"
    SUMMARY_METADATA = "_metadata file with the offsets of this file"
    COMMON_METADATA = "_common_metadata file with the schema"
    DELTA_LOG = "Delta table log"
    ICEBERG_METADATA = "Iceberg table metadata"
    UNLISTED_METADATA = "cannot be listed, and may be Iceberg's"
    HUDI_TIMELINE = "Hudi table timeline"


@dataclass(frozen=True, kw_only=True, slots=True)
class Reference:
    """One thing that refers to the file."""

    kind: ReferenceKind
    """What it is."""
    path: str
    """Where it is, absolute."""

    @classmethod
    def at(cls, path: Path, kind: ReferenceKind) -> Reference:
        """Name what was found at `path`."""
        return cls(kind=kind, path=str(path))


_REMEDIES: dict[ReferenceKind, str | Proposal] = {
    ReferenceKind.HADOOP_CRC: Proposal(
        Way.REGENERATE_CRC, "Have the checksum file regenerated (regenerate_crc=True)"
    ),
    ReferenceKind.SUMMARY_METADATA: "Remove it first and have its writer make it anew",
    ReferenceKind.DELTA_LOG: "Name the table's folder instead",
    ReferenceKind.ICEBERG_METADATA: "Name the table as iceberg://CATALOG/NAMESPACE.TABLE instead",
    ReferenceKind.UNLISTED_METADATA: "Get the right to list it",
    ReferenceKind.HUDI_TIMELINE: "Use the table format's own writer",
}


def find_references(path: StrPath) -> tuple[Reference, ...]:
    """Find what refers to a file, the nearest first. Nothing is opened but folders."""
    places = dict.fromkeys((Path(path).absolute(), Path(path).resolve()))
    return tuple(dict.fromkeys(found for place in places for found in _references(place)))


def find_table_records(folders: Iterable[StrPath]) -> tuple[Reference, ...]:
    """Find the records of Delta, Iceberg and Hudi tables in some folders and in those above them.

    Iceberg's are looked for only where its layout puts them.
    Links are followed as by `find_references`.
    """
    places: dict[str, bool] = {}
    for folder in folders:
        for start in dict.fromkeys((os.path.abspath(folder), os.path.realpath(folder))):
            for place, is_within in _upwards(start):
                places[place] = is_within or places.get(place, False)
    return tuple(
        found
        for place, is_within in places.items()
        for found in _tables(place, looks_for_iceberg=is_within)
    )


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
    """Refuse a rewrite in place if anything refers to the file that would be wrong after it.

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
            problem = f"a rewrite would contradict {found.path} ({found.kind})"
            elsewhere = Proposal(Way.OTHER_PATH, "write to another path")
            insist = Proposal(Way.FORCE, "force it (force=True)")
            remedy = (_REMEDIES[found.kind], ", ", elsewhere, ", or ", insist, ".")
            raise UnsafeTarget(problem, path=path, remedy=remedy)


def crc_path(path: StrPath) -> Path:
    """Return where Hadoop keeps the checksums of a file: `.NAME.crc` beside it."""
    return Path(path).with_name(f".{Path(path).name}.crc")


def _references(place: Path) -> Iterator[Reference]:
    if crc_path(place).exists():
        yield Reference.at(crc_path(place), ReferenceKind.HADOOP_CRC)
    within_dataset = True
    for folder, _ in _upwards(os.fspath(place.parent)):
        if within_dataset:
            yield from _summaries(Path(folder))
            within_dataset = "=" in os.path.basename(folder)
        yield from _tables(folder, looks_for_iceberg=True)


def _upwards(start: str) -> Iterator[tuple[str, bool]]:
    """Yield a folder and those above it, each with whether Iceberg's layout puts records there."""
    yield start, True
    folder, is_within, below = start, True, ""
    while (above := os.path.dirname(folder)) != folder:
        is_within = below in ("", "data") or (is_within and "=" in below)
        yield above, is_within
        folder, below = above, os.path.basename(above)


def _summaries(folder: Path) -> Iterator[Reference]:
    if (folder / "_metadata").is_file():
        yield Reference.at(folder / "_metadata", ReferenceKind.SUMMARY_METADATA)
    if (folder / "_common_metadata").is_file():
        yield Reference.at(folder / "_common_metadata", ReferenceKind.COMMON_METADATA)


def _tables(folder: str, *, looks_for_iceberg: bool) -> Iterator[Reference]:
    # A lookup in an index asks this of every folder above the table: `Path` takes twice the time.
    delta, hudi = os.path.join(folder, "_delta_log"), os.path.join(folder, ".hoodie")
    if os.path.isdir(delta):
        yield Reference(kind=ReferenceKind.DELTA_LOG, path=delta)
    if looks_for_iceberg:
        metadata = os.path.join(folder, "metadata")
        kind = _kind_of_metadata(metadata)
        if kind is not None:
            yield Reference(kind=kind, path=metadata)
    if os.path.isdir(hudi):
        yield Reference(kind=ReferenceKind.HUDI_TIMELINE, path=hudi)


def _kind_of_metadata(folder: str) -> ReferenceKind | None:
    try:
        with os.scandir(folder) as entries:
            is_table = any(entry.name.endswith(".metadata.json") for entry in entries)
    except PermissionError:
        return ReferenceKind.UNLISTED_METADATA
    except (FileNotFoundError, NotADirectoryError):
        return None
    return ReferenceKind.ICEBERG_METADATA if is_table else None
