"""Paths of the log: what they mean, and names of new files."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_bloomwriter.delta.place.local import LocalPlace
from parquet_bloomwriter.delta.place.uris import DataPath, check_new, data_path, new_uri
from parquet_bloomwriter.errors import InvalidArgument


@pytest.mark.parametrize(
    ("uri", "found"),
    [
        ("part-0.parquet", DataPath("", "part-0.parquet")),
        ("a%20b/part-0.parquet", DataPath("", "a b/part-0.parquet")),
        ("day=a%2520b/x.parquet", DataPath("", "day=a%20b/x.parquet")),
        ("at=10:30/x.parquet", DataPath("", "at=10:30/x.parquet")),
        ("at=10%253A30/x.parquet", DataPath("", "at=10%3A30/x.parquet")),
        ("100%/a+b?c#d.parquet", DataPath("", "100%/a+b?c#d.parquet")),
        ("caf%C3%A9.parquet", DataPath("", "café.parquet")),
        ("café.parquet", DataPath("", "café.parquet")),
        ("%FF.parquet", DataPath("", "\udcff.parquet")),
        ("a/../b.parquet", DataPath("", "a/../b.parquet")),
        ("/t/x.parquet", DataPath("file", "/t/x.parquet")),
        ("file:/t/a%20b.parquet", DataPath("file", "/t/a b.parquet")),
        ("file:///t/x.parquet", DataPath("file", "/t/x.parquet")),
        ("FILE://localhost/t/x.parquet", DataPath("file", "/t/x.parquet")),
        ("s3a://bucket/t/a%20b.parquet", DataPath("s3a", "bucket/t/a b.parquet")),
        ("abfss://c@a.host/t/x.parquet", DataPath("abfss", "c@a.host/t/x.parquet")),
    ],
)
def test_what_a_path_means(uri: str, found: DataPath) -> None:
    assert data_path(uri) == found


@pytest.mark.parametrize(
    "uri",
    [
        *("", "..", ".", "../x", "a/../../x", "a/%2e%2e/../x", "%2Fetc/x", "%2e%2e/x"),
        *("a%00b", "a\0b", "file:x.parquet", "file://host/x.parquet", "file:%2Fx"),
    ],
)
def test_what_is_no_path(uri: str) -> None:
    with pytest.raises(InvalidArgument):
        data_path(uri)


def test_where_files_of_a_local_table_are() -> None:
    place = LocalPlace("/tables/t")
    assert place.locate("day=1%2F2/a%20b.parquet") == "/tables/t/day=1/2/a b.parquet"
    assert place.locate("file:/other/x.parquet") == "/other/x.parquet"
    for uri in ("s3://bucket/x.parquet", "../u/x.parquet", "http://host/x.parquet"):
        with pytest.raises(InvalidArgument):
            place.locate(uri)


@pytest.mark.parametrize(
    ("old", "pattern"),
    [
        (
            "part-00000-2f5b0a3c-1a2b-4c3d-8e9f-001122334455-c000.snappy.parquet",
            "part-00000-UUID-c000.snappy.parquet",
        ),
        ("day=1/events.parquet", "day=1/events-UUID.parquet"),
        ("day=a%2520b/1.c000.gz.parquet", "day=a%2520b/1-UUID.c000.gz.parquet"),
        ("_x=1/a.parquet", "_x=1/a-UUID.parquet"),
        ("data", "data-UUID.parquet"),
        ("a%20b/c%23d.parquet", "a%20b/c%23d-UUID.parquet"),
        ("v:1.parquet", "v%3A1-UUID.parquet"),
        ("x/_hidden.parquet", "x/hidden-UUID.parquet"),
        ("x/.parquet", "x/part-UUID.parquet"),
        ("file:/elsewhere/day=1/a.parquet", "a-UUID.parquet"),
        ("s3://bucket/t/day=1/a.parquet", "a-UUID.parquet"),
        ("/elsewhere/a.parquet", "a-UUID.parquet"),
        ("../u/a.parquet", "part-UUID.parquet"),
        ("a/../b/c.parquet", "c-UUID.parquet"),
        ("_delta_log/a.parquet", "a-UUID.parquet"),
        ("_change_data/a.parquet", "a-UUID.parquet"),
        ("a%2Fb/c.parquet", "c-UUID.parquet"),
        ("x" * 250 + ".parquet", "part-UUID.parquet"),
    ],
)
def test_names_of_new_files(old: str, pattern: str) -> None:
    if old == "v:1.parquet":  # one letter is no scheme
        assert data_path(old) == DataPath("", old)
    new = new_uri(old)
    assert re.sub("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UUID", new) == pattern
    assert new_uri(old) != new


@given(st.text(max_size=30), st.booleans())
def test_new_names_are_below_the_root_and_seen(text: str, is_quoted: bool) -> None:  # noqa: FBT001  drawn
    old = quote(text, errors="replace") if is_quoted else text
    path = check_new(new_uri(old))
    assert data_path(new_uri(old)).scheme == ""
    for name in path.split("/"):
        assert name
        assert len(name.encode("utf-8", "surrogateescape")) <= 255 or name in text
        assert "=" in name or not name.startswith((".", "_"))


@pytest.mark.parametrize(
    "uri",
    ["/a.parquet", "file:/a", "s3://b/a", "_delta_log/0.json", "a/../b", "../a", ".a", "a//b"],
)
def test_what_is_never_removed(uri: str) -> None:
    with pytest.raises(InvalidArgument):
        check_new(uri)
