"""Settings of stores: one value for the process, of which each store gets its part."""

from __future__ import annotations

import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

import pytest

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.iceberg.store import use_settings
from parquet_bloomwriter.source.filesystems import locate
from parquet_bloomwriter.source.settings import (
    BucketSettings,
    HdfsConnection,
    StoreSettings,
    settings_in_use,
    use,
    use_for_buckets,
)
from parquet_bloomwriter.spark.store_urls import HadoopSettings
from parquet_bloomwriter.stores.open import open_any, open_place

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GOOGLE = {"fs.gs.storage.root.url": "http://gs.example", "fs.gs.auth.type": "UNAUTHENTICATED"}
HDFS = {"fs.defaultFS": "hdfs://nodes:8020"}
S3 = {"endpoint": "http://s3.example", "access.key": "k", "secret.key": "HIDDEN"}


@pytest.fixture(autouse=True)
def _nothing_stays() -> Iterator[None]:
    yield
    use(StoreSettings())


def test_every_way_to_a_store_hands_it_its_part() -> None:
    pytest.importorskip("hdfs_native")
    use(pickle.loads(pickle.dumps(HadoopSettings(S3, GOOGLE | HDFS))))  # noqa: S301  our own
    for open_it in (open_any, open_place):
        assert open_it("s3://b/k")[0].endpoint == "http://s3.example"
        assert open_it("gs://b/k")[0]._settings.endpoint == "http://gs.example"  # type: ignore[attr-defined]  # noqa: SLF001
        assert open_it("hdfs:///a/b")[0].name == "hdfs://nodes:8020"
    assert locate("hdfs:///a/b").filesystem.base == "hdfs://nodes:8020"  # type: ignore[union-attr]
    opened = open_place("gs://b/k").store
    use(StoreSettings())
    assert opened._settings.endpoint == "http://gs.example"  # type: ignore[attr-defined]  # noqa: SLF001
    assert open_place("gs://b/k").store._settings is None  # type: ignore[attr-defined]  # noqa: SLF001
    assert open_place("gs://b/k").store.endpoint != opened.endpoint  # by which caches know stores
    with pytest.raises(InvalidArgument, match="names no name node"):
        open_any("hdfs:///a/b")


def test_a_store_is_of_one_value_while_another_thread_changes_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("hdfs_native")
    values = (HadoopSettings({}, {"fs.defaultFS": f"hdfs://n{i}:1"}) for i in count())
    opened: list[tuple[str, HdfsConnection]] = []
    monkeypatch.setattr("parquet_bloomwriter.stores.open.settings_in_use", lambda: next(values))
    monkeypatch.setattr(
        "parquet_bloomwriter.stores.hdfs.open_client", lambda *given: opened.append(given)
    )
    for open_it in (open_any, open_place):
        open_it("hdfs:///a")
    assert all(base == settings.default for base, settings in opened)
    assert len(opened) == 2


def test_clusters_whose_name_services_have_one_name_are_told_apart(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("hdfs_native")
    monkeypatch.setattr("parquet_bloomwriter.stores.hdfs.open_client", lambda *_: None)
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    prefix, found = "dfs.namenode.rpc-address", []
    for host in "ab":
        use(HadoopSettings({}, {f"{prefix}.ns.nn{i}": f"{host}{i}:8020" for i in (1, 2)}))
        found += [open_it("hdfs://ns/x")[0] for open_it in (open_any, open_place)]
    use(StoreSettings())
    for host in "cd":
        node = f"<property><name>{prefix}.ns.nn1</name><value>{host}:8020</value></property>"
        (tmp_path / "hdfs-site.xml").write_text(f"<configuration>{node}</configuration>")
        found.append(open_any("hdfs://ns/x")[0])
    assert [one.endpoint for one in found] == [
        *["HDFS a1:8020 a2:8020"] * 2,
        *["HDFS b1:8020 b2:8020"] * 2,
        *["HDFS c:8020", "HDFS d:8020"],
    ]
    assert open_any("hdfs://host:8020/x")[0].endpoint == "HDFS"  # the URL tells it


def test_settings_of_a_table_come_first_and_never_change_a_value() -> None:
    use(HadoopSettings(S3))
    before = settings_in_use()
    use_settings({"s3.region": "eu-west-1", "s3.anonymous": "true"}, ["s3a://b/x", "/disk"])
    use_settings({"s3.remote-signing-enabled": "true"}, ["s3://signed/x"])
    after = settings_in_use()
    assert after.of_bucket("b") == BucketSettings(region="eu-west-1", is_anonymous=True)
    assert after.of_bucket("c") == before.of_bucket("b") == before.of_bucket("c")
    found = []
    for _ in range(2):
        with pytest.raises(InvalidArgument, match="signs requests") as caught:
            open_any("s3://signed/x")
        found.append(caught.value)
    assert found[0] is not found[1]  # else its traceback grows with each file
    use_settings({}, ["s3://b/x"])
    assert settings_in_use().of_bucket("b") == before.of_bucket("b")
    use(HadoopSettings())
    assert settings_in_use().of_bucket("signed") is None
    assert "HIDDEN" not in f"{before!r} {after!r}"


def test_threads_lose_no_settings_of_each_other(request: pytest.FixtureRequest) -> None:
    request.addfinalizer(partial(sys.setswitchinterval, sys.getswitchinterval()))
    sys.setswitchinterval(1e-6)  # Threads take turns within a change.
    made = {f"b{i}": BucketSettings(region=f"r{i}") for i in range(200)}
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: use_for_buckets({name: made[name]}), made))
    assert settings_in_use().buckets == made
