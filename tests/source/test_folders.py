"""One rule for which files of a folder count: every verb finds what Spark reads."""

from __future__ import annotations

import errno
import json
import os
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from bloomify.main import cli
from parquet_bloomwriter import (
    bloomify,
    dataset,
    find_files,
    for_each_file,
    index,
    probe,
    read_table,
    scan_polars,
)
from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.index.table.data_files import list_files
from parquet_bloomwriter.source import find_sources, folders
from parquet_bloomwriter.source.folders import Leftovers, Why
from tests.source.stores import CountingHandler

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

VALUE = 7
"""An id that each file has."""

COUNT = (
    "a.parquet",
    "b.PARQ",
    "c.pq",
    "000000_0",
    "part-00000",
    "data.snappy",
    "x.csv",  # Parquet all the same
    "nested/deep/d.parquet",
    "nested/000001_0",
    "_day=1/e.parquet",
    "_day=2/000000_0",
    "_metadata_old/f.parquet",  # Spark reads it
    "_single=1",
    "_metadata=1._COPYING_",
)
HIDDEN = (
    ".g.parquet",
    "_h.parquet",
    "i.parquet._COPYING_",
    "_temporary/0/j.parquet",
    ".git/k.parquet",
    "_delta_logs/l.parquet",
)
SUMMARIES = ("_metadata", "_common_metadata")
COMPANIONS = ("_SUCCESS", ".a.parquet.crc", "_started_17", "_bloomify.toml")
LINKS = ("to_file", "to_file.parquet", "to_folder/far.parquet", "to_folder/_p=1/000000_0")


