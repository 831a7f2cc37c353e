"""`BloomFile`: the Bloom filters of one open file, to read them, and to look values up in them."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from parquet_bloomwriter.column_names import select_columns
from parquet_bloomwriter.errors import FileProblem, InvalidArgument, MalformedFilter
from parquet_bloomwriter.filters.hashes import is_collection, lookups_of
from parquet_bloomwriter.filters.stored import SHARED, FilterReader
from parquet_bloomwriter.hashing import XXHASH, HashKind
from parquet_bloomwriter.kernels.layout import ABSENT
from parquet_bloomwriter.metadata import PhysicalType
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.probing.batch_reader import BatchReader
from parquet_bloomwriter.probing.bloom import FilterLookups, probe_filters
from parquet_bloomwriter.probing.footer_cache import FileBatch, cached_footer
from parquet_bloomwriter.sbbf import Sbbf
from parquet_bloomwriter.source import open_for_reading
from parquet_bloomwriter.table_files.files import TableFile
from parquet_bloomwriter.text import count, listed_names, safe

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_bloomwriter.filters.hashes import Lookups
    from parquet_bloomwriter.hashing import Dialect
    from parquet_bloomwriter.metadata import Leaf
    from parquet_bloomwriter.source import Input

_FEW_VALUES = 64
"""Most values for which single blocks are read instead of whole filters."""

_KEPT_BYTES = 64 * 1024 * 1024
"""Most bytes of whole filters that are cached while the file is open."""


class BloomFile:
    """The Bloom filters of one Parquet file, by any writer.

        with BloomFile("events.parquet") as file:
            file.might_contain("id", 42)                 # False: certainly not
            file.might_contain("email", ["a@b", "c@d"])  # array([ True, False])
            file.filter(0, "id").exact_fpp()

    The name of a column is its dotted path, or `#` and its leaf ordinal.
    """

    def __init__(
        self,
        source: Input,
        *,
        filesystem: object = None,
        dialect: Dialect = "xxhash",
        murmur3_seed: int = 0,
    ) -> None:
        """Open a file and read its footer.

        Args:
            source: A path or URL, an open file, or a buffer.
            filesystem: A file system of pyarrow or fsspec; the path is a path in it.
            dialect: The hash function of filters whose headers do not name it: as for `probe`.
            murmur3_seed: As for `probe`.

        Raises:
            InvalidArgument: If the dialect or the seed is invalid.
            FileProblem: If the file is not a Parquet file, or is broken.
            OSError: If the file cannot be read.
        """
        self._hash_kind = HashKind(dialect, murmur3_seed)
        try:
            with ExitStack() as stack:
                self._source = stack.enter_context(open_for_reading(source, filesystem=filesystem))
                self._file = cached_footer(self._source, lambda _: ())
                self._stack = stack.pop_all()
        except FileProblem as error:
            error.outcome = ""  # reading changes nothing, so "left unchanged" says nothing
            raise
        self._leaves = self._file.leaves
        if isinstance(source, TableFile):
            self._leaves = source.named(self._file.footer()).leaves
        self._kept: dict[tuple[int, int], Sbbf | None] = {}
        self._is_closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        """Return the file, its row groups, and the columns with filters."""
        name = "buffer" if self._source.name is None else repr(self._source.name)
        has_filter = self._file.footer().chunks.has(ChunkField.BLOOM_FILTER_OFFSET)
        with_filters = [leaf.name for leaf in self._leaves if has_filter[:, leaf.ordinal].any()]
        filters = listed_names(map(safe, with_filters)) or "none"
        return f"BloomFile({name}, {count(self.num_row_groups, 'row group')}, filters: {filters})"

    def close(self) -> None:
        """Close the file. A file that was open when it was given stays open."""
        self._is_closed = True
        self._stack.close()

    @property
    def num_row_groups(self) -> int:
        """Number of row groups."""
        return self._file.num_row_groups

    @property
    def columns(self) -> tuple[str, ...]:
        """Dotted paths of the leaf columns."""
        return tuple(leaf.name for leaf in self._leaves)

    def filter(self, row_group: int, column: str) -> Sbbf | None:
        """Read the filter of one column chunk.

        Args:
            row_group: Ordinal of the row group, counted from 0.
            column: Name of a leaf column.

        Returns:
            The filter; None if the column chunk has no filter.

        Raises:
            MalformedFilter: If the filter must not be trusted.
            ColumnNotFound: If there is no such column.
            InvalidArgument: If there is no such row group.
            OSError: If the filter cannot be read.
        """
        if not 0 <= row_group < self.num_row_groups:
            raise InvalidArgument(
                f"there is no row group {row_group}",
                remedy=f"The file has {self.num_row_groups}, counted from 0.",
            )
        leaf = self._leaf(column)
        batch = self._batch(leaf)
        places = batch.places(leaf, self._hash_kind.dialect)
        facts, known_problem = batch.column(leaf), places.problems.get(row_group)
        offset = int(facts.filter_offsets[row_group])
        if offset == ABSENT:
            return None
        reader = FilterReader(
            limit=self._file.start, edges=self._file.edges, read_at=self._source.read_at
        )
        try:
            stored = reader.read(
                leaf,
                row_group,
                offset=offset,
                length=int(facts.filter_lengths[row_group]),
                is_shared=known_problem == SHARED,
            )
            stored.trusted_header(self._hash_kind.dialect)
            kind = self._hash_kind if stored.is_draft else XXHASH
            data = self._source.read_at(offset, stored.stop)
            return Sbbf.from_bytes(data, kind.dialect, murmur3_seed=kind.murmur3_seed)
        except MalformedFilter as error:
            error.path, error.row_group, error.column = self._source.name, row_group, leaf.name
            raise

    def might_contain(
        self,
        column: str,
        values: Any,  # noqa: ANN401  of any library
        *,
        row_group: int | None = None,
    ) -> bool | NDArray[np.bool_]:
        """Look values up in the filters of a column.

        Only filters are used; `probe` uses statistics, too. A row group without a filter, or with a
        filter that must not be trusted, might contain every value. The answer is also True for a
        value that cannot be looked up, such as text in a column of numbers; `print(probe(...))`
        says why.

        Args:
            column: Name of a leaf column.
            values: One value; or several, as a list or an array of pyarrow, NumPy or pandas.
            row_group: Ordinal of the only row group whose filter is used; None: all row groups.

        Returns:
            False for a value that is certainly in no row group. For several values, an array of
            shape (number of values,). The answer for null is always True.

        Raises:
            ColumnNotFound: If there is no such column.
            InvalidArgument: If there is no such row group.
            BloomwriterError, OSError: If the file cannot be read.
        """
        leaf = self._leaf(column)
        several = is_collection(values)
        lookups = lookups_of(values if several else [values], leaf, self._hash_kind)
        rows = np.arange(self.num_row_groups)
        if row_group is not None:
            if not 0 <= row_group < self.num_row_groups:
                raise InvalidArgument(f"there is no row group {row_group}")
            rows = rows[row_group : row_group + 1]
        might = self._look_up(leaf, lookups, rows)
        return might if several else bool(might[0])

    def _look_up(self, leaf: Leaf, lookups: Lookups, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        batch = self._batch(leaf)
        facts = batch.column(leaf)
        rows = rows[~facts.has_no_values[rows]]  # Nulls have no filter.
        has_filter = facts.filter_offsets[rows] != ABSENT
        if not has_filter.all() or leaf.physical_type == PhysicalType.BOOLEAN:
            return np.ones(lookups.num_values, np.bool_)
        if lookups.num_values > _FEW_VALUES:
            return self._look_up_many(leaf, lookups, rows)
        count = lookups.num_values
        wanted = FilterLookups(
            np.repeat(rows, count),
            np.tile(lookups.firsts[:-1], len(rows)),
            np.tile(lookups.firsts[1:], len(rows)),
        )
        reader = BatchReader([self._source])
        places = batch.places(leaf, self._hash_kind.dialect)
        might = probe_filters(
            batch, facts, lookups.hashes, wanted, reader, places, lookups.of_drafts
        )
        batch.remember(leaf, places, self._hash_kind.dialect)
        reader.raise_first_failure()
        return might.reshape(len(rows), count).any(axis=0) | lookups.unclear

    def _look_up_many(
        self, leaf: Leaf, lookups: Lookups, rows: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        found = np.zeros(len(lookups.hashes), np.bool_)
        for row in rows.tolist():
            filter_ = self._kept_filter(row, leaf)
            if filter_ is None:
                return np.ones(lookups.num_values, np.bool_)
            found |= filter_.check_hashes(lookups.hashes_for(filter_.dialect))
        return lookups.any_of(found)

    def _kept_filter(self, row_group: int, leaf: Leaf) -> Sbbf | None:
        """Return a filter, from memory or the file; None without a filter to be trusted."""
        place = (row_group, leaf.ordinal)
        if place not in self._kept:
            try:
                filter_ = self.filter(row_group, f"#{leaf.ordinal}")
            except MalformedFilter:
                filter_ = None
            if filter_ is not None and not filter_.blocks.any():
                filter_ = None
            size = 0 if filter_ is None else filter_.num_bytes
            kept = sum(one.num_bytes for one in self._kept.values() if one is not None)
            if kept + size > _KEPT_BYTES:
                self._kept.clear()
            self._kept[place] = filter_
        return self._kept[place]

    def _leaf(self, column: str) -> Leaf:
        if self._is_closed:  # The number of its descriptor may be another file's by now.
            raise InvalidArgument("the file is closed", path=self._source.name)
        leaf, *more = select_columns(self._leaves, [column])
        if more:
            raise InvalidArgument(
                f'"{column}" is a group of {len(more) + 1} columns',
                remedy=f"Name one of them, such as {leaf.name}.",
            )
        return leaf

    def _batch(self, leaf: Leaf) -> FileBatch:
        self._file.learn([leaf.ordinal])
        return FileBatch.of([self._file])
