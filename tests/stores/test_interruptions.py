"""Ctrl-C, and what comes after a new version is in place: what is said is so, nothing is left."""

# ruff: noqa: ANN401  arguments and answers as boto3 has them
from __future__ import annotations

import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from parquet_bloomwriter import bloomify, for_each_file
from parquet_bloomwriter.errors import (
    InvalidArgument,
    OutcomeUnknown,
    StoreProblem,
    Unfinished,
    UnsupportedFile,
)
from parquet_bloomwriter.stores.base import Listed
from parquet_bloomwriter.stores.open import open_bucket
from parquet_bloomwriter.stores.s3.bucket import S3Bucket
from parquet_bloomwriter.stores.s3.conditions import _try_upload
from parquet_bloomwriter.stores.s3.journal import journal_folder
from parquet_bloomwriter.stores.s3.new_object import NewObject
from tests.stores.faults import Fault, Rule
from tests.stores.proxy import Proxy
from tests.stores.test_objects import LARGE, SMALL, body

if TYPE_CHECKING:
    from pathlib import Path

    from parquet_bloomwriter.stores.s3.answers import ObjectState
    from tests.stores.conftest import Use
    from tests.stores.servers import Client, Store

pytestmark = pytest.mark.usefixtures("homes")


def interrupt() -> None:
    """Let Ctrl-C come in the main thread, and give it time."""
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    time.sleep(0.3)


