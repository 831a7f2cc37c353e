"""Filters that are there stay without reading values, unless something speaks against them."""

from __future__ import annotations

import io
import os
import re
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import Sbbf, Status, UnsafeTarget, bloomify
from parquet_bloomwriter.errors import FileChanged, FileProblem, InvalidArgument
from parquet_bloomwriter.hashing import hash_plain, xxh64
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.rewrite import new_filters
from parquet_bloomwriter.sbbf.sizing import classic_num_bytes, num_blocks_for
from parquet_bloomwriter.source.local import open_file
from parquet_bloomwriter.values import LeafReader
from tests.support.manifest import entries, file_of
from tests.verbs.files import (
    filter_bytes,
    footer_of,
    people,
    with_filter_at,
    without_length,
    written,
)

if TYPE_CHECKING:
    from pathlib import Path

    from parquet_bloomwriter import AddReport
    from parquet_bloomwriter.rewrite.plan import Chunk

OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"fpp": 0.2},
    {"fpp": 1e-6, "placement": "end"},
    {"sizing": "exact"},
    {"sizing": "exact", "fpp": 0.001, "placement": "row-group"},
    {"max_bytes": 64, "fpp": 1e-4},
    {"max_bytes": 4096, "sizing": "exact", "fpp": 1e-5},
    {"ndv": 3},
)


