"""Columns of files taken together are those of each, and what is learned stays with its file."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

from parquet_bloomwriter.compact.loop import ABSENT
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.probing.footer_cache import (
    DISTRUSTED,
    UNSEEN,
    Family,
    FilterPlaces,
    KnownFile,
    family_key,
)
from tests.support.asking import known
from tests.verbs.files import created_by, footer_of, people, with_number, without_length, written

FILTERED = {"id": {"ndv": 500}}


def table(offset: int) -> pa.Table:
    return pa.table(
        {
            "id": pa.array(range(offset, offset + 30)),
            "t": [f"{offset + i:05d}" if i % 4 else None for i in range(30)],
            "f": [float(offset + i) for i in range(30)],
        }
    )


FILES = [
    written(table(1000 * n), row_group_size=10 + 10 * (n % 2), bloom_filter_options=FILTERED)
    for n in range(4)
]


def test_a_family_s_column_is_those_of_its_files_one_after_the_other() -> None:
    files = [known(data, 0, 1, 2) for data in FILES]
    family = Family.of(files)
    assert family.rows.tolist() == [0, 3, 5, 8, 10]
    assert family.file_of.tolist() == [0, 0, 0, 1, 1, 2, 2, 2, 3, 3]
    for leaf in files[0].leaves:
        together = family.column(leaf)
        apart = [Family.of([file]).column(leaf) for file in files]
        for name in ("num_values", "num_nulls", "filter_offsets", "filter_lengths"):
            expected = np.concatenate([getattr(one, name) for one in apart])
            assert getattr(together, name).tolist() == expected.tolist()
        for name in ("low", "high", "known"):
            expected = np.concatenate([getattr(one.bounds, name) for one in apart])
            assert getattr(together.bounds, name).tolist() == expected.tolist()
    first = family.column(files[0].leaves[1])
    assert first.bounds.low.tolist()[:4] == [b"00001", b"00010", b"00021", b"01001"]
    assert first.num_nulls.tolist()[:2] == [3, 2]
    assert first.num_values.tolist() == [10, 10, 10, 20, 10, 10, 10, 10, 20, 10]


def test_what_the_footer_says_of_filters() -> None:
    data = without_length(FILES[0], (1, 0))
    footer, file = footer_of(data), known(data, 0, 1)
    column = Family.of([file]).column(file.leaves[0])
    offsets = footer.chunks.value(ChunkField.BLOOM_FILTER_OFFSET)
    assert column.filter_offsets.tolist() == offsets[:, 0].tolist()
    assert (column.filter_lengths == ABSENT).tolist() == [False, True, False]
    other = Family.of([file]).column(file.leaves[1])
    assert (other.filter_offsets == ABSENT).all()


@pytest.mark.parametrize(
    ("nulls", "values", "expected"),
    [(3, 3, True), (0, 0, True), (2, 3, False), (-1, -1, False), (4, 3, False), (0, -5, False)],
)
def test_chunks_without_values(nulls: int, values: int, *, expected: bool) -> None:
    data = with_number(FILES[0], ChunkField.NUM_VALUES, values, chunk=(0, 1))
    data = with_number(data, ChunkField.NULL_COUNT, nulls, chunk=(0, 1))
    file = known(data, 1)
    found = Family.of([file]).column(file.leaves[1]).has_no_values
    assert found.tolist() == [expected, False, False]


def test_files_of_one_schema_and_writer_are_of_one_family() -> None:
    first, second = known(FILES[0]), known(FILES[1])
    assert family_key(first) == family_key(second)
    assert family_key(known(created_by(FILES[0], b"somebody"))) != family_key(first)
    assert family_key(known(written(people()))) != family_key(first)


def test_columns_are_learned_once() -> None:
    file = known(FILES[0], 1)
    column = file.columns[1]
    file.learn([1, 2])
    assert file.columns[1] is column
    assert set(file.columns) == {1, 2}
    assert file.num_bytes.tolist() == [
        sum(chunk[ChunkField.TOTAL_COMPRESSED_SIZE] for chunk in chunks)
        for chunks in footer_of(FILES[0]).chunks.values.tolist()
    ]
    assert isinstance(file, KnownFile)
    assert file.created_by.startswith(b"parquet-cpp-arrow")


def places_of(sizes: list[int], problems: dict[int, str]) -> FilterPlaces:
    known = np.array(sizes) > 0
    starts = np.arange(len(sizes)) * 10
    return FilterPlaces(starts, np.array(sizes), known, known & (starts > 0), dict(problems))


def test_places_are_put_together_and_taken_apart() -> None:
    parts = [places_of([32, UNSEEN], {}), places_of([DISTRUSTED, 64, DISTRUSTED], {0: "a", 2: "b"})]
    together = FilterPlaces.together(parts)
    assert together.sizes.tolist() == [32, UNSEEN, DISTRUSTED, 64, DISTRUSTED]
    assert together.starts.tolist() == [0, 10, 0, 10, 20]
    assert together.of_drafts.tolist() == [False, False, False, True, False]
    assert together.problems == {2: "a", 4: "b"}
    again = together.part(2, 5)
    assert again.sizes.tolist() == [DISTRUSTED, 64, DISTRUSTED]
    assert again.of_drafts.tolist() == [False, True, False]
    assert again.problems == {0: "a", 2: "b"}
    assert together.part(0, 2).problems == {}


def test_what_was_learned_comes_back() -> None:
    files = [known(data, 0) for data in FILES]
    leaf = files[0].leaves[0]
    family = Family.of(files)
    assert (family.places(leaf).sizes == UNSEEN).all()
    learned = places_of(list(range(32, 330, 32))[:10], {7: "why"})
    family.remember(leaf, learned)
    assert family.places(leaf).sizes.tolist() == learned.sizes.tolist()
    other = Family.of([files[2], known(FILES[0], 0), files[0]])
    places = other.places(leaf)
    assert places.sizes.tolist() == [192, 224, 256, UNSEEN, UNSEEN, UNSEEN, 32, 64, 96]
    assert places.problems == {2: "why"}


def test_places_that_another_thread_is_filling_in_are_whole_or_unseen() -> None:
    """The start of a bitset is there before its size is."""
    for _ in range(30):
        shared, others = FilterPlaces.unseen(20_000), FilterPlaces.unseen(5)

        def fill(places: FilterPlaces = shared) -> None:
            for row in range(0, 20_000, 50):
                places.starts[row : row + 50] = 7
                places.sizes[row : row + 50] = 32
                places.problems[row] = "why"

        with ThreadPoolExecutor(1) as pool:
            done = pool.submit(fill)
            while not done.done():
                seen = FilterPlaces.together([others, shared])
                assert (seen.starts[seen.sizes > 0] == 7).all()
            done.result()
