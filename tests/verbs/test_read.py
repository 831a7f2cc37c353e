"""`read_table`: pyarrow's result, from the surviving row groups only."""

# ruff: noqa: ANN401  sources and filters of any form, and arguments of pyarrow's
from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any
from uuid import NAMESPACE_DNS, uuid5

import duckdb
import fsspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.local import LocalFileSystem

from parquet_bloomwriter import ColumnNotFound, InvalidArgument, MalformedFile, UnsupportedFile
from parquet_bloomwriter.predicate.arrow_out import to_arrow
from parquet_bloomwriter.scan import survivors
from parquet_bloomwriter.source import BufferSource, Location, open_for_reading
from parquet_bloomwriter.verbs.add import bloomify
from parquet_bloomwriter.verbs.bloom_file import BloomFile
from parquet_bloomwriter.verbs.probe import probe
from parquet_bloomwriter.verbs.read import dataset, iter_batches, read_table
from parquet_bloomwriter.verbs.scan_polars import scan_polars
from tests.source.stores import CountingHandler
from tests.support.cells import ABSENT, CELLS, GROUPS, IDS, ROWS, WatchedFile, bloomed, same

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def cells() -> bytes:
    return bloomed(CELLS, "id", "text")


@pytest.fixture
def path(tmp_path: Path, cells: bytes) -> Path:
    file = tmp_path / "cells.parquet"
    file.write_bytes(cells)
    return file


# Only what survives is read.


@pytest.mark.parametrize(
    ("filters", "groups", "rows"),
    [
        ([("id", "=", int(IDS[4321]))], {4}, 1),
        (pc.field("id") == int(IDS[4321]), {4}, 1),
        (f"id = {IDS[4321]}", {4}, 1),
        (f"text IN ('t{IDS[0]}', 't{IDS[9999]}', 'none')", {0, 9}, 2),
        (f"id = {IDS[4321]} AND text = 't{IDS[0]}'", set(), 0),
        (f"id = {IDS[4321]} OR text = 't{IDS[0]}'", {0, 4}, 2),
        ([("id", "=", ABSENT)], set(), 0),
        ([("group", "=", 3), ("id", ">=", 0)], {3}, ROWS),
        ([("id", ">=", 0)], set(range(GROUPS)), GROUPS * ROWS),
    ],
)
def test_pages_of_skipped_row_groups_are_not_read(
    cells: bytes, filters: Any, groups: set[int], rows: int
) -> None:
    file = WatchedFile(cells)

    table = read_table(file, filters=filters)

    assert file.row_groups_read() == groups
    assert len(table) == rows
    assert same(table, pq.read_table(io.BytesIO(cells), filters=to_arrow(filters, CELLS.schema)))


def test_of_a_folder_pyarrow_opens_only_what_survives() -> None:
    pieces = {
        f"folder/{part}.parquet": bloomed(CELLS.slice(part * 2 * ROWS, 2 * ROWS), "id")
        for part in range(5)
    }
    store = CountingHandler(pieces)
    filters = [("id", "=", int(IDS[4321]))]
    probe("folder", filters, filesystem=pafs.PyFileSystem(store))  # footers are known from here on
    store.log.clear()

    table = read_table("folder", filters=filters, filesystem=pafs.PyFileSystem(store))

    opened = [path for kind, path, *_ in store.log if kind == "open"]
    by_probing = list(pieces)
    by_reading = ["folder/0.parquet", "folder/2.parquet"]  # the first one for the schema
    is_it_still_the_same = ["folder/2.parquet"]
    assert sorted(opened) == sorted([*by_probing, *by_reading, *is_it_still_the_same])
    assert same(table, pa.table(CELLS).filter(pc.field("id") == int(IDS[4321])))


# Whatever pyarrow reads.


