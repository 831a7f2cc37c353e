"""The values of one column chunk as Arrow arrays of its physical type, batch by batch.

Where every data page of a chunk is dictionary-encoded, the dictionary page alone has its values
(`values.dictionary`), and perhaps some more.

One batch is in memory at a time: the mean size of the chunk's values decides how many rows a batch
has, and pages are read when they are needed. Page checksums are verified where the file has them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.metadata import PhysicalType, Repetition
from parquet_bloomwriter.metadata.encodings import is_fully_dictionary_encoded
from parquet_bloomwriter.metadata.fields import ChunkField, RowGroupField
from parquet_bloomwriter.source.read_ahead import AskedOnce, Held
from parquet_bloomwriter.values.dictionary import find_dictionary
from parquet_bloomwriter.values.pages import CODECS, check_pages, extent_of, is_near
from parquet_bloomwriter.values.second_footer import physical_metadata, physical_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    import pyarrow.parquet as pq
    from numpy.typing import NDArray

    from parquet_bloomwriter.metadata import Footer, Leaf
    from parquet_bloomwriter.source import Source
    from parquet_bloomwriter.values.dictionary import DictionaryPage

_BATCH_BYTES = 4 * 1024 * 1024
_MAX_BATCH_ROWS = 128 * 1024
_READ_BYTES = 1024 * 1024
_REMOTE_READ_BYTES = 16 * 1024 * 1024
MOST_READ_AHEAD = 128 * 1024 * 1024
"""Most bytes of a chunk on a store that are read at once; a larger chunk is read piece by piece."""

_MAX_VALUE_BYTES = 64 * 1024 * 1024
"""Largest mean size of values that are read, bytes: decoding holds several values at once."""

_NANOSECONDS_PER_DAY = 86_400 * 10**9


class NotDecodable(OSError):
    """This library cannot read the column chunk, which may be sound: it is not called damaged."""


class LeafReader:
    """Reads the column chunks of one leaf column; threads may read several at once."""

    def __init__(self, source: Source, footer: Footer, leaf: Leaf) -> None:
        """Prepare to read `leaf`.

        Raises:
            NotDecodable: If the column is encrypted.
        """
        if footer.encrypted[:, leaf.ordinal].any():
            raise NotDecodable("the column is encrypted")
        self._source = source
        self._footer = footer
        self._leaf = leaf
        self._metadata: list[pq.FileMetaData] = []
        """The second footer once it was made; readers of single chunks share it."""

    def of_chunk(self, row_group: int) -> LeafReader:
        """Return a reader that requests all of one column chunk from a store at most once.

        The reader keeps the chunk's bytes in memory, if they are at most `MOST_READ_AHEAD`. Of
        sources that are near, it is this reader.
        """
        span = self._span_to_hold(row_group)
        if span is None:
            return self
        reader = LeafReader(AskedOnce(self._source, *span), self._footer, self._leaf)
        reader._metadata = self._metadata
        return reader

    def dictionary(self, row_group: int) -> DictionaryPage | None:
        """Return the dictionary page that has all values of one column chunk.

        It may have more: entries that no row refers to. The data pages are not read, so damage in
        them is not noticed.

        Returns:
            None if there is no such page, or if it is not certain that there is one.

        Raises:
            OSError: If reading fails.
        """
        if self._footer.is_crowded:
            return None
        return find_dictionary(self._source, self._footer, self._leaf, row_group)

    def batches(self, row_group: int, *, max_rows: int | None = None) -> Iterator[pa.Array]:
        """Yield the values of one column chunk, flat and as stored, at most `max_rows` at once.

        Each array has the Arrow type of the physical type: int32, int64, float, double,
        large_binary or fixed_size_binary. Nulls may be among them. Where a chunk of BYTE_ARRAY
        seems to be dictionary-encoded, each value comes once, at the end, as binary, unless
        `max_rows` is given. With `max_rows`, pages that unpack to far more bytes than they have are
        not read: see `values.pages`.

        Raises:
            NotDecodable: If the codec is unknown, or values are too large to be held in memory.
            OSError: If the metadata makes no sense; or if a page is broken, fails its checksum, or
                has a codec or an encoding that pyarrow cannot read.
            pyarrow.ArrowException: Likewise.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        if self._footer.is_crowded:
            raise OSError(
                "the column chunks of the file overlap, and claim several times its bytes"
            )
        codec = int(self._chunk(row_group)[ChunkField.CODEC])
        if codec not in CODECS:  # Some versions of pyarrow take an unknown one for none.
            raise NotDecodable(f"compression codec {codec} is not known")
        if (mean := self._mean_value_bytes(row_group)) > _MAX_VALUE_BYTES:
            raise NotDecodable(f"values of {mean} bytes on average are too large to be read")
        source = self._read_ahead(row_group)
        check_pages(source, self._footer, self._leaf, row_group, is_sample=max_rows is not None)
        dictionary = max_rows is None and self._reads_dictionary(row_group)
        with pq.ParquetFile(
            source.for_arrow(),
            metadata=self._physical_metadata(),
            read_dictionary=[physical_path(self._leaf)] if dictionary else None,
            # pyarrow decodes into large_binary in 3/4 of the time, but never as a dictionary.
            binary_type=None if dictionary else pa.large_binary(),
            pre_buffer=False,
            buffer_size=_READ_BYTES if is_near(source) else _REMOTE_READ_BYTES,
            page_checksum_verification=True,
            arrow_extensions_enabled=False,
        ) as file:
            num_rows = min(max_rows or _MAX_BATCH_ROWS, self._batch_rows(row_group))
            batches = file.iter_batches(num_rows, row_groups=[row_group], use_threads=False)
            arrays = (_flat(column) for column in self._complete(batches, row_group))
            yield from _distinct(arrays) if dictionary else arrays

    def _read_ahead(self, row_group: int) -> Source:
        """Return the source, or on a store one with the chunk in memory if it is not too large."""
        span = self._span_to_hold(row_group)
        return self._source if span is None else Held(self._source, *span)

    def _span_to_hold(self, row_group: int) -> tuple[int, int] | None:
        """Return the range of the chunk's bytes; None if they are not read at once."""
        extent = extent_of(self._footer, row_group, self._leaf.ordinal)
        if is_near(self._source) or extent is None:
            return None
        start, stop = extent.start, min(extent.stop, extent.limit)
        return (start, stop) if 0 < stop - start <= MOST_READ_AHEAD else None

    def _physical_metadata(self) -> pq.FileMetaData:
        """Return the second footer; two threads may make it at the same time."""
        if not self._metadata:
            self._metadata.append(physical_metadata(self._footer, self._leaf))
        return self._metadata[0]

    def _complete(self, batches: Iterator[pa.RecordBatch], row_group: int) -> Iterator[pa.Array]:
        """Yield the column of each batch; at the end, check that no row is missing."""
        rows = 0
        for batch in batches:
            rows += batch.num_rows
            yield batch.column(0)
        promised = self._num_rows(row_group)
        if rows != promised:
            raise OSError(f"{rows} rows can be read, but the metadata counts {promised}")

    def _num_rows(self, row_group: int) -> int:
        """Return the number of rows: of values, nulls included, unless values repeat."""
        if Repetition.REPEATED in self._leaf.repetitions:
            return int(self._footer.row_groups.value(RowGroupField.NUM_ROWS)[row_group])
        return int(self._chunk(row_group)[ChunkField.NUM_VALUES])

    def _reads_dictionary(self, row_group: int) -> bool:
        return self._leaf.physical_type == PhysicalType.BYTE_ARRAY and is_fully_dictionary_encoded(
            self._footer, row_group, self._leaf.ordinal
        )

    def _mean_value_bytes(self, row_group: int) -> int:
        values, size = self._extent(row_group)
        return size // values

    def _batch_rows(self, row_group: int) -> int:
        _, size = self._extent(row_group)
        rows = max(1, self._num_rows(row_group))
        return max(1, min(_MAX_BATCH_ROWS, _BATCH_BYTES * rows // size))

    def _extent(self, row_group: int) -> tuple[int, int]:
        """Return the number of values and their size in bytes by the metadata; each at least 1."""
        chunk = self._chunk(row_group)
        values = int(chunk[ChunkField.NUM_VALUES])
        size = int(chunk[ChunkField.TOTAL_UNCOMPRESSED_SIZE])
        return max(values, 1), max(size, 1)

    def _chunk(self, row_group: int) -> NDArray[np.int64]:
        """Return the integers of the column chunk's metadata, by `ChunkField`."""
        numbers: NDArray[np.int64] = self._footer.chunks.values[row_group, self._leaf.ordinal]
        return numbers


def floating_dtype(leaf: Leaf) -> type[np.floating] | None:
    """Return NumPy's type for the values of a leaf; None if they are not floating-point numbers."""
    if leaf.is_float16:
        return np.float16
    if leaf.physical_type == PhysicalType.FLOAT:
        return np.float32
    return np.float64 if leaf.physical_type == PhysicalType.DOUBLE else None


def has_odd_instants(leaf: Leaf, array: pa.Array) -> bool:
    """Return whether any value is an INT96 timestamp whose nanoseconds are not of its day.

    Readers turn such a timestamp into one of another day, and then look up other bytes than those
    that are stored.
    """
    if leaf.physical_type != PhysicalType.INT96 or len(array) == array.null_count:
        return False
    valid = array.drop_null() if array.null_count else array
    width = array.type.byte_width
    stored = np.frombuffer(valid.buffers()[1], np.uint8)[valid.offset * width :]
    return are_odd_instants(stored[: len(valid) * width])


def are_odd_instants(stored: NDArray[np.uint8]) -> bool:
    """Return whether any of these INT96 timestamps has nanoseconds that are not of its day.

    Args:
        stored: The bytes of n timestamps, shape (12 n,).
    """
    instants = stored.view([("nanoseconds", "<u8"), ("day", "<u4")])
    return bool((instants["nanoseconds"] >= _NANOSECONDS_PER_DAY).any())


def _flat(array: pa.Array) -> pa.Array:
    """Return the leaf's array without its groups; null and empty groups have no values."""
    import pyarrow as pa

    while True:
        if isinstance(array, pa.StructArray):
            (array,) = array.flatten()
        elif isinstance(array, pa.ListArray | pa.LargeListArray):
            array = array.flatten()
        else:
            return array


def _distinct(arrays: Iterator[pa.Array]) -> Iterator[pa.Array]:
    """Yield the dictionary entries to which any row refers.

    pyarrow makes a copy of the dictionary for every batch, and does not check the references.

    Raises:
        OSError: If a row refers to no entry.
    """
    dictionary: pa.Array | None = None
    used = np.empty(0, np.bool_)
    for array in arrays:
        if dictionary is None or not array.dictionary.equals(dictionary):
            if dictionary is not None:
                yield dictionary.filter(used)
            dictionary = array.dictionary
            used = np.zeros(len(dictionary), np.bool_)
        indices = array.indices.drop_null().to_numpy()
        if len(indices) and not 0 <= indices.min() <= indices.max() < len(used):
            raise OSError(f"a page refers to entries that its dictionary of {len(used)} lacks")
        used[indices] = True
    if dictionary is not None:
        yield dictionary.filter(used)
