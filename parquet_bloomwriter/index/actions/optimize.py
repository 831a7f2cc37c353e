"""Join the small parts of an index, and drop the filters of files that no version will need.

Every refresh adds parts. A part is written anew if there are others to join it with, or if it has
filters of files that the manifest has no more. Large parts without such filters stay as they are.
The bytes of filters are copied unchanged, after all bytes of a part were compared with its
checksum: a damaged part is refused, not copied.

Slices name the parts that they were made from. Slices are written anew if any of these parts was
written anew, if the slices are damaged (all of them are read to check that), or if the parts that
were added since have enough filters to be worth slices.
"""

# ruff: noqa: PTH118  paths are strings, as in the log
from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parquet_bloomwriter.errors import BloomwriterError, FileProblem
from parquet_bloomwriter.index.actions.commit import remove_unreferenced, with_slices
from parquet_bloomwriter.index.build.slices import plan_slices
from parquet_bloomwriter.index.changes import known_files
from parquet_bloomwriter.index.config import are_slices_wanted, with_slices_wanted
from parquet_bloomwriter.index.describe import report_on
from parquet_bloomwriter.index.entry import State, damaged
from parquet_bloomwriter.index.files import FileId
from parquet_bloomwriter.index.format import part_writer as names
from parquet_bloomwriter.index.format import slice_file
from parquet_bloomwriter.index.format.parquet_io import check_footer, integers_of
from parquet_bloomwriter.index.format.part_reader import check_part, read_part
from parquet_bloomwriter.index.format.part_writer import PartRow, PartWriter
from parquet_bloomwriter.index.format.slice_file import SliceReader
from parquet_bloomwriter.index.log.transaction import (
    fail_if_overtaken,
    load_existing,
    run_transaction,
)
from parquet_bloomwriter.index.storage.base import open_file
from parquet_bloomwriter.sbbf.header import usual_header_at
from parquet_bloomwriter.source import read_footer
from parquet_bloomwriter.text import words_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow.parquet as pq
    from numpy.typing import NDArray

    from parquet_bloomwriter.index.entry import IndexedColumn, IndexFile
    from parquet_bloomwriter.index.format.manifest import FileTable
    from parquet_bloomwriter.index.log.log import IndexLog
    from parquet_bloomwriter.index.log.transaction import Transaction
    from parquet_bloomwriter.index.report import IndexReport

LARGE = 64 << 20
"""Size from which a part is not joined with other parts, bytes."""

TARGET = LARGE
"""Minimum size of the filters in a new part, bytes; only the last part may be smaller. Not less
than `LARGE`: smaller parts would be joined again."""

_COLUMNS = [name for name in names.schema().names if name != names.CHECKS]


def optimize_index(log: IndexLog, *, slices: bool | None = None) -> IndexReport:
    """Optimize an index; see `index.optimize`."""
    log.check_writable()
    stable = load_existing(log, states=frozenset({State.ACTIVE}), to="optimized")
    with fail_if_overtaken(log, stable):
        log.check_intact(stable)
        wanted = are_slices_wanted(stable.options) if slices is None else slices
        files = known_files(stable, log.folder)
        known = files.ids
        old = {one.name: _to_join(log.folder, one.parts, known) for one in stable.columns}
        to_slice = {
            one.name
            for one in stable.columns
            if old[one.name] or not _is_sliced(log.folder, one, files, wanted=wanted)
        }
    options = with_slices_wanted(stable.options, wanted=wanted)
    if not to_slice and options == stable.options:
        return report_on(log, stable, action="optimize", changed=False)
    begin = replace(stable, state=State.OPTIMIZING, action="optimize", options=options)
    with run_transaction(log, stable, begin) as transaction:
        columns = []
        for column in stable.columns:
            transaction.check_not_cancelled()
            replaced = set(old[column.name])
            stay = [part for part in column.parts if part not in replaced]
            rows = _rows(log.folder, old[column.name], known)
            new = _written(transaction, column.name, rows)
            made = replace(column, parts=(*stay, *new))
            if column.name in to_slice:
                made = replace(made, slices=None)
                if wanted:
                    made = with_slices(transaction, made, files, stop=stable.next_file_id)
            columns.append(made)
        entry = replace(
            transaction.begun,
            state=State.ACTIVE,
            version=transaction.version,
            columns=tuple(columns),
        )
        remove_unreferenced(transaction, entry)
        final = transaction.commit(entry)
    before, after = (sum(len(one.parts) for one in entry.columns) for entry in (stable, final))
    notes = [f"{before} parts became {after}"]
    sliced = [one.name for one in final.columns if one.slices and one.name in to_slice]
    if sliced:
        notes.append(f"slices were written of {', '.join(sliced)}")
    return report_on(log, final, action="optimize", notes=tuple(notes))


