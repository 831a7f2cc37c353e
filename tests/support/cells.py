"""A table whose row groups only Bloom filters tell apart, and a file that notes what is read."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from parquet_bloomwriter import bloomify

if TYPE_CHECKING:
    from parquet_bloomwriter.source import Range

GROUPS, ROWS = 10, 1000
"""Row groups, and rows of each."""

IDS = np.random.default_rng(7).permutation(GROUPS * ROWS) * 2
"""Even numbers; every row group has small and large ones."""

ABSENT = 10_001
CELLS = pa.table({"id": IDS, "text": [f"t{i}" for i in IDS], "group": np.arange(len(IDS)) // ROWS})


def bloomed(table: pa.Table, *columns: str, **options: Any) -> bytes:  # noqa: ANN401  of pyarrow
    """The bytes of a file; some columns have filters that are next to never wrong."""
    sink = pa.BufferOutputStream()
    options.setdefault("row_group_size", ROWS)
    pq.write_table(table, sink, **options)
    data = sink.getvalue().to_pybytes()
    return (bloomify(data, columns, fpp=1e-6).data or data) if columns else data


def same(table: pa.Table, expected: pa.Table) -> bool:
    """Whether two tables are the same down to the metadata of their schemas."""
    schemas = table.schema.equals(expected.schema, check_metadata=True)
    return bool(schemas and table.equals(expected))


class WatchedFile(io.BytesIO):
    """A file that notes what is read of it."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.reads: list[Range] = []

    def read(self, size: int | None = -1, /) -> bytes:
        """Read, and note the range."""
        start = self.tell()
        data = super().read(size)
        self.reads.append((start, start + len(data)))
        return data

    def row_groups_read(self) -> set[int]:
        """The row groups of whose pages something was read, but for reads up to the very end.

        Those are for the footer: pyarrow reads the last 64 KiB in the hope of finding it there.
        """
        data = self.getvalue()
        reads = [(start, stop) for start, stop in self.reads if stop < len(data)]
        return {
            group
            for group, chunks in enumerate(_pages(data))
            for start, stop in chunks
            if any(first < stop and start < last for first, last in reads)
        }


def _pages(data: bytes) -> list[list[Range]]:
    """Where the pages of each row group's column chunks lie."""
    metadata = pq.read_metadata(pa.BufferReader(data))
    groups = []
    for group in range(metadata.num_row_groups):
        chunks = [metadata.row_group(group).column(i) for i in range(metadata.num_columns)]
        starts = [chunk.dictionary_page_offset or chunk.data_page_offset for chunk in chunks]
        sizes = [chunk.total_compressed_size for chunk in chunks]
        groups.append([(a, a + size) for a, size in zip(starts, sizes, strict=True)])
    return groups