@pytest.mark.parametrize(
    "name",
    ["cells.parquet", "a b%20ü+.parquet", "a#b?.parquet", "[x]*.parquet", "k=v.parquet", "cells"],
)
def test_paths_of_any_spelling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cells: bytes, name: str
) -> None:
    filters = [("id", "=", int(IDS[4321]))]
    folder = tmp_path / "some where"
    folder.mkdir()
    (folder / name).write_bytes(cells)
    (tmp_path / "link").symlink_to(folder / name)
    monkeypatch.chdir(folder)
    local = pafs.LocalFileSystem()
    given: list[tuple[Any, Any]] = [
        (folder / name, None),
        (str(folder / name), None),
        (name, None),
        (f"./../{folder.name}/{name}", None),
        ([str(folder / name)], None),
        (str(tmp_path / "link"), None),
        ((folder / name).as_uri(), None),
        (name, local),
        (name, pafs.SubTreeFileSystem(str(folder), local)),
        (str(folder / name), LocalFileSystem()),
        (str(folder), None),
        (folder, None),
        (Location(path=str(folder / name)), None),
    ]
    expected = pq.read_table(io.BytesIO(cells), filters=filters)
    for source, filesystem in given:
        for read in (read_table, _from_batches):
            watched = _Skipped()
            with monkeypatch.context() as patch:
                watched.install(patch)
                table = read(source, filters=filters, filesystem=filesystem)
            assert table.to_pylist() == expected.to_pylist(), source
            assert watched.row_groups == len(expected), source


class _Skipped:
    """Counts the row groups that survive."""

    row_groups = 0

    def install(self, patch: pytest.MonkeyPatch) -> None:
        """Count from now on."""
        find = survivors._surviving  # noqa: SLF001  what is to be read is seen nowhere else

        def counted(*args: Any, **named: Any) -> Any:
            found = list(find(*args, **named))
            self.row_groups = sum(len(one.row_groups or ()) for one in found)
            return iter(found)

        patch.setattr(survivors, "_surviving", counted)


def _from_batches(source: Any, **options: Any) -> pa.Table:
    return pa.Table.from_batches(iter_batches(source, **options), CELLS.schema)


@pytest.mark.parametrize(
    "source",
    [
        bytes,
        bytearray,
        io.BytesIO,
        pa.py_buffer,
        pa.BufferReader,
        lambda data: pa.PythonFile(io.BytesIO(data), mode="r"),
        BufferSource,
    ],
)
def test_buffers_and_open_files(cells: bytes, source: Any) -> None:
    for filters in (f"id = {IDS[4321]}", f"id = {ABSENT}", None):
        condition = None if filters is None else to_arrow(filters, CELLS.schema)
        expected = pq.read_table(io.BytesIO(cells), filters=condition)
        assert same(read_table(source(cells), filters=filters), expected), filters
        assert _from_batches(source(cells), filters=filters).equals(expected), filters


def test_open_files_on_disk(path: Path) -> None:
    expected = pq.read_table(path, filters=[("id", "=", int(IDS[4321]))])
    with (
        path.open("rb") as file,
        pa.OSFile(str(path)) as of_arrow,
        open_for_reading(path) as source,
    ):
        for one in (file, of_arrow, source):
            assert same(read_table(one, filters=f"id = {IDS[4321]}"), expected)


def test_patterns(tmp_path: Path, cells: bytes) -> None:
    for name in ("a1", "a2", "b1"):
        (tmp_path / f"{name}.parquet").write_bytes(cells)
    filters = f"id = {IDS[4321]}"

    assert len(read_table(tmp_path / "a*.parquet", filters=filters)) == 2
    assert len(read_table([tmp_path / "a?.parquet", tmp_path / "b1.parquet"])) == 3 * len(CELLS)
    with pytest.raises(InvalidArgument, match="no file matches"):
        read_table(str(tmp_path / "c*.parquet"), filters=filters)
    with pytest.raises(FileNotFoundError, match="No such file or directory") as caught:
        read_table(str(tmp_path / "c.parquet"), filters=filters)
    assert caught.value.filename == str(tmp_path / "c.parquet")


def test_arguments_that_are_mistyped(tmp_path: Path, cells: bytes) -> None:
    path = tmp_path / "cells.parquet"
    path.write_bytes(cells)
    for read in (read_table, iter_batches):
        with pytest.raises(ColumnNotFound, match=r'no column "idd"\. Did you mean id'):
            list(read(path, columns=["idd"]))
        with pytest.raises(TypeError, match="an argument 'where'; conditions are filters="):
            list(read(path, where="id = 1"))
    assert read_table(path, columns=["__filename", "id"]).column_names == ["__filename", "id"]