def _write(path: Path, number: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"id": [VALUE, 100 + number]}), path)


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A folder as odd as they come, without files that make Spark fail."""
    root = tmp_path / "table"
    for number, name in enumerate((*COUNT, *HIDDEN, *SUMMARIES)):
        _write(root / name, number)
    for name in COMPANIONS:
        (root / name).write_bytes(b"")
    (root / "empty").write_bytes(b"")
    away = tmp_path / "away"
    _write(away / "far.parquet", 900)
    _write(away / "_p=1/000000_0", 901)
    (root / "to_file").symlink_to(away / "far.parquet")
    (root / "to_file.parquet").symlink_to(away / "far.parquet")
    (root / "to_folder").symlink_to(away)
    (root / "dead").symlink_to(away / "gone")
    (root / "self").symlink_to("self")
    return root


def _add_what_spark_cannot_read(root: Path) -> None:
    (root / "nested/loop").symlink_to(root)  # read 41 times
    (root / "nested/loop2").symlink_to(root / "nested")  # and that multiplies
    (root / "notes.txt").write_text("not Parquet")
    (root / "tiny").write_text("abc")
    os.mkfifo(root / "fifo")


def _names(paths: Any, root: Path) -> list[str]:  # noqa: ANN401  an iterable of paths
    return sorted(os.path.relpath(str(path), root) for path in paths)


def _rows(root: Path, **options: Any) -> dict[str, int]:  # noqa: ANN401  of pyarrow
    """Count the rows by each way to read, and with the value."""
    table = ds.dataset([str(root / name) for name in EVERY]).to_table()
    assert table.num_rows == 2 * len(EVERY)
    asked = [("id", "=", VALUE)]
    return {
        "read_table": read_table(root, columns=["id"], **options).num_rows,
        "read_table, filtered": 2 * read_table(root, filters=asked, **options).num_rows,
        "dataset": dataset(root, **options).count_rows(),
        "dataset, filtered": 2 * dataset(root, filters=asked, **options).count_rows(),
        "scan_polars": scan_polars(root, **options).select("id").collect().height,
    }


def _seen(path: str) -> str:
    return path


EVERY = sorted((*COUNT, *LINKS))


def test_every_verb_finds_what_spark_reads(odd: Path, spark_files: Any) -> None:  # noqa: ANN401
    assert spark_files(odd) == EVERY
    _add_what_spark_cannot_read(odd)
    left = Leftovers()
    assert _names(find_sources(odd, leftovers=left), odd) == EVERY
    groups = {one.why: one for one in left.groups()}
    assert {why: one.num_names for why, one in groups.items()} == {
        Why.HIDDEN: len(HIDDEN),
        Why.NOT_PARQUET: 2,
        Why.EMPTY: 1,
        Why.NOT_REGULAR: 1,
        Why.LOOP: 2,
        Why.DEAD: 2,
    }
    assert groups[Why.NOT_PARQUET].first == (str(odd / "notes.txt"), str(odd / "tiny"))

    report = probe(odd, f"id = {VALUE}")
    assert _names((file.path for file in report.might_match), odd) == EVERY
    assert report.passed_over == left.groups()
    assert _names(find_files(odd), odd) == EVERY
    assert {*_rows(odd, partitioning=None).values()} == {2 * len(EVERY)}
    assert len(read_table(odd, filters=[("id", "=", VALUE)])) == len(EVERY)

    created = index.create(odd, "id", name="ix")
    assert (created.num_files, created.left_out) == (len(EVERY), ())
    assert created.passed_over == left.groups()
    for value, number in ((VALUE, len(EVERY)), (-1, 0)):
        found = index.lookup(odd, f"id = {value}")
        assert (found.num_kept, found.num_files) == (number, len(EVERY))
        assert {one.why for one in found.passed_over} == {*groups}
    assert _names(index.lookup(odd, f"id = {VALUE}").paths, odd) == EVERY
    assert not index.refresh(odd, name="ix").changed

    # Verbs that write work once on each file, whatever leads to it.
    done = list(for_each_file(odd, lambda path: bloomify(path, ["id"], force=True)))
    assert all(one.error is None for one in done)
    first = {os.path.realpath(odd / name): name for name in reversed(EVERY)}
    assert _names((one.path for one in done), odd) == sorted(first.values())


def test_partitions_of_links_and_underscores_are_read(tmp_path: Path) -> None:
    root = tmp_path / "env=prod" / "table"
    _write(root / "_day=1/000000_0", 1)
    _write(tmp_path / "away/a", 2)
    (root / "_day=2").symlink_to(tmp_path / "away")
    read = read_table(str(root), filters="_day = 2 AND id = 7")
    assert read.to_pylist() == [{"id": VALUE, "_day": 2}]
    assert read_table(f"{root}/").schema.names == ["id", "_day"]
    assert [one.path for one in probe(root, "_day = 1 AND id = 7").might_match] == [
        str(root / "_day=1/000000_0")
    ]


def test_a_name_that_is_no_utf8_is_no_obstacle(tmp_path: Path) -> None:
    root = tmp_path / "t"
    _write(root / "a.parquet", 1)
    for name in (b"\xff.parquet", b"\xfe"):
        (root / "a.parquet").rename(root / os.fsdecode(name))
        _write(root / "a.parquet", 1)
    assert len(probe(root, f"id = {VALUE}").might_match) == 3
    created = index.create(root, "id", name="ix")
    assert (created.num_files, len(created.left_out)) == (1, 2)
    assert index.lookup(root, f"id = {VALUE}").num_kept == 3
    with pytest.raises(InvalidArgument, match=r"pyarrow reads no file whose name is not UTF-8"):
        read_table(root, filters=[("id", "==", VALUE)])


def test_damaged_files_count_so_that_opening_them_says_so(tmp_path: Path) -> None:
    root = tmp_path / "t"
    _write(root / "whole", 1)
    data = (root / "whole").read_bytes()
    (root / "start").write_bytes(data[:-3])
    (root / "end").write_bytes(b"XXXX" + data[4:])
    (root / "encrypted").write_bytes(b"PARE" + bytes(20) + b"PARE")
    (root / "gone.parquet").symlink_to("nowhere")
    report = probe(root, "id = 0")
    assert _names((one.path for one in report.files), root) == [
        "encrypted",
        "end",
        "gone.parquet",
        "start",
        "whole",
    ]
    assert {*_names((one.path for one in report.failed), root)} >= {"start", "encrypted"}
    assert not report.passed_over


def test_patterns_follow_no_links_in_circles(tmp_path: Path) -> None:
    root = tmp_path / "t"
    _write(root / "p=1/.h/a.parquet", 1)
    _write(root / "p=1/b.parquet", 2)
    for name in ("x", "y"):  # two links: 2**40 paths
        (root / name).symlink_to(root)
    (root / "z").symlink_to(root / "p=1")
    found = _names(find_sources(f"{root}/**/*.parquet"), root)
    assert found == ["p=1/b.parquet", "z/b.parquet"]
    assert len(list(for_each_file(f"{root}/**/*.parquet", _seen))) == 1


def test_links_that_multiply_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "_MOST_VISITS", 20)
    for level in range(30):
        (tmp_path / f"{level}").mkdir()
        for name in ("x", "y"):
            (tmp_path / f"{level}" / name).symlink_to(tmp_path / f"{level + 1}")
    (tmp_path / "30").mkdir()
    for find in (find_sources, list_files, lambda path: list(for_each_file(path, _seen))):
        with pytest.raises(InvalidArgument, match="symbolic links lead to one folder"):
            find(str(tmp_path / "0"))


def test_no_file_is_not_said_where_a_link_leads_nowhere(tmp_path: Path) -> None:
    root = tmp_path / "t"
    _write(root / "a.parquet", 1)
    (root / "_old.parquet").write_bytes(b"hidden")
    index.create(root, "id", name="ix")
    asked = [str(root), "--where", "id = -1"]

    def run(*words: str) -> tuple[int, str, str]:
        result = CliRunner().invoke(cli, [*words, *asked], prog_name="bloomify")
        return result.exit_code, result.stdout, result.stderr

    hidden = f"passed over: 1 hidden ({root}/_old.parquet)"
    for verb in (["probe"], ["index", "lookup"]):
        code, _, errors = run(*verb)
        assert (code, hidden in errors) == (1, True)
    (root / "latest").symlink_to("nowhere")
    for verb in (["probe"], ["index", "lookup"]):
        code, _, errors = run(*verb)
        assert code == 3
        assert f"{hidden}; 1 links that lead nowhere ({root}/latest)." in errors
        assert run(*verb, "--files")[:2] == (3, "")
        document = json.loads(run(*verb, "--json")[1])
        told = document.get("passed_over") or document["lookup"]["passed_over"]
        assert [(one["why"], one["num_names"]) for one in told] == [
            ("hidden", 1),
            ("links that lead nowhere", 1),
        ]
    asked[-1] = f"id = {VALUE}"
    assert [run("probe")[0], run("index", "lookup")[0]] == [0, 0]


def test_an_immutable_index_knows_no_folder_where_a_link_leads_nowhere(tmp_path: Path) -> None:
    root = tmp_path / "t"
    _write(root / "a.parquet", 1)
    index.create(root, "id", name="before", contract="immutable")
    for name in ("latest", "latest.parquet"):
        (root / name).symlink_to(tmp_path / "late")
        match = f"passed over: 1 links that lead nowhere .*{name}"
        with pytest.raises(InvalidArgument, match=match):
            index.create(root, "id", name="after", contract="immutable")
        for mode in ("incremental", "quick", "full"):
            with pytest.raises(InvalidArgument, match=match):
                index.refresh(root, "before", mode=mode)
        (root / name).unlink()
    assert not index.refresh(root, "before").changed


def test_a_link_that_leads_into_a_file_leads_nowhere(tmp_path: Path) -> None:
    root = tmp_path / "t"
    _write(root / "a.parquet", 1)
    (root / "into").symlink_to(root / "a.parquet" / "b")
    (root / "long.parquet").symlink_to("x" * 300)
    created = index.create(root, "id", name="ix")
    assert [(one.why, one.num_names) for one in created.passed_over] == [(Why.DEAD, 2)]
    assert index.lookup(root, f"id = {VALUE}").num_kept == 1
    assert len(read_table(root)) == 2


def test_what_is_behind_a_link_without_rights_is_not_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, real = tmp_path / "t", os.stat
    _write(root / "a.parquet", 1)
    _write(tmp_path / "far", 2)
    (root / "far.parquet").symlink_to(tmp_path / "far")

    def stat(path: Any, **options: Any) -> os.stat_result:  # noqa: ANN401
        if str(path).endswith("far.parquet"):
            raise PermissionError(errno.EACCES, "refused", path)
        return real(path, **options)

    monkeypatch.setattr(os, "stat", stat)
    assert len(read_table(root)) == 4


def test_an_index_of_before_reads_what_it_did_not_find(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for contract in ("checked", "immutable"):
        root = tmp_path / contract
        _write(root / "a.parquet", 1)
        monkeypatch.setattr("parquet_bloomwriter.index.config.LISTING", {})
        index.create(root, "id", name="ix", contract=contract)
        _write(root / "000000_0", 2)
        _write(root / "_day=1/b.parquet", 3)
        monkeypatch.undo()
        for value, found in ((103, ["_day=1/b.parquet", "000000_0"]), (-1, EVERY[:0])):
            report = index.lookup(root, f"id = {value}")
            assert _names(report.paths, root) == sorted(found or ["_day=1/b.parquet", "000000_0"])
            assert report.was_listed
        index.refresh(root, name="ix")
        assert _names(index.lookup(root, "id = 103").paths, root) == ["_day=1/b.parquet"]
        assert index.lookup(root, "id = 103").was_listed == (contract == "checked")


def test_files_that_an_index_knows_are_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "t"
    for number in range(3):
        _write(root / f"00000{number}_0", number)
    index.create(root, "id", name="ix")
    (root / "000003_0").write_bytes(b"new, and not Parquet")
    opened: list[str] = []
    real = folders.why_not

    def why_not(path: str) -> Why | None:
        opened.append(path)
        return real(path)

    monkeypatch.setattr(folders, "why_not", why_not)
    assert index.lookup(root, f"id = {VALUE}").num_kept == 3
    assert opened == [str(root / "000003_0")]


def test_the_rule_is_the_same_on_stores() -> None:
    whole = pa.BufferOutputStream()
    pq.write_table(pa.table({"id": [VALUE]}), whole)
    data = whole.getvalue().to_pybytes()
    files = {f"t/{name}": data for name in (*COUNT, *HIDDEN)}
    files |= {f"t/{name}": b"" for name in (*COMPANIONS, *SUMMARIES, "empty", "p_$folder$")}
    files |= {"t/notes.txt": b"not Parquet"}
    handler = CountingHandler(files)
    store, left = pafs.PyFileSystem(handler), Leftovers()
    found = find_sources("t", filesystem=store, leftovers=left)
    assert [one.path.removeprefix("t/") for one in found] == sorted(COUNT)
    assert {one.why: one.num_names for one in left.groups()} == {
        Why.HIDDEN: len(HIDDEN),
        Why.NOT_PARQUET: 1,
        Why.EMPTY: 1,
    }
    doubtful = {f"t/{name}" for name in COUNT if not folders.has_suffix(name)}
    opened = [entry[1] for entry in handler.log if entry[0] == "open"]
    assert sorted(opened) == sorted([*doubtful, "t/notes.txt"])  # four bytes of each
    assert read_table("t", filesystem=store, partitioning=None).num_rows == len(COUNT)


@pytest.fixture(scope="module")
def spark_files() -> Any:  # noqa: ANN401  a function
    """Return the files of a folder from which Spark reads rows, as names below it."""
    from tests.support.spark_session import local_session

    with local_session({}) as spark:

        def files(root: Path) -> list[str]:
            return _read_by(spark, root)

        yield files


def _read_by(spark: SparkSession, root: Path) -> list[str]:
    rows = spark.read.option("recursiveFileLookup", "true").parquet(str(root))
    found = rows.select("_metadata.file_path").distinct().collect()
    return _names((unquote(row[0].removeprefix("file:")) for row in found), root)


def test_a_link_to_a_folder_above_the_root_is_passed_over(tmp_path: Path) -> None:
    root = tmp_path / "lake" / "t"
    _write(root / "a.parquet", 1)
    _write(tmp_path / "lake" / "other" / "b.parquet", 2)
    (root / "up").symlink_to(tmp_path / "lake")
    (root / "top").symlink_to("/")
    (root / "beside").symlink_to(tmp_path / "lake" / "other")
    assert _names(find_sources(str(root)), root) == ["a.parquet", "beside/b.parquet"]
    assert len(list(for_each_file(root, _seen))) == 2
    (tmp_path / "way").symlink_to(root)
    found = _names(find_sources(str(tmp_path / "way")), tmp_path / "way")
    assert found == ["a.parquet", "beside/b.parquet"]
