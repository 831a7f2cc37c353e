"""Slices give the answers of the parts, or leave them to the parts."""

from __future__ import annotations

import itertools
import tempfile
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parquet_bloomwriter.hashing import xxh64
from parquet_bloomwriter.index.format import slice_file
from parquet_bloomwriter.index.log.log import IndexLog
from parquet_bloomwriter.index.query import probe, sliced, snapshot
from parquet_bloomwriter.index.query.snapshot import Snapshot
from parquet_bloomwriter.index.report import Code
from parquet_bloomwriter.predicate import parse
from parquet_bloomwriter.sbbf import Sbbf
from tests.index.damage import cut, garbled, lengthened, made_a_folder, unlinked, zeroed
from tests.index.sliced import with_slices
from tests.index.support import INT32, INT64, TEXT, Column, Made, Row, filled, make, of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from parquet_bloomwriter.metadata import Leaf
    from parquet_bloomwriter.predicate.expression import Expression

VALUES = range(24)


def plain_of(value: int, leaf: Leaf) -> bytes:
    if leaf is TEXT:
        return str(value).encode()
    return value.to_bytes(4 if leaf is INT32 else 8, "little")


def hashed(values: Sequence[int], leaf: Leaf) -> np.ndarray:
    return np.array([xxh64(plain_of(value, leaf)) for value in values], np.uint64)


@st.composite
def rows_of_file(draw: st.DrawFn, file_id: int, leaves: Sequence[Leaf]) -> list[Row]:
    """The filters of one file: of all of it, of its row groups, or none that can be relied on."""
    leaf = draw(st.sampled_from(leaves))
    shape = draw(st.sampled_from(["whole"] * 6 + ["groups", "groups", "gap", "none"]))
    if shape == "none":
        return []
    count = 1 if shape == "whole" else draw(st.integers(1, 3))
    found = []
    for number in range(count):
        values = draw(st.lists(st.sampled_from(VALUES), max_size=4))
        size = draw(st.sampled_from([1, 1, 1, 2, 2, 5]))
        group = {"whole": -1, "groups": number, "gap": number + 1}[shape]
        full = filled(size, hashed(values, leaf)) if values else None
        found.append(Row(file_id=file_id, filter=full, row_group=group, leaf=leaf, ndv=9))
    return found


@st.composite
def columns(draw: st.DrawFn, ids: range, leaves: Sequence[Leaf]) -> list[list[Row]]:
    """The parts of a column."""
    of_files = [draw(rows_of_file(file_id, leaves)) for file_id in ids]
    cuts = sorted(draw(st.lists(st.integers(0, len(ids)), max_size=2)))
    bounds = [0, *cuts, len(ids)]
    parts = (of_files[a:b] for a, b in itertools.pairwise(bounds))
    joined = ([row for rows in part for row in rows] for part in parts)
    return [part for part in joined if part]


CONDITIONS = st.recursive(
    st.one_of(
        st.builds("{} = {}".format, st.sampled_from("aab"), st.sampled_from([*VALUES, 3000000000])),
        st.builds(
            lambda name, values: f"{name} IN ({', '.join(map(str, values))})",
            st.sampled_from("aab"),
            st.lists(st.sampled_from(VALUES), min_size=1, max_size=20),
        ),
        st.sampled_from(["a <> 3", "b > 2", "a = 2.5", "other = 1", "b IS NULL"]),
    ),
    lambda inner: st.one_of(
        st.builds("({} AND {})".format, inner, inner),
        st.builds("({} OR {})".format, inner, inner),
        st.builds("NOT ({})".format, inner),
    ),
    max_leaves=5,
)