def test_conditions_by_position_are_refused_with_their_keyword(cells: bytes) -> None:
    for read in (read_table, iter_batches, dataset):
        for misplaced in ("id = 1", [("id", "=", 1)], ["id"]):
            with pytest.raises(TypeError) as caught:
                read(cells, misplaced)  # type: ignore[call-arg, arg-type]
            assert str(caught.value) == (
                f"{read.__name__}() takes its source alone by position; "
                'conditions are filters="id = 3", and columns are columns=["id"]'
            )
    with pytest.raises(TypeError, match=r"conditions are for \.filter\(\.\.\.\)"):
        scan_polars(cells, "id = 1")  # type: ignore[call-arg]


def test_urls_that_only_fsspec_knows(cells: bytes) -> None:
    memory = fsspec.filesystem("memory")
    memory.pipe({"/reads/a.parquet": cells, "/reads/b.parquet": cells})

    for source in ("memory://reads", "memory://reads/*.parquet", ["memory://reads/a.parquet"] * 1):
        found = read_table(source, filters=f"id = {IDS[4321]}")
        assert set(found["id"].to_pylist()) == {IDS[4321]}
    assert len(read_table("/reads", filesystem=memory)) == 2 * len(CELLS)


def test_without_filters_it_is_plain_pyarrow(path: Path) -> None:
    assert same(read_table(path), pq.read_table(path))
    assert same(
        read_table(path, columns=["text"], use_threads=False, memory_map=True),
        pq.read_table(path, columns=["text"]),
    )


