"""`BloomFile`: filters taken out, values looked up one by one and by the thousand."""

from __future__ import annotations

import datetime as dt
import io
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import advise, bloomify, inspect, probe, verify
from parquet_bloomwriter.errors import (
    ColumnNotFound,
    InvalidArgument,
    MalformedFile,
    MalformedFilter,
    NotParquet,
    UnsupportedFile,
)
from parquet_bloomwriter.hashing import xxh64
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.sbbf import Sbbf
from parquet_bloomwriter.source import BufferSource
from parquet_bloomwriter.verbs.bloom_file import BloomFile
from tests.support import compact
from tests.support.asking import found_in
from tests.support.split_block import ReferenceFilter
from tests.verbs.broken_filters import with_filter, with_zeros
from tests.verbs.files import filter_bytes, people, with_number, without_length, written

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FILTERED = {"id": {"ndv": 500, "fpp": 0.001}, "email": {"ndv": 500, "fpp": 0.001}}
DATA = written(bloom_filter_options=FILTERED)
MANY = 65
"""Values from which whole filters are read."""


def test_what_is_in_the_file() -> None:
    with BloomFile(DATA) as file:
        assert (file.num_row_groups, file.columns) == (2, ("id", "email", "city"))


def test_the_file_as_text(tmp_path: Path) -> None:
    path = tmp_path / "a\nb.parquet"
    path.write_bytes(DATA)
    with BloomFile(path) as file:
        told = f"BloomFile({str(path)!r}, 2 row groups, filters: id, email)"
        assert repr(file) == told
    assert repr(file) == told
    assert repr(BloomFile(written())) == "BloomFile(buffer, 2 row groups, filters: none)"


def test_values_that_cannot_be_looked_up_might_be_there() -> None:
    with BloomFile(DATA) as file:
        assert file.might_contain("id", "abc") is True
        assert file.might_contain("id", ["abc", 77_777]).tolist() == [True, False]  # type: ignore[union-attr]
    assert "the column holds numbers" in str(probe(DATA, [("id", "=", "abc")]))


def test_filters_are_those_of_the_file() -> None:
    with BloomFile(DATA) as file:
        for row_group in (0, 1):
            for ordinal, name in enumerate(("id", "email")):
                raw = filter_bytes(DATA, (row_group, ordinal))
                found = file.filter(row_group, name)
                assert found is not None
                assert found.to_bytes() == raw
                assert file.filter(row_group, f"#{ordinal}") == found
        assert file.filter(0, "city") is None


def test_missing_lengths_are_no_obstacle() -> None:
    data = without_length(DATA, (0, 0))
    with BloomFile(data) as file:
        found = file.filter(0, "id")
        assert found is not None
        assert found.to_bytes() == filter_bytes(DATA, (0, 0))
        assert not file.might_contain("id", 77_777)


