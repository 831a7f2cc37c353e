"""One filter of all values that a relation has of a column."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_bloomwriter.index.query import join_filter
from parquet_bloomwriter.index.query.join_filter import JoinFilter
from parquet_bloomwriter.index.report import Code, Reason
from parquet_bloomwriter.metadata import Repetition
from parquet_bloomwriter.sbbf import Sbbf
from tests.index.support import INT32, INT64, Column, Made, Row, filled, hashes, make
from tests.support.binding import bare_leaf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

FILES = 6
VALUES = [hashes(i, 40) for i in range(FILES)]
"""In each file; in the last there are none."""


def all_of(numbers: Sequence[int]) -> NDArray[np.uint64]:
    return np.concatenate([VALUES[i] for i in numbers] or [VALUES[0][:0]])


def rows(num_blocks: int = 8, *, split: Sequence[int] = ()) -> list[Row]:
    found = []
    for i in range(FILES - 1):
        halves = [VALUES[i][:20], VALUES[i][20:]] if i in split else [VALUES[i]]
        for group, half in enumerate(halves):
            row_group = group if i in split else -1
            one = filled(num_blocks, half)
            found.append(Row(file_id=i, filter=one, row_group=row_group, ndv=len(half)))
    return [*found, Row(file_id=FILES - 1, filter=None, ndv=0)]


def index_of(folder: Path, found: Sequence[Row], *, stop: int | None, num_blocks: int = 64) -> Made:
    whole = None if stop is None else filled(num_blocks, all_of(range(min(stop, FILES - 1))))
    column = Column(parts=[[found]], whole=whole, stop=stop or 0, ndv=160)
    return make(folder / "ids", {"id": column}, file_ids=range(FILES))


def ask(index: Made, present: Sequence[int], extra: Sequence[Sbbf] = ()) -> tuple[JoinFilter, Sbbf]:
    snapshot = index.snapshot()
    made = snapshot.join_filter("id", np.isin(np.arange(FILES), present), extra)
    assert isinstance(made, JoinFilter), made
    assert snapshot.problem is None
    filter_ = Sbbf.from_bytes(made.data)
    assert made.fpp == filter_.exact_fpp()
    return made, filter_


def refusal(index: Made, present: Sequence[int], column: str = "id") -> Reason:
    found = index.snapshot().join_filter(column, np.isin(np.arange(FILES), present))
    assert isinstance(found, Reason)
    return found


EVERYTHING = range(FILES)


def test_the_global_filter_is_taken_as_it_is(tmp_path: Path) -> None:
    index = index_of(tmp_path, rows(), stop=FILES)
    made, _ = ask(index, EVERYTHING)
    assert made.data == Path(index.paths()[-1]).read_bytes()
    assert made == JoinFilter(data=made.data, fpp=made.fpp, ndv=160, leaf=INT64, origin="global")


def test_few_files_are_told_better_by_their_own_filters(tmp_path: Path) -> None:
    index = index_of(tmp_path, rows(64), stop=FILES)
    made, filter_ = ask(index, [2, 5])
    assert filter_ == filled(64, VALUES[2])
    assert (made.origin, made.ndv, made.leaf) == ("files", 40, INT64)


def test_new_files_bring_their_own_filters_in(tmp_path: Path) -> None:
    index = index_of(tmp_path, rows(split=[4]), stop=3)
    made, filter_ = ask(index, EVERYTHING)
    assert (made.origin, made.ndv) == ("global and files", 120 + 80)
    assert filter_.num_blocks == 64
    assert filter_.contains_all(all_of(range(5)))


def test_new_files_that_are_not_read_do_not_matter(tmp_path: Path) -> None:
    index = index_of(tmp_path, rows(), stop=3)
    made, _ = ask(index, [0, 1, 2])
    assert made.origin == "global"


def test_new_files_without_values_do_not_matter(tmp_path: Path) -> None:
    index = index_of(tmp_path, rows(), stop=FILES - 1)
    assert ask(index, EVERYTHING)[0].origin == "global"


def test_without_a_global_filter_the_files_have_their_own(tmp_path: Path) -> None:
    index = index_of(tmp_path, rows(64), stop=None)
    made, filter_ = ask(index, EVERYTHING)
    assert (made.origin, made.ndv) == ("files", 200)
    assert filter_ == filled(64, all_of(range(5)))


def test_files_without_values_leave_nothing_to_join(tmp_path: Path) -> None:
    made, filter_ = ask(index_of(tmp_path, rows(), stop=None), [FILES - 1])
    assert not filter_.blocks.any()
    assert (made.origin, made.ndv, made.fpp) == ("files", 0, 0)


def test_filters_of_unknown_files_are_taken_in(tmp_path: Path) -> None:
    more = hashes(99, 30)
    index = index_of(tmp_path, rows(), stop=FILES)
    for blocks in (2, 64, 256):
        made, filter_ = ask(index, EVERYTHING, [filled(blocks, more)])
        assert made.origin == "global and files"
        assert filter_.contains_all(np.concatenate([more, all_of(range(5))]))
        assert filter_.num_blocks == max(blocks, 64)
        assert 160 + 25 < made.ndv < 160 + 45
    assert not ask(index, EVERYTHING)[1].contains_all(more)


def test_too_full_filters_are_none(tmp_path: Path) -> None:
    found = refusal(index_of(tmp_path, rows(2), stop=None), EVERYTHING)
    assert found.code is Code.NO_GLOBAL_FILTER
    assert "id" in found.text
    stale = refusal(index_of(tmp_path / "stale", rows(1), stop=3), EVERYTHING)
    assert stale.code is Code.NO_GLOBAL_FILTER
    assert "added" in stale.text
    full = refusal(index_of(tmp_path / "full", rows(1), stop=FILES, num_blocks=2), EVERYTHING)
    assert full.code is Code.NO_GLOBAL_FILTER
    assert "%" in full.text


@pytest.mark.parametrize(
    ("limit", "value"), [("_MAX_FILTERS", 1), ("_MAX_FILTER_BYTES", 500), ("_MAX_FILES", 0)]
)
def test_the_work_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    monkeypatch.setattr(join_filter, limit, value)
    index = index_of(tmp_path, rows(64), stop=FILES)
    assert ask(index, [0, 1])[0].origin == "global"
    stale = index_of(tmp_path / "stale", rows(8), stop=3)
    if limit == "_MAX_FILES":
        assert ask(stale, EVERYTHING)[0].origin == "global and files"
    else:
        assert refusal(stale, EVERYTHING).code is Code.NO_GLOBAL_FILTER


def test_a_file_without_a_filter_leaves_everything_open(tmp_path: Path) -> None:
    found = rows()
    index = index_of(tmp_path, found[:2] + found[3:], stop=FILES)
    reason = refusal(index, EVERYTHING)
    assert reason.code is Code.NO_GLOBAL_FILTER
    assert "1 files" in reason.text
    assert ask(index, [0, 1, 3])[0].origin == "global"


def test_types_must_be_the_same(tmp_path: Path) -> None:
    required = bare_leaf(INT64.physical_type, name="ID", repetition=Repetition.REQUIRED)
    kinds = [INT64, INT64, INT32, INT64, required, INT32]
    found = [
        Row(file_id=row.file_id, filter=row.filter, ndv=row.ndv, leaf=leaf)
        for row, leaf in zip(rows(), kinds, strict=True)
    ]
    index = index_of(tmp_path, found, stop=FILES)
    assert refusal(index, EVERYTHING).code is Code.KEY_TYPE_MISMATCH
    assert ask(index, [0, 1, 3, 4, 5])[0].leaf == INT64
    assert ask(index, [2, 5])[0].leaf == INT32


def test_other_columns_and_no_files_are_reasons(tmp_path: Path) -> None:
    index = index_of(tmp_path, rows(), stop=FILES)
    assert refusal(index, EVERYTHING, "other").code is Code.MISSING_INDEXED_COL
    assert refusal(index, []).code is Code.NO_GLOBAL_FILTER


def test_filters_are_kept_by_files(tmp_path: Path) -> None:
    snapshot = index_of(tmp_path, rows(), stop=FILES).snapshot()
    everything = np.ones(FILES, np.bool_)
    first = snapshot.join_filter("id", everything)
    before = snapshot.num_bytes_held
    assert snapshot.join_filter("id", everything.copy()) is first
    assert snapshot.num_bytes_held == before
    assert snapshot.join_filter("id", everything, [filled(2, hashes(5, 1))]) is not first
    everything[0] = False
    assert snapshot.join_filter("id", everything) is not first


@pytest.mark.parametrize("damage", ["gone", "cut", "garbled", "zeroed"])
@pytest.mark.parametrize("which", [1, 2])
def test_what_is_broken_is_a_reason(tmp_path: Path, damage: str, which: int) -> None:
    index = index_of(tmp_path, rows(), stop=3)
    path = Path(index.paths()[which])
    size = path.stat().st_size
    match damage:
        case "gone":
            path.unlink()
        case "cut":
            os.truncate(path, size - 1)
        case "garbled":
            path.write_bytes(b"\xa5" * size)
        case _:
            path.write_bytes(bytes(size))
    snapshot = index.snapshot()
    found = snapshot.join_filter("id", np.ones(FILES, np.bool_))
    assert isinstance(found, Reason)
    assert found.code is Code.INDEX_BROKEN
    assert path.name in found.text
    assert snapshot.problem is found


def test_an_empty_bitset_is_no_global_filter(tmp_path: Path) -> None:
    index = index_of(tmp_path, rows(), stop=FILES)
    Path(index.paths()[-1]).write_bytes(Sbbf.empty(64).to_bytes())
    assert refusal(index, EVERYTHING).code is Code.INDEX_BROKEN


@given(
    sizes=st.lists(st.sampled_from([1, 2, 4, 16, 64]), min_size=FILES, max_size=FILES),
    counts=st.lists(st.integers(0, 40), min_size=FILES, max_size=FILES),
    split=st.sets(st.integers(0, FILES - 1)),
    present=st.sets(st.integers(0, FILES - 1), min_size=1),
    stop=st.one_of(st.none(), st.integers(0, FILES)),
    extra=st.integers(0, 20),
)
def test_no_value_is_ever_missing(  # noqa: PLR0913, PLR0917  drawn, each by itself
    tmp_path_factory: pytest.TempPathFactory,
    sizes: list[int],
    counts: list[int],
    split: set[int],
    present: set[int],
    stop: int | None,
    extra: int,
) -> None:
    values = [hashes(i, count) for i, count in enumerate(counts)]
    found = []
    for i, (of, size) in enumerate(zip(values, sizes, strict=True)):
        for group, half in enumerate(np.array_split(of, 2) if i in split else [of]):
            one = filled(size, half) if len(half) else None
            place = group if i in split else -1
            found.append(Row(file_id=i, filter=one, row_group=place, ndv=len(half)))
    whole = None if stop is None else filled(32, np.concatenate([*values[:stop], hashes(1, 0)]))
    column = Column(parts=[[found[::2]], [found[1::2]]], whole=whole, stop=stop or 0)
    folder = tmp_path_factory.mktemp("home") / "ids"
    index = make(folder, {"id": column}, file_ids=range(FILES))
    unknown = hashes(77, extra)
    more = [filled(4, unknown)] if extra else []
    made = index.snapshot().join_filter("id", np.isin(np.arange(FILES), list(present)), more)
    if isinstance(made, JoinFilter):
        filter_ = Sbbf.from_bytes(made.data)
        assert filter_.contains_all(np.concatenate([values[i] for i in present] + [unknown]))
        assert made.fpp == filter_.exact_fpp() <= join_filter.MAX_RATE
    else:
        assert made.code is Code.NO_GLOBAL_FILTER
