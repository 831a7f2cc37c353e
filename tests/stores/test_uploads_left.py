"""Runs that are terminated or killed at any point: the journal names every upload that is left."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from bloomify.exits import ExitCode
from parquet_bloomwriter import bloomify
from parquet_bloomwriter.errors import FileProblem, StoreProblem
from parquet_bloomwriter.parallel import to_the_end
from parquet_bloomwriter.rewrite import objects
from parquet_bloomwriter.stores.open import open_bucket
from parquet_bloomwriter.stores.s3 import bucket as s3
from parquet_bloomwriter.stores.s3 import conditions
from parquet_bloomwriter.stores.s3.bucket import S3Bucket
from parquet_bloomwriter.stores.s3.conditions import abilities_of
from parquet_bloomwriter.stores.s3.journal import Entry, abort_abandoned, journal_folder
from tests.stores.faults import Fault, Rule
from tests.stores.proxy import Proxy
from tests.stores.signals import run_until, unnamed, uploads_of
from tests.stores.test_objects import LARGE, body

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.stores.conftest import Use
    from tests.stores.servers import Client, Store

pytestmark = pytest.mark.usefixtures("homes")


def interrupt(number: signal.Signals = signal.SIGINT) -> None:
    """Let a signal come in the main thread, and give it time."""
    signal.pthread_kill(threading.main_thread().ident or 0, number)
    time.sleep(0.2)


def interrupted_in(
    monkeypatch: pytest.MonkeyPatch, name: str, work: Callable[[], object]
) -> KeyboardInterrupt:
    """Let Ctrl-C come when a request was answered; return what was raised."""
    request = getattr(S3Bucket, name)

    def interrupting(self: S3Bucket, *args: Any, **more: Any) -> Any:  # noqa: ANN401  boto3's
        try:
            return request(self, *args, **more)
        finally:
            interrupt()

    with monkeypatch.context() as patched:
        patched.setattr(S3Bucket, name, interrupting)
        with pytest.raises(KeyboardInterrupt) as caught:
            work()
    return caught.value


def test_ctrl_c_leaves_no_upload_whatever_it_interrupts(
    client: Client, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.put_object(Bucket=bucket, Key="x.parquet", Body=LARGE)
    url = f"s3://{bucket}/x.parquet"
    for name in ("begin_upload", "complete_upload", "abort_upload"):  # of the trial of the store
        interrupted_in(monkeypatch, name, lambda: abilities_of(open_bucket(bucket), "x.parquet"))
        assert (uploads_of(client, bucket), [*journal_folder().glob("*")]) == ({}, []), name
        conditions._found.clear()  # noqa: SLF001  as in a process of its own
    abilities_of(open_bucket(bucket), "x.parquet")
    for name in ("begin_upload", "complete_upload"):
        error = interrupted_in(monkeypatch, name, lambda: bloomify(url, ["id"], replace=True))
        is_done = body(client, bucket, "x.parquet") != LARGE
        assert is_done == (name == "complete_upload")
        note = [f"{url}: the new version is in place, and was not read"] * is_done
        assert getattr(error, "__notes__", []) == note
        assert (uploads_of(client, bucket), [*journal_folder().glob("*")]) == ({}, []), name


def test_an_upload_that_lost_its_condition_is_ended_though_ctrl_c_comes(
    client: Client, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.put_object(Bucket=bucket, Key="x.parquet", Body=LARGE)
    complete = S3Bucket.complete_upload

    def late(self: S3Bucket, *args: Any, **more: Any) -> Any:  # noqa: ANN401  boto3's
        client.put_object(Bucket=bucket, Key="x.parquet", Body=b"other")
        return complete(self, *args, **more)

    abilities_of(open_bucket(bucket), "x.parquet")
    monkeypatch.setattr(S3Bucket, "complete_upload", late)
    interrupted_in(monkeypatch, "abort_upload", lambda: bloomify(f"s3://{bucket}/x.parquet"))
    assert body(client, bucket, "x.parquet") == b"other"
    assert (uploads_of(client, bucket), [*journal_folder().glob("*")]) == ({}, [])


def test_an_upload_is_in_the_journal_before_the_store_knows_of_it(
    store: Store, bucket: str, use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer with the id is lost: the next run ends what is surely ours, and names the rest."""
    monkeypatch.setattr(s3, "_FIRST_PAUSE_S", 0.0)
    client = store.client()
    client.put_object(Bucket=bucket, Key="x.parquet", Body=LARGE)
    url = f"s3://{bucket}/x.parquet"
    with Proxy(store) as proxy:
        use(proxy.store)
        for often in range(2):  # of the trial of the store, and of the object
            proxy.play(Rule(fault=Fault.CUT_AFTER, operation="CreateMultipartUpload"))
            with pytest.raises(StoreProblem, match="may have begun an upload"):
                bloomify(url, ["id"])
            left = uploads_of(client, bucket)
            assert (len(left), unnamed(left)) == (1, [])
            proxy.play()
            abort_abandoned(open_bucket(bucket))
            assert len(uploads_of(client, bucket)) == often
            abilities_of(open_bucket(bucket), "x.parquet")
        objects._cleaned.clear()  # noqa: SLF001  as in a process of its own
        done = bloomify(url, ["id"]).store
        assert done is not None
        assert "killed before the store had told it" in " ".join(done.notes)
        assert unnamed(uploads_of(client, bucket)) == []
        ((upload, key),) = uploads_of(client, bucket).items()
        client.abort_multipart_upload(Bucket=bucket, Key=key, UploadId=upload)
        old = time.time() - 7200
        for path in journal_folder().glob("*.json"):
            os.utime(path, (old, old))
        abort_abandoned(open_bucket(bucket))
        assert not list(journal_folder().glob("*"))
        proxy.play(Rule(fault=Fault.DENIED, operation="CreateMultipartUpload"))
        with pytest.raises(StoreProblem):
            bloomify(url, ["v"])
        assert not list(journal_folder().glob("*"))  # It was refused, so none was begun.


