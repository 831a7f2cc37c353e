"""Answers of a store: the state of an object, a refusal, or no answer.

A refusal becomes an error that names the object, and, where a request is forbidden, the permission
that it needs.

Source: Amazon S3 API Reference, "Error responses" and "Actions defined by Amazon S3".
"""

from __future__ import annotations

import errno
import re
from dataclasses import dataclass, field
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.errors import StoreProblem, UnsupportedFile
from parquet_bloomwriter.source.base import not_found
from parquet_bloomwriter.stores.base import Listed, quoted
from parquet_bloomwriter.stores.lost_answers import NoAnswer, Refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parquet_bloomwriter.stores.s3.urls import ObjectPath

_SERVER_ERRORS = HTTPStatus.INTERNAL_SERVER_ERROR
_BUSY = frozenset(
    ("SlowDown", "RequestTimeout", "Throttling", "ThrottlingException", "TooManyRequestsException")
)
_FORBIDDEN = frozenset(("AccessDenied", "403", "AllAccessDisabled", "Forbidden"))
_UNKNOWN_CALLER = frozenset(
    (
        "SignatureDoesNotMatch",
        "InvalidAccessKeyId",
        "ExpiredToken",
        "InvalidToken",
        "TokenRefreshRequired",
    )
)
_SKEWED = frozenset(("RequestTimeTooSkewed", "RequestExpired"))
_ABSENT = frozenset(("NoSuchKey", "404", "NotFound", "NoSuchVersion"))
_PRECONDITION = frozenset(("PreconditionFailed", "412"))
_CONFLICT = frozenset(("ConditionalRequestConflict", "OperationAborted", "409"))
_PERMISSIONS = {
    "get_object": "s3:GetObject (or s3:ListBucket, if there is no such object)",
    "head_object": "s3:GetObject (or s3:ListBucket, if there is no such object)",
    "put_object": "s3:PutObject",
    "create_multipart_upload": "s3:PutObject",
    "upload_part": "s3:PutObject",
    "upload_part_copy": "s3:PutObject, and s3:GetObject of what is copied",
    "complete_multipart_upload": "s3:PutObject",
    "abort_multipart_upload": "s3:AbortMultipartUpload",
    "list_objects_v2": "s3:ListBucket",
    "list_multipart_uploads": "s3:ListBucketMultipartUploads",
    "delete_object": "s3:DeleteObject",
    "get_object_tagging": "s3:GetObjectTagging",
    "get_object_acl": "s3:GetObjectAcl",
}


