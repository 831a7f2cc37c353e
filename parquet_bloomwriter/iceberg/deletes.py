"""The data files that the position deletes and the deletion vectors of a snapshot name.

    format version 2   a delete file has rows (file_path, pos), of one data file or of many
    format version 3   a deletion vector in a Puffin file has the positions of one data file

Both name a data file by its location. If a new file under another name replaced this file, the
deletes would no longer apply, and deleted rows would come back. So such files are not replaced.
Equality deletes have values, and apply to files by sequence number and partition: they do not
matter here.

By the specification a position delete applies only to files of its partition, and of no higher data
sequence number. Readers differ in how far they check that, so here every data file counts that any
live delete file names. Bounds of the column file_path may be shortened, so they are not used. If a
delete file cannot be read, all data files that it can apply to count as named.

Source: Iceberg specification, "Delete Formats", "Scan Planning"; Puffin specification,
"deletion-vector-v1 blob type".
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from parquet_bloomwriter.iceberg.catalog import metadata_errors
from parquet_bloomwriter.source.filesystems import store_kind

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from pyiceberg.io import FileIO
    from pyiceberg.manifest import DataFile, ManifestEntry, ManifestFile

FILES_AT_ONCE = 16
"""Number of threads that read delete files: they mostly wait for stores."""

_PATH_ID = 2147483546
"""Field id of the column file_path in delete files ("Reserved Field IDs")."""

_PATH = "file_path"
_REFERENCED = "referenced-data-file"
_ROWS_AT_ONCE = 1 << 16

_NAMED = "position deletes name it"
_UNREADABLE = "position deletes that cannot be read may name it"

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")


class _Scope(NamedTuple):
    """The data files to which a delete file can apply."""

    spec_id: int
    partition: tuple[Hashable, ...]
    sequence_number: int
    """Sequence number of the delete file, which can apply to data files of this number and lower
    numbers."""


class _Named(NamedTuple):
    """The data files that the delete files of a snapshot name."""

    paths: frozenset[str]
    """Canonical locations of the named data files."""

    unreadable: tuple[_Scope, ...]


class PositionDeletes:
    """The position deletes and deletion vectors of a snapshot, read when first asked.

    Safe in threads.
    """

    def __init__(
        self,
        name: str,
        io: FileIO,
        manifests: Sequence[ManifestFile],
        *,
        known: PositionDeletes | None = None,
    ) -> None:
        """Prepare to read the delete files of some manifests.

        Args:
            name: Name of the table, for messages.
            io: Opens the table's files.
            manifests: Manifests of delete files.
            known: Deletes of an earlier snapshot: files that were read then are not read again.
        """
        self._paths_by_file: dict[str, frozenset[str]] = (
            {} if known is None else known._paths_by_file  # noqa: SLF001
        )
        self._name = name
        self._io = io
        self._manifests = manifests
        self._lock = Lock()

    def are_known_of(self, manifests: Sequence[ManifestFile]) -> bool:
        """Return whether the deletes of these manifests are already read."""
        paths = [one.manifest_path for one in manifests]
        is_read = not paths or "_named" in self.__dict__
        return is_read and paths == [one.manifest_path for one in self._manifests]

    def why_named(self, data_file: DataFile, sequence_number: int) -> str | None:
        """Return why a data file may not be replaced, as a clause; None if it may.

        Args:
            data_file: The file.
            sequence_number: Data sequence number of the data file.

        Raises:
            TableProblem: If a manifest cannot be read.
        """
        if not self._manifests:
            return None
        with self._lock:
            named = self._named
        if canonical_location(data_file.file_path) in named.paths:
            return _NAMED
        if not named.unreadable:
            return None
        partition = partition_key(data_file)
        if any(
            one.spec_id == data_file.spec_id
            and one.partition == partition
            and one.sequence_number >= sequence_number
            for one in named.unreadable
        ):
            return _UNREADABLE
        return None

    @cached_property
    def _named(self) -> _Named:
        with metadata_errors(self._name):
            entries = list(self._position_deletes())
        paths: set[str] = set()
        unreadable: list[_Scope] = []
        with ThreadPoolExecutor(FILES_AT_ONCE, thread_name_prefix="deletes") as pool:
            found = pool.map(self._paths_named_by, (entry.data_file for entry in entries))
            for entry, named in zip(entries, found, strict=True):
                if named is not None:
                    paths.update(map(canonical_location, named))
                    continue
                file = entry.data_file
                # Without a sequence number, the delete file would apply to all data files.
                number = 1 << 63 if entry.sequence_number is None else entry.sequence_number
                unreadable.append(_Scope(file.spec_id, partition_key(file), number))
        return _Named(frozenset(paths), tuple(unreadable))

    def _position_deletes(self) -> Iterator[ManifestEntry]:
        from pyiceberg.manifest import DataFileContent

        for manifest in self._manifests:
            for entry in manifest.fetch_manifest_entry(self._io, discard_deleted=True):
                if entry.data_file.content == DataFileContent.POSITION_DELETES:
                    yield entry

    def _paths_named_by(self, delete_file: DataFile) -> frozenset[str] | None:
        """Return the locations of data files in a delete file; None if it cannot be read."""
        location = delete_file.file_path
        known: frozenset[str] | None = self._paths_by_file.get(location)
        if known is not None:
            return known
        try:
            paths = frozenset(_READERS[delete_file.file_format.value](self._io, location))
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001  whatever a damaged file makes its reader raise
            return None
        self._paths_by_file[location] = paths
        return paths


def canonical_location(location: str) -> str:
    """Return the canonical spelling of a location, equal for spellings that readers take as equal.

    file:/a, file:///a and /a are the same path; s3a://b/k and s3n://b/k are s3://b/k, and so are
    all schemes of one kind of store.
    """
    found = _SCHEME.match(location)
    if found is None:
        return "/" + location.lstrip("/")
    scheme, rest = store_kind(f"{found[1]}://"), location[found.end() :].lstrip("/")
    if scheme == "file":
        return "/" + rest.removeprefix("localhost/").lstrip("/")
    return f"{scheme}://{rest}"


def partition_key(file: DataFile) -> tuple[Hashable, ...]:
    """Return the values of a file's partition, comparable with those of files of the same spec."""
    return tuple(file.partition[position] for position in range(len(file.partition)))