@st.composite
def indexes(draw: st.DrawFn) -> dict[str, Any]:
    """An index, what is added to and removed from it after its slices were written."""
    leaves = draw(st.sampled_from([(INT64,), (INT64, INT32)]))
    count, more = draw(st.integers(1, 30)), draw(st.integers(0, 6))
    first, last = range(10, 10 + count), range(10 + count, 10 + count + more)
    names = draw(st.sampled_from(["a", "ab"]))
    like_first = draw(st.booleans())
    old: dict[str, list[list[Row]]] = {}
    new: dict[str, list[list[Row]]] = {}
    for name in names:
        is_copy = name != "a" and like_first
        old[name] = old["a"] if is_copy else draw(columns(first, leaves))
        new[name] = draw(columns(last, leaves))
    whole: dict[str, tuple[Sbbf, int]] = {}
    for name in names:
        if draw(st.booleans()):
            stop = draw(st.integers(9, last.stop))
            union = Sbbf.empty(64)
            for leaf in (INT64, INT32):
                union.insert_hashes(hashed(draw(st.permutations(VALUES))[:20], leaf))
            for part in (*old[name], *new[name]):
                for row in part:
                    if row.file_id < stop and row.filter is not None:
                        inside = [v for v in VALUES if holds(row, v)]
                        union.insert_hashes(hashed(inside, row.leaf))
            whole[name] = (union, stop)
    gone = draw(st.sets(st.sampled_from([*first, *last]), max_size=3))
    return {
        "first": [*first],
        "last": sorted({*first, *last} - gone),
        "old": old,
        "new": new,
        "whole": whole,
        "least": draw(st.integers(1, 6)),
    }


