"""What went through a proxy: requests by S3's names, their bytes, and how many had to wait."""

from __future__ import annotations

import urllib.parse
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.stores.faults import Fault
    from tests.stores.wire import Head

_OF_SERVICE = {"GET": "ListBuckets"}
_OF_BUCKET = {
    "PUT": "CreateBucket",
    "DELETE": "DeleteBucket",
    "HEAD": "HeadBucket",
    "GET": "ListObjects",
    "POST delete": "DeleteObjects",
    "GET list-type": "ListObjectsV2",
    "GET uploads": "ListMultipartUploads",
    "GET versions": "ListObjectVersions",
    "GET location": "GetBucketLocation",
    "GET versioning": "GetBucketVersioning",
    "PUT versioning": "PutBucketVersioning",
}
_OF_OBJECT = {
    "GET": "GetObject",
    "HEAD": "HeadObject",
    "PUT": "PutObject",
    "PUT copy": "CopyObject",
    "DELETE": "DeleteObject",
    "POST uploads": "CreateMultipartUpload",
    "PUT uploadId": "UploadPart",
    "PUT uploadId copy": "UploadPartCopy",
    "POST uploadId": "CompleteMultipartUpload",
    "DELETE uploadId": "AbortMultipartUpload",
    "GET uploadId": "ListParts",
    "GET attributes": "GetObjectAttributes",
    **{
        f"{method} {query}": f"{verb}Object{what}"
        for query, what in {
            "tagging": "Tagging",
            "acl": "Acl",
            "retention": "Retention",
            "legal-hold": "LegalHold",
        }.items()
        for method, verb in {"GET": "Get", "PUT": "Put", "DELETE": "Delete"}.items()
    },
}
_QUERIES = {key.split(" ")[1] for key in (*_OF_BUCKET, *_OF_OBJECT) if " " in key} - {"copy"}
"""Parameters that make another operation of a method."""

_CONDITIONS = ("if-match", "if-none-match", "if-modified-since", "if-unmodified-since")


@dataclass(kw_only=True, slots=True)
class Request:
    """A request and its answer; while it is under way, as far as it came."""

    number: int
    """1 for the first that the proxy took, or took since it forgot the others."""

    connection: int
    """1 for the first connection; requests of one connection never overlap."""

    operation: str
    """As S3 names it, `GetObject`; `GET ?xyz` where it is not known."""

    method: str
    bucket: str
    """Empty where the request is to the service."""

    key: str
    """Decoded; empty where the request is to the bucket or the service."""

    query: dict[str, str]
    """Decoded; "" for parameters without a value."""

    conditions: dict[str, str]
    """Fields such as `if-match` and `x-amz-copy-source-if-match`, names in lower case."""

    range: str | None
    """The field `range` or `x-amz-copy-source-range`."""

    began: float
    """When its head had arrived, seconds of `time.perf_counter`."""

    ended: float
    """Just before the last bytes of the answer were sent, or the connection cut."""

    bytes_up: int = 0
    """Of its body, as they travelled, received from the client."""

    bytes_down: int = 0
    """Of the answer's body, as they travelled, sent to the client."""

    status: int | None = None
    """What the client was told; None if it got no answer."""

    store_status: int | None = None
    """What the store answered; None if it was not asked, or did not answer."""

    fault: Fault | None = None
    """What the proxy did to it."""


def read_request(head: Head, *, number: int, connection: int, now: float) -> Request:
    """Return the record of a request that begins now. Buckets are the first part of a path."""
    method, target = head.words[0], head.words[1]
    path, _, query_text = target.partition("?")
    bucket, _, key = path.lstrip("/").partition("/")
    query = dict(urllib.parse.parse_qsl(query_text, keep_blank_values=True))
    fields = head.fields
    copies = "x-amz-copy-source" in fields
    return Request(
        number=number,
        connection=connection,
        operation=_operation(method, bucket, key, query, copies=copies),
        method=method,
        bucket=bucket,
        key=urllib.parse.unquote(key),
        query=query,
        conditions={name: fields[name] for name in fields if name.endswith(_CONDITIONS)},
        range=fields.get("range", fields.get("x-amz-copy-source-range")),
        began=now,
        ended=now,
    )


def _operation(method: str, bucket: str, key: str, query: dict[str, str], *, copies: bool) -> str:
    table = _OF_OBJECT if key else _OF_BUCKET if bucket else _OF_SERVICE
    what = [name for name in query if name in _QUERIES]
    words = " ".join([method, *what[:1], *(["copy"] if copies else [])])
    return table.get(words) or f"{method} ?{'&'.join(query)}"


def bytes_down(requests: Iterable[Request]) -> int:
    """Sum the bytes of all answers."""
    return sum(request.bytes_down for request in requests)


def bytes_up(requests: Iterable[Request]) -> int:
    """Sum the bytes of all requests."""
    return sum(request.bytes_up for request in requests)


def round_trips(requests: Iterable[Request]) -> int:
    """Return the most requests of which each began after the one before had been answered."""
    count, free_at = 0, float("-inf")
    for request in sorted(requests, key=lambda request: request.ended):
        if request.began >= free_at:
            count, free_at = count + 1, request.ended
    return count
