"""The view of `get`: rows as an aligned table, as CSV, as JSON lines, or as a Parquet file.

Each form takes batches one by one and keeps none of them, but for what is named here: the table
keeps the first rows, by which it chooses the widths of its columns, and Parquet keeps the rows of
the row group that it is about to write.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Protocol

from bloomify.views.values import is_number, json_object, json_texts, texts
from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.text import count, printable, shorten, width

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import BinaryIO

    import pyarrow as pa

FORMS = ("table", "csv", "jsonl", "parquet")

_GAP = "  "
_NARROWEST = 8
_FIRST_ROWS = 500
"""Rows that decide the widths of a table's columns."""

_ROW_GROUP_ROWS = 122_880
_ROW_GROUP_BYTES = 64 << 20
"""Rows, and bytes in memory, after which a row group of a new Parquet file is written."""

_QUOTED_IN_CSV = re.compile(r'[",\r\n]|^$')


class RowForm(Protocol):
    """One form of rows."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Write some rows."""
        ...

    def finish(self) -> None:
        """Write what was kept until the last row."""
        ...

    def abandon(self) -> None:
        """End before the last row, while the stream is still open."""
        ...


class _Lines:
    """What forms have in common that print lines."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def finish(self) -> None:
        """Write nothing: nothing was kept."""

    def abandon(self) -> None:
        """Write nothing: there is nothing to close."""

    def _send(self, lines: Iterable[str]) -> None:
        text = "".join(f"{line}\n" for line in lines)
        self._stream.write(text.encode(errors="backslashreplace"))


def new_form(
    form: str, schema: pa.Schema, stream: BinaryIO, *, columns: int, is_watched: bool = False
) -> RowForm:
    """Begin rows of a form.

    Args:
        form: One of `FORMS`.
        schema: The columns.
        stream: Where they are written.
        columns: Width of a table.
        is_watched: Whether the stream is a terminal, which obeys control characters in values.

    Raises:
        InvalidArgument: If Parquet has no such columns.
    """
    if form == "table":
        return TableForm(schema, stream, columns=columns)
    if form == "csv":
        return CsvForm(schema, stream, is_watched=is_watched)
    kinds: dict[str, Callable[[pa.Schema, BinaryIO], RowForm]] = {
        "jsonl": JsonLinesForm,
        "parquet": ParquetForm,
    }
    return kinds[form](schema, stream)


class TableForm(_Lines):
    """An aligned table for terminals.

    Text that does not fit loses its middle. Numbers never do: a later one that is wider than the
    first ones moves its line to the right.
    """

    def __init__(self, schema: pa.Schema, stream: BinaryIO, *, columns: int) -> None:
        """Begin a table of at most so many columns of a terminal."""
        super().__init__(stream)
        self._columns = columns
        self._titles = [printable(name) or '""' for name in schema.names]
        self._are_numbers = [is_number(field.type) for field in schema]
        self._first: list[Sequence[str]] = []
        self._widths: list[int] = []
        self._room = 0
        """Columns of the terminal that the first rows left free."""
        self.num_hidden = 0
        """Number of columns at the right for which there is no room."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Print some rows, or keep them if they are among the first."""
        rows = list(zip(*map(_cells, batch.columns), strict=True))
        if self._widths:
            self._print(rows)
            return
        self._first += rows
        if len(self._first) >= _FIRST_ROWS:
            self._begin()

    def finish(self) -> None:
        """Print the rows that were kept."""
        if self._first:
            self._begin()

    def _begin(self) -> None:
        cells = zip(self._titles, *self._first, strict=True)
        widths = [max(map(width, column)) for column in cells]
        pairs = zip(widths, self._are_numbers, strict=True)
        narrowest = [space if is_fixed else min(space, _NARROWEST) for space, is_fixed in pairs]
        while len(narrowest) > 1 and _total(narrowest) > self._columns:
            narrowest.pop()
        self._widths = _fitted(widths, narrowest, self._columns)
        self._room = max(0, self._columns - _total(self._widths))
        self.num_hidden = len(widths) - len(self._widths)
        self._print([self._titles, *self._first])
        self._first = []

    def _print(self, rows: Iterable[Sequence[str]]) -> None:
        self._send(map(self._line, rows))

    def _line(self, cells: Sequence[str]) -> str:
        room, parts = self._room, []
        for cell, space, is_fixed in zip(cells, self._widths, self._are_numbers, strict=False):
            shown = cell if is_fixed else shorten(cell, space + room)
            taken = width(shown)
            room -= max(0, taken - space)
            blank = " " * (space - taken)
            parts.append(blank + shown if is_fixed else shown + blank)
        return _GAP.join(parts).rstrip()