def holds(row: Row, value: int) -> bool:
    return row.filter is not None and bool(row.filter.check_hashes(hashed([value], row.leaf))[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """An index whose slices are older than it, and the same without slices."""

    sliced: Snapshot
    plain: Snapshot


def built(folder: Path, found: dict[str, Any]) -> Changed:
    """Write an index and its slices; then add and remove files."""

    def column(name: str, parts: list[list[Row]]) -> Column:
        filter_, stop = found["whole"].get(name, (None, 0))
        return Column(parts=[[part] for part in parts], whole=filter_, stop=stop)

    index = make(
        folder,
        {name: column(name, parts) for name, parts in found["old"].items()},
        file_ids=found["first"],
    )
    index = with_slices(index)
    later = make(
        folder,
        {name: column(name, parts) for name, parts in found["new"].items()},
        file_ids=found["last"],
        entry_id=2,
        version=2,
    )
    columns = [
        replace(new, parts=(*old.parts, *new.parts), slices=old.slices)
        for old, new in zip(index.entry.columns, later.entry.columns, strict=True)
    ]
    next_file_id = max(index.entry.next_file_id, later.entry.next_file_id)
    entry = replace(later.entry, id=3, columns=tuple(columns), next_file_id=next_file_id)
    without = tuple(replace(one, slices=None) for one in columns)
    assert IndexLog(str(folder)).write(entry)
    return Changed(
        sliced=Snapshot(entry, str(folder)),
        plain=Snapshot(replace(entry, columns=without), str(folder)),
    )


def answers(opened: Snapshot, expression: Expression) -> tuple[list[bool], bool]:
    might, could = opened.might_match(expression), opened.could_exclude(expression)
    assert opened.problem is None, opened.problem
    return might.tolist(), could


USED: Counter[bool] = Counter()


@pytest.fixture(scope="module", autouse=True)
def small_groups() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(probe, "_FEW_FILTERS", 0)
        yield
    assert not USED or USED[True] > USED[False] / 10


@settings(max_examples=15)
@given(indexes(), st.lists(CONDITIONS, min_size=1, max_size=8))
def test_slices_give_the_answers_of_the_parts(found: dict[str, Any], asked: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(slice_file, "MIN_FILTERS", found["least"])
        index = built(Path(folder, "ids"), found)
        for predicate in asked:
            expression = parse(predicate)
            expected = answers(index.plain, expression)
            assert answers(index.sliced, expression) == expected, predicate
            files = index.sliced.matching_files(expression)
            USED[files is not None] += 1
            if files is not None:
                known = index.plain.files.identities()
                matching = [file for file, might in zip(known, expected[0], strict=True) if might]
                assert sorted(files) == sorted(matching)


NUM_FILES = 300


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    """Files 0 to 299 in groups of two sizes; every seventh has no filter."""
    monkeypatch.setattr(slice_file, "MIN_FILTERS", 10)
    rows = [Row(file_id=i, filter=filled(4 + i % 2, hashed([i], INT64))) for i in range(NUM_FILES)]
    rows = [row for row in rows if row.file_id % 7]
    column = Column(parts=[[rows[:100]], [rows[100:]]])
    return with_slices(make(tmp_path / "ids", {"id": column}, file_ids=range(NUM_FILES)))


def kept(index: Made, predicate: str, *, problem: Code | None = None) -> list[int]:
    opened = snapshot.open_snapshot(index.folder)
    assert isinstance(opened, Snapshot)
    might = opened.might_match(parse(predicate))
    assert (opened.problem and opened.problem.code) == problem
    return [int(one) for one in opened.files.ids[might]]


EXPECTED = sorted({150, *range(0, NUM_FILES, 7)})


def refuse(*_: object) -> Any:  # noqa: ANN401  never returns
    raise AssertionError


def test_neither_manifest_nor_parts_are_read(index: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = snapshot.open_snapshot(index.folder, with_files=False)
    assert isinstance(opened, Snapshot)
    monkeypatch.setattr(snapshot, "read_manifest", refuse)
    monkeypatch.setattr(probe, "read_part", refuse)
    found = opened.matching_files(parse("id = 150"))
    assert opened.problem is None
    assert found is not None
    assert [file.size - 1000 for file in found] == EXPECTED


def test_eight_rows_are_read_for_a_value(index: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[int] = []
    read = slice_file.SliceReader.rows

    def counting(self: Any, source: Any, group: Any, numbers: Any) -> Any:  # noqa: ANN401
        rows.extend(numbers)
        return read(self, source, group, numbers)

    monkeypatch.setattr(slice_file.SliceReader, "rows", counting)
    assert kept(index, "id = 150") == EXPECTED
    assert len(rows) == 16  # two groups
    assert sorted(row % 256 // 32 for row in rows) == sorted([*range(8)] * 2)


def test_values_are_hashed_and_asked_once_for_all_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not for each of 20 groups: a list of values may be long."""
    monkeypatch.setattr(slice_file, "MIN_FILTERS", 10)
    rows = [Row(file_id=i, filter=filled(1 + i % 20, hashed([i], INT64))) for i in range(400)]
    whole = filled(64, hashed(range(400), INT64))
    column = Column(parts=[[rows]], whole=whole)
    made = with_slices(make(tmp_path / "ids", {"id": column}, file_ids=range(400)))
    calls: Counter[str] = Counter()
    for name in ("condition_of", "might_hold"):
        place = f"parquet_bloomwriter.index.query.sliced.{name}"
        monkeypatch.setattr(place, counting(calls, name, getattr(sliced, name)))
    assert 7 in kept(made, "id IN (7, 9)")
    assert calls == {"condition_of": 1, "might_hold": 1}
    calls.clear()
    opened = snapshot.open_snapshot(made.folder)
    assert isinstance(opened, Snapshot)
    assert not opened.could_exclude(parse("id <> 7"))
    assert calls == {"condition_of": 1}


def counting(calls: Counter[str], name: str, do: Callable[..., Any]) -> Callable[..., Any]:
    def counted(*arguments: object) -> object:
        calls[name] += 1
        return do(*arguments)

    return counted


def pages_zeroed(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(32)
        file.write(bytes(100_000))


DAMAGES = [unlinked, cut, garbled, zeroed, lengthened, made_a_folder, pages_zeroed]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("is_open", [False, True])
def test_damaged_slices_leave_the_answer_to_the_parts(
    index: Made,
    damage: Callable[[Path], None],
    is_open: bool,  # noqa: FBT001
) -> None:
    slices = index.entry.columns[0].slices
    assert slices is not None
    if is_open:
        assert kept(index, "id = 150") == EXPECTED
    damage(Path(index.folder, slices.file.path))
    assert kept(index, "id = 150", problem=Code.INDEX_BROKEN) == EXPECTED
    assert kept(index, "id IN (150, 151)", problem=Code.INDEX_BROKEN) == sorted({*EXPECTED, 151})


def test_slices_of_other_parts_are_not_used(index: Made) -> None:
    (column,) = index.entry.columns
    other = replace(column, parts=(column.parts[0], replace(column.parts[1], size=7)))
    entry = replace(index.entry, id=9, columns=(other,))
    assert IndexLog(index.folder).write(entry)
    opened = snapshot.open_snapshot(index.folder)
    assert isinstance(opened, Snapshot)
    assert opened.might_match(parse("id = 150")).all()
    assert opened.problem is not None


def test_slices_of_another_index_are_not_used(index: Made, tmp_path: Path) -> None:
    some = [i for i in range(NUM_FILES) if i % 7]
    rows = [Row(file_id=i, filter=filled(4 + i % 2, hashed([i + 1], INT64))) for i in some]
    column = Column(parts=[[rows[:100]], [rows[100:]]])
    other = with_slices(make(tmp_path / "x", {"id": column}, file_ids=range(NUM_FILES)))
    mine, theirs = (one.entry.columns[0].slices for one in (index, other))
    assert mine is not None
    assert theirs is not None
    content = Path(other.folder, theirs.file.path).read_bytes()
    Path(index.folder, mine.file.path).write_bytes(content)
    assert kept(index, "id = 150", problem=Code.INDEX_BROKEN) == EXPECTED


@pytest.mark.parametrize("is_changed", [False, True])
def test_slices_and_a_manifest_of_other_files_exclude_nothing(
    index: Made,
    is_changed: bool,  # noqa: FBT001
) -> None:
    """The manifest gives the ids of files 150 and 151 to each other, as of a second index."""
    assert index.entry.manifest is not None
    path = Path(index.folder, index.entry.manifest.path)
    table = pq.read_table(path)
    order = [*range(150), 151, 150, *range(152, NUM_FILES)]
    if is_changed:
        order.pop()
    swapped = table.take(order).set_column(0, table.schema.field(0), table["fileId"][: len(order)])
    pq.write_table(swapped, path)
    manifest = replace(index.entry.manifest, size=path.stat().st_size)
    entry = replace(index.entry, id=9, manifest=manifest, num_files=len(order))
    assert IndexLog(index.folder).write(entry)
    assert kept(index, "id = 150", problem=Code.INDEX_BROKEN) == [*range(len(order))]
    if is_changed:
        opened = Snapshot(entry, index.folder)
        assert opened.matching_files(parse("id = 150")) is None
        assert opened.problem is not None


def test_lists_are_shared_among_threads(index: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parquet_bloomwriter.index.query.sliced._MANY_BYTES", 0)
    monkeypatch.setattr("parquet_bloomwriter.index.query.sliced.default_jobs", lambda: 3)
    wanted = [1, 2, 3, 150, 299]
    predicate = f"id IN ({', '.join(map(str, wanted))})"
    assert kept(index, predicate) == sorted({*wanted, *range(0, NUM_FILES, 7)})


def test_an_older_filter_of_all_values_speaks_of_older_files_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slice_file, "MIN_FILTERS", 10)
    rows = [Row(file_id=i, filter=of(7)) for i in range(60)]
    column = Column(parts=[[rows]], whole=of(1), stop=50)  # a filter that is wrong shows its use
    made = with_slices(make(tmp_path / "ids", {"id": column}, file_ids=range(60)))
    assert kept(made, "id = 7") == [*range(50, 60)]