UNVERSIONED = "null"
"""Id of the one version that is written while a bucket keeps no versions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectState:
    """The state of an object on S3, from the answer to a request."""

    path: ObjectPath
    size: int
    """Size of the object, bytes."""

    etag: str
    """ETag of the object, with its quotes."""

    version: str | None
    """Id of the version, where the bucket keeps versions. `UNVERSIONED` for an object that was
    written while it kept none. Some stores give none then."""

    attempt: str | None
    """Id of the attempt that wrote the object, if this library wrote it."""

    headers: Mapping[str, Any] = field(repr=False)
    """Headers of the answer: content type, metadata, encryption and so on, as boto3 names them."""

    @property
    def changed_ns(self) -> int:
        """Time of the last change, nanoseconds since 1970 UTC, in whole seconds.

        Raises:
            StoreProblem: If the store has not said it.
        """
        changed = self.headers.get("LastModified")
        if changed is None:
            problem = "the store does not say when the object was changed"
            raise StoreProblem(problem, path=str(self.path))
        return int(changed.timestamp()) * 1_000_000_000


def kept_version(old: ObjectState | None, new: ObjectState | None) -> str | None:
    """Return the version id under which the bucket keeps a replaced object, or None.

    A bucket whose versioning is suspended writes the version "null" anew, and keeps all others.
    """
    if old is None or new is None:
        return None
    is_kept = old.version != UNVERSIONED or new.version not in (None, UNVERSIONED)
    return old.version if is_kept else None


class S3Refusal(Refusal):
    """A refusal of S3: the request was not carried out.

    Attributes:
        code: The error code of S3's.
        status: The HTTP status.
        text: What the store says.
    """

    def __init__(self, code: str, status: int, text: str) -> None:
        super().__init__(f"{code}: {text}" if text and text != code else code)
        self.code = code
        self.status = status
        self.text = text
        self.is_precondition = code in _PRECONDITION
        self.is_conflict = code in _CONFLICT
        self.is_busy = code in _BUSY
        self.is_final = not self.is_busy and (
            status < _SERVER_ERRORS or status == HTTPStatus.NOT_IMPLEMENTED
        )
        self.is_absent = code in _ABSENT
        self.is_forbidden = code in _FORBIDDEN or status in (
            HTTPStatus.UNAUTHORIZED,
            HTTPStatus.FORBIDDEN,
        )


_CONTENT_RANGE = re.compile(r"bytes (\d{1,19})-(\d{1,19})/(\d{1,19})")
_CUT = "the head of its answer was cut off"


def sizes_of(answer: Mapping[str, Any], start: int | None, stop: int) -> tuple[int, int]:
    """Check that an answer has the requested range of bytes.

    Args:
        answer: To a GET, as boto3 has it.
        start: First byte; None for the last `stop` bytes.
        stop: Past the last byte.

    Returns:
        The bytes of the range, which may be cut off by the end of the object, and of the object.

    Raises:
        NoAnswer: If it has another range, or does not say which.
    """
    length = size_of(answer)
    if answer.get("ETag") is None:
        raise NoAnswer(_CUT)
    named = str(answer.get("ContentRange", ""))
    if answer["ResponseMetadata"].get("HTTPStatusCode") == HTTPStatus.PARTIAL_CONTENT:
        found = _CONTENT_RANGE.fullmatch(named)
        if found is None:
            raise NoAnswer("it does not say which bytes of the object it sends")
        first, last, total = (int(one) for one in found.groups())
    else:  # the whole object
        first, last, total = 0, length - 1, length
        if start is None and length == stop:
            raise NoAnswer("it does not say whether it sends the whole object, or its end")
    wanted = max(0, total - stop) if start is None else start
    until = total if start is None else min(stop, total)
    if (first, last, length) != (wanted, until - 1, until - wanted):
        raise NoAnswer(
            f"it sends {length} bytes, {first}-{last} of {total}, "
            f"where {wanted}-{until - 1} were asked for"
        )
    return length, total


def size_of(answer: Mapping[str, Any]) -> int:
    """Return the number of bytes that the head of an answer announces.

    Raises:
        NoAnswer: If it does not say them.
    """
    length = answer.get("ContentLength")
    if length is None or length < 0:
        raise NoAnswer(_CUT)
    return int(length)


def listed(one: Mapping[str, Any]) -> Listed:
    """Return the entry of a listing as `Listed`.

    Raises:
        NoAnswer: If it does not say all.
    """
    try:
        changed_ns = round(one["LastModified"].timestamp() * 1_000_000_000)
        return Listed(one["Key"], int(one["Size"]), quoted(one["ETag"]), changed_ns)
    except (KeyError, AttributeError) as error:
        raise NoAnswer("an entry of its listing is not complete") from error


def error_of(refusal: S3Refusal, operation: str, place: ObjectPath) -> Exception:
    """Return the error for a request that the store refuses.

    Args:
        refusal: What the store says.
        operation: The request, as boto3 spells it.
        place: The object; its key is "" for requests to the bucket.
    """
    path, code = str(place), refusal.code
    if refusal.is_absent and operation in ("get_object", "head_object"):
        return not_found(path)
    if code == "NoSuchBucket":
        return FileNotFoundError(errno.ENOENT, "No such bucket", f"s3://{place.bucket}")
    if code == "InvalidObjectState":
        return archived(path)
    if code == "InvalidRequest" and "Server Side Encryption" in refusal.text:
        return with_own_key(path)
    problem, remedy = f"the store refuses {operation}: {refusal}", ""
    if code in _UNKNOWN_CALLER:
        problem = f"the store does not accept the credentials ({code})"
        remedy = "Check AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
    elif code in _SKEWED:
        problem = "the store refuses requests of this time of day: the clock here is wrong"
        remedy = "Set the clock of this machine."
    elif code in _FORBIDDEN or refusal.status == HTTPStatus.FORBIDDEN:
        needed = _PERMISSIONS.get(operation, operation)
        problem = f"the store forbids it; this needs the permission {needed}"
        if refusal.text.strip(".").lower() not in ("", "access denied", "forbidden"):
            problem += f"; it says: {' '.join(refusal.text.rstrip('.').split())}"
        remedy = "Check the credentials in use and the bucket's policy."
    elif code == "NoSuchUpload":
        problem, remedy = "somebody ended our upload", "Run the command again."
    return StoreProblem(problem, path=path, remedy=remedy)


def with_own_key(path: str) -> UnsupportedFile:
    """Return the error for an object encrypted by a key that only its owner has (SSE-C)."""
    return UnsupportedFile(
        "the object is encrypted by a key of its owner's (SSE-C)",
        path=path,
        remedy="Leave it out: keys are not taken here.",
    )


def archived(path: str) -> UnsupportedFile:
    """Return the error for an object that must be restored before it can be read."""
    remedy = "Restore it first, or leave it out."
    return UnsupportedFile("the object is archived", path=path, remedy=remedy)


@cache
def no_answers() -> tuple[type[BaseException], ...]:
    """Return the errors of boto3 for a request without a complete answer."""
    from botocore import exceptions
    from botocore.parsers import ResponseParserError
    from urllib3.exceptions import HTTPError

    from parquet_bloomwriter.stores.s3.limits import Unbounded

    return (
        exceptions.ConnectionError,
        exceptions.HTTPClientError,
        exceptions.IncompleteReadError,
        ResponseParserError,
        HTTPError,
        Unbounded,
        ConnectionError,
        TimeoutError,
    )
