"""The manifest of a version: the files that it knows, one row each.

    fileId int64    fileName string    size int64    modificationTime int64 (ms)    numRows int64

All are required. The order of rows has no meaning; ids and names occur once. Of a table on a store,
there is one column more, `etag string`. The log's entry has a CRC-32 (see `parquet_io`).
"""

# ruff: noqa: PTH120  paths are strings, as in the entries
from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from parquet_bloomwriter.errors import FileProblem
from parquet_bloomwriter.index.entry import IndexFile, damaged
from parquet_bloomwriter.index.files import FileId, ObjectId
from parquet_bloomwriter.index.format.parquet_io import (
    FirstRead,
    ParquetOut,
    integers_of,
)
from parquet_bloomwriter.index.layout import relative_to_index
from parquet_bloomwriter.index.storage.base import open_file
from parquet_bloomwriter.text import words_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from parquet_bloomwriter.index.engine import FileTask

_ID, _NAME, _SIZE, _MODIFIED, _ROWS = "fileId", "fileName", "size", "modificationTime", "numRows"
_ETAG = "etag"
_NUMBERS = (_ID, _SIZE, _MODIFIED, _ROWS)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FileTable:
    """The m data files that a version knows; arrays have shape (m,)."""

    ids: NDArray[np.int64]
    paths: pa.StringArray
    """Paths relative to the table's root, with "/"; absolute if files are outside of the root."""

    sizes: NDArray[np.int64]
    """Sizes of the files, bytes."""

    modified_ms: NDArray[np.int64]
    """Times of modification, milliseconds since 1970 UTC."""

    num_rows: NDArray[np.int64]
    """Numbers of rows, from the footers."""

    etags: pa.StringArray | None = None
    """ETags of objects on a store; None: the files are on a disk."""

    @classmethod
    def of(cls, tasks: Sequence[FileTask]) -> Self:
        """Return the table of the files that got filters."""
        import pyarrow as pa

        return cls(
            ids=np.array([task.file_id for task in tasks], np.int64),
            paths=pa.array([task.file.path for task in tasks], pa.string()),
            sizes=np.array([task.file.size for task in tasks], np.int64),
            modified_ms=np.array([task.file.modified_ms for task in tasks], np.int64),
            num_rows=np.array([task.num_rows for task in tasks], np.int64),
            etags=_etags_of([task.file for task in tasks]),
        )

    @classmethod
    def of_identities(cls, ids: NDArray[np.int64], files: Sequence[FileId]) -> Self:
        """Return a table of files without their numbers of rows."""
        import pyarrow as pa

        return cls(
            ids=ids,
            paths=pa.array([file.path for file in files], pa.string()),
            sizes=np.array([file.size for file in files], np.int64),
            modified_ms=np.array([file.modified_ms for file in files], np.int64),
            num_rows=np.full(len(files), -1),
            etags=_etags_of(files),
        )

    @property
    def num_bytes_held(self) -> int:
        """Size in memory, bytes."""
        columns = (self.ids, self.paths, self.sizes, self.modified_ms, self.num_rows)
        held = sum(int(column.nbytes) for column in columns)
        return held + (0 if self.etags is None else int(self.etags.nbytes))

    def select(self, which: NDArray[np.bool_]) -> Self:
        """Return the files for which `which`, shape (m,), is true."""
        import pyarrow as pa

        return type(self)(
            ids=self.ids[which],
            paths=self.paths.filter(pa.array(which)),
            sizes=self.sizes[which],
            modified_ms=self.modified_ms[which],
            num_rows=self.num_rows[which],
            etags=None if self.etags is None else self.etags.filter(pa.array(which)),
        )

    def take(self, places: NDArray[np.int64]) -> Self:
        """Return the files at `places`, 0-based positions, in this order."""
        import pyarrow as pa

        return type(self)(
            ids=self.ids[places],
            paths=self.paths.take(pa.array(places)),
            sizes=self.sizes[places],
            modified_ms=self.modified_ms[places],
            num_rows=self.num_rows[places],
            etags=None if self.etags is None else self.etags.take(pa.array(places)),
        )

    def by_id(self) -> Self:
        """Return the files in the order of their ids, ascending."""
        if (np.diff(self.ids) > 0).all():
            return self
        return self.take(np.argsort(self.ids))

    def joined(self, more: FileTable) -> Self:
        """Return the files of both tables, first this table's, then those of `more`."""
        import pyarrow as pa

        return type(self)(
            ids=np.concatenate([self.ids, more.ids]),
            paths=pa.concat_arrays([self.paths, more.paths]),
            sizes=np.concatenate([self.sizes, more.sizes]),
            modified_ms=np.concatenate([self.modified_ms, more.modified_ms]),
            num_rows=np.concatenate([self.num_rows, more.num_rows]),
            etags=_joined_etags(self, more),
        )

    def identities(self) -> list[FileId]:
        """Return the identity of each file, as a list."""
        facts = (self.paths.to_pylist(), self.sizes.tolist(), self.modified_ms.tolist())
        if self.etags is not None:
            return list(map(ObjectId, *facts, self.etags.to_pylist()))
        return list(map(FileId, *facts))