def _cells(column: pa.Array) -> list[str]:
    return ["NULL" if text is None else printable(text) for text in texts(column)]


def _fitted(widths: Sequence[int], narrowest: Sequence[int], columns: int) -> list[int]:
    """Return the widths of the columns that are shown; the widest give way first."""
    most = max(columns, 1)
    kept = list(zip(widths, narrowest, strict=False))
    while (
        most > _NARROWEST
        and _total(max(least, min(space, most)) for space, least in kept) > columns
    ):
        most -= 1
    fitted = [max(least, min(space, most)) for space, least in kept]
    free = max(0, columns - _total(fitted))
    for place, (space, _) in enumerate(kept):
        more = min(free, space - fitted[place])
        fitted[place] += more
        free -= more
    return fitted


def _total(widths: Iterable[int]) -> int:
    """Return the width of a line, gaps included."""
    return sum(space + len(_GAP) for space in widths) - len(_GAP)


class CsvForm(_Lines):
    """CSV with a header; nothing between two commas is NULL, and "" is an empty text."""

    def __init__(self, schema: pa.Schema, stream: BinaryIO, *, is_watched: bool) -> None:
        """Write the header; on a terminal, control characters are escaped."""
        super().__init__(stream)
        self._spell = printable if is_watched else str
        self._send([",".join(_csv(self._spell(name)) for name in schema.names)])

    def write(self, batch: pa.RecordBatch) -> None:
        """Write some rows."""
        rows = zip(*map(texts, batch.columns), strict=True)
        self._send(",".join(map(self._cell, row)) for row in rows)

    def _cell(self, text: str | None) -> str:
        return _csv(None if text is None else self._spell(text))


def _csv(text: str | None) -> str:
    if text is None:
        return ""
    return '"' + text.replace('"', '""') + '"' if _QUOTED_IN_CSV.search(text) else text


class JsonLinesForm(_Lines):
    """One JSON object for each row."""

    def __init__(self, schema: pa.Schema, stream: BinaryIO) -> None:
        """Begin; nothing is written."""
        super().__init__(stream)
        self._names = schema.names

    def write(self, batch: pa.RecordBatch) -> None:
        """Write some rows."""
        rows = zip(*map(json_texts, batch.columns), strict=True)
        self._send(json_object(self._names, row) for row in rows)


class ParquetForm:
    """A Parquet file with the types of the rows."""

    def __init__(self, schema: pa.Schema, stream: BinaryIO) -> None:
        """Begin the file.

        Raises:
            InvalidArgument: If Parquet has no such column.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            self._file = pq.ParquetWriter(stream, schema)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise InvalidArgument(
                f"pyarrow cannot write these columns to Parquet: {error}"
            ) from error
        self._kept: list[Any] = []

    def write(self, batch: pa.RecordBatch) -> None:
        """Keep some rows, and write a row group once there are enough."""
        self._kept.append(batch)
        num_rows = sum(one.num_rows for one in self._kept)
        if num_rows >= _ROW_GROUP_ROWS or sum(one.nbytes for one in self._kept) >= _ROW_GROUP_BYTES:
            self._write_row_group()

    def finish(self) -> None:
        """Write the last row group, and the footer."""
        self._write_row_group()
        self._file.close()

    def abandon(self) -> None:
        """Close the temporary file, which the caller removes."""
        self._file.close()

    def _write_row_group(self) -> None:
        import pyarrow as pa

        if self._kept:
            self._file.write_table(pa.Table.from_batches(self._kept))
        self._kept = []


def rows_note(num_rows: int, num_hidden: int) -> str:
    """Return a sentence below a table: how many rows there are, and what is not shown of them."""
    if not num_rows:
        return "no row passes the condition."
    rows = count(num_rows, "row")
    if not num_hidden:
        return f"{rows}."
    hidden = count(num_hidden, "column")
    return f"{rows}; {hidden} did not fit: name some with --columns, or take --format csv."
