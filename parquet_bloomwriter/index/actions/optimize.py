"""Joining the small parts of an index, and dropping filters of files that no version will need.

Every refresh adds parts. A part is written anew if there are others to join it with, or if it has
filters of files that the manifest has no more; large ones without such stay as they are. The bytes
of filters are taken over, as they are.
"""

# ruff: noqa: PTH118  paths are strings, as in the log
from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parquet_bloomwriter.errors import FileProblem, IndexProblem
from parquet_bloomwriter.index.actions.commit import sweep
from parquet_bloomwriter.index.actions.lifecycle import existing, report_of
from parquet_bloomwriter.index.changes import known_files
from parquet_bloomwriter.index.files import FileId
from parquet_bloomwriter.index.format import part_writer as names
from parquet_bloomwriter.index.format.part_writer import PartRow, PartWriter
from parquet_bloomwriter.index.log.entry import State
from parquet_bloomwriter.index.log.transaction import at_rest, looking_at, perform
from parquet_bloomwriter.index.log.vacuum import is_intact
from parquet_bloomwriter.source.local import open_local

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow.parquet as pq
    from numpy.typing import NDArray

    from parquet_bloomwriter.index.log.entry import Entry, IndexFile
    from parquet_bloomwriter.index.log.log import IndexLog
    from parquet_bloomwriter.index.log.transaction import Work
    from parquet_bloomwriter.index.report import IndexReport

LARGE = 64 << 20
"""Bytes of a part that is not worth joining with others."""

TARGET = LARGE
"""Bytes of filters that a new part has at least, but the last. Not less than `LARGE`: else it would
be joined again."""

_REMEDY = "Refresh the index in full."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Old:
    """One part as it is."""

    file: IndexFile
    first_id: int
    """Smallest id of a file that it has filters of and that is known; -1: there is none."""

    num_dead: int
    """Filters of files that are not known any more."""

    @property
    def is_settled(self) -> bool:
        """Whether it stays as it is, whatever else there is."""
        return self.num_dead == 0 and self.file.size >= LARGE


def optimize_index(log: IndexLog) -> IndexReport:
    """Do what `actions.optimize` says."""
    rest = at_rest(log)
    stable = existing(log, rest, states=frozenset({State.ACTIVE}), to="optimized")
    with looking_at(log, rest):
        if not is_intact(log.folder, stable):
            problem = "some files of the index are gone, or not as they were written"
            raise IndexProblem(problem, path=log.folder, remedy="Refresh it in full.")
        known = known_files(stable, log.folder).ids
        plan = {one.name: _to_join(log.folder, one.parts, known) for one in stable.columns}
    if not any(plan.values()):
        return report_of(log, stable, action="optimize", changed=False)

    def op(work: Work) -> Entry:
        columns = []
        for column in stable.columns:
            work.check_not_cancelled()
            old = plan[column.name]
            replaced = {one.file for one in old}
            stay = [part for part in column.parts if part not in replaced]
            rows = _rows(log.folder, old, known)
            columns.append(replace(column, parts=(*stay, *_written(work, column.name, rows))))
        entry = replace(
            work.begun, state=State.ACTIVE, version=work.version, columns=tuple(columns)
        )
        sweep(work, entry)
        return entry

    begin = replace(stable, state=State.OPTIMIZING, action="optimize")
    entry = perform(log, rest, begin, op)
    num_parts = [sum(len(one.parts) for one in version.columns) for version in (stable, entry)]
    note = f"{num_parts[0]} parts became {num_parts[1]}"
    return report_of(log, entry, action="optimize", changed=True, notes=(note,))


def _to_join(folder: str, parts: Iterable[IndexFile], known: NDArray[np.int64]) -> list[_Old]:
    """Choose the parts of a column to write anew, in the order of their files."""
    old = [_look_at(folder, part, known) for part in parts]
    loose = sorted((one for one in old if not one.is_settled), key=lambda one: one.first_id)
    worth_it = len(loose) > 1 or any(one.num_dead for one in loose)
    return loose if worth_it else []


def _look_at(folder: str, part: IndexFile, known: NDArray[np.int64]) -> _Old:
    with _opened(folder, part) as file:
        ids = file.read(columns=[names.FILE_ID])[names.FILE_ID].to_numpy()
    live = ids[_are_among(ids, known)]
    first_id = int(live.min()) if len(live) else -1
    return _Old(file=part, first_id=first_id, num_dead=len(ids) - len(live))


def _rows(folder: str, parts: Iterable[_Old], known: NDArray[np.int64]) -> Iterator[PartRow]:
    """Read the filters of known files, part by part."""
    import pyarrow as pa

    for part in parts:
        with _opened(folder, part.file) as file:
            for number in range(file.num_row_groups):
                table = file.read_row_group(number)
                is_live = _are_among(table[names.FILE_ID].to_numpy(), known)
                yield from map(_row, table.filter(pa.array(is_live)).to_pylist())


def _row(found: dict[str, Any]) -> PartRow:
    return PartRow(
        file_id=found[names.FILE_ID],
        file=FileId(found[names.FILE_NAME], found[names.SIZE], found[names.MODIFIED]),
        row_group=found[names.ROW_GROUP],
        column_type=found[names.TYPE],
        num_values=found[names.NUM_VALUES],
        ndv=found[names.NDV],
        data=found[names.BINARY],
    )


def _written(work: Work, column: str, rows: Iterator[PartRow]) -> Iterator[IndexFile]:
    """Write filters to as many parts as they need."""
    row = next(rows, None)
    while row is not None:
        with PartWriter(work.make_folder(), column) as writer:
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
    """Open a part with pyarrow.

    Raises:
        IndexProblem: If it is not what was written, also while it is being read.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = os.path.join(folder, part.path)
    try:
        with open_local(path) as source:
            file = pq.ParquetFile(source.for_arrow(), pre_buffer=False)
            if not file.schema_arrow.equals(names.schema()):
                raise IndexProblem("it has other columns than a part", path=path, remedy=_REMEDY)
            yield file
    except FileProblem as error:
        raise IndexProblem(error.problem, path=path, remedy=_REMEDY) from error
    except (pa.ArrowException, KeyError, UnicodeError) as error:
        problem = f"the part cannot be read: {' '.join(str(error).split())}"
        raise IndexProblem(problem, path=path, remedy=_REMEDY) from error


def _are_among(ids: NDArray[np.int64], known: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which ids are known ones."""
    found: NDArray[np.bool_] = np.isin(ids, known)
    return found
