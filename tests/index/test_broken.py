"""Whatever is broken in an index, every file might match, and there is a reason."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter.index.log.log import IndexLog
from parquet_bloomwriter.index.query.snapshot import Snapshot, SnapshotCache, open_snapshot
from parquet_bloomwriter.index.report import Code, Reason
from parquet_bloomwriter.predicate import parse
from tests.index.damage import (
    cut,
    emptied,
    garbled,
    lengthened,
    made_a_folder,
    unlinked,
    zeroed,
)
from tests.index.support import (
    Column,
    Made,
    Row,
    filled,
    hashes,
    make,
    many,
    of,
    part_table,
    small_index,
    write_part,
)


@pytest.fixture
def index(tmp_path: Path) -> Made:
    return small_index(tmp_path)


@pytest.mark.parametrize(
    "damage", [unlinked, cut, emptied, garbled, zeroed, lengthened, made_a_folder]
)
@pytest.mark.parametrize("which", range(4))
@pytest.mark.parametrize("is_open", [False, True])
def test_whatever_is_broken_every_file_might_match(
    tmp_path: Path,
    damage: object,
    which: int,
    is_open: bool,  # noqa: FBT001
) -> None:
    rows = [Row(file_id=i, filter=of(i)) for i in range(40)]
    column = Column(parts=[[rows[:20]], [rows[20:]]], whole=of(*range(40)))
    index = make(tmp_path / "ids", {"id": column}, file_ids=range(40))
    snapshot = index.snapshot()
    if is_open:
        assert np.count_nonzero(snapshot.might_match(parse("id = 1"))) == 1
    path = Path(index.paths()[which])
    damage(path)  # type: ignore[operator]
    might = snapshot.might_match(parse("id = 1"))
    if which == 0:  # The manifest is in memory.
        assert snapshot.problem is None
        assert np.count_nonzero(might) == 1
    else:
        assert isinstance(snapshot.problem, Reason)
        assert snapshot.problem.code is Code.INDEX_BROKEN
        assert path.name in snapshot.problem.text
        assert might.all()
        opened = open_snapshot(index.folder)
        assert isinstance(opened, Snapshot)
        assert opened is not snapshot
        assert opened.might_match(parse("id = 1")).all()
    fresh = SnapshotCache()
    assert fresh.get(index.folder) is None


@pytest.mark.parametrize("damage", [unlinked, cut, emptied, garbled, lengthened, made_a_folder])
def test_a_broken_manifest_is_a_reason(index: Made, damage: object) -> None:
    path = Path(index.paths()[0])
    damage(path)  # type: ignore[operator]
    found = open_snapshot(index.folder)
    assert isinstance(found, Reason)
    assert found.code is Code.INDEX_BROKEN
    assert path.name in found.text


@pytest.mark.parametrize("damage", [cut, emptied, garbled, zeroed])
def test_a_broken_log_is_a_reason(index: Made, damage: object) -> None:
    damage(Path(index.folder, "_log", "0"))  # type: ignore[operator]
    found = open_snapshot(index.folder)
    assert isinstance(found, Reason)
    assert found.code is Code.INDEX_BROKEN


def test_parts_of_other_files_are_broken(tmp_path: Path) -> None:
    index = make(
        tmp_path / "ids",
        {"id": Column(parts=[[[Row(file_id=0, filter=of(5))]]])},
        file_ids=[0],
    )
    table = part_table([Row(file_id=0, filter=of(5))])
    place = table.schema.get_field_index("modificationTime")
    moved = table.set_column(place, table.schema.field(place), [[7]])
    path = Path(index.paths()[1])
    write_part(str(path), [moved])
    part = replace(index.entry.columns[0].parts[0], size=path.stat().st_size)
    column = replace(index.entry.columns[0], parts=(part,))
    IndexLog(index.folder).write(replace(index.entry, id=1, columns=(column,)))
    snapshot = index.snapshot()
    assert snapshot.might_match(parse("id = 6")).all()
    assert snapshot.problem is not None
    assert "other files" in snapshot.problem.text


def test_unreadable_types_are_broken(tmp_path: Path) -> None:
    index = make(
        tmp_path / "ids",
        {"id": Column(parts=[[[Row(file_id=0, filter=of(5))]]])},
        file_ids=[0],
    )
    table = part_table([Row(file_id=0, filter=of(5))])
    place = table.schema.get_field_index("columnType")
    path = Path(index.paths()[1])
    write_part(str(path), [table.set_column(place, table.schema.field(place), [["{}"]])])
    part = replace(index.entry.columns[0].parts[0], size=path.stat().st_size)
    column = replace(index.entry.columns[0], parts=(part,))
    IndexLog(index.folder).write(replace(index.entry, id=1, columns=(column,)))
    snapshot = index.snapshot()
    assert snapshot.could_exclude(parse("id = 6")) is False
    assert snapshot.might_match(parse("id = 6")).all()
    assert snapshot.problem is not None
    assert snapshot.problem.code is Code.INDEX_BROKEN


def test_an_endless_predicate_is_no_error(index: Made) -> None:
    predicate = parse("id = 1")
    for _ in range(100_000):
        predicate = type(parse("NOT (id > 1)"))(predicate)  # type: ignore[call-arg, arg-type]
    snapshot = index.snapshot()
    assert snapshot.might_match(predicate).all()
    assert snapshot.problem is not None
    assert snapshot.problem.code is Code.INTERNAL_ERROR


def test_another_manifest_is_not_the_one_that_was_written(index: Made) -> None:
    """It can be read, but its size is not the one in the log."""
    path = Path(index.paths()[0])
    table = pq.read_table(path)
    pq.write_table(table.slice(0, 3), path)
    assert path.stat().st_size != index.entry.manifest.size  # type: ignore[union-attr]
    found = open_snapshot(index.folder)
    assert isinstance(found, Reason)
    assert found.code is Code.INDEX_BROKEN
    assert path.name in found.text


def test_another_global_filter_is_not_the_one_that_was_written(tmp_path: Path) -> None:
    """The file is a Bloom filter, but has none of the values of the files."""
    index = many(tmp_path, of(*range(40)), stop=40)
    path = Path(index.paths()[-1])
    assert path.suffix == ".bloom"
    path.write_bytes(filled(32, hashes(7, 1)).to_bytes())
    for opened in (index.snapshot(), index.snapshot()):
        assert opened.might_match(parse("id = 1")).all()
        assert isinstance(opened.problem, Reason)
        assert path.name in opened.problem.text
    found = index.snapshot().join_filter("id", np.ones(40, np.bool_))
    assert isinstance(found, Reason)
    assert path.name in found.text
