"""Answers that no honest store gives: an error says so, and what it says of the object is true."""

from __future__ import annotations

import time
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest

from parquet_bloomwriter import bloomify, for_each_file, inspect
from parquet_bloomwriter.errors import (
    BloomwriterError,
    OutcomeUnknown,
    StoreProblem,
    Unfinished,
)
from parquet_bloomwriter.rewrite import objects
from parquet_bloomwriter.stores.lost_answers import NoAnswer
from parquet_bloomwriter.stores.open import open_bucket
from parquet_bloomwriter.stores.s3 import bucket as s3
from parquet_bloomwriter.stores.s3 import client, limits
from parquet_bloomwriter.stores.s3.answers import sizes_of
from tests.stores.faults import Fault, Rule
from tests.stores.proxy import Proxy
from tests.stores.test_objects import LARGE, SMALL, body

if TYPE_CHECKING:
    from tests.stores.conftest import Use
    from tests.stores.servers import Store

pytestmark = pytest.mark.usefixtures("homes")

HOSTILE = (
    *(Fault.MOVED, Fault.PAGE, Fault.GARBAGE, Fault.HUGE_LENGTH),
    *(Fault.OTHER_RANGE, Fault.NO_RANGE, Fault.ENDLESS),
)
_MOST_REQUESTS = 90
_MOST_MEMORY = 96 * 1024 * 1024