def test_untrusted_filters_are_errors_that_say_where(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    length = len(filter_bytes(DATA, (1, 0)))
    path.write_bytes(with_number(DATA, ChunkField.BLOOM_FILTER_LENGTH, length + 1, chunk=(1, 0)))
    with BloomFile(path) as file:
        assert file.filter(0, "id") is not None
        with pytest.raises(MalformedFilter) as raised:
            file.filter(1, "id")
        error = raised.value
        assert (error.path, error.row_group, error.column) == (str(path), 1, "id")
        assert f"{path}: row group 1: column id: the footer gives it" in str(error)
        for count in (1, MANY):
            assert found_in(file, "id", np.arange(count) + 77_777).all()
            assert found_in(file, "id", np.arange(count) + 77_777, row_group=1).all()
            assert not found_in(file, "id", np.arange(count) + 77_777, row_group=0).any()


@pytest.mark.parametrize("count", [1, MANY])
def test_empty_bitsets_are_no_filters(count: int) -> None:
    with BloomFile(with_zeros(DATA, (0, 0))) as file:
        for _ in range(2):
            assert found_in(file, "id", list(range(count))).all()
            assert not found_in(file, "id", [77_777] * count, row_group=1).any()


def test_rows_and_columns_that_are_not_there() -> None:
    with BloomFile(DATA) as file:
        for row_group in (-1, 2, 10**9):
            with pytest.raises(InvalidArgument, match=f"no row group {row_group}"):
                file.filter(row_group, "id")
            with pytest.raises(InvalidArgument, match=f"no row group {row_group}"):
                file.might_contain("id", 5, row_group=row_group)
        for name in ("emial", "", "#3"):
            with pytest.raises(ColumnNotFound):
                file.filter(0, name)
            with pytest.raises(ColumnNotFound):
                file.might_contain(name, 5)
    grouped = written(pa.table({"g": [{"a": 1, "b": 2}]}))
    with BloomFile(grouped) as file:
        with pytest.raises(InvalidArgument, match=r"group of 2 columns.* Name one .* g\.a"):
            file.might_contain("g", 1)
        assert file.might_contain("g.a", 5)


@pytest.mark.parametrize(("data", "error"), [(b"", NotParquet), (b"x" * 99, NotParquet)])
def test_no_parquet_file(data: bytes, error: type[Exception], tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(data)
    with pytest.raises(error, match=str(path)):
        BloomFile(path)
    with pytest.raises(FileNotFoundError):
        BloomFile(tmp_path / "none")


def test_a_file_that_was_closed_is_not_read(tmp_path: Path) -> None:
    path, other = tmp_path / "x.parquet", tmp_path / "other"
    path.write_bytes(DATA)
    other.write_bytes(bytes(len(DATA)))
    file = BloomFile(path)
    assert file.might_contain("id", 5)
    file.close()
    with other.open("rb"):  # It may have the number that the file had.
        for ask in (
            lambda: file.might_contain("id", 5),
            lambda: file.might_contain("id", range(MANY)),
            lambda: file.filter(0, "id"),
        ):
            with pytest.raises(InvalidArgument, match="closed"):
                ask()


# ---------------------------------------------------------------- lookups


def test_one_value_and_several() -> None:
    with BloomFile(DATA) as file:
        assert file.might_contain("id", 5) is True
        assert file.might_contain("id", 77_777) is False
        found = file.might_contain("id", [5, 77_777, 600])
        assert isinstance(found, np.ndarray)
        assert found.tolist() == [True, False, True]
        assert found_in(file, "id", [5, 600], row_group=0).tolist() == [True, False]
        assert found_in(file, "id", [5, 600], row_group=1).tolist() == [False, True]
        assert file.might_contain("email", "user5@mail.example") is True
        assert file.might_contain("email", "nobody") is False
        assert found_in(file, "id", []).tolist() == []


def test_columns_without_filters_might_contain_anything() -> None:
    with BloomFile(DATA) as file:
        assert file.might_contain("city", "Rome") is True
        assert found_in(file, "city", ["Rome"] * MANY).all()


def test_nulls_might_be_contained_and_what_cannot_be_stored_is_not() -> None:
    with BloomFile(DATA) as file:
        for count in (0, MANY):
            values = [None, 2.5, 2**40, 2**63, "x", *[77_777] * count]
            found = found_in(file, "id", values)
            assert found[:3].tolist() == [True, False, False]
            assert not found[5:].any()


def test_row_groups_of_nulls_hold_nothing_and_need_no_filter() -> None:
    table = pa.table({"x": pa.array([None, None, 1, 2], pa.int64())})
    data = bloomify(written(table, row_group_size=2)).data
    assert data is not None
    with BloomFile(data) as file:
        assert compact.filters_of(compact.footer_of(data)).keys() == {(1, 0)}
        for values in ([3], [3] * MANY):
            assert not found_in(file, "x", values).any()
            assert not found_in(file, "x", values, row_group=0).any()
        assert found_in(file, "x", [1, 2]).all()


def test_a_file_without_rows_contains_nothing() -> None:
    with BloomFile(written(people(0))) as file:
        assert file.might_contain("id", 5) is False
        assert not found_in(file, "id", [5] * MANY).any()


def test_both_zeros() -> None:
    for stored in (0.0, -0.0):
        data = written(pa.table({"x": [stored, 1.0]}))
        filter_ = Sbbf.empty(1)
        filter_.insert_hash(xxh64(np.float64(stored).tobytes()))
        filter_.insert_hash(xxh64(np.float64(1.0).tobytes()))
        with BloomFile(with_filter(data, (0, 0), filter_.to_bytes())) as file:
            for zeros in ([0.0, -0.0], [0, 0.0], [0.0, 9.5] * MANY, [9.5, -0.0, None] * MANY):
                found = found_in(file, "x", zeros)
                is_zero = np.array([zero in (0, None) for zero in zeros])
                assert (found == is_zero).all()


def test_booleans_are_never_ruled_out(fixtures_dir: Path) -> None:
    data = (fixtures_dir / "spark/bloom.parquet").read_bytes()
    table = pq.read_table(io.BytesIO(data))
    (name,) = [field.name for field in table.schema if pa.types.is_boolean(field.type)]
    with BloomFile(data) as file:
        assert found_in(file, name, [True, False]).all()
        assert found_in(file, name, [True] * MANY).all()
        with pytest.raises(MalformedFilter, match="BOOLEAN"):
            file.filter(0, name)


WAYS: dict[str, Any] = {
    "list": list,
    "tuple": tuple,
    "range": lambda values: range(values[0], values[-1] + 1),
    "Arrow": pa.array,
    "Arrow chunks": lambda values: pa.chunked_array([values[:3], values[3:]]),
    "Arrow int16": lambda values: pa.array(values, pa.int16()),
    "Arrow dictionary": lambda values: pa.array(values).dictionary_encode(),
    "NumPy": np.array,
    "NumPy objects": lambda values: np.array(values, object),
    "NumPy unsigned": lambda values: np.array(values, np.uint16),
    "NumPy floats": lambda values: np.array(values, np.float64),
    "pandas": pd.Series,
    "pandas index": pd.Index,
    "pandas nullable": lambda values: pd.Series(values, dtype="Int64"),
    "decimals": lambda values: [Decimal(value) for value in values],
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("count", [10, 400])
def test_every_way_to_give_integers(way: Callable[[list[int]], Any], count: int) -> None:
    values = list(range(400, 400 + count))
    with BloomFile(DATA) as file:
        found = found_in(file, "id", way(values))
        assert found.tolist() == [True] * count
        first = found_in(file, "id", way(values), row_group=0)
        assert first[:10].all()
        assert first[100:].sum() <= 5
        absent = list(range(5000, 5000 + count))
        assert found_in(file, "id", way(absent)).sum() <= 5


@pytest.mark.parametrize("name", ["chdb", "datafusion", "duckdb", "pyarrow", "spark"])
def test_every_value_of_every_filter_is_found(name: str, fixtures_dir: Path) -> None:
    num_filters = 0
    for path in (fixtures_dir / name).glob("*.parquet"):
        data = path.read_bytes()
        filters = compact.filters_of(compact.footer_of(data))
        with BloomFile(path) as file, pq.ParquetFile(path) as reader:
            for (row_group, ordinal), (offset, length) in filters.items():
                column = reader.schema.column(ordinal)
                if column.max_repetition_level or column.path.count("."):
                    continue
                read = reader.read_row_group(row_group, [column.path]).column(0)
                values = read.combine_chunks().drop_null()
                num_filters += 1
                for given in (values, values[:20]):
                    assert found_in(file, column.path, given, row_group=row_group).all()
                    assert found_in(file, column.path, given).all()
                for scalar in values[::50]:
                    assert file.might_contain(column.path, scalar, row_group=row_group) is True
                if column.physical_type != "BOOLEAN" and not is_interval(column):
                    found = file.filter(row_group, column.path)
                    assert found is not None
                    reference = ReferenceFilter.parse(data[offset : offset + (length or 0)])
                    assert found.blocks.tobytes() == reference.bitset
    assert num_filters >= 4


def is_interval(column: pq.ColumnSchema) -> bool:
    return str(column.converted_type) == "INTERVAL"


NOON = dt.datetime(2020, 5, 17, 12)  # noqa: DTZ001  a clock without a zone
TYPED: list[tuple[pa.DataType, list[Any], list[Any]]] = [
    (pa.uint64(), [0, 2**64 - 1], [1, 2**63]),
    (pa.uint8(), [0, 255], [1, 256, 2**32]),
    (pa.string(), ["", "Łódź"], ["x", "łódź"]),
    (pa.binary(3), [b"abc"], [b"abd"]),
    (pa.date32(), [NOON.date(), dt.date(1900, 1, 1)], [dt.date(2020, 5, 18)]),
    (pa.timestamp("us"), [NOON], [NOON.replace(microsecond=1)]),
    (pa.timestamp("ns"), [NOON], [NOON.replace(microsecond=1)]),
    (pa.decimal128(20, 2), [Decimal("-1.10"), Decimal("1E+15")], [Decimal("1.10")]),
    (pa.float32(), [0.5, -0.0, float("inf")], [0.25]),
    (pa.time64("us"), [NOON.time()], [dt.time(13)]),
]


@pytest.mark.parametrize(("kind", "present", "absent"), TYPED)
def test_every_type(kind: pa.DataType, present: list[Any], absent: list[Any]) -> None:
    data = bloomify(written(pa.table({"x": pa.array(present, kind)})), fpp=0.0001).data
    assert data is not None
    with BloomFile(data) as file:
        for repeat in (1, MANY):
            assert found_in(file, "x", present * repeat).all()
            assert found_in(file, "x", pa.array(present * repeat, kind)).all()
            assert not found_in(file, "x", absent * repeat).any()
        assert all(file.might_contain("x", value) for value in present)
        assert not any(file.might_contain("x", value) for value in absent)


def test_a_date_among_times_is_not_taken_for_their_kind() -> None:
    late = NOON.replace(hour=13)
    data = bloomify(written(pa.table({"x": [NOON, late]})), fpp=0.0001).data
    assert data is not None
    with BloomFile(data) as file:
        for values in ([NOON.date(), NOON, late], [NOON, NOON.replace(tzinfo=dt.UTC), late]):
            for repeat in (1, MANY):
                found = found_in(file, "x", values * repeat)
                assert all(found[i] for i in range(len(found)) if values[i % 3] in (NOON, late))


def test_few_values_read_blocks_and_many_read_filters() -> None:
    source = BufferSource(DATA)
    with BloomFile(source) as file:
        before = source.traffic.bytes
        file.might_contain("id", 5)
        assert source.traffic.bytes - before == 2 * (32 + 32)
        before = source.traffic.bytes
        file.might_contain("id", list(range(64)))
        assert 32 < source.traffic.bytes - before <= 2 * 64 * 32
        before = source.traffic.bytes
        file.might_contain("id", list(range(MANY)))
        whole = sum(len(filter_bytes(DATA, (row, 0))) for row in (0, 1))
        assert source.traffic.bytes - before == whole + 2 * 64


def test_what_cannot_be_read_is_an_error() -> None:
    class Failing(BufferSource):
        def _fetch(self, start: int, stop: int) -> bytes:
            if self.fails:
                raise OSError("the store does not answer")
            return super()._fetch(start, stop)

        fails = False

    source = Failing(DATA)
    with BloomFile(source) as file:
        source.fails = True
        for values in ([5], [5] * MANY):
            with pytest.raises(OSError, match="does not answer"):
                file.might_contain("id", values)
            source.fails = False
            assert found_in(file, "id", values).all()
            source.fails = True


def test_broken_footers_are_malformed() -> None:
    with pytest.raises(MalformedFile):
        BloomFile(DATA[:-60] + b"\xff" * 52 + DATA[-8:])


def test_a_folder_is_not_said_to_be_unchanged(tmp_path: Path) -> None:
    for read in (BloomFile, inspect, verify, advise):
        with pytest.raises(UnsupportedFile) as caught:
            read(tmp_path)
        assert "this is a directory. Name a file in it" in str(caught.value)
