"""A table as a source of Polars: batches of the row groups that might match a predicate.

Polars asks a source for columns, a predicate, a number of rows and a size of batches, each of them
optional, when a query runs. Predicates that Polars pushes down look at each row by itself, so a
source may apply them batch by batch. Here the predicate is used twice: as a tree, which excludes
files and row groups (`predicate.polars_in`), and by Polars itself, which selects the rows of each
batch. So what a condition means is Polars' business alone.

Rows come in the order of the files. One batch is decoded at a time.

Polars reads in threads of its own, which may go on for a moment after a query that needs no more
rows. A thread that runs Python when the interpreter has ended aborts the process: so at its end the
interpreter waits for such threads.
"""

from __future__ import annotations

import atexit
import re
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from parquet_bloomwriter.errors import ColumnNotFound, InvalidArgument
from parquet_bloomwriter.scan.formats import rows_of, schema_of
from parquet_bloomwriter.scan.table import named_twice
from parquet_bloomwriter.text import suggestion

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import polars as pl
    import pyarrow as pa

    from parquet_bloomwriter.hashing import HashKind
    from parquet_bloomwriter.predicate.expression import Expression
    from parquet_bloomwriter.scan.table import TableFiles
    from parquet_bloomwriter.table_files.files import Table

_BATCH_ROWS = 100_000
"""Most rows of a batch, if Polars asks for no number."""

_OLDEST = (2, 0)
"""The oldest version of Polars that was tried."""


_LONGEST_STEP_S, _LONGEST_CLOSING_S = 30.0, 5.0
"""Seconds that the end of the interpreter waits: for a batch being read, then for Polars to release
its scans, which it does at once unless a query is still referred to."""