@pytest.mark.parametrize(
    "options",
    [
        {"columns": ["text", "id"]},
        {"columns": []},
        {"columns": ["group"]},
        {"read_dictionary": ["text"]},
        {"memory_map": True, "buffer_size": 4096, "pre_buffer": False},
        {"use_pandas_metadata": True, "columns": ["text"]},
        {
            "schema": pa.schema(
                [("text", pa.large_string()), ("id", pa.int64()), ("new", pa.int8())]
            )
        },
    ],
)
def test_arguments_of_pyarrow(indexed: Path, options: Any) -> None:
    for number in (int(IDS[4321]), ABSENT):
        filters = [("id", "=", number)]
        expected = pq.read_table(indexed, filters=filters, **options)
        assert same(read_table(indexed, filters=filters, **options), expected), number


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that pandas has written, with its metadata."""
    path = tmp_path_factory.mktemp("pandas") / "x.parquet"
    frame = CELLS.to_pandas().set_index("group")
    path.write_bytes(bloomed(pa.Table.from_pandas(frame), "id"))
    return path


def test_columns_as_expressions(path: Path) -> None:
    twice = {"twice": pc.field("id") * 2}
    filters = [("text", "=", f"t{IDS[4321]}")]
    expected = pa.table({"twice": [int(IDS[4321]) * 2]})

    assert read_table(path, filters=filters, columns=twice).equals(expected)
    assert pa.Table.from_batches(iter_batches(path, filters=filters, columns=twice)) == expected


def test_columns_in_a_tuple(path: Path) -> None:
    filters = f"id = {IDS[4321]}"
    (batch,) = iter_batches(path, filters=filters, columns=("text", "id"))

    assert batch.schema.names == ["text", "id"]
    assert read_table(path, filters=filters, columns=("text",)).schema.names == ["text"]


# What goes wrong.


@pytest.mark.parametrize("filters", ["nope = 1", [("nope", "=", 1)]])
def test_unknown_columns(path: Path, filters: Any) -> None:
    with pytest.raises(ColumnNotFound, match="nope"):
        read_table(path, filters=filters)


UUIDS = [uuid5(NAMESPACE_DNS, str(number)) for number in range(1_000)]
KNOWN = UUIDS[321]


@pytest.fixture
def uuids(tmp_path: Path) -> Path:
    """Ten row groups, in a hive folder; every tenth UUID is null."""
    stored = [None if number % 10 == 0 else one.bytes for number, one in enumerate(UUIDS)]
    table = pa.table(
        {
            "key": pa.array(stored, pa.uuid()),
            "raw": pa.array(stored, pa.binary(16)),
            "note": pa.array([f'{{"n": {n}}}' for n in range(1_000)], pa.json_()),
            "n": range(1_000),
        }
    )
    inner = pa.StructArray.from_arrays([table["key"].combine_chunks()], ["key"])
    folder = tmp_path / "day=5"
    folder.mkdir()
    pq.write_table(table.append_column("s", inner), folder / "a.parquet", row_group_size=100)
    bloomify(folder / "a.parquet", ["key", "raw", "s.key"])
    return tmp_path


@pytest.mark.parametrize(
    ("filters", "numbers"),
    [
        (f"key = '{KNOWN}'", [321]),
        (f"key = '{KNOWN}' AND day = 5", [321]),
        (f"key = '{KNOWN}' AND n < 9", []),
        (f"s.key = '{KNOWN}'", [321]),
        (f"key IN ('{KNOWN}', '{UUIDS[11]}')", [11, 321]),
        (f"key <> '{KNOWN}' AND n BETWEEN 319 AND 322", [319, 322]),
        ("key IS NULL AND n < 25", [0, 10, 20]),
        ("key IS NOT NULL AND n < 3", [1, 2]),
        ([("key", "=", KNOWN)], [321]),
        ([("key", "=", KNOWN.bytes)], [321]),
        ([("key", "in", [KNOWN, UUIDS[11]])], [11, 321]),
        ([("raw", "=", KNOWN)], [321]),
        (pc.field("key").cast(pa.binary(16)) == KNOWN.bytes, [321]),
        (pc.field("key").is_null() & (pc.field("n") < 25), [0, 10, 20]),
        ("""note = '{"n": 7}'""", [7]),
    ],
)
def test_columns_of_extension_types(uuids: Path, filters: Any, numbers: list[int]) -> None:
    whole = pq.read_table(uuids)
    wanted = whole.take(pa.array(numbers, pa.int64()))

    assert same(read_table(uuids, filters=filters), wanted)
    assert read_table(uuids, filters=filters, columns=["n"])["n"].to_pylist() == numbers
    batches = list(iter_batches(uuids, filters=filters, batch_size=7))
    assert same(pa.Table.from_batches(batches, whole.schema), wanted)
    held = uuids / "day=5" / "a.parquet"
    if "day" not in str(filters):
        assert read_table(held, filters=filters, columns=["n"])["n"].to_pylist() == numbers


def test_of_uuids_only_what_survives_is_read(uuids: Path) -> None:
    file = WatchedFile((uuids / "day=5" / "a.parquet").read_bytes())

    table = read_table(file, filters=[("key", "=", KNOWN)], columns=["n"])

    assert table["n"].to_pylist() == [321]
    assert file.row_groups_read() == {3}


def test_a_dataset_cannot_filter_rows_by_uuids(uuids: Path) -> None:
    with pytest.raises(InvalidArgument, match="such as UUID") as caught:
        dataset(uuids, filters=[("key", "=", KNOWN)])
    assert caught.value.column == "key"

    pruned = dataset(uuids, filters=[("key", "=", KNOWN)], filter_rows=False)
    assert pruned.to_table().num_rows == 100
    for filters in ("s IS NOT NULL AND n = 5", pc.field(3) == 5):
        assert dataset(uuids, filters=filters).to_table()["n"].to_pylist() == [5]


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        ("key = s.key", 900),
        ("key <> s.key", 0),
        ("key = raw", None),
        ("key = note", None),
        ("'{}' = key", 1),
        ("key IN (s.key, '{}')", 900),
        ("key BETWEEN s.key AND '{}' AND n < 400", None),
        ("key IS NOT DISTINCT FROM s.key", 1_000),
        ("key IS DISTINCT FROM '{}'", 999),
        ("coalesce(key, key) = '{}'", None),
        ("lower(key) = '{}'", None),
    ],
)
def test_what_sql_computes_of_uuids(uuids: Path, condition: str, count: int | None) -> None:
    """Compared with UUIDs and literals it has one meaning; all else is refused."""
    filters = condition.format(KNOWN)
    if "BETWEEN" in condition:
        numbers = read_table(uuids, filters=filters)["n"].to_pylist()
        assert numbers == [n for n in range(400) if n % 10 and UUIDS[n] <= KNOWN]
    elif count is None:
        with pytest.raises(InvalidArgument):
            read_table(uuids, filters=filters)
    else:
        assert read_table(uuids, filters=filters).num_rows == count


@pytest.mark.parametrize("first", ["uuid", "bytes"])
@pytest.mark.parametrize(
    "filters", [f"k = '{KNOWN}'", [("k", "=", str(KNOWN))], [("k", "=", KNOWN)]]
)
def test_uuids_and_plain_bytes_in_one_folder(tmp_path: Path, first: str, filters: Any) -> None:
    """The table's type decides what text means, whatever the file's is."""
    stored = [one.bytes for one in UUIDS[300:400]]
    arrays = {"uuid": pa.array(stored, pa.uuid()), "bytes": pa.array(stored, pa.binary(16))}
    for place, name in enumerate(sorted(arrays, key=lambda one: one != first)):
        path = tmp_path / f"{place}.parquet"
        pq.write_table(pa.table({"k": arrays[name]}), path, row_group_size=10)
        bloomify(path, ["k"])
    whole = pq.read_table(tmp_path)["k"].cast(pa.binary(16)).to_pylist()
    is_text = isinstance(filters, str) or isinstance(filters[0][-1], str)
    expected = 0 if first == "bytes" and is_text else 2

    assert whole.count(KNOWN.bytes) == 2
    assert read_table(tmp_path, filters=filters).num_rows == expected
    assert sum(map(len, iter_batches(tmp_path, filters=filters))) == expected


def test_the_name_of_the_file_is_refused_where_it_is_not_known(uuids: Path) -> None:
    named = read_table(uuids, filters="n = 5", columns=["__filename", "n"])
    assert named["__filename"].to_pylist() == [str(uuids / "day=5" / "a.parquet")]
    with pytest.raises(InvalidArgument, match="__filename"):
        iter_batches(uuids, filters="n = 5", columns=["__filename", "n"])
    with pytest.raises(InvalidArgument, match="__filename"):
        read_table(uuids, filters=[("key", "=", KNOWN)], columns=["__filename", "n"])


@pytest.mark.parametrize("read", [read_table, iter_batches, dataset])
def test_lists_that_pyarrow_cannot_compare_are_refused_as_in_sql(path: Path, read: Any) -> None:
    for filters, hint in (([("id", "=", "x")], "number"), ([("text", "in", [1])], "single quotes")):
        with pytest.raises(InvalidArgument, match=f"cannot be compared.*{hint}"):
            read(path, filters=filters)


def test_a_dataset_without_filters_holds_all_rows(path: Path) -> None:
    assert dataset(path).to_table().equals(pq.read_table(path))


def test_errors_of_pyarrow_are_passed_on(path: Path, tmp_path: Path) -> None:
    with pytest.raises(pa.ArrowInvalid, match="nope"):
        read_table(path, filters=pc.field("nope") == 1)
    (tmp_path / "no.parquet").write_bytes(b"no Parquet file")
    with pytest.raises(pa.ArrowInvalid, match="magic bytes"):
        read_table(tmp_path / "no.parquet", filters="id = 1")


def test_a_file_that_cannot_be_probed_is_read_by_pyarrow(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise problem

    monkeypatch.setattr("parquet_bloomwriter.probing.files.cached_footer", fails)
    absent = f"id = {ABSENT}"

    problem: Exception = UnsupportedFile("the footer is beyond me")
    assert len(read_table(path, filters=f"id = {IDS[4321]}")) == 1
    assert len(dataset(path, filters=absent, filter_rows=False).to_table()) == len(CELLS)

    problem = MalformedFile("the footer is beyond me")
    assert len(read_table(path, filters=f"id = {IDS[4321]}")) == 1
    with pytest.raises(MalformedFile, match="beyond me"):
        dataset(path, filters=absent)


def test_a_probe_that_fails_altogether_prunes_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise OSError("too many open files")

    monkeypatch.setattr(survivors, "probe_locations", fails)

    assert len(dataset(path, filters=f"id = {ABSENT}", filter_rows=False).to_table()) == len(CELLS)


def test_a_file_that_changes_after_pyarrow_saw_it_is_read_whole(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = probe(bloomed(CELLS.slice(0, 5 * ROWS), "id"), f"id = {IDS[4321]}")
    monkeypatch.setattr(survivors, "probe_locations", lambda *_: other)

    assert len(dataset(path, filters="id = 1", filter_rows=False).to_table()) == len(CELLS)


class _Short(io.RawIOBase):
    """A file object whose reads return at most 100 bytes, as sockets do."""

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return self._data.seek(offset, whence)

    def tell(self) -> int:
        return self._data.tell()

    def read(self, size: int = -1, /) -> bytes:
        return self._data.read(min(size, 100) if size >= 0 else 100)


def test_short_reads_are_no_damage() -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({"id": range(10_000)}), sink)
    data = sink.getvalue()
    for found in (
        read_table(_Short(data), filters="id = 5"),
        dataset(_Short(data), filters="id = 5").to_table(),
        pa.Table.from_batches(iter_batches(_Short(data), filters="id = 5")),
    ):
        assert found["id"].to_pylist() == [5]


def test_what_is_no_file_gets_a_clear_error() -> None:
    class DeltaTable:
        table_uri = "/t"

    for source, remedy in ((DeltaTable(), "its table_uri"), (5, "Pass a path"), (None, "a path")):
        for read in (read_table, dataset, iter_batches, BloomFile, probe):
            arguments: dict[str, Any] = {} if read is BloomFile else {"filters": "id = 1"}
            with pytest.raises(InvalidArgument, match=remedy):
                read(source, **arguments)


def test_columns_of_one_name_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table([pa.array([1, 2]), pa.array([3, 4]), pa.array([5, 6])], names=["id", "x", "x"])
    pq.write_table(table, path)
    for filters in ("id = 2", [("id", "=", 2)], None):
        with pytest.raises(InvalidArgument, match='several columns are named "x"'):
            read_table(path, filters=filters)
        with pytest.raises(InvalidArgument, match="Name the other columns"):
            list(iter_batches(path, filters=filters))
    assert read_table(path, filters="id = 2", columns=["id"])["id"].to_pylist() == [2]


def test_row_values_exclude_and_select(tmp_path: Path) -> None:
    """DuckDB finds the same rows; where nulls could be meant, nothing is excluded."""
    path = tmp_path / "a.parquet"
    rows = [(1, 2), (3, 4), (1, 4), (None, 2), (1, None), (7, 8)]
    table = pa.table({"id": [one for one, _ in rows], "h": [other for _, other in rows]})
    pq.write_table(table, path, row_group_size=1)
    bloomify(path)

    def kept(where: str) -> list[int]:
        return [i for file in probe(path, where).might_match for i in file.surviving or ()]

    for where in ("(id, h) IN ((1, 2), (3, 4))", "(id, h) = (7, 8)", "(id, h) IN ((1, 5), (9, 2))"):
        sql = f"SELECT id, h FROM '{path}' WHERE {where}"  # noqa: S608
        expected = duckdb.execute(sql).fetchall()
        found = read_table(path, filters=where)
        assert list(zip(*found.to_pydict().values(), strict=True)) == expected
        assert kept(where) == [rows.index(one) for one in expected]
    for where in ("(id, h) IN ((1, NULL))", "(id, h) NOT IN ((1, 2))", "NOT (id, h) = (1, 2)"):
        assert kept(where) == list(range(6))
    many = ", ".join(f"({i}, {i + 1})" for i in range(1000, 2000))
    assert kept(f"(id, h) IN ({many}, (7, 8))") == [5]
