"""The files of a version, put together from those that were indexed and those that were known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_bloomwriter.index.engine import FileTask
    from parquet_bloomwriter.index.format.manifest import FileTable


def table_of(tasks: Sequence[FileTask]) -> FileTable:
    """The files that were indexed."""
    import pyarrow as pa

    from parquet_bloomwriter.index.format.manifest import FileTable

    return FileTable(
        ids=_numbers([task.file_id for task in tasks]),
        paths=pa.array([task.file.path for task in tasks], pa.string()),
        sizes=_numbers([task.file.size for task in tasks]),
        modified_ms=_numbers([task.file.modified_ms for task in tasks]),
        num_rows=_numbers([task.num_rows for task in tasks]),
    )


def some_of(files: FileTable, which: NDArray[np.bool_]) -> FileTable:
    """Some of the files; `which` has shape (files,)."""
    import pyarrow as pa

    from parquet_bloomwriter.index.format.manifest import FileTable

    return FileTable(
        ids=files.ids[which],
        paths=files.paths.filter(pa.array(which)),
        sizes=files.sizes[which],
        modified_ms=files.modified_ms[which],
        num_rows=files.num_rows[which],
    )


def joined(files: FileTable, more: FileTable) -> FileTable:
    """All files of both."""
    import pyarrow as pa

    from parquet_bloomwriter.index.format.manifest import FileTable

    return FileTable(
        ids=np.concatenate([files.ids, more.ids]),
        paths=pa.concat_arrays([files.paths, more.paths]),
        sizes=np.concatenate([files.sizes, more.sizes]),
        modified_ms=np.concatenate([files.modified_ms, more.modified_ms]),
        num_rows=np.concatenate([files.num_rows, more.num_rows]),
    )


def _numbers(values: list[int]) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)