def _is_sliced(folder: str, column: IndexedColumn, files: FileTable, *, wanted: bool) -> bool:
    """Return whether a column has the slices that it should have, undamaged."""
    if not wanted:
        return column.slices is None
    if column.slices is None:
        return plan_slices(folder, column.parts, files) is None
    try:
        reader = SliceReader(folder, column.slices)
        reader.check()
    except (BloomwriterError, OSError):
        return False
    done = {(part.path, part.size) for part in reader.directory.parts}
    new = [part for part in column.parts if (part.path, part.size) not in done]
    if len(new) != len(column.parts) - len(done):
        return False
    return sum(_num_filters(folder, part) for part in new) < slice_file.MIN_FILTERS


def _num_filters(folder: str, part: IndexFile) -> int:
    return len(read_part(os.path.join(folder, part.path), part).file_ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class _PartUse:
    """The filters of one part that the index still needs."""

    file: IndexFile
    first_id: int
    """Smallest file id among the known files whose filters are in the part; -1 if there is no such
    file."""

    num_dead: int
    """Number of filters in the part that belong to files that the index no longer knows."""

    @property
    def is_settled(self) -> bool:
        """Whether the part need not be written anew, whatever other parts there are."""
        return self.num_dead == 0 and self.file.size >= LARGE


def _to_join(folder: str, parts: Iterable[IndexFile], known: NDArray[np.int64]) -> list[IndexFile]:
    """Choose the parts of a column that are written anew, in the order of their files."""
    uses = [_use_of(folder, part, known) for part in parts]
    loose = sorted((one for one in uses if not one.is_settled), key=lambda one: one.first_id)
    is_worth_it = len(loose) > 1 or any(one.num_dead for one in loose)
    return [one.file for one in loose] if is_worth_it else []


def _use_of(folder: str, part: IndexFile, known: NDArray[np.int64]) -> _PartUse:
    ids = read_part(os.path.join(folder, part.path), part).file_ids
    live = ids[np.isin(ids, known)]
    first_id = int(live.min()) if len(live) else -1
    return _PartUse(file=part, first_id=first_id, num_dead=len(ids) - len(live))


def _rows(folder: str, parts: Iterable[IndexFile], known: NDArray[np.int64]) -> Iterator[PartRow]:
    """Read the filters of known files, part by part.

    Raises:
        IndexProblem: If a part or a filter is not as it was written.
        OSError: If a part cannot be read.
    """
    import pyarrow as pa

    for part in parts:
        with _opened(folder, part) as file:
            for number in range(file.num_row_groups):
                table = file.read_row_group(number, columns=_COLUMNS)
                is_live = np.isin(integers_of(table[names.FILE_ID], np.int64), known)
                for found in table.filter(pa.array(is_live)).to_pylist():
                    yield _row(found, os.path.join(folder, part.path))


def _row(found: dict[str, Any], path: str) -> PartRow:
    data = found[names.BINARY]
    if data and not usual_header_at(data, 0, len(data)):
        raise damaged(path, "a Bloom filter has a malformed header")
    return PartRow(
        file_id=found[names.FILE_ID],
        file=FileId(found[names.FILE_NAME], found[names.SIZE], found[names.MODIFIED]),
        row_group=found[names.ROW_GROUP],
        column_type=found[names.TYPE],
        num_values=found[names.NUM_VALUES],
        ndv=found[names.NDV],
        data=data,
    )


def _written(transaction: Transaction, column: str, rows: Iterator[PartRow]) -> Iterator[IndexFile]:
    """Write filters into as many new parts as needed, and yield these parts."""
    row = next(rows, None)
    while row is not None:
        with PartWriter(transaction.make_folder(), column) as writer:
            size, file_id = 0, row.file_id
            # The filters of one file stay in one part.
            while row is not None and (size < TARGET or row.file_id == file_id):
                writer.append(row)
                size, file_id = size + len(row.data), row.file_id
                row = next(rows, None)
            part = writer.close()
        if part is not None:
            yield part.file


@contextmanager
def _opened(folder: str, part: IndexFile) -> Iterator[pq.ParquetFile]:
    """Open a part with pyarrow, after all its bytes were checked.

    Raises:
        IndexProblem: If the part is not as it was written; also while the body reads it.
        OSError: If the part cannot be read.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = os.path.join(folder, part.path)
    try:
        with open_file(path, part.size, whole=True) as source:
            check_part(source, part.crc)
            check_footer(read_footer(source), _COLUMNS)
            file = pq.ParquetFile(source.for_arrow(), pre_buffer=False)
            wanted = pa.schema([names.schema().field(name) for name in _COLUMNS])
            found = pa.schema([one for one in file.schema_arrow if one.name != names.CHECKS])
            if not found.equals(wanted):
                raise damaged(path, "the columns of the file are not those of a part")
            yield file
    except FileProblem as error:
        raise damaged(path, error.problem) from error
    except (pa.ArrowException, KeyError, ValueError) as error:
        raise damaged(path, f"the part cannot be read: {words_of(error)}") from error