def test_a_torn_entry_does_not_name_another_upload(client: Client, bucket: str) -> None:
    theirs = client.create_multipart_upload(Bucket=bucket, Key="k")["UploadId"]
    entry = Entry(open_bucket(bucket), "k", attempt="a")
    entry.leave()
    (path,) = journal_folder().glob("*.json")
    whole = path.read_bytes() + json.dumps({"upload": theirs}).encode()
    for length in range(len(whole) - 1):
        path.write_bytes(whole[:length])
        abort_abandoned(open_bucket(bucket))
        assert path.exists()
        if length % 40 == 0:
            assert uploads_of(client, bucket) == {theirs: "k"}
    assert uploads_of(client, bucket) == {theirs: "k"}
    path.write_bytes(json.dumps({**json.loads(whole.splitlines()[0]), "upload": theirs}).encode())
    abort_abandoned(open_bucket(bucket))  # an entry as earlier versions wrote it
    assert (uploads_of(client, bucket), path.exists()) == ({}, False)


def test_work_is_brought_to_its_end() -> None:
    assert to_the_end(lambda: 5) == 5
    with pytest.raises(FileProblem):
        to_the_end(lambda: fail(FileProblem("x")))
    done: list[int] = []
    for work, cause in ((lambda: done.append(1), type(None)), (lambda: fail(OSError()), OSError)):

        def late(work: Callable[[], None] = work) -> None:
            interrupt()
            work()

        with pytest.raises(KeyboardInterrupt) as caught:
            to_the_end(late)
        assert isinstance(caught.value.__cause__, cause)
    assert done == [1]


def fail(error: Exception) -> None:
    """Raise an error."""
    raise error


def test_signals_at_any_moment_leave_no_upload_unnamed(store: Store, bucket: str) -> None:
    """A small share of the campaign `stores` of the torture."""
    chance = random.Random(1)  # noqa: S311  no secret
    client = store.client()
    with Proxy(store) as proxy:
        for number in (signal.SIGTERM, signal.SIGKILL):
            client.put_object(Bucket=bucket, Key="x.parquet", Body=LARGE)
            url = f"s3://{bucket}/x.parquet"
            after = chance.randint(1, 30)
            before = uploads_of(client, bucket)  # of a run that was killed
            code, said = run_until(proxy, [url, "--columns", "id"], number, requests=after)
            left = uploads_of(client, bucket)
            if number is signal.SIGTERM:
                assert code in (ExitCode.TERMINATED, ExitCode.OK), said
                assert (left.keys() - before.keys(), "Traceback" in said) == (set(), False), said
            assert unnamed(left) == []