class Rows(Protocol):
    """A table of which some columns and row groups can be read."""

    @property
    def schema(self) -> pa.Schema:
        """Schema of all columns, with the types of the batches."""
        ...

    def batches(
        self, columns: list[str], tree: Expression | None, batch_size: int
    ) -> Iterator[pa.RecordBatch]:
        """Yield all rows of the row groups that might satisfy a tree; None is true of all rows."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class RowsOfFiles:
    """Files that are read as one table."""

    table: TableFiles
    hash_kind: HashKind

    @cached_property
    def schema(self) -> pa.Schema:
        """Schema of all columns; columns of hive folders are not dictionary-encoded."""
        import pyarrow as pa

        def decoded(field: pa.Field) -> pa.Field:
            is_key = field.name in self.table.partitions
            return field.with_type(field.type.value_type) if is_key and _is_coded(field) else field

        return pa.schema([decoded(field) for field in self.table.schema])

    def batches(
        self, columns: list[str], tree: Expression | None, batch_size: int
    ) -> Iterator[pa.RecordBatch]:
        """Yield all rows of the row groups that might satisfy a tree."""
        import pyarrow as pa

        from parquet_bloomwriter.predicate.expression import Constant
        from parquet_bloomwriter.scan.stream import conformed_batches
        from parquet_bloomwriter.scan.survivors import find_survivors, prune

        if tree is None or tree == Constant(value=True):
            survivors = find_survivors(self.table, None)
        else:
            survivors = prune(self.table, tree, hash_kind=self.hash_kind)
        schema = pa.schema([self.schema.field(name) for name in columns])
        return conformed_batches(self.table, survivors, schema, batch_size=batch_size)


@dataclass(frozen=True, kw_only=True, eq=False)
class RowsOfTable:
    """A Delta or Iceberg table at one version or snapshot."""

    table: Table
    hash_kind: HashKind
    columns: Sequence[str] | None
    """Names of the columns that can be read; None for all columns."""

    @cached_property
    def schema(self) -> pa.Schema:
        """Schema of the columns that can be read, with the table's types."""
        return schema_of(self.table, self.columns)

    def batches(
        self, columns: list[str], tree: Expression | None, batch_size: int
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows, without deleted ones, of the row groups that might satisfy a tree."""
        found = rows_of(
            self.table,
            columns=columns,
            filters=tree,
            hash_kind=self.hash_kind,
            selects_rows=False,
        )
        return found.batches(batch_size=batch_size)


def lazy_frame(rows: Rows, *, columns: Sequence[str] | None, name: str) -> pl.LazyFrame:
    """Return a LazyFrame that reads a table when it is collected.

    Args:
        rows: The table.
        columns: Names of the columns that the LazyFrame has; None for all.
        name: Of the table, for query plans; "" if it has none.

    Raises:
        ColumnNotFound: If the table has no such column.
        InvalidArgument: If Polars cannot read a column, or two columns have one name.
    """
    import polars as pl
    from polars.io.plugins import register_io_source

    source = _Source(rows=rows, names=_names(rows.schema, columns))
    return register_io_source(
        source.frames,
        schema=pl.Schema(source.schema),
        is_pure=True,
        explain_name="parquet_bloomwriter",
        explain_detail=" ".join(name.split()) or None,
    )


def check_polars() -> None:
    """Check that Polars is installed, and not too old.

    Raises:
        InvalidArgument: If it is not.
    """
    try:
        import polars as pl
    except ImportError as error:
        raise InvalidArgument(
            "scan_polars needs Polars, which is not installed",
            remedy="Install it: pip install polars.",
        ) from error
    found = re.match(r"(\d+)\.(\d+)", pl.__version__)
    if found is not None and (int(found[1]), int(found[2])) < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        raise InvalidArgument(
            f"scan_polars needs Polars {oldest} or newer, and {pl.__version__} is installed",
            remedy="Install it: pip install --upgrade polars.",
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Source:
    """The callback that Polars calls when a query runs."""

    rows: Rows
    names: list[str]
    """Names of the columns of the LazyFrame."""

    @cached_property
    def schema(self) -> dict[str, pl.DataType]:
        """Polars' types of the columns, by name."""
        fields = [self.rows.schema.field(name) for name in self.names]
        return {field.name: _polars_type(field) for field in fields}

    def frames(
        self,
        with_columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[pl.DataFrame]:
        """Yield the frames of `_frames`, unless the interpreter is about to end."""
        with _SCANS.one():
            frames = self._frames(with_columns, predicate, n_rows, batch_size)
            while not _SCANS.are_ending:
                with _SCANS.step():
                    frame = next(frames, None)
                if frame is None:
                    return
                yield frame

    def _frames(
        self,
        with_columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[pl.DataFrame]:
        """Yield the rows that satisfy a predicate, in batches that are not empty.

        Polars gives a number of rows together with a predicate only for `head(...).filter(...)`:
        the rows are counted before the predicate selects among them, so none may be excluded.

        Args:
            with_columns: The columns to return; None for all.
            predicate: Which rows to return; None for all.
            n_rows: How many of the table's first rows are looked at; None for all.
            batch_size: Rows of a batch, at most; None if Polars does not care.
        """
        import polars as pl

        from parquet_bloomwriter.predicate.polars_in import from_polars

        wanted = self.names if with_columns is None else with_columns
        asked = [] if predicate is None else predicate.meta.root_names()
        _refuse_patterns(asked)
        # Without any column a batch would have no rows.
        needed = list(dict.fromkeys([*wanted, *asked])) or self.names[:1]
        schema = pl.Schema({name: self.schema[name] for name in needed})
        tree = None
        if predicate is not None and n_rows is None:
            tree = from_polars(predicate, self.schema)
        size = batch_size or _BATCH_ROWS
        if n_rows is not None:
            size = max(1, min(size, n_rows))
        left = n_rows
        for batch in self.rows.batches(needed, tree, size) if left != 0 else ():
            frame = _frame(batch, schema)
            if left is not None:
                frame = frame.head(left)
                left -= frame.height
            if predicate is not None:
                frame = frame.filter(predicate)
            frame = _selected(frame, wanted)
            if frame.height:
                yield frame
            if left == 0:
                return


class _Scans:
    """The scans of this process that Polars has not released yet."""

    def __init__(self) -> None:
        self.are_ending = False
        self._changed = threading.Condition()
        self._num_open = 0
        self._num_steps = 0

    @contextmanager
    def one(self) -> Iterator[None]:
        """Count a scan while it is open."""
        with self._changed:
            self._num_open += 1
        try:
            yield
        finally:
            with self._changed:
                self._num_open -= 1
                self._changed.notify_all()

    @contextmanager
    def step(self) -> Iterator[None]:
        """Count a batch that is being read."""
        with self._changed:
            self._num_steps += 1
        try:
            yield
        finally:
            with self._changed:
                self._num_steps -= 1
                self._changed.notify_all()

    def end(self) -> None:
        """Wait until all scans have ended; none reads another batch."""
        self.are_ending = True
        with self._changed:
            self._changed.wait_for(lambda: not self._num_steps, timeout=_LONGEST_STEP_S)
            self._changed.wait_for(lambda: not self._num_open, timeout=_LONGEST_CLOSING_S)


_SCANS = _Scans()
atexit.register(_SCANS.end)


def _frame(batch: pa.RecordBatch, schema: pl.Schema) -> pl.DataFrame:
    """Return a batch as a frame, with the columns, order and types of a schema."""
    import polars as pl
    import pyarrow as pa

    fields = [field.with_type(_widened(field.type)) for field in batch.schema]
    frame = pl.DataFrame(batch.cast(pa.schema(fields)))
    frame.columns = batch.schema.names  # Polars has another name for a column named ""
    frame = _selected(frame, schema)
    if frame.schema == schema:
        return frame
    return pl.DataFrame({name: frame[name].cast(type_) for name, type_ in schema.items()})


def _selected(frame: pl.DataFrame, names: Iterable[str]) -> pl.DataFrame:
    """Return columns of a frame by name; `select` would take names such as `^id$` for patterns."""
    import polars as pl

    return pl.DataFrame({name: frame[name] for name in names})


def _refuse_patterns(names: Sequence[str]) -> None:
    """Refuse a predicate on columns whose names Polars takes for patterns, and would not find.

    Raises:
        InvalidArgument: If a name is a pattern of Polars, `*` or `^...$`.
    """
    for name in names:
        if name == "*" or (name.startswith("^") and name.endswith("$")):
            raise InvalidArgument(
                "Polars takes the name of this column for a pattern, so it cannot filter by it",
                column=name,
                remedy="Use `read_table`, which takes all names as they are.",
            )


def _widened(type_: pa.DataType) -> pa.DataType:  # noqa: PLR0911  by type
    """Return a type in which decimals of 32 and 64 bits have 128 bits, as Polars needs."""
    import pyarrow as pa

    types = pa.types
    if types.is_decimal32(type_) or types.is_decimal64(type_):
        return pa.decimal128(type_.precision, type_.scale)
    if types.is_dictionary(type_):
        values = _widened(type_.value_type)
        return type_ if values == type_.value_type else values
    if not types.is_nested(type_):
        return type_
    fields = [type_.field(place) for place in range(type_.num_fields)]
    wide = [field.with_type(_widened(field.type)) for field in fields]
    if wide == fields:
        return type_
    if types.is_map(type_):
        return pa.map_(*wide[0].type)
    if types.is_struct(type_):
        return pa.struct(wide)
    if types.is_fixed_size_list(type_):
        return pa.list_(wide[0], type_.list_size)
    return pa.large_list(wide[0]) if types.is_large_list(type_) else pa.list_(wide[0])


def _names(schema: pa.Schema, columns: Sequence[str] | None) -> list[str]:
    names = list(schema.names if columns is None else columns)
    for name in dict.fromkeys(names):
        if name in schema.names and (schema.names.count(name) > 1 or names.count(name) > 1):
            raise named_twice(name)
        if name not in schema.names:
            raise ColumnNotFound(
                f'there is no column "{name}"', name=name, remedy=suggestion(name, schema.names)
            )
    return names


def _is_coded(field: pa.Field) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_dictionary(field.type))


def _has_decimal256(type_: pa.DataType) -> bool:
    """Return whether a type is, or contains, a decimal of 256 bits."""
    import pyarrow as pa

    parts = [type_.field(place).type for place in range(type_.num_fields)]
    return bool(pa.types.is_decimal256(type_)) or any(map(_has_decimal256, parts))


def _polars_type(field: pa.Field) -> pl.DataType:
    """Return Polars' type of an Arrow column.

    Raises:
        InvalidArgument: If Polars cannot read it.
    """
    import polars as pl
    import pyarrow as pa

    problem = InvalidArgument(
        f"Polars cannot read columns of type {field.type}",
        column=field.name,
        remedy="Name the other columns: columns=[...].",
    )
    if _has_decimal256(field.type):  # Polars 2.1 would panic on the first batch
        raise problem
    try:
        wide = pa.schema([field.with_type(_widened(field.type))])
        empty = pl.DataFrame(pa.Table.from_batches([], wide))
    except (pl.exceptions.PolarsError, TypeError, ValueError, NotImplementedError) as error:
        raise problem from error
    return empty.dtypes[0]
