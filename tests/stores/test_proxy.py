"""The proxy before a store: it passes everything on, counts it, and does the faults it names."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionClosedError,
    ReadTimeoutError,
    ResponseStreamingError,
)

from tests.stores.faults import Fault, Rule
from tests.stores.proxy import Proxy
from tests.stores.traffic import Request, bytes_down, bytes_up, read_request, round_trips
from tests.stores.wire import Head

if TYPE_CHECKING:
    from tests.stores.servers import Client, Store

_PART = 5 << 20
_BODY = bytes(range(256)) * (_PART // 256)


@pytest.fixture
def client(proxy: Proxy) -> Client:
    return proxy.store.client()


def test_all_requests_of_an_upload_pass_and_are_counted(
    proxy: Proxy, client: Client, bucket: str
) -> None:
    old, new = ({"Bucket": bucket, "Key": key} for key in ("a folder/old", "new"))
    etag = client.put_object(**old, Body=_BODY)["ETag"]
    assert client.head_object(**old)["ContentLength"] == _PART
    upload = {**new, "UploadId": client.create_multipart_upload(**new)["UploadId"]}
    source = {"CopySource": old, "CopySourceIfMatch": etag}
    copied = client.upload_part_copy(**upload, **source, PartNumber=1)["CopyPartResult"]["ETag"]
    tail = client.upload_part(**upload, PartNumber=2, Body=b"tail")["ETag"]
    parts = [{"PartNumber": 1, "ETag": copied}, {"PartNumber": 2, "ETag": tail}]
    client.complete_multipart_upload(**upload, MultipartUpload={"Parts": parts}, IfNoneMatch="*")
    assert client.get_object(**new, Range="bytes=10-29")["Body"].read() == _BODY[10:30]
    assert client.get_object(**new)["Body"].read() == _BODY + b"tail"
    assert client.list_objects_v2(Bucket=bucket)["KeyCount"] == 2
    aborted = {**new, "UploadId": client.create_multipart_upload(**new)["UploadId"]}
    assert len(client.list_multipart_uploads(Bucket=bucket)["Uploads"]) == 1
    client.abort_multipart_upload(**aborted)
    client.delete_object(**old)

    seen = proxy.requests
    assert [(request.operation, request.key, request.status) for request in seen] == [
        ("PutObject", "a folder/old", 200),
        ("HeadObject", "a folder/old", 200),
        ("CreateMultipartUpload", "new", 200),
        ("UploadPartCopy", "new", 200),
        ("UploadPart", "new", 200),
        ("CompleteMultipartUpload", "new", 200),
        ("GetObject", "new", 206),
        ("GetObject", "new", 200),
        ("ListObjectsV2", "", 200),
        ("CreateMultipartUpload", "new", 200),
        ("ListMultipartUploads", "", 200),
        ("AbortMultipartUpload", "new", 204),
        ("DeleteObject", "a folder/old", 204),
    ]
    assert {request.bucket for request in seen} == {bucket}
    assert all(request.status == request.store_status for request in seen)
    assert [request.bytes_down for request in seen[6:8]] == [20, _PART + 4]
    assert seen[6].range == "bytes=10-29"
    assert [seen[0].bytes_up, seen[4].bytes_up] == [_PART, 4]
    assert seen[3].conditions == {"x-amz-copy-source-if-match": etag}
    assert seen[5].conditions == {"if-none-match": "*"}
    assert bytes_down(seen) == sum(request.bytes_down for request in seen) > _PART
    assert bytes_up(seen) == sum(request.bytes_up for request in seen) > _PART
    assert round_trips(seen) == len(seen)
    assert len({request.connection for request in seen}) < len(seen)


def test_a_body_that_the_store_does_not_want_is_not_lost(
    proxy: Proxy, client: Client, bucket: str
) -> None:
    where = {"Bucket": bucket, "Key": "a"}
    client.put_object(**where, Body=b"old")
    with pytest.raises(ClientError, match="PreconditionFailed"):
        client.put_object(**where, Body=_BODY, IfNoneMatch="*")
    assert client.get_object(**where)["Body"].read() == b"old"
    assert [request.status for request in proxy.requests] == [200, 412, 200]


ANSWERED = {
    Fault.ERROR: ("InternalError", 500),
    Fault.ERROR_AFTER: ("InternalError", 500),
    Fault.SLOW_DOWN: ("SlowDown", 503),
    Fault.DENIED: ("AccessDenied", 403),
    Fault.CONFLICT: ("ConditionalRequestConflict", 409),
    Fault.PRECONDITION: ("PreconditionFailed", 412),
}
HAPPENED = {Fault.CUT_AFTER, Fault.ERROR_AFTER}
"""Faults after which the store has done what it was asked to."""


@pytest.mark.parametrize("fault", [*ANSWERED, Fault.CUT_BEFORE, Fault.CUT_AFTER])
def test_a_put_fails(proxy: Proxy, client: Client, store: Store, bucket: str, fault: Fault) -> None:
    where = {"Bucket": bucket, "Key": "a"}
    client.put_object(**where, Body=b"old")
    proxy.forget()
    proxy.play(Rule(fault=fault))
    if fault in ANSWERED:
        code, status = ANSWERED[fault]
        with pytest.raises(ClientError, match=code) as caught:
            client.put_object(**where, Body=_BODY)
        assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == status
    else:
        status = None
        with pytest.raises(BotoCoreError):
            client.put_object(**where, Body=_BODY)
    (seen,) = proxy.requests
    assert (seen.fault, seen.status) == (fault, status)
    assert seen.store_status == (200 if fault in HAPPENED else None)
    there = store.client().get_object(**where)["Body"].read()
    assert there == (_BODY if fault in HAPPENED else b"old")
    assert client.head_object(**where)["ContentLength"] == len(there)  # it was to happen once


@pytest.mark.parametrize("fault", [Fault.CUT_BEFORE, Fault.CUT_AFTER])
def test_an_answer_without_a_body_does_not_come(
    proxy: Proxy, client: Client, bucket: str, fault: Fault
) -> None:
    where = {"Bucket": bucket, "Key": "a"}
    client.put_object(**where, Body=b"old")
    proxy.play(Rule(fault=fault))
    with pytest.raises(ConnectionClosedError):
        client.head_object(**where)


def test_a_head_ends_early(proxy: Proxy, client: Client, bucket: str) -> None:
    where = {"Bucket": bucket, "Key": "a"}
    client.put_object(**where, Body=b"old")
    whole = client.head_object(**where)["ResponseMetadata"]["HTTPHeaders"]
    proxy.play(Rule(fault=Fault.TRUNCATED))
    part = client.head_object(**where)["ResponseMetadata"][
        "HTTPHeaders"
    ]  # boto3 takes it for whole
    assert set(part) < set(whole)


def test_a_body_ends_early(proxy: Proxy, client: Client, bucket: str) -> None:
    where = {"Bucket": bucket, "Key": "a"}
    client.put_object(**where, Body=_BODY)
    proxy.play(Rule(fault=Fault.TRUNCATED))
    answer = client.get_object(**where)
    assert answer["ContentLength"] == _PART
    with pytest.raises(ResponseStreamingError):
        answer["Body"].read()
    assert proxy.requests[-1].bytes_down == _PART // 2


@pytest.mark.parametrize("read", ["get_object", "head_object"])
def test_an_answer_stops(proxy: Proxy, bucket: str, read: str) -> None:
    where = {"Bucket": bucket, "Key": "a"}
    patient, impatient = proxy.store.client(), proxy.store.client(read_seconds=0.5)
    patient.put_object(**where, Body=_BODY)
    proxy.play(Rule(fault=Fault.SLOW, sticky=True, seconds=2))

    def got(client: Client) -> int:
        answer = getattr(client, read)(**where)
        return len(answer["Body"].read()) if read == "get_object" else answer["ContentLength"]

    with pytest.raises(ReadTimeoutError):
        got(impatient)
    assert got(patient) == _PART


def test_etags_are_wrong(proxy: Proxy, client: Client, bucket: str) -> None:
    where = {"Bucket": bucket, "Key": "a"}
    right = client.put_object(**where, Body=_BODY)["ETag"]
    upload = {**where, "UploadId": client.create_multipart_upload(**where)["UploadId"]}
    proxy.play(Rule(fault=Fault.WRONG_ETAG, sticky=True))
    wrong = [
        client.head_object(**where)["ETag"],
        client.get_object(**where)["ETag"],
        client.upload_part(**upload, PartNumber=1, Body=b"x")["ETag"],
        client.upload_part_copy(**upload, PartNumber=2, CopySource=where)["CopyPartResult"]["ETag"],
    ]
    assert right not in wrong
    digits = {etag.strip('"').partition("-")[0] for etag in wrong}  # a copy's is that of its pieces
    assert digits == {"0123456789abcdef" * 2}
    assert client.get_object(**where)["Body"].read() == _BODY


def test_an_error_comes_under_a_good_status(proxy: Proxy, client: Client, bucket: str) -> None:
    proxy.play(Rule(fault=Fault.ERROR_IN_200, operation="CopyObject"))
    client.put_object(Bucket=bucket, Key="a", Body=b"a")
    with pytest.raises(ClientError, match="InternalError"):
        client.copy_object(Bucket=bucket, Key="b", CopySource=f"{bucket}/a")
    assert (proxy.requests[-1].status, proxy.requests[-1].store_status) == (200, None)


def failed(client: Client, bucket: str, operations: str) -> str:
    """Call operations, by their initials; return initials, small where they failed."""
    calls = {
        "P": lambda: client.put_object(Bucket=bucket, Key="a", Body=b"a"),
        "H": lambda: client.head_object(Bucket=bucket, Key="a"),
    }
    found = ""
    for name in operations:
        try:
            calls[name]()
        except ClientError:
            found += name.lower()
        else:
            found += name
    return found


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        (Rule(fault=Fault.ERROR), "pHHPHP"),
        (Rule(fault=Fault.ERROR, nth=3), "PHhPHP"),
        (Rule(fault=Fault.ERROR, nth=3, sticky=True), "PHhphp"),
        (Rule(fault=Fault.ERROR, nth=2, operation="PutObject"), "PHHpHP"),
        (Rule(fault=Fault.ERROR, nth=2, operation="HeadObject", sticky=True), "PHhPhP"),
    ],
)
def test_rules_count(proxy: Proxy, client: Client, bucket: str, rule: Rule, found: str) -> None:
    client.put_object(Bucket=bucket, Key="a", Body=b"a")
    proxy.play(rule)
    assert failed(client, bucket, "PHHPHP") == found


def test_a_client_that_tries_again_succeeds(proxy: Proxy, bucket: str) -> None:
    proxy.play(Rule(fault=Fault.SLOW_DOWN))
    proxy.store.client(attempts=3).put_object(Bucket=bucket, Key="a", Body=_BODY)
    assert [request.status for request in proxy.requests] == [503, 200]


def test_limits_hold(store: Store, bucket: str) -> None:
    where = {"Bucket": bucket, "Key": "a"}
    with Proxy(store, down=20e6, up=10e6, latency=0.1) as proxy:
        client = proxy.store.client()
        began = time.perf_counter()
        client.put_object(**where, Body=_BODY)
        put = time.perf_counter()
        assert client.get_object(**where)["Body"].read() == _BODY
        got = time.perf_counter()
    assert put - began >= 0.1 + _PART / 10e6  # no less, however fast the machine is
    assert got - put >= 0.1 + _PART / 20e6


@pytest.mark.parametrize(
    ("line", "operation"),
    [
        ("GET / HTTP/1.1", "ListBuckets"),
        ("PUT /bucket HTTP/1.1", "CreateBucket"),
        ("POST /bucket/?delete HTTP/1.1", "DeleteObjects"),
        ("GET /bucket?versioning HTTP/1.1", "GetBucketVersioning"),
        ("GET /bucket/a/b?tagging HTTP/1.1", "GetObjectTagging"),
        ("GET /bucket/a/b?versionId=3 HTTP/1.1", "GetObject"),
        ("PUT /bucket/a?x-id=UploadPart&uploadId=7&partNumber=1 HTTP/1.1", "UploadPart"),
        ("PATCH /bucket/a?x&y HTTP/1.1", "PATCH ?x&y"),
    ],
)
def test_operations_have_their_names(line: str, operation: str) -> None:
    head = Head(raw=b"", words=tuple(line.split(" ")), fields={})
    assert read_request(head, number=1, connection=1, now=0).operation == operation


def test_round_trips_are_requests_that_waited() -> None:
    def request(began: float, ended: float) -> Request:
        head = Head(raw=b"", words=("GET", "/", "HTTP/1.1"), fields={})
        seen = read_request(head, number=1, connection=1, now=began)
        seen.ended = ended
        return seen

    assert round_trips([]) == 0
    assert round_trips([request(0, 5), request(1, 2), request(2, 3), request(1, 4)]) == 2
    assert round_trips([request(0, 1), request(1, 2), request(2, 3)]) == 3