@pytest.fixture
def no_values(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Fail if values of a column chunk are read."""

    def fail(*_: object) -> object:
        raise AssertionError("values are read")

    monkeypatch.setattr(new_filters, "LeafReader", fail)
    return monkeypatch


def statuses(report: AddReport, column: int = 0) -> list[Status]:
    return [chunk.status for chunk in report.columns[column].chunks]


def new_version(report: AddReport) -> bytes:
    assert report.data is not None
    return report.data


def with_bits(data: bytes, bits: bytes, chunk: Chunk = (0, 0)) -> bytes:
    """The same file with other bits in a filter, of the same number."""
    old = filter_bytes(data, chunk)
    return data.replace(old, old[: len(old) - len(bits)] + bits)


def bits_of(hashes: list[int], num_bytes: int) -> bytes:
    filter_ = Sbbf.empty(num_bytes // 32)
    filter_.insert_hashes(np.array(hashes, np.uint64))
    return filter_.to_bytes()[-num_bytes:]


def many_values(rows: int = 20_000) -> bytes:
    """A file whose columns have all, half and few distinct values, and nulls."""
    numbers = np.random.default_rng(7).permutation(rows).tolist()
    table = pa.table(
        {
            "all": numbers,
            "half": [f"user{i // 2}@mail.example" for i in numbers],
            "few": [(i % 97).to_bytes(4, "big") for i in numbers],
            "null": pa.array([None] * rows, pa.int32()),
            "some": [None if i % 3 else i for i in numbers],
        }
    )
    return written(table, row_group_size=rows // 2)


@pytest.mark.usefixtures("no_values")
def test_a_second_run_finds_nothing_to_do() -> None:
    """Whatever the options are: it reads no values, and refuses nothing."""
    data = many_values()
    for options in OPTIONS:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(new_filters, "LeafReader", LeafReader)
            first = bloomify(data, **options)
        for again in (options, options | {"dry_run": True}):
            second = bloomify(new_version(first), **again)
            assert (second.written, second.num_built) == (False, 0), options
        assert statuses(second, 3) == [Status.EMPTY] * 2
        for column in (0, 1, 2, 4):
            assert statuses(second, column) == [Status.KEPT] * 2, options
            for old, new in zip(
                first.columns[column].chunks, second.columns[column].chunks, strict=True
            ):
                assert (old.offset, old.length) == (new.offset, new.length)


@pytest.mark.shares
def test_a_second_run_over_the_corpus(corpus_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It changes nothing, and reads no values but of chunks whose first run left no filter.

    Floating point numbers may be doubtful by chance: see `kept_filters`.
    """
    tried = 0
    for number, entry in enumerate(entries(corpus_dir)):
        options = OPTIONS[number % len(OPTIONS)]
        try:
            data = file_of(corpus_dir, entry.path).read_bytes()
            first = bloomify(data, force=True, **options)
        except (FileProblem, OSError):
            continue
        built = [column for column in first.columns if column.built]
        names = [
            f"#{column.ordinal}"
            for column in built
            if not column.count(Status.SKIPPED)
            and column.physical_type not in {"INT96", "FLOAT", "DOUBLE"}
        ]
        changed = new_version(first)
        everything = bloomify(changed, **options)
        assert (everything.num_built, everything.data) == (0, changed), entry.path
        if names and entry.kind == "normal":  # others may have false statistics
            with monkeypatch.context() as patched:
                patched.setattr(new_filters, "LeafReader", None)
                assert bloomify(changed, names, **options).data == changed, entry.path
            tried += 1
    assert tried > 300


@pytest.mark.usefixtures("no_values")
def test_large_filters_of_few_values() -> None:
    """As parquet-mr writes them, 1 MiB unless told otherwise: their first bits are often empty."""
    for array in (pa.array([f"user{n}" for n in range(9)]), pa.array(range(9), pa.int64())):
        values = array.to_pylist()
        plains = [v.encode() if isinstance(v, str) else struct.pack("<q", v) for v in values]
        filter_ = Sbbf.empty((1 << 20) // 32)
        filter_.insert_hashes(np.array([hash_plain(one) for one in plains], np.uint64))
        data, bits = written(pa.table({"x": array})), filter_.to_bytes()
        assert not any(bits[20:5000])
        start = footer_of(data).start
        stored = with_filter_at(data[:start] + bits + data[start:], (0, 0), (start, len(bits)))
        assert statuses(bloomify(stored, "x")) == [Status.KEPT]


def test_files_of_another_rate_are_built_anew() -> None:
    data = many_values()
    poor = new_version(bloomify(data, ["all", "half"], fpp=0.2))
    report = bloomify(poor, ["all", "half"], fpp=0.001)
    for number in (0, 1):
        assert statuses(report, number) == [Status.BUILT] * 2
        for chunk in report.columns[number].chunks:
            assert re.fullmatch(
                r"the old filter was replaced: \d+(\.\d)? % of absent values pass it, where 0\.1 % "
                "is asked for",
                chunk.reason,
            )
    better = new_version(report)
    assert better == new_version(bloomify(data, ["all", "half"], fpp=0.001))
    for fpp in (0.001, 0.01, 0.5):
        assert bloomify(better, ["all", "half"], fpp=fpp).data == better


def test_sizes_of_other_writers_are_near_enough() -> None:
    """Those by the usual formula stay; others are built anew once, and then stay."""
    distinct = next(
        n for n in range(3000, 9000) if classic_num_bytes(n, 0.01) < 32 * num_blocks_for(n, 0.01)
    )
    data = written(pa.table({"id": range(distinct)}), row_group_size=distinct)
    hashes = [xxh64(n.to_bytes(8, "little")) for n in range(distinct)]
    for num_bytes, status in (
        (classic_num_bytes(distinct, 0.01), Status.KEPT),
        (classic_num_bytes(distinct, 0.01) // 2, Status.BUILT),
    ):
        made = new_version(bloomify(data, fpp=0.9, max_bytes=num_bytes))
        # As large as the writer has made it, and with all values.
        theirs = new_version(bloomify(data, fpp=1e-9, max_bytes=num_bytes, output=None))
        assert len(filter_bytes(theirs, (0, 0))) > num_bytes
        theirs = with_bits(theirs, bits_of(hashes, num_bytes))
        first = bloomify(theirs)
        assert statuses(first) == [status]
        again = bloomify(first.data or theirs)
        assert (again.num_built, again.data) == (0, first.data or theirs)
        assert made


def test_what_a_filter_must_hold() -> None:
    """The least and the greatest value by the footer, of numbers and of fixed length; any bit."""
    table = pa.table(
        {
            "i": range(500),
            "u": pa.array([bytes([n // 256, n % 256]) for n in range(500)], pa.binary(2)),
            "t": [f"user{n}" for n in range(500)],
        }
    )
    data = new_version(bloomify(written(table, row_group_size=500)))
    plains = [
        [n.to_bytes(8, "little") for n in range(500)],
        [bytes([n // 256, n % 256]) for n in range(500)],
        [f"user{n}".encode() for n in range(500)],
    ]
    for column, values in enumerate(plains):
        num_bytes = bloomify(data).columns[column].chunks[0].num_bytes
        for left_out, status in ((slice(0, 0), Status.KEPT), (slice(0, 500), Status.BUILT)):
            held = [plain for n, plain in enumerate(values) if n not in range(500)[left_out]]
            bits = bits_of([hash_plain(one) for one in held], num_bytes)
            assert statuses(bloomify(with_bits(data, bits, (0, column))), column) == [status]
    for column, missing in ((0, 0), (0, 499), (1, 0), (1, 499)):
        held = [plain for n, plain in enumerate(plains[column]) if n != missing]
        num_bytes = 4096  # hardly any value passes by chance
        large = new_version(bloomify(data, fpp=1e-9, max_bytes=num_bytes, replace=True))
        lacking = with_bits(large, bits_of([hash_plain(o) for o in held], num_bytes), (0, column))
        report = bloomify(lacking)
        assert statuses(report, column) == [Status.BUILT]
        assert "missing from it" in report.columns[column].chunks[0].reason


@pytest.mark.parametrize(("type_", "layout"), [(pa.float32(), "<f"), (pa.float64(), "<d")])
def test_numbers_that_readers_take_for_equal(type_: pa.DataType, layout: str) -> None:
    """A filter of the stored values alone, as Impala and others write it."""
    cases = [
        ([1.5, 2.5], Status.KEPT),
        ([-1.0, 0.0, 1.0], Status.BUILT),
        ([-1.0, -0.0, 1.0], Status.BUILT),
        ([0.0, 1.0], Status.BUILT),
        ([-1.0, -0.0], Status.BUILT),
        ([1.0, -float("nan")], Status.BUILT),
        ([1.0, float("nan")], Status.KEPT),
    ]
    for values, status in cases:
        data = written(pa.table({"x": pa.array(values, type_)}))
        made = new_version(first := bloomify(data, fpp=1e-9))
        hashes = [xxh64(struct.pack(layout, value)) for value in values]
        stored = with_bits(made, bits_of(hashes, first.columns[0].chunks[0].num_bytes))
        assert statuses(bloomify(stored)) == [status], values
        assert statuses(bloomify(made)) == [Status.KEPT], values


@pytest.mark.usefixtures("no_values")
def test_places() -> None:
    """A filter whose bytes belong to something else is doubtful."""
    data = written(bloom_filter_options={"id": {"ndv": 500, "fpp": 0.001}})
    assert bloomify(data, "id").data == data
    # Without a length, too, if something begins where the filter ends.
    assert bloomify(shortened := without_length(data, (0, 0), (1, 0)), "id").data == shortened
    chunks = footer_of(data).chunks
    start = int(chunks.values[0, 1, 17])  # data_page_offset of another column
    with pytest.raises(AssertionError, match="values are read"):
        bloomify(with_filter_at(data, (0, 0), (start, 100)), "id")


def test_a_filter_that_another_column_has_too_is_not_kept() -> None:
    """Whether or not the footer has the length of both."""
    data = written(bloom_filter_options={name: {"ndv": 500} for name in ("email", "city")})
    chunks = footer_of(data).chunks.values[0, 1]
    place = (int(chunks[ChunkField.BLOOM_FILTER_OFFSET]), len(filter_bytes(data, (0, 1))))
    shared = with_filter_at(data, (0, 2), place)
    for stored in (shared, without_length(shared, (0, 2)), without_length(shared, (0, 1))):
        for name in ("email", "city"):
            assert statuses(bloomify(stored, name)) == [Status.BUILT, Status.KEPT]


def test_filters_that_changed_places_are_built_anew() -> None:
    table = pa.table({"id": range(1000), "code": [f"c{i}" for i in range(1000)]})
    options = {name: {"ndv": 500, "fpp": 0.001} for name in table.column_names}
    data = written(table, row_group_size=500, bloom_filter_options=options)
    for column, name in enumerate(table.column_names):
        swapped = data
        for row_group in (0, 1):
            other = (1 - row_group, column)
            offset = footer_of(data).chunks.values[(*other, ChunkField.BLOOM_FILTER_OFFSET)]
            place = (int(offset), len(filter_bytes(data, other)))
            swapped = with_filter_at(swapped, (row_group, column), place)
        assert statuses(bloomify(swapped, name), 0) == [Status.BUILT] * 2, name


def test_a_run_that_has_nothing_to_do_refuses_nothing(
    tmp_path: Path, no_values: pytest.MonkeyPatch
) -> None:
    """So it does not look who else refers to the file."""
    path = tmp_path / "a.parquet"
    path.write_bytes(written(bloom_filter_options={"id": {"ndv": 500, "fpp": 0.001}}))
    os.link(path, tmp_path / "b.parquet")
    (tmp_path / "_delta_log").mkdir()
    before = {one.name: one.stat() for one in tmp_path.iterdir()}
    for dry_run in (False, True):
        report = bloomify(path, "id", dry_run=dry_run)
        assert (report.written, report.num_built) == (False, 0)
    assert {one.name: one.stat() for one in tmp_path.iterdir()} == before
    no_values.undo()
    for options in ({"columns": "email"}, {"columns": "id", "replace": True}):
        with pytest.raises(UnsafeTarget):
            bloomify(path, **options)
    leftover = tmp_path / ".a.parquet.bloomify-0123456789abcdef.tmp"
    leftover.write_bytes(b"of a run that was killed")
    bloomify(path, "id")
    assert not leftover.exists()


def test_a_path_is_that_of_the_time_of_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Relative ones are meant where the program was; links that change meanwhile are noticed."""
    data = written()
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.parquet").write_bytes(data)
    link = tmp_path / "link"
    link.symlink_to("one", target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    with open_file("link/a.parquet") as file:
        monkeypatch.chdir(tmp_path / "two")
        assert file.path == str(tmp_path / "one/a.parquet")
    with open_file(link / "a.parquet") as file:
        link.unlink()
        link.symlink_to("two", target_is_directory=True)
        with pytest.raises(FileChanged):
            file.check_unchanged()


def test_one_name_in_many_files_means_the_column_of_each() -> None:
    """What was found out about one schema is not used for another."""
    for number, names in enumerate((["id", "x"], ["x", "id"], ["id", "x"])):
        table = people().select(["id", "email"]).rename_columns(names)
        buffer = io.BytesIO()
        pq.write_table(table, buffer)
        (column,) = bloomify(buffer.getvalue(), ["id"]).columns
        assert column.ordinal == names.index("id"), number


def test_options_of_wrong_types_are_refused() -> None:
    """What depends on options is kept for the next file, though some cannot be a key."""
    for options in ({"dialect": ["xxhash"]}, {"murmur3_seed": [1]}):
        with pytest.raises(InvalidArgument):
            bloomify(written(), "id", **options)
