"""Paths as text: what is on a disk, what on a store, and who may ask."""

from __future__ import annotations

import re
from pathlib import Path

import parquet_bloomwriter
from parquet_bloomwriter.index.layout import (
    are_mixed,
    common_folder,
    has_dots,
    path_in,
    relative_path,
)

PACKAGE = Path(parquet_bloomwriter.__file__).parent


def test_a_storage_knows_whether_a_path_is_on_a_store_and_nobody_else_asks() -> None:
    asks = re.compile(r"(?<!def )\bis_on_store\(|startswith\(SCHEMES")
    asking = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if asks.search(path.read_text("utf-8"))
    }
    assert asking == {"index/layout.py", "index/storage/base.py"}


def test_the_folder_of_files() -> None:
    for files, expected in (
        (["/t/a", "/t/b"], "/t"),
        (["/t/k=1/a", "/t/k=2/b"], "/t"),
        (["/a", "/t/b"], "/"),
        (["s3://b/t/a", "s3://b/t/u/b"], "s3://b/t"),
        (["s3://b/t/k=1/a"], "s3://b/t/k=1"),
        (["s3://b/a", "s3://b/t/b"], "s3://b"),
        (["s3://b/t/a", "s3://c/t/a"], None),
        (["s3://b/t/a", "gs://b/t/a"], None),
        (["abfss://c@a.net/t/a", "abfss://c@a.net/t/b"], "abfss://c@a.net/t"),
    ):
        assert common_folder(files) == expected
    assert are_mixed(["/a", "s3://b/a"])
    assert not are_mixed(["s3://b/a", "gs://b/a"])


def test_the_path_of_a_file_in_a_table_and_back() -> None:
    for root, name, path in (
        ("/t", "k=1/a", "/t/k=1/a"),
        ("/", "a", "/a"),
        ("/t", "/other/a", "/other/a"),
        ("/t", "s3://b/a", "s3://b/a"),
        ("s3://b/t", "a", "s3://b/t/a"),
        ("s3://b/t", "/a", "s3://b/t//a"),
        ("s3://b/t", "gs://c/a", "gs://c/a"),
    ):
        assert path_in(root, name) == path
        assert relative_path(root, path) == name
    assert relative_path("s3://b/t", "s3://b/t/s3://c") == "s3://b/t/s3://c"
    assert has_dots("/t/../u")
    assert not has_dots("s3://b/../u")
