"""A string is one name, and one path, wherever several could be given."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec import filesystem

from parquet_bloomwriter import (
    BloomFile,
    BloomwriterError,
    ColumnNotFound,
    InvalidArgument,
    UnsafeTarget,
    advise,
    bloomify,
    bloomify_table,
    for_each_file,
    index,
    inspect,
    iter_batches,
    merge_advice,
    probe,
    read_table,
    repair,
    strip,
    strip_table,
    verify,
)
from parquet_bloomwriter.arguments import is_of_library, names_of, paths_of
from parquet_bloomwriter.spark.hyperspace import BFIndexConfig
from parquet_bloomwriter.spark.plan.catalog import KnownHomes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Write a file whose column "ab" could be taken for "a" and "b"."""
    file = tmp_path / "t/x.parquet"
    file.parent.mkdir()
    pq.write_table(pa.table({name: range(100) for name in ("a", "b", "ab")}), file)
    return file


def test_public_modules_are_found_and_not_imported_before_they_are_used() -> None:
    program = (
        "import sys, parquet_bloomwriter as p\n"
        "assert {'errors', 'index', 'bloomify'} <= set(dir(p))\n"
        "assert not {p.__name__ + '.index', p.__name__ + '.errors'} & set(sys.modules)\n"
        "print(p.errors.IndexBusy.__name__, p.index.lookup.__name__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert done.stdout == "IndexBusy lookup\n"


def test_columns(path: Path) -> None:
    assert [column.name for column in bloomify(path, "ab").columns] == ["ab"]
    bloomify(path)
    assert [column.name for column in inspect(path, "ab").columns] == ["ab"]
    assert {check.column for check in verify(path, "ab").checks} == {"ab"}
    assert [column.name for column in advise(path, "ab").columns] == ["ab"]
    assert strip(path, "ab").columns == ("ab",)
    assert read_table(path, columns="ab").column_names == ["ab"]
    assert next(iter_batches(path, columns="ab")).schema.names == ["ab"]
    assert [c.name for c in index.create(path.parent, "ab", name="i").columns] == ["ab"]
    assert BFIndexConfig("i", "ab").indexed_columns == ("ab",)


@pytest.mark.parametrize(
    "verb",
    [
        bloomify,
        strip,
        inspect,
        verify,
        advise,
        lambda file, names: bloomify(file, exclude=names),
        lambda file, names: read_table(file, columns=names),
        lambda file, names: iter_batches(file, columns=names),
    ],
)
def test_text_is_no_list_of_columns(path: Path, verb: Callable[[Path, str], object]) -> None:
    with pytest.raises(ColumnNotFound) as caught:
        verb(path, "a, ab")
    problem = 'there is no column "a, ab". Give a list: ["a", "ab"].'
    assert str(caught.value).endswith(problem)
    with pytest.raises(ColumnNotFound) as caught:
        verb(path, "a,c")
    assert "list" not in str(caught.value)


def test_rates_as_text(path: Path) -> None:
    assert advise(path, "a", fpp="5%").fpp == 0.05
    report = index.create(path.parent, ["a", "b"], name="i", fpp={"a": "0.1%", "*": "0.05"})
    assert [column.fpp for column in report.columns] == [0.001, 0.05]
    for verb in (advise, bloomify):
        with pytest.raises(
            InvalidArgument, match=r"^fpp is a number .* such as 0\.001, not 'a bit'"
        ):
            verb(path, "a", fpp="a bit")


@pytest.mark.parametrize("jobs", [0, -1, 1.5, "4"])
def test_what_is_no_number_of_threads(path: Path, jobs: Any) -> None:  # noqa: ANN401  anything
    def every(file: Path, *, jobs: int) -> object:
        return list(for_each_file(file, bloomify, jobs=jobs))

    for verb in (bloomify, verify, advise, every):
        with pytest.raises(InvalidArgument) as caught:
            verb(path, jobs=jobs)
        assert caught.value.problem == f"jobs is a number of threads, 1 or more, not {jobs!r}"


def test_remedies_name_arguments(path: Path) -> None:
    other = path.parent.parent / "other.parquet"
    bloomify(path, "a", output=other)
    with pytest.raises(UnsafeTarget, match=r"permit overwriting \(overwrite=True\)\.$"):
        bloomify(path, "a", output=other)
    other.with_name(".other.parquet.crc").write_bytes(b"crc")
    with pytest.raises(UnsafeTarget, match=r"regenerated \(regenerate_crc=True\)"):
        strip(other)
    (path.parent / "_metadata").touch()
    with pytest.raises(UnsafeTarget, match=r"force it \(force=True\)\.$"):
        bloomify(path, "a")
    (path.parent / "_metadata").unlink()
    path.with_name("another").hardlink_to(path)
    with pytest.raises(UnsafeTarget, match=r"Permit it \(force=True\), "):
        bloomify(path, "a")


def test_paths(path: Path) -> None:
    folder = str(path.parent)
    for files in (path, str(path)):
        report = index.create(folder, "a", name=f"i{type(files).__name__}", files=files)
        assert report.num_files == 1
        assert index.lookup(folder, "a = 5", files=files).num_files == 1
        assert index.refresh(folder, name=report.name, mode="full", files=files).num_files == 1
        assert index.index(folder, name=report.name, files=files).num_files == 1
    assert merge_advice([advise(path)], paths=folder).paths == (folder,)
    assert KnownHomes(None, folder).homes() == [f"{folder}/_bloom_index"]
    assert probe(str(path), "a = 5").num_row_groups == 1


@pytest.mark.parametrize("given", [5, [5], b"ab", ["a", None], [["a"]]])
@pytest.mark.parametrize(
    "verb",
    [bloomify, strip, inspect, verify, advise, lambda file, names: read_table(file, columns=names)],
)
def test_what_is_no_name(path: Path, verb: Callable[[Path, Any], object], given: object) -> None:
    before = path.read_bytes()
    with pytest.raises(InvalidArgument, match=r"the name of a column is text, but .* was given"):
        verb(path, given)
    assert path.read_bytes() == before


def test_names_and_paths(tmp_path: Path) -> None:
    assert names_of("ab") == names_of(["ab"]) == names_of(iter(("ab",))) == ("ab",)
    assert names_of(()) == ()
    assert paths_of(tmp_path) == paths_of([tmp_path]) == paths_of(str(tmp_path)) == (str(tmp_path),)
    with pytest.raises(InvalidArgument, match="a path is text, but 7 was given"):
        paths_of([tmp_path, 7])  # type: ignore[list-item]


@pytest.mark.parametrize("given", [b"ab", bytearray(b"ab"), memoryview(b"ab")])
def test_bytes_are_one_wrong_value(given: object) -> None:
    for take in (names_of, paths_of):
        with pytest.raises(
            InvalidArgument, match=r"is text, but (b'|bytearray|<memory).* was given"
        ):
            take(given)  # type: ignore[arg-type]


def test_proxies_are_of_the_class_that_they_name() -> None:
    memory = filesystem("memory")
    proxy = Mock(spec=type(memory))
    for given in (memory, proxy):
        assert is_of_library(given, "fsspec", "AbstractFileSystem")
        assert not is_of_library(given, "pyarrow", "AbstractFileSystem")


def test_a_table_or_a_folder_where_a_file_is_needed_and_the_reverse(
    tmp_path: Path,
) -> None:
    """The error names the functions that take what was given."""
    (tmp_path / "table" / "_delta_log").mkdir(parents=True)
    (tmp_path / "folder").mkdir()
    pq.write_table(pa.table({"id": [1]}), tmp_path / "a.parquet")
    of_files: list[Callable[[Any], object]] = [
        *(strip, repair, inspect, verify, advise, BloomFile),
        lambda given: bloomify(given, ["id"]),
    ]
    for function in of_files:
        for given in (tmp_path / "table", "iceberg://prod/sales.orders"):
            with pytest.raises(BloomwriterError, match="bloomify_table and strip_table take"):
                function(given)
        with pytest.raises(BloomwriterError, match="for_each_file applies a verb to every file"):
            function(tmp_path / "folder")
    for table_function in (bloomify_table, strip_table):
        for given in (tmp_path / "folder", tmp_path / "a.parquet"):
            with pytest.raises(InvalidArgument, match="A plain file is for bloomify, strip and"):
                table_function(given)