def _in_parquet(io: FileIO, location: str) -> set[str]:
    import pyarrow.parquet as pq

    paths: set[str] = set()
    with io.new_input(location).open() as stream:
        file = pq.ParquetFile(stream)
        if file.metadata.num_rows == 0:
            return paths
        name = next(
            one.name for one in file.schema_arrow if one.name == _PATH or _id_of(one) == _PATH_ID
        )
        for batch in file.iter_batches(_ROWS_AT_ONCE, columns=[name]):
            paths.update(_texts(batch.column(0)))
    return paths


def _in_orc(io: FileIO, location: str) -> set[str]:
    from pyarrow import orc

    with io.new_input(location).open() as stream:
        return _texts(orc.ORCFile(stream).read(columns=[_PATH]).column(0))


def _in_avro(io: FileIO, location: str) -> set[str]:
    from pyiceberg.avro.file import AvroFile
    from pyiceberg.schema import Schema
    from pyiceberg.types import NestedField, StringType

    schema = Schema(NestedField(_PATH_ID, _PATH, StringType(), required=True))
    with AvroFile[Any](io.new_input(location), schema) as rows:
        return {str(row[0]) for row in rows}


def _in_puffin(io: FileIO, location: str) -> set[str]:
    from pyiceberg.table.puffin import PuffinFile

    with io.new_input(location).open() as stream:
        return {blob.properties[_REFERENCED] for blob in PuffinFile(stream.read()).footer.blobs}


_READERS = {"PARQUET": _in_parquet, "ORC": _in_orc, "AVRO": _in_avro, "PUFFIN": _in_puffin}


def _id_of(column: Any) -> int | None:  # noqa: ANN401  pyarrow's field
    found = (column.metadata or {}).get(b"PARQUET:field_id")
    return None if found is None else int(found)


def _texts(column: Any) -> set[str]:  # noqa: ANN401  pyarrow's array
    found = column.unique().to_pylist()
    if None in found:
        raise ValueError("a position delete names no file")
    return set(found)