def test_no_answer_alters_an_object_or_what_is_said_of_it(
    store: Store, bucket: str, use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each kind of answer at each request of a run: once, or from there on."""
    monkeypatch.setattr(s3, "_FIRST_PAUSE_S", 0.0)
    monkeypatch.setattr(client, "_TIMEOUT_S", 6)
    direct = store.client()
    with Proxy(store) as proxy:
        use(proxy.store)
        operations: set[str] = set()
        for data in (SMALL, LARGE):
            direct.put_object(Bucket=bucket, Key="x.parquet", Body=data)
            bloomify(f"s3://{bucket}/x.parquet", ["id"], output=f"s3://{bucket}/new.parquet")
            new = body(direct, bucket, "new.parquet")
            direct.delete_object(Bucket=bucket, Key="new.parquet")
            proxy.forget()
            direct.put_object(Bucket=bucket, Key="x.parquet", Body=data)
            bloomify(f"s3://{bucket}/x.parquet", ["id"])
            for request in proxy.requests:
                if request.operation in operations:
                    continue
                operations.add(request.operation)
                for fault in HOSTILE:
                    direct.put_object(Bucket=bucket, Key="x.parquet", Body=data)
                    proxy.forget()
                    at = request.operation
                    proxy.play(Rule(fault=fault, operation=at, sticky=len(operations) % 2 == 0))
                    said = _said(f"s3://{bucket}/x.parquet")
                    proxy.play()
                    now = body(direct, bucket, "x.parquet")
                    case = (fault, request.operation, said)
                    assert now in (data, new), case
                    if said is None or "The new version is in place" in str(said):
                        assert now == new, case
                    elif not isinstance(said, OutcomeUnknown):
                        assert now == data, case
                    assert len(proxy.requests) < _MOST_REQUESTS, case


def _said(url: str) -> BaseException | None:
    try:
        bloomify(url, ["id"])
    except (BloomwriterError, OSError) as error:
        return error
    return None


def test_listings_that_lie_are_refused(
    store: Store, bucket: str, use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3, "_FIRST_PAUSE_S", 0.0)
    store.client().put_object(Bucket=bucket, Key="t/x.parquet", Body=SMALL)
    with Proxy(store) as proxy:
        use(proxy.store)
        for fault in (Fault.PAGE, Fault.ENDLESS, Fault.GARBAGE, Fault.MOVED, Fault.HUGE_LENGTH):
            # All requests are redirected, also those by which boto3 asks where to.
            operation = None if fault is Fault.MOVED else "ListObjectsV2"
            proxy.play(Rule(fault=fault, operation=operation, sticky=True))
            if fault is Fault.HUGE_LENGTH:  # All of the page is there.
                assert [one.key for one in open_bucket(bucket).objects("t/")] == ["t/x.parquet"]
                continue
            tracemalloc.start()
            with pytest.raises(StoreProblem):
                list(for_each_file(f"s3://{bucket}/t/", inspect))
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < _MOST_MEMORY


class Listing:
    """A client that gives pages of a listing."""

    def __init__(self, *pages: dict[str, Any]) -> None:
        self.pages = list(pages)

    def list_objects_v2(self, **_: object) -> dict[str, Any]:
        """Return the next page; the last again and again."""
        page = self.pages.pop(0) if len(self.pages) > 1 else self.pages[0]
        return {"ResponseMetadata": {}, **page}


def test_listings_that_do_not_end_or_leave_the_prefix_are_refused() -> None:
    for page, problem in (
        ({"IsTruncated": True}, "does not end"),
        ({"IsTruncated": True, "NextContinuationToken": "x"}, "does not end"),
        ({"IsTruncated": False, "Contents": [{"Key": "a/b"}]}, "not complete"),
    ):
        with pytest.raises(StoreProblem, match=problem):
            list(s3.S3Bucket(Listing(page), "bucket").objects("a/"))


def test_a_range_is_what_was_asked_for() -> None:
    def answer(status: int, length: int, named: str = "") -> dict[str, Any]:
        range_of = {"ContentRange": named} if named else {}
        head = {"ETag": "x", "ResponseMetadata": {"HTTPStatusCode": status}}
        return {**head, "ContentLength": length, **range_of}

    assert sizes_of(answer(206, 5, "bytes 5-9/100"), 5, 10) == (5, 100)
    assert sizes_of(answer(206, 5, "bytes 95-99/100"), 95, 200) == (5, 100)
    assert sizes_of(answer(206, 7, "bytes 93-99/100"), None, 7) == (7, 100)
    assert sizes_of(answer(200, 7), None, 10) == (7, 7)
    assert sizes_of(answer(200, 7), 0, 7) == (7, 7)
    for status, length, named, start, stop in (
        *((206, 5, "bytes 6-10/100", 5, 10), (206, 5, "", 5, 10), (206, 5, "", 0, 5)),
        *((200, 5, "", 5, 10), (200, 100, "", 0, 10), (200, 100, "", None, 10)),
        *((206, 4, "bytes 5-9/100", 5, 10), (206, 5, "bytes 5-9/*", 5, 10)),
        *((206, 1 << 62, "bytes 5-9/100", 5, 10), (206, 5, "lines 5-9/100", 5, 10)),
        *((206, 7, "bytes 90-96/100", None, 7), (200, -1, "", 0, 5), (200, 7, "", None, 7)),
    ):
        with pytest.raises(NoAnswer):
            sizes_of(answer(status, length, named), start, stop)


def test_a_body_that_drips_or_does_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    class Raw:
        closed = False

        def read1(self, amount: int) -> bytes:
            return bytes(min(amount, self.piece))

        read = read1
        piece = 1

        def close(self) -> None:
            self.closed = True

    clock = [0.0]

    def tick() -> float:
        clock[0] += 30
        return clock[0]

    monkeypatch.setattr(time, "monotonic", tick)
    raw = Raw()
    with pytest.raises(limits.Unbounded, match="takes too long"):
        limits._Body(raw).read(1_000_000)  # noqa: SLF001  boto3 reads it
    assert raw.closed
    with pytest.raises(limits.Unbounded, match="takes too long"):
        list(limits._Body(Raw()).stream())  # noqa: SLF001  as above
    monkeypatch.setattr(limits, "LONGEST_S", float("inf"))
    raw.piece = 1 << 20
    with pytest.raises(limits.Unbounded, match="does not end"):
        list(limits._Body(raw).stream())  # noqa: SLF001  as above


def test_a_problem_after_a_new_version_is_in_place_says_so(
    store: Store, bucket: str, use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is raised while it is read back."""
    use(store)
    store.client().put_object(Bucket=bucket, Key="x.parquet", Body=SMALL)
    bloomify(f"s3://{bucket}/x.parquet", ["id"])  # the store has been tried
    for error in (MemoryError(), RecursionError("too deep"), ValueError("odd"), KeyError("x")):

        def failing(*_: object, error: Exception = error) -> None:
            raise error

        for owner, name, kinds in (
            (objects.NewOnS3, "_read_back", Unfinished),
            (s3.S3Bucket, "publish", OutcomeUnknown),
        ):
            with monkeypatch.context() as patched:
                patched.setattr(owner, name, failing)
                with pytest.raises(kinds):
                    bloomify(f"s3://{bucket}/x.parquet", ["id"], replace=True)
