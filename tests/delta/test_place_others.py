"""Tables on GCS, Azure and SFTP; on what offers no exclusive creation they are read only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fsspec
import pytest

from parquet_bloomwriter.delta.place import is_table, place_of
from parquet_bloomwriter.delta.place.store import StorePlace
from parquet_bloomwriter.errors import InvalidArgument, UnsafeTarget
from tests.stores.conftest import cloud, sshd  # noqa: F401  fixtures

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.stores.whole.cloud import Cloud
    from tests.stores.whole.sftp_server import Sshd

FIRST = "00000000000000000000.json"
SECOND = "00000000000000000001.json"
THIRD = "00000000000000000002.json"
NAMES = (FIRST, SECOND, "_last_checkpoint")
DATA = b'{"commitInfo":{"txnId":"attempt-1"}}\n'


@pytest.fixture
def table_cloud(cloud: Cloud) -> Cloud:  # noqa: F811  the fixture
    for name in (*NAMES, "_sidecars/x.parquet"):
        cloud.put(f"bucket/t/_delta_log/{name}", name.encode())
    return cloud


@pytest.fixture
def table_sshd(sshd: Sshd) -> Sshd:  # noqa: F811  the fixture
    log = sshd.root / "t" / "_delta_log"
    (log / "_sidecars").mkdir(parents=True)
    for name in NAMES:
        (log / name).write_text(name)
    return sshd


@pytest.fixture
def memory() -> Iterator[str]:
    fs = fsspec.filesystem("memory")
    for name in (*NAMES, "_sidecars/x.parquet"):
        fs.pipe(f"/delta-test/t/_delta_log/{name}", name.encode())
    yield "memory://delta-test/t"
    fs.rm("/delta-test", recursive=True)


@pytest.fixture(params=["az://bucket/t", "sftp", "memory"])
def url(request: pytest.FixtureRequest) -> str:
    if request.param == "memory":
        return str(request.getfixturevalue("memory"))
    if request.param == "sftp":
        return f"sftp://ada@127.0.0.1:{request.getfixturevalue('table_sshd').port}/t"
    request.getfixturevalue("table_cloud")
    return str(request.param)


def test_the_log_is_listed_and_read(url: str) -> None:
    place = place_of(f"{url}/")
    assert place.root == url
    assert [one.name for one in place.list_log()] == list(NAMES)
    assert [one.name for one in place.list_log(SECOND)] == list(NAMES[1:])
    assert place.list_log()[0].size == len(FIRST)
    assert place.list_log()[0].modified_ms > 1_600_000_000_000
    assert place.read_log(FIRST) == FIRST.encode()
    with place.open_log(SECOND) as source:
        assert source.read_at(0, 4) == b"0000"
    with pytest.raises(FileNotFoundError):
        place.read_log(THIRD)
    with pytest.raises(FileNotFoundError):
        place_of(f"{url}-not").list_log()
    assert is_table(url)
    assert not is_table(f"{url}-not")


def test_where_files_are(url: str) -> None:
    place = place_of(url)
    assert place.locate("day=a%2520b/x.parquet") == f"{url}/day=a%20b/x.parquet"
    scheme = url.partition("://")[0]
    strangers = ["file:/etc/passwd", "/etc/passwd", "../x.parquet", "s3://b/x"]
    elsewhere = f"{scheme}://other/x%20y.parquet"
    if scheme == "sftp":  # another host, which would be connected to
        strangers += [elsewhere, f"sftp://ada@127.0.0.1.evil{url[url.rindex(':') :]}/x"]
        elsewhere = f"{url}/../other/x%20y.parquet"
    assert place.locate(elsewhere) == elsewhere.replace("%20", " ")
    for uri in strangers:
        with pytest.raises(InvalidArgument):
            place.locate(uri)


@pytest.mark.parametrize(
    ("root", "here", "elsewhere"),
    [
        ("hdfs://name:8020/t", "hdfs://name:8020/x", "hdfs://127.0.0.1:9/x"),
        ("abfss://a@one.dfs.net/t", "wasbs://b@one.blob.net/x", "abfss://a@one.dfs.net.evil/x"),
        ("https://one/t", "https://one/x", "https://two/x"),
        ("gs://one/t", "gcs://two/x", "gs2://one/x"),
    ],
)
def test_no_log_leads_to_another_host(root: str, here: str, elsewhere: str) -> None:
    place = StorePlace.__new__(StorePlace)  # which would connect
    place.root = root
    assert place.locate(here) == here
    with pytest.raises(InvalidArgument, match="not on the store of the table"):
        place.locate(elsewhere)


def test_an_entry_is_created_once(url: str) -> None:
    place = place_of(url)
    if url.startswith("memory"):
        with pytest.raises(UnsafeTarget, match="no place to commit"):
            place.check_commits()
        with pytest.raises(UnsafeTarget):
            place.create_entry(THIRD, DATA, attempt="attempt-1")
        assert len(place.list_log()) == len(NAMES)
        return
    place.check_commits()
    assert place.create_entry(THIRD, DATA, attempt="attempt-1")
    assert not place.create_entry(THIRD, b"others", attempt="attempt-2")
    assert not place.create_entry(FIRST, b"others", attempt="attempt-2")
    assert place.read_log(THIRD) == DATA
    assert [one.name for one in place.list_log()] == [FIRST, SECOND, THIRD, "_last_checkpoint"]


def test_a_server_that_renames_over_files(
    table_sshd: Sshd, monkeypatch: pytest.MonkeyPatch
) -> None:
    import paramiko

    monkeypatch.setattr(paramiko.SFTPClient, "rename", paramiko.SFTPClient.posix_rename)
    place = place_of(f"sftp://ada@127.0.0.1:{table_sshd.port}/t")
    with pytest.raises(UnsafeTarget, match="lets a rename replace a file"):
        place.check_commits()
    assert {one.name for one in (table_sshd.root / "t").iterdir()} == {"_delta_log"}
