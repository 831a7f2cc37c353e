"""Tables on S3: listing, reading, and entries of which the store takes one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from parquet_bloomwriter import clear_cache
from parquet_bloomwriter.delta.place import is_table, place_of
from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.stores import log_entries
from parquet_bloomwriter.stores.s3 import bucket as s3
from parquet_bloomwriter.stores.s3 import client as s3_client
from parquet_bloomwriter.stores.s3 import store as s3_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from parquet_bloomwriter.delta.place import TablePlace
    from tests.stores.proxy import Proxy
    from tests.stores.servers import Client, Store

FIRST = "00000000000000000000.json"
SECOND = "00000000000000000001.json"
THIRD = "00000000000000000002.json"
DATA = json.dumps({"commitInfo": {"txnId": "attempt-1"}}).encode()


def use(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a store the one that the environment names."""
    for variable, value in store.environment.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(s3, "_FIRST_PAUSE_S", 0.001)
    monkeypatch.setattr(log_entries, "_LOOKS_S", (0.0, 0.01))
    clear_cache()
    s3_client._client.cache_clear()  # noqa: SLF001  it knows another endpoint


@pytest.fixture
def client(store: Store) -> Client:
    return store.client()


@pytest.fixture
def table(
    client: Client, bucket: str, proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> TablePlace:
    """Make a table of two versions, whose requests go through the proxy."""
    for name in (SECOND, FIRST, "_last_checkpoint", "_sidecars/x.parquet"):
        client.put_object(Bucket=bucket, Key=f"a b/t/_delta_log/{name}", Body=name.encode())
    client.put_object(Bucket=bucket, Key="a b/t/_delta_log_2/x", Body=b"")
    use(proxy.store, tmp_path, monkeypatch)
    return place_of(f"s3a://{bucket}/a b/t/")


def test_the_log_is_listed_and_read(table: TablePlace, bucket: str, client: Client) -> None:
    assert table.root == f"s3://{bucket}/a b/t"
    assert [one.name for one in table.list_log()] == [FIRST, SECOND, "_last_checkpoint"]
    assert [one.name for one in table.list_log(SECOND)] == [SECOND, "_last_checkpoint"]
    assert [one.name for one in table.list_log("z")] == []
    first = table.list_log()[0]
    changed = client.head_object(Bucket=bucket, Key=f"a b/t/_delta_log/{FIRST}")["LastModified"]
    assert (first.size, first.modified_ms // 1000) == (len(FIRST), int(changed.timestamp()))
    assert table.read_log(FIRST) == FIRST.encode()
    with table.open_log(SECOND) as source:
        assert source.read_at(0, 4) == b"0000"
    with pytest.raises(FileNotFoundError):
        table.read_log(THIRD)
    for start in ("", FIRST):
        with pytest.raises(FileNotFoundError):
            place_of(f"s3://{bucket}/nowhere").list_log(start)


def test_long_and_empty_entries(
    table: TablePlace, bucket: str, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3_store, "_FIRST_BYTES", 10)
    for body in (b"", b"x" * 9, b"x" * 10, b"0123456789ab"):
        client.put_object(Bucket=bucket, Key=f"a b/t/_delta_log/{THIRD}", Body=body)
        assert table.read_log(THIRD) == body


def test_many_entries_take_several_pages(
    table: TablePlace, bucket: str, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = s3.S3Bucket._pages  # noqa: SLF001  pages of a thousand would need a thousand entries

    def short(*given: Any, **of: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401  as the real one
        return real(*given, **of, MaxKeys=10)

    monkeypatch.setattr(s3.S3Bucket, "_pages", short)
    names = [f"{number:020}.json" for number in range(2, 40)]
    for name in names:
        client.put_object(Bucket=bucket, Key=f"a b/t/_delta_log/{name}", Body=b"x")
    assert [one.name for one in table.list_log()] == [FIRST, SECOND, *names, "_last_checkpoint"]
    assert [one.name for one in table.list_log(names[25])] == [*names[25:], "_last_checkpoint"]


def test_what_is_a_table(table: TablePlace, bucket: str) -> None:
    assert is_table(table.root)
    assert is_table(f"{table.root}/")
    assert not is_table(f"s3://{bucket}/a b")
    assert not is_table(f"s3://{bucket}/a b/t/_delta_log")
    assert not is_table(f"s3://{bucket}/a b/*")


def test_the_root_of_a_bucket(bucket: str, client: Client, table: TablePlace) -> None:
    del table
    client.put_object(Bucket=bucket, Key=f"_delta_log/{FIRST}", Body=b"x")
    place = place_of(f"s3://{bucket}")
    assert is_table(f"s3://{bucket}")
    assert place.locate("x.parquet") == f"s3://{bucket}/x.parquet"
    place.check_commits()
    assert place.create_entry(SECOND, DATA, attempt="attempt-1")
    assert place.read_log(SECOND) == DATA


def test_where_files_are(table: TablePlace, bucket: str) -> None:
    assert table.locate("day=a%2520b/x.parquet") == f"s3://{bucket}/a b/t/day=a%20b/x.parquet"
    assert table.locate("s3a://other/x%20y.parquet") == "s3://other/x y.parquet"
    for uri in ("file:/etc/passwd", "/etc/passwd", "../x.parquet", "gs://b/x"):
        with pytest.raises(InvalidArgument):
            table.locate(uri)


def test_an_entry_is_created_once(table: TablePlace, bucket: str, client: Client) -> None:
    table.check_commits()
    keys = {one["Key"] for one in client.list_objects_v2(Bucket=bucket)["Contents"]}
    assert table.create_entry(THIRD, DATA, attempt="attempt-1")
    assert not table.create_entry(THIRD, b"others", attempt="attempt-2")
    assert not table.create_entry(FIRST, b"others", attempt="attempt-2")
    assert table.read_log(THIRD) == DATA
    now = {one["Key"] for one in client.list_objects_v2(Bucket=bucket)["Contents"]}
    assert now == keys | {f"a b/t/_delta_log/{THIRD}"}


def test_only_new_files_are_removed(table: TablePlace, bucket: str, client: Client) -> None:
    uri = table.new_uri("day=a%2520b/x.parquet")
    key = table.locate(uri).removeprefix(f"s3://{bucket}/")
    assert key.startswith("a b/t/day=a%20b/x-")
    client.put_object(Bucket=bucket, Key=key, Body=b"x")
    table.remove(uri)
    assert "Contents" not in client.list_objects_v2(Bucket=bucket, Prefix=key)
    with pytest.raises(InvalidArgument):
        table.remove(f"_delta_log/{FIRST}")