def write_manifest(path: str, files: FileTable) -> IndexFile:
    """Write a manifest to the disk.

    Args:
        path: Absolute, in a version's folder; there must be no file of that name.
        files: The files to write into the manifest.

    Raises:
        OSError: If the manifest cannot be written; nothing is left of it.
    """
    import pyarrow as pa

    schema = pa.schema(
        [
            pa.field(_ID, pa.int64(), nullable=False),
            pa.field(_NAME, pa.string(), nullable=False),
            *(pa.field(name, pa.int64(), nullable=False) for name in _NUMBERS[1:]),
        ]
    )
    columns = [files.ids, files.paths, files.sizes, files.modified_ms, files.num_rows]
    if files.etags is not None:
        schema = schema.append(pa.field(_ETAG, pa.string(), nullable=False))
        columns.append(files.etags)
    options = {"compression": "zstd", "use_dictionary": False}
    with ParquetOut(path, schema, **options) as out:
        out.write(pa.table(columns, schema=schema))
        first = FirstRead(out.complete(), None)
        size = out.finish()
    name = relative_to_index(os.path.dirname(path), path)
    return IndexFile(path=name, size=size, first_crc=first.crc)


def read_manifest(path: str, size: int = -1, first_crc: int | None = None) -> FileTable:
    """Read a manifest.

    Args:
        path: Absolute.
        size: Size of the manifest in the log's entry, bytes; needed on a store.
        first_crc: As the entry has it; None: the manifest is of an older version.

    Raises:
        IndexProblem: If the file is no manifest, or not whole.
    """
    import pyarrow as pa

    try:
        with open_file(path, size, keep=True) as source:
            table = FirstRead(source, None, first_crc).table()
        numbers = [integers_of(table[name], np.int64) for name in _NUMBERS]
        names = _names(table, _NAME)
        etags = _names(table, _ETAG) if _ETAG in table.schema.names else None
    except FileProblem as error:
        raise damaged(path, error.problem) from error
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        problem = "the manifest of an index cannot be read: " + words_of(error)
        raise damaged(path, problem) from error
    ids, sizes, modified_ms, num_rows = numbers
    return FileTable(
        ids=ids,
        paths=names,
        sizes=sizes,
        modified_ms=modified_ms,
        num_rows=num_rows,
        etags=etags,
    )


def _etags_of(files: Sequence[FileId]) -> pa.StringArray | None:
    """Return the ETags of files; None if the files are on a disk."""
    import pyarrow as pa

    if not any(file.etag for file in files):
        return None
    return pa.array([file.etag for file in files], pa.string())


def _joined_etags(one: FileTable, other: FileTable) -> pa.StringArray | None:
    import pyarrow as pa

    if one.etags is None and other.etags is None:
        return None
    both = [
        pa.array([""] * len(table.ids), pa.string()) if table.etags is None else table.etags
        for table in (one, other)
    ]
    return pa.concat_arrays(both)


def _names(table: pa.Table, name: str) -> pa.StringArray:
    import pyarrow as pa

    column = table[name]
    if column.null_count or column.type != pa.string():
        raise ValueError(f"the column {name} holds something else than names")
    column.validate(full=True)  # that names are UTF-8
    return pa.concat_arrays([pa.nulls(0, pa.string()), *column.chunks])
