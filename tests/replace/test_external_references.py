"""What refers to a file from outside, and Hadoop's checksum files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import bloomify, repair, strip
from parquet_bloomwriter.errors import UnsafeTarget
from parquet_bloomwriter.replace.external_references import (
    Reference,
    ReferenceKind,
    check_surroundings,
    find_references,
    find_table_records,
)
from tests.support.foreign_folders import FOREIGN_FOLDERS, ORDINARY_FOLDERS

if TYPE_CHECKING:
    from parquet_bloomwriter.source.local import StrPath


def _make(root: Path, *paths: str) -> None:
    """Make files, and folders where the path ends with a slash."""
    for path in paths:
        where = root / path
        where.parent.mkdir(parents=True, exist_ok=True)
        if path.endswith("/"):
            where.mkdir()
        else:
            where.write_bytes(b"")


def _found(root: Path, path: str) -> list[tuple[ReferenceKind, str]]:
    references = find_references(root / path)
    return [(found.kind, str(Path(found.path).relative_to(root))) for found in references]


@pytest.mark.parametrize(
    ("file", "others", "expected"),
    [
        ("a.parquet", [], []),
        ("a.parquet", [".b.parquet.crc", "a.parquet.crc", "b.parquet"], []),
        ("a.parquet", [".a.parquet.crc"], [(ReferenceKind.HADOOP_CRC, ".a.parquet.crc")]),
        ("a.parquet", ["_metadata"], [(ReferenceKind.SUMMARY_METADATA, "_metadata")]),
        ("a.parquet", ["_common_metadata"], [(ReferenceKind.COMMON_METADATA, "_common_metadata")]),
        ("a.parquet", ["_metadata/"], []),
        ("y=1/a.parquet", ["_metadata"], [(ReferenceKind.SUMMARY_METADATA, "_metadata")]),
        ("y=1/m=2/a.parquet", ["_metadata"], [(ReferenceKind.SUMMARY_METADATA, "_metadata")]),
        ("y=1/m/a.parquet", ["_metadata", "y=1/_metadata"], []),
        ("d/y=1/a.parquet", ["_metadata"], []),
        ("d/a.parquet", ["_metadata"], []),
        ("t/x/y/a.parquet", ["t/_delta_log/"], [(ReferenceKind.DELTA_LOG, "t/_delta_log")]),
        ("t/a.parquet", ["t/_delta_log"], []),
        ("t/x/a.parquet", ["t/.hoodie/"], [(ReferenceKind.HUDI_TIMELINE, "t/.hoodie")]),
        ("t/data/a.parquet", ["t/metadata/", "t/metadata/notes.json"], []),
        ("t/data/a.parquet", ["t/metadata"], []),
        (
            "t/data/p=1/a.parquet",
            ["t/metadata/00000-1f.metadata.json"],
            [(ReferenceKind.ICEBERG_METADATA, "t/metadata")],
        ),
        (
            "t/y=1/a.parquet",
            ["t/y=1/.a.parquet.crc", "t/_metadata", "_delta_log/"],
            [
                (ReferenceKind.HADOOP_CRC, "t/y=1/.a.parquet.crc"),
                (ReferenceKind.SUMMARY_METADATA, "t/_metadata"),
                (ReferenceKind.DELTA_LOG, "_delta_log"),
            ],
        ),
    ],
)
def test_references_are_found_where_they_are_looked_for(
    tmp_path: Path,
    file: str,
    others: list[str],
    expected: list[tuple[ReferenceKind, str]],
) -> None:
    _make(tmp_path, file, *others)
    assert _found(tmp_path, file) == expected


def test_a_summary_above_folders_that_are_no_partitions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[pq.FileMetaData] = []
    schema = pa.schema([("year", pa.int64()), ("day", pa.int64())])
    rows = pa.table({"year": [1, 2], "day": [3, 4], "id": ["a", "b"]})
    partitions = ds.partitioning(schema)
    pq.write_to_dataset(rows, tmp_path, partitioning=partitions, metadata_collector=found)
    pq.write_metadata(pa.schema([("id", pa.string())]), tmp_path / "_metadata", found)
    (one, other) = sorted(tmp_path.glob("*/*/*.parquet"))
    pq.write_table(rows, one.parent / "new.parquet")
    expected = [(ReferenceKind.SUMMARY_METADATA, "_metadata")]
    assert _found(tmp_path, str(one)) == _found(tmp_path, str(other)) == expected
    with pytest.raises(UnsafeTarget, match="_metadata"):
        bloomify(one, ["id"])
    read = ds.parquet_dataset(tmp_path / "_metadata").to_table()["id"].to_pylist()
    assert sorted(read) == ["a", "b"]
    assert _found(tmp_path, str(one.parent / "new.parquet")) == []
    monkeypatch.setattr("parquet_bloomwriter.replace.external_references._MOST_READ_BYTES", 9)
    assert _found(tmp_path, str(one.parent / "new.parquet")) == expected


def test_folders_of_table_formats_are_refused_by_name(tmp_path: Path) -> None:
    for number, (kind, file, records) in enumerate(FOREIGN_FOLDERS):
        root = tmp_path / str(number)
        _make(root, file, *records)
        with pytest.raises(UnsafeTarget) as caught:
            check_surroundings(root / file)
        assert kind in caught.value.problem
        assert caught.value.remedy[:3] in {"Nam", "Use", "Let", "Lea"}, "what to do instead"
        assert "force=True" in caught.value.remedy
        check_surroundings(root / file, force=True)
        for verb in (bloomify, strip, repair):
            pq.write_table(pa.table({"id": [1]}), root / file)
            before = (root / file).read_bytes()
            with pytest.raises(UnsafeTarget, match=kind):
                verb(root / file, output=root / file)
            assert (root / file).read_bytes() == before
        if records:  # of others, the names of files tell
            assert [str(one.kind) for one in find_table_records([(root / file).parent])] == [kind]


def test_ordinary_folders_are_not_refused(tmp_path: Path) -> None:
    for number, (file, others) in enumerate(ORDINARY_FOLDERS):
        root = tmp_path / str(number)
        _make(root, file, *others)
        assert _found(root, file) == [], (file, others)
        assert find_table_records([(root / file).parent]) == ()


def test_a_symbolic_link_has_two_surroundings(tmp_path: Path) -> None:
    _make(tmp_path, "t/_delta_log/", "t/a.parquet", "links/_metadata")
    (tmp_path / "links/b.parquet").symlink_to(tmp_path / "t/a.parquet")
    assert _found(tmp_path, "links/b.parquet") == [
        (ReferenceKind.SUMMARY_METADATA, "links/_metadata"),
        (ReferenceKind.DELTA_LOG, "t/_delta_log"),
    ]


def test_a_link_to_a_folder_that_is_a_link(tmp_path: Path) -> None:
    _make(tmp_path, "t/metadata/v1.metadata.json", "disk/day=1/a.parquet")
    (tmp_path / "t/data").symlink_to("../disk")
    (tmp_path / "x").mkdir()
    (tmp_path / "x/current").symlink_to(tmp_path / "t/data")
    expected = Reference(kind=ReferenceKind.ICEBERG_METADATA, path=str(tmp_path / "t/metadata"))
    assert find_references(tmp_path / "x/current/day=1/a.parquet") == (expected,)
    assert find_table_records([tmp_path / "x/current/day=1"]) == (expected,)
    assert find_references(tmp_path / "disk/day=1/a.parquet") == ()


def test_links_into_stores_of_files_by_checksums(tmp_path: Path) -> None:
    checksum = "5d41402abc4b2a76b9719d911017c592" * 2
    for number, stored in enumerate(
        (
            f"hub/datasets--a--b/blobs/{checksum}",
            f".dvc/cache/files/md5/{checksum[:2]}/{checksum[2:32]}",
            f".git/annex/objects/Gx/1M/SHA256E-s99--{checksum}.parquet/SHA256E-s99--{checksum}",
        )
    ):
        file, link = tmp_path / str(number) / stored, tmp_path / str(number) / "data/a.parquet"
        for one in (file, link):
            one.parent.mkdir(parents=True)
        pq.write_table(pa.table({"id": [1]}), file)
        link.symlink_to(file)
        before = file.read_bytes()
        with pytest.raises(UnsafeTarget, match="Replace the link to it by a copy first"):
            bloomify(link, ["id"])
        assert file.read_bytes() == before
        assert bloomify(link, ["id"], output=link.with_name("b.parquet")).written
        assert find_table_records([link.parent]) == ()
    assert _found(tmp_path, "blobs/a.parquet") == []


def test_a_looped_link_is_no_table(tmp_path: Path) -> None:
    _make(tmp_path, "a.parquet")
    for name in ("metadata", "_delta_log", "manifest"):
        (tmp_path / name).symlink_to(name)
    (tmp_path / "loop").symlink_to("loop/x")
    assert find_references(tmp_path / "a.parquet") == ()
    assert find_references(tmp_path / "loop/a.parquet") == ()


def test_a_table_may_lie_between_two_links(tmp_path: Path) -> None:
    """A partition of a table lies on another disk, and a link leads to the partition."""
    _make(tmp_path, "t/_delta_log/", "disk/p/a.parquet", "links/x")
    (tmp_path / "t/part=1").symlink_to("../disk/p")
    (tmp_path / "links/l").symlink_to("../t/part=1")
    (tmp_path / "links/b.parquet").symlink_to("l/a.parquet")
    for file in ("t/part=1/a.parquet", "links/l/a.parquet", "links/b.parquet"):
        assert _found(tmp_path, file) == [(ReferenceKind.DELTA_LOG, "t/_delta_log")], file
        assert find_table_records([(tmp_path / file).parent]) or file == "links/b.parquet"
    (tmp_path / "circle").symlink_to("circle")
    assert _found(tmp_path, "circle") == []


def test_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _make(tmp_path, "t/_delta_log/", "t/x/a.parquet")
    monkeypatch.chdir(tmp_path / "t/x")
    expected = Reference(kind=ReferenceKind.DELTA_LOG, path=str(tmp_path / "t/_delta_log"))
    assert find_references("a.parquet") == (expected,)
    _make(tmp_path, "plain/b.parquet")
    assert find_references("../../plain/b.parquet") == (), "the way there does not count"
    assert find_references("../../t/x/a.parquet") == (expected,)


def test_a_metadata_folder_that_cannot_be_listed_counts(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _make(tmp_path, "a.parquet", "b/c/a.parquet", "metadata/x.txt")
    real = os.scandir

    def refuse(path: Path) -> object:
        if Path(path) == tmp_path / "metadata":
            raise PermissionError
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert _found(tmp_path, "a.parquet") == [(ReferenceKind.UNLISTED_METADATA, "metadata")]
    assert _found(tmp_path, "b/c/a.parquet") == [(ReferenceKind.UNLISTED_METADATA, "metadata")]
    assert find_table_records([tmp_path / "b" / "c"]) == ()
    with pytest.raises(UnsafeTarget, match=r"metadata \(cannot be listed, and may be a table's\)"):
        check_surroundings(tmp_path / "a.parquet")


def test_a_schema_folder_that_cannot_be_looked_into_counts(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _make(tmp_path, "t/a.parquet", "t/manifest/m", "t/schema/schema-0", "x/a.parquet", "x/schema/")
    real = os.stat

    def refuse(path: StrPath, **options: bool) -> os.stat_result:
        if os.fspath(path).endswith("schema-0"):
            raise PermissionError
        return real(path, **options)

    monkeypatch.setattr(os, "stat", refuse)
    assert _found(tmp_path, "t/a.parquet") == [(ReferenceKind.UNLISTED_METADATA, "t/schema")]
    assert _found(tmp_path, "x/a.parquet") == []


@pytest.mark.parametrize(
    ("folder", "is_table"),
    [
        (".", True),
        ("files", True),
        ("p=1/q=2", True),
        ("data/p=1/x", True),
        ("data/0101/1100/p=1", True),
        ("x/y", False),
        ("x/p=1", False),
        ("p=1/x/q=2", False),
    ],
)
def test_folders_of_an_iceberg_table(tmp_path: Path, folder: str, *, is_table: bool) -> None:
    _make(tmp_path, f"t/{folder}/a.parquet", "t/metadata/00000-1f.metadata.json")
    path = str(tmp_path / "t" / "metadata")
    expected = Reference(kind=ReferenceKind.ICEBERG_METADATA, path=path)
    assert find_table_records([tmp_path / "t" / folder]) == (expected,) * is_table
    assert find_references(tmp_path / "t" / folder / "a.parquet") == (expected,)


@pytest.mark.parametrize(
    ("other", "clue"),
    [
        (".a.parquet.crc", "checksum file regenerated"),
        ("_metadata", "Remove it first"),
        ("_delta_log/", "Name the table's folder instead"),
        ("metadata/v1.metadata.json", "iceberg://CATALOG"),
        (".hoodie/", "the table format's own writer"),
    ],
)
def test_a_reference_is_refused_by_name_and_with_a_remedy(
    tmp_path: Path,
    other: str,
    clue: str,
) -> None:
    _make(tmp_path, "a.parquet", other)
    with pytest.raises(UnsafeTarget) as caught:
        check_surroundings(tmp_path / "a.parquet")
    assert caught.value.path == str(tmp_path / "a.parquet")
    assert str(tmp_path / other.split("/", maxsplit=1)[0]) in caught.value.problem
    assert clue in caught.value.remedy
    check_surroundings(tmp_path / "a.parquet", force=True)


def test_what_is_not_refused(tmp_path: Path) -> None:
    _make(tmp_path, "a.parquet", "_common_metadata", ".a.parquet.crc")
    check_surroundings(tmp_path / "a.parquet", regenerates_crc=True)
    _make(tmp_path, "_delta_log/")
    with pytest.raises(UnsafeTarget, match="_delta_log"):
        check_surroundings(tmp_path / "a.parquet", regenerates_crc=True)
