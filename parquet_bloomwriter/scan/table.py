"""The files of a table as pyarrow's dataset: its own discovery, schema and partitions.

A source of `pyarrow.parquet.read_table` means the same here, because `ParquetDataset` finds its
files in both cases, but for folders: there `source.folders` says which files count, as for all
other verbs. In addition there may be glob patterns, URLs that only fsspec knows, and bytes.

`ParquetDataset.filesystem` is never read: where the source is a file object, pyarrow crashes.
"""

from __future__ import annotations

import errno
import inspect
import os
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from glob import has_magic
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.errors import ColumnNotFound, InvalidArgument, redacting
from parquet_bloomwriter.predicate.arrow_columns import has_name
from parquet_bloomwriter.scan.snapshots import open_file
from parquet_bloomwriter.source import Location, find_sources
from parquet_bloomwriter.source.base import as_arrow_file
from parquet_bloomwriter.source.filesystems import is_url, locate
from parquet_bloomwriter.source.listing import find_in_folder
from parquet_bloomwriter.source.open import listed, wrapped
from parquet_bloomwriter.text import safe, suggestion

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias

    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq

    from parquet_bloomwriter.source import Source

    Projection: TypeAlias = Sequence[str] | Mapping[str, pc.Expression]
    """Names of columns, or expressions by the names of their results."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFiles:
    """One or more Parquet files that are read as one table."""

    source: Any
    """The source, as pyarrow takes it; a single file unless it is a path or a list."""

    fragments: tuple[ds.ParquetFileFragment, ...]
    """Fragment of each file, in the order in which pyarrow reads them."""

    schema: pa.Schema
    """Schema of the table, partition columns included."""

    partitions: Mapping[str, pa.Array | None]
    """Columns with values from paths, by name: all values if dictionary-encoded, else None."""

    options: Mapping[str, Any]
    """Arguments of `ParquetDataset` by which files are decoded, by name."""

    probed: Source | None = None
    """The source that is probed, if the table is a single open file."""

    def check_columns(self, columns: Sequence[str]) -> None:
        """Check that there are columns of these names, as far as these are plain.

        Dotted paths, and the columns that each dataset has (`__filename`), are left to pyarrow.

        Raises:
            ColumnNotFound: If there is none.
        """
        names = self.schema.names
        for name in columns:
            if name not in names and "." not in name and not name.startswith("__"):
                raise ColumnNotFound(
                    f'there is no column "{safe(name)}"',
                    name=name,
                    remedy=suggestion(name, names),
                )

    def check_distinct(self) -> None:
        """Check that no two columns have the same name, if all are to be returned.

        Raises:
            InvalidArgument: If two have: pyarrow's scans cannot tell them apart.
        """
        names = Counter(field.name for field in self.schema if has_name(field))
        for name, number in names.items():
            if number > 1:
                raise named_twice(name)

    @property
    def has_keys(self) -> bool:
        """Return whether pyarrow has keys of encrypted columns."""
        return self.options.get("decryption_properties") is not None

    @property
    def is_open(self) -> bool:
        """Return whether the source is a buffer or an open file, not a path."""
        return not isinstance(self.source, str | os.PathLike | list)

    def dataset_of(self, fragments: tuple[ds.ParquetFileFragment, ...]) -> ds.FileSystemDataset:
        """Return a dataset of fragments, or parts of them, with the table's schema."""
        import pyarrow.dataset as ds

        first = self.fragments[0] if self.fragments else None
        return ds.FileSystemDataset(
            list(fragments),
            schema=self.schema,
            format=ds.ParquetFileFormat() if first is None else first.format,
            filesystem=None if first is None else first.filesystem,
        )


def named_twice(name: str) -> InvalidArgument:
    """Return the error for several returned columns of one name."""
    return InvalidArgument(
        f'several columns are named "{name}"',
        column=name,
        remedy="Name the other columns: columns=[...].",
    )


