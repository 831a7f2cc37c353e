"""The command on objects: prefixes, patterns, what it prints of the store, and its exit codes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from parquet_bloomwriter import bloomify, clear_cache, folder_options
from parquet_bloomwriter.errors import InvalidArgument, UnsafeTarget
from parquet_bloomwriter.stores.base import StoreTraffic
from parquet_bloomwriter.stores.s3 import client as s3
from parquet_bloomwriter.verbs.folder_file import write_folder_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cli.conftest import Invoke
    from tests.stores.servers import Client, Store


@pytest.fixture
def client(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    variables = {
        **store.environment,
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    s3._client.cache_clear()  # noqa: SLF001  it knows another endpoint
    clear_cache()
    yield store.client()
    s3._client.cache_clear()  # noqa: SLF001  as above


def body(client: Client, bucket: str, key: str) -> bytes:
    return bytes(client.get_object(Bucket=bucket, Key=key)["Body"].read())


def test_a_prefix_and_a_pattern(client: Client, bucket: str, events: Path, invoke: Invoke) -> None:
    old = events.read_bytes()
    keys = ["t/000000_0", "t/p=1/a.parquet", "t/_hidden/c.parquet", "tt/e.parquet"]
    for key in keys:
        client.put_object(Bucket=bucket, Key=key, Body=old)
    client.put_object(Bucket=bucket, Key="t/d.txt", Body=b"not Parquet")
    done = invoke(f"s3://{bucket}/t/", "--columns", "id", "--jobs", "2")
    passed = f"1 hidden (s3://{bucket}/t/_hidden); 1 not Parquet (s3://{bucket}/t/d.txt)"
    assert (done.exit_code, done.stderr) == (0, f"bloomify: passed over: {passed}.\n")
    assert "4 filters added; " in done.stdout
    assert " requests, " in done.stdout
    assert done.stdout.rstrip().endswith("2 files done.")
    new = bloomify(old, ["id"], placement="end").data
    changed = [key for key in keys if body(client, bucket, key) != old]
    assert changed == keys[:2]
    assert body(client, bucket, keys[0]) == new
    assert invoke("strip", f"s3://{bucket}/t/0*", f"s3://{bucket}/t/*/*.parquet").exit_code == 0
    assert all(body(client, bucket, key) == old for key in keys)
    none = invoke(f"s3://{bucket}/t/none*.parquet", "--columns", "id")
    assert (none.exit_code, "no file matches" in none.stderr) == (2, True)


def test_outputs_keep_their_places(
    client: Client, bucket: str, events: Path, invoke: Invoke
) -> None:
    for key in ("t/p=1/a.parquet", "t/p=2/a.parquet"):
        client.put_object(Bucket=bucket, Key=key, Body=events.read_bytes())
    up = invoke(f"s3://{bucket}/t", "--columns", "id", "-o", f"s3://{bucket}/new")
    down = invoke("strip", f"s3://{bucket}/new", "-o", "back")
    assert (up.exit_code, down.exit_code) == (0, 0)
    for place in ("p=1/a.parquet", "p=2/a.parquet"):
        assert events.with_name("back").joinpath(place).read_bytes() == events.read_bytes()
    again = invoke(str(events), "--columns", "id", "-o", f"s3://{bucket}/new/p=1/a.parquet")
    assert again.exit_code == 5
    assert "permit overwriting with --overwrite" in again.stderr


def test_what_is_printed_of_a_dry_run(
    client: Client, bucket: str, events: Path, invoke: Invoke
) -> None:
    old = events.read_bytes()
    client.put_object(Bucket=bucket, Key="a.parquet", Body=old)
    shown = invoke(f"s3://{bucket}/a.parquet", "--columns", "id", "--dry-run")
    assert "writing: 1 request, 0 bytes down, " in shown.stdout
    document = json.loads(
        invoke(f"s3://{bucket}/a.parquet", "--columns", "id", "--dry-run", "--json").stdout
    )
    store = document["files"][0]["store"]
    assert store["planned"] == [1, 0, document["files"][0]["size_after"]]
    assert store["down"] == len(old)
    assert body(client, bucket, "a.parquet") == old


def test_what_is_no_file(client: Client, bucket: str, invoke: Invoke) -> None:
    client.put_object(Bucket=bucket, Key="text.parquet", Body=b"text, and no more of it")
    for key, code, said in (
        ("none.parquet", 2, "there is no such file"),
        ("text.parquet", 4, 'the last four bytes are not "PAR1"'),
    ):
        result = invoke(f"s3://{bucket}/{key}", "--columns", "id")
        assert (result.exit_code, result.stdout) == (code, "")
        assert said in result.stderr
        assert f"s3://{bucket}/{key}" in result.stderr


def test_a_folder_asks_by_a_file(
    client: Client,
    bucket: str,
    events: Path,
    invoke: Invoke,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Read by one request, which a missing file costs, too; written on condition."""
    asked: list[str] = []
    add = StoreTraffic.add

    def count(traffic: StoreTraffic, operation: str, **given: int) -> None:
        asked.append(operation)
        add(traffic, operation, **given)

    monkeypatch.setattr(StoreTraffic, "add", count)
    lake, old = f"s3://{bucket}/lake", events.read_bytes()
    for key in ("lake/a.parquet", "lake/day=1/b.parquet"):
        client.put_object(Bucket=bucket, Key=key, Body=old)
    with pytest.raises(InvalidArgument, match=r"no file _bloomify\.toml"):
        folder_options(lake)
    assert asked == ["get_object"]
    assert write_folder_file(f"{lake}/", ["email"], fpp=0.1) == f"{lake}/_bloomify.toml"
    with pytest.raises(UnsafeTarget, match="adds id, leaves out email"):
        write_folder_file(lake, ["id"], fpp=0.1)
    write_folder_file(lake, ["id"], fpp=0.1, overwrite=True)
    asked.clear()
    assert folder_options(f"{lake}/") == {"columns": ["id"], "fpp": {"*": 0.1}}
    assert asked == ["get_object"]
    done = invoke(lake)
    assert (done.exit_code, done.stderr) == (
        0,
        f"bloomify: {lake}/_bloomify.toml gives columns, fpp.\n",
    )
    new = bloomify(old, ["id"], fpp=0.1, placement="end").data
    assert body(client, bucket, "lake/day=1/b.parquet") == new
    for text, words in (
        (b"", "name the columns"),
        (b"x = 1", 'no key "x"'),
        (b"#" * 65_537, "65,536"),
    ):
        client.put_object(Bucket=bucket, Key="lake/_bloomify.toml", Body=text)
        wrong = invoke(lake)
        assert (wrong.exit_code, words in wrong.stderr) == (2, True), wrong.stderr
    client.copy_object(Bucket=bucket, Key="t/00_0", CopySource=f"{bucket}/lake/a.parquet")
    object_ = invoke("advise", f"s3://{bucket}/t/00_0", "--write")
    assert (object_.exit_code, "goes with one folder" in object_.stderr) == (2, True)
    both = invoke(f"{lake}/day=1", f"s3://{bucket}/lake/a.parquet", "--columns", "email")
    assert both.exit_code == 0
    assert invoke("strip", lake).stderr == ""
