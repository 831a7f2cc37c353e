"""Columns of files taken together are those of each, and what is learned stays with its file."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pyarrow as pa
import pytest

from parquet_bloomwriter.hashing import Dialect
from parquet_bloomwriter.kernels.layout import ABSENT
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.probing.footer_cache import (
    DISTRUSTED,
    UNSEEN,
    BitsetPlaces,
    CachedFooter,
    FileBatch,
    batch_key,
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
    batch = FileBatch.of(files)
    assert batch.rows.tolist() == [0, 3, 5, 8, 10]
    assert batch.file_of.tolist() == [0, 0, 0, 1, 1, 2, 2, 2, 3, 3]
    for leaf in files[0].leaves:
        together = batch.column(leaf)
        apart = [FileBatch.of([file]).column(leaf) for file in files]
        for name in ("num_values", "num_nulls", "filter_offsets", "filter_lengths"):
            expected = np.concatenate([getattr(one, name) for one in apart])
            assert getattr(together, name).tolist() == expected.tolist()
        for name in ("low", "high", "known"):
            expected = np.concatenate([getattr(one.bounds, name) for one in apart])
            assert getattr(together.bounds, name).tolist() == expected.tolist()
    first = batch.column(files[0].leaves[1])
    assert first.bounds.low.tolist()[:4] == [b"00001", b"00010", b"00021", b"01001"]
    assert first.num_nulls.tolist()[:2] == [3, 2]
    assert first.num_values.tolist() == [10, 10, 10, 20, 10, 10, 10, 10, 20, 10]


def test_what_the_footer_says_of_filters() -> None:
    data = without_length(FILES[0], (1, 0))
    footer, file = footer_of(data), known(data, 0, 1)
    column = FileBatch.of([file]).column(file.leaves[0])
    offsets = footer.chunks.value(ChunkField.BLOOM_FILTER_OFFSET)
    assert column.filter_offsets.tolist() == offsets[:, 0].tolist()
    assert (column.filter_lengths == ABSENT).tolist() == [False, True, False]
    other = FileBatch.of([file]).column(file.leaves[1])
    assert (other.filter_offsets == ABSENT).all()


@pytest.mark.parametrize(
    ("nulls", "values", "expected"),
    [(3, 3, True), (0, 0, True), (2, 3, False), (-1, -1, False), (4, 3, False), (0, -5, False)],
)
def test_chunks_without_values(nulls: int, values: int, *, expected: bool) -> None:
    data = with_number(FILES[0], ChunkField.NUM_VALUES, values, chunk=(0, 1))
    data = with_number(data, ChunkField.NULL_COUNT, nulls, chunk=(0, 1))
    file = known(data, 1)
    found = FileBatch.of([file]).column(file.leaves[1]).has_no_values
    assert found.tolist() == [expected, False, False]


def test_files_of_one_schema_and_writer_are_of_one_family() -> None:
    first, second = known(FILES[0]), known(FILES[1])
    assert batch_key(first) == batch_key(second)
    assert batch_key(known(created_by(FILES[0], b"somebody"))) != batch_key(first)
    assert batch_key(known(written(people()))) != batch_key(first)


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
    assert isinstance(file, CachedFooter)
    assert file.created_by.startswith(b"parquet-cpp-arrow")


def places_of(sizes: list[int], problems: dict[int, str]) -> BitsetPlaces:
    known = np.array(sizes) > 0
    starts = np.arange(len(sizes)) * 10
    return BitsetPlaces(starts, np.array(sizes), known, known & (starts > 0), dict(problems))


def test_places_are_put_together_and_taken_apart() -> None:
    parts = [places_of([32, UNSEEN], {}), places_of([DISTRUSTED, 64, DISTRUSTED], {0: "a", 2: "b"})]
    together = BitsetPlaces.together(parts)
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
    batch = FileBatch.of(files)
    assert (batch.places(leaf).sizes == UNSEEN).all()
    learned = places_of(list(range(32, 330, 32))[:10], {7: "why"})
    batch.remember(leaf, learned)
    assert batch.places(leaf).sizes.tolist() == learned.sizes.tolist()
    other = FileBatch.of([files[2], known(FILES[0], 0), files[0]])
    places = other.places(leaf)
    assert places.sizes.tolist() == [192, 224, 256, UNSEEN, UNSEEN, UNSEEN, 32, 64, 96]
    assert places.problems == {2: "why"}


@pytest.mark.parametrize("count", [1, 4])
def test_places_that_are_kept_do_not_change_with_those_that_are_filled_in(count: int) -> None:
    files = [known(data, 0) for data in FILES[:count]]
    leaf, batch = files[0].leaves[0], FileBatch.of(files)
    num_row_groups = batch.num_row_groups
    batch.remember(leaf, places_of([32] * num_row_groups, {0: "why"}))
    mine = batch.places(leaf)
    mine.starts[:], mine.sizes[:], mine.has_bits[:], mine.of_drafts[:] = 7, 64, False, False
    mine.problems[1] = "mine"
    again = batch.places(leaf)
    assert again.sizes.tolist() == [32] * num_row_groups
    assert again.has_bits.all()
    assert again.problems == {0: "why"}


def test_a_column_is_published_with_what_is_wrong_with_its_filters() -> None:
    """A thread that finds the column learned finds its distrusted filters, too."""
    offset = int(footer_of(FILES[0]).chunks.value(ChunkField.BLOOM_FILTER_OFFSET)[0, 0])
    data = with_number(FILES[0], ChunkField.BLOOM_FILTER_OFFSET, offset, chunk=(1, 0))
    file = CachedFooter.of(footer_of(data))
    file.learn([0])
    assert file.filters == {}
    for dialect in get_args(Dialect):
        places = FileBatch.of([file]).places(file.leaves[0], dialect)
        assert places.sizes.tolist() == [DISTRUSTED, DISTRUSTED, UNSEEN]
        assert set(places.problems) == {0, 1}