def test_an_upload_that_is_being_begun_is_ended(
    client: Client, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.put_object(Bucket=bucket, Key="x.parquet", Body=LARGE)
    begin = S3Bucket.begin_upload

    def interrupted(self: S3Bucket, key: str, **attributes: Any) -> str:
        upload = begin(self, key, **attributes)
        if "scratch" not in key:
            interrupt()
        return upload

    monkeypatch.setattr(S3Bucket, "begin_upload", interrupted)
    with pytest.raises(KeyboardInterrupt):
        bloomify(f"s3://{bucket}/x.parquet", ["id"])
    assert not list(journal_folder().glob("*"))
    assert body(client, bucket, "x.parquet") == LARGE
    assert not client.list_multipart_uploads(Bucket=bucket).get("Uploads")


def test_an_upload_is_ended_though_ctrl_c_comes_while_a_thread_is_started_for_it(
    client: Client, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pool forgets a thread then, and does not wait for it."""
    client.put_object(Bucket=bucket, Key="x.parquet", Body=LARGE)
    submit, start = ThreadPoolExecutor.submit, threading.Thread.start
    begin, begun = S3Bucket.begin_upload, threading.Event()
    is_begin_submitted = False

    def interrupted(self: threading.Thread) -> None:
        start(self)
        if is_begin_submitted:
            raise KeyboardInterrupt

    def noted(self: ThreadPoolExecutor, work: Any, *args: Any) -> Any:
        nonlocal is_begin_submitted
        is_begin_submitted = work.__name__ == "_begin_upload"
        return submit(self, work, *args)

    def late(self: S3Bucket, key: str, **attributes: Any) -> str:
        if "scratch" not in key:
            interrupt()
        upload = begin(self, key, **attributes)
        if "scratch" not in key:
            begun.set()
        return upload

    monkeypatch.setattr(ThreadPoolExecutor, "submit", noted)
    monkeypatch.setattr(threading.Thread, "start", interrupted)
    monkeypatch.setattr(S3Bucket, "begin_upload", late)
    with pytest.raises(KeyboardInterrupt):
        bloomify(f"s3://{bucket}/x.parquet", ["id"])
    assert begun.wait(20)
    assert not client.list_multipart_uploads(Bucket=bucket).get("Uploads")
    assert not list(journal_folder().glob("*"))


@pytest.mark.parametrize("data", [SMALL, LARGE], ids=["small", "large"])
def test_an_interrupted_publication_is_said_to_be_unknown(
    client: Client, bucket: str, data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"s3://{bucket}/x.parquet"
    client.put_object(Bucket=bucket, Key="x.parquet", Body=data)
    publish = S3Bucket.publish

    def interrupted(self: S3Bucket, operation: str, key: str, *args: Any, **more: Any) -> Any:
        state = publish(self, operation, key, *args, **more)
        if "scratch" not in key:
            raise KeyboardInterrupt
        return state

    monkeypatch.setattr(S3Bucket, "publish", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        bloomify(url, ["id"])
    assert caught.value.__notes__ == [f"{url}: it is not known whether the new version is in place"]


def test_a_new_version_that_was_not_read_back_is_said_to_be_there(
    client: Client, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"s3://{bucket}/x.parquet"
    client.put_object(Bucket=bucket, Key="x.parquet", Body=SMALL)
    raised: list[BaseException] = [
        UnsupportedFile("the object is archived"),
        OSError("too many bytes came"),
        KeyboardInterrupt(),
    ]
    published = []
    publish, read = S3Bucket.publish, S3Bucket.read

    def publishing(self: S3Bucket, operation: str, key: str, *args: Any, **more: Any) -> Any:
        state = publish(self, operation, key, *args, **more)
        published.append(key)
        return state

    def reading(self: S3Bucket, key: str, *args: Any, **more: Any) -> tuple[bytes, ObjectState]:
        if "x.parquet" in published:
            raise raised[0]
        return read(self, key, *args, **more)

    monkeypatch.setattr(S3Bucket, "publish", publishing)
    monkeypatch.setattr(S3Bucket, "read", reading)
    for problem in ("the object is archived", "too many bytes came"):
        with pytest.raises(Unfinished, match=problem) as caught:
            bloomify(url, ["id"], replace=True)
        assert "The new version is in place" in str(caught.value)
        published.clear()
        del raised[0]
    with pytest.raises(KeyboardInterrupt) as interrupted:
        bloomify(url, ["id"], replace=True)
    assert interrupted.value.__notes__ == [f"{url}: the new version is in place, and was not read"]


@pytest.mark.parametrize("data", [SMALL, LARGE], ids=["small", "large"])
def test_an_error_says_what_became_of_the_object(
    store: Store, bucket: str, use: Use, data: bytes
) -> None:
    store.client().put_object(Bucket=bucket, Key="x.parquet", Body=data)
    with Proxy(store) as proxy:
        use(proxy.store)
        bloomify(f"s3://{bucket}/x.parquet", ["name"])  # the store has been tried
        operation = "PutObject" if data is SMALL else "CompleteMultipartUpload"
        proxy.play(
            Rule(fault=Fault.CUT_BEFORE, operation=operation, sticky=True),
        )
        with pytest.raises(OutcomeUnknown, match="It is not known whether the new version is in"):
            bloomify(f"s3://{bucket}/x.parquet", ["id"])
        proxy.play(Rule(fault=Fault.DENIED, operation=operation, sticky=True))
        with pytest.raises(StoreProblem, match="The file was left unchanged"):
            bloomify(f"s3://{bucket}/x.parquet", ["id"])


def test_files_that_were_done_meanwhile_are_named(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.parquet").write_bytes(SMALL)

    all_begun = threading.Barrier(3)

    def verb(path: str, _output: str | None, _jobs: int) -> str:
        all_begun.wait(timeout=60)
        if path.endswith("a.parquet"):
            time.sleep(0.3)  # until all are waited for
            interrupt()
        return path

    with pytest.raises(KeyboardInterrupt) as caught:
        list(for_each_file(tmp_path, verb, jobs=3))
    assert caught.value.__notes__ == [f"{tmp_path / name}.parquet: done" for name in "abc"]


def test_a_trial_whose_answer_was_lost_shows_what_the_store_did(
    careless_store: Store, use: Use
) -> None:
    """The store ignores the condition, and completes the upload; nobody hears of it."""
    client, bucket = careless_store.client(), "lossy"
    client.create_bucket(Bucket=bucket)
    with Proxy(careless_store) as proxy:
        use(proxy.store)
        proxy.play(Rule(fault=Fault.CUT_AFTER, operation="CompleteMultipartUpload"))
        assert not _try_upload(open_bucket(bucket), "scratch", []).conditions
    assert not list(journal_folder().glob("*"))


def test_nothing_is_read_after_the_source_was_checked(client: Client, bucket: str) -> None:
    class Source:
        is_open = True

        def read_at(self, start: int, stop: int) -> bytes:
            assert self.is_open
            return b"x" * (stop - start)

    del client
    source: Any = Source()
    new = NewObject(
        *(open_bucket(bucket), "key"),
        old=source,
        copied_from=None,
        replaces=None,
        attributes={},
    )
    new.copy(0, 10)
    new.complete()
    source.is_open = False
    assert new.publish().size == 10


@pytest.mark.parametrize("inner", ["/x.parquet", "a//x.parquet"])
def test_keys_do_not_lead_out_of_the_folder_of_the_outputs(
    client: Client, bucket: str, inner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Listed(f"t/{inner}", len(SMALL), '"x"', 0)
    monkeypatch.setattr(S3Bucket, "objects", lambda *_, **__: iter([found]))
    del client
    calls: list[tuple[str, str | None]] = []

    def verb(path: str, output: str | None, _jobs: int) -> None:
        calls.append((path, output))

    with pytest.raises(InvalidArgument, match="no path of a file"):
        list(for_each_file(f"s3://{bucket}/t/", verb, output=tmp_path / "new"))
    list(for_each_file(f"s3://{bucket}/t/", verb, output=f"s3://{bucket}/new"))
    assert calls == [(f"s3://{bucket}/t/{inner}", f"s3://{bucket}/new/{inner}")]
