"""Random tables, indexes and predicates: no file that is excluded holds a row that is asked for."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from parquet_bloomwriter import index
from parquet_bloomwriter.index.query.snapshot import Snapshot, open_snapshot
from parquet_bloomwriter.predicate import parse
from parquet_bloomwriter.sbbf import Sbbf
from parquet_bloomwriter.sbbf.union import united
from parquet_bloomwriter.verbs.bloom_file import BloomFile
from tests.index.support import Column, Row, make
from tests.support.binding import leaves_in
from tests.support.random_tables import RandomFile, conjunctions, expressions, files, schemas

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from parquet_bloomwriter.index.actions.refresh import Mode
    from parquet_bloomwriter.index.engine import Origin
    from parquet_bloomwriter.predicate import Filters
    from tests.support.random_tables import Column as TableColumn

pytestmark = pytest.mark.shares


def filters_in(file: RandomFile, column: TableColumn, file_id: int) -> list[Row] | None:
    """The filters that a file has of a column, by row groups; None if they are not all there."""
    leaf = next(leaf for leaf in leaves_in(file.data) if leaf.path == column.path)
    rows = []
    values = file.table[column.path[0]]
    for name in column.path[1:]:
        values = pc.struct_field(values, name)
    with BloomFile(file.data) as bloom:
        for group in range(bloom.num_row_groups):
            start = group * file.row_group_size
            part = values.slice(start, file.row_group_size)
            found = bloom.filter(group, column.name) if part.null_count < len(part) else None
            if found is None and part.null_count < len(part):
                return None
            rows.append(Row(file_id=file_id, filter=found, row_group=group, leaf=leaf))
    return rows or None


def joined(rows: list[Row]) -> Row:
    """One filter of the whole file."""
    held = [row.filter.blocks for row in rows if row.filter is not None]
    union = united(held, max(map(len, held)), limit=2.0) if held else None
    filter_ = None if union is None else Sbbf(union)
    return Row(file_id=rows[0].file_id, filter=filter_, leaf=rows[0].leaf)


def indexed(
    folder: Path,
    made: Sequence[RandomFile],
    columns: Sequence[TableColumn],
    rng: np.random.Generator,
) -> Snapshot:
    """Index some columns, each file by row groups or as a whole, in parts of any order."""
    by_column = {}
    for column in columns:
        parts: list[list[list[Row]]] = [[[], []] for _ in range(3)]
        for file_id in rng.permutation(len(made)).tolist():
            rows = filters_in(made[file_id], column, file_id)
            if rows is None:
                continue
            rows = rows if rng.random() < 0.5 else [joined(rows)]
            parts[rng.integers(3)][rng.integers(2)] += rows
        by_column[column.name] = Column(parts=parts)
    ids = rng.permutation(len(made)).tolist()
    return make(folder / "ids", by_column, file_ids=ids).snapshot()


def holds_any(file: RandomFile, filters: Filters) -> bool:
    try:
        return bool(pq.read_table(io.BytesIO(file.data), filters=filters).num_rows)
    except pa.ArrowNotImplementedError:  # some types cannot be compared
        return False


def check(snapshot: Snapshot, made: Sequence[RandomFile], filters: Filters) -> None:
    asked = parse(filters)
    might = snapshot.might_match(asked)
    assert snapshot.problem is None
    for file_id, kept in zip(snapshot.files.ids.tolist(), might.tolist(), strict=True):
        assert kept or not holds_any(made[file_id], filters)
    assert might.all() or snapshot.could_exclude(asked)
    event(f"excluded some: {not might.all()}")


def truth_in(snapshot: Snapshot, made: Mapping[str, RandomFile], filters: Filters) -> None:
    """Hold an index of files on disk against them."""
    might = snapshot.might_match(parse(filters))
    assert snapshot.problem is None
    for path, kept in zip(snapshot.files.paths.to_pylist(), might.tolist(), strict=True):
        assert kept or path not in made or not holds_any(made[path], filters)
    event(f"excluded some: {not might.all()}")


def opened(home: str) -> Snapshot:
    found = open_snapshot(home)
    assert isinstance(found, Snapshot), found
    return found


@settings(max_examples=8)
@given(data=st.data(), origin=st.sampled_from(["values", "embedded", "auto"]))
def test_indexes_of_real_files_hold_what_is_in_them(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, origin: Origin
) -> None:
    """Made, and brought up to date after files were added, removed and replaced."""
    table = tmp_path_factory.mktemp("table")
    columns = data.draw(schemas())
    names = [one.name for one in columns if one.type not in (pa.bool_(), pa.float16())]
    assume(names)
    made: dict[str, RandomFile] = {}

    def write(number: int) -> None:
        name = f"{number}.parquet"
        made[name] = data.draw(files(columns))
        (table / name).write_bytes(made[name].data)

    def check_now() -> None:
        filters = data.draw(st.one_of(conjunctions(columns), expressions(columns)))
        truth_in(opened(str(table / "_bloom_index" / "ids")), made, filters)

    for number in range(data.draw(st.integers(1, 4))):
        write(number)
    index.create(table, names, name="ids", origin=origin)
    check_now()
    check_now()
    write(0)
    write(7)
    mode: Mode = data.draw(st.sampled_from(["full", "incremental", "quick"]))
    index.refresh(table, name="ids", mode=mode)
    check_now()
    index.optimize(table, name="ids")
    check_now()


@settings(max_examples=25)
@given(data=st.data())
def test_excluded_files_hold_no_row_that_is_asked_for(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    columns = data.draw(schemas())
    made = data.draw(st.lists(files(columns), min_size=1, max_size=5))
    usable = [one for one in columns if one.type != pa.bool_()]
    rng = np.random.default_rng(data.draw(st.integers(0, 1 << 32)))
    snapshot = indexed(tmp_path_factory.mktemp("table"), made, usable, rng)
    for _ in range(3):
        check(snapshot, made, data.draw(st.one_of(conjunctions(columns), expressions(columns))))