@redacting()
def find_table(
    source: Any,  # noqa: ANN401  whatever pyarrow reads
    *,
    filesystem: object,
    partitioning: object,
    options: Mapping[str, Any],
    holds: bool = False,
) -> TableFiles:
    """Find the files of a table, its schema and its partitions.

    Args:
        source: What `pyarrow.parquet.read_table` takes, a glob pattern, bytes, or an iterator of
            paths.
        filesystem: What paths are relative to: a file system of pyarrow or fsspec, or a URL.
        partitioning: What `read_table` takes.
        options: The other arguments of `pyarrow.parquet.ParquetDataset`.
        holds: Whether to open a single file on disk, and keep it open.

    Raises:
        InvalidArgument: If a pattern matches nothing, a URL cannot be opened here, or there are no
            files, or rows instead of files; or if the name of one in a folder is not UTF-8.
        TypeError: If an option is none of pyarrow's.
        Any error of pyarrow: If it finds no files, or no Parquet files.
    """
    _check_options(options)
    several = listed(source)
    if several is not None and not several:
        raise InvalidArgument(
            "the list of files is empty",
            remedy="If an index named the files, no file can hold the rows that were asked for.",
        )
    source = source if several is None else several
    if _is_file_object(source):
        # pyarrow takes a read of fewer bytes than it asked for as the end of the file.
        own = wrapped(source)
        return _discover(as_arrow_file(own), filesystem, partitioning, options, probed=own)
    found, place = _as_pyarrow_takes_it(source, filesystem)
    if "ignore_prefixes" not in options:
        table = _in_folder(found, place, partitioning, options)
        if table is not None:
            return table
    if holds and (table := _opened_once(found, place, partitioning, options)) is not None:
        return table
    try:
        return _discover(found, place, partitioning, options)
    except FileNotFoundError as error:
        if not _may_be_pattern(source):
            if error.errno is None:  # pyarrow's own have just the path for a message
                raise FileNotFoundError(
                    errno.ENOENT, os.strerror(errno.ENOENT), str(error)
                ) from None
            raise
    found, place = _of_locations(find_sources(source, filesystem=filesystem))
    return _discover(found, place, partitioning, options)


@lru_cache(maxsize=1)
def _known_options() -> frozenset[str]:
    import pyarrow.parquet as pq

    return frozenset(inspect.signature(pq.ParquetDataset).parameters)


def _check_options(options: Mapping[str, Any]) -> None:
    for name in options.keys() - _known_options():
        raise TypeError(
            f"neither this library nor pyarrow has an argument {name!r}; conditions are filters=, "
            "and with scan_polars .filter(...)"
        )


def _opened_once(
    source: object, filesystem: object, partitioning: object, options: Mapping[str, Any]
) -> TableFiles | None:
    """Return a single file on disk, opened once; None for other sources or unreadable files.

    pyarrow's own errors then name the file: of an open file it does not know the name.
    """
    import pyarrow as pa
    import pyarrow.fs as pafs

    is_path = isinstance(source, str | os.PathLike)
    if not is_path or not (filesystem is None or isinstance(filesystem, pafs.LocalFileSystem)):
        return None
    path = os.fsdecode(source)  # type: ignore[arg-type]
    try:
        if not os.path.isfile(path):  # noqa: PTH113  a FIFO must not be opened
            return None
        opened = open_file(path, memory_map=bool(options.get("memory_map")))
        return _discover(opened.file, None, partitioning, options, probed=opened.source)
    except (OSError, pa.ArrowException):
        return None


def _discover(
    source: Any,  # noqa: ANN401  whatever pyarrow reads
    filesystem: object,
    partitioning: object,
    options: Mapping[str, Any],
    *,
    probed: Source | None = None,
) -> TableFiles:
    import pyarrow.parquet as pq

    table = pq.ParquetDataset(source, filesystem, partitioning=partitioning, **options)
    return _table_of(table, tuple(table.fragments), source, options, probed)


def _table_of(
    table: pq.ParquetDataset | ds.FileSystemDataset,
    fragments: tuple[ds.ParquetFileFragment, ...],
    source: object,
    options: Mapping[str, Any],
    probed: Source | None = None,
) -> TableFiles:
    return TableFiles(
        source=source,
        fragments=fragments,
        schema=table.schema,
        partitions=_partitions(table, fragments),
        options=options,
        probed=probed,
    )


