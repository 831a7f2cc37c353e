"""What refers to a file from outside, and Hadoop's checksum files."""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from parquet_bloomwriter.errors import FileChanged, UnsafeTarget
from parquet_bloomwriter.replace import external_references
from parquet_bloomwriter.replace.external_references import (
    Reference,
    ReferenceKind,
    check_surroundings,
    crc_path,
    find_references,
    find_table_records,
    regenerate_crc,
)

SPARK_TEXT = b"spark" + b"x" * 600 + b"\n"
SPARK_CRC = bytes.fromhex("637263000000020098675ab21f2b5629")
"""A text file and its checksum file as Spark 4.3 wrote them."""


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


def _listing(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*")}


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


def test_a_symbolic_link_has_two_surroundings(tmp_path: Path) -> None:
    _make(tmp_path, "t/_delta_log/", "t/a.parquet", "links/_metadata")
    (tmp_path / "links/b.parquet").symlink_to(tmp_path / "t/a.parquet")
    assert _found(tmp_path, "links/b.parquet") == [
        (ReferenceKind.SUMMARY_METADATA, "links/_metadata"),
        (ReferenceKind.DELTA_LOG, "t/_delta_log"),
    ]


def test_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _make(tmp_path, "t/_delta_log/", "t/x/a.parquet")
    monkeypatch.chdir(tmp_path / "t/x")
    expected = Reference(kind=ReferenceKind.DELTA_LOG, path=str(tmp_path / "t/_delta_log"))
    assert find_references("a.parquet") == (expected,)


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
    with pytest.raises(UnsafeTarget, match=r"metadata \(cannot be listed, and may be Iceberg's\)"):
        check_surroundings(tmp_path / "a.parquet")


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
        ("_delta_log/", "the table format's own writer"),
        ("metadata/v1.metadata.json", "the table format's own writer"),
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


def test_the_checksum_file_that_spark_wrote(tmp_path: Path) -> None:
    """Its `_SUCCESS` is empty and has no checksums."""
    (tmp_path / "_SUCCESS").write_bytes(b"")
    crc_path(tmp_path / "_SUCCESS").write_bytes(b"stale")
    regenerate_crc(tmp_path / "_SUCCESS")
    assert crc_path(tmp_path / "_SUCCESS").read_bytes() == bytes.fromhex("6372630000000200")
    (tmp_path / "part").write_bytes(SPARK_TEXT)
    crc_path(tmp_path / "part").write_bytes(b"")
    regenerate_crc(tmp_path / "part")
    assert crc_path(tmp_path / "part").read_bytes() == SPARK_CRC


@given(data=st.binary(max_size=300), run=st.integers(1, 100))
@example(data=bytes(range(250)), run=60)
def test_one_checksum_per_run_of_bytes(
    tmp_path_factory: pytest.TempPathFactory,
    data: bytes,
    run: int,
) -> None:
    """The pieces that are read at a time leave no trace."""
    folder = tmp_path_factory.mktemp("crc")
    (folder / "a").write_bytes(data)
    (folder / ".a.crc").write_bytes(b"crc\0" + struct.pack(">i", run) + b"stale")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(external_references, "_READ", 100)
        regenerate_crc(folder / "a")
    sums = b"".join(
        zlib.crc32(data[start : start + run]).to_bytes(4, "big")
        for start in range(0, len(data), run)
    )
    expected = b"crc\0" + run.to_bytes(4, "big") + sums
    assert _listing(folder) == {"a": data, ".a.crc": expected}


@pytest.mark.parametrize(
    "stale",
    [b"", b"crc\0\0\0\2", b"CRC\0\0\0\1\0", b"crc\0\0\0\0\0", b"crc\0\xff\xff\xff\xff"],
)
def test_an_unsound_checksum_file_is_replaced_by_one_of_512_bytes_a_run(
    tmp_path: Path,
    stale: bytes,
) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    (tmp_path / ".a.crc").write_bytes(stale)
    (tmp_path / ".a.crc").chmod(0o640)
    regenerate_crc(tmp_path / "a")
    expected = b"crc\0\0\0\2\0" + zlib.crc32(b"abc").to_bytes(4, "big")
    assert _listing(tmp_path) == {"a": b"abc", ".a.crc": expected}
    assert (tmp_path / ".a.crc").stat().st_mode & 0o777 == 0o640


def test_nothing_is_made_where_there_is_no_checksum_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    with pytest.raises(FileNotFoundError):
        regenerate_crc(tmp_path / "a")
    assert _listing(tmp_path) == {"a": b"abc"}


def test_a_file_that_changes_under_the_checksums(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    (tmp_path / ".a.crc").write_bytes(b"stale")
    real = zlib.crc32

    def meddle(data: bytes) -> int:
        (tmp_path / "a").write_bytes(b"abcd")
        return real(data)

    monkeypatch.setattr(zlib, "crc32", meddle)
    with pytest.raises(FileChanged):
        regenerate_crc(tmp_path / "a")
    assert _listing(tmp_path) == {"a": b"abcd", ".a.crc": b"stale"}
