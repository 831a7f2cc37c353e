"""The manifest of a version: the files that it knows, one row each.

    fileId int64    fileName string    size int64    modificationTime int64 (ms)    numRows int64

All are required. The order of rows has no meaning; ids and names occur once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from parquet_bloomwriter.errors import FileProblem, IndexProblem
from parquet_bloomwriter.index.files import FileId, are_unchanged
from parquet_bloomwriter.index.format.parquet_io import ParquetOut, integers_of
from parquet_bloomwriter.source.local import open_local

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from parquet_bloomwriter.index.engine import FileTask

_ID, _NAME, _SIZE, _MODIFIED, _ROWS = "fileId", "fileName", "size", "modificationTime", "numRows"
_NUMBERS = (_ID, _SIZE, _MODIFIED, _ROWS)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FileTable:
    """The m files that a version knows; arrays have shape (m,)."""

    ids: NDArray[np.int64]
    paths: pa.StringArray
    """Relative to the table's root, with "/"; absolute if they lie elsewhere."""

    sizes: NDArray[np.int64]
    """Bytes."""

    modified_ms: NDArray[np.int64]
    """Milliseconds since 1970 UTC."""

    num_rows: NDArray[np.int64]
    """By their footers."""

    @classmethod
    def of(cls, tasks: Sequence[FileTask]) -> Self:
        """Make the table of files that were indexed."""
        import pyarrow as pa

        return cls(
            ids=np.array([task.file_id for task in tasks], np.int64),
            paths=pa.array([task.file.path for task in tasks], pa.string()),
            sizes=np.array([task.file.size for task in tasks], np.int64),
            modified_ms=np.array([task.file.modified_ms for task in tasks], np.int64),
            num_rows=np.array([task.num_rows for task in tasks], np.int64),
        )

    @classmethod
    def of_identities(cls, ids: NDArray[np.int64], files: Sequence[FileId]) -> Self:
        """Make the table of files of which the number of rows does not matter."""
        import pyarrow as pa

        return cls(
            ids=ids,
            paths=pa.array([file.path for file in files], pa.string()),
            sizes=np.array([file.size for file in files], np.int64),
            modified_ms=np.array([file.modified_ms for file in files], np.int64),
            num_rows=np.full(len(files), -1),
        )

    @property
    def num_bytes_held(self) -> int:
        """Memory, bytes."""
        columns = (self.ids, self.paths, self.sizes, self.modified_ms, self.num_rows)
        return sum(int(column.nbytes) for column in columns)

    def select(self, which: NDArray[np.bool_]) -> Self:
        """Return some of the files; `which` has shape (m,)."""
        import pyarrow as pa

        return type(self)(
            ids=self.ids[which],
            paths=self.paths.filter(pa.array(which)),
            sizes=self.sizes[which],
            modified_ms=self.modified_ms[which],
            num_rows=self.num_rows[which],
        )

    def take(self, places: NDArray[np.int64]) -> Self:
        """Return some of the files, in the order of `places`, 0-based positions."""
        import pyarrow as pa

        return type(self)(
            ids=self.ids[places],
            paths=self.paths.take(pa.array(places)),
            sizes=self.sizes[places],
            modified_ms=self.modified_ms[places],
            num_rows=self.num_rows[places],
        )

    def by_id(self) -> Self:
        """Return the files in the order of their ids, ascending."""
        if (np.diff(self.ids) > 0).all():
            return self
        return self.take(np.argsort(self.ids))

    def joined(self, more: FileTable) -> Self:
        """Return the files of both tables, those of `more` last."""
        import pyarrow as pa

        return type(self)(
            ids=np.concatenate([self.ids, more.ids]),
            paths=pa.concat_arrays([self.paths, more.paths]),
            sizes=np.concatenate([self.sizes, more.sizes]),
            modified_ms=np.concatenate([self.modified_ms, more.modified_ms]),
            num_rows=np.concatenate([self.num_rows, more.num_rows]),
        )

    def identities(self) -> list[FileId]:
        """Return the files one by one."""
        facts = (self.paths.to_pylist(), self.sizes.tolist(), self.modified_ms.tolist())
        return list(map(FileId, *facts))

    def are_unchanged(self, root: str, places: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Look at files, and say of each whether it is as the version knows it.

        Args:
            root: Of the table, absolute.
            places: 0-based positions of the files in this table, shape (n,).

        Returns:
            Shape (n,).
        """
        base = root.rstrip("/") + "/"
        names = self.paths.take(places).to_pylist()
        paths = (name if name.startswith("/") else base + name for name in names)
        sizes, times = self.sizes[places].tolist(), self.modified_ms[places].tolist()
        return np.array(are_unchanged(paths, sizes, times), np.bool_)


def write_manifest(path: str, files: FileTable) -> int:
    """Write a manifest to the disk.

    Args:
        path: Absolute; there must be no file of that name.
        files: What to write.

    Returns:
        Its size in bytes.

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
    options = {"compression": "zstd", "use_dictionary": False}
    with ParquetOut(path, schema, **options) as out:
        out.write(pa.table(columns, schema=schema))
        return out.finish()


def read_manifest(path: str) -> FileTable:
    """Read a manifest.

    Raises:
        IndexProblem: If the file is no manifest, or not whole.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with open_local(path) as source:
            file = pq.ParquetFile(source.for_arrow(), pre_buffer=False)
            table = file.read(use_threads=False)
        numbers = [integers_of(table[name], np.int64) for name in _NUMBERS]
        names = _names(table)
    except FileProblem as error:
        raise IndexProblem(error.problem, path=path) from error
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        problem = "the manifest of an index cannot be read: " + " ".join(str(error).split())
        raise IndexProblem(problem, path=path, remedy="Refresh the index in full.") from error
    ids, sizes, modified_ms, num_rows = numbers
    return FileTable(ids=ids, paths=names, sizes=sizes, modified_ms=modified_ms, num_rows=num_rows)


def _names(table: pa.Table) -> pa.StringArray:
    import pyarrow as pa

    column = table[_NAME]
    if column.null_count or column.type != pa.string():
        raise ValueError(f"the column {_NAME} holds something else than names")
    return pa.concat_arrays([pa.nulls(0, pa.string()), *column.chunks])