def _in_folder(
    source: object, filesystem: object, partitioning: object, options: Mapping[str, Any]
) -> TableFiles | None:
    """Return the files of a folder; None if the source is no folder, or has no files.

    The format is made by `ParquetDataset`, of the first file, which is not opened for it.
    """
    if not isinstance(source, str | os.PathLike):
        return None
    found = find_in_folder(source, filesystem)
    if not found:
        return None
    import pyarrow as pa
    import pyarrow.dataset as ds
    import pyarrow.fs as pafs
    import pyarrow.parquet as pq

    base = os.fsdecode(source).rstrip("/")
    try:
        files = [
            pafs.FileInfo(f"{base}/{inner}", pafs.FileType.File, size=size) for inner, size in found
        ]
    except UnicodeEncodeError as error:
        problem = "pyarrow reads no file whose name is not UTF-8"
        raise InvalidArgument(problem, path=error.object, remedy="Rename it.") from error
    some = {**options, "schema": pa.schema([])}
    one = pq.ParquetDataset([files[0].path], filesystem, partitioning=None, **some).fragments[0]
    if isinstance(partitioning, str) and partitioning == "hive":
        partitioning = ds.HivePartitioning.discover(infer_dictionary=True)  # as in ParquetDataset
    table = ds.dataset(
        files,
        schema=options.get("schema"),
        filesystem=one.filesystem,
        format=one.format,
        partitioning=partitioning,
        partition_base_dir=base or "/",
    )
    return _table_of(table, tuple(table.get_fragments()), source, options)


def _partitions(
    table: pq.ParquetDataset | ds.FileSystemDataset, fragments: tuple[ds.ParquetFileFragment, ...]
) -> dict[str, pa.Array | None]:
    """Return the columns whose values come from paths, not all of the partitioning's schema."""
    import pyarrow.dataset as ds

    names = {
        name
        for fragment in fragments
        for name in ds.get_partition_keys(fragment.partition_expression)
    }
    if not names:
        return {}
    known = zip(table.partitioning.schema.names, table.partitioning.dictionaries, strict=True)
    dictionaries = dict(known)
    return {name: dictionaries.get(name) for name in sorted(names)}


def _is_file_object(source: object) -> bool:
    import pyarrow as pa

    others = (str, os.PathLike, list, bytes, bytearray, memoryview, Location)
    return not isinstance(source, (*others, pa.Buffer, pa.NativeFile)) and not hasattr(
        source, "for_arrow"
    )


def _as_pyarrow_takes_it(source: Any, filesystem: Any) -> tuple[Any, Any]:  # noqa: ANN401
    """Return source and file system: bytes wrapped, URLs resolved that pyarrow may not know."""
    import pyarrow as pa

    if isinstance(source, bytes | bytearray | memoryview):
        return pa.py_buffer(source), filesystem
    if isinstance(source, Location):
        return _of_locations([source])
    if hasattr(source, "for_arrow"):
        return source.for_arrow(), filesystem
    if filesystem is None and _is_url(source):
        place = locate(str(source))
        return place.path, place.filesystem
    if filesystem is None and isinstance(source, list) and any(map(_is_url, source)):
        return _of_locations([_location(one) for one in source])
    return source, filesystem


def _is_url(source: object) -> bool:
    return isinstance(source, str) and is_url(source)


def _location(path: str) -> Location:
    place = locate(path)
    return Location(path=place.path, filesystem=place.filesystem, name=place.name)


def _may_be_pattern(source: object) -> bool:
    paths = source if isinstance(source, list) else [source]
    return any(
        isinstance(path, str | os.PathLike) and has_magic(os.fsdecode(path)) for path in paths
    )


def _of_locations(locations: list[Location]) -> tuple[list[str], Any]:
    """Return the paths of locations, and their file system.

    Raises:
        InvalidArgument: If they lie on several.
    """
    filesystem = locations[0].filesystem
    if any(location.filesystem != filesystem for location in locations):
        raise InvalidArgument(
            "the files of one table lie on several file systems",
            remedy="Read those of each file system by themselves.",
        )
    return [location.path for location in locations], filesystem
