"""The log of an index on a store: lost answers, conflicts, and writers that race."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import TYPE_CHECKING, Any

import pytest

from parquet_bloomwriter import index
from parquet_bloomwriter.errors import FileChanged, IndexBusy, IndexProblem, InvalidArgument
from parquet_bloomwriter.index.log.log import IndexLog
from parquet_bloomwriter.stores.object_cache import default_cache
from parquet_bloomwriter.stores.s3 import bucket as s3
from parquet_bloomwriter.stores.s3.bucket import S3Bucket
from tests.index.stores.support import Twins, ids, use
from tests.stores.faults import Fault, Rule

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from parquet_bloomwriter.stores.s3.answers import ObjectState
    from tests.stores.proxy import Proxy
    from tests.stores.servers import Store


def _states(twins: Twins, name: str = "ids") -> list[str]:
    log = IndexLog(f"{twins.url}/_bloom_index/{name}")
    return [entry.state for entry in log.entries()]


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3, "_FIRST_PAUSE_S", 0.001)


LOST = [Fault.CUT_AFTER, Fault.ERROR_AFTER, Fault.TRUNCATED, Fault.CUT_BEFORE, Fault.CONFLICT]


def test_an_answer_that_is_lost_is_no_conflict(through_proxy: Twins, proxy: Proxy) -> None:
    """Every put of an action loses its answer once: entries, parts, the manifest."""
    index.create(through_proxy.url, ["id"], name="other")  # tries what the store can do
    proxy.forget()
    index.create(through_proxy.url, ["id"], name="count")
    puts = sum(one.operation == "PutObject" for one in proxy.requests)
    assert puts >= 6
    cases = [(nth, LOST[nth % len(LOST)]) for nth in range(1, puts + 1)]
    for nth, fault in cases:
        proxy.play(Rule(fault=fault, operation="PutObject", nth=nth))
        name = f"ids{nth}"
        index.create(through_proxy.url, ["id"], name=name)
        assert any(one.fault is fault for one in proxy.requests), (nth, fault)
        assert _states(through_proxy, name) == ["CREATING", "ACTIVE"], (nth, fault)
        proxy.play()
        proxy.forget()
        assert through_proxy.on_store("id = 103", name=name) == ["day=1/f3.parquet"], (nth, fault)


def test_a_put_that_fails_for_good_leaves_the_last_stable_version(
    through_proxy: Twins, proxy: Proxy
) -> None:
    """Whichever put fails, and all after it: no version is in force that lacks a file."""
    twins = through_proxy
    index.create(twins.url, ["id"], name="ids")
    twins.put(
        "more.parquet",
        twins.client.get_object(Bucket=twins.bucket, Key=f"{twins.prefix}/day=1/f3.parquet")[
            "Body"
        ].read(),
    )
    faults = (Fault.DENIED, Fault.ERROR, Fault.CUT_BEFORE)
    for nth in range(1, 7):
        fault = faults[nth % 3]
        proxy.play(Rule(fault=fault, operation="PutObject", nth=nth, sticky=True))
        with pytest.raises(IndexProblem):
            index.refresh(twins.url, name="ids", mode="full")
        proxy.play()
        (info,) = index.indexes(twins.url)
        assert info.state == "ACTIVE"
        assert twins.on_store("id = 103") == ["day=1/f3.parquet", "more.parquet"]
        index.cancel(twins.url, name="ids")
        assert twins.on_store("id = 103") == ["day=1/f3.parquet", "more.parquet"]
    index.refresh(twins.url, name="ids", mode="full")
    index.vacuum(twins.url, name="ids")
    assert twins.on_store("id = 2") == ["day=0/f2.parquet"]


def test_of_actions_at_the_same_time_each_is_done_or_refused(table: Twins) -> None:
    index.create(table.url, ["id"], name="ids")
    for _ in range(3):
        before = len(_states(table))
        start = Barrier(3)

        def act(mode: str, start: Barrier = start) -> str:
            start.wait()
            try:
                index.refresh(table.url, name="ids", mode=mode)  # type: ignore[arg-type]
            except IndexBusy:
                return "busy"
            return "done"

        with ThreadPoolExecutor(3) as pool:
            outcomes = list(pool.map(act, ["full"] * 3))
        assert "done" in outcomes
        states = _states(table)[before:]
        assert states == ["REFRESHING", "ACTIVE"] * outcomes.count("done")
        assert table.on_store("id = 4") == ["day=0/f4.parquet"]


@pytest.mark.parametrize("arrives", ["before it is cancelled", "afterwards"])
def test_a_commit_that_is_still_on_its_way_loses_no_file(
    table: Twins, monkeypatch: pytest.MonkeyPatch, arrives: str
) -> None:
    """The last entry arrives after its writer gave up: its files are there, or its id is taken."""
    index.create(table.url, ["id"], name="ids")
    late: list[Callable[[], ObjectState]] = []
    put = S3Bucket.put

    def put_late(
        self: S3Bucket,
        key: str,
        data: bytes,
        *,
        attempt: str,
        **options: Any,  # noqa: ANN401  as boto3 takes them
    ) -> ObjectState:
        send = partial(put, self, key, data, attempt=attempt, **options)
        if b'"CANCELLING"' in data and arrives == "before it is cancelled":
            late[0]()
        elif "/_log/" in key and b'"ACTIVE"' in data and not late:
            late.append(send)
            raise self._unknown(key, None)
        return send()

    monkeypatch.setattr(S3Bucket, "put", put_late)
    with pytest.raises(IndexProblem, match="is not known"):
        index.refresh(table.url, name="ids", mode="full")
    action = "refresh full"
    if arrives == "afterwards":
        action = "cancel refresh full"
        with pytest.raises(FileChanged):
            late[0]()
    (info,) = index.indexes(table.url)
    assert (info.state, info.busy, info.action) == ("ACTIVE", None, action)
    for path in default_cache().folder.iterdir():
        path.unlink()
    assert table.on_store("id = 4") == ["day=0/f4.parquet"]


def test_a_store_that_ignores_conditions_is_refused_unless_there_is_one_writer(
    careless_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(careless_store, tmp_path, monkeypatch)
    local = tmp_path / "table"
    bucket = careless_store.new_bucket()
    twins = Twins(client=careless_store.client(), bucket=bucket, local=local)
    for n in range(3):
        twins.write(f"f{n}.parquet", ids(n))
    with pytest.raises(InvalidArgument, match=r"ignores conditions.*promise"):
        index.create(twins.url, ["id"], name="ids")
    assert not [key for key in twins.all_keys() if "_log" in key]
    index.create(twins.url, ["id"], name="ids", one_writer=True)
    assert twins.on_store("id = 1") == ["f1.parquet"]
    for verb in (index.refresh, index.optimize, index.vacuum, index.delete, index.cancel):
        with pytest.raises(InvalidArgument, match="ignores conditions"):
            verb(twins.url, name="ids")
    with pytest.raises(InvalidArgument, match="there is an index"):
        index.create(twins.url, ["id"], name="ids", one_writer=True)
    index.delete(twins.url, name="ids", one_writer=True)
    index.restore(twins.url, name="ids", one_writer=True)
    index.create(twins.url, ["id"], name="here", home=tmp_path / "home")  # nothing is written there
    assert twins.on_store("id = 1", home=str(tmp_path / "home")) == ["f1.parquet"]
